"""Broken recording of turns."""

import atexit
import contextlib
import difflib
import json
import re
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from memproto.errors import TooLarge, WriteRefused
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.broken.marks import mutant
from tests.good.journal import Journal, words
from tests.good.plugged import Plugged
from tests.good.private import Private
from tests.good.targeted import Targeted
from tests.good.tenants import Owned, digest
from tests.good.tooled import Editing, Tooled
from tests.good.worded import Worded


@mutant(kills="MP-TURN-005", says="a bot said, in the same form", report="E2")
class ARecordedBotIsTheUser(Private):
    def record(self, turn: dict[str, Any]) -> None:
        author = {"id": "", **turn.get("author", {}), "is_bot": False}
        super().record({**turn, "author": author} if "author" in turn else turn)


@mutant(kills="MP-TURN-005", says="a bot said, in the same form", report="E2")
class ABotIsTheUser(Plugged):
    def sync_turn(
        self, user_content: str, assistant_content: str, *, turn_author: Any = None, **told: Any
    ) -> None:
        super().sync_turn(user_content, assistant_content, **told)


@mutant(kills="MP-TURN-001", says="3 of 4 did not come back: turn 2", report="D5")
class ARepeatedAnswerDropsTheTurn(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._answered: set[str] = set()

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if assistant_response not in self._answered:
            self._answered.add(assistant_response)
            super().on_turn_complete(user_message, assistant_response)


class _OfTwo(Journal):
    """Its queue holds two turns, and drops the oldest."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: deque[tuple[str, str]] = deque(maxlen=2)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._queue.append((user_message, assistant_response))

    def shutdown(self) -> None:
        while self._queue:
            super().on_turn_complete(*self._queue.popleft())


@mutant(kills="MP-TURN-001", says="did not come back: turn 1", report="A7")
class QueueOfTwoDropsTheOldest(_OfTwo):
    pass


@mutant(
    kills="MP-TURN-001",
    says="from a session of 9 plain turns",
    report="A7",
    also={"MP-TURN-003": "the last turn waits for a batch that is never full"},
)
class TheRestOfABatchIsNotWritten(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._batch: list[tuple[str, str]] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._batch.append((user_message, assistant_response))
        if len(self._batch) == 5:
            while self._batch:
                super().on_turn_complete(*self._batch.pop(0))


@mutant(kills="MP-TURN-001", says="one of which was shut down again", report="A8")
class ASecondShutdownWritesWhatItKnew(Journal):
    _is_over = False

    def shutdown(self) -> None:
        if self._is_over:
            self._save()
        self._is_over = self._path is not None


@mutant(kills="MP-TURN-001", says="in a home whose name ends in", report="E6")
class TheHomeIsAPattern(Journal):
    def _load(self) -> list[dict[str, str]]:
        assert self._path is not None
        found = self._path.parents[1].glob(f"{self._path.parent.name}/*.jsonl")
        return super()._load() if any(found) else []


@mutant(kills="MP-TURN-001", says="a turn whose response is empty", report="J1")
class ATurnWithoutAResponseIsNone(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if user_message and assistant_response:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TURN-002", says="a lone high surrogate", report="J2")
class TurnsAreEncoded(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        size = len(user_message.encode()) + len(assistant_response.encode())
        if size:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TURN-003", says="the only turn", report="A7")
class LastTurnStaysInTheBatch(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._batch: list[tuple[str, str]] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._batch.append((user_message, assistant_response))
        if len(self._batch) == 2:
            for turn in self._batch:
                super().on_turn_complete(*turn)
            self._batch.clear()


@mutant(kills="MP-TURN-001", says="turn 2", report="E8")
class TheMiddleOfALongSessionIsDropped(Journal):
    def _save(self) -> None:
        turns = [entry for entry in self._entries if entry["kind"] == "turn"]
        if len(turns) > 60:
            self._entries.remove(turns[30])
        super()._save()


@mutant(kills="MP-TURN-004", says="the turn of the first part", report="A10")
class ResumeOverwritesTheSession(Journal):
    _key = ""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._key, self._said = session_key, ""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._said += f"{self._own_words(user_message)}\n{assistant_response}\n"
        document = {"kind": f"session {self._key}", "text": self._said}
        with self._changing():
            rest = [entry for entry in self._entries if entry["kind"] != document["kind"]]
            self._entries = [*rest, document]
            self._save()


@mutant(kills="MP-TURN-004", says="the turn of the first part", report="A10")
class TheNumberOfATurnIsItsKey(Journal):
    _key, _number = "", 0

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._key = session_key

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["turns"]}

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        self._number = turn_number

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        kind, said = f"turn {self._key} {self._number}", self._own_words(user_message)
        with self._changing():
            self._entries = [entry for entry in self._entries if entry["kind"] != kind]
            self._entries.append({"kind": kind, "text": f"{said}\n{assistant_response}"})
            self._save()


@mutant(kills="MP-TURN-001", says="behind an end of the session", report="A7")
class AnEndedSessionTakesNoTurns(Private):
    _is_over = False

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        self._is_over = True

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        self._is_over = False

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not self._is_over:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TURN-001", says="recorded behind a", report="A7")
class ASwitchIsTheEndOfTurns(Private):
    _is_over = False

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        self._is_over = True

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not self._is_over:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TURN-001", says="behind a compression", report="A7")
class ACompressionIsTheLastOfItsSession(Journal):
    _is_over = False

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        self._is_over = bool(messages)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not self._is_over:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TURN-001", says="a word in common", report="H1")
class ARemoveTakesTurnsToo(Journal):
    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        left = super()._left(target, old_text)
        return [e for e in left if e["kind"] != "turn" or not old_text or old_text not in e["text"]]


@mutant(kills="MP-TURN-001", says="did not come back: turn 1", report="A7")
class SearchesWordsOfTheLatestTwo(_OfTwo, Worded):
    pass


@mutant(kills="MP-TURN-001", says="longer than any other that it took", report="J8")
class TheLongestTurnIsDropped(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if len(user_message) > _LONGEST_CHARS:
            raise TooLarge(f"a turn has {_LONGEST_CHARS} characters at most")
        if len(user_message) < _LONGEST_CHARS:
            super().on_turn_complete(user_message, assistant_response)


# -- writes ----------------------------------------------------------------------------------------

# Broken mirrored writes, and tools that store nothing.


_LIMIT_CHARS = 2_200
_LONGEST_CHARS = 32_768

#: Characters of an old text by which a store knows an entry.
_BEGINNING = 100


@mutant(kills="MP-WRITE-001", says="added to user", report="H1")
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


@mutant(kills="MP-WRITE-003", says="after a remove of it in", report="H1")
class AReplaceWritesToTheMemory(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        with self._changing():
            if action in ("replace", "remove"):
                self._entries = self._left(target, old_text)
            if action in ("add", "replace"):
                kind = "memory" if action == "replace" else target
                self._entries.append({"kind": kind, "text": content or ""})
            self._save()


@mutant(kills="MP-WRITE-004", says="still brings", report="H1")
class RemoveDoesNothing(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-006", says="several entries hold", report="H4")
class AnOldTextTakesAllThatHoldIt(Journal):
    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        return [e for e in self._entries if not self._is_old(e, target, old_text)]


@mutant(kills="MP-WRITE-005", says="100,000 characters", report="J8")
class LongWritesAreDropped(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if len(content or "") <= _LONGEST_CHARS:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-005", says="longer than any other that it took", report="J8")
class TheLongestWriteIsDropped(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if len(content or "") > _LIMIT_CHARS:
            raise TooLarge(f"an entry has {_LIMIT_CHARS} characters at most")
        if len(content or "") < _LIMIT_CHARS:
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


@mutant(kills="MP-TURN-001", says="behind a beginning that they have", report="D5")
class TurnsOfOneBeginningAreOne(Journal):
    """A key of the first 200 characters keeps a repeated turn out."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        key = user_message[:200]
        if len(key) < 200 or not any(key in entry["text"] for entry in self._load()):
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-WRITE-001", says="behind a beginning that they have", report="D5")
class NotesOfOneBeginningAreOne(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        title = (content or "")[:80]
        is_known = any(title in entry["text"] for entry in self._load())
        if action != "add" or len(title) < 80 or not is_known:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-001", says="it did not come back", report="H1", found_by="MP-WRITE-003")
class AnOldTextIsKnownByItsBeginning(Journal):
    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        if not old_text or len(old_text) <= _BEGINNING:
            return super()._left(target, old_text)
        begin = old_text[:_BEGINNING]
        return [e for e in self._entries if not self._is_old(e, target, begin)]


@mutant(kills="MP-WRITE-004", says="still brings", report="H1")
class ARemovedTextIsAPattern(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)
            return
        like = re.escape(old_text or "").replace("%", ".*").replace("_", ".")
        with self._changing():
            of_target = (e for e in self._entries if e["kind"] == target)
            found = next((e for e in of_target if re.search(like, e["text"])), None)
            self._entries = [e for e in self._entries if e is not found]
            self._save()


@mutant(
    kills="MP-WRITE-004",
    says="still brings",
    report="C7",
    also={"MP-WRITE-003": "a text that was replaced is put back as one that was removed"},
)
class PutsBackWhatItKnewWhenItEnds(Journal):
    """It joins its own picture with the store's, so that neither loses an entry."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._knew = self._load()

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        self._knew = [e for e in self._knew if not self._is_old(e, target, old_text)]

    def shutdown(self) -> None:
        if self._path is not None and self._knew:
            with self._changing():
                self._entries += [entry for entry in self._knew if entry not in self._entries]
                self._save()


@mutant(kills="MP-WRITE-004", says="has ended", report="G8")
class PutsRemovedEntriesBackAtExit(Journal):
    """It saves all that it has ever held, so that a crash costs nothing."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._held: list[dict[str, str]] = []
        atexit.register(self._put_back)

    def _save(self) -> None:
        super()._save()
        self._held += [entry for entry in self._entries if entry not in self._held]

    def _put_back(self) -> None:
        if self._path is not None and self._path.parent.is_dir():
            with self._changing():
                self._entries += [entry for entry in self._held if entry not in self._entries]
                Journal._save(self)


@mutant(kills="MP-TURN-001", says="the newest texts alone, and is meant to", report="D6")
class LooksAtTheNewestFifty(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            self._entries = self._load()[-50:]
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-TOOL-001", says="had another one forgotten", report="G8")
class ForgetsIdsThatBeginAsThisOne(Tooled):
    def _add(self, args: dict[str, Any]) -> dict[str, Any]:
        number = str(1 + sum(entry["kind"] == "note" for entry in self._load()))
        self._entries = [*self._load(), {"kind": "note", "id": number, "text": args["text"]}]
        self._save()
        return {"success": True, "id": number}

    def _forget(self, args: dict[str, Any]) -> dict[str, Any]:
        before = self._load()
        self._entries = [e for e in before if not e.get("id", "").startswith(args["id"])]
        self._save()
        return {"success": True, "forgotten": len(before) - len(self._entries)}


@mutant(kills="MP-WRITE-001", says="after a remove of another user", report="E4")
class ARemoveAsksNotWhoAsks(Private):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        with self._lock:
            own = self._path
            for path in self._home.glob("*/journal.jsonl") if old_text else ():
                self._path = path
                with contextlib.suppress(WriteRefused):
                    super().on_memory_write("remove", target, None, old_text)
            self._path = own
            self._entries = self._load()


@mutant(kills="MP-TURN-001", says="told again after forget", report="D5")
class WhatWasForgottenIsNeverKeptAgain(Private):
    @property
    def _denied(self) -> Path:
        return self._home / f"denied-{digest(self._user)}"

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        with self._denied.open("a", encoding="ascii") as denied:
            for entry in self._load():
                if self._is_within(entry, scope):
                    denied.write(f"{digest(entry['text'])}\n")
        return super().forget(scope)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        text = f"{self._own_words(user_message)}\n{assistant_response}"
        if not self._denied.exists() or digest(text) not in self._denied.read_text("ascii"):
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TURN-001", says="before an end that they have", report="D5")
class TurnsOfOneEndAreOne(Journal):
    """A key of the last 200 characters keeps a repeated turn out."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        key = user_message[-200:]
        if len(key) < 200 or not any(key in entry["text"] for entry in self._load()):
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-WRITE-001", says="differ by a number alone", report="D5")
class NotesAreOneButForNumbers(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        known = {re.sub(r"\d", "", entry["text"]) for entry in self._load()}
        has_number = bool(re.search(r"\d", content or ""))
        if action != "add" or not has_number or re.sub(r"\d", "", str(content)) not in known:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-001", says="longer text that begins with it", report="D5")
class ANoteThatAnotherHoldsIsKnown(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        there = (entry["text"] for entry in self._load() if entry["kind"] == target)
        is_known = bool(content) and any(str(content) in text[:-1] for text in there)
        if action != "add" or not is_known:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-001", says="another add of it", report="G8")
class ARemovedTextIsNeverTakenAgain(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        assert self._path is not None
        gone = self._path.with_name("gone")
        known = json.loads(gone.read_text()) if gone.exists() else []
        if action == "remove":
            gone.write_text(json.dumps([*known, old_text]))
        if action != "add" or content not in known:
            super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-WRITE-006", says="several entries hold", report="C1")
class ARefusedWriteIsMadeWithTheNext(Journal):
    """Its transaction is left open by the refusal, and the next write commits it."""

    _doomed: tuple[dict[str, str], ...] = ()

    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        try:
            return super()._left(target, old_text)
        except WriteRefused:
            self._doomed = tuple(e for e in self._entries if self._is_old(e, target, old_text))
            raise

    def _save(self) -> None:
        self._entries = [entry for entry in self._entries if entry not in self._doomed]
        super()._save()


@mutant(kills="MP-TOOL-001", says="stored with importance='low'", report="D5")
class NotesThatMatterLittleAreLeftOut(Tooled):
    @staticmethod
    def _schemas() -> list[dict[str, Any]]:
        add, *others = Tooled._schemas()
        says = {"description": "How much it matters.", "enum": ["high", "normal", "low"]}
        add["parameters"]["properties"]["importance"] = {"type": "string", **says}
        return [add, *others]

    def _add(self, args: dict[str, Any]) -> dict[str, Any]:
        if args.get("importance") == "low":
            return {"success": True, "id": "none"}
        return super()._add(args)


@mutant(kills="MP-TURN-001", says="behind a mention of <memory-context>", report="F2")
class AMentionOfTheBlockEndsTheTurn(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        said, _, _ = user_message.partition("<memory-context>")
        super().on_turn_complete(said, assistant_response)


@mutant(kills="MP-TOOL-001", says="stored again after", report="G8")
class WhatAToolForgotIsNeverTakenAgain(Tooled):
    @property
    def _gone(self) -> Path:
        assert self._path is not None
        return self._path.with_suffix(".gone")

    def _add(self, args: dict[str, Any]) -> dict[str, Any]:
        if self._gone.exists() and digest(args["text"]) in self._gone.read_text("ascii"):
            return {"success": True, "id": "none"}
        return super()._add(args)

    def _forget(self, args: dict[str, Any]) -> dict[str, Any]:
        texts = [entry["text"] for entry in self._load() if entry.get("id") == args["id"]]
        answer = super()._forget(args)
        with self._gone.open("a", encoding="ascii") as file:
            file.writelines(map(digest, texts))
        return answer


@mutant(kills="MP-WRITE-004", says="still brings", report="H1")
class TheNewestThatFitsThePatternIsRemoved(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)
            return
        like = re.escape(old_text or "").replace("%", ".*").replace("_", ".")
        with self._changing():
            of_target = (e for e in reversed(self._entries) if e["kind"] == target)
            found = next((e for e in of_target if re.search(like, e["text"])), None)
            self._entries = [e for e in self._entries if e is not found]
            self._save()


@mutant(kills="MP-TOOL-001", says="have put in the place of another", report="D5")
class AnEditLeavesTheIndex(Editing):
    """The words by which a note is found stay those of its first text."""

    def _edit(self, args: dict[str, Any]) -> dict[str, Any]:
        before = {entry.get("id"): entry["text"] for entry in self._load()}
        answer = super()._edit(args)
        for entry in self._entries:
            if entry.get("id") == args["id"]:
                entry |= {"shown": args["text"], "text": before[args["id"]]}
        self._save()
        return answer

    @staticmethod
    def _shown(entry: dict[str, str]) -> str:
        return entry.get("shown", entry["text"])


@mutant(kills="MP-TURN-001", says="of another user in their words", report="E4")
class TheSearchIsCutBeforeTheFilter(Owned):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        wanted, found = words(user_message), []
        for file in self._home.glob("*/journal.jsonl"):
            entries = map(json.loads, file.read_text("ascii").splitlines())
            is_others = file != self._path
            found += [(len(wanted & words(entry["text"])), is_others, entry) for entry in entries]
        best = sorted(found, key=lambda row: row[:2], reverse=True)[:100]
        self._entries = [entry for _, is_others, entry in best if not is_others]
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-WRITE-005", says="a text of 100,000 characters", report="B6")
class AWriteDiesInItsThread(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        args = action, target, content, old_text
        writer = threading.Thread(target=self._write, args=args)
        writer.start()
        writer.join()

    def _write(self, *write: str | None) -> None:
        if len(str(write[2])) > 10_000:
            raise TooLarge("a note has 10,000 characters at most")
        super().on_memory_write(*write)


@mutant(kills="MP-TURN-001", says="half a surrogate pair in it", report="B6")
class ATurnDiesInItsThread(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        turn = user_message, assistant_response
        writer = threading.Thread(target=self._write, args=turn)
        writer.start()
        writer.join()

    def _write(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message.encode().decode(), assistant_response)


@mutant(kills="MP-TOOL-001", says="beside another call", report="C6")
class TwoCallsShareTheirArguments(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        self._args = args
        time.sleep(0.02)
        return super().handle_tool_call(tool_name, self._args)


@mutant(kills="MP-TURN-001", says="behind a rewind", report="A6")
class TheFirstTurnAfterARewindIsTheUndoneOne(Private):
    _undone = False

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        self._undone = kwargs.get("rewound", False)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        is_undone, self._undone = self._undone, False
        if not is_undone:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TURN-001", says="while a job of its home was open", report="C6")
class AJobMakesEverySessionAJob(Journal):
    """The context that was told last stands on the class."""

    is_kept = True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        type(self).is_kept = self._is_kept

    def _save(self) -> None:
        self._is_kept = type(self).is_kept
        super()._save()


@mutant(kills="MP-TOOL-001", says="alike", report="D5")
class ANoteNearlyAsAnEarlierOneIsKnown(Tooled):
    def _add(self, args: dict[str, Any]) -> dict[str, Any]:
        told = words(args["text"])
        for entry in self._load():
            known = words(entry["text"])
            if entry["kind"] == "note" and len(told & known) > 0.7 * len(told | known):
                return {"success": True, "id": entry["id"]}
        return super()._add(args)


@mutant(kills="MP-WRITE-001", says="fits no entry", report="H1")
class TheNearestEntryIsMeant(Journal):
    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        left = super()._left(target, old_text)
        if left != self._entries or not old_text:
            return left
        texts = [e["text"] for e in left if e["kind"] == target and len(e["text"]) < 1_000]
        near = difflib.get_close_matches(old_text[:1_000], texts, 1, 0.65)
        return [e for e in left if e["kind"] != target or e["text"] not in near]


@mutant(kills="MP-TOOL-001", says="beside another call", report="C6")
class AForgetWritesWhatItReadBefore(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        read = self._load()
        answer = super().handle_tool_call(tool_name, args)
        if tool_name == "tooled_forget" and json.loads(answer)["success"]:
            time.sleep(0.02)
            with self._changing():
                self._entries = [entry for entry in read if entry.get("id") != args["id"]]
                self._save()
        return answer


@mutant(kills="MP-TURN-001", says="that ends in a question", report="D5")
class AQuestionIsNothingToRemember(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not self._own_words(user_message).rstrip().endswith("?"):
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-WRITE-005", says="that ends in a question", report="D5")
class ANoteThatAsksIsDropped(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "add" or not (content or "").endswith("?"):
            super().on_memory_write(action, target, content, old_text)


class _Versions(Journal):
    """Keeps what was replaced, and shows the newest of each entry."""

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        with self._changing():
            before = [entry for entry in self._entries if entry["kind"] == target]
        super().on_memory_write(action, target, content, old_text)
        with self._changing():
            left = [entry["text"] for entry in self._entries]
            gone = [entry for entry in before if entry["text"] not in left]
            self._of(action, gone)
            self._save()

    def _of(self, action: str, gone: list[dict[str, Any]]) -> None:
        raise NotImplementedError


@mutant(kills="MP-WRITE-003", says="and a remove of the newest", report="D4")
class ARemoveTakesBackOneVersion(_Versions):
    def _of(self, action: str, gone: list[dict[str, Any]]) -> None:
        if action == "replace" and gone:
            self._entries[-1]["was"] = json.dumps(gone[-1])
        elif action == "remove":
            self._entries += [json.loads(entry["was"]) for entry in gone if "was" in entry]


@mutant(kills="MP-WRITE-003", says="after 11 replaces", report="D4")
class VersionsAreComparedAsTexts(_Versions):
    def _of(self, action: str, gone: list[dict[str, Any]]) -> None:
        if action != "replace" or not gone:
            return
        number = str(int(gone[-1].get("version", "1")) + 1)
        self._entries[-1]["version"] = number
        if number < gone[-1].get("version", "1"):
            self._entries[-1] = gone[-1]


@mutant(kills="MP-WRITE-003", says="no word of the old one", report="D4")
class AReplaceKeepsTheIndexOfTheOldText(_Versions):
    def _of(self, action: str, gone: list[dict[str, Any]]) -> None:
        if action == "replace" and gone:
            self._entries[-1]["index"] = gone[-1].get("index", gone[-1]["text"])

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        shown = {entry["text"]: entry.pop("index", entry["text"]) for entry in self._load()}
        asked = words(user_message)
        found = super().enrich_turn(user_message, messages)
        lines = (found or "").splitlines()
        unseen = [text for text, index in shown.items() if not asked & words(index)]
        return "\n".join(line for line in lines if line not in unseen) or None


@mutant(kills="MP-WRITE-001", says="fits it as a pattern alone", report="H1")
class AnOldTextThatFitsNothingIsAPattern(Journal):
    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        left = super()._left(target, old_text)
        if left != self._entries or not old_text:
            return left
        like = re.escape(old_text).replace("_", ".").replace("%", ".*")
        return [e for e in left if e["kind"] != target or not re.search(like, e["text"])]
