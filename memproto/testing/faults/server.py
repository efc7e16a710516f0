"""
A server on loopback that fails on purpose, in a way that can be changed while it runs.

It runs in threads of the process that asks for it, and counts what reaches it.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from os import close, pipe, write
from select import select
from socket import SHUT_WR, socket
from threading import Condition, Event, Thread
from time import monotonic

from memproto.testing.faults import wires
from memproto.testing.faults.requests import Request, Requests

#: Seconds that the threads of a server are waited for at its end; each is told to end before.
_END_S = 5.0

_DIAL_S = 5.0

#: Beginning of the first record of a TLS connection.
_HANDSHAKE = b"\x16"


class Link:
    """
    One connection that a client opened.

    Attributes:
        socket: The connection.
        gone: Set once the server has let go of it.

    """

    def __init__(self, connection: socket, server: "FaultServer") -> None:
        self.socket = connection
        self.gone = Event()
        self._server = server

    def is_tls(self) -> bool:
        """True if the client begins with a TLS handshake; blocks until it begins or ends."""
        return wires.first(self.socket) == _HANDSHAKE

    def requests(self) -> Iterator[Request]:
        """The HTTP requests that come, each counted, until the client or the server ends."""
        if self.is_tls():
            # No line of it may ever end; a client that is cut off knows at once.
            self._server.note(None)
            return
        for request in Requests(self.socket):
            self._server.note(request)
            yield request

    def heard(self) -> bool:
        """Wait for the next bytes, whatever they are; False at the end of the connection."""
        data = wires.received(self.socket)
        if data:
            self._server.note(None)
        return bool(data)

    def send(self, data: bytes) -> bool:
        """True if all of `data` could be sent."""
        return wires.sent(self.socket, data)

    def trickle(self, data: Iterator[bytes], pause_s: float) -> None:
        """Send piece after piece with a pause before each, until the connection ends."""
        for piece in data:
            if self.gone.wait(pause_s) or not self.send(piece):
                return

    def reset(self) -> None:
        """End the connection by a reset."""
        wires.reset(self.socket)

    def forward(self) -> None:
        """Pass everything on to the real backend and back, while the gate is open."""
        with contextlib.suppress(OSError), self._server.dial() as upstream:
            back = wires.started(lambda: self._pass(upstream, self.socket))
            self._pass(self.socket, upstream)
            with contextlib.suppress(OSError):
                upstream.shutdown(SHUT_WR)
            if self.gone.is_set():
                wires.cut(upstream)
            back.join(_END_S)

    def _pass(self, source: socket, sink: socket) -> None:
        while data := wires.received(source):
            self._server.note(None, counts=source is self.socket)
            self._server.gate.wait()
            if self.gone.is_set() or not wires.sent(sink, data):
                return
        if source is not self.socket:
            # The backend is done with it; the client may wait for more.
            wires.cut(self.socket)

    def end(self) -> None:
        """Let go of the connection."""
        self.gone.set()
        wires.cut(self.socket)


#: Treats a connection; returns when it is done with it.
Mode = Callable[[Link], None]


@dataclasses.dataclass(frozen=True)
class _Served:
    link: Link
    thread: Thread


class FaultServer:
    """
    A server that treats each connection by the mode of the moment.

    Guarantees:
        After `close` neither a thread nor a socket of it is left.
    Assumes:
        `turn`, `freeze`, `thaw` and `close` come from one thread.

    Attributes:
        port: The port on which it listens, on 127.0.0.1.
        connections: Number of accepted connections.
        pieces: Number of times that bytes of a client came in.
        requests: The HTTP requests that were read.
        gate: Closed while a server that forwards is frozen.

    """

    def __init__(self, mode: Mode, upstream: tuple[str, int] | None = None) -> None:
        self.connections = 0
        self.pieces = 0
        self.requests: list[Request] = []
        self.gate = Event()
        self.gate.set()
        self._mode = mode
        self._upstream = upstream
        self._changed = Condition()
        self._is_closed = False
        self._served: list[_Served] = []
        self._listener = wires.listening()
        self.port: int = self._listener.getsockname()[1]
        self._woken, self._wake = pipe()
        self._acceptor = wires.started(self._accept)

    # -- what it does ------------------------------------------------------------------------------

    def turn(self, mode: Mode) -> None:
        """Treat connections by `mode` from now on; those that are open are ended."""
        with self._changed:
            self._mode = mode
            served, self._served = self._served, []
        self._end(served)

    def freeze(self) -> None:
        """Keep what comes in and answer nothing, on the connections that are open too."""
        self.gate.clear()

    def thaw(self) -> None:
        """Forward what came in meanwhile, and go on."""
        self.gate.set()

    def settle(self, within_s: float) -> None:
        """Wait until what was forwarded is over, on the connections that the client has left."""
        ends = monotonic() + within_s
        with self._changed:
            served = list(self._served)
        for one in served:
            one.thread.join(max(0.0, ends - monotonic()))

    def close(self) -> None:
        """End every connection and thread."""
        if self._is_closed:
            return
        self._is_closed = True
        write(self._wake, b"x")
        self._acceptor.join(_END_S)
        self._listener.close()
        for descriptor in (self._wake, self._woken):
            close(descriptor)
        with self._changed:
            served, self._served = self._served, []
        self._end(served)

    def _end(self, served: list[_Served]) -> None:
        for one in served:
            one.link.end()
        is_open = self.gate.is_set()
        # Threads that stand at the gate see that their connection is gone.
        self.gate.set()
        for one in served:
            one.thread.join(_END_S)
        if not is_open:
            self.gate.clear()

    def dial(self) -> socket:
        """A connection to the real backend; raises OSError where there is none."""
        if self._upstream is None:
            raise ConnectionRefusedError("there is no backend behind this server")
        return wires.dialled(self._upstream, _DIAL_S)

    # -- what it sees ------------------------------------------------------------------------------

    def note(self, request: Request | None, *, counts: bool = True) -> None:
        """Count a request, or bytes that are none."""
        with self._changed:
            self.pieces += counts
            if request is not None:
                self.requests.append(request)
            self._changed.notify_all()

    def wait_for(self, condition: Callable[[], bool], within_s: float) -> bool:
        """Wait until `condition`, which is about what this server has seen, holds."""
        with self._changed:
            return self._changed.wait_for(condition, within_s)

    # -- connections -------------------------------------------------------------------------------

    def _accept(self) -> None:
        waited: list[int] = [self._listener.fileno(), self._woken]
        while self._woken not in select(waited, [], [])[0]:
            with contextlib.suppress(OSError):
                self._take(Link(wires.accepted(self._listener), self))

    def _take(self, link: Link) -> None:
        with self._changed:
            self.connections += 1
            mode = self._mode
            thread = wires.started(lambda: self._serve(link, mode))
            self._served = [one for one in self._served if one.thread.is_alive()]
            self._served.append(_Served(link, thread))
            self._changed.notify_all()

    @staticmethod
    def _serve(link: Link, mode: Mode) -> None:
        with contextlib.suppress(OSError, ValueError):
            mode(link)
        wires.cut(link.socket)
        link.socket.close()
