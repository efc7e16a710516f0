"""
A good provider with a log behind it: hooks put texts into memory, and a thread writes them.

The buffer is bounded, recall sees it too, and it is written at shutdown at the latest. If the
disk does not take it, no more is accepted until it does.
"""

import json
import logging
import os
import re
import threading
import time
from pathlib import Path
from typing import Any

from memproto import errors

logger = logging.getLogger(__name__)

MOST_WAITING = 1000


class Flushed:
    """Writes what waits five times a second."""

    name = "flushed"
    pause_s = 0.2

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: list[dict[str, Any]] = []
        self._ends = threading.Event()
        self._flusher: threading.Thread | None = None
        self._fault: OSError | None = None

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        if self._flusher is not None:
            self.shutdown()
            self._ends = threading.Event()
        self._path = Path(config["home"], "flushed.log")
        self._limit = config["limits"].get("recall_chars")
        self._hears = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            self._path.touch()
        except OSError as error:
            raise errors.Misconfigured(f"flushed.log cannot be made: {error}") from error
        self._flusher = threading.Thread(target=self._flush_on, name="flushed", daemon=True)
        self._flusher.start()

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "mirrors": {target: ["add", "remove"] for target in ("memory", "user")},
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        asked = set(re.findall(r"\w{4,}", user_message.casefold()))
        try:
            texts = [entry["text"] for entry in self._entries()]
        except OSError:
            return None
        hits = [(len(asked & set(re.findall(r"\w{4,}", t.casefold()))), t) for t in texts]
        best = sorted((hit for hit in hits if hit[0]), key=lambda hit: hit[0], reverse=True)
        return "\n".join(text for _, text in best[:10])[: self._limit] or None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        own = re.sub(r"<memory-context>\s*\[System[^\0]*?</memory-context>", "", user_message)
        self._accept({"kind": "turn", "text": f"{own}\n{assistant_response}"})

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "add":
            self._accept({"kind": target, "text": content or ""})
        elif action == "remove":
            mine = [e for e in self._entries() if e["kind"] == target]
            hits = [e for e in mine if e["text"] == old_text]
            hits = hits or [e for e in mine if old_text and old_text in e["text"]]
            if len({e["text"] for e in hits}) != 1:
                raise errors.WriteRefused("old_text fits no entry, or several")
            self._accept({"gone": [e["id"] for e in hits]})

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Compression takes nothing from the log."""

    def shutdown(self) -> None:
        self._ends.set()
        if self._flusher is not None:
            self._flusher.join(5)
            end = time.monotonic() + 5
            while not self._flush() and time.monotonic() < end:
                time.sleep(0.2)

    def _accept(self, entry: dict[str, Any]) -> None:
        if not self._hears:
            return
        with self._lock:
            if self._fault is not None:
                raise errors.Unavailable(f"the log takes nothing: {self._fault}")
            if len(self._waiting) >= MOST_WAITING:
                raise errors.Unavailable("too much waits for the log", retry_after_s=1)
            self._waiting.append({"id": os.urandom(8).hex(), **entry})

    def _entries(self) -> list[dict[str, Any]]:
        with self._lock:
            waiting = list(self._waiting)
        kept: dict[str, dict[str, Any]] = {}
        lines = self._path.read_bytes().splitlines()
        for entry in [*filter(None, map(_parsed, lines)), *waiting]:
            for gone in entry.get("gone", ()):
                kept.pop(gone, None)
            if "text" in entry:
                kept[entry["id"]] = entry
        return list(kept.values())

    def _flush_on(self) -> None:
        while not self._ends.wait(self.pause_s):
            self._flush()

    def _flush(self) -> bool:
        """Write what waits; True if nothing is left."""
        with self._writing:
            with self._lock:
                batch = list(self._waiting)
            try:
                if batch or self._fault is not None:
                    self._write(batch)
                self._fault = None
            except OSError as error:
                logger.warning("flushed.log takes nothing: %s", error)
                self._fault = error
                return False
            with self._lock:
                del self._waiting[: len(batch)]
                return not self._waiting

    def _write(self, batch: list[dict[str, Any]]) -> None:
        data = b"\n" + b"".join(json.dumps(e).encode("ascii") + b"\n" for e in batch)
        with self._path.open("ab", buffering=0) as file:
            end = file.tell()
            written = file.write(data)
            if written != len(data):
                file.truncate(end)
                raise OSError("the disk took a part")
            os.fsync(file.fileno())


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        return json.loads(line)
    except ValueError:
        return None
