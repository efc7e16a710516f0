"""A good provider that lives on asyncio: each session has an event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memproto import MemoryProvider, errors

if TYPE_CHECKING:
    from collections.abc import Coroutine


class Looping(MemoryProvider):
    """Every hook hands a coroutine to the loop and waits for it, for a while."""

    name = "looping"  # type: ignore[assignment]

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ends = threading.Lock()

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._home = Path(config["home"], "looping")
        self._limit = config["limits"].get("recall_chars")
        self._hears = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            self._home.mkdir(exist_ok=True)
        except OSError as error:
            raise errors.Misconfigured(f"the home takes no folder: {error}") from error
        self.shutdown()  # of an earlier start
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(10)

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "mirrors": {"memory": ["add", "replace", "remove"], "user": ["add"]},
            "extensions": ["turns", "prewarm"],
        }

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        return

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        return

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            return self._await(self._found(user_message), 4)
        except (errors.Unavailable, OSError, ValueError):
            return None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        own = re.split(r"<memory-context>\n\[System note: The following", user_message)[0]
        self._await(self._added("turn", f"{own}\n{assistant_response}"), 12)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "add":
            self._await(self._added(target, content or ""), 12)
        elif target == "memory" and action in ("replace", "remove"):
            new = content if action == "replace" else None
            self._await(self._changed(target, old_text, new), 12)

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        return

    def shutdown(self) -> None:
        with self._ends:
            loop, self._loop = self._loop, None
            if loop is not None:
                loop.call_soon_threadsafe(loop.stop)
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join(10)

    # -- between the threads --

    def _run(self, ready: threading.Event) -> None:
        loop = asyncio.new_event_loop()
        self._lock = asyncio.Lock()
        self._loop = loop
        loop.call_soon(ready.set)
        try:
            loop.run_forever()
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            loop.close()

    def _await(self, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        loop = self._loop
        if loop is None:
            work.close()
            raise errors.Unavailable("the session has ended")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError as error:
            future.cancel()
            raise errors.Unavailable("it takes too long", retry_after_s=5) from error
        except OSError as error:
            raise errors.Unavailable(f"the folder cannot be used: {error}") from error

    # -- on the loop --

    async def _found(self, query: str) -> str | None:
        asked = set(re.findall(r"\w{4,}", query.casefold()))
        hits = []
        for path in self._texts():
            await asyncio.sleep(0)
            try:
                entry = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            shared = len(asked & set(re.findall(r"\w{4,}", entry["text"].casefold())))
            if shared:
                hits.append((shared, path.name, entry["text"]))
        lines = [text for _, _, text in sorted(hits, reverse=True)[:10]]
        return "\n".join(lines)[: self._limit] or None

    async def _added(self, kind: str, text: str) -> None:
        if self._hears:
            async with self._lock:
                self._put(kind, text)

    async def _changed(self, kind: str, old: str | None, new: str | None) -> None:
        if not self._hears:
            return
        async with self._lock:
            mine = {}
            for path in self._texts():
                entry = json.loads(path.read_bytes())
                if entry["kind"] == kind:
                    mine[path] = entry["text"]
            hits = [p for p, t in mine.items() if t == old]
            hits = hits or [p for p, t in mine.items() if old and old in t]
            if len({mine[path] for path in hits}) != 1:
                raise errors.WriteRefused("old_text is to be in one entry")
            if new is not None:
                self._put(kind, new)
            for path in hits:
                path.unlink(missing_ok=True)

    def _texts(self) -> list[Path]:
        return sorted(self._home.glob("*.json"))

    def _put(self, kind: str, text: str) -> None:
        path = self._home / f"{len(self._texts()):08}-{os.urandom(6).hex()}.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps({"kind": kind, "text": text}), "ascii")
        part.replace(path)
