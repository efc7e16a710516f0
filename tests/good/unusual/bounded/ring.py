"""
A good provider that keeps the newest 300 entries, and drops the oldest for a new one.

That is its declared policy: its documentation says so, and `x_most_entries` repeats it.
"""

import json
import re
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable, WriteRefused

MOST = 300


class Ring:
    name = "ring"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._path = Path(config["home"]) / "ring.db"
        self._room = config["limits"].get("recall_chars")
        self._takes = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            with self._ring(10) as base:
                base.execute("CREATE TABLE IF NOT EXISTS ring (place INTEGER PRIMARY KEY, entry)")
        except Unavailable as error:
            if not self._path.exists():
                raise Misconfigured(str(error)) from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "mirrors": {"memory": ["add", "replace"], "user": ["add", "replace"]},
            "x_most_entries": MOST,
        }

    def enrich_turn(self, user_message, messages):
        asked = set(re.findall(r"\w{4,}", user_message.casefold()))
        try:
            with self._ring(3) as base:
                entries = self._entries(base)
        except Unavailable:
            return None
        scored = [
            (len(asked & set(re.findall(r"\w{4,}", text.casefold()))), place, text)
            for place, _, text in entries
        ]
        best = [text for n, _, text in sorted(scored, reverse=True) if n][:10]
        return "\n".join(best)[: self._room] or None

    def on_turn_complete(self, user_message, assistant_response):
        said = re.sub(r"(?s)<memory-context>\n\[System.*?</memory-context>", "", user_message)
        self._add("turn", f"{said}\n{assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            self._add(target, content)
        elif action == "replace" and self._takes:
            with self._ring(8) as base:
                base.execute("BEGIN IMMEDIATE")
                mine = [(p, text) for p, kind, text in self._entries(base) if kind == target]
                hits = [m for m in mine if m[1] == old_text]
                hits = hits or [m for m in mine if old_text and old_text in m[1]]
                if len({text for _, text in hits}) != 1:
                    raise WriteRefused("no entry of the ring has this text, or several have it")
                base.executemany("DELETE FROM ring WHERE place = ?", [(p,) for p, _ in hits])
                self._put(base, target, content)

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass

    def _add(self, kind, text):
        if self._takes:
            with self._ring(8) as base:
                base.execute("BEGIN IMMEDIATE")
                self._put(base, kind, text)

    def _put(self, base, kind, text):
        entry = json.dumps([kind, text])
        last = base.execute("INSERT INTO ring (entry) VALUES (?)", (entry,)).lastrowid
        base.execute("DELETE FROM ring WHERE place <= ?", (last - MOST,))

    @staticmethod
    def _entries(base):
        rows = base.execute("SELECT place, entry FROM ring").fetchall()
        return [(place, *json.loads(entry)) for place, entry in rows]

    @contextmanager
    def _ring(self, seconds):
        try:
            with closing(sqlite3.connect(self._path, timeout=seconds)) as base, base:
                yield base
        except sqlite3.Error as error:
            raise Unavailable(f"ring.db cannot be used: {error}", retry_after_s=3) from error
