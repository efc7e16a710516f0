"""
Ways in which the server fails, each a function of one exchange.

Each is named as a test names it in `fail`; a number stands for `status` of it.
"""

import contextlib
import io
import json
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

from .limits import invalid

#: Between two bytes of a slow answer: far below every timeout that is set for one read.
_PAUSE_S = 0.2

_REASONS: dict[int, Any] = {
    401: "Invalid JWT",
    404: "Not Found",
    422: invalid("missing", ["body", "messages"], "Field required", {}).detail,
    429: "Rate limit exceeded",
}


class Exchange:
    """
    One request that is to be answered, and the connection it came on.

    Attributes:
        given: The client's request body.
        serve: Does what the request asks for; gives status and body of the answer.

    """

    def __init__(
        self,
        connection: socket.socket,
        out: io.BufferedIOBase,
        given: Any,
        stopped: threading.Event,
        serve: Callable[[], bytes],
    ) -> None:
        self._connection = connection
        self._out = out
        self.given = given
        self.stopped = stopped
        self.serve = serve

    def send(self, data: bytes) -> None:
        """Send these bytes."""
        self._out.write(data)
        self._out.flush()

    def wait(self) -> None:
        """Wait until the client goes away, or the server ends."""
        with contextlib.suppress(OSError):
            while self._connection.recv(1 << 16):
                pass

    def reset(self) -> None:
        """Reset the connection."""
        linger = struct.pack("ii", 1, 0)
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        # The files that the handler made of the socket hold it open otherwise.
        socket.socket(fileno=self._connection.detach()).close()


Mode = Callable[[Exchange], None]

#: The server ends a connection after a failure, and says so: a client would send its next request
#: into the end otherwise.
_LAST = {"Connection": "close"}


def message(code: int, data: bytes, **headers: str) -> bytes:
    """A whole answer of HTTP; `Retry_After` stands for that header."""
    named = {"Content-Type": "application/json", "Content-Length": str(len(data))}
    named |= {key.replace("_", "-"): value for key, value in headers.items()}
    lines = [f"HTTP/1.1 {code} Stand-in", *(f"{key}: {value}" for key, value in named.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + data


def status(code: int, detail: Any = None, **headers: str) -> Mode:
    """Answer with a status and the server's words for it."""
    says = _REASONS.get(code, "An unexpected error occurred") if detail is None else detail
    return _whole(message(code, json.dumps({"detail": says}).encode(), **_LAST, **headers))


def retry_after(value: str) -> Mode:
    """Answer 429 with a time, or with what stands for one."""
    return status(429, Retry_After=value)


def echo(exchange: Exchange) -> None:
    """Answer 422 with a list that repeats what the client sent."""
    refused = invalid("value_error", ["body"], "Value error", exchange.given)
    status(422, refused.detail)(exchange)


def body(data: bytes) -> Mode:
    """Answer 200 with these bytes."""
    return _whole(message(200, data, **_LAST))


def _whole(answer: bytes) -> Mode:
    return lambda exchange: exchange.send(answer)


def hang(exchange: Exchange) -> None:
    """Never answer."""
    exchange.wait()


def drip(exchange: Exchange) -> None:
    """Answer a byte at a time, without an end."""
    with contextlib.suppress(OSError):
        exchange.send(message(200, b"", Content_Length="1000000"))
        while not exchange.stopped.wait(_PAUSE_S):
            exchange.send(b" ")


def reset(exchange: Exchange) -> None:
    """Reset the connection and do nothing."""
    exchange.reset()


def lose(exchange: Exchange) -> None:
    """Do what was asked for and reset the connection in place of an answer."""
    exchange.serve()
    exchange.reset()


def late(exchange: Exchange) -> None:
    """Do what was asked for and never answer."""
    exchange.serve()
    exchange.wait()


def truncate(exchange: Exchange) -> None:
    """Do what was asked for, promise the answer and end within it."""
    exchange.send(exchange.serve()[:-1])
    exchange.reset()


MODES: dict[str, Mode] = {
    "hang": hang,
    "drip": drip,
    "reset": reset,
    "lose": lose,
    "late": late,
    "truncate": truncate,
    "echo": echo,
    "empty": body(b""),
    "not_json": body(b"<html>Please log in</html>"),
    "wrong_shape": body(b'{"unexpected": true}'),
    "retry_after": retry_after("2"),
}


def mode(named: str | int | Mode) -> Mode:
    """The mode of this name, or with this status."""
    if isinstance(named, int):
        return status(named)
    return MODES[named] if isinstance(named, str) else named
