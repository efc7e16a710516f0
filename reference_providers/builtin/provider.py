"""The provider: a session's view on the files, and the hooks that the protocol names."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from memproto.errors import Unavailable
from memproto.types import SPEC_VERSION, Capabilities, Message

from . import prompt, tool, transfer
from .settings import Settings
from .store import Store


@dataclasses.dataclass(frozen=True, slots=True)
class _Session:
    """Values that `initialize` fixed. The files are opened by each call, and closed by it."""

    stores: Mapping[str, Store]
    snapshot: str
    recalled: str


class BuiltinMemoryProvider:
    """
    The bounded memory that an agent always sees: MEMORY.md and one USER.md per user.

    Stores what the memory tool writes, nothing of a turn and nothing of a compression: the model
    decides what is kept, and the limits make it decide. Every hook may be called on any thread and
    beside any other; no thread is started, no connection opened, nothing kept in the process
    between two calls but what `initialize` fixed.
    """

    def __init__(self) -> None:
        self._session: _Session | None = None

    @property
    def name(self) -> str:
        """`builtin`. Spec: MP-NAME-001."""
        return "builtin"

    def is_available(self) -> bool:
        """True: it needs nothing but the directory that `initialize` is given."""
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Create the home where there is none, and freeze the snapshot of both files.

        Args:
            session_key: Not used: sessions of one profile share the memory.
            config: `home`; and, each optional, `user_id`, `memory_enabled`,
                `user_profile_enabled`, `memory_char_limit`, `user_char_limit`, `protocol`,
                `limits`.

        Raises:
            Misconfigured: A value is wrong; the message names key, fault and fix.

        A file that cannot be read is no error here: the snapshot says so.

        """
        settings = Settings.of(config)
        stores = settings.stores()
        parts = prompt.sections(stores)
        recalled = prompt.block(parts, settings.recall_chars)
        if settings.host_takes_prompt:
            recalled = ""
        self._session = _Session(stores, prompt.block(parts), recalled)

    def shutdown(self) -> None:
        """Let go of the session; every accepted write is on disk already. Never raises."""
        self._session = None

    def capabilities(self) -> Capabilities:
        """Declarations of this instance, as in `schemas/capabilities.schema.json`."""
        targets = tool.TARGETS if self._session is None else tuple(self._session.stores)
        return {
            "spec_version": SPEC_VERSION,
            "tool_names": {tool.NAME} if targets else set(),
            "suppresses_local_writes": False,
            "extensions": ["tools", "prompt", "backup"] if targets else ["prompt", "backup"],
            "stores": ["writes", "tools"] if targets else [],
            "retention": "verbatim",
            "recall_basis": "session",
            "consistency": "immediate",
            "isolates": ["profile"],
            "mirrors": {target: list(tool.WRITE_ACTIONS) for target in targets},
            "single_writer": False,
        }

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """
        Return the snapshot, the same for every turn; None where it is empty.

        Entries that do not fit into `limits.recall_chars`, where the host has it, are left out.
        None as well where the host takes `system_prompt_block`: the text would stand there twice.

        Raises:
            Unavailable: There is no session.

        """
        return self._opened().recalled or None

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
    ) -> None:
        """
        Do one write of the host's memory tool. It is on disk when this returns.

        Text that is stored already is accepted and stored once. A removal without `old_text` takes
        `content` for it.

        Raises:
            Rejected: The action, the target or a needed text is missing or unknown.
            WriteRefused: Full, ambiguous, not found, switched off, or the file is damaged.
            TooLarge: The content alone is over the limit.
            Unavailable: There is no session, or the file system refuses.

        """
        stores = self._opened().stores
        if action == "remove" and old_text is None:
            old_text = content
        tool.write(stores, action, target, content, old_text)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Do nothing, by design: `stores` does not name turns."""

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Do nothing, by design: what the model did not write down is not kept."""

    # -- extensions: tools, prompt, backup ---------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the schema of the `memory` tool; none where both targets are switched off."""
        session = self._session
        return [tool.schema()] if session is None or session.stores else []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """
        Serve one call of the `memory` tool; never raises for what the model sent.

        Returns a JSON object: `success`, and `error` where it is false; else `target`, `usage`,
        `entry_count`, a `note` or the `entries`. An ambiguous snippet brings `matches`.
        """
        session = self._session
        if session is None:
            return tool.as_json({"success": False, "error": _NO_SESSION})
        return tool.call(session.stores, tool_name, args)

    def system_prompt_block(self) -> str:
        """
        Return the snapshot fixed at `initialize`: byte-equal for the session, "" where empty.

        Raises:
            Unavailable: There is no session.

        """
        return self._opened().snapshot

    def backup_paths(self) -> list[str]:
        """Return no path: everything lies in the given home."""
        return []

    # -- moving the memory -------------------------------------------------------------------------

    def export_memory(self) -> str:
        """Return this session's memory as a JSON document. Raises as `transfer`."""
        return transfer.export_document(self._opened().stores)

    def import_memory(self, document: str | bytes) -> dict[str, int]:
        """Add what `export_memory` gave; how many entries were new, by target."""
        return transfer.import_document(self._opened().stores, document)

    def _opened(self) -> _Session:
        session = self._session
        if session is None:
            raise Unavailable(_NO_SESSION)
        return session


_NO_SESSION = "the provider has no session: it was not initialized, or it was shut down"
