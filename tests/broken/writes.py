"""Broken mirrored writes, and tools that store nothing."""

import json
from typing import Any

from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.targeted import Targeted

_LIMIT_CHARS = 2_200
_LONGEST_CHARS = 32_768


@mutant(kills="MP-WRITE-001", says="what was added to user", report="H1")
class WritesAboutTheUserAreDropped(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if target == "memory":
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-002", says="a lone high surrogate", report="J2")
class WritesAreEncoded(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        text = (content or "").encode().decode()
        super().on_memory_write(action, target, text, old_text)


@mutant(kills="MP-WRITE-003", says="still brings", report="H1")
class ReplaceOnlyAdds(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        kind = "add" if action == "replace" else action
        super().on_memory_write(kind, target, content, old_text)


@mutant(kills="MP-WRITE-004", says="still brings", report="H1")
class RemoveDoesNothing(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-005", says="100,000 characters", report="J8")
class LongWritesAreDropped(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if len(content or "") <= _LONGEST_CHARS:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-005", says="write 30 of 30", report="D5")
class AFullStoreDropsWrites(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        used = sum(len(entry["text"]) for entry in self._entries if entry["kind"] == target)
        if action != "add" or used < _LIMIT_CHARS:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-005", says="whose old_text fits no entry", report="H4")
class AReplaceThatFitsNothingIsDropped(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        known = any(self._is_old(entry, target, old_text) for entry in self._load())
        if action != "replace" or known:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-TOOL-001", says="stored by a call that reported no error", report="D5")
class ToolAnswersBeforeItStores(BuiltinMemoryProvider):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if args.get("action") == "add":
            return json.dumps({"success": True, "note": "Added."})
        return super().handle_tool_call(tool_name, args)


@mutant(kills="MP-WRITE-004", says="gone from recall", report="H1")
class KeepsWhatTheUserTookBack(Targeted):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)
