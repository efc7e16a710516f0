"""
The broken providers behind `memproto serve`.

`python -P tests/wire/behind_serve.py [--each N] [TARGET]` prints the table.

Each is judged as a program, by the requirement that it violates in the kit's process. A row says
that it dies by the same requirement, or why it cannot: the requirement does not cross a process, or
the fault stays on the server's side. Anything else is a row that is lost, and the exit code is 1.
"""

import argparse
import dataclasses
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, get_args

from memproto import spec
from memproto.bindings import WIRE
from memproto.errors import KitUsageError
from memproto.loading.servers import as_target
from memproto.testing.judging.judge import Order, judge
from memproto.testing.outcomes import Outcome, Result, merge
from memproto.testing.settings import settings

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    # Behind the installed package: `memproto` is not to come from the checkout.
    sys.path.append(str(ROOT))

from tests.broken.marks import Mutant, load_all  # noqa: E402 - needs the path above

#: The end of a row.
State = Literal[
    "dies",  # by the same requirement
    "apart",  # the requirement does not cross a process
    "stays",  # the requirement crosses, and the fault does not
    "LOST",
]

#: Why a fault does not reach a host behind `memproto serve`, and the providers that have it.
_STAYING: dict[str, tuple[str, ...]] = {
    "it is in the state of a process that several instances share, and a server is one instance": (
        "tests.broken.extensions.compress_notes:NotesAreOfTheProcess",
        "tests.broken.provider.isolation:OneClientForAll",
        "tests.broken.provider.isolation:OneListForAllHomes",
        "tests.broken.provider.processes:KeepsItsStoreInItsClass",
    ),
    "a command that greets nobody is no server: the run ends with exit code 4, or undecided": (
        "tests.broken.provider.identity:BuildingHangs",
    ),
    "it is about half a surrogate pair, in the place of which the wire carries U+FFFD": (
        "tests.broken.extensions.delegation:ResultsAreEncoded",
        "tests.broken.provider.recall:RecallEncodesTheQuestion",
    ),
}

#: Broken provider to the reason why its fault stays on the server's side.
STAYS = {target: why for why, targets in _STAYING.items() for target in targets}

#: The judge waits for child processes most of the time; two of them keep two cores busy.
_WORKERS = 2

_RED = (Outcome.FAIL, Outcome.WARN)

_SERVE = (sys.executable, "-P", "-m", "memproto", "serve")


@dataclasses.dataclass(frozen=True)
class Row:
    """
    One broken provider behind `memproto serve`.

    Attributes:
        mutant: The broken provider.
        state: See `State`.
        why: The reason of everything but "dies".
        took_s: Seconds that judging it took.

    """

    mutant: Mutant
    state: State
    why: str = ""
    took_s: float = 0.0

    def __str__(self) -> str:
        head = f"{self.state:5} {self.mutant.kills:15} {self.mutant.target:62} {self.took_s:5.1f} s"
        return f"{head}  {self.why}".rstrip()


def is_served(mutant: Mutant) -> bool:
    """True if it is a provider that `memproto serve` can serve: no host, and no server itself."""
    item = spec.requirement(mutant.kills)
    return item.side == "provider" and item.binding != "wire"


def apart(requirement: str) -> str:
    """Why a requirement cannot be decided across a process; "" if it can."""
    item = spec.requirement(requirement)
    if item.binding not in WIRE.rules:
        return f"it is about the binding {item.binding!r} alone, and a server's hosts use the wire"
    return WIRE.out_of_reach.get(requirement, "")


def row(mutant: Mutant) -> Row:
    """Judge a broken provider behind `memproto serve` by the requirement that it violates."""
    if why := apart(mutant.kills):
        return Row(mutant, "apart", why)
    began = time.monotonic()
    try:
        found = _judged(mutant)
    except KitUsageError as error:
        return Row(mutant, "LOST", f"it cannot be judged: {error}", time.monotonic() - began)
    took_s = time.monotonic() - began
    result = found.get(mutant.kills)
    if result is not None and result.outcome is Outcome.NOT_APPLICABLE:
        # The kit says so itself, with the reason.
        return Row(mutant, "apart", result.reason, took_s)
    why = STAYS.get(mutant.target, "")
    if result is None or result.outcome not in _RED:
        return Row(mutant, "stays" if why else "LOST", why or _told(result, found), took_s)
    if why:
        told = f"it dies, and stands among those of which the fault stays: {why}"
        return Row(mutant, "LOST", told, took_s)
    return Row(mutant, "dies", "", took_s)


def _judged(mutant: Mutant) -> dict[str, Result]:
    order = Order(
        as_target([*_SERVE, mutant.target], str(ROOT)),
        side="provider",
        settings=settings.read(mutant.target, ROOT),
        directory=ROOT,
        scale=mutant.scale,
    )
    wanted = [spec.requirement(mutant.kills)]
    found = judge(order, wanted)
    return merge(found, dict.fromkeys([mutant.kills, *(result.id for result in found)]))


def _told(result: Result | None, found: dict[str, Result]) -> str:
    red = " ".join(name for name, one in found.items() if one.outcome in _RED)
    tail = f"; red is {red}" if red else ""
    if result is None:
        return f"it did not run{tail}"
    told = " | ".join(filter(None, (result.expected, result.observed, result.reason)))
    return f"{result.outcome}: {told[-400:]}{tail}"


def sample(mutants: Iterable[Mutant], most: int) -> list[Mutant]:
    """As many of each area as that, of those that are judged, the first of its shelf."""
    chosen: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        of_area = chosen.setdefault(spec.requirement(mutant.kills).area, [])
        if len(of_area) < most and not apart(mutant.kills):
            of_area.append(mutant)
    return [mutant for of_area in chosen.values() for mutant in of_area]


def robbed(rows: Iterable[Row]) -> list[str]:
    """The requirements that cross, of whose broken providers none dies behind `memproto serve`."""
    states: dict[str, set[State]] = {}
    for done in rows:
        if done.state != "apart":
            states.setdefault(done.mutant.kills, set()).add(done.state)
    return [name for name, found in states.items() if "dies" not in found]


# -- at the terminal -------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Print the table; 1 if a row is lost."""
    asked = _parser().parse_args(arguments)
    served = [mutant for mutant in load_all().values() if is_served(mutant)]
    wanted = [mutant for mutant in served if asked.only.lower() in _names(mutant)]
    if asked.each:
        wanted = sample(wanted, asked.each)
    rows = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        for done in pool.map(row, wanted):
            rows.append(done)
            sys.stdout.write(f"{done}\n")
            sys.stdout.flush()
    states = {state: sum(done.state == state for done in rows) for state in get_args(State)}
    told = ", ".join(f"{count} {state}" for state, count in states.items())
    without = robbed(rows)
    sys.stdout.write(f"{len(rows)} rows: {told}\n")
    sys.stdout.write(f"requirements that cross without a mutant: {' '.join(without) or 'none'}\n")
    return int(states["LOST"] > 0 or not rows)


def _names(mutant: Mutant) -> str:
    return f"{mutant.target} {mutant.kills}".lower()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -P tests/wire/behind_serve.py", description=__doc__)
    parser.add_argument("--each", type=int, default=0, metavar="N", help="N of each area")
    parser.add_argument("only", nargs="?", default="", help="a part of a target or an id")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
