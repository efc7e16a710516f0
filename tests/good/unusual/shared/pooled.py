"""
A good provider whose instances share connections: a pool for each file, closed by the last to go.

A pool has three connections at most. If all are busy, a hook waits for one, as long as it may.
"""

import json
import queue
import re
import sqlite3
import threading
from contextlib import contextmanager
from pathlib import Path

from memproto import errors

TABLE = """CREATE TABLE IF NOT EXISTS kept(
    id INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT, kind TEXT, body TEXT)"""


class Pool:
    """Connections to one file; `users` counts the instances that hold it."""

    SIZE = 3

    def __init__(self, path):
        self.path, self.users = path, 0
        self.idle = queue.LifoQueue()
        self.made, self.guard = 0, threading.Lock()
        self.closed = False

    def take(self, within_s):
        try:
            return self.idle.get_nowait()
        except queue.Empty:
            with self.guard:
                grows = self.made < self.SIZE
                self.made += grows
            if grows:
                try:
                    return sqlite3.connect(
                        self.path, timeout=2.5, isolation_level=None, check_same_thread=False
                    )
                except BaseException:
                    with self.guard:
                        self.made -= 1
                    raise
        try:
            return self.idle.get(timeout=within_s)
        except queue.Empty:
            raise sqlite3.OperationalError("all connections are busy") from None

    def give(self, db, *, broken):
        with self.guard:
            if broken or self.closed:
                self.made -= 1
                db.close()
            else:
                self.idle.put(db)

    def close(self):
        with self.guard:
            self.closed = True
            while True:
                try:
                    self.idle.get_nowait().close()
                except queue.Empty:
                    return


POOLS, POOLS_GUARD = {}, threading.Lock()


class Pooled:
    name = "pooled"

    def __init__(self):
        self._pool = None

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.shutdown()
        self._session, self._user = session_key, config.get("user_id")
        self._room = config["limits"].get("recall_chars", 1 << 40)
        self._quiet = config.get("agent_context", "primary") not in config["protocol"]["contexts"]
        home = Path(config["home"])
        if not home.is_dir():
            raise errors.Misconfigured("the home is no directory")
        path = str(home.resolve() / "pooled.db")
        with POOLS_GUARD:
            pool = POOLS.setdefault(path, Pool(path))
            pool.users += 1
            self._pool = pool

    def shutdown(self):
        with POOLS_GUARD:
            pool, self._pool = self._pool, None
            if pool is None:
                return
            pool.users -= 1
            if pool.users:
                return
            del POOLS[pool.path]
        pool.close()

    def capabilities(self):
        return {
            "extensions": ["checkpoint", "sessions", "delegation", "turns"],
            "stores": ["turns", "writes"],
            "isolates": ["profile", "user", "session"],
            "mirrors": {one: ["add", "replace", "remove"] for one in ("memory", "user")},
        }

    @contextmanager
    def _db(self, begin="BEGIN IMMEDIATE"):
        pool, broken = self._pool, True
        try:
            db = pool.take(2)
            try:
                db.execute("PRAGMA secure_delete = ON")
                db.execute(TABLE)
                db.execute(begin)
                try:
                    yield db
                except BaseException:
                    db.execute("ROLLBACK")
                    raise
                db.execute("COMMIT")
                broken = False
            except errors.WriteRefused:
                broken = False
                raise
            finally:
                pool.give(db, broken=broken)
        except sqlite3.Error as error:
            raise errors.Unavailable("the database cannot be used now", retry_after_s=1) from error

    def _owner(self, session=None):
        return json.dumps([self._user, self._session if session is None else session])

    def _add(self, db, kind, text):
        db.execute(
            "INSERT INTO kept(owner, kind, body) VALUES (?, ?, ?)",
            (self._owner(), kind, json.dumps(text)),
        )

    def _rows(self, db):
        query = "SELECT id, kind, body FROM kept WHERE owner = ? ORDER BY id DESC"
        return [
            (n, kind, json.loads(body)) for n, kind, body in db.execute(query, (self._owner(),))
        ]

    def enrich_turn(self, user_message, messages):
        try:
            with self._db("BEGIN") as db:
                texts = [body for _, _, body in self._rows(db)]
        except errors.Unavailable:
            return None
        asked = _grams(user_message)
        hits = sorted(((len(asked & _grams(t)), t) for t in texts), key=lambda hit: -hit[0])
        hits = [text for count, text in hits if count][:10]
        lines, room = [], self._room
        for text in hits:
            if len(text) < room:
                lines.append(text)
                room -= len(text) + 1
        return "\n".join(lines or [text[: self._room] for text in hits[:1]]) or None

    def on_turn_start(self, turn_number, message, **kwargs):
        pass

    def on_turn_complete(self, user_message, assistant_response):
        if self._quiet:
            return
        own = _own(user_message)
        with self._db() as db:
            for n, kind, body in self._rows(db):
                if kind == "compressed" and body == own:
                    db.execute("DELETE FROM kept WHERE id = ?", (n,))
            self._add(db, "turn", f"{own}\n{assistant_response}")

    def on_memory_write(self, action, target, content, old_text=None):
        if self._quiet:
            return
        if action not in ("add", "replace", "remove"):
            raise errors.Rejected("no such action is known")
        with self._db() as db:
            if action != "add":
                held = [
                    r for r in self._rows(db) if r[1] == target and old_text and old_text in r[2]
                ]
                held = [row for row in held if row[2] == old_text] or held
                if len({row[2] for row in held}) != 1:
                    raise errors.WriteRefused("old_text fits none or several")
                db.executemany("DELETE FROM kept WHERE id = ?", [row[:1] for row in held])
            if action != "remove":
                self._add(db, target, content)

    def on_compress(self, messages, compression_count):
        if self._quiet:
            return
        texts = [
            _own(m["content"])
            for m in messages
            if m.get("role") == "user" and isinstance(m.get("content"), str)
        ]
        with self._db() as db:
            bodies = [body for _, kind, body in self._rows(db) if kind in ("turn", "compressed")]
            for text in dict.fromkeys(texts):
                if text.strip() and not any(b == text or b.startswith(text + "\n") for b in bodies):
                    self._add(db, "compressed", text)

    def on_delegation(self, task, result, *, child_session_id="", **kwargs):
        if not self._quiet:
            with self._db() as db:
                self._add(db, "delegated", f"{task}\n{result}")

    def on_session_end(self, messages):
        pass

    def on_session_switch(self, new_session_id, **kwargs):
        self._session = new_session_id


def _own(text):
    head, mark, rest = text.partition("<memory-context>\n[System note:")
    return head + rest.rpartition("</memory-context>")[2] if mark else text


def _grams(text):
    words = re.findall(r"\w+", text.casefold())
    pairs = {w[at : at + 2] for w in words if not w.isascii() for at in range(len(w) - 1)}
    return pairs | {word for word in words if len(word) > 2}
