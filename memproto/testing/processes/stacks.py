"""
The stacks of a process, written by itself when it is asked from outside.

A thread that writes the stacks of others while they run reads what they change, and has ended
processes. A signal is handled on a thread that stands still for it, and needs no interpreter lock.
"""

import contextlib
import faulthandler
import os
import signal
from pathlib import Path
from time import monotonic, sleep
from typing import TextIO

#: A signal that nobody else uses; the last one but one is not among those of the C library.
SIGNAL = signal.SIGRTMAX - 1 if hasattr(signal, "SIGRTMAX") else signal.SIGUSR2

#: Has the one thread write its stack that handles it, so that the process may go on afterwards.
OWN = signal.SIGRTMAX - 2 if hasattr(signal, "SIGRTMAX") else signal.SIGUSR1

#: Asked for, stacks are there within milliseconds, or not at all.
_WAIT_S = 0.5

_TICK_S = 0.005


def write_on_demand(file: TextIO) -> None:
    """Have this process write the stacks of its threads into a file when it gets the signal."""
    faulthandler.register(SIGNAL, file=file, all_threads=True, chain=False)
    faulthandler.register(OWN, file=file, all_threads=False, chain=False)


def of(pid: int, path: Path, *, kind: int = SIGNAL) -> str:
    """
    The stacks of a process that lives; what it has written already where it does not answer.

    Linux takes the number of a thread as well, and has that one handle the signal: its stack is
    marked in the text. Blocks for half a second at most.
    """
    known = _size(path)
    with contextlib.suppress(OSError):
        os.kill(pid, kind)
        _wait_for_all(path, known)
    data = b""
    with contextlib.suppress(OSError):
        data = path.read_bytes()
    return (data[known:] or data[-60_000:]).decode("utf-8", "replace")


def written(path: Path) -> str:
    """The text that a process that has ended left there."""
    with contextlib.suppress(OSError):
        return path.read_bytes()[-60_000:].decode("utf-8", "replace")
    return ""


def _wait_for_all(path: Path, known: int) -> None:
    end, last = monotonic() + _WAIT_S, known
    while monotonic() < end:
        sleep(_TICK_S)
        size = _size(path)
        if size > known and size == last:
            return
        last = size


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
