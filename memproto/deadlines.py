"""
Time as the registry sees it: an injected monotonic clock, absolute deadlines, budgets in seconds.

The bounds on waiting writes are here too.

A wall clock is never read here; it may jump or stand still without any effect.
"""

import dataclasses
import math
import threading
import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock that can also wait, so that a test may own both."""

    def now(self) -> float:
        """Seconds since some fixed moment; never decreases."""
        ...

    def wait(self, condition: threading.Condition, until: float) -> None:
        """
        Wait on `condition`, which the caller holds, for a notification or until the clock shows it.

        A moment and no duration: what is read as a rest is out of date when the wait begins. May
        return early; callers look again at what they wait for.
        """
        ...


class MonotonicClock:
    """The clock of the operating system."""

    def now(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def wait(self, condition: threading.Condition, until: float) -> None:
        """Wait on `condition` in real time."""
        rest_s = max(0.0, until - time.monotonic())
        condition.wait(min(rest_s, threading.TIMEOUT_MAX))  # an endless budget would overflow


@dataclasses.dataclass(frozen=True, slots=True)
class Deadlines:
    """
    The budgets of one registry, in seconds. Why these: `spec/v1/45-threads.md`.

    Attributes:
        initialize_s: For each provider's `initialize`; None sets no bound.
        enrich_s: For all recalls of one turn together.
        compress_s: For all providers of one compression together.
        shutdown_s: For everything that happens at the end together.
        tool_s: For one tool call.
        turn_start_s: For all providers together, to be told that a turn begins.
        ask_s: For all answers together to a question that needs no backend: tool schemas, the
            prompt block, the status, the paths of a backup; and for one preparation of a recall.
        privacy_s: For all exports, or all that is to be forgotten, together.

    """

    initialize_s: float | None = None
    enrich_s: float = 5.0
    compress_s: float = 120.0
    shutdown_s: float = 15.0
    tool_s: float = 60.0
    turn_start_s: float = 5.0
    ask_s: float = 5.0
    privacy_s: float = 60.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None and field.name == "initialize_s":
                continue
            if not isinstance(value, int | float) or math.isnan(value) or value <= 0:
                raise ValueError(
                    f"`{field.name}` must be a number of seconds above 0, not {value!r}"
                )


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """
    Limits of one registry; the rest is dropped or cut, with an event.

    Attributes:
        queued_writes: For each provider, the writes that it has not taken yet. A provider that
            hangs for a day would otherwise gather the texts of every turn.
        prompt_chars: For each provider, characters of its prompt block that are taken.
        notes_chars: For each provider, characters of its notes for a summary that are taken.

    """

    queued_writes: int = 10_000
    prompt_chars: int = 32_000
    notes_chars: int = 32_000

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) is not int or value < 1:
                raise ValueError(f"`{field.name}` must be a whole number above 0, not {value!r}")
