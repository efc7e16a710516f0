"""
A good provider of coroutines that shows in a session what was known when it began.

A text becomes visible to sessions that begin 0.1 s later, as on a replica.
"""

import asyncio
import json
import os
import time
from pathlib import Path

from memproto.errors import Misconfigured, Unavailable

LAG_S = 0.1


class Awaited:
    name = "awaited"

    def is_available(self):
        return True

    async def initialize(self, session_key, config):
        self._file = Path(config["home"]) / "awaited.jsonl"
        self._room = config["limits"].get("recall_chars", 200_000)
        self._recording = config.get("agent_context", "primary") in config["protocol"]["contexts"]
        self._writing = asyncio.Lock()
        try:
            self._snapshot = await asyncio.to_thread(self._read)
        except OSError as error:
            raise Misconfigured(f"the home cannot be used: {error.strerror}") from error

    async def shutdown(self):
        pass

    def capabilities(self):
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "session",
            "consistency": {"eventual": {"freshness_s": 0.2}},
            "extensions": ["prompt"],
        }

    def system_prompt_block(self):
        return "The notes that come with a message are as old as this conversation."

    async def enrich_turn(self, user_message, messages):
        shown, room = [], self._room
        for text in self._snapshot:
            if len(text) < room:
                shown.append(text)
                room -= len(text) + 1
        if self._snapshot and not shown:
            return self._snapshot[0][: self._room]
        return "\n".join(shown) or None

    async def on_turn_complete(self, user_message, assistant_response):
        if self._recording:
            words, tag, rest = user_message.partition("<memory-context>\n[System note:")
            if tag and "</memory-context>" in rest:
                words = words.rstrip() + rest.rpartition("</memory-context>")[2]
            else:
                words = user_message
            await self._write(f"{words}\n{assistant_response}")

    async def on_memory_write(self, action, target, content, old_text=None):
        if action == "add":
            await self._write(content)

    async def on_compress(self, messages, compression_count):
        pass

    async def _write(self, text):
        line = json.dumps({"at": time.monotonic(), "boot": _boot(), "text": text})
        async with self._writing:
            try:
                await asyncio.to_thread(self._append, f"\n{line}\n".encode())
            except OSError as error:
                raise Unavailable(f"not written: {error.strerror}") from error

    def _append(self, data):
        handle = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while data:
                data = data[os.write(handle, data) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def _read(self):
        now, boot, texts = time.monotonic(), _boot(), []
        self._file.parent.joinpath("awaited.jsonl").touch()
        for line in self._file.read_bytes().splitlines():
            try:
                entry = json.loads(line)
                young = entry["boot"] == boot and now - entry["at"] < LAG_S
            except (ValueError, TypeError, KeyError):
                continue
            if not young:
                texts.append(entry["text"])
        return texts[::-1]


def _boot():
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
