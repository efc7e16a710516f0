"""One recall of all providers for which a coroutine waits, and no thread."""

import asyncio
import functools
from collections.abc import Sequence

from memproto.adapters.aio import AsyncAdapter
from memproto.deadlines import Clock
from memproto.registry.crew import wake
from memproto.registry.lanes import Lane
from memproto.registry.recall import Call, Gather, recalled, recalls, take_off
from memproto.registry.timekeeper import Alarm
from memproto.types import Message


class Arrival(Gather):
    """
    A gather that wakes an event loop.

    Attributes:
        future: Done when every call has returned, and at the deadline.
        alarm: What rings at the deadline.
        calls: The calls that took off.

    """

    __slots__ = ("_is_abandoned", "_wake", "alarm", "calls", "future")

    alarm: Alarm

    def __init__(self, clock: Clock, budget_s: float) -> None:
        super().__init__(clock, budget_s)
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = loop.create_future()
        self.calls: list[Call] = []
        self._is_abandoned = False
        self._wake = functools.partial(wake, loop, self.future)

    def all_in(self) -> None:
        """Wake the loop; the last one that returned does this."""
        self.alarm.cancel()  # nobody can be late any more, even where the loop is closed
        if not self._is_abandoned:
            self._wake()

    def ring(self) -> None:
        """The deadline: who has not returned is late from now on, whatever the loop does."""
        if self._is_abandoned:
            self._note_late()
        else:
            self._close_for(self.calls)
            self._wake()

    def finish(self) -> None:
        """Take no answer any more, and tell what came of the calls."""
        if self.pending:  # else nobody hands in any more, and the last one may hold the lock
            self._close_for(self.calls)
        for call in self.calls:
            call.tell()

    def abandon(self) -> None:
        """
        Nobody waits any more: what did not begin is not made, what runs is not looked at.

        Nobody is late for it before the deadline, and the next turn asks everybody again; after it,
        whoever runs on is left out of turns until it returns, or a host that always gives up
        early would ask it, and wait, for ever. The coroutine of a provider that has them is
        cancelled.
        """
        self._close_for(())
        with self.condition:
            self._is_abandoned = True
        for call in self.calls:
            if call.done:
                call.tell()
            else:
                _let_go(call)

    def _note_late(self) -> None:
        with self.condition:
            for call in self.calls:
                if call.expected and call.started:
                    call.lane.late[call.hook].add(call)

    def _close_for(self, calls: Sequence[Call]) -> None:
        with self.condition:
            if not self.closed:
                self.close(calls)


def _let_go(call: Call) -> None:
    call.lane.tell(call.hook, "cancelled")
    if isinstance(call.lane.provider, AsyncAdapter):
        call.lane.provider.cancel_call(call.hook, *call.args)


async def recall_on_loop(
    lanes: Sequence[Lane],
    user_message: str,
    messages: Sequence[Message],
    arrival: Arrival,
) -> list[tuple[str, str]]:
    """As `recall.recall`; cancelled, it leaves nothing that a later turn could see."""
    arrival.calls = recalls(lanes, user_message, messages, arrival)
    try:
        take_off(arrival.calls, arrival)
        if arrival.calls:
            await arrival.future
    except BaseException:  # the caller was cancelled, or the loop is torn down
        arrival.abandon()
        raise
    arrival.alarm.cancel()
    arrival.finish()
    return recalled(arrival.calls)
