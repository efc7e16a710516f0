"""The end of providers: all at once, inside one budget, also when the process ends."""

import atexit
import contextvars
import functools
import threading
import weakref
from collections.abc import Sequence
from typing import Protocol, Self

from memproto.deadlines import Clock
from memproto.registry.calls.lanes import ProviderLane

#: The share of the budget in which accepted writes may still be delivered; the rest is kept for
#: `shutdown`, so that a stuck write does not cost a provider the chance to save what it holds.
DRAIN_SHARE = 0.9


# Guarantees: every lane is drained and its provider's `shutdown` called once, in parallel; `wait`
#   returns when all have returned, or at the deadline, and then tells what was given up; it may be
#   called again, from any thread. `begin` takes no lock, so that a finalizer may do it.
# Assumes: each lane is given to one `Ending` only, and its threads run.
#
# Threads: `begin` on any, also in a signal handler or a finalizer; `_close` on the exit thread of
# each lane; `wait` on any number of them. `_changed` guards `_open` and `_told`.
#
# Why `begin` may be called twice: an interrupt may come between two of its steps, and the next end
# of the registry begins again. A second job behind the stop is never run; a second one before the
# stop finds the lane closing, and returns.
# Why an end is told once: the first `wait` that reaches its end takes the lanes that are still open
# and sets `_told`, with the lock held. A lane that closes later tells its own end, as a late one.
class Ending:
    """The end of a number of providers; its budget runs from the moment at which it was made."""

    def __init__(self, lanes: Sequence[ProviderLane], clock: Clock, budget_s: float) -> None:
        self._clock = clock
        self._budget_s = budget_s
        self._until = clock.now() + budget_s
        self._changed = threading.Condition()
        self._open = list(lanes)
        self._lanes = tuple(lanes)
        self._told = False

    def begin(self) -> Self:
        """Start the end of every lane; what was interrupted here may be started again."""
        for lane in self._lanes:
            lane.exit.put(functools.partial(contextvars.copy_context().run, self._close, lane))
            lane.exit.stop()
        return self

    def _close(self, lane: ProviderLane) -> None:
        lane.run_close(self._until - self._budget_s * (1 - DRAIN_SHARE), self._until)
        with self._changed:
            if lane in self._open:
                self._open.remove(lane)
            self._changed.notify_all()

    def wait(self) -> None:
        """Wait for the end, or for the deadline."""
        # A provider may end its own registry in a hook. The hook would wait here for its own
        # return, until the deadline.
        if any(lane.runs_this_thread() for lane in self._lanes):
            return
        with self._changed:
            while self._open and self._clock.now() < self._until:
                self._clock.wait(self._changed, self._until)
            stuck = () if self._told else tuple(self._open)
            self._told = True
        # Without the lock: an event runs the host's code, which may call this registry.
        for lane in stuck:
            lane.tell("shutdown", "late", self._budget_s)
            lane.give_up_writes()
        self._join()

    def _join(self) -> None:
        for lane in self._lanes:
            if lane not in self._open:
                lane.join_idle()
                lane.exit.join()


# -- the end of the process -----------------------------------------------------------------------


class Closable(Protocol):
    """An owner that is ended when the process ends."""

    def begin_end(self) -> Ending | None:
        """Start the end; None if there is nothing to end, or not in this process."""
        ...


# Process-wide of necessity, as the interpreter's exit is; holds nothing alive.
_live: dict[int, weakref.ref[Closable]] = {}


def end_at_exit(owner: Closable) -> None:
    """
    End `owner`, as long as it is referred to elsewhere, when the interpreter exits.

    Called after the providers were opened: exit functions run in the reverse order of their
    registration, and what the providers' libraries registered must still be there.
    """
    _live[id(owner)] = weakref.ref(owner)
    atexit.unregister(_end_all)
    atexit.register(_end_all)


def forget_at_exit(owner: Closable) -> None:
    """Undo `end_at_exit`."""
    _live.pop(id(owner), None)


def _end_all() -> None:
    owners = [owner for ref in list(_live.values()) if (owner := ref()) is not None]
    # All of them begin before the first is waited for: registries share the time of the exit.
    endings = [owner.begin_end() for owner in owners]
    for ending in endings:
        if ending is not None:
            ending.wait()
