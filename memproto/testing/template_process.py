"""
The template itself: imports what every kit child imports, and copies itself for each that is asked.

It has one thread for ever and runs nothing of a target's. A copy returns from `serve` into the same
`main` as a child that was started by itself, and looks like one: its streams, environment, session,
arguments and directory are its own.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import site
import socket
import sys
import threading
from pathlib import Path
from typing import Any, NoReturn

from memproto import spec
from memproto.testing import clauses

#: What each side loads a target with, and what many of its checks import when they run.
_MODULES = {
    "provider": ("memproto.loading", "jsonschema", "hypothesis.strategies"),
    "host": ("memproto.testing.hosts", "memproto.testing.hostrun", "hypothesis.strategies"),
}

#: A message is as long as an environment.
_LONGEST = 1 << 20

#: Output, commands, results, stacks, and the pipe on which the parent is told of its end.
_DESCRIPTORS = 5


class _Template:
    """
    Serves the parent until that closes its end of the socket.

    Guarantees:
        Each copy writes its pid to its pipe before any code of a target runs; the template adds the
        exit code when it ends. The pipe is closed after that, or when there was no copy.
    """

    def __init__(self, parent: socket.socket) -> None:
        self._parent = parent
        self._running: dict[int, int] = {}
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        # The handler does nothing: what wakes the template is the byte in the pipe.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)

    def serve(self) -> tuple[int, ...]:
        """Start copies for ever; returns in each of them, with its descriptors."""
        asked = self._parent.fileno()
        while True:
            ready = select.select([asked, self._woken], [], [])[0]
            if self._woken in ready:
                os.read(self._woken, 1_000)
                self._reap()
            if asked in ready:
                message, descriptors, _, _ = socket.recv_fds(self._parent, _LONGEST, _DESCRIPTORS)
                if not message:
                    os._exit(0)
                if len(descriptors) == _DESCRIPTORS and self._copy(message, descriptors):
                    return tuple(descriptors[1:-1])
                # A copy has its own.
                for descriptor in descriptors[:-1]:
                    os.close(descriptor)

    def _copy(self, message: bytes, descriptors: list[int]) -> bool:
        """Whether this is the copy."""
        wanted = json.loads(message)
        _prepare(wanted["side"])
        try:
            pid = os.fork()
        except OSError:
            os.close(descriptors[-1])
            return False
        if pid:
            self._running[pid] = descriptors[-1]
            return False
        try:
            self._become(wanted, descriptors)
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

    # -- in the copy ------------------------------------------------------------------------------

    def _become(self, wanted: dict[str, Any], descriptors: list[int]) -> None:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._parent.close()
        for descriptor in (self._woken, self._waker, *self._running.values()):
            os.close(descriptor)
        output, *given, status = descriptors
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        os.chdir(wanted["cwd"])
        os.sched_setaffinity(0, wanted["processors"])
        words = [str(descriptor) for descriptor in given]
        if "words" in wanted:
            _replace(status, [*wanted["words"], *words], wanted["environment"], given)
        _look_like(words, wanted["environment"])
        _tell(status)


def _tell(status: int) -> None:
    os.write(status, b"pid %d\n" % os.getpid())
    os.close(status)


def _replace(
    status: int, words: list[str], environment: dict[str, str], given: list[int]
) -> NoReturn:
    for descriptor in given:
        os.set_inheritable(descriptor, True)
    _tell(status)
    # What an interpreter ignores, and `subprocess` gives back to a program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(words[0], words, environment)  # noqa: S606 - the kit's own interpreter


def _look_like(words: list[str], environment: dict[str, str]) -> None:
    """Have nothing in this process that is the template's."""
    os.environ.clear()
    os.environ.update(environment)
    _show(environment)
    sys.argv[1:] = words
    sys.orig_argv[-1:] = words
    # They lie below HOME.
    site.USER_BASE = site.USER_SITE = None
    site.getusersitepackages()
    _hypothesis_home(Path.cwd() / ".hypothesis")
    with contextlib.suppress(AttributeError):
        # `threading` keeps that of the process which was copied.
        threading.main_thread()._set_native_id()  # type: ignore[attr-defined] # noqa: SLF001


def _show(environment: dict[str, str]) -> None:
    """
    Put the environment where other processes read it.

    That is the text which the process was started with, and what tells the kit whose a process is
    that was forked off and disowned. This process has no more use for that text: what it set just
    now lies elsewhere. To write through the file rather than to the address is to get an error, and
    no crash, where the address is wrong. Where it cannot be written, or has no room for all of it,
    a working directory has to do.
    """
    shown = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items())
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])
        if not 0 < start < end:
            # A kernel that does not tell says 0.
            return
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            memory.write(shown[: end - start - 1].ljust(end - start, b"\0"))


# -- in the template -------------------------------------------------------------------------------


@functools.cache
def _prepare(side: spec.Side) -> None:
    """Import what the children of one side import, and compute what they compute first."""
    for name in _MODULES[side]:
        importlib.import_module(name)
    clauses.checks(side)
    _hypothesis_home(Path(os.devnull))
    with contextlib.suppress(ImportError, AttributeError):
        # 0.3 s: which character is of which category. It would be kept in a file.
        importlib.import_module("hypothesis.internal.charmap").charmap()
    gc.collect()
    # Copies share the memory of what is never looked at again.
    gc.freeze()
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        # A copy would be without the thread that something has started.
        os._exit(1)


def _hypothesis_home(directory: Path) -> None:
    importlib.import_module("hypothesis.configuration").set_hypothesis_home_dir(directory)


def serve(descriptor: int) -> tuple[int, ...]:
    """
    Be the template on a socket to the parent; returns in each copy, with its descriptors.

    The template ends when the parent closes the socket, or where an import starts a thread.
    """
    os.set_inheritable(descriptor, False)
    return _Template(socket.socket(fileno=descriptor)).serve()
