"""The hooks: when a host calls them, and what they do, is in the specification's chapters."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memproto import errors
from memproto.fence import strip_memory_context

from .store import Store

_ACTIONS = ["add", "replace", "remove"]


class ExampleMemory:
    """Keeps turns and memory writes, and recalls them by their words."""

    name = "example-memory"

    def is_available(self) -> bool:
        """True if a session could start, from settings and installed packages alone."""
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Start a session; the home, the user and the limits come from `config`."""
        self._user = config.get("user_id")
        self._room = config.get("limits", {}).get("recall_chars")
        kept = config.get("protocol", {}).get("contexts", ["primary"])
        self._is_kept = config.get("agent_context", "primary") in kept
        try:
            self._store = Store(Path(config["home"], "example-memory.db"))
        except (OSError, sqlite3.Error) as error:
            raise errors.Misconfigured(f"the home cannot be used: {error}") from error

    def capabilities(self) -> dict[str, Any]:
        """The provider's promises. They are judged, and what is left out is not."""
        return {
            "stores": ["turns", "writes"],
            "recall_basis": "query",
            "isolates": ["profile", "user"],
            "mirrors": {"memory": _ACTIONS, "user": _ACTIONS},
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        """Finds what is known about the message, or None; at most 5 s."""
        try:
            return "\n".join(self._store.search(self._user, user_message, self._room)) or None
        except sqlite3.Error:
            return None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Keep a turn, without the block that the host may have left in the message."""
        if self._is_kept:  # a job or a subagent: what it says is not the user's
            said = strip_memory_context(user_message)
            with _reported():
                self._store.add(self._user, "turn", f"{said}\n{assistant_response}")

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Do what the built-in memory tool did, or raise; never neither."""
        if not self._is_kept:
            return
        with _reported():
            if action == "add":
                self._store.add(self._user, target, content or "")
            elif action == "replace":
                self._store.replace(self._user, target, old_text or "", content or "")
            elif action == "remove":
                self._store.remove(self._user, target, old_text or "")
            else:
                raise errors.Rejected(f"the actions are {', '.join(_ACTIONS)}")

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Every turn is stored already."""

    def shutdown(self) -> None:
        """Every hook wrote before it returned, and nothing is open."""


@contextmanager
def _reported() -> Iterator[None]:
    """A write that fails says so by an error that the host knows."""
    try:
        yield
    except LookupError as error:
        raise errors.WriteRefused(str(error)) from error
    except sqlite3.Error as error:
        raise errors.Unavailable(f"example-memory.db cannot be used: {error}") from error
