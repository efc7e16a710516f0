"""
The cost of a turn of the registry, beside that of any hand-off between two threads.

    python benchmarks/registry.py [rounds]

Pinned to one core, so that the scheduler's choice of a core is not what is measured; the rows of a
table take turns, so that a change of the machine's speed meets all of them. Prints median and
quartiles in microseconds, and the ratio to the row that is named, as the median of the ratios of
the rounds. If hermes-agent is installed, its MemoryManager has rows of its own.
"""

import asyncio
import functools
import os
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from registry_loop import Batch, face, in_thread, loop_hand_off, on_loop
from registry_peer import peer

from memproto.registry import MemoryProviderRegistry

ROUNDS = 60
CALLS = 200

#: Numbers of providers to which a finished turn is queued.
QUEUED = (1, 8, 64)


class NoOpProvider:
    """A provider that does nothing."""

    name = "noop"

    def is_available(self) -> bool:
        """Always."""
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Nothing to do."""

    def shutdown(self) -> None:
        """Nothing to do."""

    def capabilities(self) -> dict[str, Any]:
        """None."""
        return {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        """Knows nothing."""
        return None

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Nothing to do."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Nothing to do."""

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Nothing to do."""


def hand_off() -> Callable[[], object]:
    """A token to a waiting thread and back: the least that any parallel call can cost."""
    there: SimpleQueue[int] = SimpleQueue()
    back: SimpleQueue[int] = SimpleQueue()

    def echo() -> None:
        while True:
            back.put(there.get())

    threading.Thread(target=echo, daemon=True).start()

    def turn() -> object:
        there.put(1)
        return back.get()

    return turn


def pool() -> Callable[[], object]:
    """`submit` and `result` of a pool with one thread."""
    provider = NoOpProvider()
    executor = ThreadPoolExecutor(1)
    return lambda: executor.submit(provider.enrich_turn, "hello", []).result(5.0)


def batch(turn: Callable[[], object]) -> Batch:
    """Gives a function that makes `turn` a number of times, and returns the seconds of it."""

    def run(calls: int) -> float:
        began = time.perf_counter()
        for _ in range(calls):
            turn()
        return time.perf_counter() - began

    return run


def drained(queue: Callable[[], object], drain: Callable[[], object]) -> Batch:
    """As `batch`; what was queued is delivered afterwards, which is not counted."""
    run = batch(queue)

    def queued(calls: int) -> float:
        took_s = run(calls)
        drain()
        return took_s

    return queued


def opened(providers: int = 1) -> MemoryProviderRegistry:
    """A registry with providers that do nothing."""
    host = MemoryProviderRegistry()
    for number in range(providers):
        provider = NoOpProvider()
        provider.name = f"noop{number or ''}"
        host.register(provider)
    host.initialize_all("benchmark", {"home": "."})
    return host


def each_s(run: Batch) -> float:
    """Seconds of one call, over `CALLS` of them."""
    return run(CALLS) / CALLS


def history(count: int) -> list[dict[str, Any]]:
    """A conversation of short messages."""
    return [{"role": "user", "content": f"message {number}"} for number in range(count)]


def compare(title: str, rows: dict[str, Batch], base: str, rounds: int) -> None:
    """Measure the rows in turn, and print them."""
    took: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, run in rows.items():
            took[name].append(each_s(run) * 1e6)
    print(f"\n{title}")
    for name, samples in took.items():
        low, middle, high = statistics.quantiles(samples, n=4)
        ratio = statistics.median(a / b for a, b in zip(samples, took[base], strict=True))
        spread = f"[{low:.1f} .. {high:.1f}]"
        print(f"  {name:38} {middle:8.1f} us  {spread:20} {ratio:5.2f} x {base}")


# -- what is measured -----------------------------------------------------------------------------


def recalls(rounds: int, manager: Any) -> None:
    """A turn with one provider, for a caller that blocks."""
    messages = history(200)
    host = opened()
    rows = {
        "bare hand-off": batch(hand_off()),
        "pool": batch(pool()),
        "registry": batch(lambda: host.enrich_turn("hello", [])),
        "registry, 200 messages": batch(lambda: host.enrich_turn("hello", messages)),
    }
    if manager is not None:
        rows["MemoryManager"] = batch(lambda: manager.prefetch_all("hello"))
    compare("recall, a caller that blocks", rows, "pool", rounds)
    if manager is not None:
        both = {name: rows[name] for name in ("MemoryManager", "registry")}
        compare("recall, against the peer", both, "MemoryManager", rounds)
    host.shutdown_all()


def turns(rounds: int) -> None:
    """Queueing a finished turn, without its delivery, to one provider, 8 and 64."""
    for providers in QUEUED:
        host = opened(providers)
        rows = {
            "registry": drained(functools.partial(host.on_turn_complete, "hello", "hi"), host.flush)
        }
        manager, _ = peer(providers)
        if manager is not None:
            rows["MemoryManager"] = drained(
                functools.partial(manager.sync_all, "hello", "hi"),
                functools.partial(manager.flush_pending, 30.0),
            )
        compare(f"queueing a turn, {providers} providers", rows, next(reversed(rows)), rounds)
        host.shutdown_all()


def on_the_loop(rounds: int) -> None:
    """A turn with one provider, for a host on an event loop."""
    host = opened()
    _, turn = face(NoOpProvider())
    with ExitStack() as stack:
        rows = {
            "registry": batch(lambda: host.enrich_turn("hello", [])),
            "hand-off to a loop": stack.enter_context(on_loop(loop_hand_off())),
            "asyncio face": stack.enter_context(on_loop(turn)),
            "to_thread": stack.enter_context(on_loop(in_thread(host))),
        }
        compare("recall, a host on an event loop", rows, "to_thread", rounds)
        pair = {name: rows[name] for name in ("registry", "asyncio face")}
        compare("recall, the asyncio face against threads", pair, "registry", rounds)
    host.shutdown_all()


def memory() -> None:
    """Memory that ten thousand turns leave behind: after the first thousand, and at the end."""
    host, (face_host, turn) = opened(), face(NoOpProvider())
    with on_loop(turn) as looped:
        print("\n10,000 turns, of which each recalls and is recorded")
        grown("registry", functools.partial(turn_of, host))
        grown("asyncio face", lambda: looped(1))
    lost = host.stats()["providers"]["noop"]["lost"]
    print(f"  turns lost: {lost}; threads: {threading.active_count()}")
    host.shutdown_all()
    asyncio.run(face_host.shutdown_all())


def turn_of(host: MemoryProviderRegistry) -> None:
    """One turn that is recalled for, and recorded."""
    host.enrich_turn("x", [])
    host.on_turn_complete("x", "y")


def grown(name: str, turn: Callable[[], object]) -> None:
    """Print by how much the process has grown between turn 1,000 and turn 10,000."""
    for _ in range(1_000):
        turn()
    before = resident_kb()
    for _ in range(9_000):
        turn()
    after = resident_kb()
    print(f"  {name:38} {before:8} kB after 1,000, {after - before:+} kB after 10,000")


def resident_kb() -> int:
    """The process's resident memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() // 1024


def main() -> None:
    """Measure and print."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    manager, version = peer()
    print(f"Python {sys.version.split()[0]}; load {os.getloadavg()[0]:.1f}; peer: {version}")
    recalls(rounds, manager)
    turns(rounds)
    on_the_loop(rounds)
    memory()


if __name__ == "__main__":
    main()
