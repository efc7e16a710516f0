"""
The cost of the copies of a long conversation: each provider gets its own.

    python benchmarks/copies.py

A turn with 200 messages beside the same turn without any, for 1 and 8 providers that do nothing,
and beside `copy.deepcopy` of the same messages, once for each provider. Pinned to one core; the
rows take turns. Prints medians in microseconds of processor time, which other work on the machine
does not stretch, the ratio to the turn without messages, and the cost of the copies as a share of
what `deepcopy` takes.
"""

import copy
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from registry import NoOpProvider

from memproto.registry import MemoryProviderRegistry

ROUNDS = 30
CALLS = 20
MESSAGES = 200

Messages = list[dict[str, Any]]
TEXTS: Messages = [{"role": "user", "content": f"message {n}"} for n in range(MESSAGES)]
# Every fourth message calls a tool, every fourth is made of parts, as in a run of an agent.
MIXED: Messages = [
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": f"call-{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        ],
    }
    if n % 4 == 0
    else {"role": "user", "content": [{"type": "text", "text": f"message {n}"}]}
    if n % 4 == 1
    else {"role": "user", "content": f"message {n}"}
    for n in range(MESSAGES)
]


class NamedProvider(NoOpProvider):
    """One of several providers that do nothing."""

    def __init__(self, number: int) -> None:
        self.name = f"noop-{number}"


def registry(count: int) -> MemoryProviderRegistry:
    """A registry with `count` providers."""
    host = MemoryProviderRegistry()
    for number in range(count):
        host.register(NamedProvider(number))
    host.initialize_all("benchmark", {"home": "."})
    return host


def timed_us(turn: Callable[[], object]) -> float:
    """Microseconds of processor time, of all threads, of one call, over `CALLS` of them."""
    began = time.process_time()
    for _ in range(CALLS):
        turn()
    return (time.process_time() - began) / CALLS * 1e6


def measured(count: int) -> dict[str, float]:
    """Median microseconds of each row, for `count` providers."""
    host = registry(count)
    rows: dict[str, Callable[[], object]] = {
        "empty": lambda: host.enrich_turn("hello", []),
        "texts": lambda: host.enrich_turn("hello", TEXTS),
        "texts, deepcopy": lambda: [copy.deepcopy(TEXTS) for _ in range(count)],
        "mixed": lambda: host.enrich_turn("hello", MIXED),
        "mixed, deepcopy": lambda: [copy.deepcopy(MIXED) for _ in range(count)],
    }
    took: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, turn in rows.items():
            took[name].append(timed_us(turn))
    return {name: statistics.median(samples) for name, samples in took.items()}


def main() -> None:
    """Measure and print."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for count in (1, 8):
        us = measured(count)
        print(f"{count} providers, no messages: {us['empty']:.0f} us")
        for kind in ("texts", "mixed"):
            copies_us, deep_us = us[kind] - us["empty"], us[f"{kind}, deepcopy"]
            turns, copies = us[kind] / us["empty"], copies_us / deep_us
            print(f"  {MESSAGES} messages, {kind}: {us[kind]:.0f} us, {turns:.2f} x")
            print(f"    copies {copies_us:.0f} us, {copies:.3f} x deepcopy ({deep_us:.0f} us)")


if __name__ == "__main__":
    main()
