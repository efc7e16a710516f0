"""
Pictures of what grows: panels side by side, with logarithmic axes and a legend below each.

A line is straight if its values grow by a power of the number below it, and flat if they do not
grow. A picture has a background of its own, so that it can be read on a page of either colour.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: Of one panel, in pixels: what it takes, and where its plot begins and ends.
WIDTH, HEIGHT = 300, 316
LEFT, RIGHT, TOP, BOTTOM = 58, 286, 44, 226

#: Lines of a legend that HEIGHT has room for, and the pixels of each.
_ROWS, _ROW = 2, 18

#: Marks of an upper axis that can be read.
_MARKS = 9

#: Pixels of a character on an axis, at the most.
_CHARACTER = 7

#: Kind of a line to its colours, on a light page and on a dark one.
_COLOURS = {
    "ours": ("#0550ae", "#6cb6ff"),
    "bare": ("#bc4c00", "#f69d50"),
    "third": ("#1a7f37", "#57ab5a"),
    "fourth": ("#8250df", "#b083f0"),
    "floor": ("#6e7781", "#8b949e"),
}

_STYLE = """
.page {{ fill: #ffffff }} text {{ fill: #24292f; font: 12px sans-serif }}
.title {{ font-weight: 600; font-size: 13px }} .grid {{ stroke: #d8dee4 }}
.line {{ fill: none; stroke-width: 2 }} .tail {{ stroke-dasharray: 5 4; stroke-width: 1.5 }}
{light}
.dot {{ stroke-dasharray: none }}
@media (prefers-color-scheme: dark) {{
.page {{ fill: #0d1117 }} text {{ fill: #e6edf3 }} .grid {{ stroke: #30363d }}
{dark} }}
"""


@dataclass(frozen=True)
class Line:
    """A line of a panel: a kind of `_COLOURS`, with `tail` if it is dashed, and its points."""

    kind: str
    name: str
    points: list[tuple[float, float]]


def decades(values: list[float]) -> list[float]:
    """The powers of ten that hold all values, as marks of an axis; at least two."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10**power for power in range(low, max(high, low + 1) + 1)]


def steps(values: list[float]) -> list[float]:
    """As `decades`, with 2 and 5 between; the least marks that hold all values, at least two."""
    fine = sorted(mark * step for mark in decades(values) for step in (1, 2, 5))
    start = max(place for place, mark in enumerate(fine) if mark <= min(values))
    end = min(place for place, mark in enumerate(fine) if mark >= max(values))
    return fine[start : max(end, start + 1) + 1]


def marks(values: list[float]) -> list[float]:
    """Those of `steps` if they are few, or those of `decades`."""
    fine = steps(values)
    return fine if len(fine) <= _MARKS else decades(values)


def ends(values: list[float]) -> list[float]:
    """The least and the greatest, for an axis that ends with its values."""
    return [min(values), max(values)]


@dataclass(frozen=True)
class Panel:
    """One plot. `across` makes the ends of the lower axis of its values, `up` the marks of both."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    up: Callable[[list[float]], list[float]] = decades
    across: Callable[[list[float]], list[float]] = decades


def drawn(title: str, panels: list[Panel]) -> str:
    """The picture."""
    width = WIDTH * len(panels)
    height = HEIGHT + _ROW * (max(map(_rows, panels)) - _ROWS)
    groups = "\n".join(
        f'<g transform="translate({number * WIDTH} 0)">\n' + "\n".join(_panel(panel)) + "\n</g>"
        for number, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>{title}</title>\n<style>{_style(panels)}</style>\n"
        f'<rect class="page" width="{width}" height="{height}"/>\n{groups}\n</svg>\n'
    )


def _style(panels: list[Panel]) -> str:
    kinds = dict.fromkeys(line.kind.split()[0] for panel in panels for line in panel.lines)
    light, dark = (
        " ".join(f".{kind} {{ stroke: {_COLOURS[kind][side]} }}" for kind in kinds)
        for side in (0, 1)
    )
    return _STYLE.format(light=light, dark=dark)


def _panel(panel: Panel) -> Iterator[str]:
    counted = sorted({at for line in panel.lines for at, _ in line.points})
    places = _across(counted, panel.across)
    up = panel.up([value for line in panel.lines for _, value in line.points])
    yield f'<text class="title" x="{LEFT}" y="24">{panel.title}</text>'
    for mark in up:
        y = _place(mark, up, BOTTOM, TOP)
        yield f'<path class="grid" d="M{LEFT} {y}H{RIGHT}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{mark:,g}</text>'
    for at, x in _apart(places):
        yield f'<text x="{x}" y="{BOTTOM + 18}" text-anchor="middle">{at:,}</text>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text x="{middle:g}" y="{BOTTOM + 36}" text-anchor="middle">{panel.unit}</text>'
    for line in panel.lines:
        points = [(places[at], _place(value, up, BOTTOM, TOP)) for at, value in sorted(line.points)]
        drawn_points = " L".join(f"{x} {y}" for x, y in points)
        yield f'<path class="line {line.kind}" d="M{drawn_points}"/>'
        for x, y in points:
            yield f'<circle class="line dot {line.kind}" cx="{x}" cy="{y}" r="2"/>'
    yield from _legend(panel)


def _across(counted: list[float], axis: Callable[[list[float]], list[float]]) -> dict[float, float]:
    """Value to its place on the lower axis, where 0 is one step before the others."""
    shown = {at: at or counted[1] ** 2 / counted[2] for at in counted}
    span = axis([*shown.values()])
    return {at: _place(value, span, LEFT + 8, RIGHT - 26) for at, value in shown.items()}


def _apart(places: dict[float, float]) -> Iterator[tuple[float, float]]:
    """The values of the lower axis whose texts do not touch that of the one before."""
    taken = -math.inf
    for at, x in places.items():
        half = len(f"{at:,}") * _CHARACTER / 2
        if x - half > taken:
            taken = x + half
            yield at, x


def _rows(panel: Panel) -> int:
    return max(_ROWS, math.ceil(len(panel.lines) / 2))


def _legend(panel: Panel) -> Iterator[str]:
    rows = _rows(panel)
    for number, line in enumerate(panel.lines):
        x, y = LEFT + 116 * (number // rows), BOTTOM + 58 + _ROW * (number % rows)
        yield f'<path class="line {line.kind}" d="M{x} {y}h26"/>'
        yield f'<text x="{x + 32}" y="{y + 4}">{line.name}</text>'


def _place(value: float, axis: list[float], start: int, end: int) -> float:
    low, high = math.log10(axis[0]), math.log10(axis[-1])
    return round(start + (math.log10(value) - low) / (high - low) * (end - start), 1)
