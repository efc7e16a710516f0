"""
Targets judged side by side and one after the other: what differs, and the times.

    python benchmarks/same_outcomes.py [--rounds=1] [--broken=N] [--lanes=2] TARGET ...

TARGET is a provider as for `--memproto`. With --broken=N so many of the broken providers of the
tests are added, spread over all of them. Compared are outcomes, and where each was found; texts are
compared as well, without the numbers in them, since times and drawn names differ between any two
runs. Wall time says something on a quiet machine alone; processor time is that of all processes.
"""

import argparse
import dataclasses
import os
import re
import resource
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from memproto import spec  # noqa: E402 - needs the path above
from memproto.errors import KitUsageError  # noqa: E402 - as above
from memproto.testing.judging.crew import Crew  # noqa: E402 - as above
from memproto.testing.outcomes import Result, merge  # noqa: E402 - as above
from memproto.testing.processes import roots, template  # noqa: E402 - as above
from memproto.testing.settings import settings  # noqa: E402 - as above
from memproto.testing.settings.order import Order  # noqa: E402 - as above


@dataclasses.dataclass
class Run:
    """One verdict: the row of each requirement in the order of the report, and the seconds."""

    rows: list[tuple[str, ...]]
    texts: dict[str, str]
    wall_s: float
    used_s: float


def judged(target: str, lanes: int) -> Run:
    """Judge a target in the directory of the project with so many checks at a time."""
    order = Order(target, settings=settings.read(target, ROOT), directory=ROOT)
    order = dataclasses.replace(order, settings=dataclasses.replace(order.settings, parallel=lanes))
    wanted = spec.select([], "provider")
    began_s, used_s = time.perf_counter(), _used_s()
    root = roots.new_root()
    crew = Crew(order, root)
    try:
        found = list(crew.meet().results)
        plan = crew.prepare(wanted)
        assert (plan.lanes if plan else 1) <= lanes
        for requirement in wanted:
            found += crew.run(requirement)
        found += crew.finish()
    finally:
        crew.close()
        roots.remove(root)
        template.end()
    took_s, used_s = time.perf_counter() - began_s, _used_s() - used_s
    ids = dict.fromkeys([*(item.id for item in wanted), *(item.id for item in found)])
    results = merge(found, ids).values()
    texts = {result.id: _text(result) for result in results}
    return Run([_row(result) for result in results], texts, took_s, used_s)


def _row(result: Result) -> tuple[str, ...]:
    return (result.id, str(result.outcome), result.seen_in, *result.after)


def _text(result: Result) -> str:
    said = (result.expected, result.observed, result.reason)
    return re.sub(r"[0-9a-f]*\d[0-9a-f.]*", "#", "; ".join(filter(None, said)))


def _used_s() -> float:
    kinds = (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, kinds))


def broken(count: int) -> list[str]:
    """So many broken providers, one of each shelf before the second of any."""
    from tests import matrix
    from tests.broken.marks import load_all

    mutants = {
        name: mutant
        for name, mutant in load_all().items()
        if not mutant.kills.startswith("MP-HOST-")
    }
    spread = [name for most in (1, 2, 3, 4) for name in matrix.sample(mutants, most)]
    return list(dict.fromkeys(spread))[:count]


def main(words: list[str]) -> int:
    """Print a line for each target, and the ratios; 1 if an outcome differs or none was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=2)
    options = parser.parse_args(words)
    walls, used, differing, unjudged = [], [], 0, 0
    for target in (*options.targets, *broken(options.broken)):
        for _ in range(options.rounds):
            try:
                alone, together = (judged(target, lanes) for lanes in (1, options.lanes))
            except KitUsageError as error:
                print(f"{target}: {error}", flush=True)
                unjudged += 1
                break
            walls.append(together.wall_s / alone.wall_s)
            used.append(together.used_s / alone.used_s)
            rows = [
                f"{one} beside {two}"
                for one, two in zip(together.rows, alone.rows, strict=True)
                if one != two
            ]
            texts = [name for name, text in together.texts.items() if text != alone.texts[name]]
            differing += bool(rows)
            print(
                f"{target}: wall {together.wall_s:.1f} beside {alone.wall_s:.1f} s, processor "
                f"{together.used_s:.1f} beside {alone.used_s:.1f} s; outcomes that differ: "
                f"{'; '.join(rows) or 'none'}; texts: {', '.join(texts) or 'none'}",
                flush=True,
            )
    if walls:
        print(
            f"{len(walls)} pairs, {differing} differ; wall {statistics.median(walls):.2f} times, "
            f"processor {statistics.median(used):.2f} times, at a load of {os.getloadavg()[0]:.1f}"
        )
    return int(differing + unjudged > 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
