"""Broken starts and declarations."""

from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.known import Known

_KNOWN = {
    *("home", "host_home", "protocol", "deadlines", "limits", "platform", "agent_context"),
    *("agent_identity", "user_id", "user_name", "session_title", "workspace"),
    "parent_session_id",
}


@mutant(kills="MP-INIT-001", says="ConnectionRefusedError", report="B9")
class StartNeedsTheBackend(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        raise ConnectionRefusedError(111, "no answer from 127.0.0.1:8000")


@mutant(kills="MP-INIT-002", says="unknown keys", report="H3")
class StartRefusesUnknownKeys(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        unknown = sorted(set(config) - _KNOWN)
        if unknown:
            raise Misconfigured(f"unknown keys: {', '.join(unknown)}")
        super().initialize(session_key, config)


@mutant(kills="MP-INIT-003", says="home: ", report="J5")
class StartWritesIntoTheConfiguration(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        config["home"] = Path(config["home"]) / "journal"
        super().initialize(session_key, config)


@mutant(kills="MP-INIT-003", says="platform", report="J5")
class TakesWhatItReadsBeforeItRefuses(Known):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        if not config.get("user_id"):
            config.pop("platform")
        super().initialize(session_key, config)


@mutant(kills="MP-CAP-001", says="capabilities().tool_names", report="seed")
class ToolNamesAreOneText(Journal):
    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "tool_names": "journal_add"}


@mutant(kills="MP-CAP-001", says="None", report="seed")
class DeclaresNothingAtAll(Journal):
    def capabilities(self) -> dict[str, Any]:
        return None


@mutant(kills="MP-CAP-002", says="no callable save_config", report="A3")
class DeclaresSetUpWithOneHook(Journal):
    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["config"]}

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Nothing is asked."""
        return []


@mutant(kills="MP-CAP-003", says="on_turn_complete: accepted, then recall gave None", report="D5")
class NothingComesBack(Journal):
    def capabilities(self) -> dict[str, Any]:
        return {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return None


@mutant(kills="MP-CAP-003", says="then recall gave", report="D5")
class RecallRepeatsTheQuestion(Journal):
    def capabilities(self) -> dict[str, Any]:
        return {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return f"No memory found for {user_message!r}."


@mutant(kills="MP-CAP-004", says="none for memory_search", report="G5")
class DeclaresAToolWithoutSchema(BuiltinMemoryProvider):
    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "tool_names": {"memory", "memory_search"}}
