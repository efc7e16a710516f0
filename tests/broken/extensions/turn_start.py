"""Providers that make too much of the beginning of a turn."""

import threading
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.switching import Switching


@mutant(kills="MP-TSTART-001", says="turn 57", report="A3")
class TurnsHaveToBeInOrder(Switching):
    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        if turn_number - self._turn_number > 20:
            raise ValueError(f"turn {turn_number} after turn {self._turn_number}")
        super().on_turn_start(turn_number, message)


@mutant(kills="MP-TSTART-001", says="unexpected keyword", report="H3")
class TheTurnKnowsItsArguments(Switching):
    def on_turn_start(self, turn_number: int, message: str) -> None:  # type: ignore[override]
        super().on_turn_start(turn_number, message)


@mutant(kills="MP-TSTART-002", says="on_turn_start", report="B1", scale=0.1)
class EveryTenthTurnTidies(Switching):
    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        super().on_turn_start(turn_number, message)
        if turn_number == 10:
            threading.Event().wait(10)


@mutant(kills="MP-TSTART-003", says="was told", report="A12")
class StatementsAreStoredAtOnce(Switching):
    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        super().on_turn_start(turn_number, message)
        if not message.endswith("?"):
            Journal.on_turn_complete(self, message, "")


@mutant(kills="MP-TSTART-004", says="in turn 2", report="hermes#7193")
class RecallIsForNewTurnsOnly(Switching):
    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        self._is_seen = turn_number <= self._turn_number
        super().on_turn_start(turn_number, message)

    def _search(self, query: str) -> str | None:
        return None if getattr(self, "_is_seen", False) else super()._search(query)
