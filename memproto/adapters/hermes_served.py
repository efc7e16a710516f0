"""The extensions that a Hermes host has hooks for, each a class that `to_hermes` mixes in."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from memproto.adapters.hermes_base import RESERVED_TOOLS
from memproto.adapters.hermes_hosted import Hosted
from memproto.adapters.hermes_lane import Late
from memproto.adapters.texts import normalised, plain_text


@dataclasses.dataclass(frozen=True, slots=True)
class RecallStatus:
    """Status of the last recall, as newer hosts show it; they read these attributes."""

    provider_label: str
    count: int
    glyph: str = "🧠"


class _Part:
    """Members that each class here needs of the adapter that it is mixed into."""

    _hosted: Hosted
    _name: str
    _block: str
    _has_recalled: bool
    _offered: dict[str, str] | None


class ExportedTools(_Part):
    """`tools`. A name that the host keeps for itself goes by the provider's name and its own."""

    def get_tool_schemas(self) -> Any:
        """
        The provider's schemas; in a session those that it declares, and no new ones.

        Before a session none, where the provider cannot tell them yet.
        """
        hosted = self._hosted
        if not hosted.is_open:
            self._offered = {}
            try:
                schemas = hosted.ask("get_tool_schemas")
            except Exception:  # natively nobody asks before the session
                return []
            return self._routed(schemas)
        if not hosted.serves("tools"):
            return []
        return self._routed(hosted.ask("get_tool_schemas"), hosted.declared.get("tool_names"))

    def _routed(self, schemas: Any, declared: Any = None) -> Any:
        """The schemas under the names that the host routes by."""
        if not isinstance(schemas, list):
            return schemas
        is_first = declared is None or self._offered is None
        routes = {} if is_first else self._offered or {}
        found = []
        for schema in schemas:
            name = schema["name"]
            theirs = _their_name(name, str(self._hosted.provider.name))
            is_offered = is_first or theirs in routes
            if is_offered and (declared is None or name in declared):
                routes[theirs] = name
                found.append(schema | {"name": theirs})
        self._offered = routes
        return found

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> Any:
        """Returns what the tool answers in time; a document that says so where it is late."""
        hosted = self._hosted
        name = (self._offered or {}).get(tool_name, tool_name)
        if not hosted.serves("tools"):
            return json.dumps({"error": f"{tool_name} is not served"})
        hook = hosted.provider.handle_tool_call
        try:
            return hosted.ask_beside(
                "handle_tool_call", lambda: hook(name, args, **kwargs), hosted.budgets.tool_s
            )
        except Late as late:
            return json.dumps({"error": str(late)})


def _their_name(name: str, provider: str) -> str:
    return f"{provider}_{name}" if name in RESERVED_TOOLS else name


class ExportedPrewarming(_Part):
    """`prewarm`."""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Has the provider begin to recall for the next turn."""
        if self._hosted.serves("prewarm"):
            told = session_id or self._hosted.session_id
            self._hosted.ask("queue_prefetch", plain_text(query), session_id=told)


class ExportedTurns(_Part):
    """`turns`."""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Says that a turn begins."""
        if self._hosted.serves("turns"):
            self._hosted.ask("on_turn_start", turn_number, plain_text(message), **kwargs)


class ExportedSessions(_Part):
    """`sessions`: ends and switches are queued behind the writes."""

    def on_session_end(self, messages: Sequence[Any]) -> None:
        """Says that the session ends, with its messages as role and plain text."""
        if self._hosted.serves("sessions"):
            self._hosted.write("on_session_end", normalised(messages or ()))

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Says that what comes belongs to another session."""
        if self._hosted.serves("sessions"):
            told = {"parent_session_id": parent_session_id, "reset": reset, "rewound": rewound}
            self._hosted.switch(new_session_id, **told, **kwargs)


class ExportedDelegation(_Part):
    """`delegation`."""

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Tells what a subagent was asked, and what it answered; a write as others."""
        if self._hosted.serves("delegation"):
            told = plain_text(task), plain_text(result)
            self._hosted.write("on_delegation", *told, child_session_id=child_session_id, **kwargs)


class ExportedConfig(_Part):
    """`config`: the host asks the questions, and the answers go to the provider's own home."""

    def get_config_schema(self) -> Any:
        """The provider's questions, unchanged."""
        return self._hosted.provider.get_config_schema()

    def save_config(self, values: dict[str, Any], hermes_home: str) -> None:
        """
        Saves the answers where `initialize` reads them, and has `post_setup` run after that.

        The hook of that name is not the host's: Hermes would ask no questions beside it.
        """
        provider, home = self._hosted.provider, str(self._hosted.home_in(hermes_home))
        provider.save_config(values, home)
        if callable(getattr(provider, "post_setup", None)):
            provider.post_setup(home, dict(values))


class ExportedBackup(_Part):
    """`backup`."""

    def backup_paths(self) -> Any:
        """The provider's own answer; its home is below the host's, which is saved anyway."""
        return self._hosted.provider.backup_paths()


class ExportedPrompt(_Part):
    """`prompt`."""

    def system_prompt_block(self) -> Any:
        """The block, "" where none is served."""
        block = self._hosted.ask("system_prompt_block") if self._hosted.serves("prompt") else ""
        self._block = block if isinstance(block, str) else ""
        return block


class ExportedStatus(_Part):
    """`status`: the reason, and as much of the status as a host shows."""

    def recall_status(self) -> RecallStatus | None:
        """Number of items that the last recall brought, if the provider says so; else None."""
        if not (self._has_recalled and self._hosted.serves("status")):
            return None
        count = self._hosted.ask("recall_status").get("recalled")
        return RecallStatus(self._name, count) if isinstance(count, int) and count > 0 else None

    def unavailable_reason(self) -> Any:
        """The provider's own answer, unchanged."""
        return self._hosted.ask("unavailable_reason")


#: Extension to the class that serves it under a Hermes host.
SERVED: dict[str, type] = {
    "tools": ExportedTools,
    "prewarm": ExportedPrewarming,
    "turns": ExportedTurns,
    "sessions": ExportedSessions,
    "delegation": ExportedDelegation,
    "config": ExportedConfig,
    "backup": ExportedBackup,
    "prompt": ExportedPrompt,
    "status": ExportedStatus,
}
