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
from collections.abc import Callable, Iterator
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable

from . import schema

#: How long a call waits for another process that holds the file: a turn waits for a recall.
READING_S, WRITING_S = 1.0, 10.0

#: Connections that are kept open between calls.
_KEPT = 4

#: What SQLite says of a file that a person has to look at.
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
        path: Where it is.
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
        self._writing = threading.Lock()
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

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """
        One view of the file, which no writer changes meanwhile.

        Raises:
            Unavailable: The file cannot be read now.
            Misconfigured: It is damaged.

        """
        with self._transaction("BEGIN", READING_S) as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """
        One transaction; an exception inside of it leaves the file as it was.

        Raises:
            Unavailable: The file cannot be written now.
            Misconfigured: It is damaged.

        """
        if self._read_only:
            raise Unavailable(f"{self.path} is opened to be read only")
        self._made_own()
        turn = self._writing  # SQLite would have the threads of a process ask again and again.
        if not turn.acquire(timeout=WRITING_S):
            raise Unavailable(f"{self.path} is being written by another thread")
        try:
            with self._transaction("BEGIN IMMEDIATE", WRITING_S) as connection:
                yield connection
        finally:
            turn.release()

    @contextlib.contextmanager
    def _transaction(self, begin: str, waits_s: float) -> Iterator[sqlite3.Connection]:
        # One function for what is told apart elsewhere: a short turn takes half its time here.
        try:
            connection = self._taken(waits_s)
            try:
                self._made_ready(connection)
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            finally:
                self._given_back(connection)
        except (sqlite3.Error, OSError) as error:
            raise self._named(error) from error
        self.fault = ""

    # -- connections ------------------------------------------------------------------------------

    def _made_own(self) -> None:
        """Begin anew in a copy of the process; closing the other one's would drop its locks."""
        if self._owner != os.getpid():
            _of_others.extend(self._idle)
            self._idle, self._writing, self._owner = [], threading.Lock(), os.getpid()

    def _taken(self, waits_s: float) -> "_Connection":
        self._made_own()
        if self._is_closed:
            raise Unavailable("the session was shut down")
        try:
            found = self._idle.pop()
        except IndexError:
            return self._connected(waits_s)
        found.waits(waits_s)
        return found

    def _given_back(self, connection: "_Connection") -> None:
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        if self._is_closed or connection.in_transaction or len(self._idle) >= _KEPT:
            connection.close()
        else:
            self._idle.append(connection)

    def _connected(self, waits_s: float) -> "_Connection":
        if not self._read_only:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
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


class _Connection(sqlite3.Connection):
    """A connection that knows how long it waits for another process."""

    _waits_s = -1.0

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
