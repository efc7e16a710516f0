"""
Messages between the parent, which holds the verdict, and a kit child, which holds the provider.

One JSON object a line. Every message of a child carries its process id, so that what a forked copy
of it writes is told apart and ignored.
"""

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Iterator
from typing import Any

#: Texts longer than this are cut before they travel: a 100 MB recall is described, not copied.
LONGEST = 2_000


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


class Wire:
    """
    The child's end: writes messages, whole lines at a time, from any thread.

    Guarantees:
        A line is written by one system call where it fits into a pipe's buffer.
    Assumes:
        Nobody else writes to the descriptor.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._calls = itertools.count(1)

    def send(self, kind: str, **fields: Any) -> None:
        """Write one message of `kind`."""
        line = json.dumps({"kind": kind, "pid": os.getpid(), **fields}) + "\n"
        data = line.encode("ascii")
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]

    @contextlib.contextmanager
    def hook(self, operation: str, budget_s: float) -> Iterator[None]:
        """Tell the parent that a hook is running, and until when it may."""
        call = next(self._calls)
        self.send("enter", call=call, operation=operation, budget_s=budget_s)
        try:
            yield
        finally:
            self.send("leave", call=call)


def lines(descriptor: int, pending: bytearray) -> Iterator[dict[str, Any]]:
    """
    Read what is there and yield whole messages; a torn line stays in `pending`.

    Raises:
        EOFError: The other end is closed, and everything was read.

    """
    data = os.read(descriptor, 65536)
    if not data:
        raise EOFError
    pending += data
    while (end := pending.find(b"\n")) >= 0:
        line = bytes(pending[:end])
        del pending[: end + 1]
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                yield message
