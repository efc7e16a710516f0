"""One active provider: its threads, its accepted writes, the calls it has not returned from."""

import functools
import math
import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Protocol

from memproto.deadlines import Clock
from memproto.provider import MemoryProvider
from memproto.registry.events import EventSink, attempt, operators_reason, type_name
from memproto.registry.workers import Worker
from memproto.types import EventOutcome

WRITE_HOOKS = ("on_memory_write", "on_turn_complete")


class Flight(Protocol):
    """A call under way, and the moment until which the end waits for it."""

    @property
    def until(self) -> float:
        """On the registry's clock."""
        ...

    def __call__(self) -> None:
        """Run it."""
        ...


# Guarantees: writes reach the provider one at a time, in the order in which they were accepted;
#   `shutdown` is called once, after the last accepted write or at the drain limit; no write and no
#   recall starts after it; each accepted write that was not delivered is told once.
# Assumes: `run_close` runs on the worker `exit` and on no other thread. Nothing is called with the
#   lock held but the clock's `wait` and `SimpleQueue.put`.
class Lane:
    """
    What the registry keeps of one provider between `initialize` and `shutdown`.

    Attributes:
        late: Hook to its calls that passed their deadline and have not returned.
        capabilities: What the provider declared, frozen.

    """

    def __init__(self, label: str, provider: MemoryProvider, clock: Clock, sink: EventSink) -> None:
        self.label = label
        self.provider = provider
        self.capabilities: Mapping[str, Any] = {}
        self.late: defaultdict[str, set[Flight]] = defaultdict(set)
        self._clock = clock
        self._sink = sink
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._flights: set[Flight] = set()
        self._accepted = dict.fromkeys(WRITE_HOOKS, 0)
        self._closing = self._cut = False
        self._writes = Worker(f"memproto-{label}-writes")
        self._recalls = Worker(f"memproto-{label}-recall")
        self.exit = Worker(f"memproto-{label}-exit")

    def start(self) -> None:
        """Start the threads; raises RuntimeError, and leaves none behind, where that fails."""
        workers = (self.exit, self._writes, self._recalls)
        try:
            for worker in workers:
                worker.start()
        except RuntimeError:
            for worker in workers:
                worker.stop()
            raise

    # -- calls --------------------------------------------------------------------------------

    def attempt(self, hook: str, *args: Any) -> tuple[Any, str]:
        """Call one hook here and now; as `events.attempt`."""
        describe = operators_reason if hook == "initialize" else type_name
        return attempt(_call, self.provider, hook, args, describe=describe)

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

    def takes_off(self, flight: Flight, worker: Worker | None = None) -> bool:
        """Give a call to `worker`, the recall thread by default; False once it is closing."""
        with self._lock:
            if self._closing:
                return False
            self._flights.add(flight)
            (worker or self._recalls).put(flight)
        return True

    def landed(self, flight: Flight) -> None:
        """Note that a parallel call has returned."""
        self._flights.discard(flight)
        if self._closing:
            with self._lock:
                self._changed.notify_all()

    def accept(self, hook: str, args: tuple[Any, ...]) -> None:
        """Queue one write; after the end it is dropped, and said so."""
        with self._lock:
            accepted = not self._closing
            if accepted:
                self._accepted[hook] += 1
                self._writes.put(functools.partial(self._deliver, hook, args))
        if not accepted:
            self.tell(hook, "dropped", detail="closed", lost=1)

    def _deliver(self, hook: str, args: tuple[Any, ...]) -> None:
        if self._cut:
            return
        began = self._clock.now()
        _, error = self.attempt(hook, *args)
        self.tell(hook, "raised" if error else "ok", self._clock.now() - began, error)
        with self._lock:
            self._accepted[hook] = max(0, self._accepted[hook] - 1)  # 0: given up meanwhile
            self._changed.notify_all()

    # -- the end ------------------------------------------------------------------------------

    def run_close(self, drain_until: float, until: float) -> None:
        """Deliver what was accepted, at most until `drain_until`; then call `shutdown`."""
        with self._lock:
            self._closing = True
            self._writes.stop()
            self._recalls.stop()
            while (rest_s := self._busy_until(drain_until) - self._clock.now()) > 0:
                self._clock.wait(self._changed, rest_s)
            self._cut = True
        began = self._clock.now()
        _, error = self.attempt("shutdown")
        ended = self._clock.now()
        in_time: EventOutcome = "ok" if ended < until else "late_answer"
        self.tell("shutdown", "raised" if error else in_time, ended - began, error)
        self.give_up_writes()

    def _busy_until(self, limit: float) -> float:
        if any(self._accepted.values()):
            return limit
        # A call past its own deadline is stuck; the end does not wait for it a second time.
        flights = tuple(self._flights)
        return min(limit, max((flight.until for flight in flights), default=-math.inf))

    def give_up_writes(self) -> None:
        """Tell which accepted writes were not delivered, once."""
        with self._lock:
            self._cut = True
            lost = self._accepted
            self._accepted = dict.fromkeys(WRITE_HOOKS, 0)
        for hook, count in lost.items():
            if count:
                self.tell(hook, "abandoned", lost=count)

    def runs_this_thread(self) -> bool:
        """Whether the caller is one of this provider's threads."""
        return any(worker.is_current() for worker in (self.exit, self._writes, self._recalls))

    def join_idle(self) -> None:
        """Wait until the threads that are in no provider code have ended."""
        self._writes.join_idle()
        self._recalls.join_idle()


def _call(provider: MemoryProvider, hook: str, args: tuple[Any, ...]) -> Any:
    return getattr(provider, hook)(*args)
