"""The hooks of a Hermes provider, called by their own signatures, in the session of a host."""

import threading
from collections.abc import Mapping
from typing import Any

from memproto.adapters.hermes_releases import Release
from memproto.adapters.signatures import binding_of, call_with_accepted
from memproto.errors import ProviderError, Unavailable
from memproto.types import Message

_NO_KEYWORDS: Mapping[str, Any] = {}

#: Hook to its parameter that says whether a bot wrote the turn.
_AUTHORS = {"sync_turn": "turn_author", "on_turn_start": "author_is_bot"}

#: From this version of the checkpoint on, `on_pre_compress` that returns says that all is stored.
_CHECKPOINT = 2


class Session:
    """The provider, and what a host of a release knows about the session that it is in."""

    def __init__(self, provider: Any, release: Release) -> None:
        self.provider = provider
        self.release = release
        self.session_id = ""
        self.platform = ""
        self.user_id = ""

    def author(self, told: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """
        The author of a turn as a host of the release tells one; None where it tells none.

        A turn is the user's of the session, if it is known and nobody else is told.
        """
        if not self.release.names_authors:
            return None
        given = {"id": self.user_id} if told is None and self.user_id else told
        if not given:
            return None
        known = {"id": given.get("id"), "name": given.get("name")}
        return {**known, "is_bot": bool(given.get("is_bot"))}

    def takes_authors(self) -> bool:
        """True if the host tells authors, and a hook of the provider names a parameter for them."""
        return self.release.names_authors and any(
            parameter in binding_of(function).names
            for hook, parameter in _AUTHORS.items()
            if callable(function := self.hook(hook))
        )

    def hook(self, name: str) -> Any:
        """The hook as it is now, since some providers set hooks when they initialize."""
        return getattr(self.provider, name, None)

    def call(
        self,
        hook: str,
        positional: tuple[Any, ...] = (),
        keywords: Mapping[str, Any] = _NO_KEYWORDS,
        named: Mapping[str, Any] = _NO_KEYWORDS,
    ) -> Any:
        """Calls `hook` by its own signature; None where the provider lacks it."""
        function = self.hook(hook)
        if function is None:
            return None
        return call_with_accepted(function, positional, keywords, named)

    def write_metadata(self, old_text: str | None) -> dict[str, Any]:
        """A fresh mapping of where a write comes from, without empty values."""
        metadata = {
            "old_text": old_text if self.release.mirrors_removals else None,
            "session_id": self.session_id,
            "platform": self.platform,
            "write_origin": "memory_tool",
            "tool_name": "memory",
        }
        return {key: value for key, value in metadata.items() if value}


def is_checkpoint(provider: Any, release: Release) -> bool:
    """True if a provider says, and a host of `release` asks, that what is compressed is stored."""
    if not release.has_checkpoints:
        return False
    version = getattr(provider, "pre_compress_checkpoint_api_version", 1)
    return isinstance(version, int) and version >= _CHECKPOINT


class Compression:
    """
    One `on_pre_compress` for the two native hooks that share it.

    Called twice with the same messages, most providers would store them twice.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, int], Any] = {}

    def take(self, asker: str, messages: list[Message]) -> Any:
        """Returns the notes for `messages`; a call that the other hook made is used up."""
        other = "compress_notes" if asker == "on_compress" else "on_compress"
        # Before the call, which may change the messages; a fingerprint, to keep no copy of them.
        fingerprint = hash(repr(messages))
        with self._lock:
            if (other, fingerprint) in self._waiting:
                return self._waiting.pop((other, fingerprint))
        notes = self._notes(messages)
        with self._lock:
            self._waiting = {(asker, fingerprint): notes}
        return notes

    def _notes(self, messages: list[Message]) -> Any:
        """
        Calls the hook; of a checkpoint it is demanded, and every exception is then a report.

        Raises:
            Unavailable: The checkpoint failed, with an error that is none of `memproto.errors`.

        """
        if not is_checkpoint(self._session.provider, self._session.release):
            # A newer host says so to all; where storing is no promise, nobody insists on it.
            secured = {"require_checkpoint": False}
            return self._session.call("on_pre_compress", (messages,), named=secured)
        try:
            return self._session.call("on_pre_compress", (messages,), {"require_checkpoint": True})
        except ProviderError:
            raise
        except Exception as error:
            raise Unavailable(f"the checkpoint failed: {type(error).__name__}") from error


class Extensions:
    """Every extension hook of the Hermes binding, with the native parameters."""

    def __init__(self, session: Session, compression: Compression) -> None:
        self._session = session
        self._compression = compression

    def get_tool_schemas(self) -> Any:
        return bare_schemas(self._session.call("get_tool_schemas"))

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> Any:
        return self._session.call("handle_tool_call", (tool_name, args), kwargs)

    def queue_prefetch(self, query: str, *, session_id: str = "") -> Any:
        keywords = {"session_id": session_id or self._session.session_id}
        return self._session.call("queue_prefetch", (query,), keywords)

    def on_turn_start(
        self, turn_number: int, message: str, *, author: Any = None, **kwargs: Any
    ) -> Any:
        if self._session.release.names_authors:
            # Without an author the host says so: nobody, and no bot.
            known = self._session.author(author) or {"id": None, "name": None, "is_bot": False}
            kwargs = {**{f"author_{key}": value for key, value in known.items()}, **kwargs}
        return self._session.call("on_turn_start", (turn_number, message), kwargs)

    def on_session_end(self, messages: list[Message]) -> Any:
        return self._session.call("on_session_end", (messages,))

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> Any:
        # First, as the host does: later hooks belong to the new session even if this one raises.
        self._session.session_id = new_session_id
        return self._session.call("on_session_switch", (new_session_id,), kwargs)

    def on_delegation(self, task: str, result: str, **kwargs: Any) -> Any:
        return self._session.call("on_delegation", (task, result), kwargs)

    def get_config_schema(self) -> Any:
        return self._session.call("get_config_schema")

    def save_config(self, values: dict[str, Any], home: str) -> Any:
        return self._session.call("save_config", (values, home))

    def post_setup(self, home: str, config: dict[str, Any]) -> Any:
        return self._session.call("post_setup", (home, config))

    def backup_paths(self) -> Any:
        return self._session.call("backup_paths")

    def system_prompt_block(self) -> Any:
        return self._session.call("system_prompt_block")

    def recall_status(self) -> Any:
        return self._session.call("recall_status")

    def unavailable_reason(self) -> Any:
        return self._session.call("unavailable_reason")

    def compress_notes(self, messages: list[Message]) -> Any:
        return self._compression.take("compress_notes", messages)


def bare_schemas(schemas: Any) -> Any:
    """Tool schemas without the wrapping of the function-calling format."""
    return [_bare(schema) for schema in schemas] if isinstance(schemas, list) else schemas


def _bare(schema: Any) -> Any:
    if not isinstance(schema, dict) or schema.get("type") != "function":
        return schema
    inner = schema.get("function")
    return inner if isinstance(inner, dict) else schema
