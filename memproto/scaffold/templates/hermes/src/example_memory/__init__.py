"""The memory provider example-memory, as a plugin of Hermes Agent."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

from agent.memory_provider import MemoryProvider

from .store import Store


class ExampleMemory(MemoryProvider):
    """Keeps turns and memory writes, and recalls them by their words."""

    @property
    def name(self) -> str:
        """The name of the plugin's directory and of `memory.provider` in config.yaml."""
        return "example-memory"

    def is_available(self) -> bool:
        """True if a session could start, from settings and installed packages alone."""
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Start a session of the profile whose directory is `hermes_home`."""
        home = Path(kwargs.get("hermes_home") or os.environ["HERMES_HOME"])
        self._user = kwargs.get("user_id")
        # The words of a schedule or a subagent are not the user's.
        self._is_kept = kwargs.get("agent_context", "primary") == "primary"
        self._store = Store(home / "example-memory.db")

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """Finds what is known about the message, or nothing; at most 5 s."""
        try:
            return "\n".join(self._store.search(self._user, query, None))
        except sqlite3.Error:
            return ""

    def sync_turn(
        self, user_content: str, assistant_content: str, *, session_id: str = "", **kwargs: Any
    ) -> None:
        """Keep a turn, without the block that the host may have left in the message."""
        if self._is_kept:
            said = _own_words(user_content)
            self._store.add(self._user, "turn", f"{said}\n{assistant_content}")

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        """Do what the built-in memory tool did, also where a release tells no old text."""
        if not self._is_kept:
            return
        old = (metadata or {}).get("old_text") or ""
        if action in ("replace", "remove"):
            self._forget(target, old)
        if action in ("add", "replace"):
            self._store.add(self._user, target, content)

    def _forget(self, target: str, old: str) -> None:
        try:
            self._store.remove(self._user, target, old)
        except LookupError:
            return  # nothing of that kind is kept here

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """No tools: recall comes by itself."""
        return []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """There is none to call."""
        return json.dumps({"error": f"there is no tool {tool_name}"})

    def shutdown(self) -> None:
        """Every hook wrote before it returned, and nothing is open."""


def register(ctx: Any) -> None:
    """Hand the provider to the host."""
    ctx.register_memory_provider(ExampleMemory())


def _own_words(message: str) -> str:
    ends = message.rstrip().endswith("</memory-context>")
    return message.partition("<memory-context>\n[System note:")[0] if ends else message
