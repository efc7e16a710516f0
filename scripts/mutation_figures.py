"""
The tables of mutation scores, from the kept scores and from the survivors that were read.

    tox run -e mutation -- complete --sample 200 --seed 7 --keep
    python -P scripts/generate.py

Each table stands between two marks on each of its pages.
"""

import json
import tomllib
from collections.abc import Iterator
from typing import Any

from scripts.tree import Tree, filled

FIGURES = "benchmarks/mutation.json"
SURVIVORS = "tests/mutation/survivors.toml"

#: Page to the tables that stand on it.
PAGES = {
    "docs/figures.md": ("scores",),
    "docs/kill-matrix.md": ("scores",),
    "docs/mutation.md": ("scores", "holes"),
}

_CLASSES = ("equivalent", "no promise", "hole of a check", "hole of the specification")


def scores(kept: dict[str, Any]) -> Iterator[str]:
    """The table of scores, a line for each subject."""
    yield (
        "| subject | killed | of those not equivalent | score | of those that break a promise | "
        "equivalent | no promise | hole of a check | hole of the specification | judged of all | "
        "seed, day |"
    )
    yield f"| --- |{' --- |' * 10}"
    for name, row in kept.items():
        classes = row["classes"]
        counted = row["judged"] - classes.get("equivalent", 0)
        promised = counted - classes.get("no promise", 0)
        cells = [
            f"`{name}`",
            f"{row['killed']}" + (f", {row['late']} by the time limit" if row["late"] else ""),
            f"{counted}",
            _percent(row["killed"], counted),
            _percent(row["killed"], promised),
            *(str(classes.get(kind, 0)) for kind in _CLASSES),
            f"{row['judged']} of {row['made']}",
            f"{row['seed']}, {row['date']}",
        ]
        yield f"| {' | '.join(cells)} |"


def holes(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The table of holes that are open, of checks first."""
    yield "| place | change | hole | reason |"
    yield "| --- | --- | --- | --- |"
    for kind in _CLASSES[2:]:
        for row in rows:
            if row["class"] == kind:
                held = f" ({row['violates']})" if "violates" in row else ""
                change = " to ".join(_code(row[name]) for name in ("was", "now") if row.get(name))
                cells = (_code(row["where"]), change, f"{kind}{held}", _cell(row["reason"]))
                yield f"| {' | '.join(cells)} |"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _code(text: str) -> str:
    # A bar ends a cell, even within code.
    return "`` " + " ".join(text.split()).replace("|", "\\|") + " ``"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def rewrite(tree: Tree) -> None:
    """
    Lay the tables over their pages.

    Raises:
        Broken: A table has no place on a page.

    """
    kept = json.loads(tree.text(FIGURES) or "{}")
    rows = tomllib.loads(tree.text(SURVIVORS)).get("survivor", [])
    made = {
        "scores": (FIGURES, "\n".join(scores(kept))),
        "holes": (SURVIVORS, "\n".join(holes(rows))),
    }
    for page, names in PAGES.items():
        tree.put(page, filled(page, tree.text(page), {name: made[name] for name in names}))
