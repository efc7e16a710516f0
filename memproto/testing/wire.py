"""
Messages between the parent, which holds the verdict, and a kit child, which holds the provider.

One JSON object a line. The child's end is used in a process in which a provider may have replaced,
closed or forked anything: it holds what it needs from the moment of its import on.
"""

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Iterator
from os import _exit, fstat, getpid, write
from typing import Any

#: Texts longer than this are cut before they travel: a 100 MB recall is described, not copied.
LONGEST = 2_000

#: Deeper than this, or beyond so many items, an answer is described, not copied.
_DEEPEST, _MOST_ITEMS = 12, 500

#: A line longer than this is no message of the kit's.
_LONGEST_LINE = 4_000_000

#: The exit code of a child whose end of the wire was closed or replaced under it.
CUT_OFF = 97

_encode = json.JSONEncoder().encode
_decode = json.JSONDecoder().decode


def shorten(text: str, limit: int = LONGEST) -> str:
    """`text` with its middle taken out where it is longer than `limit`."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} ... ({len(text)} characters) ... {text[-half:]}"


def show(value: object, limit: int = 160) -> str:
    """A one-line description of any value; never raises, whatever the value's repr does."""
    try:
        if isinstance(value, str | bytes | bytearray) and len(value) > limit:
            return f"{value[:limit]!r}... ({len(value)} long)"
        return shorten(repr(value), limit)
    except BaseException as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def plain(value: Any, depth: int = 0) -> Any:
    """
    `value` as JSON of bounded size: sets as sorted lists, long texts cut, other objects shown.

    What would disturb a terminal or a document (control characters, half surrogates) is escaped.
    """
    try:
        return _plain(value, depth)
    except BaseException:
        # An object that lies about its type, or raises when it is read.
        return show(value)


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else show(value)
    if isinstance(value, str):
        return printable(shorten(str.__str__(value)))
    if depth >= _DEEPEST:
        return show(value)
    if isinstance(value, dict):
        rows = itertools.islice(dict.items(value), _MOST_ITEMS)
        return {str(plain(key, _DEEPEST)): plain(item, depth + 1) for key, item in rows}
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth + 1) for item in value), key=str)[:_MOST_ITEMS]
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value[:_MOST_ITEMS]]
    return show(value)


class Disguised:
    """Stands for an object that says it is of another class than it is: nothing can rely on it."""

    def __init__(self, value: object) -> None:
        self._name = type(value).__name__

    def __repr__(self) -> str:
        return f"<{self._name} that claims another class>"


def honest(value: Any) -> Any:
    """`value` where it can be examined safely: a text as a bare str, no object in disguise."""
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    try:
        return value if value.__class__ is kind else Disguised(value)
    except BaseException:
        return Disguised(value)


def printable(text: str) -> str:
    """`text` with every character escaped that does not print; line ends stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def in_one_line(text: str) -> str:
    """`text` with every character escaped that does not print, and every end of a line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class Wire:
    """
    The child's end: writes messages, whole lines at a time, from any thread.

    Guarantees:
        A forked copy of the process writes nothing and ends where it would: if each went on with
        the check, each recall of a provider that forks there would double their number.
        Where the descriptor is closed, or has become another file, the process ends with CUT_OFF:
        nobody would hear it any more, and nothing of the kit's gets into a file of the provider.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._identity = _identity(descriptor)
        self._pid = getpid()
        self._lock = threading.Lock()
        self._calls = itertools.count(1)

    def send(self, kind: str, **fields: Any) -> None:
        """Write one message of `kind`."""
        if getpid() != self._pid:
            _exit(0)
        # The line end in front keeps a message whole when somebody else wrote a part of a line.
        data = f"\n{_encode({'kind': kind, 'pid': self._pid, **fields})}\n".encode("ascii")
        with self._lock:
            try:
                while data:
                    data = data[self._write(data) :]
            except OSError:
                _exit(CUT_OFF)

    def _write(self, data: bytes) -> int:
        if _identity(self._descriptor) != self._identity:
            raise OSError
        return write(self._descriptor, data)

    @contextlib.contextmanager
    def hook(self, operation: str, budget_s: float) -> Iterator[None]:
        """Tell the parent that a hook is running, and until when it may."""
        call = next(self._calls)
        self.send("enter", call=call, operation=operation, budget_s=budget_s)
        try:
            yield
        finally:
            self.send("leave", call=call)


def _identity(descriptor: int) -> tuple[int, int]:
    found = fstat(descriptor)
    return found.st_dev, found.st_ino


def lines(descriptor: int, pending: bytearray) -> Iterator[dict[str, Any]]:
    """
    Read what is there and yield whole messages; a torn line stays in `pending`.

    Raises:
        EOFError: The other end is closed, and everything was read.

    """
    data = os.read(descriptor, 1 << 20)
    if not data:
        raise EOFError
    if b"\n" not in data:
        # What has no line end for that long is no message; its rest will be no message either.
        pending += data if len(pending) < _LONGEST_LINE else b""
        return
    whole, _, rest = data.rpartition(b"\n")
    found = bytes(pending + whole).split(b"\n")
    pending[:] = rest
    for line in filter(None, found):
        with contextlib.suppress(ValueError, RecursionError):
            message = _decode(line.decode("utf-8"))
            if isinstance(message, dict):
                yield message
