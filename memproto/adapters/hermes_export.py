"""
A native provider as one of Hermes Agent, for `hermes.to_hermes`; docs/hermes.md tells the losses.

The adapter stands where a native host would, and keeps that host's promises: write hooks one at a
time and in order, deadlines, no writes in jobs, plain text, a home of the provider's own.
"""

import functools
import logging
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from memproto.adapters.coroutines import is_async
from memproto.adapters.hermes_base import base_class
from memproto.adapters.hermes_hosted import Hosted, author_of, has_hooks, hooks_called
from memproto.adapters.hermes_lane import Late
from memproto.adapters.hermes_served import SERVED
from memproto.adapters.texts import normalised, plain_text
from memproto.errors import InvalidLabel, NotAProvider, Unavailable
from memproto.fence import strip_memory_context
from memproto.operations import CORE_HOOKS
from memproto.types import is_label, is_of_bot

_log = logging.getLogger(__name__)

_BEST_EFFORT, _CHECKPOINT = 1, 2


def exported(provider: Any, *, name: str = "") -> Any:
    """As `hermes.to_hermes`, for a provider that did not come out of `from_hermes`."""
    if isinstance(provider, type):
        raise NotAProvider(f"{provider.__qualname__} is a class; an instance of it is expected")
    lacks = [hook for hook in CORE_HOOKS if not hasattr(provider, hook)]
    if lacks:
        raise NotAProvider(f"{type(provider).__qualname__} lacks {', '.join(lacks)}")
    for label in (provider.name, name or provider.name):
        if not is_label(label):
            raise InvalidLabel(f"{label!r} is no name: small letters, digits, - and _ are expected")
    return _built(_blocking(provider), name or provider.name)


def _blocking(provider: Any) -> Any:
    if not is_async(provider):
        return provider
    from memproto.adapters.aio import from_async  # few need it, and it brings asyncio

    return from_async(provider)


def _built(provider: Any, name: str) -> Any:
    served = tuple(SERVED[key] for key in SERVED if has_hooks(provider, key))
    base: Any = base_class()
    return _class(served, base)(provider, name)


@functools.cache
def _class(served: tuple[type, ...], base: Any) -> type:
    """The class for providers that have these extensions, so that its shape tells the truth."""
    return type(
        "Exported", (*served, Exported, base), {"__doc__": Exported.__doc__, "__module__": __name__}
    )


class Exported:
    """
    A native provider under a Hermes host; safe from any thread.

    A write that fails within a second raises; a longer one goes on behind the caller, in order,
    and its failure is logged. Recall that comes too late is nothing.
    """

    def __init__(self, provider: Any, name: str) -> None:
        self._hosted = Hosted(provider)
        self._name = name
        self._block = ""
        self._compressions = 0
        self._asked: tuple[str, str] = ("", "")
        self._has_recalled = False
        self._offered: dict[str, str] | None = None

    def __repr__(self) -> str:
        return f"to_hermes({self.wrapped!r})"

    @property
    def wrapped(self) -> Any:
        """The provider itself."""
        return self._hosted.provider

    @property
    def name(self) -> str:
        """Name by which the host knows it."""
        return self._name

    @property
    def pre_compress_checkpoint_api_version(self) -> int:
        """2 where the provider declared `checkpoint`, which it does in a session with a user."""
        return _CHECKPOINT if self._hosted.answers_for_compressing() else _BEST_EFFORT

    def is_available(self) -> bool:
        """Returns the provider's own answer, unchanged."""
        answer: bool = self.wrapped.is_available()
        return answer

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Opens the session; the provider's home is `memproto/NAME` below `hermes_home`."""
        self._compressions = 0
        self._block = ""
        self._hosted.open(session_id, kwargs, hooks_called(base_class()))

    def shutdown(self) -> None:
        """Ends the session: accepted writes first. Nothing is waited for beyond the budget."""
        try:
            self._hosted.close()
        except Late as late:
            _log.warning("%s: %s", self._name, late)
        finally:
            self._asked = ("", "")

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """No tools, where the provider has none."""
        return []

    # -- turns -------------------------------------------------------------------------------------

    def prefetch(self, query: str, *, session_id: str = "") -> Any:
        """
        Returns what is recalled within the budget, "" for nothing.

        Also "" for the very text that the host has taken as the block of the system prompt.
        """
        hosted, text = self._hosted, plain_text(query)
        self._asked, self._has_recalled = (text, _now()), False
        if not hosted.is_open:
            return ""
        try:
            found = hosted.recall(text)
        except Late as late:
            _log.warning("%s: %s", self._name, late)
            return ""
        self._has_recalled = bool(found) and found != self._block
        return found if self._has_recalled else ""

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Any] | None = None,
        turn_id: str = "",
        turn_author: object = None,
        **kwargs: Any,
    ) -> None:
        """
        Records the turn: by `record` with all that the host told, else by `on_turn_complete`.

        The words of a bot go by `record` alone: the other hook takes them for the user's.

        Raises what the provider raised within a second, and `Unavailable` without a session.
        """
        said = strip_memory_context(plain_text(user_content)), plain_text(assistant_content)
        author = author_of(turn_author)
        if not self._hosted.serves("record"):
            if not is_of_bot({"author": author}):
                self._hosted.write("on_turn_complete", *said)
            return
        query, asked_at = self._asked
        turn = {
            "turn_id": turn_id or uuid.uuid4().hex,
            "session_id": session_id or self._hosted.session_id,
            "started_at": asked_at if query == plain_text(user_content) else _now(),
            "ended_at": _now(),
            "user_message": said[0],
            "assistant_response": said[1],
        }
        told = {"messages": _of_the_turn(messages or ()), "author": author}
        known = {key: value for key, value in told.items() if value}
        self._hosted.write("record", turn | known)

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Mirrors the write; `old_text` comes out of `metadata`. Raises as `sync_turn`."""
        old_text = (metadata or {}).get("old_text")
        text = content or None if action == "remove" else content
        self._hosted.write("on_memory_write", action, target, text, old_text)

    # -- compression -------------------------------------------------------------------------------

    def on_pre_compress(
        self, messages: Sequence[Any], *, require_checkpoint: bool = False, **kwargs: Any
    ) -> str:
        """
        Hands over the messages as role and plain text; returns the notes for the summary.

        Raises what the provider raised: a checkpoint that failed is told so. In a context that is
        not the user's no checkpoint is asked for. Notes that failed are logged, and are none.
        """
        hosted = self._hosted
        if not hosted.is_open:
            return ""
        self._compressions += 1
        told, within_s = normalised(messages), hosted.budgets.compress_s / 2  # two hooks in one
        try:
            if hosted.is_told_of_compressing():
                hosted.ask("on_compress", told, self._compressions, within_s=within_s)
        except Late as late:
            raise Unavailable(str(late)) from None
        return self._notes(messages, within_s) if hosted.serves("compress_notes") else ""

    def _notes(self, messages: Sequence[Any], within_s: float) -> Any:
        try:
            return self._hosted.ask("compress_notes", normalised(messages), within_s=within_s)
        except Exception as error:  # the compression goes on without them
            _log.warning("%s: compress_notes failed: %s", self._name, type(error).__name__)
            return ""


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _of_the_turn(messages: Sequence[Any]) -> list[Any]:
    """The messages from the last one of the user on; a host hands over the whole conversation."""
    roles = [message.get("role") if isinstance(message, dict) else "" for message in messages]
    last = max((at for at, role in enumerate(roles) if role == "user"), default=len(roles))
    return [dict(message) for message in messages[last:] if isinstance(message, dict)]
