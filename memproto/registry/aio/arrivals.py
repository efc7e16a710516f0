"""One recall of all providers for which a coroutine waits, and no thread."""

import asyncio
import functools
from collections.abc import Sequence

from memproto.adapters.aio import AsyncAdapter
from memproto.deadlines import Clock
from memproto.registry.aio.crew import wake
from memproto.registry.aio.timekeeper import Alarm
from memproto.registry.calls.gather import Gather, take_off
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.recall import Recall, recalled, recalls
from memproto.types import Message


# Threads: the loop's makes the arrival, starts the calls and awaits `future`; each call hands in on
# the recall thread of its lane; the timekeeper's rings the alarm. `condition` guards what it guards
# in `Gather`, and `_is_abandoned`.
#
# Why the future is settled once, and in time: the last call that hands in wakes the loop, or the
# alarm does; both may. `crew.wake` hands the loop a function that does nothing if the future is
# done. The alarm was set before the calls took off, so there is no moment without either.
#
# Why nobody is late who has returned: `close` passes over calls that are not expected any more, as
# in `Gather`, whichever of `ring`, `finish` and `abandon` comes first.
class Arrival(Gather):
    """
    A gather that wakes an event loop.

    Attributes:
        future: Done when every call has returned, and at the deadline.
        alarm: It rings at the deadline.
        calls: The calls that took off.

    """

    __slots__ = ("_is_abandoned", "_wake", "alarm", "calls", "future")

    alarm: Alarm

    def __init__(self, clock: Clock, budget_s: float) -> None:
        super().__init__(clock, budget_s)
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = loop.create_future()
        self.calls: list[Recall] = []
        self._is_abandoned = False
        self._wake = functools.partial(wake, loop, self.future)

    def all_in(self) -> None:
        """Wake the loop; the last one that returned does this, with the condition held."""
        # All have returned: nobody can be late any more, even if the loop is closed and never
        # comes to `finish`. An alarm that rings just now waits for the condition, and then finds
        # no call that is expected.
        self.alarm.cancel()
        if not self._is_abandoned:
            self._wake()

    def ring(self) -> None:
        """The deadline: a call that has not returned is late now, whatever the loop does."""
        # The look and the change are one step: `abandon` comes before it, and the calls are noted
        # below, or after it, and finds them late.
        with self.condition:
            if self._is_abandoned:
                self._note_late()
                return
            self._close_for(self.calls)
        self._wake()

    def finish(self) -> None:
        """Take no answer any more, and tell what came of the calls."""
        # A look without the condition. 0 is final: nobody counts up again. The call that counted
        # it down may still hold the condition, and the loop must not wait for a thread.
        if self.pending:
            self._close_for(self.calls)
        for call in self.calls:
            call.tell()

    def abandon(self) -> None:
        """
        Give the calls up: a call that did not begin is not made, and no answer is looked at.

        No provider is late for it before the deadline, and the next turn asks all of them again.
        After the deadline, a provider that still runs is left out of turns until it returns;
        otherwise a host that always gives up early would ask it, and wait, for ever. The coroutine
        of a provider that has them is cancelled.
        """
        # Closed for no call, so that none is late yet; the alarm stays set, and `_note_late` looks
        # again at the deadline. If the alarm has rung already, the calls are late by now.
        with self.condition:
            self._close_for(())
            self._is_abandoned = True
        for call in self.calls:
            if call.done:
                call.tell()
            else:
                _let_go(call)

    def _note_late(self) -> None:
        for call in self.calls:  # with the condition held
            if call.expected and call.started:
                call.lane.late[call.hook].add(call)

    def _close_for(self, calls: Sequence[Recall]) -> None:
        with self.condition:
            if not self.closed:
                self.close(calls)


def _let_go(call: Recall) -> None:
    call.lane.tell(call.hook, "cancelled")
    if isinstance(call.lane.provider, AsyncAdapter):
        call.lane.provider.cancel_call(call.hook, *call.args)


async def recall_on_loop(
    lanes: Sequence[ProviderLane],
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
