"""What the parts of a registry share; each part adds the methods of one job."""

import os
import threading

from memproto.deadlines import Clock, Deadlines, Limits
from memproto.registry.events import EventSink
from memproto.registry.lanes import Lane
from memproto.registry.policy import Policy
from memproto.registry.recall import Gather


class Shared:
    """The state of one registry; made by `MemoryProviderRegistry`."""

    _deadlines: Deadlines
    _limits: Limits
    _clock: Clock
    _policy: Policy
    _sink: EventSink
    _lock: threading.RLock
    _process: int
    _lanes: tuple[Lane, ...]

    def _is_elsewhere(self) -> bool:
        """Whether this is a copy in a forked process, which has none of the threads."""
        return self._process != os.getpid()

    def _serving(self, extension: str) -> tuple[Lane, ...]:
        """The active providers that serve `extension`, in order; none in a forked process."""
        if self._is_elsewhere():
            return ()
        return tuple(lane for lane in self._lanes if extension in lane.extensions)

    def _gather(self, budget_s: float) -> Gather:
        return Gather(self._clock, budget_s)
