"""
A good provider that looks ahead: recall gives what was looked up at the end of the turn before.

A thread looks it up, from `queue_prefetch` or the turn itself, and both ways to recall show the
same. Each entry is a file of its own, named by its time and by chance.
"""

import contextlib
import datetime as dt
import hashlib
import json
import os
import re
import threading
import time
from pathlib import Path

from memproto import errors


class Foresight:
    name = "foresight"

    def __init__(self):
        self.ready, self.trouble = [], ""
        self.lock, self.looker = threading.Lock(), None

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.session, self.user = session_key, config.get("user_id")
        digest = hashlib.sha256(ascii(self.user).encode()).hexdigest()
        self.folder = Path(config["home"], "foresight", digest[:40])
        self.room = config["limits"].get("recall_chars", 12_000)
        self.takes_turns = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.Misconfigured(f"{self.folder.name} cannot be made: {error}") from error

    def capabilities(self):
        return {
            "extensions": ["items", "prewarm", "privacy", "sessions", "status"],
            "stores": ["turns", "writes"],
            "recall_basis": "previous",
            "isolates": ["profile", "user"],
            "mirrors": {target: ["add", "remove"] for target in ("memory", "user")},
        }

    def shutdown(self):
        if self.looker is not None:
            self.looker.join(8)

    # -- the store --------------------------------------------------------------------------------

    def _entries(self):
        found = []
        try:
            for path in sorted(self.folder.iterdir(), reverse=True):
                if path.suffix == ".json":
                    with contextlib.suppress(FileNotFoundError, ValueError):
                        found.append(json.loads(path.read_text("ascii")) | {"id": path.stem})
        except OSError as error:
            raise errors.Unavailable(f"the entries cannot be read: {error}") from error
        return found

    def _add(self, kind, text):
        scope = {"session_id": self.session}
        if self.user is not None:
            scope["user_id"] = self.user
        now = dt.datetime.now(dt.UTC).isoformat()
        entry = {"text": text, "created_at": now, "source": kind, "scope": scope}
        name = f"{time.time_ns():020}-{os.urandom(5).hex()}"
        part = self.folder / f"{name}.part"
        try:
            try:
                with part.open("x", encoding="ascii") as file:
                    json.dump(entry, file)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(self.folder / f"{name}.json")
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise errors.Unavailable(f"nothing can be written: {error}") from error

    def _drop(self, entries):
        try:
            for entry in entries:
                (self.folder / f"{entry['id']}.json").unlink(missing_ok=True)
        except OSError as error:
            raise errors.Unavailable(f"nothing can be removed: {error}") from error
        gone = {entry["id"] for entry in entries}
        with self.lock:
            self.ready = [entry for entry in self.ready if entry["id"] not in gone]
        return len(gone)

    def on_turn_complete(self, user_message, assistant_response):
        own = re.sub(
            r"<memory-context>\s*\[System note:.*?</memory-context>",
            "",
            user_message,
            flags=re.DOTALL,
        )
        self._look_up(own)
        said = {(e["text"], e["scope"]["session_id"]) for e in self._entries()}
        if self.takes_turns and (own, self.session) not in said:
            self._add("turns", own)

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._add(target, content)
            return
        if action != "remove":
            raise errors.Rejected("entries are added and removed here")
        near = [e for e in self._entries() if e["source"] == target and old_text]
        held = [e for e in near if e["text"] == old_text]
        held = held or [e for e in near if old_text in e["text"]]
        if len({entry["text"] for entry in held}) != 1:
            raise errors.WriteRefused("old_text fits no entry, or several")
        self._drop(held)

    def on_compress(self, messages, compression_count):
        pass

    def on_session_end(self, messages):
        pass

    def on_session_switch(self, new_session_id, **kwargs):
        self._wait()
        self.session, self.ready = new_session_id, []

    # -- looking ahead ----------------------------------------------------------------------------

    def queue_prefetch(self, query, *, session_id=""):
        self._wait()
        try:
            self.looker = threading.Thread(target=self._look_up, args=(query,), daemon=True)
            self.looker.start()
        except RuntimeError:  # the interpreter ends
            self.looker = None

    def _wait(self):
        if self.looker is not None:
            self.looker.join(3)

    def _look_up(self, query):
        asked = set(re.findall(r"\w+", query.casefold()))
        try:
            entries, trouble = self._entries(), ""
        except errors.Unavailable:
            entries, trouble = [], "The entries cannot be read; look at the home."
        for entry in entries:
            shared = asked & set(re.findall(r"\w+", entry["text"].casefold()))
            entry["score"] = len("".join(shared))
        hits = [entry for entry in entries if entry["score"]]
        with self.lock:
            self.ready = sorted(hits, key=lambda entry: entry["score"], reverse=True)[:20]
            self.trouble = trouble

    def _fitting(self, room, cost):
        self._wait()
        with self.lock:
            # Another session may have removed one since.
            paths = (self.folder / f"{entry['id']}.json" for entry in self.ready)
            self.ready = [e for e, p in zip(self.ready, paths, strict=True) if p.exists()]
            ready = list(self.ready)
        for entry in ready:
            if len(entry["text"]) + cost <= room:
                room -= len(entry["text"]) + cost
                yield entry

    def enrich_turn(self, user_message, messages):
        shown = "\n".join(entry["text"] for entry in self._fitting(self.room, 1))
        return shown or (self.ready[0]["text"][: self.room] if self.ready else None)

    def recall_items(self, request):
        items = list(self._fitting(request.get("budget_chars", 10**9), 0))
        return {"items": items, "status": "unavailable" if self.trouble else "ok"}

    def recall_status(self):
        if self.trouble:
            return {"state": "down", "message": self.trouble}
        return {"state": "ok", "recalled": len(self.ready)}

    def unavailable_reason(self):
        return self.trouble

    # -- showing and forgetting -------------------------------------------------------------------

    def _within(self, scope):
        if not set(scope) <= {"user_id", "session_id"}:
            raise errors.Rejected("there are scopes of users and sessions")
        return [e for e in self._entries() if all(e["scope"].get(k) == scope[k] for k in scope)]

    def export(self, scope):
        return {"items": self._within(scope)}

    def forget(self, scope):
        self._wait()
        return {"removed": self._drop(self._within(scope)), "pending": 0}
