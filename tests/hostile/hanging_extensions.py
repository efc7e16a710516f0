"""Hostile providers that do not come back from a hook of an extension."""

import threading
from typing import Any

from tests.good.configured import Configured
from tests.good.private import Private
from tests.good.switching import Switching
from tests.good.telling import Telling
from tests.good.tooled import Tooled
from tests.hostile.marks import hostile

_NEVER = threading.Event()


@hostile("MP-TOOL-002", says="had not returned")
class HangsInToolSchemas(Tooled):
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        _NEVER.wait()
        return []


@hostile("MP-TOOL-013", says="had not returned")
class HangsInToolCalls(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        _NEVER.wait()
        return ""


@hostile("MP-PREWARM-002", says="had not returned")
class HangsInPreparing(Switching):
    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        _NEVER.wait()


@hostile("MP-TSTART-002", says="had not returned")
class HangsInTurnStart(Switching):
    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        _NEVER.wait()


@hostile("MP-SESS-005", says="had not returned")
class HangsInTheEndOfASession(Switching):
    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        _NEVER.wait()


@hostile("MP-SESS-005", says="had not returned")
class HangsInSwitches(Switching):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        _NEVER.wait()


@hostile("MP-DELEG-001", says="had not returned")
class HangsInDelegations(Telling):
    def on_delegation(self, task: str, result: str, **kwargs: Any) -> None:
        _NEVER.wait()


@hostile("MP-PROMPT-001", says="had not returned")
class HangsInItsPrompt(Telling):
    def system_prompt_block(self) -> str:
        _NEVER.wait()
        return ""


@hostile("MP-STATUS-001", says="had not returned")
class HangsInItsStatus(Telling):
    def recall_status(self) -> dict[str, Any]:
        _NEVER.wait()
        return {}


@hostile("MP-NOTES-001", says="had not returned")
class HangsInNotes(Telling):
    def compress_notes(self, messages: list[dict[str, Any]]) -> str:
        _NEVER.wait()
        return ""


@hostile("MP-CONF-003", says="had not returned")
class HangsInItsSchema(Configured):
    def get_config_schema(self) -> list[dict[str, Any]]:
        _NEVER.wait()
        return []


@hostile("MP-BACKUP-001", says="had not returned")
class HangsInBackup(Configured):
    def backup_paths(self) -> list[str]:
        _NEVER.wait()
        return []


@hostile("MP-THR-003", says="had not returned")
class HangsInWholeTurns(Private):
    def record(self, turn: dict[str, Any]) -> None:
        _NEVER.wait()


@hostile("MP-ITEMS-001", says="had not returned")
class HangsInItems(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        _NEVER.wait()
        return {}


@hostile("MP-PRIV-001", says="had not returned")
class HangsInExport(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        _NEVER.wait()
        return {}


@hostile("MP-PRIV-002", says="had not returned")
class HangsInForgetting(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        _NEVER.wait()
        return {}
