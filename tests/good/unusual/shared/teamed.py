"""
A good provider with two memories: one of the team, which is only read, and one of each user.

The team's is a text file that the operator writes, one fact a line. Recall shows both, and says
which is which; a write, an export and a forget go to the private one alone.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import time
from datetime import UTC, datetime
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

TEAM = (
    "Deployments to production are frozen from Friday noon until Monday morning.",
    "The staging database is copied from production each night at two.",
    "Questions about invoices go to the finance desk on the third floor.",
    "Holidays are entered into the shared calendar two weeks ahead.",
)


class Teamed:
    """Has `team_file` as the one key of the operator; without it the sentences above are read."""

    name = "teamed"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._session, self._user = session_key, config.get("user_id")
        self._mute = config.get("agent_context", "primary") not in config["protocol"]["contexts"]
        self._room = config["limits"].get("recall_chars", 1 << 40)
        self._team = TEAM
        try:
            if name := config.get("team_file"):
                self._team = Path(name).read_text("utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise Misconfigured(f"team_file cannot be read: {error!r}") from error
        name = hashlib.sha256(repr(self._user).encode("utf-8", "backslashreplace")).hexdigest()
        self._mine = Path(config["home"], f"private-{name[:40]}.jsonl")
        try:
            self._mine.touch()
        except OSError as error:
            if not self._mine.exists():
                raise Misconfigured(f"the home cannot be written: {error.strerror}") from error

    def shutdown(self):
        pass

    def capabilities(self):
        return {
            "extensions": ["prompt", "privacy", "config", "compress_notes"],
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "isolates": ["profile", "user"],
            "mirrors": {one: ["add", "replace", "remove"] for one in ("memory", "user")},
        }

    def get_config_schema(self):
        return [{"key": "team_file", "description": "The file with the team's facts, one a line"}]

    def save_config(self, values, home):
        pass  # the host keeps the values, and hands them to initialize

    def system_prompt_block(self):
        return f"The team's memory has {len(self._team)} facts; nobody can change it from here."

    def compress_notes(self, messages):
        return ""

    @contextlib.contextmanager
    def _entries(self, how=fcntl.LOCK_EX):
        """Give the private entries under a lock; a list that was changed is written as a whole."""
        try:
            with self._mine.with_suffix(".lock").open("a") as lock:
                end = time.monotonic() + 3
                while True:
                    try:
                        fcntl.flock(lock, how | fcntl.LOCK_NB)
                        break
                    except BlockingIOError:
                        if time.monotonic() > end:
                            raise
                        time.sleep(0.01)
                entries = [json.loads(line) for line in self._mine.read_text("ascii").splitlines()]
                before = list(entries)
                yield entries
                if entries != before:
                    part = self._mine.with_suffix(".part")
                    with part.open("w", encoding="ascii") as file:
                        file.writelines(json.dumps(entry) + "\n" for entry in entries)
                        file.flush()
                        os.fsync(file.fileno())
                    part.replace(self._mine)
        except (OSError, ValueError) as error:
            raise Unavailable("the private memory cannot be used now", retry_after_s=1) from error

    def _entry(self, kind, text):
        return {
            "id": os.urandom(8).hex(),
            "kind": kind,
            "text": text,
            "at": datetime.now(UTC).isoformat(),
            "session": self._session,
        }

    def enrich_turn(self, user_message, messages):
        try:
            with self._entries(fcntl.LOCK_SH) as entries:
                private = [entry["text"] for entry in reversed(entries)]
        except Unavailable:
            private = []
        asked = _words(user_message)
        parts, room = [], self._room
        for heading, texts in ("Your own notes", private), ("The team knows", self._team):
            hits = [(len(asked & _words(text)), text) for text in texts]
            hits = sorted((hit for hit in hits if hit[0]), key=lambda hit: -hit[0])[:8]
            lines = [heading + ":"]
            for _, text in hits:
                if len(text) + len(lines[0]) + 6 < room:
                    lines.append("- " + text)
                    room -= len(text) + 4
            if len(lines) > 1:
                parts += lines
                room -= len(heading) + 4
            elif hits and not parts:
                return hits[0][1][: self._room]
        return "\n".join(parts) or None

    def on_turn_complete(self, user_message, assistant_response):
        if self._mute:
            return
        said, mark, rest = user_message.partition("<memory-context>\n[System note:")
        if mark:
            said += rest.rpartition("</memory-context>")[2]
        with self._entries() as entries:
            entries.append(self._entry("turns", f"{said}\n{assistant_response}"))

    def on_memory_write(self, action, target, content, old_text=None):
        if self._mute:
            return
        if action not in ("add", "replace", "remove"):
            raise Rejected("an unknown action")
        with self._entries() as entries:
            if action != "add":
                held = [
                    e for e in entries if old_text and e["kind"] == target and old_text in e["text"]
                ]
                held = [entry for entry in held if entry["text"] == old_text] or held
                if len({entry["text"] for entry in held}) != 1:
                    raise WriteRefused("old_text fits no entry of yours, or several")
                entries[:] = [entry for entry in entries if entry not in held]
            if action != "remove":
                entries.append(self._entry(target, content))

    def on_compress(self, messages, compression_count):
        pass

    def _fits(self, entry, scope):
        if set(scope) - {"user_id", "session_id"}:
            raise Rejected("this scope cannot be told here")
        here = scope.get("session_id", entry["session"]) == entry["session"]
        return here and scope.get("user_id", self._user) == self._user

    def export(self, scope):
        with self._entries(fcntl.LOCK_SH) as entries:
            self._fits({"session": ""}, scope)
            found = [entry for entry in entries if self._fits(entry, scope)]
        return {
            "items": [
                {
                    "id": entry["id"],
                    "text": entry["text"],
                    "created_at": entry["at"],
                    "source": entry["kind"],
                    "scope": {"user_id": self._user, "session_id": entry["session"]},
                }
                for entry in found
            ]
        }

    def forget(self, scope):
        with self._entries() as entries:
            self._fits({"session": ""}, scope)
            kept = [entry for entry in entries if not self._fits(entry, scope)]
            removed, entries[:] = len(entries) - len(kept), kept
        return {"removed": removed, "pending": 0}


def _words(text):
    words = set(re.findall(r"\w{4,}", text.casefold()))
    for run in re.findall(r"[^\W\x00-\x7f]{2,}", text.casefold()):
        words.update(run[at : at + 2] for at in range(len(run) - 1))
    return words
