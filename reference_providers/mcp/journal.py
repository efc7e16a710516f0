"""
Writes that were accepted: kept in the home until the server has answered them.

One SQLite file, for any thread and any number of processes. A process claims a write before it
sends it, so that no other sends it too; a claim of one that died runs out.
"""

import contextlib
import dataclasses
import json
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, Unavailable, WriteRefused

FILE = "mcp-journal.db"

#: Seconds that a claim holds, and that a call waits for another process that holds the file.
_CLAIM_S, _WAIT_S = 30.0, 5.0

#: Ids of delivered turns that are remembered, so that a turn which comes again is known.
_REMEMBERED = 10_000

#: Writes of a user that may wait: a server that is away for weeks is not to fill the disk.
MOST = 10_000

_TABLE = """CREATE TABLE IF NOT EXISTS writes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    claimed_by TEXT,
    claimed_until REAL NOT NULL DEFAULT 0,
    write TEXT NOT NULL,
    UNIQUE (owner, id))"""

_WAITING = """CREATE INDEX IF NOT EXISTS writes_that_wait ON writes (owner)
    WHERE state = 'waiting'"""


@dataclasses.dataclass(frozen=True, slots=True)
class Write:
    """
    A write that is waiting.

    Attributes:
        attempts: Times that it was sent without an answer; it may have been stored then.
        places: Values that fill the template of the store tool.

    """

    number: int
    id: str
    attempts: int
    places: Mapping[str, Any]


class Journal:
    """
    The writes of one user of a profile that wait in its home.

    Args:
        path: The file.
        owner: The owner of the writes.
        most: Number of writes that may wait.

    """

    def __init__(self, path: Path, owner: str, most: int = MOST) -> None:
        self._path, self._owner, self._most = path, owner, most
        self._claimant = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._is_closed = False

    def open(self) -> None:
        """
        Make the file where there is none.

        Raises:
            Misconfigured: It is damaged, or no journal.
            Unavailable: It cannot be written now.

        """
        with self._connected():
            pass

    def close(self) -> None:
        """Let go of what this process claimed; may be called again."""
        if self._connection is not None:
            with contextlib.suppress(Unavailable, Misconfigured), self._connected() as connection:
                release = "UPDATE writes SET claimed_until = 0 WHERE claimed_by = ?"
                connection.execute(release, (self._claimant,))
        with self._lock:
            self._is_closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    # -- writes -----------------------------------------------------------------------------------

    def add(self, write_id: str, places: Mapping[str, Any]) -> int | None:
        """
        The number of a new write; None where one with its id was accepted before.

        It is claimed from the start: the hook that waits for it hears from this process alone.

        Raises:
            WriteRefused: There is no room for it.

        """
        claim = (self._claimant, time.time() + _CLAIM_S)
        row = (write_id, self._owner, json.dumps(places), *claim)
        insert = """INSERT OR IGNORE INTO writes
            (id, owner, state, write, claimed_by, claimed_until)
            VALUES (?, ?, 'waiting', ?, ?, ?)"""
        with self._connected() as connection:
            done = connection.execute(insert, row)
            if done.rowcount != 1:
                return None
            if self._count(connection) > self._most:
                fault = f"{self._most} writes wait for the server"
                raise WriteRefused(f"{fault}; look why it does not answer")
            return int(done.lastrowid or 0)

    def _count(self, connection: sqlite3.Connection) -> int:
        query = "SELECT count(*) FROM writes WHERE owner = ? AND state = 'waiting'"
        return int(connection.execute(query, (self._owner,)).fetchone()[0])

    def claim(self) -> Write | None:
        """
        The next write that waits, for this process alone; those without an answer come last.

        It counts as sent from now on, since a process that dies cannot say that it was.
        """
        now = time.time()
        claimed = """UPDATE writes SET claimed_by = ?, claimed_until = ?, attempts = attempts + 1
            WHERE number = (
            SELECT number FROM writes WHERE owner = ? AND state = 'waiting'
            AND (claimed_until <= ? OR claimed_by = ?) ORDER BY attempts, number LIMIT 1)
            RETURNING number, id, attempts - 1, write"""
        values = (self._claimant, now + _CLAIM_S, self._owner, now, self._claimant)
        with self._connected() as connection:
            row = connection.execute(claimed, values).fetchone()
        return None if row is None else Write(row[0], row[1], row[2], json.loads(row[3]))

    def release(self, write: Write, *, was_sent: bool) -> None:
        """Leave a write for later."""
        update = "UPDATE writes SET claimed_until = 0, attempts = attempts - ? WHERE number = ?"
        with self._connected() as connection:
            connection.execute(update, (int(not was_sent), write.number))

    def stored(self, write: Write) -> None:
        """Forget the text of a write that the server has; its id is known for a while."""
        update = "UPDATE writes SET state = 'stored', write = '' WHERE number = ?"
        prune = "DELETE FROM writes WHERE state = 'stored' AND number <= ?"
        with self._connected() as connection:
            connection.execute(update, (write.number,))
            connection.execute(prune, (write.number - _REMEMBERED,))

    def refused(self, write: Write) -> None:
        """Set aside a write that the server will not have; its text stays here."""
        update = "UPDATE writes SET state = 'refused' WHERE number = ?"
        with self._connected() as connection:
            connection.execute(update, (write.number,))

    def forget(self, write: Write) -> None:
        """Take a write out whose hook tells that it was refused."""
        with self._connected() as connection:
            connection.execute("DELETE FROM writes WHERE number = ?", (write.number,))

    def counts(self) -> dict[str, int]:
        """Number of writes of this user that are waiting, and of those that were refused."""
        query = "SELECT state, count(*) FROM writes WHERE owner = ? GROUP BY state"
        with self._connected() as connection:
            return dict(connection.execute(query, (self._owner,)).fetchall())

    def waiting(self) -> list[str]:
        """The texts that the server does not have yet, in their order."""
        query = """SELECT write FROM writes WHERE owner = ? AND state = 'waiting'
            ORDER BY number"""
        with self._connected() as connection:
            rows = connection.execute(query, (self._owner,)).fetchall()
        return [json.loads(row[0])["text"] for row in rows]

    # -- the file ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """One transaction, of one thread at a time."""
        try:
            with self._lock:
                connection = self._opened()
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
        except sqlite3.OperationalError as error:
            raise Unavailable(f"{self._path} cannot be used: {error}") from error
        except sqlite3.Error as error:
            fix = "it holds writes that were not sent; move it away to begin anew"
            raise Misconfigured(f"{self._path} is damaged ({error}); {fix}") from error

    def _opened(self) -> sqlite3.Connection:
        if self._is_closed:
            raise Unavailable("the session was shut down")
        if self._connection is None:
            with contextlib.suppress(OSError):
                # Waiting texts are nobody else's to read; SQLite says what is wrong if this fails.
                self._path.touch(0o600, exist_ok=False)
            made = sqlite3.connect(
                self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
            )
            try:
                for setting in ("journal_mode = WAL", "synchronous = NORMAL", "secure_delete = ON"):
                    made.execute(f"PRAGMA {setting}")
                made.execute(_TABLE)
                made.execute(_WAITING)
            except BaseException:
                made.close()
                raise
            self._connection = made
        return self._connection
