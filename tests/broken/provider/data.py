"""Providers that store twice, out of order, in pieces, or not at all after something odd."""

import json
import threading
from pathlib import Path
from typing import Any, ClassVar

from memproto.errors import TooLarge, Unavailable, WriteRefused
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.tooled import Tooled

_BACKEND_CHARS = 500_000


@mutant(kills="MP-DATA-001", says="was called twice", report="A8")
class ASecondShutdownStoresAgain(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._batch: list[tuple[str, str]] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._batch.append((user_message, assistant_response))

    def shutdown(self) -> None:
        for turn in self._batch:
            super().on_turn_complete(*turn)


@mutant(kills="MP-DATA-001", says="with every new start", report="A13")
class EachStartCommitsTheOrphanAgain(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        with self._lock:
            if pending := self._entries[-1:]:  # what the last session may not have committed
                self._entries = [*self._entries, *pending]
                self._save()


@mutant(kills="MP-DATA-001", says="on_compress was given its messages", report="I3")
class EachCompressionStoresItsTurnsAgain(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        known = {entry["text"].partition("\n")[0] for entry in self._entries}
        for message in messages:
            if message.get("role") == "user" and message.get("content") in known:
                self.on_turn_complete(message["content"], "")


@mutant(kills="MP-DATA-006", says="before that turn", report="I3")
class ACompressionSavesTheTurnThatIsUnderWay(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        known = {entry["text"].partition("\n")[0] for entry in self._entries}
        for message in messages:
            text = message.get("content")
            if message.get("role") == "user" and isinstance(text, str) and text not in known:
                known.add(text)
                self.on_turn_complete(text, "")


@mutant(kills="MP-DATA-002", says="add A, remove A, add A", report="H1")
class ABatchRemovesLast(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._batch: list[tuple[str, str, str | None, str | None]] = []

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        self._batch.append((action, target, content, old_text))

    def shutdown(self) -> None:
        batch, self._batch = self._batch, []
        for write in sorted(batch, key=lambda write: write[0] == "remove"):
            super().on_memory_write(*write)


@mutant(kills="MP-DATA-002", says="is still there", report="B7")
class OnlyAdditionsWaitForTheWorker(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[str, str | None]] = []

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "add":
            self._waiting.append((target, content))
        else:
            super().on_memory_write(action, target, content, old_text)

    def shutdown(self) -> None:
        while self._waiting:
            super().on_memory_write("add", *self._waiting.pop(0))


@mutant(kills="MP-DATA-003", says="a line with a section sign", report="J3")
class ASectionSignSplitsAnEntry(BuiltinMemoryProvider):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "add":
            super().on_memory_write(action, target, content, old_text)
            return
        for part in (content or "").split("\n§\n"):
            super().on_memory_write(action, target, part)


@mutant(kills="MP-DATA-003", says="a line of dashes", report="J3")
class FrontMatterIsCutOff(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        _, dashes, rest = user_message.rpartition("\n---\n")
        super().on_turn_complete(rest if dashes else user_message, assistant_response)


@mutant(kills="MP-DATA-004", says="1,000,000 characters", report="J8")
class AHugeTurnBlocksTheQueue(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._queue: list[tuple[str, str]] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._queue.append((user_message, assistant_response))

    def shutdown(self) -> None:
        while self._queue and len(self._queue[0][0]) < _BACKEND_CHARS:
            super().on_turn_complete(*self._queue.pop(0))


@mutant(kills="MP-DATA-004", says="was refused", report="J8")
class ARefusalEndsAllWriting(Journal):
    _failed = False

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if len(content or "") >= _BACKEND_CHARS:
            self._failed = True
            raise TooLarge(f"the backend takes {_BACKEND_CHARS} characters at most")
        if not self._failed:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-DATA-004", says="whose old_text fits no entry", report="J8")
class ARefusalHoldsTheLock(Journal):
    """The lock of an instance is given back where nothing was raised."""

    def __init__(self) -> None:
        super().__init__()
        self._gate = threading.Lock()

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if not self._gate.acquire(timeout=0.2):
            raise Unavailable("another write is under way")
        if action == "replace" and len(self._left(target, old_text)) == len(self._entries):
            raise WriteRefused("no entry holds old_text")
        super().on_memory_write(action, target, content, old_text)
        self._gate.release()


@mutant(kills="MP-DATA-005", says="asked in vain", report="D4")
class AnAnswerOfTheEmptyStoreIsKept(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._cache = Path(config["home"]) / "unknown.json"

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        unknown = json.loads(self._cache.read_text()) if self._cache.exists() else []
        if user_message in unknown:
            return None
        found = super().enrich_turn(user_message, messages)
        if found is None and not self._entries:
            self._cache.write_text(json.dumps([*unknown, user_message]))
        return found


@mutant(kills="MP-DATA-005", says="asked in vain", report="D4")
class AToolDoesNotEmptyTheCache(Tooled):
    """Hooks that store empty the cache of answers; the tool was written later."""

    @property
    def _cache(self) -> Path:
        assert self._path is not None
        return self._path.with_name("unknown.json")

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        known = json.loads(self._cache.read_text()) if self._cache.exists() else {}
        if user_message not in known:
            known[user_message] = super().enrich_turn(user_message, messages)
            self._cache.write_text(json.dumps(known))
        return known[user_message]

    def _save(self) -> None:
        super()._save()
        if [entry["kind"] for entry in self._entries[-1:]] != ["note"]:
            self._cache.unlink(missing_ok=True)


@mutant(
    kills="MP-DATA-005",
    says="which another process stored",
    report="D4",
    also={"MP-RECALL-007": "an answer is kept for an instance with another limit"},
)
class AnswersAreKeptForTheProcess(Journal):
    """Each write of this process empties them."""

    answers: ClassVar[dict[tuple[str, int], str | None]] = {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        asked = str(self._path), hash(user_message)
        if asked not in self.answers:
            self.answers[asked] = super().enrich_turn(user_message, messages)
        return self.answers[asked]

    def _save(self) -> None:
        super()._save()
        self.answers.clear()


@mutant(kills="MP-DATA-004", says="of tooled_forget about what is not there", report="G8")
class AToolErrorHoldsTheGate(Tooled):
    """A gate that a tool call shuts is opened where the call had nothing to complain of."""

    _is_shut = False

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        answer = super().handle_tool_call(tool_name, args, **kwargs)
        self._is_shut |= tool_name == "tooled_forget" and "there is no note" in answer
        return answer

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if self._is_shut:
            raise Unavailable("another write is under way")
        super().on_memory_write(action, target, content, old_text)
