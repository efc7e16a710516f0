"""A good provider that is a proxy: it passes every hook on to another one, and counts the calls."""

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused


class Inner:
    """A small memory in SQLite."""

    name = "inner"

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.database = str(Path(config["home"]) / "inner.sqlite3")
        self.limit = config["limits"].get("recall_chars")
        self.stores = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            self.run("CREATE TABLE IF NOT EXISTS said (n INTEGER PRIMARY KEY, kind, text)")
        except Unavailable as error:
            raise Misconfigured(f"there can be no database: {error}") from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "mirrors": {k: ["add", "replace", "remove"] for k in ("memory", "user")},
        }

    def enrich_turn(self, user_message, messages):
        asked = {w.strip("?!.,;:'\"()").casefold() for w in user_message.split()}
        asked = {w for w in asked if len(w) > 3}
        try:
            rows = self.run("SELECT text FROM said ORDER BY n DESC", seconds=3)
        except Unavailable:
            return None
        found = []
        for text in (json.loads(row[0]) for row in rows):
            folded = text.casefold()
            hits = sum(word in folded for word in asked)
            if hits:
                found.append((hits, text))
        found.sort(key=lambda hit: hit[0], reverse=True)
        return "\n".join(text for _, text in found[:10])[: self.limit] or None

    def on_turn_complete(self, user_message, assistant_response):
        said = user_message.partition("<memory-context>\n[System note")[0]
        self.add("turn", said + "\n" + assistant_response)

    def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            return self.add(target, content)
        if action not in ("replace", "remove"):
            raise Rejected(f"unknown action {action!r}")
        if self.stores:
            self.change(target, old_text, content if action == "replace" else None)
        return None

    def add(self, kind, text):
        if self.stores:
            self.run("INSERT INTO said (kind, text) VALUES (?, ?)", kind, json.dumps(text))

    def change(self, kind, old, new):
        with self.errors(), closing(self.base(8)) as base, base:
            base.execute("BEGIN IMMEDIATE")
            rows = base.execute("SELECT n, text FROM said WHERE kind = ?", (kind,)).fetchall()
            rows = [(n, json.loads(text)) for n, text in rows]
            hits = [r for r in rows if r[1] == old] or [r for r in rows if old and old in r[1]]
            if len({text for _, text in hits}) != 1:
                raise WriteRefused("there is no such entry, or there are several")
            base.executemany("DELETE FROM said WHERE n = ?", [(n,) for n, _ in hits])
            if new is not None:
                base.execute("INSERT INTO said (kind, text) VALUES (?, ?)", (kind, json.dumps(new)))

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        pass

    def base(self, seconds):
        return sqlite3.connect(self.database, timeout=seconds)

    def run(self, sql, *values, seconds=8):
        with self.errors(), closing(self.base(seconds)) as base, base:
            return base.execute(sql, values).fetchall()

    def errors(self):
        return _Telling()


class _Telling:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, sqlite3.Error):
            raise Unavailable(f"the database says: {error}") from error


class Proxying:
    """Has no hook of its own but the name; all others are found by `__getattr__`."""

    __slots__ = ("_calls", "_inner", "_lock")

    name = "proxying"

    def __init__(self):
        self._inner = Inner()
        self._calls = {}
        self._lock = threading.Lock()

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._inner, name)
        if not callable(value):
            return value

        def counted(*args, **kwargs):
            with self._lock:
                self._calls[name] = self._calls.get(name, 0) + 1
            return value(*args, **kwargs)

        return counted
