"""Calls of hooks that are gathered: one for each provider, all under one absolute deadline."""

from collections.abc import Sequence
from typing import Any, TypeVar

from memproto.deadlines import Clock
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.waiter import OneWaiter
from memproto.registry.calls.workers import Worker
from memproto.registry.events import type_name


# Guarantees: `wait` returns at the deadline at the latest; after that no answer is taken, and each
#   call that was not answered is in its lane's `late` until it returns.
# Assumes: each call is run or discarded by exactly one worker; the clock never goes back.
#
# Threads: the host's makes the gather, starts the calls, waits, closes and tells. Each call runs on
# a worker and hands in. `condition` guards `closed`, `pending` and each call's `expected`.
#
# Why a call is either answered or late, and never both: `close` and `_hand_in` hold the condition.
# If the call hands in first, it is no longer expected, and `close` passes it over. If `close` comes
# first, the call is put into `late`, and its own `_hand_in` sees `closed`, drops the answer and
# takes it out again. So a provider that has returned is never left in `late`, which would keep it
# out of all later turns.
class Gather:
    """A number of calls in flight and the moment until which their answers count."""

    __slots__ = ("budget_s", "clock", "closed", "condition", "lock", "pending", "until")

    def __init__(self, clock: Clock, budget_s: float) -> None:
        self.clock = clock
        self.budget_s = budget_s
        self.until = clock.now() + budget_s
        self.pending = 0
        self.closed = False
        self.condition = OneWaiter()
        # To hold it by its lock saves two calls of Python, of which a turn makes four.
        self.lock = self.condition.lock

    def wait(self, calls: "Sequence[HookCall]") -> None:
        """Wait until every call has returned, or the deadline has passed."""
        with self.lock:
            try:
                while self.pending and self.clock.now() < self.until:
                    self.clock.wait(self.condition, self.until)
            finally:
                # After the user's interrupt as well: nobody will look at these answers.
                self.close(calls)

    def close(self, calls: "Sequence[HookCall]") -> None:
        """Take no answer any more; each call that is expected is late. With the condition held."""
        self.closed = True
        for call in calls:
            if call.expected:
                call.lane.late[call.hook].add(call)

    def all_in(self) -> None:
        """Tell whoever waits that every call has returned; with the condition held."""
        self.condition.notify()

    def no_longer_expects(self, call: "HookCall") -> None:
        """Count `call` out, once, with the condition held."""
        if call.expected:
            call.expected = False
            self.pending -= 1
            if not self.pending:
                self.all_in()


class HookCall:
    """
    One call of one hook, run on a worker, answered to a `Gather`.

    Its answer is not looked at; a subclass takes it in `take`.

    Attributes:
        expected: True if the gather waits for it, or would if its deadline had not passed.
        done: True if the answer came in time; the following hold only then.
        error: The name of the type that was raised, or "".
        wrong: The fault of the value that was returned, or "".
        took_s: Seconds between call and return.

    """

    # `started`, `error`, `wrong`, `took_s`, and what a subclass takes, are written by the worker
    # alone, before its `_hand_in`. The host reads them after `close`. Both hold the condition, so
    # all that the worker wrote is there if `done` is True. If `done` is False the worker may still
    # write to them, and the host reads `started` only: it tells whether the hook was entered.
    __slots__ = (
        "args",
        "done",
        "error",
        "expected",
        "gather",
        "hook",
        "lane",
        "started",
        "took_s",
        "worker",
        "wrong",
    )

    def __init__(
        self,
        lane: ProviderLane,
        hook: str,
        args: tuple[Any, ...],
        gather: Gather,
        worker: Worker | None = None,
    ) -> None:
        self.lane = lane
        self.hook = hook
        self.args = args
        self.gather = gather
        self.worker = worker
        self.started = self.done = False
        self.expected = True
        self.error = self.wrong = ""
        self.took_s = 0.0

    @property
    def until(self) -> float:
        """The moment from which the answer does not count."""
        return self.gather.until

    def takes_off(self) -> bool:
        """Hand the call to its thread; False if the provider is closing."""
        taken = self.lane.takes_off(self)
        if self.worker is not None:
            self.worker.stop()  # a thread of its own ends after this one call
        return taken

    def withdraw(self) -> None:
        """Take the call back: nobody waits for it, whether it will run or not."""
        with self.gather.lock:
            self.gather.no_longer_expects(self)

    def __call__(self) -> None:
        """Run the hook, unless the deadline has passed, and hand in what it returned."""
        gather, lane = self.gather, self.lane
        if lane.switching:
            lane.await_switches()  # it would answer for the session that was left
        began = ended = gather.clock.now()
        # A look without the condition: it saves a call that nobody waits for, and decides nothing.
        # If the gather is closed a moment later, `_hand_in` sees that with the condition held.
        if not gather.closed and began < gather.until and lane.may_start():
            self.started = True
            self._run()
            ended = gather.clock.now()
            self.took_s = ended - began
        # In this order: once the call has landed, the end may call `shutdown`, and the answer is
        # to be handed in by then.
        late = self._hand_in(ended)
        lane.landed(self)
        if late and self.started:
            lane.tell(self.hook, "late_answer", self.took_s, self.error)

    def _run(self) -> None:
        answer, self.error = self.lane.attempt(self.hook, *self.args)
        self.take(answer)

    def take(self, answer: Any) -> None:
        """Keep an answer; on the worker."""

    def drop(self) -> None:
        """Let go of an answer that came late; on the worker."""

    def _hand_in(self, now: float) -> bool:
        gather = self.gather
        with gather.lock:
            late = gather.closed or now >= self.until
            self.done = self.started and not late
            if late:
                self.drop()
                self.lane.late[self.hook].discard(self)
            gather.no_longer_expects(self)
        return late

    def tell(self) -> None:
        """Send the event of this call, once `Gather.wait` has returned."""
        if not self.done:
            self.lane.tell(self.hook, "late" if self.started else "stuck", self.gather.budget_s)
        elif self.error:
            self.lane.tell(self.hook, "raised", self.took_s, self.error)
        elif self.wrong:
            self.lane.tell(self.hook, "wrong_type", self.took_s, self.wrong)
        else:
            self.lane.tell(self.hook, "ok", self.took_s)


_Call = TypeVar("_Call", bound=HookCall)


def not_stuck(lanes: Sequence[ProviderLane], hook: str) -> list[ProviderLane]:
    """Those of `lanes` that have returned from this hook; the others are told by an event."""
    # A call may return, or another thread's get late, between the two looks. The event and the
    # choice then differ by that moment; either is true of its own.
    for lane in lanes:
        if lane.late[hook]:
            lane.tell(hook, "stuck")
    return [lane for lane in lanes if not lane.late[hook]]


def started_worker(lane: ProviderLane, hook: str) -> Worker | None:
    """A running thread for one call; None, and an event, if none can be started."""
    worker = Worker(f"memproto-{lane.label}-{hook}")
    try:
        worker.start()
    except RuntimeError as error:  # the interpreter is at its end
        lane.tell(hook, "raised", detail=type_name(error))
        return None
    return worker


def fly(calls: list[_Call], gather: Gather) -> None:
    """Start `calls`, wait for them, tell their events; what no thread took is removed."""
    take_off(calls, gather)
    gather.wait(calls)
    for call in calls:
        call.tell()


def take_off(calls: list[_Call], gather: Gather) -> None:
    """Start `calls`; what no thread took is removed."""
    # The whole number first: a call that returns before the next one is started must not find that
    # nothing is pending, and wake the host.
    gather.pending = len(calls)
    refused = [call for call in calls if not call.takes_off()]
    for call in refused:
        call.withdraw()
        calls.remove(call)
