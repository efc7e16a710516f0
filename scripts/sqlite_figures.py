"""
The picture docs/images/sqlite-growth.svg and the table of docs/sqlite.md, from measured figures.

    python benchmarks/sqlite.py 10000 100000 1000000 --json benchmarks/sqlite.json
    python -P scripts/generate.py

A line rises if its figure grows with the number of messages, and is flat if it does not.
"""

import json
from typing import Any

from scripts import plots
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


def drawn(figures: dict[str, Any]) -> str:
    """The picture."""
    panels = [
        plots.Panel(
            title,
            "messages",
            tuple(
                plots.Line(
                    kind,
                    name,
                    [(size["messages"], size[figure][which]) for size in figures["sizes"]],
                )
                for figure, which, kind, name in lines
            ),
        )
        for title, lines in PANELS
    ]
    return plots.drawn("The sqlite provider and bare FTS5, by the number of messages", panels)


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
