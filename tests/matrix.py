"""
The kill matrix: every broken provider and host against the kit, and what turned red.

`python -P tests/matrix.py [--only AREA] [--full] [--shard I/N]` prints one line for each of them
and exits 1 if one is not exact. A row is exact if the ids that failed or warned are those that the
mutant names and no others, and the check saw the fault that the mutant is about.
"""

import argparse
import dataclasses
import importlib
import inspect
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

from memproto import loading, spec
from memproto.errors import KitUsageError
from memproto.testing import clauses
from memproto.testing.judging.judge import Order, judge
from memproto.testing.outcomes import Outcome, Result, merge
from memproto.testing.settings import settings

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    # Behind the installed package: `memproto` is not to come from the checkout.
    sys.path.append(str(ROOT))

from tests.broken.marks import Mutant, load_all  # noqa: E402 - as above
from tests.mutation import shards  # noqa: E402 - needs the path above

#: Extent to which a mutant is judged; see `row`.
Reach = Literal["named", "near", "all"]

#: Providers of which every requirement holds.
GOOD = (
    "builtin",
    "tests.good.journal:Journal",
    "tests.good.dated:Dated",
    "tests.good.dated:Due",
    "tests.good.hashed:Hashed",
    "tests.good.registering:register",
    "tests.good.tenants:Tenants",
    "tests.good.switching:Switching",
    "tests.good.tooled:Tooled",
    "tests.good.tooled:Editing",
    "tests.good.tenants:Owned",
    "tests.good.tenants:HermesTooledByUser",
    "tests.good.tenants:HermesPromptedByUser",
    "tests.good.configured:Configured",
    "tests.good.telling:Telling",
    "tests.good.telling:Keeping",
    "tests.good.private:Private",
    "tests.good.private:Apart",
    "tests.good.private:Delegating",
    "tests.good.remote:Remote",
    "tests.good.remote.serving:Serving",
    "tests.good.waiting:Waiting",
    "tests.good.served:InThread",
    "tests.good.ledger:Ledger",
    "tests.good.ledger:Listing",
    "tests.good.ledger:Keeping",
    "tests.good.tidying:Tidying",
    "tests.good.tidying:Restoring",
    "tests.good.working:Working",
    "tests.good.indexed:Indexed",
    "tests.good.forgiving:Forgiving",
    "tests.good.wary:Wary",
    "tests.good.targeted:Targeted",
    "tests.good.worded:Worded",
    "tests.good.worded:Apart",
    "tests.good.worded:Prefixed",
    "tests.good.worded:Newest",
    "tests.good.worded:Ranked",
    "tests.good.worded:Lettered",
    "tests.good.worded:Tagged",
    "tests.good.worded:Cased",
    "tests.good.worded:Shortened",
    "tests.good.worded:Phrased",
    "tests.good.worded:Bare",
    "tests.good.worded:Trigrams",
    "tests.good.worded:Undeclared",
    "tests.good.choosy:Choosy",
    "tests.good.choosy:Personal",
    "tests.good.choosy:Rewording",
    "tests.good.known:Known",
    "tests.good.behind:Behind",
    "tests.good.derived:Derived",
    "tests.good.wired:Wired",
)

#: Beside its own chapters each mutant meets these, in which most faults would show up by accident.
SMOKE = {
    "provider": (
        "MP-NAME-003",
        "MP-RECALL-001",
        "MP-TURN-001",
        "MP-WRITE-001",
        "MP-COMP-001",
        "MP-SHUT-001",
    ),
    "host": ("MP-HOST-RECALL-004", "MP-HOST-TURN-001", "MP-HOST-SHUT-002", "MP-HOST-FENCE-002"),
}

#: A row waits for its processes and deadlines most of the time: four at a time left two processors
#: idle for half of 44 minutes.
WORKERS = 6

_MOST_LINES = 20
_MOST_ALSO = 3
_RED = (Outcome.FAIL, Outcome.WARN)
_QUIET = (Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED)
#: Gates of a session's start: checks that need no session are decided behind them.
_STARTS = ("MP-INIT-001", "MP-CAP-001")
_BEHIND_A_GATE = (Outcome.UNTESTABLE, Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED)


@dataclasses.dataclass(frozen=True)
class Row:
    """
    One line of the matrix.

    Attributes:
        target: The broken or good one.
        red: The ids that failed or warned.
        faults: Why the row is not exact, in words; empty for an exact one.
        took_s: Seconds that judging it took.

    """

    target: str
    red: tuple[str, ...]
    faults: tuple[str, ...]
    took_s: float

    def __str__(self) -> str:
        head = "ok " if not self.faults else "BAD"
        lines = [f"{head} {self.target:66} {self.took_s:6.1f} s  {' '.join(self.red) or '-'}"]
        return "\n".join(lines + [f"      {fault}" for fault in self.faults])


def sample(mutants: dict[str, Mutant], most: int) -> list[str]:
    """A number of mutants of each area, the first of its shelf."""
    chosen: dict[str, list[str]] = {}
    for mutant in mutants.values():
        of_area = chosen.setdefault(spec.requirement(mutant.kills).area, [])
        of_area += [mutant.target] * (len(of_area) < most)
    return [target for of_area in chosen.values() for target in of_area]


# -- judging ---------------------------------------------------------------------------------------


def row(target: str, reach: Reach = "near") -> Row:
    """
    Judge one mutant or good provider and compare the outcome with what it is to be.

    `reach` says against what a mutant is judged: the requirements that it names, beside them their
    areas and the smoke set, or all. A good provider is judged against all, or, where the reach is
    what is named, against what the mutants made of it violate and the smoke set.
    """
    mutant = load_all().get(target)
    began = time.monotonic()
    try:
        results = _judged(target, mutant, reach)
    except KitUsageError as error:
        return Row(target, (), (f"it cannot be judged: {error}",), time.monotonic() - began)
    red = tuple(item for item, result in results.items() if result.outcome in _RED)
    faults = _shortcomings(results) if mutant is None else unexact(mutant, results)
    return Row(target, red, tuple(faults), time.monotonic() - began)


def _judged(target: str, mutant: Mutant | None, reach: Reach) -> dict[str, Result]:
    side: spec.Side = "host" if mutant and mutant.kills.startswith("MP-HOST-") else "provider"
    scale = mutant.scale if mutant else 1.0
    order = Order(
        target, side=side, settings=settings.read(target, ROOT), directory=ROOT, scale=scale
    )
    wanted = spec.select([], side)
    if mutant is not None and reach != "all":
        wanted = [item for item in wanted if _is_reached(item, mutant, reach)]
    elif reach == "named":
        wanted = [item for item in wanted if item.id in {*broken_of(target), *SMOKE[side]}]
    found = judge(order, wanted)
    return merge(found, dict.fromkeys([*(i.id for i in wanted), *(result.id for result in found)]))


def broken_of(good: str) -> set[str]:
    """The requirements that the mutants made of a good provider violate."""
    base = type(loading.load(good).build())
    return {
        mutant.kills
        for mutant in load_all().values()
        if isinstance(made := _attribute(mutant.target), type) and issubclass(made, base)
    }


def _attribute(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _is_reached(item: spec.Requirement, mutant: Mutant, reach: Reach) -> bool:
    """True if the mutant names the requirement, or it is in an area of it, or in the smoke set."""
    if reach == "named":
        return item.id in (mutant.kills, *mutant.also, mutant.found_by)
    areas = {spec.requirement(name).area for name in (mutant.kills, *mutant.also)}
    return item.area in areas or item.id in (mutant.found_by, *SMOKE[item.side])


# -- exactness -------------------------------------------------------------------------------------


def unexact(mutant: Mutant, results: dict[str, Result]) -> list[str]:
    """Faults of a mutant's row; none for an exact one."""
    named = {mutant.kills, *mutant.also}
    red = {item for item, result in results.items() if result.outcome in _RED}
    faults = [f"{item} is not red: {_told(results.get(item))}" for item in sorted(named - red)]
    if faults and mutant.found_by:
        faults.append(f"{mutant.found_by} was to meet it: {_told(results.get(mutant.found_by))}")
    faults += [f"{item} is red as well: {_told(results[item])}" for item in sorted(red - named)]
    faults += _kit_errors(results)
    if mutant.kills in red and mutant.says not in _said(results[mutant.kills]):
        faults.append(f"does not say {mutant.says!r}: {_told(results[mutant.kills])}")
    if spec.requirement(mutant.kills).gate:
        faults += _past_the_gate(mutant.kills, results)
    return faults


def _past_the_gate(gate: str, results: dict[str, Result]) -> list[str]:
    """Results that a closed gate should have kept open; behind some, instances can be built."""
    known = clauses.checks(spec.requirement(gate).side)
    return [
        f"{item} was decided behind a closed gate: {_told(result)}"
        for item, result in results.items()
        if not spec.requirement(item).gate
        and result.outcome not in _BEHIND_A_GATE
        and (gate not in _STARTS or known[item].needs_session(None))
    ]


def _shortcomings(results: dict[str, Result]) -> list[str]:
    """Requirements that are not green with a good provider."""
    return [
        f"{i}: {_told(result)}" for i, result in results.items() if result.outcome not in _QUIET
    ]


def _kit_errors(results: dict[str, Result]) -> list[str]:
    return [
        f"{item}: {_told(result)}"
        for item, result in results.items()
        if result.outcome is Outcome.KIT_ERROR
    ]


def _said(result: Result) -> str:
    return f"{result.expected}\n{result.observed}"


def _told(result: Result | None) -> str:
    if result is None:
        return "it did not run"
    told = " | ".join(filter(None, (result.expected, result.observed, result.reason)))
    return f"{result.outcome}: {told[-600:]}"


# -- the shelf as a whole --------------------------------------------------------------------------


def shelf_faults(mutants: dict[str, Mutant]) -> list[str]:
    """Faults of the shelf before anything runs: long mutants, requirements without one."""
    faults = [
        f"{m.target} has {n} lines" for m in mutants.values() if (n := lines(m)) > _MOST_LINES
    ]
    faults += [f"{m.target} names too many" for m in mutants.values() if len(m.also) > _MOST_ALSO]
    faults += [f"{m.target} gives no reason" for m in mutants.values() if not all(m.also.values())]
    killed = {mutant.kills for mutant in mutants.values()}
    alone = {mutant.kills for mutant in mutants.values() if not mutant.also}
    for item in spec.requirements().values():
        if not item.unchecked and item.id not in (killed if item.gate else alone):
            faults.append(f"{item.id} has no mutant{'' if item.gate else ' that fails it alone'}")
    return faults


def kill_sets(rows: Iterable[Row]) -> dict[str, frozenset[str]]:
    """Requirement to the broken targets that turned it red."""
    found: dict[str, set[str]] = {}
    for done in rows:
        for item in done.red:
            found.setdefault(item, set()).add(done.target)
    return {item: frozenset(targets) for item, targets in found.items()}


def twins(sets: dict[str, frozenset[str]]) -> list[str]:
    """Requirements that no broken target tells apart: one of the two checks adds nothing."""
    by_set: dict[frozenset[str], list[str]] = {}
    for item, targets in sets.items():
        by_set.setdefault(targets, []).append(item)
    return [f"{' and '.join(ids)} have the same kill set" for ids in by_set.values() if ids[1:]]


def lines(mutant: Mutant) -> int:
    """The number of lines of a mutant, without its marks and without empty ones."""
    source = inspect.getsource(_attribute(mutant.target)).splitlines()
    start = next(n for n, line in enumerate(source) if line.startswith(("class ", "def ")))
    return sum(1 for line in source[start:] if line.strip())


# -- at the terminal -------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Print the matrix; 1 when a row or the shelf is not as it is to be."""
    asked = _parser().parse_args(arguments)
    mutants = load_all()
    wanted = [m.target for m in mutants.values() if _is_asked_for(m, asked.only)]
    good = list(GOOD) if not asked.only else []
    targets = shards.shard([*good, *wanted], *asked.shard)
    is_whole = not asked.only and targets == [*good, *wanted]
    faults = shelf_faults(mutants) if is_whole else []
    rows, began = [], time.monotonic()
    for done in _rows(sorted(targets, key=_is_short), "all" if asked.full else "near"):
        rows.append(done)
        print(done, flush=True)  # noqa: T201 - the matrix is what this command prints
    bad = sum(1 for item in rows if item.faults)
    sets = kill_sets(rows)
    alike = twins(sets) if is_whole else []
    faults += alike
    told = f"{len(rows)} rows, {bad} not exact; {len(sets)} kill sets, {len(alike)} alike"
    told += f"; {time.monotonic() - began:.0f} s"
    print("\n".join([*faults, told]))  # noqa: T201 - as above
    return 1 if bad or faults or not rows else 0


def _rows(targets: Iterable[str], reach: Reach) -> Iterable[Row]:
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(lambda target: row(target, reach), targets)


def _is_short(target: str) -> bool:
    """False for a program: its rows wait longest, and are begun before all others."""
    return "wire" not in target.partition(":")[0]


def _is_asked_for(mutant: Mutant, only: str) -> bool:
    """True if `only` is empty, or the area or a part of the name of the mutant."""
    area = spec.requirement(mutant.kills).area
    return not only or only.upper() == area or only.lower() in mutant.target.lower()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.matrix", description=__doc__)
    parser.add_argument("--only", default="", metavar="AREA", help="an area, or a part of a name")
    parser.add_argument("--full", action="store_true", help="all requirements for each mutant")
    parser.add_argument("--shard", type=shards.named, default=(1, 1), metavar="I/N", help="a part")
    return parser


if __name__ == "__main__":
    sys.exit(main())
