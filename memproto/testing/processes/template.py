"""
Kit children are copies of a *template*: a process that has imported what each of them needs.

A fresh interpreter computes for 0.3 s before it can run a check, a copy of one that is ready for
0.01 s. This is the parent's side: it starts its template with the first child, asks it for copies,
and has a copy look like a process of its own. Without a template each child is a fresh interpreter.
"""

import atexit
import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import psutil

from memproto import spec
from memproto.testing import os_names
from memproto.testing.processes import copy as copied
from memproto.testing.processes import relay, sandbox
from memproto.testing.processes.copy import Copy, close

#: Variables that are a copy's own: to it they are what they are to a program that begins.
_OF_A_COPY = sandbox.PLACES | {"TZ"}

#: Room in the template's own environment, in which a copy shows its own; see `template_process`.
_SPACE = {"MEMPROTO_SPACE": " " * 8_000}


@dataclasses.dataclass(frozen=True)
class Start:
    """
    The values with which a child is started.

    Attributes:
        words: The command line of its interpreter, without the descriptors.
        environment: Its whole environment.
        cwd: Its working directory.
        side: The side whose checks it is to have at hand.
        output: The descriptor that becomes its standard output and error.
        given: The descriptors whose numbers come last on its command line.
        owner: The owner of its credentials, or "" for nobody. Those of one owner have a template,
            and with it namespaces and a memory, of their own.

    """

    words: Sequence[str]
    environment: dict[str, str]
    cwd: str
    side: spec.Side
    output: int
    given: tuple[int, ...]
    owner: str = ""


class Template:
    """
    The parent's hold on one template.

    Guarantees:
        It runs no longer than this process, and has none of its terminal, files or directories.
    """

    def __init__(self, words: Sequence[str], environment: dict[str, str]) -> None:
        self.words = list(words)
        self.environment = _lasting(environment)
        self.has_served = False
        self._owner = os.getpid()
        #: Held while it is asked for what it answers on its socket, and while a copy is noted.
        self._lock = threading.Lock()
        self._copies: weakref.WeakSet[Copy] = weakref.WeakSet()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(copied.START_S)
        self._relays = relay.Relays(self._listen)
        # A pipe, as a child has one, and not one that anybody reads.
        unread, output = os.pipe()
        try:
            self._process = self._run([*words, str(theirs.fileno())], theirs.fileno(), output)
        finally:
            theirs.close()
            close(unread, output)

    def _run(self, words: list[str], asked: int, output: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**self.environment, **_SPACE, "HOME": os.devnull},
            cwd="/",
            pass_fds=(asked,),
            start_new_session=True,
        )

    @property
    def is_mine(self) -> bool:
        """True if this process started it, and not the one that it is a copy of."""
        return self._owner == os.getpid()

    @property
    def alive(self) -> bool:
        """True if it still runs."""
        return self._process.poll() is None

    def is_stopped(self) -> bool:
        """True if a signal stopped it."""
        with contextlib.suppress(psutil.Error):
            return bool(psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED)
        return False

    def start(self, wanted: Start) -> Copy | None:
        """
        Start a child: a copy, or a fresh interpreter where its environment is another one.

        None where the template does not answer; it is ended then.
        """
        try:
            with self._lock:
                self._relays.refresh()
        except OSError:
            self.end()
            return None
        told: dict[str, Any] = {
            "environment": os_names.told(wanted.environment),
            "cwd": os_names.told(wanted.cwd),
            "side": wanted.side,
            # Of the thread that asks, which a copy would not have from the template.
            "processors": sorted(os.sched_getaffinity(0)),
        }
        if not self.suits(wanted.environment):
            told["words"] = os_names.told(wanted.words)
        copy = self.copy(told, (wanted.output, *wanted.given))
        # A child that is gone before it was asked anything says nothing of its target.
        return copy if copy is not None and copy.was_seen else None

    @property
    def exchanges(self) -> int:
        """Times that its copies asked a server outside of their namespace for something."""
        return self._relays.exchanges

    def suits(self, environment: dict[str, str]) -> bool:
        """True if an environment is this template's, but for what is a copy's own."""
        return _lasting(environment) == self.environment

    def copy(self, told: dict[str, Any], descriptors: tuple[int, ...]) -> Copy | None:
        """Start what is asked for; None where the template does not answer, and is ended."""
        try:
            copy = Copy(self, self._ask(told, descriptors))
        except (OSError, psutil.Error):
            self.end()
            return None
        self.has_served = True
        with self._lock:
            self._copies.add(copy)
        return copy

    @property
    def is_idle(self) -> bool:
        """True if none of its copies runs; without it the end of one would not be told."""
        with self._lock:
            copies = list(self._copies)
        return all(copy.poll() is not None for copy in copies)

    def _ask(self, told: dict[str, Any], descriptors: tuple[int, ...]) -> int:
        """Send a message; the descriptor on which the answer comes, and in time the end."""
        read, write = os.pipe()
        try:
            socket.send_fds(self._socket, [json.dumps(told).encode("ascii")], [*descriptors, write])
        except OSError:
            close(read)
            raise
        finally:
            close(write)
        return read

    def _listen(self, addresses: list[relay.Address]) -> list[tuple[relay.Address, socket.socket]]:
        """Have it listen on its own loopback; the sockets that it could make."""
        self._socket.send(json.dumps({"listen": addresses}).encode("ascii"))
        told, descriptors, _, _ = socket.recv_fds(self._socket, 1 << 16, relay.MOST)
        made = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        return [
            ((host, port), end) for (host, port), end in zip(json.loads(told), made, strict=True)
        ]

    def end(self) -> None:
        """End it; its copies run on."""
        if self.is_mine:
            # Before the socket is closed: by that the template knows that this process is gone.
            self._process.kill()
            self._process.wait()
            self._socket.close()


def _lasting(environment: dict[str, str]) -> dict[str, str]:
    """Variables that all copies share: the environment without their places and their zone."""
    return {name: value for name, value in environment.items() if name not in _OF_A_COPY}


# -- those of this process -------------------------------------------------------------------------

#: More are not kept at a time, unless copies of theirs run.
_MOST = 3

_lock = threading.Lock()
#: By the owner, the one that was asked last at the end.
_current: dict[str, Template] = {}


def start(wanted: Start) -> subprocess.Popen[bytes] | Copy:
    """
    Start a child; from several threads at once, if need be.

    Raises:
        OSError: The interpreter cannot be run.

    """
    template = _serving(wanted)
    return (template and template.start(wanted)) or _fresh(wanted)


def exchanges(owner: str) -> int | None:
    """Times that children of an owner asked a server of this machine; None without a template."""
    with _lock:
        known = _current.get(owner)
        return None if known is None else known.exchanges


def seen(started: subprocess.Popen[bytes] | Copy) -> psutil.Process:
    """A started child as psutil knows it; it may have ended."""
    return started.seen if isinstance(started, Copy) else psutil.Process(started.pid)


def _serving(wanted: Start) -> Template | None:
    """The template of the owner, started where there is none, or where it was killed."""
    if sys.platform != "linux":
        return None
    owner = wanted.owner
    with _lock:
        for name in [name for name, known in _current.items() if not known.is_mine]:
            del _current[name]
        known = _current.pop(owner, None)
        if known is None:
            _end_idle()
            known = _begun(wanted.words, wanted.environment)
        elif not known.alive and known.has_served:
            known.end()
            known = _begun(known.words, known.environment)
        if known is None:
            return None
        _current[owner] = known
        # One that ended before it served anything would do so again.
        usable = known.alive and known.words == list(wanted.words)
        return known if usable else None


def _begun(words: Sequence[str], environment: dict[str, str]) -> Template | None:
    with contextlib.suppress(OSError):
        return Template(words, environment)
    return None


def _end_idle() -> None:
    """Make room for another one."""
    for owner in list(_current)[: max(0, len(_current) - _MOST + 1)]:
        if _current[owner].is_idle:
            _current.pop(owner).end()


def _fresh(wanted: Start) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*wanted.words, *map(str, wanted.given)],
        stdin=subprocess.DEVNULL,
        stdout=wanted.output,
        stderr=wanted.output,
        env=wanted.environment,
        cwd=wanted.cwd,
        pass_fds=wanted.given,
        start_new_session=True,
    )


@atexit.register
def end() -> None:
    """End this process's templates, if it has any; the next child starts another."""
    with _lock:
        for template in _current.values():
            template.end()
        _current.clear()
