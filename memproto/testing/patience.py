"""
Two kinds of waiting, with budgets of their own.

What is to happen ends the wait at once, so a generous budget costs a good target nothing. What is
not to happen is waited out in full, so its budget is short: too short a one misses a fault, and
never raises a false alarm.
"""

from collections.abc import Callable
from time import monotonic, sleep

#: Seconds for what is to happen, where nothing else is said.
HAPPENS_S = 5.0

#: Seconds for what is not to happen, where nothing else is said.
SILENT_S = 0.5

_TICK_S = 0.002


def happens(condition: Callable[[], bool], within_s: float) -> bool:
    """Poll until `condition` holds; False when it did not within the time."""
    end = monotonic() + within_s
    while not condition():
        if monotonic() >= end:
            return False
        sleep(_TICK_S)
    return True


def stays_silent(condition: Callable[[], bool], for_s: float) -> bool:
    """Whether `condition` holds at no moment of the time."""
    return not happens(condition, for_s)
