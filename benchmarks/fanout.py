"""
The cost of asking 64 providers at once that each sleep 50 ms, beside one, and beside the floor.

    python benchmarks/fanout.py

The floor is the bare minimum: 64 threads that wait on a queue each, sleep as long, and answer. The
rows take turns, so that a change of the machine's speed meets all of them. Prints median and
quartiles in milliseconds, and the ratio to the turn with one provider.
"""

import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from registry import NoOpProvider, history

from memproto.registry import MemoryProviderRegistry

PROVIDERS = 64
SLEEP_S = 0.05
ROUNDS = 40


class SleepingProvider(NoOpProvider):
    """A provider that knows something after 50 ms."""

    def __init__(self, number: int) -> None:
        self.name = f"sleeping-{number}"

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        """Sleep and answer."""
        time.sleep(SLEEP_S)
        return "known"


def floor(count: int) -> Callable[[], object]:
    """As many threads, each with a queue, that sleep and put a token into one queue."""
    answers: SimpleQueue[int] = SimpleQueue()
    asked: list[SimpleQueue[int]] = [SimpleQueue() for _ in range(count)]

    def serve(questions: SimpleQueue[int]) -> None:
        while True:
            questions.get()
            time.sleep(SLEEP_S)
            answers.put(1)

    for questions in asked:
        threading.Thread(target=serve, args=(questions,), daemon=True).start()

    def turn() -> object:
        for questions in asked:
            questions.put(1)
        return [answers.get() for _ in asked]

    return turn


def registry(count: int, messages: list[dict[str, Any]]) -> Callable[[], object]:
    """A turn of a registry with `count` providers, every one of which answers."""
    host = MemoryProviderRegistry()
    for number in range(count):
        host.register(SleepingProvider(number))
    host.initialize_all("benchmark", {"home": "."})

    def turn() -> object:
        answers = host.enrich_turn("hello", messages)
        assert len(answers) == count
        return answers

    return turn


def timed_ms(turn: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    turn()
    return (time.perf_counter() - began) * 1e3


def main() -> None:
    """Measure and print."""
    rows = {
        "registry, 1 provider": registry(1, []),
        f"floor, {PROVIDERS} threads": floor(PROVIDERS),
        f"registry, {PROVIDERS} providers": registry(PROVIDERS, []),
        "the same, 200 messages": registry(PROVIDERS, history(200)),
    }
    took: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, turn in rows.items():
            took[name].append(timed_ms(turn))
    base = took["registry, 1 provider"]
    for name, samples in took.items():
        low, middle, high = statistics.quantiles(samples, n=4)
        ratio = statistics.median(a / b for a, b in zip(samples, base, strict=True))
        print(f"{name:24} {middle:8.2f} ms  [{low:.2f} .. {high:.2f}]  {ratio:5.3f} x one provider")


if __name__ == "__main__":
    main()
