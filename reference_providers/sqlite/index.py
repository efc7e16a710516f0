"""
The search for stored texts: by the full-text index FTS5, or by reading them all if it is missing.

Outputs of tools are in a column of its own: a search finds them, a recall does not, since they
are neither the user's word nor the agent's.
"""

import contextlib
import dataclasses
import heapq
import sqlite3
from collections.abc import Iterable
from typing import Protocol

from . import words
from .database import as_bytes
from .words import Node, Some, Term

#: Role of the texts that are outputs of tools.
TOOL = "tool"

_COLUMNS = """m.id, m.role, m.source, m.content, m.name, m.turn_id, m.author, m.created_at,
    m.tokens, s.key, s.owner, s.platform"""
_FROM = "messages m JOIN sessions s ON s.id = m.session"
_STALE = "the full-text index is out of date"


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A stored text with its session; `score` says how well it fits, more is better."""

    id: int
    role: str
    source: str
    content: str
    name: str | None
    turn_id: str | None
    author: str | None
    created_at: str
    tokens: int | None
    key: str
    owner: str
    platform: str | None
    score: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Filter:
    """
    The texts that are meant: a condition in SQL with its values.

    Attributes:
        owner: The owner of the texts, as in the table of sessions.
        conditions: Each with one value, on `m`, the text, and `s`, its session.
        with_tools: True if outputs of tools are among them.

    """

    owner: str
    conditions: tuple[tuple[str, str | int | bytes], ...] = ()
    with_tools: bool = True

    def sql(self) -> tuple[str, list[str | int | bytes]]:
        """The condition, and the values of its question marks."""
        every = [("s.owner = CAST(? AS TEXT)", as_bytes(self.owner)), *self.conditions]
        text = " AND ".join(condition for condition, _ in every)
        if not self.with_tools:
            text += f" AND m.role <> '{TOOL}'"
        return text, [value for _, value in every]


class Index(Protocol):
    """A way to find texts by their words."""

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Make ready for a file whose tables are there; in no transaction."""
        ...

    def add(self, connection: sqlite3.Connection, number: int, role: str, text: str) -> None:
        """Note a text that was stored, in its transaction."""
        ...

    def remove(self, connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
        """Forget texts that were removed, in their transaction."""
        ...

    def purge(self, connection: sqlite3.Connection) -> None:
        """Leave no word behind of what was removed; rewrites the index."""
        ...

    def find(
        self, connection: sqlite3.Connection, node: Node, wanted: Filter, limit: int
    ) -> list[Row]:
        """The texts that fit best, the best first and the newest first among equals."""
        ...


def rows(connection: sqlite3.Connection, wanted: Filter, *, newest: bool = False) -> Iterable[Row]:
    """All texts that are meant, in the order in which they were stored, or the other one."""
    condition, values = wanted.sql()
    order = " DESC" if newest else ""
    query = f"SELECT {_COLUMNS} FROM {_FROM} WHERE {condition} ORDER BY m.id{order}"  # noqa: S608 - the condition is this module's own, its values are bound
    return (Row(*found) for found in connection.execute(query, values))


def has_fts5(connection: sqlite3.Connection) -> bool:
    """True if this SQLite was built with FTS5."""
    query = "SELECT 1 FROM pragma_module_list WHERE name = 'fts5'"
    return connection.execute(query).fetchone() is not None


# -- FTS5 ------------------------------------------------------------------------------------------


class FullText:
    """FTS5, ranked by BM25. The index holds no text, and is written in the text's transaction."""

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Make the index, or bring one up to date that was left out for a time."""
        if self._is_there(connection) and not _is_stale(connection):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._made(connection)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @staticmethod
    def _is_there(connection: sqlite3.Connection) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE name = 'words'"
        return connection.execute(query).fetchone() is not None

    def _made(self, connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE IF EXISTS words")
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5(content, calls, content='',"
            " tokenize = 'unicode61 remove_diacritics 2')"
        )
        query = "SELECT id, role, content FROM messages ORDER BY id"
        for number, role, content in connection.execute(query):
            self.add(connection, number, role, content)
        connection.execute("DELETE FROM notes WHERE name = ?", (_STALE,))

    def add(self, connection: sqlite3.Connection, number: int, role: str, text: str) -> None:
        """Put a text's words into the index."""
        connection.execute(
            "INSERT INTO words (rowid, content, calls)"
            " VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT))",
            (number, *_columns(role, text)),
        )

    def remove(self, connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
        """Take texts out of the index; their words stay in it until it is rewritten."""
        for row in rows:
            connection.execute(
                "INSERT INTO words (words, rowid, content, calls)"
                " VALUES ('delete', ?, CAST(? AS TEXT), CAST(? AS TEXT))",
                (row.id, *_columns(row.role, row.content)),
            )

    def purge(self, connection: sqlite3.Connection) -> None:
        """Merge the index into one piece, which holds nothing that was deleted."""
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")

    def find(
        self, connection: sqlite3.Connection, node: Node, wanted: Filter, limit: int
    ) -> list[Row]:
        """By BM25."""
        match = f"content : {expression(node)}" if not wanted.with_tools else expression(node)
        if not wanted.conditions and _is_alone(connection, wanted.owner):
            ranked = "SELECT rowid AS id, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
            values: list[str | int | bytes] = [match, limit]
        else:
            condition, given = wanted.sql()
            ranked = f"SELECT words.rowid AS id, rank FROM words JOIN messages m ON m.id = words.rowid JOIN sessions s ON s.id = m.session WHERE words MATCH ? AND {condition} ORDER BY rank LIMIT ?"  # noqa: E501, S608 - one statement; the condition is this module's own, its values are bound
            values = [match, *given, limit]
        query = f"SELECT {_COLUMNS}, -found.rank FROM ({ranked}) found JOIN {_FROM} WHERE m.id = found.id ORDER BY found.rank, m.id DESC"  # noqa: E501, S608 - as above
        return [Row(*row) for row in connection.execute(query, values)]


def expression(node: Node) -> str:
    """A question in FTS5's own language; no word of it is anything but a word there."""
    if isinstance(node, Term):
        return f'("{" ".join(node.words)}"{"*" if node.is_prefix else ""})'
    if isinstance(node, Some):
        return f"({' OR '.join(map(expression, node.wanted))})"
    wanted = f"({' AND '.join(map(expression, node.wanted))})"
    if not node.unwanted:
        return wanted
    return f"({wanted} NOT {expression(Some(node.unwanted))})"


def _columns(role: str, text: str) -> tuple[bytes, bytes]:
    text_of_it = as_bytes(words.indexed(text))
    return (b"", text_of_it) if role == TOOL else (text_of_it, b"")


def _is_alone(connection: sqlite3.Connection, owner: str) -> bool:
    """True if the file holds nobody else's texts: then none need be told apart."""
    query = """SELECT EXISTS (SELECT 1 FROM sessions WHERE owner < CAST(? AS TEXT))
        OR EXISTS (SELECT 1 FROM sessions WHERE owner > CAST(? AS TEXT))"""
    mine = as_bytes(owner)
    return not connection.execute(query, (mine, mine)).fetchone()[0]


# -- without FTS5 ----------------------------------------------------------------------------------


class Plain:
    """Reads every text of its user for each question; for an SQLite without FTS5."""

    def prepare(self, connection: sqlite3.Connection) -> None:
        """Nothing is to be made."""

    def add(self, connection: sqlite3.Connection, number: int, role: str, text: str) -> None:
        """Note that an index, if there is one, lacks a text."""
        _made_stale(connection)

    def remove(self, connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
        """Note that an index, if there is one, has a text too many."""
        _made_stale(connection)

    def purge(self, connection: sqlite3.Connection) -> None:
        """Drop an index that still holds the words, if there is one."""
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'words'").fetchone():
            with contextlib.suppress(sqlite3.OperationalError):  # Without FTS5 it cannot be.
                connection.execute("DROP TABLE words")

    def find(
        self, connection: sqlite3.Connection, node: Node, wanted: Filter, limit: int
    ) -> list[Row]:
        """By the length of all words that are found: a long word says more than a short one."""
        scored = (
            dataclasses.replace(row, score=float(_weight(node, words.split(row.content))))
            for row in rows(connection, wanted, newest=True)
        )
        return heapq.nlargest(limit, (row for row in scored if row.score), key=_score)


def _score(row: Row) -> float:
    return row.score


def _weight(node: Node, text: list[str]) -> int:
    if isinstance(node, Term):
        return _found(node, text)
    if isinstance(node, Some):
        return sum(_weight(part, text) for part in node.wanted)
    parts = [_weight(part, text) for part in node.wanted]
    fits = all(parts) and not any(_weight(part, text) for part in node.unwanted)
    return sum(parts) if fits else 0


def _found(term: Term, text: list[str]) -> int:
    looked_for = [part for word in term.words for part in words.split(word)]
    if not looked_for:
        return 0
    *whole, last = looked_for
    for start in range(len(text) - len(looked_for) + 1):
        end = start + len(whole)
        is_last = text[end].startswith(last) if term.is_prefix else text[end] == last
        if is_last and text[start:end] == whole:
            return sum(map(len, looked_for))
    return 0


def _is_stale(connection: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM notes WHERE name = ?"
    return connection.execute(query, (_STALE,)).fetchone() is not None


def _made_stale(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO notes VALUES (?, '')", (_STALE,))


def chosen(connection: sqlite3.Connection, kind: str) -> Index:
    """The index of the setting `search`: `plain`, or the best that there is."""
    return FullText() if kind != "plain" and has_fts5(connection) else Plain()
