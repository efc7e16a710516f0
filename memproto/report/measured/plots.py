"""Plots of a measurement for SVG: shares with their intervals, and growth by the turns."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

from memproto.report import plot

#: Of one panel of growth, in pixels: its size, and where its plot begins and ends.
WIDTH, HEIGHT = 330, 230
LEFT, RIGHT, TOP, BOTTOM = 64, 318, 16, 186

#: Classes of lines and dots by which targets are told apart, beside a dash of their own.
_STYLES = 6


def bars(document: dict[str, Any]) -> list[dict[str, Any]]:
    """For each row with recall: its name, and its share within the last budget in per cent."""
    last = str(document["measure"]["budgets_chars"][-1])
    found = []
    for row in document["rows"]:
        share = row["recall"] and row["recall"]["found"][last]
        if share:
            values = {key: round(100 * share[key], 1) for key in ("share", "low", "high")}
            repeats = [round(100 * value, 1) for value in share["repeats"]]
            named = {"name": row["target"], "is_baseline": row["is_baseline"]}
            found.append({**named, **values, "repeats": repeats})
    return found


def panels(document: dict[str, Any]) -> list[dict[str, Any]]:
    """A panel for each operation, the disk and the memory, each with a line for each target."""
    rows = [row for row in document["rows"] if row["speed"] and len(row["speed"]["sizes"]) > 1]
    sizes = sorted({size["turns"] for row in rows for size in row["speed"]["sizes"]})
    if len(sizes) < 2:
        return []
    styles = dict(
        zip((row["target"] for row in rows), itertools.cycle(range(_STYLES)), strict=False)
    )
    names = ("recall", "record", "write", "start", "shutdown", "disk", "memory")
    found = []
    for name in names:
        lines = {row["target"]: points for row in rows if len(points := _points(row, name)) > 1}
        if lines:
            found.append(_panel(name, lines, sizes, styles))
    return found


def legend(document: dict[str, Any]) -> list[tuple[int, str]]:
    """The style of each target, and its name."""
    lines = (panel["lines"] for panel in panels(document))
    found = {line["target"]: line["style"] for line in itertools.chain.from_iterable(lines)}
    return [(style, target) for target, style in found.items()]


def _points(row: dict[str, Any], name: str) -> list[tuple[int, float]]:
    """Size and value, for values above 0: an axis of logarithms has no place for others."""
    found = []
    for size in row["speed"]["sizes"]:
        times = size["operations"].get(name)
        value = times["p50_s"] if times else size.get(f"{name}_bytes", 0)
        found.append((size["turns"], float(value)))
    return [(turns, value) for turns, value in found if value > 0]


def _panel(
    name: str, lines: dict[str, list[tuple[int, float]]], sizes: list[int], styles: dict[str, int]
) -> dict[str, Any]:
    values = [value for points in lines.values() for _, value in points]
    up, across = _decades(values), _decades([float(size) for size in sizes])
    is_time = name not in ("disk", "memory")
    shown = plot.duration if is_time else plot.size
    return {
        "title": f"{name}, half within" if is_time else name,
        "grid": [
            (_place(10.0**power, up, BOTTOM, TOP), shown(10.0**power))
            for power in range(up[0], up[1] + 1)
        ],
        "sizes": [(_place(size, across, LEFT + 10, RIGHT - 14), f"{size:,}") for size in sizes],
        "lines": [
            {"target": target, "style": styles[target], "points": list(_drawn(points, across, up))}
            for target, points in lines.items()
        ],
    }


def _drawn(
    points: list[tuple[int, float]], across: tuple[int, int], up: tuple[int, int]
) -> Iterator[tuple[float, float]]:
    for turns, value in points:
        yield _place(turns, across, LEFT + 10, RIGHT - 14), _place(value, up, BOTTOM, TOP)


def _decades(values: list[float]) -> tuple[int, int]:
    """The powers of ten that hold all values; never the same one twice."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _place(value: float, decades: tuple[int, int], start: int, end: int) -> float:
    share = (math.log10(value) - decades[0]) / (decades[1] - decades[0])
    return round(start + share * (end - start), 1)
