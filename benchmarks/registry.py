"""
What a turn of the registry costs, beside what any hand-off between two threads costs.

Run by hand: `python benchmarks/registry.py`. Pinned to one core, so that the scheduler's choice of
a core is not what is measured; the rows take turns, so that a change of the machine's speed meets
all of them. Prints median and quartiles in microseconds and the ratio to the pool.
"""

import os
import statistics
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from memproto.registry import MemoryProviderRegistry

ROUNDS = 60
CALLS = 200


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


def registry(messages: list[dict[str, Any]]) -> Callable[[], object]:
    """A turn of a registry with one provider."""
    host = MemoryProviderRegistry()
    host.register(NoOpProvider())
    host.initialize_all("benchmark", {"home": "."})
    return lambda: host.enrich_turn("hello", messages)


def timed_us(turn: Callable[[], object]) -> float:
    """Microseconds of one call, over `CALLS` of them."""
    began = time.perf_counter()
    for _ in range(CALLS):
        turn()
    return (time.perf_counter() - began) / CALLS * 1e6


def main() -> None:
    """Measure and print."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    history = [{"role": "user", "content": f"message {number}"} for number in range(200)]
    rows = {
        "bare hand-off": hand_off(),
        "pool submit + result": pool(),
        "registry, 0 messages": registry([]),
        "registry, 200 messages": registry(history),
    }
    took: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, turn in rows.items():
            took[name].append(timed_us(turn))
    base = took["pool submit + result"]
    for name, samples in took.items():
        low, middle, high = statistics.quantiles(samples, n=4)
        ratio = statistics.median(a / b for a, b in zip(samples, base, strict=True))
        print(f"{name:24} {middle:8.1f} us  [{low:.1f} .. {high:.1f}]  {ratio:5.2f} x pool")


if __name__ == "__main__":
    main()
