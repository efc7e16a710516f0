"""Broken in some orders of calls, and in no plain session."""

import json
from typing import Any

from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.broken.marks import mutant
from tests.good.journal import Journal


@mutant(kills="MP-LIFE-001", says="remove", report="C1")
class ARemoveSavesAnOldPicture(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._at_start = list(self._entries)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        if action == "remove":
            added = [entry for entry in self._entries if entry["kind"] != "turn"]
            turns = [entry for entry in self._at_start if entry["kind"] == "turn"]
            self._entries = [*turns, *added]
            self._save()


@mutant(kills="MP-LIFE-001", says="handle_tool_call(A), on_memory_write(add B)", report="A7")
class AMirroredWriteDropsWhatToolsQueued(BuiltinMemoryProvider):
    def __init__(self) -> None:
        super().__init__()
        self._queued: list[tuple[str, dict[str, Any]]] = []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name != "memory":
            return super().handle_tool_call(tool_name, args, **kwargs)
        self._queued.append((tool_name, args))
        return json.dumps({"success": True, "note": "Queued."})

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        self._queued.clear()  # the host mirrors what a tool wrote
        super().on_memory_write(action, target, content, old_text)

    def shutdown(self) -> None:
        while self._queued:
            super().handle_tool_call(*self._queued.pop(0))
        super().shutdown()
