"""The parts of `growth.py` that are calls within one process: the registry's turn, the fence."""

import functools
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import copies
import fence
from growth_rows import Part, Row
from registry import NoOpProvider, batch, each_s, history, pool

from memproto import sanitize_context

PROVIDERS = (1, 2, 4, 8, 16, 32, 64)
MESSAGES = (0, 50, 200, 800)
LENGTHS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)

TEXTS = {
    "Markdown": fence.repeated(fence.MARKDOWN),
    "mixed": fence.repeated(fence.MIXED),
    "CJK": fence.repeated("渡轮六点出发。码头的灯亮到九点。水手们在北港的旧仓库里等候潮水。"),
    "worst case": fence.WORST["escaped octal backslashes"],
}

#: One pass over a text for characters that none has.
_SCAN = re.compile("[\x00\x01]").search


@contextmanager
def one_core() -> Iterator[None]:
    """
    Keep this thread on one core, so that the scheduler's choice is not what is measured.

    Threads that begin in the body are kept there too, and no others are.
    """
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def _each(line: str, at: int, turn: Callable[[], object], base: tuple[str, int]) -> Row:
    return Row(line, at, functools.partial(each_s, batch(turn)), base)


def _pools(threads: int) -> Callable[[], object]:
    """As many `submit` at once as a turn has providers, and their results."""
    provider, executor = NoOpProvider(), ThreadPoolExecutor(threads)

    def turn() -> object:
        asked = [executor.submit(provider.enrich_turn, "hello", []) for _ in range(threads)]
        return [one.result(5.0) for one in asked]

    return turn


@contextmanager
def providers() -> Iterator[Part]:
    """A turn by the number of providers, beside as many calls of a pool."""
    base, note = ("pool", 1), "a turn with providers that do nothing, and no messages"
    with one_core():
        hosts = {count: copies.registry(count) for count in PROVIDERS}
        rows = [_each("pool", 1, pool(), base)]
        for count, host in hosts.items():
            turn = functools.partial(host.enrich_turn, "hello", [])
            rows.append(_each("registry", count, turn, base))
            rows.append(_each("pool of as many", count, _pools(count), base))
        yield Part("providers", "a pool's submit and result", note, rows, times=10)
        for host in hosts.values():
            host.shutdown_all()


@contextmanager
def messages() -> Iterator[Part]:
    """A turn by the length of the conversation."""
    base = ("pool", 0)
    note = "a turn with one provider that does nothing, which gets a copy of its own"
    with one_core():
        host = copies.registry(1)
        rows = [_each("pool", 0, pool(), base)]
        for count in MESSAGES:
            turn = functools.partial(host.enrich_turn, "hello", history(count))
            rows.append(_each("registry", count, turn, base))
        yield Part("messages", "a pool's submit and result", note, rows, times=10)
        host.shutdown_all()


@contextmanager
def sanitizing() -> Iterator[Part]:
    """The fence by the length of a text, beside one plain scan of as many characters."""
    rows = []
    for length in LENGTHS:
        base = ("plain scan", length)
        plain = fence.repeated(fence.MARKDOWN)(length)
        rows.append(Row(*base, functools.partial(fence.seconds, _SCAN, plain, rounds=1), base))
        for line, text in TEXTS.items():
            run = functools.partial(fence.seconds, sanitize_context, text(length), rounds=1)
            rows.append(Row(line, length, run, base))
    note = "sanitize_context in processor time; the worst case is escaped octal backslashes"
    with one_core():
        yield Part("characters", "a plain scan of as many", note, rows, sloped=True)
