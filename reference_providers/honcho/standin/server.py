"""The stand-in as a server on loopback: what arrives, what fails, and what waits until it thaws."""

import contextlib
import dataclasses
import functools
import http.server
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from . import conclusions, failures, limits, texts, things
from .failures import Exchange, Mode
from .limits import Refused
from .store import Store
from .table import Answer, ApiRequest, Load, Options, find

#: Seconds between the server's looks whether it is to end, and those a test waits for what is due.
_POLL_S, _DUE_S = 0.02, 10.0

#: Beginnings of the names of routes that store nothing of their body.
_ASKING = ("search", "query", "representation", "chat")

#: Importing them puts their routes into the table.
_ROUTED = (conclusions, texts, things)


@dataclasses.dataclass(frozen=True)
class Arrived:
    """A request as it came; `route` is the name of its function, "" where there is none."""

    route: str
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    key: str


class StandIn:
    """
    A server that answers as Honcho's does, from memory.

    Attributes:
        store: Its content; its methods show that to tests.
        requests: The requests that arrived, in order; also those that were not answered.
        load: The causes of its slowness.

    Guarantees:
        Each request is answered on a thread of its own connection.
        While it is frozen it accepts and reads, and does nothing; what it read it does when it
        thaws, whether or not the client still waits.

    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.store = Store()
        self.load = Load()
        self.requests: list[Arrived] = []
        self._failures: dict[str, tuple[Mode, list[None] | None]] = {}
        self._changed = threading.Condition()
        self._running = threading.Event()
        self._running.set()
        self._server: _Server | None = None
        self._port = 0
        self._done = 0

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"http://127.0.0.1:{self._port}"

    def listen(self) -> None:
        """Begin to accept connections; after `refuse` at the same address as before."""
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.owner = self
        self._port = self._server.server_port
        run = self._server.serve_forever
        threading.Thread(target=run, args=(_POLL_S,), name="honcho-standin", daemon=True).start()

    def refuse(self) -> None:
        """End all connections and refuse new ones, until `listen`."""
        server, self._server = self._server, None
        if server is not None:
            server.end()

    def fail(self, route: str, mode: str | int | Mode, *, times: int | None = None) -> None:
        """
        Have a route fail until `heal`, or this many times.

        Args:
            route: Name of the function that answers it, such as "add_messages"; "*" for all.
            mode: A name of `failures.MODES`, a status, or a function of the exchange.
            times: So many requests fail; None: all.

        """
        left = None if times is None else [None] * times
        with self._changed:
            self._failures[route] = (failures.mode(mode), left)

    def heal(self) -> None:
        """Have no route fail any more."""
        with self._changed:
            self._failures.clear()

    def freeze(self) -> None:
        """Accept and read requests, and do nothing, until `thaw`."""
        self._running.clear()

    def thaw(self) -> None:
        """Do all that arrived meanwhile, and go on."""
        self._running.set()

    def embed_in(self, seconds: float) -> None:
        """Have each embedding take so long: of a conclusion, and of what is searched by."""
        self.load.embedding_s = seconds

    def lock(self, table: str) -> None:
        """Let nobody write `messages`, or `conclusions`, until `unlock`; they are read as ever."""
        with self.load.changed:
            self.load.locked.add(table)

    def unlock(self, table: str) -> None:
        """Do what waits for a table, and go on."""
        with self.load.changed:
            self.load.locked.discard(table)
            self.load.changed.notify_all()

    def derive(self) -> None:
        """Do what the real server does in the background, by and by."""
        with self.store.lock:
            for workspace in self.store.workspaces.values():
                things.derive(workspace)

    def arrived(self, route: str) -> list[Arrived]:
        """The requests of one route."""
        with self._changed:
            return [each for each in self.requests if route in ("*", each.route)]

    def wait(self, is_due: Callable[[], bool], timeout_s: float = _DUE_S) -> bool:
        """Wait until something holds, which is looked at after each request and answer."""
        with self._changed:
            return self._changed.wait_for(is_due, timeout_s)

    def wait_idle(self, timeout_s: float = _DUE_S) -> bool:
        """Wait until all that arrived was done."""
        return self.wait(lambda: self._done == len(self.requests), timeout_s)

    # -- for the handler --------------------------------------------------------------------------

    def note(self, arrived: Arrived) -> Mode | None:
        """Keep a request; gives how it is to fail."""
        with self._changed:
            self.requests.append(arrived)
            self._changed.notify_all()
            for key in (arrived.route, "*"):
                mode, left = self._failures.get(key, (None, None))
                if mode and (left is None or left):
                    del (left or [None])[-1:]
                    return mode
        return None

    def answer(self, arrived: Arrived) -> bytes:
        """Do what a request asks for; gives the answer as it goes over the wire."""
        self._running.wait()
        with self.store.lock:
            try:
                made = self._answer(arrived)
                return _stream(made) if made.stream else _plain(made)
            except Refused as refused:
                return _plain(Answer(refused.status, {"detail": refused.detail}))

    def finished(self) -> None:
        """Count a request as done."""
        with self._changed:
            self._done += 1
            self._changed.notify_all()

    def _answer(self, arrived: Arrived) -> Answer:
        route, params = find(arrived.method, arrived.path)
        call = ApiRequest(self.store, self.options, self.load, params, arrived.query, arrived.body)
        self._authorize(arrived, call)
        if limits.has_half(arrived.body) and not route.name.startswith(_ASKING):
            raise limits.broken()
        return route.answer(call)

    def _authorize(self, arrived: Arrived, call: ApiRequest) -> None:
        keys = self.options.keys
        if keys is None:
            return
        if not arrived.key:
            raise Refused(401, "No access token provided")
        if arrived.key not in keys:
            raise Refused(401, "Invalid JWT")
        named = call.body.get("id") if isinstance(call.body, dict) else None
        if keys[arrived.key] not in (None, call.params.get("workspace_id", named)):
            raise Refused(401, "Unauthorized access to resource")

    def close(self) -> None:
        """End, and let go of whoever waits."""
        with self.load.changed:
            self.load.has_ended = True
            self.load.changed.notify_all()
        self.thaw()
        self.refuse()


def _plain(made: Answer) -> bytes:
    if made.status == 204:
        return b"HTTP/1.1 204 Stand-in\r\n\r\n"
    return failures.message(made.status, json.dumps(made.body).encode())


def _stream(made: Answer) -> bytes:
    events = "".join(f"data: {json.dumps(part)}\n\n" for part in made.body)
    kind = "text/event-stream; charset=utf-8"
    return failures.message(made.status, events.encode(), Content_Type=kind)


class _Server(http.server.ThreadingHTTPServer):
    """Keeps its connections, so that it can end them."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    owner: StandIn

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.stopped = threading.Event()
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def end(self) -> None:
        self.stopped.set()
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(http.server.BaseHTTPRequestHandler):
    """Reads one request after another from a connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        arrived = self._read()
        owner = self.server.owner
        mode = owner.note(arrived)
        serve = functools.partial(owner.answer, arrived)
        stopped = self.server.stopped
        exchange = Exchange(self.connection, self.wfile, arrived.body, stopped, serve)
        try:
            with contextlib.suppress(OSError):
                (mode or _succeed)(exchange)
        finally:
            self.close_connection = mode is not None
            owner.finished()

    def _read(self) -> Arrived:
        parts = urlsplit(self.path)
        path, query = unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True))
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        body = _body(data, self.headers.get("Content-Type", ""))
        return Arrived(_route(self.command, path), self.command, path, query, body, key)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the names of the base class.

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class.
        pass


def _succeed(exchange: Exchange) -> None:
    exchange.send(exchange.serve())


def _route(method: str, path: str) -> str:
    with contextlib.suppress(Refused):
        return find(method, path)[0].name
    return ""


def _body(data: bytes, kind: str) -> Any:
    if kind.startswith("multipart/form-data"):
        return texts.form(data, kind)
    with contextlib.suppress(ValueError):
        return json.loads(data)
    return None


@contextlib.contextmanager
def serving(
    *,
    has_model: bool = True,
    has_embeddings: bool = True,
    derives: bool = True,
    keys: Mapping[str, str | None] | None = None,
    embeds_messages: bool | None = None,
    reaches_embeddings: bool = True,
    patience: float = 0.0,
) -> Iterator[StandIn]:
    """Run a stand-in in this process, on a free port of loopback; the options are `Options`."""
    options = Options(
        has_model, has_embeddings, derives, keys, embeds_messages, reaches_embeddings, patience
    )
    server = StandIn(options)
    server.listen()
    try:
        yield server
    finally:
        server.close()
