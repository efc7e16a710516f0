"""The registry's events: a callback and the log. Neither ever holds user text."""

import collections
import logging
import threading
from collections.abc import Callable
from typing import Any

from memproto.errors import Misconfigured
from memproto.types import Event, EventOutcome

logger = logging.getLogger("memproto.registry")

_TYPE_NAME = type.__dict__["__name__"].__get__
_EXPECTED = ("ok", "cancelled")
_LONGEST_NAME = 80
_LONGEST_REASON = 200


def is_users_interrupt(error: BaseException) -> bool:
    """True if `error` is the user's Ctrl-C, which no isolation may swallow."""
    on_main = threading.current_thread() is threading.main_thread()
    return on_main and issubclass(type(error), KeyboardInterrupt)


def type_name(value: object) -> str:
    """
    Returns the name of the type of `value`, or `?` where that is no plain name.

    Runs no code of the value's type, and lets no text pass that was made up at run time.
    """
    name = _TYPE_NAME(type(value))
    plain = type(name) is str and name.isidentifier() and len(name) <= _LONGEST_NAME
    return name if plain else "?"


def operators_reason(error: object) -> str:
    """As `type_name`; with the message of a `Misconfigured`, which is written for the operator."""
    if not issubclass(type(error), Misconfigured):
        return type_name(error)
    message, failed = attempt(str, error)
    return type_name(error) if failed else f"{type_name(error)}: {message[:_LONGEST_REASON]}"


def attempt(
    function: Callable[..., Any], *args: Any, describe: Callable[[object], str] = type_name
) -> tuple[Any, str]:
    """
    Returns what `function` returns and "", or None and what `describe` says of what it raised.

    The exception itself is not kept: its frames would keep the arguments alive.
    """
    try:
        return function(*args), ""
    except BaseException as error:
        if is_users_interrupt(error):
            raise
        return None, describe(error)


class EventSink:
    """
    Sends events to the log and to the host's callback, on the thread on which they happen.

    An outcome other than `ok` and `cancelled` is a warning. An exception that the callback or a log
    handler raises is dropped, the user's interrupt excepted.
    """

    def __init__(self, on_event: Callable[[Event], None] | None) -> None:
        self._on_event = on_event
        # Held for two additions, which are several steps each. Reentrant: a signal handler may end
        # the registry between them, and its events are counted on the same thread. An addition that
        # was interrupted goes on from the old number and loses the handler's; counters may be short
        # by that, and nothing else depends on them.
        self._lock = threading.RLock()
        self._told: collections.Counter[tuple[str, str, str]] = collections.Counter()
        self._lost: collections.Counter[str] = collections.Counter()

    def emit(
        self,
        hook: str,
        provider: str,
        outcome: EventOutcome,
        took_s: float = 0.0,
        detail: str = "",
        *,
        lost: int = 0,
    ) -> None:
        """Count and send one event; never raises but for the user's interrupt."""
        with self._lock:
            self._told[provider, hook, outcome] += 1
            self._lost[provider] += lost
        try:
            level = logging.DEBUG if outcome in _EXPECTED else logging.WARNING
            if self._on_event is None and not logger.isEnabledFor(level):
                return
            self._send(level, Event(hook, provider, outcome, took_s, detail, lost))
        except BaseException as error:
            if is_users_interrupt(error):
                raise

    def counts(self, provider: str) -> dict[str, dict[str, int]]:
        """Hook to outcome to how often that was told of `provider`."""
        with self._lock:
            told = dict(self._told)
        found: dict[str, dict[str, int]] = {}
        for (label, hook, outcome), count in told.items():
            if label == provider:
                found.setdefault(hook, {})[outcome] = count
        return found

    def lost(self, provider: str) -> int:
        """Number of accepted calls of `provider` that were given up."""
        return self._lost[provider]

    def _send(self, level: int, event: Event) -> None:
        try:
            text = "%s of %s: %s after %.3f s%s%s"
            detail = f" ({event.detail})" if event.detail else ""
            lost = f", accepted calls lost: {event.lost}" if event.lost else ""
            logger.log(
                level, text, event.hook, event.provider, event.outcome, event.took_s, detail, lost
            )
        finally:
            if self._on_event is not None:
                self._on_event(event)
