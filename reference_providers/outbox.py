"""
A journal of writes that a backend has not confirmed yet: a directory with one file for each.

A write is put here before it is sent, and removed when the backend has confirmed it; what a killed
process or a dead backend left is found at the next start. A claim is a lock on the entry's file:
it ends with the process that holds it, and nobody waits for it, so that processes and instances on
one home never send one entry at the same time. Needs a file system that knows `flock`.
"""

import contextlib
import fcntl
import json
import os
import threading
import time
import uuid
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from memproto.reference_providers.reading import own_folder

_ENTRY, _PART, _REFUSED = ".json", ".part", "refused"

#: A file that is half written for so long was left by a process that died; a younger one may be
#: about to be locked by its writer.
_LEFT_S = 60.0


class OutboxFull(OSError):
    """There are as many entries as there may be."""


class Entry:
    """
    One write; its content is there once it is claimed.

    Attributes:
        name: The name of its file; names sort in the order in which entries were put.
        content: The content that was put.

    """

    def __init__(self, path: Path, content: dict[str, Any], file: FileIO | None = None) -> None:
        self.name = path.name
        self.content = content
        self._path = path
        # An object and no bare descriptor: Ctrl+C between two lines leaves the object to nobody,
        # and it closes itself then, which gives the lock back.
        self._file = file

    def claim(self) -> bool:
        """
        Take it, so that no one else sends it; False where it is gone, or another has taken it.

        One that holds no JSON object is put aside.
        """
        if self._file is not None:
            return True
        try:
            file = FileIO(self._path)
        except OSError:
            return False
        if not _is_locked(file) or not self._is_there(file):
            file.close()
            return False
        self._file = file
        return self._is_read()

    def _is_there(self, file: FileIO) -> bool:
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        return False

    def _is_read(self) -> bool:
        content = None
        try:
            with contextlib.suppress(ValueError):
                content = json.loads(self._path.read_bytes())
        except OSError:
            # Too many open files, say: that tells nothing about what is in it.
            self.release()
            return False
        if isinstance(content, dict):
            self.content = content
            return True
        self.refuse()
        return False

    def release(self) -> None:
        """Let go of it; it stays where it is."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def done(self) -> None:
        """Remove it: it was confirmed, or its sender was told that it is not stored."""
        self._path.unlink(missing_ok=True)
        self.release()

    def refuse(self) -> None:
        """Put it aside, where nobody sends it again and an operator finds it."""
        aside = self._path.with_name(_REFUSED)
        with contextlib.suppress(OSError):
            aside.mkdir(mode=0o700, exist_ok=True)
            self._path.replace(aside / self.name)
        self.release()


class Outbox:
    """
    The entries below one directory, which is made when it is needed.

    Guarantees:
        An entry is whole or not there. The order of one instance's entries is that of `put`.
    """

    def __init__(self, directory: Path, most: int = 10_000) -> None:
        self._directory = directory
        self._most = most
        self._last = 0
        self._lock = threading.Lock()

    def put(self, content: Mapping[str, Any]) -> Entry:
        """
        Keep a write, claimed by the caller. `content` is what JSON can hold.

        Raises:
            OutboxFull: There is no room for it.
            OSError: It cannot be written.

        """
        own_folder(self._directory)
        path = self._directory / f"{self._next():012d}-{uuid.uuid4().hex}{_ENTRY}"
        part = path.with_suffix(_PART)
        file = FileIO(part, "x", opener=lambda name, flags: os.open(name, flags, 0o600))
        try:
            _is_locked(file)
            _write(file, json.dumps(content).encode("ascii"))
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            file.close()
            raise
        return Entry(path, dict(content), file)

    def _next(self) -> int:
        with self._lock:
            names = self._names()
            if len(names) >= self._most:
                raise OutboxFull(f"{self._directory} holds {len(names)} writes that wait")
            self._last = max(self._last, *(_number(name) for name in names), 0) + 1
            return self._last

    def entries(self) -> list[Entry]:
        """Waiting entries, the oldest first; none is claimed. Removes half written files."""
        for part in self._parts():
            _remove_left(part)
        return [Entry(self._directory / name, {}) for name in sorted(self._names())]

    def count(self) -> int:
        """Number of entries that wait, in this process and in others."""
        return len(self._names())

    def _names(self) -> list[str]:
        with contextlib.suppress(OSError):
            return [path.name for path in self._directory.iterdir() if path.suffix == _ENTRY]
        return []

    def _parts(self) -> list[Path]:
        with contextlib.suppress(OSError):
            return list(self._directory.glob(f"*{_PART}"))
        return []


def _number(name: str) -> int:
    digits = name.partition("-")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _is_locked(file: FileIO) -> bool:
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _write(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file.fileno(), view) :]


def _remove_left(part: Path) -> None:
    """Remove what a process that died has left half written: nobody has accepted it."""
    with contextlib.suppress(OSError), FileIO(part) as file:
        is_old = time.time() - os.fstat(file.fileno()).st_mtime > _LEFT_S
        if is_old and _is_locked(file):
            part.unlink(missing_ok=True)
