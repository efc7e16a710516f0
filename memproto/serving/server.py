"""
A provider behind the protocol of 85-wire.md, in this process.

The main thread makes the calls, one after another, as a host's does; a request that comes beside
one that runs gets a thread of its own. Between two calls the main thread reads by itself, since a
thread that hands each request over costs more than the request; while it makes a call, another one
reads, and answers what needs no provider.
"""

import contextlib
import os
import queue
import select
import signal
import sys
import threading
from collections import deque
from typing import Any

from memproto.bindings import Binding
from memproto.serving import streams
from memproto.serving.streams import Lines, Output, TooLong
from memproto.wire import codes
from memproto.wire.codec import MOST, Malformed, Unsendable, decode, encode
from memproto.wire.methods import BEFORE_OPEN, CORE, METHODS, VERSION, WRITES

#: Seconds that a server has to end when its input does.
END_S = 15.0

#: Milliseconds that the thread which stands by leaves to the main one, before it reads.
_STAND_BY_MS = 10.0

#: Seconds that the last answers may take to be read.
_FLUSH_S = 1.0


class _Request:
    """
    One request, answered once.

    Attributes:
        number: Its id.
        method: Its method.
        params: Its params.
        has_begun: True once a thread makes its call.

    """

    def __init__(self, number: int, method: str, params: dict[str, Any]) -> None:
        self.number = number
        self.method = method
        self.params = params
        self.has_begun = False


#: Work that is none: nobody may be reading.
_READ = _Request(0, "", {})


class Server:
    """
    The server of one instance.

    Guarantees:
        Each request is answered exactly once. The process ends within 15 s after its input.
    Assumes:
        `run` is called on the main thread, once.
    """

    def __init__(self, provider: Any, binding: Binding, given: int, taken: int) -> None:
        self._provider = provider
        self._binding = binding
        self._input = given
        self._output = Output(taken)
        self._lock = threading.Lock()
        self._open_requests: dict[int, _Request] = {}
        self._writes: deque[_Request] = deque()
        self._is_writing = False
        self._lines = Lines()
        #: Held by the thread that reads.
        self._leading = threading.Lock()
        #: Written to at the end, for threads that wait for input.
        self._bell, self._rope = os.pipe()
        self._poll = self._polled()
        self._is_read_out = False
        #: Work of the main thread; None says that it is to end.
        self._work: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._is_main_free = True
        self._running = 0
        self._idle = threading.Condition(self._lock)
        #: The methods beside the core that the provider has hooks for.
        self._served: list[str] = []
        self._is_greeted = self._is_open = self._is_closing = False
        self._is_closed = threading.Event()

    def run(self) -> None:
        """Serve until the input ends; blocks. The caller ends the process."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._end_soon())
        threading.Thread(target=self._stand_by, name="wire-reader", daemon=True).start()
        try:
            while (request := self._next()) is not None:
                self._serve(request)
                with self._lock:
                    self._is_main_free = True
        finally:
            self._end()

    # -- reading -----------------------------------------------------------------------------------

    def _next(self) -> _Request | None:
        """Work of the main thread, which reads until there is some if no other thread does."""
        while True:
            if self._leading.acquire(blocking=False):
                try:
                    while self._work.empty() and not self._is_read_out:
                        self._read_some()
                finally:
                    self._leading.release()
            request = self._work.get()
            if request is not _READ:
                return request

    def _stand_by(self) -> None:
        """Read while the main thread makes a call, to the end of the input."""
        poll = self._polled()
        bell = select.poll()
        bell.register(self._bell, select.POLLIN)
        while not self._is_read_out:
            # Wakes with the main thread, and leaves it to that for a moment; so it does at most
            # once in a hundredth of a second, however many requests come.
            poll.poll()
            if bell.poll(_STAND_BY_MS):
                return
            if self._leading.acquire(blocking=False):
                try:
                    self._read_on()
                finally:
                    self._leading.release()
                self._work.put(_READ)

    def _read_on(self) -> None:
        """Read until a part has come while the main thread was free."""
        was_free = False
        while not self._is_read_out and not was_free:
            was_free = self._is_main_free
            self._read_some()

    def _read_some(self) -> None:
        """Wait for a part of the input, or the bell, and take its lines; the caller leads."""
        if any(descriptor == self._bell for descriptor, _ in self._poll.poll()):
            self._is_read_out = True
            return
        part = streams.read(self._input)
        is_over = True
        try:
            for line in self._lines.of(part) if part else self._lines.last():
                self._take(line)
            is_over = not part
        finally:
            if is_over:
                self._is_read_out = True
                self._end_soon()

    def _polled(self) -> "select.poll":
        poll = select.poll()
        poll.register(self._input, select.POLLIN)
        poll.register(self._bell, select.POLLIN)
        return poll

    def _take(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self._refuse(line.number, "TooLarge", str(line))
            return
        if not line.strip():
            return
        try:
            message = decode(line)
        except Malformed as error:
            self._refuse(None, error.name, str(error))
            return
        number, method, params = (message.get(key) for key in ("id", "method", "params"))
        if not isinstance(method, str) or ("id" in message and not _is_id(number)):
            self._refuse(number, "InvalidRequest", "it is no request")
        elif "id" not in message:
            self._notified(method, params)
        elif not isinstance(params, dict | None):
            self._refuse(number, "InvalidParams", "params are no object")
        else:
            assert isinstance(number, int)
            self._requested(_Request(number, method, params or {}))

    def _notified(self, method: str, params: Any) -> None:
        if method == "$/cancel" and isinstance(params, dict):
            number = params.get("id")
            with self._lock:
                request = self._open_requests.get(number) if isinstance(number, int) else None
                is_running_write = (
                    request is not None and request.has_begun and request.method in WRITES
                )
            if request is not None and not is_running_write:
                self._answer(request, error=codes.error("Cancelled", "cancelled"))

    def _requested(self, request: _Request) -> None:
        with self._lock:
            known = request.number in self._open_requests
            if not known:
                self._open_requests[request.number] = request
        if known:
            self._refuse(request.number, "InvalidRequest", "the id is that of an open request")
        elif request.method == "ping":
            self._answer(request, result=None)
        elif (refusal := self._refusal(request.method)) is not None:
            self._answer(request, error=refusal)
        elif request.method == "initialize" and not self._speaks(request.params):
            text = f"this server speaks version {VERSION}"
            self._answer(request, error=codes.error("UnsupportedVersion", text, wire=[VERSION]))
        else:
            self._dispatch(request)

    @staticmethod
    def _speaks(params: dict[str, Any]) -> bool:
        versions = params.get("wire")
        return isinstance(versions, list) and VERSION in versions

    def _refusal(self, method: str) -> dict[str, Any] | None:
        """The error of a request that is not allowed now; None for one that is."""
        if method == "initialize":
            if self._is_greeted:
                return codes.error("InvalidRequest", "the server was greeted before")
            return None
        if method not in METHODS or not (method in CORE or method in self._served):
            if not self._is_greeted and method in METHODS:
                return codes.error("NotOpen", "the server was not greeted")
            return codes.error("MethodNotFound", f"there is no method {method[:100]!r}")
        if not self._is_greeted:
            return codes.error("NotOpen", "the server was not greeted")
        if method == "close":
            return None
        if self._is_closing:
            return codes.error("NotOpen", "the instance is closed")
        if method not in BEFORE_OPEN and not self._is_open:
            return codes.error("NotOpen", f"{method} needs a session, and none is open")
        return None

    def _dispatch(self, request: _Request) -> None:
        """Have the main thread serve a request if it is free; else another one."""
        with self._lock:
            if request.method in WRITES:
                self._writes.append(request)
                if self._is_writing:
                    return
                self._is_writing = True
            if request.method == "close":
                self._is_closing = True
            self._running += 1
            if self._is_main_free:
                self._is_main_free = False
                self._work.put(request)
                return
        threading.Thread(
            target=self._serve, args=(request,), name=f"wire-{request.method}", daemon=True
        ).start()

    # -- the threads that serve --------------------------------------------------------------------

    def _serve(self, request: _Request) -> None:
        try:
            if request.method in WRITES:
                self._serve_writes()
            else:
                self._make(request)
        finally:
            with self._lock:
                self._running -= 1
                self._idle.notify_all()

    def _serve_writes(self) -> None:
        """The writes one after another, in the order in which they came."""
        while True:
            with self._lock:
                if not self._writes:
                    self._is_writing = False
                    return
                request = self._writes.popleft()
            self._make(request)

    def _make(self, request: _Request) -> None:
        """Make the call of a request, unless it was cancelled before, and answer it."""
        with self._lock:
            request.has_begun = request.number in self._open_requests
        if not request.has_begun:
            return
        try:
            result = self._call(request)
        except _Unfit as error:
            self._answer(request, error=codes.error("InvalidParams", str(error)))
        except BaseException as error:  # noqa: BLE001, RUF100 - whatever the provider raised
            self._answer(request, error=codes.of_exception(error))
        else:
            self._answer(request, result=result)

    def _call(self, request: _Request) -> Any:
        if request.method == "initialize":
            return self._greeting()
        method = METHODS[request.method]
        try:
            given, keywords = method.call(request.params)
        except TypeError as error:
            raise _Unfit(str(error)) from None
        if request.method == "open":
            return self._opened(given, keywords)
        if request.method == "close":
            return self._closed()
        return getattr(self._provider, method.hook)(*given, **keywords)

    def _greeting(self) -> dict[str, Any]:
        name = self._provider.name
        rows = (row for row in METHODS.values() if row.name not in CORE)
        self._served = [row.name for row in rows if self._has(row.hook)]
        self._is_greeted = True
        return {"wire": VERSION, "name": name, "methods": self._served}

    def _has(self, hook: str) -> bool:
        try:
            return callable(getattr(self._provider, hook, None))
        except Exception:  # the provider's own property: it has no such hook
            return False

    def _opened(self, given: list[Any], keywords: dict[str, Any]) -> Any:
        config = given[1]
        if not isinstance(config, dict):
            raise _Unfit("config is no object")
        if self._binding.home_variable:
            # The process has one home, which the variable and the argument name.
            home = config.get("host_home") or config.get("home")
            os.environ[self._binding.home_variable] = str(home or "")
        result = self._provider.initialize(*given, **keywords)
        self._is_open = True
        return result

    def _closed(self) -> Any:
        try:
            return self._provider.shutdown()
        finally:
            self._is_closed.set()

    def _answer(self, request: _Request, **outcome: Any) -> None:
        """Answer a request, unless that was done."""
        with self._lock:
            if self._open_requests.pop(request.number, None) is None:
                return
        head = {"jsonrpc": "2.0", "id": request.number}
        try:
            line = encode({**head, **outcome})
        except Unsendable as fault:
            name = "TooLarge" if "bytes" in str(fault) else "InternalError"
            line = encode({**head, "error": codes.error(name, f"the result: {fault}")})
        self._output.send(line)

    def _refuse(self, number: Any, name: str, text: str) -> None:
        """Answer a line by an error, under its id if that is one which an answer can have."""
        known = number if _is_id(number) else None
        self._output.send(encode({"jsonrpc": "2.0", "id": known, "error": codes.error(name, text)}))

    # -- the end -----------------------------------------------------------------------------------

    def _end_soon(self) -> None:
        """Have the main thread end, and the process, whatever hangs in it."""
        watchdog = threading.Timer(END_S, _give_up)
        watchdog.daemon = True
        with contextlib.suppress(RuntimeError):
            watchdog.start()
        self._work.put(None)
        os.write(self._rope, b"\0")

    def _end(self) -> None:
        """Wait for the calls that run, and close what nobody closed."""
        with self._lock:
            self._idle.wait_for(lambda: self._running == 0, END_S)
        if not self._is_closed.is_set():
            self._is_closing = True
            with contextlib.suppress(BaseException):
                self._closed()
        self._output.flush(_FLUSH_S)


class _Unfit(Exception):
    """The params of a request do not fit its method."""


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST


def _give_up() -> None:
    sys.stderr.write("memproto serve: the provider did not end within 15 s\n")
    os._exit(1)
