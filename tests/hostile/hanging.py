"""Hostile providers that do not come back."""

import re
import threading
from typing import Any

from tests.good.journal import Journal
from tests.hostile.marks import hostile

_NEVER = threading.Event()
_NESTED = re.compile(r"(\w+\s?)+$")


@hostile("MP-AVAIL-001", says="had not returned")
class HangsInAvailability(Journal):
    def is_available(self) -> bool:
        return _NEVER.wait()


@hostile("MP-INIT-001", says="had not returned")
class HangsInInitialize(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        _NEVER.wait()


@hostile("MP-CAP-001", says="had not returned")
class HangsInCapabilities(Journal):
    def capabilities(self) -> dict[str, Any]:
        _NEVER.wait()
        return {}


@hostile("MP-RECALL-002", says="had not returned")
class HangsInRecall(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        _NEVER.wait()
        return None


@hostile("MP-THR-003", says="had not returned")
class HangsInWrites(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        _NEVER.wait()


@hostile("MP-THR-003", says="had not returned")
class HangsInTurns(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        _NEVER.wait()


@hostile("MP-COMP-001", says="had not returned")
class HangsInCompression(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        _NEVER.wait()


@hostile("MP-SHUT-005", says="had not returned")
class HangsInShutdown(Journal):
    def shutdown(self) -> None:
        _NEVER.wait()


@hostile("MP-NAME-001", says="had not returned")
class HangsInItsName(Journal):
    @property
    def name(self) -> str:  # type: ignore[override]
        _NEVER.wait()
        return ""


@hostile("MP-THR-002", says="held the interpreter")
class HoldsTheInterpreter(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        if _NESTED.match(user_message + "!"):
            return None
        return super().enrich_turn(user_message, messages)


@hostile("MP-RECALL-002", says="had not returned")
class ComputesForEver(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        number = 0
        while True:
            number += 1


@hostile("MP-RECALL-006", says="RecursionError")
class CallsItselfForEver(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return self.enrich_turn(user_message, messages)


@hostile("MP-THR-003", "MP-RECALL-002", says="had not returned")
class LocksItselfOut(Journal):
    """The write keeps a lock that recall waits for, as a transaction that was never ended."""

    def __init__(self) -> None:
        super().__init__()
        self._gate = threading.Lock()

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        self._gate.acquire()
        super().on_memory_write(action, target, content, old_text)
