"""
A stand-in of Mem0's platform: what it is told comes back by words in common, as it was said.

The real one lets a model extract facts. The paths are those that `mem0ai` 3.0.7 asks for.
"""

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_COMMON = frozenset(
    (
        *("a", "an", "and", "are", "did", "do", "does", "for", "have", "i", "in", "is", "it", "my"),
        *("of", "on", "that", "the", "to", "was", "what", "where", "which", "who", "work", "works"),
    )
)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - _COMMON


class Memories:
    """All that is stored, in rows; safe from any thread."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def add(self, told: dict[str, Any]) -> list[dict[str, Any]]:
        """Store each text that the user said, once for each user and run."""
        scope = {key: told.get(key) for key in ("user_id", "run_id", "agent_id")}
        said = [item for item in told.get("messages", []) if item.get("role") == "user"]
        added = []
        with self._lock:
            for message in said:
                row = {"memory": str(message.get("content")), **scope}
                if not any(row.items() <= kept.items() for kept in self._rows):
                    self._rows.append({"id": f"m{next(self._numbers)}", **row})
                    added.append(self._rows[-1])
        return added

    def search(self, told: dict[str, Any]) -> list[dict[str, Any]]:
        """The rows of a scope that have words of the query, the best first."""
        asked = _words(str(told.get("query", "")))
        found = []
        for row in self.of(told.get("filters")):
            hits = len(asked & _words(row["memory"]))
            if hits:
                found.append({**row, "score": hits / max(1, len(asked))})
        found.sort(key=lambda row: -row["score"])
        return found[: int(told.get("top_k") or 10)]

    def of(self, filters: Any) -> list[dict[str, Any]]:
        """The rows that fit filters: keys and values, and lists of them under AND and OR."""
        with self._lock:
            return [row for row in self._rows if _fits(row, filters or {})]

    def remove(self, memory_id: str) -> None:
        """Forget one row."""
        with self._lock:
            self._rows = [row for row in self._rows if row["id"] != memory_id]


def _fits(row: dict[str, Any], filters: dict[str, Any]) -> bool:
    for key, wanted in filters.items():
        if key == "AND":
            if not all(_fits(row, item) for item in wanted):
                return False
        elif key == "OR":
            if not any(_fits(row, item) for item in wanted):
                return False
        elif key in row and wanted != "*" and row[key] != wanted:
            return False
    return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, *told: Any) -> None:
        """Say nothing."""

    def _answer(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _told(self) -> dict[str, Any]:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        found = json.loads(body or b"{}")
        return found if isinstance(found, dict) else {}

    def do_GET(self) -> None:
        self._told()
        user = {"org_id": "o", "project_id": "p", "user_email": "ida@example.com"}
        self._answer({"status": "ok", **user, "results": []})

    def do_POST(self) -> None:
        told, memories = self._told(), self.server.memories
        if self.path.endswith("/memories/add/"):
            self._answer({"results": [{**row, "event": "ADD"} for row in memories.add(told)]})
        elif self.path.endswith("/search/"):
            self._answer({"results": memories.search(told)})
        else:
            self._answer({"results": memories.of(told.get("filters"))})

    def do_DELETE(self) -> None:
        self._told()
        self.server.memories.remove(self.path.strip("/").rpartition("/")[2])
        self._answer({"message": "deleted"})

    def do_PUT(self) -> None:
        self._answer(self._told())


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.memories = Memories()


@contextlib.contextmanager
def serving() -> Iterator[int]:
    """The port of a server that runs in the body."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


@contextlib.contextmanager
def service() -> Iterator[dict[str, Any]]:
    """The setting `service`: the plugin's settings name the server, and a user for each home."""
    with serving() as port:
        settings = {"apiKey": "m0-key", "baseUrl": f"http://127.0.0.1:{port}", "userId": "{home}"}
        yield {"config": {"plugin": settings}, "env": {"MEM0_TELEMETRY": "false"}}
