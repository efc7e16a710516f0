"""Stand-in of `agent.memory_provider`: the base class of a provider, and its helpers."""

import abc
import contextvars
import dataclasses
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memproto.adapters import hermes_base

#: The version of the checkpoint that is a promise.
PRE_COMPRESS_CHECKPOINT_API_VERSION = 2

#: The mark before the line that tells of a recall.
INDICATOR_GLYPH = "\N{BRAIN}"

#: Parts of an answer of `prefetch` that a host keeps at most.
_MOST_OBSERVATIONS = 16

#: Words of a greeting or of an acknowledgement, which no recall is made for.
TRIVIAL_PROMPT_RE = re.compile(
    r"(y|n|k|yes|no|ok|okay|sure|yep|nope|yeah|nah|thanks|thank you|hi|hey|hello|yo|sup|continue"
    r"|go ahead|do it|proceed|got it|cool|nice|great|done|next|lgtm)[^\w]*$",
    re.IGNORECASE,
)


def ctx_bound(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, which runs in the context variables that the caller of this has now."""
    context = contextvars.copy_context()

    def bound(*args: Any, **kwargs: Any) -> Any:
        return context.run(fn, *args, **kwargs)

    return bound


def spawn_context_thread(
    target: Callable[..., Any],
    *,
    name: str,
    daemon: bool = True,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> threading.Thread:
    """A thread, not started yet, that runs `target` in the caller's context variables."""
    bound = ctx_bound(target)
    return threading.Thread(target=bound, name=name, daemon=daemon, args=args, kwargs=kwargs)


def is_trivial_prompt(text: str | None) -> bool:
    """True if a text is empty, a command, a greeting or an acknowledgement."""
    said = (text or "").strip()
    return not said or said.startswith("/") or TRIVIAL_PROMPT_RE.match(said) is not None


def is_core_memory_provider(name: str | None) -> bool:
    """True if the setting `memory.provider` names the host's own memory."""
    return str(name or "").strip().lower() in {"", "default", "builtin", "built-in", "none"}


@dataclasses.dataclass(frozen=True)
class RecallStatus:
    """The result of the last recall; a `count` of 0 stands for text that has no number."""

    provider_label: str
    count: int
    glyph: str = INDICATOR_GLYPH


@dataclasses.dataclass(frozen=True)
class MemoryObservation:
    """A part of an answer of `prefetch` for whoever observes recalls."""

    source_kind: str
    schema: str
    version: int
    payload: Any
    provider: str = ""


@dataclasses.dataclass(frozen=True)
class MemoryPrefetchResult:
    """
    An answer of `prefetch` that is more than its text.

    Raises:
        TypeError: `observations` is no list or tuple.

    """

    context: str = ""
    observations: Sequence[MemoryObservation] | None = ()

    def __post_init__(self) -> None:
        given = () if self.observations is None else self.observations
        if not isinstance(given, list | tuple):
            raise TypeError("observations is no list or tuple")
        object.__setattr__(self, "observations", tuple(given[:_MOST_OBSERVATIONS]))


class MemoryProvider(abc.ABC):
    """The base class: four hooks that a provider has to have, and others that do nothing."""

    pre_compress_checkpoint_api_version = 1

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The provider's name."""

    @abc.abstractmethod
    def is_available(self) -> bool:
        """True if it is configured; asks no network."""

    @abc.abstractmethod
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Open a session."""

    @abc.abstractmethod
    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Its tools."""

    def unavailable_reason(self) -> str:
        """Nothing to say."""
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> Any:
        """Recall nothing."""
        return ""

    def recall_status(self) -> RecallStatus | None:
        """Nothing was recalled."""
        return None

    def sync_turn(  # noqa: B027 - a provider may leave it as it is
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
        turn_author: dict[str, Any] | None = None,
    ) -> None:
        """Store nothing."""

    def identity_signature(self) -> dict[str, Any]:
        """Nothing by which its identity could change."""
        return {}

    def on_memory_write(  # noqa: B027 - a provider may leave it
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        """Mirror nothing."""

    def shutdown(self) -> None:  # noqa: B027 - as above
        """Hold nothing."""

    # The hooks that the export has as well.
    system_prompt_block = hermes_base.MemoryProvider.system_prompt_block
    handle_tool_call = hermes_base.MemoryProvider.handle_tool_call
    on_turn_start = hermes_base.MemoryProvider.on_turn_start
    queue_prefetch = hermes_base.MemoryProvider.queue_prefetch
    on_delegation = hermes_base.MemoryProvider.on_delegation
    on_session_switch = hermes_base.MemoryProvider.on_session_switch
    on_pre_compress = hermes_base.MemoryProvider.on_pre_compress
    on_session_end = hermes_base.MemoryProvider.on_session_end
    get_config_schema = hermes_base.MemoryProvider.get_config_schema
    save_config = hermes_base.MemoryProvider.save_config
    backup_paths = hermes_base.MemoryProvider.backup_paths


# -- earlier releases ------------------------------------------------------------------------------


class _Of019:
    """Hooks that take less in 0.19."""

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
    ) -> None:
        """Store nothing."""


class _Of013:
    """Hooks that take less in 0.13."""

    def sync_turn(self, user_content: str, assistant_content: str, *, session_id: str = "") -> None:
        """Store nothing."""

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        **kwargs: Any,
    ) -> None:
        """Keep nothing by session."""


def earlier(release: str) -> dict[str, Any]:
    """Hook to the one that the base class of an earlier release has in its place."""
    kind = {"0.13": _Of013, "0.19": _Of019}.get(release)
    members = {} if kind is None else vars(kind)
    return {name: member for name, member in members.items() if not name.startswith("_")}
