"""
The file: connections to it, transactions on it, and its errors in the words of the protocol.

Any thread may use it, and any number of processes. A connection serves one thread at a time and is
kept for the next one; a copy of the process opens its own.
"""

import contextlib
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable
from memproto.reference_providers.reading import own_folder

from . import schema

#: Seconds that a call waits for another process that holds the file: a turn waits for a recall.
READING_S, WRITING_S = 1.0, 10.0

#: Connections that are kept open between calls.
_KEPT = 4

#: SQLite's errors for a file that a person has to look at.
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def as_bytes(text: str) -> bytes:
    """Text as it is stored: UTF-8 that spells half surrogates too, which SQLite does not take."""
    return text.encode("utf-8", "surrogatepass")


def _as_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


class Database:
    """
    One SQLite file.

    Attributes:
        path: The path of the file.
        fault: Why it could not be used when it was used last; "" where it could.

    """

    def __init__(
        self, path: Path, prepare: Callable[[sqlite3.Connection], None], *, read_only: bool = False
    ) -> None:
        self.path = path
        self.fault = ""
        self._prepare = prepare
        self._read_only = read_only
        self._is_ready = False
        self._writing = threading.RLock()
        self._idle: list[_Connection] = []
        self._owner = os.getpid()
        self._is_closed = False
        _all[id(self)] = self

    def open(self) -> None:
        """
        Make the file where there is none, and bring it to this release's tables.

        A file that is locked, or cannot be written, is used as soon as it can be.

        Raises:
            Misconfigured: The file is damaged, or none that this release can read.

        """
        with contextlib.suppress(Unavailable), self.reading():
            pass

    def close(self) -> None:
        """Close what is open; may be called again."""
        self._is_closed = True
        self._made_own()
        self._close_idle()

    def _close_idle(self) -> None:
        while self._idle:
            with contextlib.suppress(IndexError, sqlite3.Error):
                self._idle.pop().close()

    def reading(self) -> "Transaction":
        """
        One view of the file, which no writer changes meanwhile; for a `with` statement.

        Raises:
            Unavailable: The file cannot be read now.
            Misconfigured: It is damaged.

        """
        return Transaction(self, "BEGIN", READING_S)

    def writing(self) -> "Transaction":
        """
        One transaction; an exception inside of it leaves the file as it was.

        Raises:
            Unavailable: The file cannot be written now.
            Misconfigured: It is damaged.

        """
        if self._read_only:
            raise Unavailable(f"{self.path} is opened to be read only")
        self._made_own()
        return Transaction(self, "BEGIN IMMEDIATE", WRITING_S, self._writing)

    def begin(self, transaction: "Transaction", statement: str, waits_s: float) -> None:
        """
        Lend a transaction a connection, and begin on it; `end` takes it back, if this raises too.

        The transaction knows the connection before anything begins on it: Ctrl+C may come between
        any two calls, and what nobody knows keeps the file locked until it is collected.
        """
        try:
            connection = transaction.connection = self._taken(waits_s)
            self._made_ready(connection)
            connection.execute(statement)
        except (sqlite3.Error, OSError) as error:
            raise self._named(error) from error

    def end(self, connection: "_Connection", error: BaseException | None) -> None:
        """End a transaction as its block ended; an error of the file is raised in our words."""
        try:
            try:
                if error is None:
                    connection.execute("COMMIT")
            finally:
                self.take_back(connection)
        except sqlite3.Error as fault:
            raise self._named(fault) from fault
        if isinstance(error, (sqlite3.Error, OSError)):
            raise self._named(error) from error
        if error is None:
            self.fault = ""

    # -- connections ------------------------------------------------------------------------------

    def _made_own(self) -> None:
        """Begin anew in a copy of the process; closing the other one's would drop its locks."""
        if self._owner != os.getpid():
            _of_others.extend(self._idle)
            self._idle, self._writing, self._owner = [], threading.RLock(), os.getpid()

    def _taken(self, waits_s: float) -> "_Connection":
        self._made_own()
        if self._is_closed:
            raise Unavailable("the session was shut down")
        try:
            found = self._idle.pop()
        except IndexError:
            found = self._connected(waits_s)
        else:
            found.waits(waits_s)
        found.is_lent = True
        return found

    def take_back(self, connection: "_Connection") -> None:
        """Undo what a connection has not committed, and keep it for the next call or close it."""
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        # From here on it locks nothing. One that gets lost now is closed when it is collected.
        connection.is_lent = False
        if self._is_closed or connection.in_transaction or len(self._idle) >= _KEPT:
            connection.close()
        else:
            self._idle.append(connection)

    def _connected(self, waits_s: float) -> "_Connection":
        if not self._read_only:
            own_folder(self.path.parent)
            with contextlib.suppress(OSError):
                # Nobody else's to read; SQLite says what is wrong where this fails.
                self.path.touch(0o600, exist_ok=False)
        mode = "ro" if self._read_only else "rwc"
        found = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            factory=_Connection,
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        found.text_factory = _as_text
        try:
            found.waits(waits_s)
            for setting in ("foreign_keys = ON", "secure_delete = ON", "synchronous = NORMAL"):
                found.execute(f"PRAGMA {setting}")
        except BaseException:
            found.close()
            raise
        return found

    def _made_ready(self, connection: sqlite3.Connection) -> None:
        if self._is_ready:
            return
        if not self._read_only:
            connection.execute("PRAGMA journal_mode = WAL")
        if not schema.is_current(connection):
            connection.execute("BEGIN IMMEDIATE")
            schema.migrate(connection)
            connection.execute("COMMIT")
        self._prepare(connection)
        self._is_ready = True

    # -- errors -----------------------------------------------------------------------------------

    def _named(self, error: sqlite3.Error | OSError) -> Unavailable | Misconfigured:
        """Return the error in the words of the protocol, and keep it."""
        self.fault = f"{self.path} cannot be used: {error}"
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            fix = "bring a copy back, or move it away to begin anew"
            return Misconfigured(f"{self.path} is damaged ({error}); {fix}")
        return Unavailable(self.fault)


class Transaction:
    """
    The result of `reading` and `writing`: a `with` statement has a connection of it.

    A class, since generators for the same took a short turn half of its time. The turn is a lock
    that knows its thread: Ctrl+C may come before it is known here whether the lock was taken.

    Ctrl+C may come as `__exit__` begins as well, before its first statement. The connection is a
    part of a cycle, by the statements that it caches, and would keep its transaction until garbage
    is collected; so this object ends it when nobody knows this object any more.
    """

    #: The connection that it has, or had.
    connection: "_Connection | None" = None

    #: True from the beginning until nothing is left to be undone.
    _is_open = False

    def __init__(
        self, database: Database, begin: str, waits_s: float, turn: "threading.RLock | None" = None
    ) -> None:
        self._database, self._begin, self._waits_s, self._turn = database, begin, waits_s, turn

    def __enter__(self) -> sqlite3.Connection:
        turn = self._turn  # SQLite would have the threads of a process ask again and again.
        try:
            if turn is not None:
                self._wait_for(turn)
            self._is_open = True
            self._database.begin(self, self._begin, self._waits_s)
        except BaseException as error:
            self._end(error)
            raise
        assert self.connection is not None
        return self.connection

    def _wait_for(self, turn: "threading.RLock") -> None:
        if not turn.acquire(timeout=self._waits_s):
            raise Unavailable(f"{self._database.path} is being written by another thread")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        try:
            if self.connection is not None and self.connection.is_lent:
                self._database.end(self.connection, error)
        finally:
            # No call of a Python function from here on: Ctrl+C would come in it.
            self._is_open = self.connection is not None and self.connection.is_lent
            if not self._is_open:
                self.connection = None
            if self._turn is not None:
                try:  # noqa: SIM105 - suppress is a function of Python's
                    self._turn.release()
                except RuntimeError:
                    pass  # Not taken after all, or given back before.

    def __del__(self) -> None:
        if self._is_open:
            with contextlib.suppress(Exception):
                self._end(Unfinished())


class Unfinished(Exception):
    """A block whose end was interrupted: what it did is undone."""


class _Connection(sqlite3.Connection):
    """A connection that knows how long it waits for another process."""

    _waits_s = -1.0

    #: True while a transaction has it; only the transaction gives it back.
    is_lent = False

    def waits(self, waits_s: float) -> None:
        """Have it wait so long; to tell SQLite what it knows takes as long as to begin."""
        if waits_s != self._waits_s:
            self.execute(f"PRAGMA busy_timeout = {int(waits_s * 1000)}")
            self._waits_s = waits_s


#: Connections of the process that this one is a copy of, kept from the garbage collector.
_of_others: list[sqlite3.Connection] = []

_all: weakref.WeakValueDictionary[int, Database] = weakref.WeakValueDictionary()


def _before_fork() -> None:
    """
    Close what no call uses: SQLite takes the locks of a file it has open to be a copy's own.

    The log of writes that the copy goes on with would be removed when the first process closes.
    """
    for database in list(_all.values()):
        if database._owner == os.getpid():  # noqa: SLF001 - this module's own
            database._close_idle()  # noqa: SLF001


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
