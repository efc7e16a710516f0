"""A small store behind HTTP: one list of entries for each space, in memory."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Entry = dict[str, str]


class Store:
    """
    The entries of every space.

    A change has an id; one that comes again with the id of an earlier one changes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spaces: dict[str, list[Entry]] = {}
        self._done: set[str] = set()

    def read(self, space: str) -> list[Entry]:
        """All entries of a space."""
        with self._lock:
            return list(self._spaces.get(space, []))

    def change(self, space: str, change: dict[str, Any]) -> None:
        """Add an entry, and remove the newest of its target that holds `old_text`."""
        with self._lock:
            if change["id"] in self._done:
                return
            self._done.add(change["id"])
            kept, old = self._spaces.get(space, []), change["old_text"]
            if old:
                held = [e for e in kept if e["kind"] == change["kind"] and old in e["text"]]
                meant = [e for e in held if e["text"] == old] or held[-1:]
                kept = [entry for entry in kept if entry not in meant]
            if change["text"] is not None:
                kept = [*kept, {"kind": change["kind"], "text": change["text"]}]
            self._spaces[space] = kept


class _Handler(BaseHTTPRequestHandler):
    store = Store()
    timeout = 60.0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        entries: list[Entry] = []
        if self.path == "/changes":
            self.store.change(asked["space"], asked)
        else:
            entries = self.store.read(asked["space"])
        body = json.dumps({"entries": entries}).encode("ascii")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextlib.contextmanager
def running() -> Iterator[dict[str, Any]]:
    """The server, for the setting `service`."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"config": {"remote_url": f"http://127.0.0.1:{server.server_port}"}}
        server.shutdown()
