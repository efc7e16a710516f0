"""
Time as the registry sees it: an injected monotonic clock, absolute deadlines, budgets in seconds.

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

    def wait(self, condition: threading.Condition, budget_s: float | None) -> bool:
        """
        Wait on `condition`, which the caller holds, for a notification or at most `budget_s`.

        Returns False when the budget ran out first; None waits without a bound.
        """
        ...


class MonotonicClock:
    """The clock of the operating system."""

    def now(self) -> float:
        """Seconds of `time.monotonic`."""
        return time.monotonic()

    def wait(self, condition: threading.Condition, budget_s: float | None) -> bool:
        """Wait on `condition` in real time."""
        return condition.wait(budget_s)


@dataclasses.dataclass(frozen=True, slots=True)
class Deadlines:
    """
    The budgets of one registry, in seconds. Why these: `spec/v1/45-threads.md`.

    Attributes:
        initialize_s: For each provider's `initialize`; None sets no bound.
        enrich_s: For all recalls of one turn together.
        compress_s: For all providers of one compression together.
        shutdown_s: For everything that happens at the end together.

    """

    initialize_s: float | None = None
    enrich_s: float = 5.0
    compress_s: float = 120.0
    shutdown_s: float = 15.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None and field.name == "initialize_s":
                continue
            if not isinstance(value, int | float) or math.isnan(value) or value <= 0:
                raise ValueError(
                    f"`{field.name}` must be a number of seconds above 0, not {value!r}"
                )
