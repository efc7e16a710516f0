"""
The picture docs/images/sqlite-growth.svg and the table of docs/sqlite.md, from measured figures.

    python benchmarks/sqlite.py 10000 100000 1000000 --json benchmarks/sqlite.json
    python -P scripts/generate.py

Both axes are logarithmic: what grows with the number of messages is a slope, what does not is flat.
The picture has a background of its own, so that it can be read on a page of either colour.
"""

import json
import math
from collections.abc import Iterator
from typing import Any

from scripts.tree import Tree

FIGURES = "benchmarks/sqlite.json"
PICTURE = "docs/images/sqlite-growth.svg"
PAGE = "docs/sqlite.md"

#: Title, and for each line: its figure, 0 for the provider or 1 for the floor, class, and name.
PANELS = (
    (
        "a recall, ms",
        (
            ("recall_p50_ms", 0, "ours", "provider p50"),
            ("recall_p99_ms", 0, "ours tail", "provider p99"),
            ("recall_p50_ms", 1, "bare", "bare p50"),
            ("recall_p99_ms", 1, "bare tail", "bare p99"),
        ),
    ),
    (
        "storing a turn, ms",
        (
            ("turn_p50_ms", 0, "ours", "provider p50"),
            ("turn_p99_ms", 0, "ours tail", "provider p99"),
            ("turn_p50_ms", 1, "bare", "bare p50"),
            ("turn_p99_ms", 1, "bare tail", "bare p99"),
        ),
    ),
    (
        "the file, MB",
        (("megabytes", 0, "ours", "provider"), ("megabytes", 1, "bare", "bare")),
    ),
)

#: Of one panel, in pixels: what it takes, and where its plot begins and ends.
WIDTH, HEIGHT = 300, 316
LEFT, RIGHT, TOP, BOTTOM = 58, 286, 44, 226

STYLE = """
.page { fill: #ffffff } text { fill: #24292f; font: 12px sans-serif }
.title { font-weight: 600; font-size: 13px } .grid { stroke: #d8dee4 }
.line { fill: none; stroke-width: 2 } .tail { stroke-dasharray: 5 4; stroke-width: 1.5 }
.ours { stroke: #0550ae } .bare { stroke: #bc4c00 }
.dot { stroke-dasharray: none }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d }
.ours { stroke: #6cb6ff } .bare { stroke: #f69d50 } }
"""


def drawn(figures: dict[str, Any]) -> str:
    """The picture."""
    width = WIDTH * len(PANELS)
    panels = "\n".join(
        f'<g transform="translate({number * WIDTH} 0)">\n'
        + "\n".join(_panel(figures, *panel))
        + "\n</g>"
        for number, panel in enumerate(PANELS)
    )
    title = "The sqlite provider and bare FTS5, by the number of messages"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n"
        f'<rect class="page" width="{width}" height="{HEIGHT}"/>\n{panels}\n</svg>\n'
    )


def _panel(figures: dict[str, Any], title: str, lines: tuple[Any, ...]) -> Iterator[str]:
    sizes = [size["messages"] for size in figures["sizes"]]
    values = [[size[name][which] for size in figures["sizes"]] for name, which, *_ in lines]
    across, up = _decades(sizes), _decades([value for line in values for value in line])
    yield f'<text class="title" x="{LEFT}" y="24">{title}</text>'
    for power in range(up[0], up[1] + 1):
        y = _place(10**power, up, BOTTOM, TOP)
        yield f'<path class="grid" d="M{LEFT} {y}H{RIGHT}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{10**power:,g}</text>'
    for size in sizes:
        x = _place(size, across, LEFT + 8, RIGHT - 26)
        yield f'<text x="{x}" y="{BOTTOM + 18}" text-anchor="middle">{size:,}</text>'
    yield f'<text x="{(LEFT + RIGHT) / 2:g}" y="{BOTTOM + 36}" text-anchor="middle">messages</text>'
    for (_, _, kind, _), line in zip(lines, values, strict=True):
        places = [
            f"{_place(size, across, LEFT + 8, RIGHT - 26)} {_place(value, up, BOTTOM, TOP)}"
            for size, value in zip(sizes, line, strict=True)
        ]
        yield f'<path class="line {kind}" d="M{" L".join(places)}"/>'
        yield from _dots(kind, places)
    yield from _legend(lines)


def _dots(kind: str, places: list[str]) -> Iterator[str]:
    for place in places:
        x, _, y = place.partition(" ")
        yield f'<circle class="line dot {kind}" cx="{x}" cy="{y}" r="2"/>'


def _legend(lines: tuple[Any, ...]) -> Iterator[str]:
    for number, (_, _, kind, name) in enumerate(lines):
        x, y = LEFT + 116 * (number // 2), BOTTOM + 58 + 18 * (number % 2)
        yield f'<path class="line {kind}" d="M{x} {y}h26"/>'
        yield f'<text x="{x + 32}" y="{y + 4}">{name}</text>'


def _decades(values: list[float]) -> tuple[int, int]:
    """The powers of ten that hold all values; never the same one twice."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _place(value: float, decades: tuple[int, int], start: int, end: int) -> float:
    share = (math.log10(value) - decades[0]) / (decades[1] - decades[0])
    return round(start + share * (end - start), 1)


# -- the table -------------------------------------------------------------------------------------

HEAD = (
    "| messages | recall p50 | recall p99 | storing a turn p50 | p99 | messages a second in bulk"
    " | file |\n|---|---|---|---|---|---|---|"
)


def table(figures: dict[str, Any]) -> str:
    """The table in Markdown: each figure, and what share of the floor it is."""
    return "\n".join([HEAD, *(_row(size) for size in figures["sizes"])])


def _row(size: dict[str, Any]) -> str:
    names = ("recall_p50_ms", "recall_p99_ms", "turn_p50_ms", "turn_p99_ms")
    cells = [f"{_short(size[name][0])} ms ({_ratio(size[name])})" for name in names]
    bulk, file = size["bulk_per_s"], size["megabytes"]
    cells += [f"{_short(bulk[0])} ({_ratio(bulk)})", f"{_short(file[0])} MB ({_ratio(file)})"]
    return f"| {size['messages']:,} | {' | '.join(cells)} |"


def _short(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(pair: list[float]) -> str:
    return f"{pair[0] / pair[1]:.2f}"


def with_table(page: str, figures: dict[str, Any]) -> str:
    """The page with its table written anew."""
    start = page.index(HEAD.partition("\n")[0])
    return page[:start] + table(figures) + page[page.index("\n\n", start) :]


def rewrite(tree: Tree) -> None:
    """Lay both over the checkout."""
    figures = json.loads(tree.text(FIGURES))
    tree.put(PICTURE, drawn(figures))
    tree.put(PAGE, with_table(tree.text(PAGE), figures))
