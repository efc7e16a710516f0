"""The state of one registry, on which each of its parts works."""

import os
import threading
from collections.abc import Callable, Iterator

from memproto.deadlines import Clock, Deadlines, Limits, MonotonicClock
from memproto.registry.calls.gather import Gather
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.events import EventSink
from memproto.registry.policy import Policy
from memproto.types import Event


class Session:
    """
    One stretch of a session, from a start or a switch to the next one.

    A rewind begins a new stretch of the same session: what was under way for the old one is
    dropped, and the session ends once for both.

    Attributes:
        key: The session key.
        is_left: True if the next stretch has begun.
        ends: Gives True once: to whoever ends the session first.

    """

    __slots__ = ("ends", "is_left", "key")

    def __init__(self, key: str, before: "Session | None" = None) -> None:
        self.key = key
        self.is_left = False
        goes_on = before is not None and before.key == key
        self.ends: Iterator[bool] = before.ends if before and goes_on else iter((True,))

    def claim_end(self) -> bool:
        """True if the session is ended by this call; True once, whoever asks."""
        # An iterator of one item instead of a flag and a lock: `next` of a tuple's iterator is one
        # step, so of two threads, or of a thread and its signal handler, one gets the item.
        return next(self.ends, False)


# `lanes` is a tuple that is replaced and never changed, and so are `ended` and `session`. A method
# reads each once, without the lock, and works on what it read: a turn asks all providers of that
# moment or none, whatever an end or a switch does beside it. `lock` is for those who replace them;
# it is reentrant, because a signal handler may end the registry that it interrupts.
class Core:
    """
    The providers and the session of one registry; made by it, and given to each of its parts.

    Args:
        deadlines: As for `MemoryProviderRegistry`, and so are the others.
        limits: As there.
        clock: As there.
        policy: As there.
        on_event: As there.

    Attributes:
        lock: Held by whoever replaces `lanes`, `ended` or `session`.
        registered: Name to lane, in order, until `initialize_all`.
        refused: Name to the lane of a provider that takes no part.
        lanes: The active providers, in order.
        ended: Those that were active before the end.
        session: The session that the host is in.
        writes_are_called: True if the session's context is one in which write hooks are called.

    """

    def __init__(
        self,
        deadlines: Deadlines | None,
        limits: Limits | None,
        clock: Clock | None,
        policy: Policy | None,
        on_event: Callable[[Event], None] | None,
    ) -> None:
        self.deadlines = deadlines or Deadlines()
        self.limits = limits or Limits()
        self.clock = clock or MonotonicClock()
        self.policy = policy or Policy()
        self.sink = EventSink(on_event)
        self.lock = threading.RLock()
        self.registered: dict[str, ProviderLane] = {}
        self.refused: dict[str, ProviderLane] = {}
        self.lanes: tuple[ProviderLane, ...] = ()
        self.ended: tuple[ProviderLane, ...] = ()
        self.session = Session("")
        self.writes_are_called = True
        self._process = os.getpid()

    def is_elsewhere(self) -> bool:
        """True if this is a copy in a forked process, which has none of the threads."""
        return self._process != os.getpid()

    def serving(self, extension: str) -> tuple[ProviderLane, ...]:
        """The active providers that serve `extension`, in order; none in a forked process."""
        if self.is_elsewhere():
            return ()
        return tuple(lane for lane in self.lanes if extension in lane.extensions)

    def writable(self) -> tuple[ProviderLane, ...]:
        """The providers to which a write is handed: the active ones, or those that have ended."""
        # A provider that has ended drops the write with an event: the host learns of the loss.
        if self.is_elsewhere() or not self.writes_are_called:
            return ()
        return self.lanes or self.ended

    def gather(self, budget_s: float) -> Gather:
        """A gather whose time begins now."""
        return Gather(self.clock, budget_s)
