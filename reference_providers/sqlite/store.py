"""Operations of one user's memory: keep, find, show, forget. Each method is one transaction."""

import dataclasses
import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from memproto.errors import Rejected, WriteRefused

from . import index, words
from .database import Database, as_bytes
from .index import Filter, Row
from .settings import Settings, owner_of


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """A text that is to be kept; `turn_id` and `author` are those of the turn it belongs to."""

    role: str
    source: str
    content: str
    created_at: str
    name: str | None = None
    tokens: int | None = None
    turn_id: str | None = None
    author: Mapping[str, Any] | None = None


class Store:
    """
    The texts of one user in one file.

    Attributes:
        database: The file.
        owner: The owner of the texts that are read and written.

    Args:
        settings: The settings of the session.
        first: The session whose parent the settings tell.

    """

    def __init__(self, settings: Settings, first: str | None = None) -> None:
        self.owner = settings.owner
        self._settings = settings
        self._first = first
        self._index: index.Index = index.Plain()
        self.database = Database(settings.path, self._prepare, read_only=settings.is_read_only)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        found = index.chosen(connection, self._settings.search)
        if not self._settings.is_read_only:
            found.prepare(connection)
        self._index = found

    # -- keeping ----------------------------------------------------------------------------------

    def keep(self, session: str, texts: Iterable[Text], platform: str | None = None) -> list[int]:
        """
        Store texts, all or none; their numbers. `platform` is that of a session which is new.

        Raises:
            Unavailable: The file cannot be written now.

        """
        with self.database.writing() as connection:
            number = self._session(connection, session, platform=platform)
            return [self._add(connection, number, text) for text in texts]

    def keep_turn(self, session: str, turn_id: str, texts: Iterable[Text]) -> None:
        """Store the texts of a turn, once for each id."""
        with self.database.writing() as connection:
            query = """SELECT 1 FROM messages m JOIN sessions s ON s.id = m.session
                WHERE m.turn_id = CAST(? AS TEXT) AND s.owner = CAST(? AS TEXT)"""
            known = (as_bytes(turn_id), as_bytes(self.owner))
            if connection.execute(query, known).fetchone() is None:
                number = self._session(connection, session)
                for text in texts:
                    self._add(connection, number, text)

    def replace(self, session: str, target: str, old: str, new: Text | None) -> None:
        """
        Put `new` in the place of the write to `target` that `old` quotes, or take that away.

        Raises:
            WriteRefused: `old` quotes no write, or several different ones.
            Unavailable: The file cannot be written now.

        """
        with self.database.writing() as connection:
            self._remove(connection, self._quoted(connection, target, old))
            if new is not None:
                self._add(connection, self._session(connection, session), new)

    def _quoted(self, connection: sqlite3.Connection, target: str, old: str) -> list[Row]:
        # Spelled as in the index on the names of writes, or SQLite reads every text of the user.
        named = ("m.source = 'writes' AND m.name = CAST(? AS TEXT)", as_bytes(target))
        written = index.rows(connection, Filter(self.owner, (named,)))
        held = [row for row in written if old and old in row.content]
        held = [row for row in held if row.content == old] or held
        different = {row.content for row in held}
        if len(different) != 1:
            found = f"{len(different)} different entries" if different else "no entry"
            raise WriteRefused(f"old_text is found in {found} of {target}")
        return held

    def learn(self, session: str, pattern: str, fix: str, tags: str) -> int:
        """Store a lesson; its number."""
        with self.database.writing() as connection:
            text = Text("learning", "tools", f"{pattern}\n{fix}" if fix else pattern, now())
            number = self._add(connection, self._session(connection, session), text)
            row = (number, as_bytes(pattern), as_bytes(fix), as_bytes(tags))
            connection.execute(
                "INSERT INTO learnings (message, pattern, fix, tags)"
                " VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))",
                row,
            )
            return number

    def summarize(self, session: str, summary: str, keywords: str) -> int:
        """Store what a session was about; its number. The keywords become tags of the session."""
        content = f"{summary}\n{keywords}" if keywords else summary
        with self.database.writing() as connection:
            place = self._session(connection, session)
            number = self._add(connection, place, Text("summary", "tools", content, now()))
            connection.execute(
                "INSERT INTO summaries VALUES (?, CAST(? AS TEXT))", (number, as_bytes(keywords))
            )
            connection.execute(
                "UPDATE sessions SET tags = CAST(? AS TEXT) WHERE id = ?",
                (as_bytes(keywords), place),
            )
            return number

    def _session(
        self,
        connection: sqlite3.Connection,
        key: str,
        *,
        parent: str | None = None,
        platform: str | None = None,
    ) -> int:
        """The number of a session of this user, which begins with its first text."""
        mine = (as_bytes(self.owner), as_bytes(key))
        query = """SELECT id FROM sessions
            WHERE owner = CAST(? AS TEXT) AND key = CAST(? AS TEXT)"""
        found = connection.execute(query, mine).fetchone()
        if found is not None:
            return int(found[0])
        chosen = self._settings
        origin = chosen.parent if key == self._first else None
        more = (platform or chosen.platform, chosen.title, parent or origin)
        values = (*mine, *(None if value is None else as_bytes(value) for value in more), now())
        insert = """INSERT INTO sessions (owner, key, platform, title, parent, started_at)
            VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),
                CAST(? AS TEXT), ?)"""
        return int(connection.execute(insert, values).lastrowid or 0)

    def branch(self, key: str, parent: str) -> None:
        """Begin a session that came out of another one."""
        with self.database.writing() as connection:
            self._session(connection, key, parent=parent)

    def end_session(self, key: str) -> None:
        """Note when a session ended, if it began."""
        with self.database.writing() as connection:
            connection.execute(
                """UPDATE sessions SET ended_at = ?
                WHERE owner = CAST(? AS TEXT) AND key = CAST(? AS TEXT)""",
                (now(), as_bytes(self.owner), as_bytes(key)),
            )

    def _add(self, connection: sqlite3.Connection, session: int, text: Text) -> int:
        author = None if text.author is None else json.dumps(dict(text.author))
        content, name, turn = as_bytes(text.content), _raw(text.name), _raw(text.turn_id)
        row = (session, text.role, text.source, content, name, turn, author, text.tokens)
        insert = """INSERT INTO messages
            (session, role, source, content, name, turn_id, author, tokens, created_at)
            VALUES (?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?)"""
        number = int(connection.execute(insert, (*row, text.created_at)).lastrowid or 0)
        self._index.add(connection, number, text.role, text.content)
        return number

    # -- finding ----------------------------------------------------------------------------------

    def recall(self, question: str, limit: int) -> list[Row]:
        """
        Texts that fit a question best, the best first; outputs of tools are not among them.

        Raises:
            Unavailable: The file cannot be read now.

        """
        node = words.question(question)
        if node is None:
            return []
        with self.database.reading() as connection:
            wanted = Filter(self.owner, with_tools=False)
            return self._index.find(connection, node, wanted, limit)

    def search(
        self, query: str, conditions: tuple[tuple[str, str | int | bytes], ...], limit: int
    ) -> list[Row]:
        """Texts that fit a query of the search tool, within conditions; see `words.search`."""
        node = words.search(query)
        if node is None:
            return []
        with self.database.reading() as connection:
            return self._index.find(connection, node, Filter(self.owner, conditions), limit)

    def used(self, rows: Iterable[Row]) -> None:
        """Count that lessons were of use."""
        lessons = [(row.id,) for row in rows if row.role == "learning"]
        if lessons:
            update = "UPDATE learnings SET times_used = times_used + 1 WHERE message = ?"
            with self.database.writing() as connection:
                connection.executemany(update, lessons)

    # -- privacy ----------------------------------------------------------------------------------

    def within(self, scope: Mapping[str, Any]) -> list[Row]:
        """
        Every text of a scope, in the order in which they were stored.

        Raises:
            Rejected: The scope has a key that this release does not know, or is none.
            Unavailable: The file cannot be read now.

        """
        wanted = self._scoped(scope)
        with self.database.reading() as connection:
            return list(index.rows(connection, wanted)) if wanted else []

    def forget(self, scope: Mapping[str, Any]) -> int:
        """
        Remove every text of a scope; how many there were. Raises as `within`.

        Words of writes that were replaced or removed before go too, whether or not a text is left.
        """
        wanted = self._scoped(scope)
        return self.remove(wanted, purges=True) if wanted else 0

    def remove(self, wanted: Filter, *, purges: bool = False) -> int:
        """
        Remove what is meant, and each session that has nothing left; how many texts it was.

        `purges` has the index rewritten even where there was none.
        """
        with self.database.writing() as connection:
            found = list(index.rows(connection, wanted))
            self._remove(connection, found)
            if found or purges:
                self._index.purge(connection)
            connection.execute(
                """DELETE FROM sessions WHERE owner = CAST(? AS TEXT)
                AND NOT EXISTS (SELECT 1 FROM messages WHERE session = sessions.id)""",
                (as_bytes(self.owner),),
            )
        if found or purges:
            self._emptied()
        return len(found)

    def _emptied(self) -> None:
        """Have what was removed leave the log of writes too, as far as no reader stands in it."""
        with self.database.reading() as connection:
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("BEGIN")

    def _remove(self, connection: sqlite3.Connection, rows: list[Row]) -> None:
        self._index.remove(connection, rows)
        connection.executemany("DELETE FROM messages WHERE id = ?", [(row.id,) for row in rows])

    def _scoped(self, scope: Mapping[str, Any]) -> Filter | None:
        """The condition of a scope; None for another user's, which selects nothing here."""
        if set(scope) - {"user_id", "session_id"}:
            raise Rejected("a scope has user_id, session_id, both or neither")
        if "user_id" in scope and owner_of(scope["user_id"]) != self.owner:
            return None
        if "session_id" not in scope:
            return Filter(self.owner)
        key = scope["session_id"]
        if not isinstance(key, str):
            raise Rejected("session_id of a scope is no text")
        return Filter(self.owner, (("s.key = CAST(? AS TEXT)", as_bytes(key)),))


def _raw(text: str | None) -> bytes | None:
    return None if text is None else as_bytes(text)


def now() -> str:
    """This moment, with the offset from UTC."""
    return datetime.now(UTC).isoformat()
