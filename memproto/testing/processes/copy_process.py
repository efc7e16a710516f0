"""
A process that copies itself for each that is asked for: a template of kit children, or of hosts.

It has one thread for ever and runs nothing of a target's. A copy returns from `Copier.serve` into
the `main` of a process that was started by itself.
"""

import contextlib
import json
import os
import select
import signal
import site
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from memproto.testing import os_names

#: Behind so many copies a further one is likely, and with it what was put off until then.
_MANY = 4

#: A message is as long as an environment and what a host is told.
_LONGEST = 1 << 20


class Copier:
    """
    Serves the parent until that closes its end of the socket.

    Guarantees:
        When a copy ends its exit code is written to its last descriptor, which is closed after
        that, or when there was no copy.
        No copy outlives a parent that was killed.
    """

    def __init__(
        self,
        parent: socket.socket,
        count: int,
        prepare: Callable[[dict[str, Any]], None],
        answer: Callable[[socket.socket, dict[str, Any]], None] | None = None,
        later: Callable[[], None] | None = None,
    ) -> None:
        """
        `answer` is given each message without descriptors: one that asks for no copy.

        `later` is called once, when many copies were asked for, and nobody waits for one.
        """
        self._answer = answer
        self._later = later
        self._copies = 0
        self._parent = parent
        self._count = count
        self._prepare = prepare
        self._running: dict[int, int] = {}
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        # The handler does nothing: what wakes the template is the byte in the pipe.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)

    def serve(self) -> tuple[dict[str, Any], list[int]]:
        """Start copies for ever; returns in each of them, with its message and descriptors."""
        asked = self._parent.fileno()
        while True:
            later = self._later if self._copies >= _MANY else None
            ready = select.select([asked, self._woken], [], [], None if later is None else 0)[0]
            if later is not None and not ready:
                self._later = None
                later()
            if self._woken in ready:
                os.read(self._woken, 1_000)
                self._reap()
            if asked in ready:
                message, descriptors, _, _ = socket.recv_fds(self._parent, _LONGEST, self._count)
                if not message:
                    self._end_copies()
                    os._exit(0)
                if not descriptors and self._answer is not None:
                    self._answer(self._parent, json.loads(message))
                    continue
                is_whole = len(descriptors) == self._count
                if is_whole:
                    wanted = _heard(json.loads(message))
                    if self._copy(wanted, descriptors[-1]):
                        return wanted, descriptors
                # A copy has its own; its exit code goes to the last one.
                for descriptor in descriptors[:-1] if is_whole else descriptors:
                    os.close(descriptor)

    def _copy(self, wanted: dict[str, Any], status: int) -> bool:
        """True if this is the copy."""
        self._prepare(wanted)
        try:
            pid = os.fork()
        except OSError:
            os.close(status)
            return False
        if pid:
            self._running[pid] = status
            self._copies += 1
            return False
        try:
            self._forget()
        except BaseException:
            os._exit(1)
        return True

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = found
                descriptor = self._running.pop(pid)
                with contextlib.suppress(OSError):
                    os.write(descriptor, b"end %d\n" % os.waitstatus_to_exitcode(status))
                os.close(descriptor)

    def _end_copies(self) -> None:
        """
        End the copies, and what is left in their sessions: the parent is gone.

        Most would end by themselves, at the end of their commands. One whose target holds the
        interpreter would not, and would take a processor for ever.
        """
        for pid in self._running:
            for end in (os.killpg, os.kill):
                with contextlib.suppress(OSError):
                    end(pid, signal.SIGKILL)

    def _forget(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._parent.close()
        for descriptor in (self._woken, self._waker, *self._running.values()):
            os.close(descriptor)


def from_descriptor(
    descriptor: int,
    count: int,
    prepare: Callable[[dict[str, Any]], None],
    answer: Callable[[socket.socket, dict[str, Any]], None] | None = None,
    later: Callable[[], None] | None = None,
) -> Copier:
    """Copier of this process, asked on a socket with so many descriptors in each message."""
    os.set_inheritable(descriptor, False)
    return Copier(socket.socket(fileno=descriptor), count, prepare, answer, later)


def _heard(wanted: dict[str, Any]) -> dict[str, Any]:
    """A message with its names of files and variables as this process decodes them."""
    named = ("environment", "cwd", "words")
    return {**wanted, **{key: os_names.heard(wanted[key]) for key in named if key in wanted}}


def tell(status: int) -> None:
    """Have the parent know the pid of a copy; its exit code comes from the template."""
    os.write(status, b"pid %d\n" % os.getpid())
    os.close(status)


def look_like(environment: dict[str, str]) -> None:
    """Have this process's environment be its own, and what Python has made of the template's."""
    os.environ.clear()
    os.environ.update(environment)
    # An interpreter reads TZ once, when it begins.
    time.tzset()
    # They lie below HOME.
    site.USER_BASE = site.USER_SITE = None
    site.getusersitepackages()
    with contextlib.suppress(AttributeError):
        # `threading` keeps that of the process which was copied.
        threading.main_thread()._set_native_id()  # type: ignore[attr-defined] # noqa: SLF001


def replace_output(*pairs: tuple[int, int]) -> None:
    """Have each first descriptor become the second one, a standard stream."""
    for given, standard in pairs:
        os.dup2(given, standard)
    for given in {given for given, _ in pairs}:
        os.close(given)
