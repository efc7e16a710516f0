"""
A good provider with coroutines for hooks, and an index that is brought up to date once a second.

Accepted texts lie in `inbox`; whoever asks a second or more after the last refresh moves them
into the index. So a text is found a moment later, as in a search engine.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, Unavailable, WriteRefused

REFRESH_S = 1.0


class Refreshed:
    name = "refreshed"

    def is_available(self) -> bool:
        return True

    async def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        home = Path(config["home"])
        self._inbox, self._index, self._lock = home / "inbox", home / "index", home / "lock"
        self._limit = config["limits"].get("recall_chars")
        self._hears = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        try:
            for path in (self._inbox, self._index, self._lock):
                # An index that is there keeps its time: to open it is no refresh.
                path.open("ab").close()
        except OSError as error:
            raise Misconfigured(f"the home takes no file: {error}") from error

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "consistency": {"eventual": {"freshness_s": 2}},
            "mirrors": {"memory": ["add", "remove"], "user": ["add", "remove"]},
        }

    async def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            with contextlib.suppress(OSError):
                await self._refresh(2)
            entries = self._entries(self._index.read_bytes())
        except OSError:
            return None
        asked = set(re.findall(r"\w{4,}", user_message.casefold()))
        scored = [
            (len(asked & set(re.findall(r"\w{4,}", e["text"].casefold()))), e["text"])
            for e in entries.values()
        ]
        best = [text for n, text in sorted(scored, key=lambda s: -s[0]) if n][:8]
        return "\n".join(best)[: self._limit] or None

    async def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        said = user_message.split("<memory-context>\n[System note:", maxsplit=1)[0]
        await self._accept({"kind": "turn", "text": f"{said}\n{assistant_response}"})

    async def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "add":
            await self._accept({"kind": target, "text": content})
        elif action == "remove":
            await self._accept({"kind": target, "without": old_text})

    async def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        await asyncio.sleep(0)

    async def shutdown(self) -> None:
        await asyncio.sleep(0)

    async def _accept(self, entry: dict[str, Any]) -> None:
        if not self._hears:
            return
        try:
            file = await self._locked(8)
        except OSError as error:
            raise Unavailable(f"the inbox is locked: {error}", retry_after_s=2) from error
        with file:
            try:
                if "without" in entry:
                    entry = {"gone": self._named(entry["kind"], entry["without"])}
                self._append(self._inbox, {"id": os.urandom(8).hex(), **entry})
            except OSError as error:
                raise Unavailable(f"the inbox takes nothing: {error}") from error

    def _named(self, kind: str, old: str | None) -> list[str]:
        both = self._entries(self._index.read_bytes() + b"\n" + self._inbox.read_bytes())
        mine = {key: e["text"] for key, e in both.items() if e["kind"] == kind}
        hits = [k for k, text in mine.items() if text == old]
        hits = hits or [k for k, text in mine.items() if old and old in text]
        if len({mine[key] for key in hits}) != 1:
            raise WriteRefused("the old text names no entry, or several")
        return hits

    async def _refresh(self, seconds: float) -> None:
        os.utime(self._lock)  # the clock of the file system, by which the index has its time
        if abs(self._lock.stat().st_mtime - self._index.stat().st_mtime) < REFRESH_S:
            return
        with await self._locked(seconds):
            arrived = self._inbox.read_bytes()
            if arrived.strip():
                part = self._index.with_name("index.part")
                part.write_bytes(self._index.read_bytes() + b"\n" + arrived)
                part.replace(self._index)
                self._inbox.write_bytes(b"")

    async def _locked(self, seconds: float):
        end = time.monotonic() + seconds
        file = self._lock.open("rb")
        try:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return file
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise
                    await asyncio.sleep(0.02)
        except BaseException:
            file.close()
            raise

    @staticmethod
    def _append(path: Path, entry: dict[str, Any]) -> None:
        with path.open("ab", buffering=0) as file:
            data = b"\n" + json.dumps(entry).encode("ascii") + b"\n"
            if file.write(data) != len(data):
                raise OSError("no room for the entry")

    @staticmethod
    def _entries(data: bytes) -> dict[str, dict[str, Any]]:
        entries: dict[str, dict[str, Any]] = {}
        for line in data.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            for gone in entry.get("gone", ()):
                entries.pop(gone, None)
            if "text" in entry:
                entries[entry["id"]] = entry  # an entry that is in both files counts once
        return entries
