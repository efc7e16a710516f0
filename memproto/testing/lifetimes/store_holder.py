"""
Holds a lock on each of some files, until it is told to let go; a program of its own.

Started by `memproto.testing.lifetimes.store_faults` as a plain file, without the kit's imports: it
reads a list of paths in JSON from one line, writes how many it holds, and ends with its input.
"""

import contextlib
import fcntl
import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

#: Beginning of a database of SQLite.
_MAGIC = b"SQLite format 3\0"


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """
    Hold every lock on a file that one can have; a database by an exclusive transaction.

    Raises:
        OSError, sqlite3.Error: It cannot be had.

    """
    with path.open("rb+") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
            return
    # Behind the file above: closing one gives up every lock that the process has on it.
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        yield
        database.execute("ROLLBACK")


def main() -> None:
    """Hold what can be held, until the input ends."""
    with contextlib.ExitStack() as all_held:
        count = 0
        for name in json.loads(sys.stdin.readline()):
            with contextlib.suppress(OSError, sqlite3.Error):
                all_held.enter_context(held(Path(name)))
                count += 1
        sys.stdout.write(f"{count}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
