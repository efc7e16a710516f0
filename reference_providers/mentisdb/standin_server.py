"""The stand-in of a daemon on loopback, and how the kit starts it for this provider."""

import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from .standin import Chains, Thought

#: A daemon takes no longer request.
LONGEST = 2 * 1024 * 1024


class StandIn:
    """
    A daemon on a free port of loopback, from the `with` on.

    Attributes:
        chains: The chains that it keeps.
        url: Its address.
        requests: Method and path of each request that came.

    """

    def __init__(
        self, *, token: str = "", has_ranks: bool = True, tls: ssl.SSLContext | None = None
    ) -> None:
        self.chains = Chains(has_ranks=has_ranks)
        self.requests: list[tuple[str, str]] = []
        self._server = _Server(self, token)
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        host, port = self._server.server_address[:2]
        self.url = f"{'http' if tls is None else 'https'}://{host!s}:{port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def all_thoughts(self) -> list[Thought]:
        """The thoughts of all chains."""
        return [one for key in self.chains.keys() for one in self.chains.thoughts(key)]  # noqa: SIM118


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, standin: StandIn, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.standin = standin
        self.token = token

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is nobody's fault."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 30

    def do_GET(self) -> None:
        """Serve a request."""
        self._serve()

    def do_POST(self) -> None:
        """Serve a request."""
        self._serve()

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        self.server.standin.requests.append((self.command, self.path))
        if length > LONGEST:
            self.close_connection = True
            # A body that nobody reads resets the connection, before the answer was read perhaps.
            while length > 0:
                self.rfile.read(min(length, LONGEST))
                length -= LONGEST
            self._answer(413, {"error": "length limit exceeded"})
            return
        data = self.rfile.read(length)
        if self.server.token and self.headers.get("authorization") != f"Bearer {self.server.token}":
            self._answer(401, {"error": "missing or unknown bearer token"})
            return
        self._answer(*self._answered(data))

    def _answered(self, data: bytes) -> tuple[int, dict[str, Any]]:
        try:
            body = json.loads(data) if data else None
            # Half a surrogate pair is no text to a daemon.
            json.dumps(body, ensure_ascii=False).encode()
        except ValueError as error:
            return 400, {"error": f"no JSON: {type(error).__name__}"}
        return self.server.standin.chains.answer(self.command, self.path, body)

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing: standard error is the kit's."""


@contextlib.contextmanager
def running() -> Iterator[dict[str, Any]]:
    """The setting `service` of this provider."""
    with StandIn() as standin:
        yield {"env": {"MENTISDB_URL": standin.url}}


def count(provider: Any, text: str) -> int:
    """The setting `read_back`: how often a text is stored, summaries of sessions not counted."""
    return int(provider.times_stored(text))
