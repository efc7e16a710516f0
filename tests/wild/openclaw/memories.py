"""The store of the stand-ins here: rows that come back by words in common, as they were said."""

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_COMMON = frozenset(
    (
        *("a", "an", "and", "are", "did", "do", "does", "for", "have", "i", "in", "is", "it", "my"),
        *("of", "on", "that", "the", "to", "was", "what", "where", "which", "who", "work", "works"),
    )
)

#: Answers a call: its verb, its path, and its body or the values of its query.
Answer = Callable[[str, str, dict[str, Any]], Any]


def words(text: str) -> set[str]:
    """The words of a text that tell one from another."""
    return set(re.findall(r"\w+", text.lower())) - _COMMON


class Memories:
    """All that is stored, in rows; safe from any thread."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def add(self, text: str, **scope: Any) -> dict[str, Any] | None:
        """Store a text, once for each scope; None if it is there."""
        row = {"memory": text, **scope}
        with self._lock:
            if any(row.items() <= kept.items() for kept in self._rows):
                return None
            self._rows.append({"id": f"m{next(self._numbers)}", **row})
            return self._rows[-1]

    def search(self, query: str, limit: int, filters: Any = None) -> list[dict[str, Any]]:
        """The rows that fit filters and have words of the query, the best first."""
        asked = words(query)
        found = []
        for row in self.of(filters):
            hits = len(asked & words(row["memory"]))
            if hits:
                found.append({**row, "score": hits / max(1, len(asked))})
        found.sort(key=lambda row: -row["score"])
        return found[:limit]

    def of(self, filters: Any = None) -> list[dict[str, Any]]:
        """The rows that fit filters: keys and values, and lists of them under AND and OR."""
        with self._lock:
            return [row for row in self._rows if _fits(row, filters or {})]

    def remove(self, memory_id: str) -> bool:
        """Forget one row; True if it was there."""
        with self._lock:
            rest = [row for row in self._rows if row["id"] != memory_id]
            was_there = len(rest) < len(self._rows)
            self._rows = rest
        return was_there


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

    def _call(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        told = json.loads(body) if body[:1] in b"{[" and body else {}
        answer = self.server.answer(self.command, self.path, told)
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def __getattr__(self, name: str) -> Any:
        # The server asks for `do_GET` and such.
        if name.startswith("do_"):
            return self._call
        raise AttributeError(name)


class _Server(ThreadingHTTPServer):
    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that runs in the body."""
    server = _Server(answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()
