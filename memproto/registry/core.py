"""The state that the parts of a registry share; each part adds the methods of one job."""

import os
import threading
from collections.abc import Iterator
from typing import Any

from memproto.deadlines import Clock, Deadlines, Limits
from memproto.registry.calls.lanes import Lane
from memproto.registry.calls.recall import Gather
from memproto.registry.events import EventSink
from memproto.registry.policy import Policy


class Session:
    """
    One stretch of a session, from a start or a switch to the next one.

    A rewind begins a new stretch of the same session: what was under way for the old one is
    dropped, and the session ends once for both.

    Attributes:
        key: The session key.
        is_left: Whether the next stretch has begun.
        ends: Gives True once: to whoever ends the session first.

    """

    __slots__ = ("ends", "is_left", "key")

    def __init__(self, key: str, before: "Session | None" = None) -> None:
        self.key = key
        self.is_left = False
        goes_on = before is not None and before.key == key
        self.ends: Iterator[bool] = before.ends if before and goes_on else iter((True,))

    def claim_end(self) -> bool:
        """Whether the session is ended by this call; True once, whoever asks."""
        # An iterator of one item instead of a flag and a lock: `next` of a tuple's iterator is one
        # step, so of two threads, or of a thread and its signal handler, one gets the item.
        return next(self.ends, False)


# `_lanes` is a tuple that is replaced and never changed, and so are `_ended` and `_session`. A
# method reads each once, without the lock, and works on what it read: a turn asks all providers of
# that moment or none, whatever an end or a switch does beside it. `_lock` is for those who replace
# them; it is reentrant, because a signal handler may end the registry that it interrupts.
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
    _ended: tuple[Lane, ...]
    _session: Session
    _writes_are_called: bool

    def _is_elsewhere(self) -> bool:
        """Whether this is a copy in a forked process, which has none of the threads."""
        return self._process != os.getpid()

    def _serving(self, extension: str) -> tuple[Lane, ...]:
        """The active providers that serve `extension`, in order; none in a forked process."""
        if self._is_elsewhere():
            return ()
        return tuple(lane for lane in self._lanes if extension in lane.extensions)

    def _queue(self, hook: str, args: tuple[Any, ...], but: str | None = None) -> None:
        """Queue one write for each provider but one; the active ones, or those that have ended."""
        # A provider that has ended drops the write with an event: the host learns of the loss.
        if self._is_elsewhere() or not self._writes_are_called:
            return
        for lane in self._lanes or self._ended:
            if lane.label != but:
                self._hand_over(lane, hook, args)

    def _hand_over(self, lane: Lane, hook: str, args: tuple[Any, ...], **named: str) -> None:
        lane.accept(hook, args, **named)  # type: ignore[arg-type]  # `once` alone

    def _gather(self, budget_s: float) -> Gather:
        return Gather(self._clock, budget_s)
