"""One active provider: its threads, its accepted writes, the calls it has not returned from."""

import collections
import contextlib
import contextvars
import functools
import itertools
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from memproto.deadlines import Clock, Limits
from memproto.provider import MemoryProvider
from memproto.registry.calls.duplicates import Once
from memproto.registry.calls.workers import Worker
from memproto.registry.events import EventSink, attempt, operators_reason, type_name
from memproto.types import EventOutcome

_NOTHING = -1
_NO_KEYWORDS: Mapping[str, Any] = {}
_SWITCH = "on_session_switch"
_REMEMBERED = 1000


class Flight(Protocol):
    """A call under way, and the moment until which the end waits for it."""

    @property
    def until(self) -> float:
        """On the registry's clock."""
        ...

    @property
    def worker(self) -> Worker | None:
        """The thread of its own, where it has one."""
        ...

    def __call__(self) -> None:
        """Run it."""
        ...


# Guarantees: writes reach the provider one at a time, in the order in which they were accepted;
#   `shutdown` is called once, after the last accepted write or at the drain limit; no write and no
#   recall starts after it; the fate of each write is told once, by the thread that takes it out of
#   `_accepted`. `accept` and `takes_off` take no lock: a signal handler may end the registry in
#   the middle of them, on the same thread. `await_writes` takes it: if the handler comes while it
#   looks, and not while it sleeps, `_drain` cannot begin, and the end lasts for its whole budget.
# Assumes: `run_close` runs on the worker `exit` and on no other thread. With the lock held only the
#   clock is called, and no code of a host or a provider. A single step of a dict or a set is
#   atomic, and all threads see stores in one order, which the interpreter promises.
#
# Threads:
#   a host's      `accept`, `takes_off`, `await_writes`; any number of them at once
#   writes        `_serve` and `_deliver`: the only thread that sets `_in_hand`
#   recall        the flights that have no thread of their own, one after the other
#   of a flight   one call each: tools, compression, questions
#   exit          `run_close`: the only thread that sets `_closing`, and the only one that waits
#                 in `_drain`
#
# Why nobody sleeps through a change (`_drain`, `await_writes`, `await_switches`): a waiter first
# says that it waits (`_closing`, or `_waiting`), and then looks. A worker first changes the state,
# and then looks whether somebody waits. In any order of these four steps, the waiter sees the
# change or the worker sees the waiter. The worker then takes the lock to notify, and so it comes
# either before the waiter's look or after the waiter has let go of the lock in `wait`.
class ProviderLane:
    """
    The registry's state of one provider between `initialize` and `shutdown`.

    Attributes:
        late: Hook to its calls that passed their deadline and have not returned.
        capabilities: The provider's declarations, frozen.
        extensions: Those of the declared extensions whose hooks the provider has.
        dropped_for: Why the provider takes no part, for the operator; "" if it does.
        switching: Numbers of the accepted switches of session that were not delivered yet.

    """

    def __init__(
        self, label: str, provider: MemoryProvider, clock: Clock, sink: EventSink, limits: Limits
    ) -> None:
        self.label = label
        self.provider = provider
        self.capabilities: Mapping[str, Any] = {}
        self.extensions: frozenset[str] = frozenset()
        self.switching: set[int] = set()
        self.dropped_for = ""
        self.late: collections.defaultdict[str, set[Flight]] = collections.defaultdict(set)
        self._clock = clock
        self._sink = sink
        self._most_queued = limits.queued_writes
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._flights: set[Flight] = set()
        self._accepted: dict[int, tuple[str, tuple[Any, ...]]] = {}
        self._keywords: dict[int, Mapping[str, Any]] = {}
        self._followers: dict[int, Callable[[], None]] = {}
        self._once = Once(_REMEMBERED)
        self._waiting = 0
        self._numbers = itertools.count()
        self._in_hand = _NOTHING
        self._closing = self._cut = False
        self._writes = Worker(f"memproto-{label}-writes")
        self._recalls = Worker(f"memproto-{label}-recall")
        self.exit = Worker(f"memproto-{label}-exit")

    def start(self) -> None:
        """Start the threads; if one fails, raises RuntimeError and leaves none behind."""
        workers = (self.exit, self._writes, self._recalls)
        try:
            for worker in workers:
                worker.start()
        except RuntimeError:
            for worker in workers:
                worker.stop()
            raise

    # -- calls --------------------------------------------------------------------------------

    def attempt(
        self, hook: str, *args: Any, keywords: Mapping[str, Any] = _NO_KEYWORDS
    ) -> tuple[Any, str]:
        """Call one hook here and now; as `events.attempt`."""
        describe = operators_reason if hook == "initialize" else type_name
        return attempt(_call, self.provider, hook, args, keywords, describe=describe)

    def attempt_telling(
        self,
        describe: Callable[[object], str],
        hook: str,
        args: tuple[Any, ...],
        keywords: Mapping[str, Any],
    ) -> tuple[Any, str]:
        """As `attempt`; `describe` puts an error into words."""
        return attempt(_call, self.provider, hook, args, keywords, describe=describe)

    def tell(
        self,
        hook: str,
        outcome: EventOutcome,
        took_s: float = 0.0,
        detail: str = "",
        *,
        lost: int = 0,
    ) -> None:
        """Send an event of this provider."""
        self._sink.emit(hook, self.label, outcome, took_s, detail, lost=lost)

    def takes_off(self, flight: Flight) -> bool:
        """Give a call to its thread, the recall thread by default; False once it is closing."""
        if self._closing:
            return False
        job = functools.partial(contextvars.copy_context().run, flight)
        # Added before it is put: a call that runs is always among the flights, and `_drain` waits
        # for each of them.
        self._flights.add(flight)
        (flight.worker or self._recalls).put(job)
        # `_drain` sets `_cut` before it stops the threads. If this job came behind the stop, and
        # will never run, then `_cut` was set before the look here. If the job came before it and
        # `_cut` is set, the job runs: it asks `may_start` and makes no call, or it had asked before
        # the cut, and its call is one of the flights that `_drain` knows. In each case the caller
        # takes the call back, which counts once only, and nobody looks at an answer.
        return not self._cut

    def may_start(self) -> bool:
        """True if a call that took off may still be made; none may beside `shutdown`."""
        return not self._cut

    def landed(self, flight: Flight) -> None:
        """Note that a parallel call has returned."""
        self._flights.discard(flight)  # first the change, then the look: see above
        if self._closing:
            self._tell_exit()

    def _tell_exit(self) -> None:
        with self._lock:
            self._changed.notify_all()

    # -- writes -------------------------------------------------------------------------------

    def accept(
        self,
        hook: str,
        args: tuple[Any, ...],
        keywords: Mapping[str, Any] = _NO_KEYWORDS,
        then: Callable[[], None] | None = None,
        once: str = "",
    ) -> None:
        """
        Queue one write; after the end, or if too many wait, it is dropped, with an event.

        A switch of session always finds room: what came after it would be stored in the wrong one.
        `then` runs on the writes' thread after the write, unless the provider is closing. A write
        whose `once` is that of one which waits, or was delivered and did not raise, is dropped.
        """
        if self._closing:
            self.tell(hook, "dropped", detail="closed", lost=1)
        elif len(self._accepted) >= self._most_queued and hook != _SWITCH:
            self.tell(hook, "dropped", detail="full", lost=1)
        else:
            # Several threads may pass the look at the bound together: it may be exceeded by as
            # many writes as there are threads. A lock for the exact number could deadlock with a
            # signal handler on this thread.
            number = next(self._numbers)
            if once and not self._once.claim(once, number):
                self.tell(hook, "dropped", detail="repeated")
                return
            if keywords:
                self._keywords[number] = keywords
            if then is not None:
                self._followers[number] = then
            # All that belongs to the number stands before the job is queued: the thread of the
            # writes may take the job at once.
            if hook == _SWITCH:
                self.switching.add(number)
            self._queue(number, hook, args)

    def _queue(self, number: int, hook: str, args: tuple[Any, ...]) -> None:
        # With the context variables of the host, which may say there whom it serves now.
        # Made first: between the two steps below the interpreter starts no Python function, and so
        # runs no signal handler. An interrupt there would leave a write that nobody serves, and
        # the end would wait for it until the drain limit.
        job = functools.partial(contextvars.copy_context().run, self._serve, number)
        self._accepted[number] = hook, args
        self._writes.put(job)
        # As in `takes_off`: if the job came behind the stop of the thread, `_cut` is set here. The
        # write leaves `_accepted` once, here, in `give_up_writes` or in `_deliver`, and that place
        # tells its fate.
        if self._cut and self._accepted.pop(number, None) is not None:
            self.tell(hook, "dropped", detail="closed", lost=1)

    def _serve(self, number: int) -> None:
        # The lock makes "not cut, therefore in hand" one step for `_drain`, which sets `_cut` with
        # the lock held: either this write is dropped, or `_drain` sees it in hand and waits. So no
        # write begins beside `shutdown`. No host calls this, and the lock is held for no hook.
        with self._lock:
            write = None if self._cut else self._accepted.get(number)
            if write is None:
                return
            self._in_hand = number
        self._deliver(*write)
        # First the changes, then the look whether somebody waits for them.
        self._in_hand = _NOTHING
        self.switching.discard(number)
        if self._closing or self._waiting:
            self._tell_exit()
        follower = self._followers.pop(number, None)
        if follower is not None and not self._closing:
            attempt(follower)  # an exception of it must not end the thread of the writes

    def _deliver(self, hook: str, args: tuple[Any, ...]) -> None:
        began = self._clock.now()
        keywords = self._keywords.pop(self._in_hand, _NO_KEYWORDS)
        _, error = self.attempt(hook, *args, keywords=keywords)
        took_s = self._clock.now() - began
        outcome: EventOutcome = "raised" if error else "ok"
        # Before the pop: a host that sees the queue empty may repeat the write at once, and is to
        # find its name free or kept.
        self._once.settle(self._in_hand, is_kept=not error)
        if self._accepted.pop(self._in_hand, None) is None:
            outcome = "late_answer"  # `give_up_writes` took it meanwhile and told its loss
        self.tell(hook, outcome, took_s, error)

    def give_up_writes(self) -> None:
        """Tell which accepted writes were not delivered; each is told once."""
        # The exit thread calls this at its end, and the thread that waits in `Ending.wait` calls
        # it at the deadline, perhaps both at once. `popitem` gives each write to one of them.
        self._cut = True
        lost: collections.Counter[str] = collections.Counter()
        while self._accepted:
            with contextlib.suppress(KeyError):  # another thread may take the last one
                lost[self._accepted.popitem()[1][0]] += 1
        for hook, count in lost.items():
            self.tell(hook, "abandoned", lost=count)

    @property
    def stops_compression(self) -> bool:
        """True if the provider may ask the host to keep messages."""
        return "checkpoint" in self.extensions

    # -- waiting for writes -------------------------------------------------------------------

    @property
    def queued(self) -> int:
        """Number of accepted writes that were not delivered yet, the one in hand included."""
        return len(self._accepted)

    def await_switches(self) -> None:
        """Wait until the provider is in the session that the host is in, or is closing."""
        with self._lock:
            self._waiting += 1
            try:
                while self.switching and not self._cut:
                    self._clock.wait(self._changed, math.inf)
            finally:
                self._waiting -= 1

    def await_writes(self, until: float) -> bool:
        """True if what was accepted before this call has met its fate; waits until `until`."""
        # A write whose `accept` has returned has a smaller number and stands in `_accepted`, or
        # has met its fate. A number that another thread drew and has not entered yet belongs to a
        # call beside this one, of which nothing is promised here.
        limit = next(self._numbers)
        with self._lock:
            self._waiting += 1
            try:
                while self._oldest(limit) < limit and self._clock.now() < until:
                    self._clock.wait(self._changed, until)
            finally:
                self._waiting -= 1
        return self._oldest(limit) >= limit

    def _oldest(self, default: int) -> int:
        return min(tuple(self._accepted), default=default)

    # -- the end ------------------------------------------------------------------------------

    def run_close(self, drain_until: float, until: float) -> None:
        """Deliver what was accepted, at most until `drain_until`; then call `shutdown`, once."""
        # `Ending.begin` may have put this job twice, after an interrupt. Both run on this thread.
        if self._closing:
            return
        self._drain(drain_until)
        began = self._clock.now()
        _, error = self.attempt("shutdown")
        ended = self._clock.now()
        in_time: EventOutcome = "ok" if ended < until else "late_answer"
        self.tell("shutdown", "raised" if error else in_time, ended - began, error)
        self.give_up_writes()
        if self._waiting:
            self._tell_exit()

    def _drain(self, drain_until: float) -> None:
        with self._lock:
            self._closing = True
            while (limit := self._busy_until(drain_until)) > self._clock.now():
                self._clock.wait(self._changed, limit)
            self._cut = True
            self._changed.notify_all()  # `await_switches` ends with the cut
            # A host that read `_closing` just before it was set may have let a flight take off
            # since the last look. If that flight was told by `may_start` that it may be made, this
            # was before the cut, and it was among the flights by then: so it is seen here. One that
            # asks later makes no call, and lands at once. Writes need no second look: `_serve`
            # asks with the lock held.
            while (limit := self._flying_until(drain_until)) > self._clock.now():
                self._clock.wait(self._changed, limit)
        # Behind the cut: `takes_off` and `_queue` rely on this order.
        self._writes.stop()
        self._recalls.stop()

    def _busy_until(self, limit: float) -> float:
        if self._accepted or self._in_hand != _NOTHING:
            return limit
        return self._flying_until(limit)

    def _flying_until(self, limit: float) -> float:
        # A call past its own deadline is stuck; the end does not wait for it a second time.
        flights = tuple(self._flights)
        return min(limit, max((flight.until for flight in flights), default=-math.inf))

    def runs_this_thread(self) -> bool:
        """True if the caller is one of this provider's threads."""
        flying = (flight.worker for flight in tuple(self._flights))
        workers = (self.exit, self._writes, self._recalls, *flying)
        return any(worker is not None and worker.is_current() for worker in workers)

    def join_idle(self) -> None:
        """Wait until the threads that are in no provider code have ended."""
        self._writes.join_idle()
        self._recalls.join_idle()


def _call(
    provider: MemoryProvider, hook: str, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    return getattr(provider, hook)(*args, **keywords)
