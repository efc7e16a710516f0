"""
The parent's side of one copy: a process that it did not start itself, and cannot wait for.

The template tells its pid and, in time, its end on a pipe; see
`memproto.testing.processes.copy_process`.
"""

import contextlib
import os
import select
import subprocess
import threading
import time
from typing import Protocol

import psutil

from memproto.testing import wire
from memproto.testing.processes import vitals

#: The exit code of a process whose end nobody saw: its template had been killed.
UNSEEN = 512

#: Seconds that a template may take until its first copy runs; it imports the kit before.
START_S = 60.0

#: A copy that is dead, and of which the template has told nothing for so long: it was stopped.
_TOLD_S = 5.0

_TICK_S = 0.1


class Template(Protocol):
    """The process that started a copy, as far as the copy has to know it."""

    def is_stopped(self) -> bool:
        """True if it will tell nothing because a signal stopped it."""

    def end(self) -> None:
        """End it; its copies run on."""


class Copy:
    """
    A process that a template started, in the form of a `subprocess.Popen`.

    Guarantees:
        `poll` and `wait` tell an end once, and the same from then on.
        Without the template, which the child may have killed, an end is told as `UNSEEN`.
        Several threads may ask for it.
    """

    def __init__(self, template: Template, status: int) -> None:
        self._template = template
        self._lock = threading.Lock()
        self._status = status
        self._said = b""
        self._code: int | None = None
        self.pid = self._first_words()
        self._seen = _looked_up(self.pid)

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._status >= 0:
            close(self._status)
            self._status = -1

    def _first_words(self) -> int:
        end = time.monotonic() + START_S
        while b"\n" not in self._said:
            if not self._hear(_TICK_S) or time.monotonic() > end or self._template.is_stopped():
                raise OSError("the template started nothing")
        kind, number = self._said.split()[:2]
        if kind != b"pid":
            raise OSError("the template's copy ended at once")
        return int(number)

    def _hear(self, wait_s: float) -> bool:
        """Take in what came within the time; False when nothing will come any more."""
        if not select.select([self._status], [], [], wait_s)[0]:
            return True
        data = os.read(self._status, 1_000)
        self._said += data
        return bool(data)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        if self._code is None:
            self._look(0)
        return self._code

    def _look(self, wait_s: float) -> None:
        with self._lock:
            if self._code is None:
                self._take_in(wait_s)

    def _take_in(self, wait_s: float) -> None:
        open_ended = self._hear(wait_s)
        _, kind, code = self._said.rpartition(b"end ")
        if kind and code.endswith(b"\n"):
            self._code = int(code)
            self._close()
        elif not open_ended and self.is_over():
            self._code = UNSEEN
        elif not open_ended:
            time.sleep(wait_s)

    @property
    def was_seen(self) -> bool:
        """True if the process was still there when this one looked for it."""
        return self._seen is not None

    @property
    def seen(self) -> psutil.Process:
        """
        The process as psutil knows it; it may have ended.

        Raises:
            psutil.NoSuchProcess: It had ended before anybody could look.

        """
        if self._seen is None:
            raise psutil.NoSuchProcess(self.pid)
        return self._seen

    def kill(self) -> None:
        """Kill the process, if it still runs."""
        with contextlib.suppress(psutil.Error):
            self.seen.kill()

    def is_over(self) -> bool:
        """True if the process is gone, or only its entry is left."""
        with contextlib.suppress(psutil.Error):
            return not self.seen.is_running() or self.seen.status() == psutil.STATUS_ZOMBIE
        return True

    def wait(self, timeout: float | None = None) -> int:
        """
        Block until the process has ended.

        Raises:
            subprocess.TimeoutExpired: It runs on after `timeout` seconds.

        """
        began = alive = time.monotonic()
        while self.poll() is None:
            self._look(_TICK_S / 10)
            now = time.monotonic()
            if not self.is_over():
                alive = now
                if timeout is not None and now - began > timeout:
                    raise subprocess.TimeoutExpired(str(self.pid), timeout)
            elif now - alive > _TOLD_S:
                self._template.end()
        assert self._code is not None
        return self._code


def _looked_up(pid: int) -> psutil.Process | None:
    """A process; None where it is gone, which is an end like another, and no failure to start."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid)
    return None


def close(*descriptors: int) -> None:
    """Close descriptors, of which some may be closed."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def ending(code: int) -> str:
    """The ending of a kit child: by `Copy.poll`, or `wire.CUT_OFF` for one that still runs."""
    if code == wire.CUT_OFF:
        return "it closed file descriptors that it had not opened"
    if code == UNSEEN:
        return "unseen, since the process that had started it was killed"
    return vitals.ending(code)
