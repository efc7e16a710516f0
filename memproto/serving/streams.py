"""
The standard streams of a server, kept from everything but the server.

The provider, its libraries and the programs that they start find an empty standard input, and a
standard output that is the standard error. A standard error that nobody reads any more breaks
nobody's `print`.
"""

import contextlib
import io
import os
import re
import select
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from memproto.wire.codec import MAX_LINE

#: Bytes that a pipe which says that it can be written to takes without blocking.
_AT_ONCE = 4096

_ID = re.compile(rb'"id"\s*:\s*([0-9]{1,15})\b')


def take() -> tuple[int, int]:
    """
    Take the standard input and output over; gives a descriptor of each that no program inherits.

    For the main thread of a process that does nothing else, before anything of a provider's runs.
    """
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(nowhere, 2)
    given, taken = os.dup(0), os.dup(1)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - stands for ever
    sys.stdout = _text(1)
    sys.stderr = _text(2)
    return given, taken


def _text(descriptor: int) -> io.TextIOWrapper:
    raw: Any = _Tolerant(descriptor, "w", closefd=False)
    file = io.BufferedWriter(raw)
    return io.TextIOWrapper(file, "utf-8", "backslashreplace", write_through=True)


class _Tolerant(io.FileIO):
    """A file that takes everything, whether anybody reads it or not."""

    def write(self, data: Any) -> int:
        with contextlib.suppress(OSError):
            return super().write(data) or 0
        return len(data)


class TooLong(Exception):
    """
    A line was over the limit, and is skipped.

    Attributes:
        number: The id of its request, if it stands near its beginning; else None.

    """

    def __init__(self, number: int | None) -> None:
        super().__init__(f"a line may have {MAX_LINE:,} bytes")
        self.number = number


class Lines:
    """Cuts what is read into lines, without their line feeds; an overlong one as `TooLong`."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._skipped: TooLong | None = None

    def of(self, part: bytes) -> list[bytes | TooLong]:
        """The lines that end in a part."""
        found: list[bytes | TooLong] = []
        begin = 0
        while (end := part.find(b"\n", begin)) >= 0:
            line = part[begin:end]
            begin = end + 1
            if self._rest:
                line = bytes(self._rest) + line
                self._rest.clear()
            found.append(self._skipped or (line if len(line) < MAX_LINE else _too_long(line)))
            self._skipped = None
        if self._skipped is None:
            self._rest += part[begin:]
            if len(self._rest) >= MAX_LINE:
                self._skipped = _too_long(self._rest)
                self._rest.clear()
        return found

    def last(self) -> list[bytes | TooLong]:
        """A last line without its line feed, if there is one."""
        return [bytes(self._rest)] if self._rest.strip() and self._skipped is None else []


def lines(descriptor: int) -> Iterator[bytes | TooLong]:
    """The lines of a stream, to its end; see `Lines`."""
    cut = Lines()
    while part := read(descriptor):
        yield from cut.of(part)
    yield from cut.last()


def read(descriptor: int) -> bytes:
    """The next part of a stream; empty at its end. Blocks until there is one."""
    try:
        return os.read(descriptor, 1 << 18)
    except OSError:
        return b""


def _too_long(line: bytes | bytearray) -> TooLong:
    found = _ID.search(bytes(line[:200]))
    return TooLong(int(found[1]) if found else None)


class Output:
    """
    Writes lines to a descriptor; a caller never waits for the reader.

    Safe from any thread.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._waiting: deque[bytes] = deque()
        self._is_writing = False
        self._is_broken = False
        self._changed = threading.Condition()

    def send(self, line: bytes) -> None:
        """Write a line, or have a thread write it behind those that wait."""
        with self._changed:
            if self._is_broken:
                return
            if not self._is_writing and len(line) <= _AT_ONCE and self._poll.poll(0):
                self._write(line)
                return
            self._waiting.append(line)
            if not self._is_writing:
                self._is_writing = True
                threading.Thread(target=self._go_on, name="wire-output", daemon=True).start()

    def flush(self, patience_s: float) -> None:
        """Wait until all lines are written."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_writing, patience_s)

    def _go_on(self) -> None:
        while True:
            with self._changed:
                if not self._waiting or self._is_broken:
                    self._is_writing = False
                    self._changed.notify_all()
                    return
                line = self._waiting.popleft()
            self._write(line)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            # The host is gone; the end of the input says so too.
            self._is_broken = True
