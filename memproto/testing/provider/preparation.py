"""The time that recall is waited for, of a provider that prepares its answers in advance."""

import contextlib
import math
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

#: Seconds that an answer is waited for, if nothing is known of how long it takes.
PREWARM_S = 2.0

#: Waits of a check that are whole, although each of them was in vain.
_WHOLE = 3

#: A shortened wait is so many times as long as the longest one that brought something.
_TIMES = 20

#: The shortest wait, in seconds.
_LEAST_S = 0.25

#: The same for a text that is to stay away: a check asks each of many for those of all others.
_TIMES_AWAY, _LEAST_AWAY_S = 4, 0.1

#: Seconds from the first preparation of a question to the second.
_PAUSE_S = 0.25

#: The checks of a process leave this for those after them: seconds after which an answer came.
_KEY = "prepared within s"


class Preparation:
    """
    How long one check waits for answers that are prepared.

    A text that is lost, and one of another user, are waited for in vain, often many in one check.
    The first few waits are whole, so that one loss is never told after a short wait. Later ones
    go by the longest that ever brought something, in whatever check of the process; if none did,
    all are whole. So do those for a text that is to stay away: nothing is told if it does, and
    too short a wait misses a fault only. Not safe for several threads: a check asks from one.
    """

    def __init__(self, shared: Callable[[], dict[str, Any]] = dict) -> None:
        self._shared = shared
        self._in_vain = 0
        self._stays_away = False

    @contextlib.contextmanager
    def of_absence(self) -> Iterator[None]:
        """The body asks for texts that are to stay away."""
        known, self._stays_away = (self._in_vain, self._stays_away), True
        try:
            yield
        finally:
            # A loss that is looked for later has its whole waits.
            self._in_vain, self._stays_away = known

    def wait_s(self) -> float:
        """Seconds to wait for the next answer."""
        longest_s: float | None = self._shared().get(_KEY)
        if longest_s is None or (self._in_vain < _WHOLE and not self._stays_away):
            return PREWARM_S
        if self._stays_away:
            return min(PREWARM_S, max(_LEAST_AWAY_S, _TIMES_AWAY * longest_s))
        return min(PREWARM_S, max(_LEAST_S, _TIMES * longest_s))

    def note(self, took_s: float, *, found: bool) -> None:
        """Note that an answer came after so many seconds, or that none came."""
        if not found:
            self._in_vain += 1
            return
        shared = self._shared()
        shared[_KEY] = max(took_s, shared.get(_KEY, 0.0))


class Attempts:
    """
    When a question is prepared anew, and when it is asked no more.

    A preparation may be a search in the background, and a new one may take its place; the
    specification says that what is prepared may be dropped, and bounds no search. So each has a
    pause of its own before the next, twice as long each time, and the last has the whole wait.
    One is not enough: the provider may have been busy with another, or its store not yet fresh.
    """

    def __init__(
        self, wait_s: float, freshness_s: float = 0.0, clock: Callable[[], float] = monotonic
    ) -> None:
        self._wait_s, self._clock = wait_s, clock
        begin = clock()
        self._fresh_at = begin + freshness_s
        self._latest = max(self._fresh_at, begin + wait_s / 2)
        self._due, self._pause_s = begin, min(_PAUSE_S, wait_s)
        self._end = math.inf

    def begins(self) -> bool:
        """True if a preparation is to begin now; it then counts as begun."""
        now = self._clock()
        if now < self._due:
            return False
        self._due = now + self._pause_s
        if now < self._fresh_at:
            # One begins as soon as the store is fresh, whatever is under way.
            self._due = min(self._due, self._fresh_at)
        elif self._due > self._latest:
            self._due, self._end = math.inf, now + self._wait_s
        self._pause_s = min(2 * self._pause_s, self._wait_s)
        return True

    def are_over(self) -> bool:
        """True if the last preparation had its whole wait."""
        return self._clock() >= self._end
