"""Lines of a trace on their way into a file or a stream; what goes wrong there stays there."""

import atexit
import io
import json
import logging
import os
import threading
import weakref
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from memproto._version import __version__
from memproto.types import SPEC_VERSION

#: The format of what is written here, the first line's `format`.
FORMAT = 1

logger = logging.getLogger("memproto.recording")

#: Writers that are to be ended when the interpreter exits.
_open_ones: "weakref.WeakSet[Writer]" = weakref.WeakSet()


class Stream(Protocol):
    """Target of writes: a text stream, or one of bytes; it is flushed if it can be."""

    def write(self, line: Any, /) -> object:
        """Take one line."""
        ...


class _File:
    """A file that is only ever added to, one system call for each line."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._number = os.open(Path(path), flags, 0o600)

    def put(self, line: bytes) -> None:
        rest = line
        while rest:
            rest = rest[os.write(self._number, rest) :]

    def close(self) -> None:
        os.close(self._number)


class _Lent:
    """A stream that is the host's own: it is flushed after each line, and never closed."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._is_text = isinstance(stream, io.TextIOBase) or hasattr(stream, "encoding")

    def put(self, line: bytes) -> None:
        self._stream.write(line.decode("ascii") if self._is_text else line)
        flush = getattr(self._stream, "flush", None)
        if callable(flush):
            flush()

    def close(self) -> None:
        pass


# Guarantees: lines are whole, numbered without a gap in the order in which they are written; what
#   could not be written leaves a gap and is counted; nothing is raised after the construction, the
#   user's interrupt excepted; a forked child writes nothing.
# Assumes: a line fits into memory. The lock is held for one write; a signal may come within.
class Writer:
    """
    Numbers lines and writes each at once; any thread.

    Attributes:
        id: Mark that tells the lines of this trace from those of others in the same file.

    Raises:
        OSError: The file cannot be opened; at construction only.

    """

    def __init__(self, target: str | os.PathLike[str] | Stream) -> None:
        is_path = isinstance(target, str | os.PathLike)
        self._sink: _File | _Lent = _File(target) if is_path else _Lent(target)  # type: ignore[arg-type]
        self.id = os.urandom(8).hex()
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._number = self._dropped = self._held = 0
        self._is_torn = self._is_closed = self._is_ending = False
        _open_ones.add(self)
        self.write("start", **_head())

    @property
    def dropped(self) -> int:
        """Number of lines that could not be written."""
        return self._dropped

    def write(self, kind: str, /, **fields: Any) -> None:
        """Write one line; `at_s` is the moment of the call where `fields` has none."""
        if self._is_copied():
            return
        with self._lock:
            if self._is_closed:
                return
            number, self._number = self._number, self._number + 1
            row = {"trace": self.id, "seq": number, "kind": kind, "at_s": round(monotonic(), 6)}
            try:
                self._put(json.dumps(row | fields, separators=(",", ":")).encode("ascii"))
            except Exception as error:
                self.lose(error)

    def _is_copied(self) -> bool:
        """True if this is a forked child, where the lock may be held for ever."""
        return self._process != os.getpid()

    def _put(self, line: bytes) -> None:
        opening = b"\n" if self._is_torn else b""
        self._is_torn = True  # until the line is known to be whole
        self._sink.put(opening + line + b"\n")
        self._is_torn = False

    def skip(self, error: Exception) -> None:
        """Leave a gap for a line that could not be made."""
        if self._is_copied():
            return
        with self._lock:
            self._number += 1
            self.lose(error)

    def lose(self, error: Exception) -> None:
        """Count a line that was not written; the first one is told to the log."""
        self._dropped += 1
        if self._dropped == 1:
            logger.warning("a line of the trace was not written: %s", type(error).__name__)

    def hold(self) -> None:
        """Note that a session began, the end of which is a part of the trace."""
        if self._is_copied():
            return
        with self._lock:
            self._held += 1

    def release(self) -> None:
        """Note that it ended."""
        if self._is_copied():
            return
        with self._lock:
            self._held -= 1
            if self._is_ending and self._held <= 0:
                self.close()

    def close_at_exit(self) -> None:
        """As `close`, once no session is held: what ends them may be called after this."""
        if self._is_copied():
            return
        with self._lock:
            self._is_ending = True
            if self._held <= 0:
                self.close()

    def close(self) -> None:
        """Write the last line, which counts what was dropped; later lines are left out."""
        if self._is_copied():
            return
        with self._lock:
            if self._is_closed:
                return
            self.write("stop", dropped=self._dropped)
            self._is_closed = True
            try:
                self._sink.close()
            except OSError as error:
                self.lose(error)


@atexit.register
def _at_exit() -> None:
    for writer in list(_open_ones):
        writer.close_at_exit()


def _head() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "spec": SPEC_VERSION,
        "writer": f"memproto {__version__}",
        "started_at": datetime.now(UTC).isoformat(),
    }
