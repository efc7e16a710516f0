"""
The entries of a memory, in one SQLite file.

Each call opens the file, makes one transaction and closes it again: any thread and any process may
call, and what is accepted is on disk before the call returns. Texts and owners are kept as JSON in
ASCII, which holds every character, half a surrogate pair included.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_TABLE = "CREATE TABLE IF NOT EXISTS entries(id INTEGER PRIMARY KEY, owner, kind, text)"
_WORD = re.compile(r"\w{3,}")
_MOST = 20


class Store:
    """All entries below one home. Every method raises sqlite3.Error where the file fails."""

    def __init__(self, path: Path) -> None:
        """Make the file and its table, where they are not there yet."""
        self._path = path
        with self._opened() as db:
            db.execute(_TABLE)

    def add(self, owner: str | None, kind: str, text: str) -> None:
        """Keep a text."""
        with self._opened() as db:
            self._insert(db, owner, kind, text)

    def remove(self, owner: str | None, kind: str, old: str) -> None:
        """Remove the entry that is `old`, or else the one that holds it; raises LookupError."""
        with self._opened() as db:
            self._delete(db, owner, kind, old)

    def replace(self, owner: str | None, kind: str, old: str, text: str) -> None:
        """Put a text in the place of an entry; raises as `remove`, and keeps nothing then."""
        with self._opened() as db:
            self._delete(db, owner, kind, old)
            self._insert(db, owner, kind, text)

    def search(self, owner: str | None, query: str, room: int | None) -> list[str]:
        """The texts that share the most words with the query, as many as `room` characters hold."""
        wanted = _words(query)
        with self._opened("BEGIN") as db:
            rows = db.execute(
                "SELECT text FROM entries WHERE owner = ? ORDER BY id DESC", (json.dumps(owner),)
            )
            texts = [json.loads(text) for (text,) in rows]
        ranked = sorted(texts, key=lambda text: -len(wanted & _words(text)))
        return _fitting([text for text in ranked[:_MOST] if wanted & _words(text)], room)

    @contextmanager
    def _opened(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=4, isolation_level=None)) as db:
            db.execute("PRAGMA secure_delete = ON")
            db.execute(begin)
            yield db  # an exception in here closes the file, and nothing is committed
            db.execute("COMMIT")

    def _insert(self, db: sqlite3.Connection, owner: str | None, kind: str, text: str) -> None:
        row = (json.dumps(owner), kind, json.dumps(text))
        db.execute("INSERT INTO entries(owner, kind, text) VALUES (?, ?, ?)", row)

    def _delete(self, db: sqlite3.Connection, owner: str | None, kind: str, old: str) -> None:
        key = (json.dumps(owner), kind)
        rows = db.execute("SELECT id, text FROM entries WHERE owner = ? AND kind = ?", key)
        held = {number: json.loads(text) for number, text in rows}
        fits = {number: text for number, text in held.items() if old and old in text}
        exact = {number: text for number, text in fits.items() if text == old}
        chosen = exact or fits
        if len(set(chosen.values())) != 1:
            raise LookupError("the old text fits no entry, or several")
        db.executemany("DELETE FROM entries WHERE id = ?", [(number,) for number in chosen])


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _fitting(texts: list[str], room: int | None) -> list[str]:
    """Whole texts as long as they fit; the best one shortened where not even it does."""
    if room is None or not texts:
        return texts
    kept: list[str] = []
    for text in texts:
        if len("\n".join([*kept, text])) <= room:
            kept.append(text)
    return kept or [texts[0][:room]]
