"""A stand-in of a model: it answers each prompt with one sentence, and keeps what it was sent."""

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: The answer to everything.
ANSWER = "Noted."

_HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "kit"}


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def log_message(self, *told: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append(json.loads(body))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        said = {"delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None}
        for choice in (said, {"delta": {}, "finish_reason": "stop"}):
            self._event(json.dumps({**_HEAD, "choices": [{"index": 0, **choice}]}))
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self._event(json.dumps({**_HEAD, "choices": [], "usage": usage}))
        self._event("[DONE]")

    def _event(self, text: str) -> None:
        self.wfile.write(f"data: {text}\n\n".encode())


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []


@contextlib.contextmanager
def serving() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a model behind OpenAI's API of completions, and the requests that it got."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", server.requests
    server.shutdown()
    server.server_close()
    thread.join()
