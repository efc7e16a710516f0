"""
The base class of Hermes providers: the installed host's, or a stand-in of the same hooks.

And what the two dialects call differently: hooks, keys of the configuration, names of tools.
"""

import importlib
from collections.abc import Sequence
from typing import Any

#: Operation to the hook of a Hermes provider that serves it; others have none.
HOOKS = {
    "name": "name",
    "available": "is_available",
    "open": "initialize",
    "recall": "prefetch",
    "record": "sync_turn",
    "mirror": "on_memory_write",
    "compress": "on_pre_compress",
    "close": "shutdown",
    "tools": "get_tool_schemas",
    "call_tool": "handle_tool_call",
    "prewarm": "queue_prefetch",
    "turn_start": "on_turn_start",
    "end": "on_session_end",
    "switch": "on_session_switch",
    "delegation": "on_delegation",
    "config_schema": "get_config_schema",
    "save_config": "save_config",
    "backup": "backup_paths",
    "prompt": "system_prompt_block",
    "status": "recall_status",
    "unavailable_reason": "unavailable_reason",
    "compress_notes": "on_pre_compress",
}

#: Keys of a native configuration that a Hermes `initialize` does not get.
NATIVE_CONFIG = frozenset({"home", "host_home", "protocol", "deadlines", "limits"})

#: Native key of a configuration to the Hermes one, where they differ.
RENAMED_CONFIG = {"workspace": "agent_workspace"}

#: The tools of the host itself, in every release from 0.13 to 0.19; see spec/v1/61-tools.md.
RESERVED_TOOLS = frozenset(
    {
        *("web_search", "web_extract", "terminal", "process", "read_file", "write_file", "patch"),
        *("search_files", "vision_analyze", "image_generate", "text_to_speech", "todo", "memory"),
        *("skills_list", "skill_view", "skill_manage", "session_search", "clarify", "cronjob"),
        *("execute_code", "delegate_task", "browser_navigate", "browser_snapshot"),
        *("browser_click", "browser_type", "browser_scroll", "browser_back", "browser_press"),
        *("browser_get_images", "browser_vision", "browser_console", "browser_cdp"),
        *("browser_dialog", "ha_list_entities", "ha_get_state", "ha_list_services"),
        *("ha_call_service", "kanban_show", "kanban_list", "kanban_complete", "kanban_block"),
        *("kanban_heartbeat", "kanban_comment", "kanban_create", "kanban_link"),
    }
)


def base_class() -> type[Any]:
    """The `MemoryProvider` of the hermes-agent that can be imported here, else the stand-in."""
    try:
        found = getattr(importlib.import_module("agent.memory_provider"), "MemoryProvider", None)
    except Exception:  # not installed, or not whole: what it lacks is its own affair
        found = None
    return found if isinstance(found, type) else MemoryProvider


class MemoryProvider:
    """A stand-in for the host's base class: each hook that a host calls, doing nothing."""

    def system_prompt_block(self) -> str:
        """Nothing for the system prompt."""
        return ""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """No tools."""
        return []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Fails: there are no tools."""
        raise NotImplementedError(f"no tool {tool_name} is served")

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Takes no note of it."""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Prepares nothing."""

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Takes no note of it."""

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Keeps nothing by session."""

    def on_pre_compress(self, messages: Sequence[Any]) -> str:
        """Nothing for the summary."""
        return ""

    def on_session_end(self, messages: Sequence[Any]) -> None:
        """Has nothing left to take."""

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Asks nothing."""
        return []

    def save_config(self, values: dict[str, Any], hermes_home: str) -> None:
        """Saves nothing."""

    def backup_paths(self) -> list[str]:
        """Everything is below the host's home."""
        return []
