"""One HTTP request under one deadline, with the standard library alone."""

import io
import json
import socket
import ssl
import time
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import SplitResult, urlsplit

from memproto.errors import Unavailable


class Refused(Unavailable):
    """
    The server answered, with a status that says no.

    Attributes:
        code: The status.
        body: The body that it sent.
        waits: The value of its header Retry-After, as it stands there, or "".

    """

    def __init__(self, code: int, body: str = "", waits: str = "") -> None:
        seconds = float(waits) if waits.isdecimal() else None
        super().__init__(f"the server answered {code}", retry_after_s=seconds)
        self.code = code
        self.body = body
        self.waits = waits


class _Whole:
    """An answer that is in memory, in the form that HTTPResponse reads."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def post(url: str, path: str, asked: dict[str, Any], within_s: float) -> dict[str, Any]:
    """
    Send `asked` and give the answer; the whole of it takes no longer than `within_s`.

    Raises:
        Refused: The server answered with an error.
        Unavailable: It did not answer in time, or something else than a JSON object.

    """
    end = time.monotonic() + within_s
    parts = urlsplit(url)
    try:
        with _connected(parts, end) as connection:
            connection.sendall(_request(parts, path, json.dumps(asked).encode("ascii")))
            return _parsed(_read(connection, end))
    except (OSError, HTTPException, ValueError) as error:
        raise Unavailable(f"{url} does not answer: {error!r}") from error


def _connected(parts: SplitResult, end: float) -> socket.socket:
    address = (parts.hostname or "127.0.0.1", parts.port or 80)
    connection = socket.create_connection(address, _left_s(end))
    if parts.scheme != "https":
        return connection
    try:
        connection.settimeout(_left_s(end))
        return ssl.create_default_context().wrap_socket(connection, server_hostname=parts.hostname)
    except BaseException:
        connection.close()
        raise


def _request(parts: SplitResult, path: str, body: bytes) -> bytes:
    lines = [
        f"POST {path} HTTP/1.0",
        f"Host: {parts.netloc}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii") + body


def _read(connection: socket.socket, end: float) -> bytes:
    data = b""
    while True:
        connection.settimeout(_left_s(end))
        piece = connection.recv(1 << 16)
        if not piece:
            return data
        data += piece


def _left_s(end: float) -> float:
    left_s = end - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("the time is over")
    return left_s


def _parsed(data: bytes) -> dict[str, Any]:
    response = HTTPResponse(_Whole(data))  # type: ignore[arg-type]
    response.begin()
    body = response.read()
    if response.status != 200:
        waits = response.getheader("Retry-After", "")
        raise Refused(response.status, body.decode("utf-8", "replace"), waits)
    answer = json.loads(body)
    if not isinstance(answer, dict) or "entries" not in answer:
        raise ValueError("the answer has no entries")
    return answer
