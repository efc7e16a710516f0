"""
A good provider that holds its session in memory, and writes it as one whole file at each change.

A file belongs to one opening of a session, so that nobody else writes to it. An entry is remembered
if one of the files adds it and none drops it; so the order of the files makes no difference.
"""

import contextlib
import json
import os
import re
import threading
import uuid
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused

_BLOCK = re.compile(r"\s*<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)
_COMMON = {
    "what",
    "where",
    "when",
    "which",
    "does",
    "have",
    "that",
    "this",
    "with",
    "from",
    "about",
}


class Onefile:
    """One file for each opening: what it added, and the ids of what it dropped."""

    name = "onefile"

    def __init__(self):
        self._lock = threading.RLock()
        self._seen = {}

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._user = config.get("user_id")
        self._room = config["limits"].get("recall_chars")
        context = config.get("agent_context", "primary")
        self._contexts = config["protocol"]["contexts"]
        self._context = context
        self._folder = Path(config["home"], "sessions")
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise Misconfigured(f"the home takes no folder: {error.strerror}") from None
        self._begin(session_key)

    def _begin(self, session_key):
        self._opening = uuid.uuid4().hex
        self._own = {"user": self._user, "session": session_key, "entries": {}, "dropped": []}

    def shutdown(self):
        """Has nothing to write: each change was written as it came."""

    def capabilities(self):
        actions = ["add", "replace", "remove"]
        return {
            "extensions": ["sessions", "record"],
            "stores": ["turns", "writes"],
            "retention": "verbatim",
            "recall_basis": "query",
            "consistency": "immediate",
            "isolates": ["profile", "user"],
            "mirrors": {"memory": actions, "user": actions},
            "spec_version": "1.0",
        }

    # -- reading ----------------------------------------------------------------------------

    def enrich_turn(self, user_message, messages):
        with self._lock:
            try:
                entries = self._entries()
            except OSError:
                return None
        asked = _words(user_message)
        hits = []
        for entry in entries.values():
            score = len(asked & _words(entry["text"]))
            if score:
                hits.append((score, entry["text"]))
        hits.sort(key=lambda hit: -hit[0])
        return self._fitted([text for _, text in hits[:12]]) or None

    def _fitted(self, texts):
        if self._room is None:
            return "\n".join(texts)
        shown, room = [], self._room
        for text in texts:
            if len(text) + 1 <= room:
                shown.append(text)
                room -= len(text) + 1
        return "\n".join(shown) or "".join(texts[:1])[: self._room]

    def _entries(self):
        entries, dropped = {}, set()
        for document in self._documents():
            if document["user"] == self._user:
                entries |= document["entries"]
                dropped.update(document["dropped"])
        return {key: entry for key, entry in entries.items() if key not in dropped}

    def _documents(self):
        seen = {}
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(FileNotFoundError):
                found = path.stat()
                stamp = found.st_ino, found.st_mtime_ns, found.st_size
                known = self._seen.get(path.name)
                seen[path.name] = known if known and known[0] == stamp else (stamp, _read(path))
        self._seen = seen
        others = [found for name, (_, found) in seen.items() if name != f"{self._opening}.json"]
        return [*filter(None, others), self._own]

    # -- writing ----------------------------------------------------------------------------

    def on_turn_complete(self, user_message, assistant_response):
        if self._context in self._contexts:
            self._change({"kind": "turn", "text": _own_words(user_message, assistant_response)})

    def record(self, turn):
        allowed = {self._context, turn.get("context", "primary")} <= set(self._contexts)
        if not allowed or turn.get("author", {}).get("is_bot"):
            return
        with self._lock:
            known = (entry.get("turn_id") for entry in self._found().values())
            if turn["turn_id"] not in known:
                said = _own_words(turn["user_message"], turn["assistant_response"])
                extra = {"turn_id": turn["turn_id"], "session": turn["session_id"]}
                self._change({"kind": "turn", "text": said, **extra})

    def on_memory_write(self, action, target, content, old_text=None):
        if action not in {"add", "replace", "remove"} or target not in {"memory", "user"}:
            raise Rejected("there is no such action or target here")
        with self._lock:
            dropped = [] if action == "add" else self._meant(target, old_text)
            entry = {"kind": target, "text": content} if action != "remove" else None
            self._change(entry, dropped)

    def _meant(self, target, old_text):
        mine = {key: e["text"] for key, e in self._found().items() if e["kind"] == target}
        held = {key: text for key, text in mine.items() if old_text and old_text in text}
        exact = {key: text for key, text in held.items() if text == old_text}
        held = exact or held
        if len(set(held.values())) != 1:
            raise WriteRefused("the old text fits no entry, or several")
        return list(held)

    def _found(self):
        try:
            return self._entries()
        except OSError as error:
            raise Unavailable(f"the sessions cannot be read: {error.strerror}") from None

    def _change(self, entry, dropped=()):
        with self._lock:
            entries = dict(self._own["entries"])
            if entry is not None:
                entries[f"{self._opening}-{len(entries)}"] = entry
            after = self._own | {"entries": entries, "dropped": [*self._own["dropped"], *dropped]}
            part = self._folder / f"{self._opening}.{threading.get_ident()}.part"
            try:
                with part.open("w", encoding="ascii") as file:
                    json.dump(after, file)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(self._folder / f"{self._opening}.json")
            except OSError as error:
                with contextlib.suppress(OSError):
                    part.unlink(missing_ok=True)
                raise Unavailable(f"the session was not written: {error.strerror}") from None
            self._own = after

    def on_compress(self, messages, compression_count):
        """The turns are written already."""

    def on_session_end(self, messages):
        """The turns are written already."""

    def on_session_switch(self, new_session_id, **kwargs):
        with self._lock:
            if new_session_id != self._own["session"]:
                self._begin(new_session_id)


def _read(path):
    try:
        found = json.loads(path.read_bytes())
        return found if found.keys() >= {"user", "entries", "dropped"} else None
    except (ValueError, AttributeError):
        return None


def _own_words(message, response):
    return f"{_BLOCK.sub('', message)}\n{response}"


def _words(text):
    words = set(re.findall(r"\w+", text.casefold()))
    return {word for word in words if len(word) > 3} - _COMMON or words - _COMMON
