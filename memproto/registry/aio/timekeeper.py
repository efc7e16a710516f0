"""Moments on the registry's clock, for callers that have no thread to wait on."""

import heapq
import itertools
import threading
from collections.abc import Callable

from memproto.deadlines import Clock
from memproto.registry.calls.workers import Worker

_FEW = 64


class Alarm:
    """
    A function to call at a moment, until it is cancelled.

    Attributes:
        until: The moment, on the registry's clock.

    """

    __slots__ = ("_act", "_number", "until")

    def __init__(self, until: float, number: int, act: Callable[[], None]) -> None:
        self.until = until
        self._number = number
        self._act: Callable[[], None] | None = act

    def __lt__(self, other: "Alarm") -> bool:
        return (self.until, self._number) < (other.until, other._number)

    @property
    def is_set(self) -> bool:
        """True if it is still to ring."""
        return self._act is not None

    def cancel(self) -> None:
        """Forget what was to happen; the moment is forgotten with others, later."""
        self._act = None

    def ring(self) -> None:
        """Call the function, unless the alarm was cancelled."""
        # The function is taken and forgotten in one statement. A `cancel` that comes between the
        # two is too late, which a caller has to expect anyway; the function still runs once.
        act, self._act = self._act, None
        if act is not None:
            act()


# Guarantees: an alarm rings once, at its moment or soon after it, on a daemon thread; there is one
#   thread at a time, and none once the last moment has come; an alarm that was cancelled keeps
#   nothing alive but that thread.
# Assumes: a function that is called neither blocks nor raises.
#
# Why no alarm is forgotten while the thread ends: the thread clears `_is_serving` with the lock
# held, in the same step in which it sees that there is no alarm. `at` looks at `_is_serving` and
# enters its alarm with the lock held. So the thread sees the alarm, or `at` starts a new thread.
class Timekeeper:
    """Rings alarms."""

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock = clock
        self._name = name
        self._changed = threading.Condition()
        self._alarms: list[Alarm] = []
        self._numbers = itertools.count()
        self._worker: Worker | None = None
        self._is_serving = False
        self._most = _FEW

    def at(self, until: float, act: Callable[[], None]) -> Alarm:
        """Returns the alarm; raises RuntimeError if no thread can be started for it."""
        alarm = Alarm(until, next(self._numbers), act)
        with self._changed:
            if not self._is_serving:
                self._start()
            heapq.heappush(self._alarms, alarm)
            if len(self._alarms) > self._most:
                self._drop_cancelled()
            # Only the earliest moment changes how long the thread has to wait.
            if self._alarms[0] is alarm:
                self._changed.notify()
        return alarm

    def tidy(self) -> bool:
        """Forget the moments of cancelled alarms; False while the thread, with no other, ends."""
        with self._changed:
            self._drop_cancelled()
            self._changed.notify()
            return bool(self._alarms) or self._worker is None or not self._worker.is_alive()

    def _drop_cancelled(self) -> None:
        self._alarms = [alarm for alarm in self._alarms if alarm.is_set]
        heapq.heapify(self._alarms)
        self._most = max(_FEW, 2 * len(self._alarms))  # so that it is seldom worth doing

    def _start(self) -> None:
        self._worker = Worker(self._name)
        self._worker.put(self._serve)
        self._worker.stop()
        self._worker.start()  # last: an interrupt before or after it leaves no thread that waits
        self._is_serving = True

    def _serve(self) -> None:
        # Rung without the lock: an alarm takes the condition of its gather, and a loop that sets
        # another alarm must not wait for that.
        while (alarm := self._next()) is not None:
            alarm.ring()

    def _next(self) -> Alarm | None:
        """The next alarm, at its moment; None if there is none to wait for."""
        with self._changed:
            while self._alarms:
                if self._alarms[0].until <= self._clock.now():
                    return heapq.heappop(self._alarms)
                self._clock.wait(self._changed, self._alarms[0].until)
            self._is_serving = False
            return None
