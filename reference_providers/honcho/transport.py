"""
HTTP with a deadline for a whole call: the SDK's own timeout is one for each read.

A server that sends a byte now and then keeps a call going for ever, and retries of the SDK send a
write again. So every read, write and connect here gets what is left of its thread's deadline, and
`abort` ends those that are inside of one.
"""

import contextlib
import ipaddress
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

_local = threading.local()

#: Bound of everything that nothing else bounds.
_LONGEST_S = 60.0

#: Seconds between two looks of a read that somebody may give up.
_LOOK_S = 0.25


@contextlib.contextmanager
def within(budget_s: float, is_given_up: Callable[[], bool] | None = None) -> Iterator[None]:
    """
    Everything that this thread sends and receives in the body takes at most so long.

    `is_given_up` ends a read before that, as if its time were over.
    """
    before = getattr(_local, "until", None), getattr(_local, "is_given_up", None)
    until = time.monotonic() + budget_s
    _local.until = until if before[0] is None else min(before[0], until)
    _local.is_given_up = is_given_up or before[1]
    try:
        yield
    finally:
        _local.until, _local.is_given_up = before


def rest_s() -> float:
    """Seconds that are left of the thread's deadline."""
    until = getattr(_local, "until", None)
    return _LONGEST_S if until is None else float(until - time.monotonic())


def _left(timeout: float | None, error: type[Exception]) -> float:
    left = min(rest_s(), _LONGEST_S if timeout is None else timeout)
    if left <= 0:
        raise error("the deadline of the call has passed")
    return left


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, wires: "Wires") -> None:
        self._stream = stream
        self._wires = wires

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        is_given_up = getattr(_local, "is_given_up", None)
        if is_given_up is None:
            return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))
        while not is_given_up():
            left_s = _left(timeout, httpcore.ReadTimeout)
            with contextlib.suppress(httpcore.ReadTimeout):
                return self._stream.read(max_bytes, min(left_s, _LOOK_S))
        raise httpcore.ReadTimeout("the call was given up")

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._wires.drop(self)
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        # A handshake has many reads, each with this timeout; `abort` ends one that drips.
        left = _left(timeout, httpcore.ConnectTimeout)
        timer = self._wires.alarm(self, left)
        try:
            secured = self._stream.start_tls(ssl_context, server_hostname, left)
        finally:
            timer.set()
        self._stream = secured
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def shut(self) -> None:
        """Wake whoever waits inside of a read or a write."""
        held = self._stream.get_extra_info("socket")
        with contextlib.suppress(OSError):
            socket.socket.shutdown(held, socket.SHUT_RDWR)


class Wires(httpcore.NetworkBackend):
    """Opens the connections of one client, and knows those that are open."""

    def __init__(self) -> None:
        self._backend = httpcore.SyncBackend()
        self._lock = threading.Lock()
        self._open: set[_Stream] = set()
        self._is_aborted = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect within what is left of the thread's deadline."""
        if self._has_ended():
            raise httpcore.ConnectError("the client is closed")
        left = _left(timeout, httpcore.ConnectTimeout)
        stream = _Stream(
            self._backend.connect_tcp(host, port, left, local_address, socket_options), self
        )
        with self._lock:
            self._open.add(stream)
        if self._has_ended():
            # The client was closed meanwhile, and would not close this one any more.
            stream.close()
            raise httpcore.ConnectError("the client is closed")
        return stream

    def _has_ended(self) -> bool:
        with self._lock:
            return self._is_aborted

    def alarm(self, stream: _Stream, after_s: float) -> threading.Event:
        """Shut a stream after a time, unless the event is set before."""
        done = threading.Event()

        def wait() -> None:
            if not done.wait(after_s):
                stream.shut()

        with contextlib.suppress(RuntimeError):  # No thread starts while the interpreter ends.
            threading.Thread(target=wait, name="honcho-tls", daemon=True).start()
        return done

    def drop(self, stream: _Stream) -> None:
        """Forget a stream that is closed."""
        with self._lock:
            self._open.discard(stream)

    def abort(self) -> None:
        """End what is open; whoever waits on it fails at once."""
        with self._lock:
            self._is_aborted = True
            streams = list(self._open)
        for stream in streams:
            stream.shut()


class _Transport(httpx.HTTPTransport):
    _pool: Any

    def __init__(self, url: str, wires: Wires) -> None:
        is_secure = urlsplit(url).scheme == "https"
        super().__init__(verify=False, trust_env=False)  # Its pool is replaced below.
        self._pool.close()
        context = httpx.create_ssl_context() if is_secure else None
        shared: dict[str, Any] = {
            "ssl_context": context,
            "network_backend": wires,
            "max_connections": 10,
            "keepalive_expiry": 30.0,
        }
        proxy = _proxy(url)
        self._pool = (
            httpcore.HTTPProxy(proxy_url=proxy, **shared)
            if proxy
            else httpcore.ConnectionPool(**shared)
        )


def _proxy(url: str) -> str:
    """The proxy that the environment names for a server; none for one on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return ""
    if host == "localhost" or urllib.request.proxy_bypass(host):
        return ""
    return urllib.request.getproxies().get(parts.scheme, "")


def client(url: str, wires: Wires) -> httpx.Client:
    """A client whose every call is bounded by `within`."""
    return httpx.Client(transport=_Transport(url, wires), timeout=httpx.Timeout(_LONGEST_S))
