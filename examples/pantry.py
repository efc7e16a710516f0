"""
A memory in one SQLite file, with three faults; docs/first-hour.md finds them by the terminal alone.

`pytest --memproto=pantry` in this directory shows what the kit says about it.
"""

import json
import logging
import re
import sqlite3
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from memproto import errors
from memproto.fence import strip_memory_context

logger = logging.getLogger(__name__)

TABLE = "CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY, owner, kind, text)"
WORD = re.compile(r"\w{3,}")
ACTIONS = ["add", "replace", "remove"]


class Store:
    def __init__(self, path, owner):
        self._path, self._owner = path, json.dumps(owner)
        with self._opened() as db:
            db.execute(TABLE)

    def search(self, query, room):
        wanted = words(query)
        with self._opened() as db:
            rows = db.execute("SELECT text FROM entries WHERE owner = ?", (self._owner,))
            texts = [json.loads(text) for (text,) in rows]
        found = [text for text in texts if wanted & words(text)]
        found.sort(key=lambda text: -len(wanted & words(text)))
        return fitting(found[:20], room)

    def insert(self, db, kind, text):
        row = (self._owner, json.dumps(text))
        db.execute("INSERT INTO entries(owner, kind, text) VALUES (?, ?, ?)", row)

    def delete(self, db, kind, old):
        query = "SELECT id, text FROM entries WHERE owner = ?"
        held = {key: json.loads(text) for key, text in db.execute(query, (self._owner,))}
        fits = {key: text for key, text in held.items() if old and old in text}
        exact = {key: text for key, text in fits.items() if text == old}
        chosen = exact or fits
        if len({*chosen.values()}) != 1:
            raise errors.WriteRefused("the old text fits no entry, or several")
        db.executemany("DELETE FROM entries WHERE id = ?", [(key,) for key in chosen])

    def close(self):
        with suppress(sqlite3.Error), self._opened() as db:
            db.execute("PRAGMA optimize")

    @contextmanager
    def opened(self):
        try:
            with self._opened() as db:
                yield db
        except sqlite3.OperationalError as error:
            raise errors.Unavailable(f"pantry.db cannot be used: {error}") from error

    @contextmanager
    def _opened(self):
        with closing(sqlite3.connect(self._path, timeout=4, isolation_level=None)) as db:
            db.execute("PRAGMA secure_delete = ON")
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")


class Pantry:
    name = "pantry"

    def __init__(self):
        self._store = None

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self._room = config.get("limits", {}).get("recall_chars")
        kept = config.get("protocol", {}).get("contexts", ["primary"])
        self._is_kept = config.get("agent_context", "primary") in kept
        try:
            self._store = Store(Path(config["home"], "pantry.db"), config.get("user_id"))
        except (OSError, sqlite3.Error) as error:
            raise errors.Misconfigured(f"the home cannot be used: {error}") from error

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "isolates": ["profile", "user"],
            "mirrors": {"memory": ACTIONS, "user": ACTIONS},
        }

    def enrich_turn(self, user_message, messages):
        with suppress(sqlite3.Error):
            return "\n".join(self._store.search(user_message, self._room)) or None

    def on_turn_complete(self, user_message, assistant_response):
        if not self._is_kept:
            return
        text = f"{strip_memory_context(user_message)}\n{assistant_response}"
        try:
            with self._store.opened() as db:
                self._store.insert(db, "turn", text)
        except sqlite3.Error:
            logger.debug("the turn was not kept", exc_info=True)

    def on_memory_write(self, action, target, content, old_text=None):
        if not self._is_kept:
            return
        if action not in ACTIONS:
            raise errors.Rejected(f"the actions are {', '.join(ACTIONS)}")
        with self._store.opened() as db:
            if action != "add":
                self._store.delete(db, target, old_text or "")
            if action != "remove":
                self._store.insert(db, target, content or "")

    def on_compress(self, messages, compression_count):
        pass

    def shutdown(self):
        self._store.close()
        self._store = None


def words(text):
    """The words of a text by which it is found."""
    return {word.casefold() for word in WORD.findall(text)}


def fitting(texts, room):
    """As many of the texts as fit; the first one cut if none does."""
    kept = []
    for text in texts:
        if room is None or len("\n".join([*kept, text])) <= room:
            kept.append(text)
    return kept or [text[:room] for text in texts[:1]]
