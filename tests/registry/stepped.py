"""A world that moves in steps: time, hooks and threads stand still until a test lets one go on."""

import threading
import time
from queue import SimpleQueue

from memproto.registry.calls import workers
from tests.virtual import REAL_LIMIT_S


class Gate:
    """A hook that was entered and is held until the test says how it ends."""

    def __init__(self, hook) -> None:
        self.hook = hook
        self.thread = threading.current_thread()
        self.how = "ok"
        self.opened = threading.Event()


class _CountedQueue:
    """A worker's queue; it counts as running from a `put` until the worker finds it empty."""

    def __init__(self, world) -> None:
        self._world = world
        self._jobs = SimpleQueue()
        self._is_running = self._is_dead = False

    def _run(self, is_running) -> None:
        self._world.running += is_running - self._is_running
        self._is_running = is_running

    def put(self, job) -> None:
        with self._world.lock:
            self._run(not self._is_dead)
            self._jobs.put(job)

    def get(self):
        with self._world.lock:
            self._run(not self._jobs.empty())
        job = self._jobs.get()
        if job is None:
            with self._world.lock:
                self._is_dead = True
                self._run(is_running=False)
        return job


class World:
    """
    The clock of a registry, the gates of its providers, and the count of what runs.

    `settle` waits, in real time, until nothing can happen but by the test's next step: each job
    and operation has ended, is held in a gate, or waits on the clock for a later moment.
    """

    def __init__(self, monkeypatch) -> None:
        self.lock = threading.RLock()
        self.running = 0
        self.gates = []
        self.is_free = False
        self._now_s = 1000.0
        self._waits = []
        monkeypatch.setattr(workers, "SimpleQueue", lambda: _CountedQueue(self))

    # -- the clock ----------------------------------------------------------------------------

    def now(self) -> float:
        return self._now_s

    def wait(self, condition, until) -> None:
        entry = (until, condition)
        with self.lock:
            if until <= self._now_s:
                return
            self._waits.append(entry)
        try:
            assert condition.wait(REAL_LIMIT_S), "nobody moved the clock"
        finally:
            with self.lock:
                self._waits.remove(entry)

    def move(self, seconds) -> None:
        """Let time pass; who waits for a moment that came is woken by the next `settle`."""
        with self.lock:
            self._now_s += seconds

    def _wake(self) -> None:
        with self.lock:
            due = [condition for until, condition in self._waits if until <= self._now_s]
        for condition in due:
            with condition:
                condition.notify_all()

    def next_moment(self):
        """The earliest moment for which somebody waits; now where nobody does."""
        with self.lock:
            return min((until for until, _ in self._waits), default=self._now_s)

    # -- hooks and operations -----------------------------------------------------------------

    def hold(self, hook) -> str:
        """Hold the calling thread in a gate; returns how the hook is to end."""
        gate = Gate(hook)
        with self.lock:
            if self.is_free:
                return gate.how
            self.gates.append(gate)
        assert gate.opened.wait(REAL_LIMIT_S), "nobody opened the gate"
        return gate.how

    def release(self, gate, how) -> None:
        with self.lock:
            self.gates.remove(gate)
        gate.how = how
        gate.opened.set()

    def let_go(self) -> None:
        """Hold nothing any more, so that a test that failed leaves no thread to the next one."""
        with self.lock:
            self.is_free = True
            gates = list(self.gates)
        for gate in gates:
            self.release(gate, "ok")
        self.move(1e6)
        self._wake()

    def run(self, operation) -> threading.Thread:
        """Run what may block on a thread of its own."""

        def run_and_end():
            operation()
            self.ended()

        with self.lock:
            self.running += 1
        thread = threading.Thread(target=run_and_end)
        thread.start()
        return thread

    def ended(self) -> None:
        with self.lock:
            self.running -= 1

    def settle(self) -> None:
        """Let everything run that can: first as if every waiter was slow to wake, then all."""
        self._until_still()
        self._wake()
        self._until_still()

    def _until_still(self) -> None:
        limit = time.monotonic() + REAL_LIMIT_S
        while not self._stands_still():
            assert time.monotonic() < limit, "something runs on, or waits for what never comes"
            time.sleep(0.0001)

    def _stands_still(self) -> bool:
        with self.lock:
            conditions = {id(condition): condition for _, condition in self._waits}
            # A waiter that was notified, or is about to wait, is not among these and still runs.
            waiting = sum(len(condition._waiters) for condition in conditions.values())
            return waiting == len(self._waits) == self.running - len(self.gates)
