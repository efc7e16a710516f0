"""A native provider under Hermes hooks that add nothing, so that the host behind them is seen."""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from memproto.adapters.hermes_base import MemoryProvider
from memproto.operations import OPERATIONS

#: Native hook to the extension that it is of; a Hermes provider has no hook that it does not serve.
_EXTENSION_OF = {row.native: row.extension for row in OPERATIONS.values() if row.extension}


class Bridge(MemoryProvider):
    """Hands each call on, on the caller's thread; what the provider raises comes through."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._compressions = 0
        self._declared: Collection[str] | None = None

    @property
    def name(self) -> Any:
        """The provider's own."""
        return self._provider.name

    def _extension(self, hook: str, default: Callable[..., Any]) -> Callable[..., Any]:
        found = getattr(self._provider, hook, None)
        is_served = self._declared is None or _EXTENSION_OF[hook] in self._declared
        return found if callable(found) and is_served else default

    # -- the core ---------------------------------------------------------------------------------

    def is_available(self) -> Any:
        """The provider's own answer."""
        return self._provider.is_available()

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """With the keywords as its config; what it declares, Hermes does not ask."""
        kwargs.pop("hermes_home", None)
        self._provider.initialize(session_id, kwargs)
        with contextlib.suppress(Exception):
            # Kept as a copy, as a host has to: what the provider changes later changes nothing.
            self._declared = tuple(self._provider.capabilities().get("extensions", ()))

    def shutdown(self) -> None:
        """Handed on."""
        self._provider.shutdown()

    def prefetch(self, query: str, *, session_id: str = "") -> Any:
        """Handed on, without a conversation."""
        found = self._provider.enrich_turn(query, [])
        return "" if found is None else found

    def sync_turn(self, user_content: str, assistant_content: str, **kwargs: Any) -> None:
        """Handed on."""
        self._provider.on_turn_complete(user_content, assistant_content)

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Handed on; an empty text of a removal is none."""
        old_text = (metadata or {}).get("old_text")
        text = content or None if action == "remove" else content
        self._provider.on_memory_write(action, target, text, old_text)

    def on_pre_compress(self, messages: Sequence[Any], **kwargs: Any) -> Any:
        """Both native hooks of a compression."""
        self._compressions += 1
        self._provider.on_compress(messages, self._compressions)
        return self._extension("compress_notes", lambda messages: "")(messages)

    # -- extensions -------------------------------------------------------------------------------

    def system_prompt_block(self) -> Any:
        """Handed on."""
        return self._extension("system_prompt_block", super().system_prompt_block)()

    def get_tool_schemas(self) -> Any:
        """Handed on."""
        return self._extension("get_tool_schemas", super().get_tool_schemas)()

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> Any:
        """Handed on."""
        hook = self._extension("handle_tool_call", super().handle_tool_call)
        return hook(tool_name, args, **kwargs)

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Handed on."""
        self._extension("on_turn_start", super().on_turn_start)(turn_number, message, **kwargs)

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Handed on."""
        self._extension("queue_prefetch", super().queue_prefetch)(query, session_id=session_id)

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Handed on."""
        hook = self._extension("on_delegation", super().on_delegation)
        hook(task, result, child_session_id=child_session_id, **kwargs)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """Handed on."""
        self._extension("on_session_switch", super().on_session_switch)(new_session_id, **kwargs)

    def on_session_end(self, messages: Sequence[Any]) -> None:
        """Handed on."""
        self._extension("on_session_end", super().on_session_end)(messages)

    def backup_paths(self) -> Any:
        """Handed on."""
        return self._extension("backup_paths", super().backup_paths)()
