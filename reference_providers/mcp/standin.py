"""
A small MCP memory server of the standard library, for tests: it stores texts and finds their words.

`python standin.py --http` listens on loopback and prints its port; `python standin.py FILE` speaks
over its standard streams and keeps its texts in FILE. Each text belongs to an owner, and one with
an id that is stored already is not stored again.
"""

import argparse
import contextlib
import json
import math
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

#: The revision of MCP that is spoken where the client asks for one that is not known here.
_REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

_TEXT = {"type": "string"}
_TOOLS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "search_memory": (
        "Find stored texts by their words.",
        {"query": _TEXT, "limit": {"type": "integer"}, "owner": _TEXT},
        ["query"],
    ),
    "add_memory": (
        "Store a text.",
        {"content": _TEXT, "id": _TEXT, "source": _TEXT, "owner": _TEXT},
        ["content"],
    ),
    "count_memories": ("Say how many texts there are.", {}, []),
}

#: From here on scripts are written without spaces between their words.
_UNSPACED = "\u2e80"


class Memory:
    """The texts, in the order in which they came; in a file where one is given."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._texts: list[dict[str, Any]] = []
        self._ids: set[tuple[str, str]] = set()
        if path is not None and path.exists():
            for line in path.read_text("utf-8").splitlines():
                self._take(json.loads(line))

    def _take(self, text: dict[str, Any]) -> None:
        self._texts.append(text)
        self._ids.add((text["owner"], text["id"]))

    def add(self, given: dict[str, Any]) -> dict[str, Any]:
        """Store a text, once for its id."""
        with self._lock:
            fresh = {"id": f"n{len(self._texts)}", "owner": "", **given}
            if (fresh["owner"], fresh["id"]) not in self._ids:
                self._take(fresh)
                if self._path is not None:
                    with self._path.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(fresh) + "\n")
            return {"id": fresh["id"]}

    def search(self, given: dict[str, Any]) -> dict[str, Any]:
        """The texts of an owner that have words of the query, the rarest words first."""
        with self._lock:
            mine = [text for text in self._texts if text["owner"] == given.get("owner", "")]
        held = [_words(text["content"]) for text in mine]
        often = Counter(word for words in held for word in words)
        asked = _words(given["query"])
        weights = {word: math.log(1 + len(mine) / often[word]) for word in asked if word in often}
        scores = [sum(weights.get(word, 0.0) for word in words) for words in held]
        best = sorted(range(len(mine)), key=lambda place: (-scores[place], -place))
        hits = [mine[place] for place in best if scores[place]][: given.get("limit", 10)]
        return {"results": hits}

    def count(self, given: dict[str, Any]) -> dict[str, Any]:
        """Number of texts."""
        with self._lock:
            return {"count": len(self._texts)}


def _words(text: str) -> set[str]:
    found: set[str] = set()
    for word in re.findall(r"\w+", text.casefold()):
        if max(word) >= _UNSPACED:
            found.update(word[place : place + 2] for place in range(max(len(word) - 1, 1)))
        found.add(word)
    return found


# -- the protocol ----------------------------------------------------------------------------------


def answer(memory: Memory, request: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to a message; None for one that has none."""
    if "id" not in request or "method" not in request:
        return None
    answered = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        return {
            **answered,
            "result": _result(memory, request["method"], request.get("params") or {}),
        }
    except KeyError as error:
        return {**answered, "error": {"code": -32601, "message": f"there is no {error}"}}


def _result(memory: Memory, method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in _REVISIONS else _REVISIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "memproto-standin", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [_listed(name) for name in _TOOLS]}
    if method == "tools/call":
        return _called(memory, params["name"], params.get("arguments") or {})
    raise KeyError(method)


def _listed(name: str) -> dict[str, Any]:
    told, properties, required = _TOOLS[name]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": told, "inputSchema": schema}


def _called(memory: Memory, name: str, given: dict[str, Any]) -> dict[str, Any]:
    serving = {
        "search_memory": memory.search,
        "add_memory": memory.add,
        "count_memories": memory.count,
    }
    missing = [key for key in _TOOLS[name][2] if not isinstance(given.get(key), str)]
    if missing:
        told = {"type": "text", "text": f"{name} needs {missing[0]}, a text"}
        return {"content": [told], "isError": True}
    found = serving[name](given)
    block = {"type": "text", "text": json.dumps(found)}
    return {"content": [block], "structuredContent": found, "isError": False}


def over_streams(memory: Memory) -> None:
    """Serve lines of JSON until the input ends."""
    for line in sys.stdin:
        if (told := answer(memory, json.loads(line))) is not None:
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    memory: Memory

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            told = answer(self.memory, json.loads(body))
        except ValueError:
            self._send(400, b"")
        else:
            self._send(202 if told is None else 200, b"" if told is None else _sent(told))

    def do_GET(self) -> None:
        self._send(405, b"")

    do_DELETE = do_GET  # noqa: N815 - the name that the library looks for

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


def _sent(told: dict[str, Any]) -> bytes:
    return json.dumps(told).encode("utf-8")


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def over_http(memory: Memory) -> None:
    """Listen on loopback, print the port, and serve until the process ends."""
    handler = type("Handler", (_Handler,), {"memory": memory})
    with _Server(("127.0.0.1", 0), handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


#: Settings that a provider needs for this server, beside its address.
SETTINGS: dict[str, Any] = {
    "search_tool": "search_memory",
    "search_arguments": {"query": "{query}", "limit": "{limit}", "owner": "{owner}"},
    "store_tool": "add_memory",
    "store_arguments": {
        "content": "{text}",
        "id": "{id}",
        "source": "{source}",
        "owner": "{owner}",
    },
    "found": "results.content",
    "look_up": "{id}",
    "expose": ["count_memories"],
}


# -- for the kit -----------------------------------------------------------------------------------


@contextlib.contextmanager
def serving() -> Iterator[dict[str, Any]]:
    """Start one over HTTP; yields the configuration that leads to it. The kit's `service`."""
    command = [sys.executable, "-I", __file__, "--http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        try:
            yield {"config": {"mcp": {"url": f"http://127.0.0.1:{port}/mcp", **SETTINGS}}}
        finally:
            server.terminate()


def times_stored(provider: Any, text: str) -> int:
    """Number of copies of a text. The kit's `read_back`."""
    found = json.loads(provider.handle_tool_call("mcp_search", {"query": text, "limit": 50}))
    if not found["success"]:
        raise RuntimeError(f"nothing could be counted: {found['error']}")
    return sum(text in hit for hit in found["hits"])


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path, help="where texts are kept")
    parser.add_argument("--http", action="store_true", help="listen on loopback")
    asked = parser.parse_args()
    memory = Memory(asked.file)
    if asked.http:
        over_http(memory)
    else:
        over_streams(memory)


if __name__ == "__main__":
    main()
