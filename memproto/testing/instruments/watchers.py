"""Things that the kit watches inside a child: audit events, process globals, leftover threads."""

import builtins
import contextlib
import gc
import io
import json
import locale
import logging
import operator
import os
import signal
import socket
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import memproto
from memproto.testing import locate
from memproto.testing.wire import show

_PROGRAMS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork")
_SIGNALS = ("os.kill", "os.killpg")
_SOCKETS = (
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.getaddrinfo",
    "socket.__new__",
)
#: Events that leave the machine, if the address is not on it.
_REACHING = ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")
#: Number of addresses, and of programs, that are named.
_MOST_NAMED = 8

_WRITING = (
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.truncate",
    "os.link",
    "os.symlink",
)

#: The module that runs coroutine hooks; it is not imported here, since it imports asyncio.
_LOOPS = "memproto.adapters.aio"

#: Every event that is looked into while nobody guards. The interpreter has many more, among them
#: one for each time that a code object is read, which is thousands of times after each check.
_HEARD = frozenset(
    (*_REACHING, *_PROGRAMS, *_SIGNALS, *_SOCKETS, *_WRITING, "open", "sqlite3.connect")
)


class AuditLog:
    """
    Audit events of one process: what was opened, connected to and started, and by force stopped.

    An audit hook cannot be removed, so there is one for the life of the process. Connections that
    leave the machine are refused here: the kit sends traffic to loopback only.

    Attributes:
        forks: Number of times that the process was forked.
        connections: Number of times that it looked a host up or began to connect to one.
        connects: True if a session of the target connects to what it does not run itself; None
            before one was watched for it.
        reaching: Hears host and port of each such connection and look-up before it begins; None
            for nobody.
        trying: Hears of each connection and look-up whether it is outside of the machine, and so
            refused; None for nobody.
        guard: Hears every event first, and may raise; None for none.
        refused: Each address outside of the machine that was asked for, and the author's line that
            asked first; the first so many.
        programs: The names of the programs that were started, the last ones.

    """

    def __init__(self) -> None:
        self.forks = 0
        self.connections = 0
        self.connects: bool | None = None
        self.reaching: Callable[[str, int], None] | None = None
        self.trying: Callable[[bool], None] | None = None
        self.guard: Callable[[str, tuple[Any, ...]], None] | None = None
        self.refused: dict[str, str] = {}
        self.programs: deque[str] = deque(maxlen=_MOST_NAMED)
        self._recording: list[str] | None = None
        sys.addaudithook(self._hook())

    @contextlib.contextmanager
    def recording(self) -> Iterator[list[str]]:
        """Collect descriptions of sockets, programs and writes in the body."""
        events: list[str] = []
        self._recording = events
        try:
            yield events
        finally:
            self._recording = None

    def _hook(self) -> Callable[[str, tuple[Any, ...]], None]:
        """
        The function that the interpreter calls for each event.

        A function, since it looks for an attribute of the hook before each call, which takes three
        times as long as the call where the hook is a method.
        """
        log, heard = self, _HEARD

        def hook(event: str, args: tuple[Any, ...]) -> None:
            if event in heard or log.guard is not None:
                log._hear(event, args)

        return hook

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.guard is not None:
            self.guard(event, args)
        if event in _REACHING:
            if _is_network(event, args):
                self.connections += 1
                if self.reaching is not None:
                    self.reaching(*_host_and_port(event, args))
                if self.trying is not None:
                    address = args[0] if event == "socket.getaddrinfo" else args[-1]
                    self.trying(not is_loopback(address))
            self._refuse_outside(event, args)
        self.forks += event == "os.fork"
        if event in _PROGRAMS and args and event != "os.fork":
            self.programs.append(_program(args[0]))
        if self._recording is None:
            return
        described = "" if _changes_nothing(event, args) else _describe(event, args)
        if described:
            self._recording.append(described)

    def _refuse_outside(self, event: str, args: tuple[Any, ...]) -> None:
        address = args[0] if event == "socket.getaddrinfo" else args[-1]
        if not is_loopback(address):
            if len(self.refused) < _MOST_NAMED:
                self.refused.setdefault(_named(event, address, args), locate.calling())
            if self._recording is not None:
                self._recording.append(f"{event} {address!r}")
            raise ConnectionRefusedError(f"memproto sends nothing to {address!r}: loopback only")


def _named(event: str, address: object, args: tuple[Any, ...]) -> str:
    """An address as `host:port`, or a host as it was looked up."""
    if event == "socket.getaddrinfo":
        host, port = args[0], args[1]
    elif isinstance(address, tuple) and len(address) > 1:
        host, port = address[0], address[1]
    else:
        host, port = address, None
    if isinstance(host, bytes):
        host = host.decode("latin-1")
    return show(host)[1:-1] + (f":{port}" if port else "")


def _program(name: object) -> str:
    """The name of a started program, of a command line as well."""
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    words = str(name).split() or ["?"]
    return show(os.path.basename(words[0]))[1:-1]  # noqa: PTH119 - any text


def _is_network(event: str, args: tuple[Any, ...]) -> bool:
    """True if a socket event is about a host: not a socket file, nor a port of this process."""
    host = args[0] if event == "socket.getaddrinfo" else args[-1]
    return isinstance(host, tuple) or (isinstance(host, str | bytes) and not _is_path(host))


def _host_and_port(event: str, args: tuple[Any, ...]) -> tuple[str, int]:
    """Host and port of a socket event; 0 stands for a port that is not said as a number."""
    address = args[:2] if event == "socket.getaddrinfo" else args[-1]
    host, port = (*address, 0, 0)[:2] if isinstance(address, tuple) else (address, 0)
    name = host.decode("latin-1") if isinstance(host, bytes) else str(host)
    return name, port if isinstance(port, int) else 0


def _is_path(address: str | bytes) -> bool:
    return address[:1] in ("", "/", "\0", b"", b"/", b"\0")


def is_loopback(address: object) -> bool:
    """True if a socket address, or a host name, stays on this machine."""
    host = address[0] if isinstance(address, tuple) and address else address
    if isinstance(host, bytes):
        host = host.decode("latin-1")
    if not isinstance(host, str):
        return True
    if isinstance(address, str) and address.startswith(("/", "\0")):
        return True
    return host in ("", "localhost", "::1", "0.0.0.0", "::") or host.startswith("127.")  # noqa: S104 - compared, not bound


def _changes_nothing(event: str, args: tuple[Any, ...]) -> bool:
    """
    True if what an event announces cannot change a file, whatever comes of it.

    An event is heard before its call, and `mkdir(exist_ok=True)` makes one for a directory that is
    there, as `unlink(missing_ok=True)` does for a file that is not.
    """
    if event == "os.mkdir":
        return args[2] < 0 and os.path.isdir(args[0])  # noqa: PTH112 - bytes as well
    if event == "os.remove":
        return args[1] < 0 and not os.path.lexists(args[0])
    return event == "sqlite3.connect" and _is_read_only(args[0])


def _is_read_only(database: object) -> bool:
    """True if a database is named by an address that lets nothing be written."""
    return isinstance(database, str) and database.startswith("file:") and "mode=ro" in database


def _describe(event: str, args: tuple[Any, ...]) -> str:
    """A line for an event that a quiet hook does not cause, else ''."""
    if event == "open":
        path, mode, flags = args
        writes = isinstance(mode, str) and set(mode) & set("wax+")
        writes = writes or (mode is None and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        return f"opened {path!r} for writing" if writes and path != os.devnull else ""
    if event in _PROGRAMS:
        return f"started a program: {event} {args[:1]!r}"
    if event in _SIGNALS and args[1] and _is_of_the_host(event, args[0]):
        return f"signalled the host: {event} {args!r}"
    if event in _SOCKETS:
        return "" if _is_of_the_adapter() else f"used a socket: {event} {args[1:]!r}"
    if event in _WRITING:
        return f"changed the file system: {event} {args[:1]!r}"
    if event == "sqlite3.connect" and args[0] != ":memory:":
        return f"opened the database {args[0]!r}"
    return ""


def _is_of_the_adapter() -> bool:
    """
    True if the adapter of coroutine hooks makes its event loop just now, which wakes by a socket.

    A socket of a coroutine is opened on the thread of that loop, and counts.
    """
    frame: types.FrameType | None = sys._getframe()  # noqa: SLF001 - the way to the callers
    while frame is not None:
        code = frame.f_code
        if frame.f_globals.get("__name__") == _LOOPS and code.co_qualname == "_LoopThread.__init__":
            return True
        frame = frame.f_back
    return False


def _is_of_the_host(event: str, number: int) -> bool:
    """True if a process or group is this one, the one that started it, or both and others."""
    if event == "os.killpg":
        return number in (0, os.getpgrp())
    return number <= 0 or number in (os.getpid(), os.getppid())


def process_globals() -> dict[str, Any]:
    """The parts of the process that belong to the host, in comparable form."""
    root = logging.getLogger()
    return {
        "working directory": str(_or_error(os.getcwd)),
        "signal handlers": {
            number: _handler(signal.getsignal(number)) for number in _SIGNAL_NUMBERS
        },
        "locale": locale.setlocale(locale.LC_ALL),
        "root logger": (
            root.level,
            tuple(map(_shown, root.handlers)),
            logging.root.manager.disable,
        ),
        "socket timeout": socket.getdefaulttimeout(),
        "sys.excepthook": _shown(sys.excepthook),
        "threading.excepthook": _shown(threading.excepthook),
        "recursion limit": sys.getrecursionlimit(),
        "event-loop policy": _loop_policy(),
        "standard streams": tuple(map(_file, range(3))),
        **interpreter_settings(),
    }


def interpreter_settings() -> dict[str, Any]:
    """The settings of the interpreter that are the host's to make, in comparable form."""
    return {
        "switch interval": sys.getswitchinterval(),
        "umask": _umask(),
        "garbage collection": gc.isenabled(),
        "check of certificates": _check_of_certificates(),
        "debug level of HTTP": _debug_level(),
    }


#: In the order of their numbers.
_SIGNAL_NUMBERS = tuple(sorted(signal.valid_signals()))

#: How the handlers are shown that nearly every signal has.
_PLAIN_HANDLERS = {handler: repr(handler) for handler in signal.Handlers}


def _handler(handler: object) -> str:
    """A handler of a signal as it is shown; no code of the target's runs for the plain ones."""
    return _PLAIN_HANDLERS[handler] if type(handler) is signal.Handlers else _shown(handler)


def _file(descriptor: int) -> str:
    """The file that is open under a number."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return "closed"
    return f"file {found.st_dev}:{found.st_ino}"


def _loop_policy() -> str:
    """The class of asyncio's policy where somebody set one, and "" for its own."""
    events = sys.modules.get("asyncio.events")
    policy = type(getattr(events, "_event_loop_policy", None))
    # The first use of asyncio sets the policy that is the default anyway.
    is_own = policy is type(None) or policy.__module__.startswith("asyncio.")
    return "" if is_own else f"{policy.__module__}.{policy.__qualname__}"


def _check_of_certificates() -> str:
    """The default of HTTPS where somebody set another one, and "" for Python's own."""
    tls = sys.modules.get("ssl")
    default = getattr(tls, "_create_default_https_context", None)
    return "" if default is getattr(tls, "create_default_context", None) else _shown(default)


def _debug_level() -> Any:
    """The level at which every connection by HTTP prints what is sent and received."""
    http = sys.modules.get("http.client")
    return 0 if http is None else http.HTTPConnection.debuglevel


def _functions(module: types.ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if callable(value)}


#: Functions that the kit's own code calls in a child, as they were before any target was loaded.
_ORIGINALS = {
    module: _functions(module)
    for module in (builtins, io, json, os, signal, socket, threading, time)
}


def accept(module: types.ModuleType) -> None:
    """Take the functions of one of these modules, which the kit has changed, as they are now."""
    _ORIGINALS[module] = _functions(module)


#: Built-in functions among them, which a target may replace while it is looked for that.
_every, _each, _same = all, map, operator.is_

_KEPT_MODULES = (*_ORIGINALS, memproto, sys.modules[__name__])
_SEARCHED = frozenset(sys.path)


def replaced() -> list[str]:
    """Functions of the kit in a child that are no more as they were before the target."""
    found = [
        f"{module.__name__}.{name}"
        for module, functions in _ORIGINALS.items()
        if not _every(_each(_same, _each(vars(module).get, functions), functions.values()))
        for name, value in functions.items()
        if vars(module).get(name) is not value
    ]
    if any(sys.modules.get(module.__name__) is not module for module in _KEPT_MODULES):
        found.append("sys.modules")
    if not _SEARCHED.issubset(sys.path):
        found.append("sys.path")
    if sys.gettrace() is not None or sys.getprofile() is not None:
        found.append("the trace function")
    if isinstance(_or_error(os.getcwd), OSError):
        found.append("the working directory")
    return found


def environment() -> dict[str, str]:
    """A copy of the environment."""
    return dict(os.environ)


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One line for each key whose value differs."""
    return [
        f"{key}: {before.get(key)!r} became {after.get(key)!r}"
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    ]


def thread_ids() -> set[int]:
    """All threads that run Python code, those that `threading` does not know included."""
    return set(sys._current_frames())  # noqa: SLF001 - the only view of foreign threads


def _shown(value: object) -> str:
    return show(value, 1_000)


def has_timer() -> bool:
    """True if an alarm is set, which will signal the process."""
    return signal.getitimer(signal.ITIMER_REAL)[0] > 0


def _umask() -> int:
    """The umask, read where the kernel tells it: to ask for it is to set it, for all threads."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text("ascii", "replace").splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _or_error(function: Any) -> Any:
    try:
        return function()
    except OSError as error:
        return error


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """Every file below `root` with size and time of change, for comparison before and after."""
    found: dict[str, tuple[int, int]] = {}
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)  # noqa: PTH118 - names may be undecodable
            with contextlib.suppress(OSError):
                info = os.stat(path)  # noqa: PTH116 - as above
                found[path] = (info.st_size, info.st_mtime_ns)
    return found
