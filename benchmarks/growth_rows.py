"""The rows of `growth.py`: how a part is measured in turns, and what is kept and printed of it."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from fence.costs import slope

#: A round that took less is not announced.
_LONG_S = 1.0

Place = tuple[str, int]


@dataclass(frozen=True)
class Row:
    """One point of a line: `run` gives its seconds, which those of the row `base` divide."""

    line: str
    at: int
    run: Callable[[], float]
    base: Place

    @property
    def place(self) -> Place:
        """Its line, and its place on it."""
        return self.line, self.at


@dataclass(frozen=True)
class Part:
    """Rows that take turns; `by` and `base` say in words what they grow by and are divided by."""

    by: str
    base: str
    note: str
    rows: list[Row]
    #: Rounds for each that is asked for.
    times: int = 1
    #: True if the exponent of each line's growth says something.
    sloped: bool = False


def measured(name: str, part: Part, rounds: int) -> dict[str, Any]:
    """Measure all rows in turn, so often."""
    took: dict[Place, list[float]] = {row.place: [] for row in part.rows}
    load = [os.getloadavg()[0]]
    for number in range(rounds * part.times):
        began = time.monotonic()
        for row in part.rows:
            took[row.place].append(row.run())
        if (spent_s := time.monotonic() - began) > _LONG_S:
            print(f"{name}: round {number + 1} took {spent_s:.0f} s", flush=True)
    load.append(os.getloadavg()[0])
    found: dict[str, Any] = {
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": load,
        "rounds": rounds * part.times,
        "by": part.by,
        "base": part.base,
        "note": part.note,
        "lines": _lines(part.rows, took),
    }
    if part.sloped:
        found["slopes"] = {line: _slope(points) for line, points in found["lines"].items()}
    return found


def _lines(rows: list[Row], took: dict[Place, list[float]]) -> dict[str, Any]:
    lines: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        times = took[row.place]
        ratios = [one / base for one, base in zip(times, took[row.base], strict=True)]
        point = {
            "at": row.at,
            "took_s": statistics.median(times),
            "ratio": statistics.median(ratios),
            "spread": [min(ratios), max(ratios)],
        }
        lines.setdefault(row.line, []).append(point)
    return lines


def _slope(points: list[dict[str, Any]]) -> float:
    return slope([point["took_s"] for point in points], [point["at"] for point in points])


def table(name: str, found: dict[str, Any]) -> Iterator[str]:
    """The measurements of one part, as lines."""
    low, high = sorted(found["load"])
    yield f"\n{name}: by {found['by']}, against {found['base']} ({found['note']})"
    yield f"  {found['rounds']} rounds, at a load of {low:.1f} to {high:.1f}"
    for line, points in found["lines"].items():
        for point in points:
            ratios = "{:9.2f} x ({:.2f} to {:.2f})".format(point["ratio"], *point["spread"])
            yield f"  {line:18} {point['at']:>9,} {_shown(point['took_s']):>11} {ratios}"
        if "slopes" in found:
            yield f"  {line:18} slope over the last four: {found['slopes'][line]:.2f}"


def _shown(took_s: float) -> str:
    unit, factor = next(
        (pair for pair in (("s", 1.0), ("ms", 1e3)) if took_s * pair[1] >= 1), ("us", 1e6)
    )
    return f"{took_s * factor:.1f} {unit}"
