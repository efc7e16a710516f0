"""Broken recall."""

import math
import re
import time
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal


@mutant(kills="MP-RECALL-001", says="['", report="C3")
class RecallGivesAList(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> Any:
        found = super().enrich_turn(user_message, messages)
        return found.splitlines() if found else None


@mutant(kills="MP-RECALL-002", says="had not returned", report="B2", scale=0.2)
class RecallWaitsForTheBackend(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        time.sleep(3600)
        return None


@mutant(kills="MP-RECALL-003", says="no messages: 0 messages became 1", report="J5")
class RecallAddsAMessage(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        messages.append({"role": "user", "content": user_message})
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-RECALL-004", says="the answer to the earlier one", report="D1")
class PreparedRecallIgnoresTheQuestion(Journal):
    _prepared: str | None = None

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["prewarm"]}

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        self._prepared = super().enrich_turn(query, [])

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        prepared, self._prepared = self._prepared, None
        return prepared or super().enrich_turn(user_message, messages)


@mutant(kills="MP-RECALL-004", says="the answer to one that begins alike", report="D1")
class AnswersAreKeptByABeginning(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._answers: dict[str, str | None] = {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        key = user_message[:100]
        if len(key) < 100:
            return super().enrich_turn(user_message, messages)
        if key not in self._answers:
            self._answers[key] = super().enrich_turn(user_message, messages)
        return self._answers[key]


@mutant(kills="MP-RECALL-004", says="the answer to one that begins alike", report="D1")
class APreparedAnswerIsKnownByABeginning(Journal):
    _prepared = "", ""

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["prewarm"]}

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        self._prepared = query[:32], super().enrich_turn(query, []) or ""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        (query, answer), self._prepared = self._prepared, ("", "")
        if answer and len(query) == 32 and user_message.startswith(query):
            return answer
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-RECALL-005", says="a later recall of such a session brought it", report="D2")
class RecallNeedsAPreparedAnswer(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._prepared: dict[str, str | None] = {}

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["prewarm"]}

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        self._prepared[query] = super().enrich_turn(query, [])

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return self._prepared.pop(user_message, None)


@mutant(kills="MP-RECALL-006", says="unterminated character set", report="J1")
class RecallCompilesTheQuestion(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        re.compile(user_message)
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-RECALL-006", says="a lone high surrogate", report="J2")
class RecallEncodesTheQuestion(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        key = user_message.encode().hex()
        return super().enrich_turn(bytes.fromhex(key).decode(), messages)


@mutant(kills="MP-RECALL-006", says="raised IndexError", report="J1")
class AQuestionThatIsBrokenOff(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        asked = user_message.split()
        unwanted = [asked[place + 1] for place, word in enumerate(asked) if word == "NOT"]
        wanted = [word for word in asked if word not in unwanted]
        return super().enrich_turn(" ".join(wanted), messages)


@mutant(kills="MP-RECALL-007", says="without that limit", report="D6")
class TheLimitIsNotRead(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, {**config, "limits": {}})


@mutant(kills="MP-RECALL-007", says="without that limit", report="D6")
class TheHeadingIsNotCounted(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = super().enrich_turn(user_message, messages)
        return f"This is known already:\n{found}" if found else None


@mutant(kills="MP-RECALL-007", says="recall_chars = 150", report="D6")
class TheBestIsShownWhole(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        room, self._recall_chars = self._recall_chars, None
        best = (super().enrich_turn(user_message, messages) or "").partition("\n")[0]
        self._recall_chars = room
        found = super().enrich_turn(user_message, messages)
        return best if found and len(found) < len(best) else found


@mutant(kills="MP-RECALL-006", says="IndexError", report="D6", found_by="MP-RECALL-007")
class ASmallRoomHasNoFirstEntry(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = super().enrich_turn(user_message, messages)
        room = math.inf if self._recall_chars is None else self._recall_chars
        fitting = [entry["text"] for entry in self._entries if len(entry["text"]) <= room]
        return found if found is None or fitting[0] else None


@mutant(kills="MP-RECALL-008", says="sunlight into sugar", report="D7")
class NothingFoundBringsTheNewest(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = super().enrich_turn(user_message, messages)
        newest = [entry["text"] for entry in self._entries[-1:]]
        return found or "\n".join(newest) or None


@mutant(kills="MP-RECALL-002", says="enrich_turn returns within", report="B2", scale=0.2)
class RecallAsksTheServerForEachEntry(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        time.sleep(0.02 * len(self._entries))
        return super().enrich_turn(user_message, messages)
