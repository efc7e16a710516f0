"""
Small good providers that take some of the writes of a host only: one target, or some actions.

They ignore or refuse the other writes; both is theirs to choose, since they declare it, or
since an error says it. The Hermes ones cannot declare.
"""

from typing import Any, ClassVar

from memproto.errors import WriteRefused
from tests.good.journal import Journal
from tests.hermes_shapes import HermesBase


class Targeted(Journal):
    """Stores writes alone, and ignores those that `mirrors` does not name."""

    name = "targeted"
    mirrors: ClassVar[dict[str, list[str]]] = {"user": ["add", "replace", "remove"]}

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "stores": ["writes"], "mirrors": self.mirrors}

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action not in self.mirrors.get(target, []):
            self._is_not_taken(target)
            return
        super().on_memory_write(action, target, content, old_text)

    def _is_not_taken(self, target: str) -> None:
        """Ignores what is not declared, as it may."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """It stores no turns."""


class Refusing(Targeted):
    """Says of what it does not take that it does not, and declares nothing of it."""

    name = "refusing"

    def capabilities(self) -> dict[str, Any]:
        declared = super().capabilities()
        return {key: declared[key] for key in declared if key not in ("stores", "mirrors")}

    def _is_not_taken(self, target: str) -> None:
        raise WriteRefused(f"notes to {target} are not kept here")


class HermesUser(HermesBase):
    """A Hermes provider that ignores what is not about the user, as several of that host do."""

    name = "hermes-user"
    target = "user"
    stores_turns = False

    def __init__(self) -> None:
        self._journal = Journal()

    def is_available(self) -> bool:
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        home = f"{kwargs['hermes_home']}/hermes-user"
        told = {
            key: kwargs[key] for key in ("limits", "protocol", "agent_context") if key in kwargs
        }
        self._journal.initialize(session_id, {**told, "home": home})

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        return self._journal.enrich_turn(query, []) or ""

    def sync_turn(self, user_content: str, assistant_content: str, *, session_id: str = "") -> None:
        if self.stores_turns:
            self._journal.on_turn_complete(user_content, assistant_content)

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        if target != self.target:
            self._is_not_taken(target)
        elif action == "add":
            self._journal.on_memory_write(action, target, content)

    def _is_not_taken(self, target: str) -> None:
        """It takes what is about the one target."""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Nothing of it depends on the turn."""

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Drops the words of subagents, which are not about the user."""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return []

    def shutdown(self) -> None:
        self._journal.shutdown()


class HermesNotes(HermesUser):
    """One that takes notes only, beside the turns."""

    name = "hermes-notes"
    target = "memory"
    stores_turns = True


class HermesRefusing(HermesUser):
    """One that says of the other target that it does not take it."""

    name = "hermes-refusing"

    def _is_not_taken(self, target: str) -> None:
        raise WriteRefused(f"notes to {target} are not kept here")
