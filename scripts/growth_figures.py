"""
The pictures and the table of growth in docs/figures.md, from measured figures.

    python benchmarks/growth.py --json benchmarks/growth.json
    python -P scripts/generate.py

Each picture shows ratios that were taken in one run; that of the fence shows its times as well.
"""

import json
from collections.abc import Iterator
from typing import Any

from scripts import plots
from scripts.tree import Broken, Tree, filled

FIGURES = "benchmarks/growth.json"
PAGE = "docs/figures.md"

#: A line of a part, its class in the picture, and its name there.
_VERDICT = ("verdict", "ours", "verdict")
_TURN = ("registry", "ours", "registry")
_TEXTS = (
    ("Markdown", "ours", "Markdown"),
    ("mixed", "third", "mixed"),
    ("CJK", "fourth", "CJK"),
    ("worst case", "bare", "worst case"),
)

#: File to the title of a picture, and for each panel: part, title, figure, and lines.
PICTURES = {
    "docs/images/growth-verdict.svg": (
        "The time of a verdict, by requirements, targets, latency and workers",
        (
            ("rules", "times one requirement", "ratio", (_VERDICT,)),
            ("targets", "times one target", "ratio", (_VERDICT,)),
            (
                "latency",
                "times hooks that do not wait",
                "ratio",
                (_VERDICT, ("wait x calls", "floor tail", "wait x calls")),
            ),
            ("workers", "times one worker", "ratio", (_VERDICT,)),
        ),
    ),
    "docs/images/growth-registry.svg": (
        "A turn of the registry, by providers and messages",
        (
            (
                "providers",
                "times one call of a pool",
                "ratio",
                (_TURN, ("pool of as many", "bare", "pool")),
            ),
            ("messages", "times one call of a pool", "ratio", (_TURN,)),
        ),
    ),
    "docs/images/growth-fence.svg": (
        "The fence, by the length of a text",
        (
            ("fence", "times a plain scan", "ratio", _TEXTS),
            ("fence", "ms", "took_s", (*_TEXTS, ("plain scan", "floor tail", "plain scan"))),
        ),
    ),
}

#: Part to the lines of the table.
ROWS = {
    "rules": ("verdict",),
    "targets": ("verdict",),
    "latency": ("verdict", "wait x calls"),
    "workers": ("verdict",),
    "providers": ("registry", "pool of as many"),
    "messages": ("registry",),
    "fence": tuple(line for line, *_ in _TEXTS),
}


def _part(figures: dict[str, Any], name: str) -> dict[str, Any]:
    if name not in figures:
        raise Broken(
            f"{FIGURES}: has no part {name!r}; "
            f"run `python benchmarks/growth.py {name} --json {FIGURES}`"
        )
    found: dict[str, Any] = figures[name]
    return found


def drawn(figures: dict[str, Any], picture: str) -> str:
    """
    One of the pictures.

    Raises:
        Broken: The figures lack a part of it; the message names it.

    """
    title, rows = PICTURES[picture]
    panels = []
    for name, above, figure, lines in rows:
        part = _part(figures, name)
        shown = tuple(
            plots.Line(kind, text, _points(part["lines"][line], figure))
            for line, kind, text in lines
        )
        panels.append(plots.Panel(above, part["by"], shown, plots.marks, plots.ends))
    return plots.drawn(title, panels)


def _points(points: list[dict[str, Any]], figure: str) -> list[tuple[float, float]]:
    factor = 1_000 if figure == "took_s" else 1
    return [(point["at"], point[figure] * factor) for point in points]


# -- the table -------------------------------------------------------------------------------------

HEAD = (
    "| what is measured | by | against | times | slope | taken |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def table(figures: dict[str, Any]) -> Iterator[str]:
    """
    The table in Markdown, a line for each line of a part.

    Raises:
        Broken: The figures lack a part; the message names it.

    """
    yield HEAD
    for name, lines in ROWS.items():
        part = _part(figures, name)
        for line in lines:
            yield f"| {' | '.join(_cells(part, line))} |"


def _cells(part: dict[str, Any], line: str) -> Iterator[str]:
    points = part["lines"][line]
    low, high = sorted(part["load"])
    yield f"{part['note']}: {line}"
    yield f"{part['by']} " + ", ".join(f"{point['at']:,}" for point in points)
    yield part["base"]
    yield ", ".join(_short(point["ratio"]) for point in points)
    yield f"{part['slopes'][line]:.2f}" if "slopes" in part else ""
    yield f"{part['day']}, {part['rounds']} rounds, load {low:.0f} to {high:.0f}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def section(figures: dict[str, Any]) -> Iterator[str]:
    """The pictures and the table in Markdown; of no figures at all it says that there are none."""
    if not figures:
        yield "Nothing is measured yet."
        return
    for picture, (title, _) in PICTURES.items():
        yield f"![{title}]({picture.removeprefix('docs/')})\n"
    yield from table(figures)


def rewrite(tree: Tree) -> None:
    """
    Lay the pictures and their section over the checkout; no pictures if there are no figures.

    Raises:
        Broken: The figures lack a part, or the section has no place on the page.

    """
    figures = json.loads(tree.text(FIGURES) or "{}")
    for picture in PICTURES if figures else ():
        tree.put(picture, drawn(figures, picture))
    made = {"growth": (FIGURES, "\n".join(section(figures)))}
    tree.put(PAGE, filled(PAGE, tree.text(PAGE), made))
