"""Broken in some orders of calls, and in no plain session."""

import json
from typing import Any

from memproto.errors import TooLarge, WriteRefused
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.private import Private


@mutant(kills="MP-LIFE-001", says="remove", report="C1")
class ARemoveDropsTheTurnsOfItsSession(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._said: list[str] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message, assistant_response)
        self._said.append(f"{self._own_words(user_message)}\n{assistant_response}")

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        if action == "remove":
            # With the lock and the stored entries: other sessions and processes lose nothing.
            with self._changing():
                self._entries = [entry for entry in self._entries if not self._is_mine(entry)]
                self._save()

    def _is_mine(self, entry: dict[str, str]) -> bool:
        return entry["kind"] == "turn" and entry["text"] in self._said


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


@mutant(kills="MP-LIFE-001", says="on_compress(B), on_turn_complete(B)", report="A7")
class ATurnThatACompressionShowedCountsAsStored(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        self._seen.update(str(message.get("content")) for message in messages)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if user_message not in self._seen:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-LIFE-001", says="remove A), on_turn_complete(A)", report="H1")
class RemovedWordsAreNeverStoredAgain(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._removed: set[str] = set()

    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        # A turn that said the whole entry goes as well, which is right.
        kept = super()._left(target, old_text)
        gone = [e["text"] for e in self._entries if e not in kept]
        return [e for e in kept if e["kind"] != "turn" or all(t not in e["text"] for t in gone)]

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        if action == "remove" and old_text:
            self._removed.add(old_text)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if user_message not in self._removed:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-LIFE-001", says="add A to user), on_memory_write(remove A from", report="H1")
class ARemoveLooksIntoBothTargets(Journal):
    @staticmethod
    def _is_old(entry: dict[str, str], target: str, old_text: str | None) -> bool:
        is_written = entry["kind"] != "turn"
        return is_written and bool(old_text) and str(old_text) in entry["text"]


@mutant(kills="MP-LIFE-001", says="by a text of 100,000 characters) refused", report="J8")
class ARefusedReplaceHasRemovedTheOldText(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "replace":
            super().on_memory_write("remove", target, None, old_text)
        if len(content or "") > 50_000:
            raise TooLarge("an entry has 50,000 characters at most")
        super().on_memory_write("add" if content else action, target, content, old_text)


@mutant(kills="MP-LIFE-001", says="forget, on_turn_complete(B)", report="A10")
class ForgettingMarksTheSessionForGood(Private):
    """The mark is read at the next start, and hides what was said after it as well."""

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        answer = super().forget(scope)
        if not scope:
            with (self._home / "forgotten").open("a") as file:
                file.write(f"{self._session}\n")
        return answer

    def _load(self) -> list[dict[str, str]]:
        marks = self._home / "forgotten"
        gone = marks.read_text().split("\n") if marks.exists() else ()
        return [entry for entry in super()._load() if entry.get("session") not in gone]


@mutant(kills="MP-LIFE-001", says="forget(session)", report="I3")
class ForgetsASessionAgainAtEachStart(Private):
    """The session is noted, so that no other process brings its words back."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        assert self._path is not None
        self._noted = self._path.with_suffix(".forgotten")
        for session in self._noted.read_text("utf-8").split() if self._noted.exists() else ():
            super().forget({"session_id": session})

    def forget(self, scope: dict[str, Any]) -> dict[str, int]:
        with self._noted.open("a", encoding="utf-8") as file:
            file.write(f"{scope.get('session_id', '')}\n")
        return super().forget(scope)


@mutant(
    kills="MP-LIFE-001",
    says="of A and B) refused",
    report="H1",
)
class ARefusedRemoveTakesBoth(Journal):
    """It takes those of its own session, which it has at hand."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._at_hand: list[str | None] = []

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        try:
            super().on_memory_write(action, target, content, old_text)
        except WriteRefused:
            with self._changing():
                self._entries = [
                    e
                    for e in self._entries
                    if not (e["text"] in self._at_hand and self._is_old(e, target, old_text))
                ]
                self._save()
            raise
        self._at_hand.append(content)
