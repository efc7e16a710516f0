"""The parts of `growth.py` that judge the builtin provider, in processes of their own."""

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from growth_rows import Part, Row
from side_by_side import SOME, calls, judged, ran

RULES = (1, 25, 50, 100)
TARGETS = (1, 2, 4, 8)
LATENCIES_MS = (0, 10, 50, 100, 300)
WORKERS = (0, 1, 2, 4)

#: Requirements for each of several targets; all of them take a minute for eight.
FEW = 10

#: Chapters for hooks that wait; all of them make 5,000 calls.
AREAS = SOME[:4]

#: Providers that differ in nothing but their names.
SEVERAL = "from memproto.reference_providers.builtin import BuiltinMemoryProvider\n" + "".join(
    f"class Builtin{number}(BuiltinMemoryProvider):\n    pass\n" for number in range(max(TARGETS))
)

#: Runs of a verdict that may be inconclusive on a busy machine, and the share that makes it so.
_TRIES, _OPEN_SHARE = 3, 0.1
_OPEN = ("untestable", "inconclusive", "kit_error")


def _conclusive(what: str, run: Callable[[], tuple[list[dict[str, Any]], float]]) -> float:
    """
    The seconds of the first run that is not inconclusive.

    A verdict that a busy machine leaves open ends early or late, and its time says nothing.
    """
    for _ in range(_TRIES):
        reports, took_s = run()
        rows = [row for report in reports for row in report["results"]]
        made = [row for row in rows if row["outcome"] != "not_run"]
        count = sum(row["outcome"] in _OPEN for row in made)
        if count <= _OPEN_SHARE * len(made):
            return took_s
        print(f"{what}: {count} of {len(made)} outcomes are open, once more", flush=True)
    sys.exit(f"{what}: inconclusive {_TRIES} times; this machine is too busy")


def _verdict(targets: list[str], words: list[str]) -> float:
    what = f"{len(targets)} targets, {' '.join(words[:2])}..."
    return _conclusive(what, lambda: ran(targets, words, {"several.py": SEVERAL})[:2])


@functools.cache
def _passed() -> list[str]:
    """The requirements that builtin passes, drawn in an order that is the same in each run."""
    names: list[str] = []

    def whole() -> tuple[list[dict[str, Any]], float]:
        reports, took_s, _ = ran(["builtin"], [], {})
        names[:] = [row["id"] for row in reports[0]["results"] if row["outcome"] == "pass"]
        return reports, took_s

    _conclusive("the first verdict, which is not counted", whole)
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def _some(count: int) -> list[str]:
    return [f"--memproto-clause={name}" for name in _passed()[:count]]


@contextmanager
def rules() -> Iterator[Part]:
    """A quick verdict of builtin, by the number of its requirements."""
    names = {count: _some(count) for count in RULES}
    names[len(_passed())] = []
    rows = [
        Row("verdict", count, functools.partial(_verdict, ["builtin"], words), ("verdict", 1))
        for count, words in names.items()
    ]
    note = "a quick verdict of builtin, requirements drawn from those that it passes"
    yield Part("requirements", "one requirement", note, rows)


@contextmanager
def targets() -> Iterator[Part]:
    """A run over several targets."""
    words = _some(FEW)
    rows = [
        Row(
            "verdict",
            count,
            functools.partial(_verdict, [f"several:Builtin{n}" for n in range(count)], words),
            ("verdict", 1),
        )
        for count in TARGETS
    ]
    note = f"one quick run over classes that are builtin, {FEW} requirements each"
    yield Part("targets", "one target", note, rows)


@contextmanager
def latency() -> Iterator[Part]:
    """A verdict of a provider whose hooks wait, beside the wait of all its calls in a row."""
    words = [f"--memproto-clause=MP-{area}" for area in AREAS]
    waited_s: dict[int, float] = {}

    def verdict(wait_ms: int) -> float:
        def run() -> tuple[list[dict[str, Any]], float]:
            found = judged("Builtin", wait_ms, words, "")
            waited_s[wait_ms] = calls(found) * wait_ms / 1_000
            return [found["report"]], found["took_s"]

        return _conclusive(f"hooks that wait {wait_ms} ms", run)

    base = ("verdict", 0)
    rows = [Row("verdict", ms, functools.partial(verdict, ms), base) for ms in LATENCIES_MS]
    # Each stands behind the row whose calls it counts.
    rows += [
        Row("wait x calls", ms, functools.partial(waited_s.__getitem__, ms), base)
        for ms in LATENCIES_MS
        if ms
    ]
    note = f"the chapters {', '.join(AREAS)} for builtin with waiting hooks"
    yield Part("ms of each hook", "hooks that do not wait", note, rows)


@contextmanager
def workers() -> Iterator[Part]:
    """A whole quick verdict of builtin under `pytest -n`."""
    rows = [
        Row(
            "verdict",
            count,
            functools.partial(_verdict, ["builtin"], ["-n", str(count)]),
            ("verdict", 1),
        )
        for count in WORKERS
    ]
    note = "a quick verdict of builtin with all requirements, pytest -n; 0 is without xdist"
    yield Part("workers", "one worker", note, rows)
