"""HTTP requests as a server of the kit's reads them: enough to count and to tell them apart."""

import contextlib
import dataclasses
from collections.abc import Iterator
from io import BufferedIOBase
from socket import socket

_LONGEST_LINE = 65_536


@dataclasses.dataclass(frozen=True)
class Request:
    """
    One request.

    Attributes:
        line: Method, path and version.
        body: The body that it carried.
        is_last: True if the client expects the connection to end with the answer.

    """

    line: str
    body: bytes
    is_last: bool = False


class Requests:
    """The requests of one connection, one after the other."""

    def __init__(self, connection: socket) -> None:
        self._file: BufferedIOBase = connection.makefile("rb")

    def __iter__(self) -> Iterator[Request]:
        """Read until the connection ends, or sends what is no HTTP."""
        with contextlib.suppress(OSError, ValueError), self._file:
            while (line := self._line()) and line.count(" ") >= 2:
                headers = self._headers()
                is_last = line.endswith("HTTP/1.0") or "close" in headers.get("connection", "")
                yield Request(line, self._body(headers), is_last)

    def _line(self) -> str:
        return self._file.readline(_LONGEST_LINE).decode("latin-1").rstrip("\r\n")

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        while line := self._line():
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip().lower()
        return headers

    def _body(self, headers: dict[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", ""):
            return b"".join(self._chunks())
        return self._file.read(int(headers.get("content-length", "0")))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._line().partition(";")[0], 16):
            yield self._file.read(size)
            self._line()
        while self._line():
            pass
