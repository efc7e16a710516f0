"""The rows of `registry.py` for hermes-agent's MemoryManager, where it is installed."""

import importlib.metadata
from collections.abc import Callable
from typing import Any


def peer(providers: int = 1) -> tuple[Any, str]:
    """
    A MemoryManager with providers that do nothing, or None; and its version, or why not.

    It takes one provider beside a builtin one; further ones are put into its list.
    """
    try:
        version = importlib.metadata.version("hermes-agent")
        from agent.memory_manager import MemoryManager  # type: ignore[import-not-found]
        from agent.memory_provider import MemoryProvider  # type: ignore[import-not-found]
    except ImportError as error:  # PackageNotFoundError is one
        return None, f"hermes-agent is not installed ({error})"
    manager = MemoryManager()
    manager.add_provider(_no_op(MemoryProvider)())
    manager._providers += [_no_op(MemoryProvider)() for _ in range(providers - 1)]  # noqa: SLF001
    manager.initialize_all("benchmark", platform="cli")
    return manager, version


def _no_op(base: type) -> Callable[[], Any]:
    class NoOp(base):  # type: ignore[misc]
        """A provider that does nothing, in the Hermes dialect."""

        name = "noop"

        def is_available(self) -> bool:
            """Always."""
            return True

        def initialize(self, session_id: str, **kwargs: Any) -> None:
            """Nothing to do."""

        def get_tool_schemas(self) -> list[Any]:
            """None."""
            return []

        def prefetch(self, query: str, *, session_id: str = "") -> str:
            """Knows nothing."""
            return ""

        def sync_turn(self, user_content: str, assistant_content: str, **_: Any) -> None:
            """Nothing to do."""

    return NoOp
