"""Brings what was accepted to the server: turns and conclusions, neither waits for the other."""

import time

from .conclusions import Conclusions
from .manager import Fault, HonchoManager
from .outbox import Outbox
from .turns import Turns
from .values import Observation

#: Seconds that a fetch waits for conclusions, which the server embeds before it has them.
_CONCLUDED_S = 1.0


class Sender:
    """A lane for turns and one for conclusions, each with a thread of its own."""

    def __init__(self, outbox: Outbox, manager: HonchoManager, observation: Observation) -> None:
        self._outbox = outbox
        self._lanes = {
            lane.kind: lane(outbox, manager, observation) for lane in (Turns, Conclusions)
        }

    @property
    def fault(self) -> Fault | None:
        """Why the last attempt of a lane failed; None if none did."""
        return next((lane.fault for lane in self._lanes.values() if lane.fault), None)

    @property
    def sent(self) -> int:
        """Number of items that the server took."""
        return sum(lane.sent for lane in self._lanes.values())

    def start(self) -> None:
        """Start the threads."""
        for lane in self._lanes.values():
            lane.start()

    def kick(self, kind: str | None = None) -> None:
        """Send what is ready, of one kind or of all, without a wait for it."""
        for name, lane in self._lanes.items():
            if kind in (None, name):
                lane.kick()

    def flush(self, budget_s: float, kind: str | None = None) -> bool:
        """Send what is ready and wait; False if some of it is not on the server yet."""
        until = time.monotonic() + budget_s
        self.kick(kind)
        lanes = [lane for name, lane in self._lanes.items() if kind in (None, name)]
        flushed = [lane.flush(until) for lane in lanes]
        return all(flushed)

    def is_idle(self) -> bool:
        """True if everything that is ready was sent."""
        return not self._outbox.ready()

    def wait_idle(self, budget_s: float) -> None:
        """Wait until everything that is ready was sent, or the server fails at it."""
        until = time.monotonic() + budget_s
        self._lanes["turn"].wait_idle(until)
        self._lanes["conclusion"].wait_idle(min(until, time.monotonic() + _CONCLUDED_S))

    def stop(self) -> None:
        """Make no further attempt."""
        for lane in self._lanes.values():
            lane.stop()

    def join(self, budget_s: float) -> None:
        """Wait for the threads."""
        until = time.monotonic() + budget_s
        for lane in self._lanes.values():
            lane.join(until)
