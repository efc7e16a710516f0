"""
A good provider that starts a server of its own on a loopback port, one for each session.

The server is this module run as a program. It ends when its standard input is closed, and so when
the process that started it has gone, however that happened.
"""

import json
import os
import re
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from memproto import MemoryProvider
from memproto.errors import Misconfigured, Unavailable, WriteRefused

BLOCK = re.compile(r"<memory-context>\s*\[System note:.*?</memory-context>", re.DOTALL)


class Serving(MemoryProvider):
    """Hands every text to its server, and asks it."""

    recall_s = 3.0
    write_s = 8.0

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None
        self._address = ("127.0.0.1", 0)
        self._ending = threading.Lock()

    @property
    def name(self) -> str:
        return "serving"

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._room = config.get("limits", {}).get("recall_chars")
        contexts = config.get("protocol", {}).get("contexts", ["primary"])
        self._keeps = config.get("agent_context", "primary") in contexts
        path = Path(config["home"], "serving.jsonl")
        try:
            path.touch()
        except OSError as error:
            raise Misconfigured(f"{path.name} cannot be made in the home: {error}") from error
        self.shutdown()  # of an earlier start
        self._server = subprocess.Popen(
            [sys.executable, "-I", __file__, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._address = ("127.0.0.1", int(self._server.stdout.readline()))

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "mirrors": {target: ["add", "replace", "remove"] for target in ("memory", "user")},
            "spec_version": "1.0",
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            found = self._ask({"do": "find", "query": user_message}, self.recall_s)["found"]
        except Unavailable:
            return None
        text = "\n".join(found)
        return text[: self._room] or None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        said = BLOCK.sub("", user_message)
        self._write({"kind": "turn", "text": f"{said}\n{assistant_response}"})

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "add":
            self._write({"kind": target, "text": content or ""})
        else:
            text = content if action == "replace" else None
            self._write({"kind": target, "text": text, "old": old_text or ""})

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Every turn is with the server already."""

    def shutdown(self) -> None:
        with self._ending:
            server, self._server = self._server, None
        if server is not None:
            server.stdin.close()
            server.stdout.close()
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()

    def _write(self, entry: dict[str, Any]) -> None:
        if self._keeps:
            answer = self._ask({"do": "change", **entry}, self.write_s)
            if "refused" in answer:
                raise WriteRefused(answer["refused"])

    def _ask(self, asked: dict[str, Any], within_s: float) -> dict[str, Any]:
        end = time.monotonic() + within_s
        try:
            with socket.create_connection(self._address, within_s) as connection:
                connection.sendall(json.dumps(asked).encode("ascii") + b"\n")
                data = b""
                while not data.endswith(b"\n"):
                    connection.settimeout(max(end - time.monotonic(), 0.001))
                    piece = connection.recv(65536)
                    if not piece:
                        raise Unavailable("the server ended the connection")
                    data += piece
        except OSError as error:
            raise Unavailable(f"the server does not answer: {error}", retry_after_s=5) from error
        answer = json.loads(data)
        if "fault" in answer:
            raise Unavailable(answer["fault"], retry_after_s=5)
        return answer


# -- the server ------------------------------------------------------------------------------------


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        try:
            with self.server.lock:
                answer = find(asked) if asked["do"] == "find" else change(asked)
        except OSError as error:
            answer = {"fault": str(error)}
        self.wfile.write(json.dumps(answer).encode("ascii") + b"\n")


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64
    lock = threading.Lock()


def entries() -> list[dict[str, Any]]:
    """The entries that stand after all changes; a line that was cut short is passed over."""
    kept: list[dict[str, Any]] = []
    for line in Path(sys.argv[1]).read_bytes().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("old"):
            gone = fitting(kept, entry)
            kept = [other for other in kept if other not in gone]
        if entry["text"] is not None:
            kept.append(entry)
    return kept


def fitting(kept: list[dict[str, Any]], entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of the same kind that hold the old text, or are it."""
    held = [e for e in kept if e["kind"] == entry["kind"] and entry["old"] in e["text"]]
    return [e for e in held if e["text"] == entry["old"]] or held


def find(asked: dict[str, Any]) -> dict[str, Any]:
    wanted = set(re.findall(r"\w{4,}", asked["query"].casefold()))
    scored = [
        (len(wanted & set(re.findall(r"\w{4,}", e["text"].casefold()))), e["text"])
        for e in entries()
    ]
    best = sorted((s for s in scored if s[0]), key=lambda s: s[0], reverse=True)
    return {"found": [text for _, text in best[:8]]}


def change(asked: dict[str, Any]) -> dict[str, Any]:
    if "old" in asked:
        texts = {e["text"] for e in fitting(entries(), asked)} if asked["old"] else set()
        if len(texts) != 1:
            return {"refused": f"the old text fits {len(texts)} entries"}
    line = json.dumps({k: asked[k] for k in ("kind", "text", "old") if k in asked})
    descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
    try:
        data = b"\n" + line.encode("ascii") + b"\n"
        if os.write(descriptor, data) != len(data):
            raise OSError("the disk took a part of the entry")
    finally:
        os.close(descriptor)
    return {}


def main() -> None:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
