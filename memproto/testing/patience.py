"""
Two kinds of waiting, with budgets of their own; and the memory that a process may hold.

An event that is to happen ends the wait at once, so a generous budget costs a good target nothing.
An absence is waited out in full, so its budget is short: too short a one misses a fault, and
never raises a false alarm.
"""

import math
import os
from collections.abc import Callable
from time import monotonic, sleep

from memproto.errors import InvalidSettings
from memproto.testing import noise

#: Seconds for what is to happen, where nothing else is said.
HAPPENS_S = 5.0

#: Seconds for what is not to happen, where nothing else is said.
SILENT_S = 0.5

#: A process that holds more is ended: it would take the machine with it.
MEMORY_MB = 2_048

_TICK_S = 0.002

#: A condition may be a question to a backend that costs money. The pauses between two grow with the
#: time that was waited, by this share of it, and are no longer than that.
_PAUSE_SHARE, _LONGEST_PAUSE_S = 0.05, 0.2


class Deadline:
    """
    The moment until which something is waited for; it moves once if the machine is busy by then.

    The machine is measured when the time is over and not before: to measure it takes the processor
    for a while, and most waits end in time.
    """

    def __init__(self, within_s: float, slowdown: float = 1.0, longest_s: float = math.inf) -> None:
        """
        Begin to wait.

        Args:
            within_s: Seconds on a quiet machine.
            slowdown: By which factor this machine is known to be slower.
            longest_s: Seconds beyond which the moment is not moved.

        """
        self._within_s, self._longest_s = within_s, longest_s
        self._wait_s = within_s * slowdown
        self._began = monotonic()
        self._is_moved = False

    def left_s(self) -> float:
        """Seconds that are left; 0 when it is over. Blocks for a moment at the first end."""
        left_s = self._left_s()
        if left_s <= 0 and not self._is_moved:
            self._is_moved = True
            moved_s = min(self._within_s * noise.slowdown(), self._longest_s)
            self._wait_s = max(self._wait_s, moved_s)
            left_s = self._left_s()
        return max(0.0, left_s)

    def _left_s(self) -> float:
        return self._began + self._wait_s - monotonic()


def happens(condition: Callable[[], bool], within_s: float) -> bool:
    """Poll until `condition` holds; False when it did not within the time."""
    end = monotonic() + within_s
    return _happens(condition, lambda: end - monotonic())


def happens_by(condition: Callable[[], bool], deadline: Deadline) -> bool:
    """Poll until `condition` holds; False when it did not by the deadline."""
    return _happens(condition, deadline.left_s)


def _happens(condition: Callable[[], bool], left_s: Callable[[], float]) -> bool:
    began = monotonic()
    while not condition():
        rest_s = left_s()
        if rest_s <= 0:
            return False
        pause_s = min((monotonic() - began) * _PAUSE_SHARE, _LONGEST_PAUSE_S)
        sleep(max(_TICK_S, min(pause_s, rest_s)))
    return True


def stays_silent(condition: Callable[[], bool], for_s: float) -> bool:
    """True if `condition` holds at no moment of the time, which is looked at often."""
    end = monotonic() + for_s
    while not condition():
        if monotonic() >= end:
            return True
        sleep(_TICK_S)
    return False


def time_scale() -> float:
    """
    The factor on all budgets, from MEMPROTO_TIME_SCALE.

    Raises:
        InvalidSettings: It is no number above 0.

    """
    text = os.environ.get("MEMPROTO_TIME_SCALE", "1")
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InvalidSettings(
            f"MEMPROTO_TIME_SCALE={text}", "is no number above 0", "set a factor such as 2"
        )
    return value
