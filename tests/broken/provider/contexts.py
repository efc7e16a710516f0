"""Providers that take every session for a conversation, or only conversations for sessions."""

from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.private import Private
from tests.good.worded import Phrased


@mutant(kills="MP-CTX-001", says="'flush'", report="F6")
class AContextIsUnknown(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        context = config.get("agent_context", "primary")
        if context not in ("primary", "subagent", "cron"):
            raise ValueError(f"unknown agent_context {context!r}")
        super().initialize(session_key, config)


@mutant(kills="MP-CTX-002", says="'cron'", report="hermes#9763")
class JobsHaveNoMemory(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._is_job = config.get("agent_context") == "cron"

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return None if self._is_job else super().enrich_turn(user_message, messages)


@mutant(kills="MP-CTX-003", says="cron", report="hermes#68407")
class JobsAreStored(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._is_kept = True


@mutant(kills="MP-CTX-003", says="record stored one of subagent and cron", report="hermes#68407")
class OnlyTheTurnSaysItsContext(Private):
    def record(self, turn: dict[str, Any]) -> None:
        self._is_kept = turn.get("context", "primary") == "primary"
        super().record(turn)


@mutant(kills="MP-CTX-003", says="cron", report="hermes#68407")
class JobsAreStoredForTheirOwnWords(Phrased):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._is_kept = True
