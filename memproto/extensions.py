"""
The extensions of the protocol, each a `typing.Protocol` of its own, for authors and hosts to check.

A provider serves an extension by having its hooks and naming it in `capabilities()["extensions"]`.
Every hook may come on any thread, in a session, unless its chapter of `spec/v1` says otherwise.
"""

from typing import Any, Protocol, runtime_checkable

from memproto.types import Message


@runtime_checkable
class ToolProvider(Protocol):
    """The extension `tools`: functions that the model may call. Spec: 61-tools.md."""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """
        Bare function schemas: `name`, `description`, `parameters`; within 5 s, without network.

        Spec: MP-TOOL-002 to MP-TOOL-007, MP-TOOL-010, MP-TOOL-012, MP-TOOL-015.
        """
        ...

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """
        Serve one call within 60 s; the result is one JSON document, errors included.

        May block. For what a model can write it raises nothing but `Unavailable`. Spec:
        MP-TOOL-001, MP-TOOL-008, MP-TOOL-009, MP-TOOL-011, MP-TOOL-013, MP-TOOL-014.
        """
        ...


@runtime_checkable
class Prewarming(Protocol):
    """The extension `prewarm`: recall that starts before it is asked for. Spec: 62-prewarm.md."""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Start to recall for the next turn, and return within 5 s. Spec: MP-PREWARM-001 to 004."""
        ...


@runtime_checkable
class TurnAware(Protocol):
    """The extension `turns`: told when a turn begins. Spec: 63-turn-start.md."""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Note that a turn begins, within 5 s; it stores nothing. Spec: MP-TSTART-001 to 004."""
        ...


@runtime_checkable
class SessionAware(Protocol):
    """The extension `sessions`: told of ends and switches. Spec: 64-sessions.md."""

    def on_session_end(self, messages: list[Message]) -> None:
        """
        Take what is left of a session that ends; may block, at most 15 s.

        `messages` may be empty, and the call may come twice. Spec: MP-SESS-001 to MP-SESS-005.
        """
        ...

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """
        Go on in another session: what comes later belongs there; may block, at most 15 s.

        Accepted texts stay with the session before. Spec: MP-SESS-005 to MP-SESS-010.
        """
        ...


@runtime_checkable
class Delegating(Protocol):
    """The extension `delegation`: told what subagents did. Spec: 66-delegation.md."""

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Take note of one delegated task; may block. Spec: MP-DELEG-001 to MP-DELEG-003."""
        ...


@runtime_checkable
class Configurable(Protocol):
    """
    The extension `config`: questions for set-up, and where the answers go. Spec: 67-config.md.

    `post_setup(home, config)` is an optional third hook.
    """

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Fields as in `config-field.schema.json`; before `initialize`, without network."""
        ...

    def save_config(self, values: dict[str, Any], home: str) -> None:
        """Save answers below `home`, where `initialize` reads them; no secret is among them."""
        ...


@runtime_checkable
class BackupProvider(Protocol):
    """The extension `backup`: state that lies outside the given home. Spec: 68-backup.md."""

    def backup_paths(self) -> list[str]:
        """Absolute paths; callable before `initialize` and without a network."""
        ...


@runtime_checkable
class PromptProvider(Protocol):
    """The extension `prompt`: a static, bounded block of the system prompt. Spec: 69-prompt.md."""

    def system_prompt_block(self) -> str:
        """The block, at most 32,000 characters; byte-equal for the whole session."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """The extension `status`: how recall fares. Spec: 71-status.md."""

    def recall_status(self) -> dict[str, Any]:
        """A document as in `recall-status.schema.json`: no credential, and nothing stored."""
        ...

    def unavailable_reason(self) -> str:
        """
        A sentence that says what is missing and what to do about it; "" if nothing is.

        Comes before `initialize` too, right after `is_available` answered False.
        """
        ...


@runtime_checkable
class SummaryNotes(Protocol):
    """The extension `compress_notes`: text for a summary. Spec: 72-compress-notes.md."""

    def compress_notes(self, messages: list[Message]) -> str:
        """Text that a summary of `messages` should hold, or ""; it is data, and no order."""
        ...


@runtime_checkable
class Checkpointing(Protocol):
    """
    The extension `checkpoint`: an exception from `on_compress` stops the compressor.

    It has no hook of its own, so that its shape says nothing; it counts where it is declared.
    Spec: 73-checkpoint.md.
    """

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Store all that the user said in `messages`, or raise a named error: they stay then."""
        ...


@runtime_checkable
class TurnRecording(Protocol):
    """The extension `record`: turns with id, author and times. Spec: 74-record.md."""

    def record(self, turn: dict[str, Any]) -> None:
        """Record a turn as in `recorded-turn.schema.json`, once for each `turn_id`; may block."""
        ...


@runtime_checkable
class ItemRecall(Protocol):
    """The extension `items`: recall as a list. Spec: 76-items.md."""

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a `recall-request` with `recall-items`, whole ones within its budget, in 5 s."""
        ...


@runtime_checkable
class PrivacyProvider(Protocol):
    """The extension `privacy`: show and remove what is stored. Spec: 77-privacy.md."""

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        """Everything that is stored in a scope; raises `Rejected` for one it cannot tell."""
        ...

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        """Remove it from every read path; gives how many are `removed` and how many `pending`."""
        ...


#: Extension name to its protocol.
EXTENSIONS: dict[str, type] = {
    "tools": ToolProvider,
    "prewarm": Prewarming,
    "turns": TurnAware,
    "sessions": SessionAware,
    "delegation": Delegating,
    "config": Configurable,
    "backup": BackupProvider,
    "prompt": PromptProvider,
    "status": Reporting,
    "compress_notes": SummaryNotes,
    "checkpoint": Checkpointing,
    "record": TurnRecording,
    "items": ItemRecall,
    "privacy": PrivacyProvider,
}
