"""
A small good provider of the Hermes binding, as a plugin directory: a journal behind Hermes hooks.

Its base class stands in for the host's, so that it loads without hermes-agent; it has every hook
that a host calls, and the plugin overrides those that it serves.
"""

import json
import os
from typing import Any

from tests.good.journal import Journal


class MemoryProvider:
    """Base class of a Hermes host, as a plugin that overrides nothing sees it."""

    def system_prompt_block(self) -> str:
        return ""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        return json.dumps({"error": f"there is no tool {tool_name}"})

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Nothing is fetched ahead."""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Nothing begins with a turn."""

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        return ""

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Nothing ends with a session."""

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """Every session has one store."""

    def on_delegation(self, task: str, result: str, **kwargs: Any) -> None:
        """Nothing is kept of delegated work."""

    def backup_paths(self) -> list[str]:
        return []


class Plugged(MemoryProvider):
    """Keeps turns and mirrored writes in a journal below the `hermes_home` that it gets."""

    name = "plugged"

    def __init__(self) -> None:
        self._journal = Journal()
        self._stores = True

    def is_available(self) -> bool:
        return True

    def identity_signature(self) -> dict[str, Any]:
        """Its settings name no writer and no alias."""
        return {"plugged.prefix": os.environ.get("PLUGGED_PREFIX", "")}

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        # Runs without a user, as those of a schedule, are not the user's memory.
        self._stores = kwargs.get("agent_context", "primary") == "primary"
        self._journal.initialize(session_id, {"home": self._home(**kwargs)})

    @staticmethod
    def _home(hermes_home: str = "", **_: Any) -> str:
        """The profile's directory, as the host hands it over; the variable only without that."""
        return hermes_home or os.environ["HERMES_HOME"]

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        return self._journal.enrich_turn(query, []) or ""

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Any = (),
        turn_author: dict[str, Any] | None = None,
    ) -> None:
        # Another agent of a shared chat tells nothing about the user.
        if self._stores and not (turn_author or {}).get("is_bot"):
            self._journal.on_turn_complete(user_content, assistant_content)

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        old_text = (metadata or {}).get("old_text")
        if self._stores:
            self._journal.on_memory_write(action, target, content, old_text)

    def shutdown(self) -> None:
        self._journal.shutdown()


def register(ctx: Any) -> None:
    """Hand the provider to the host."""
    ctx.register_memory_provider(Plugged())
