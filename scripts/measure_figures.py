"""
The tables of docs/measure.md, from a kept measurement.

    memproto measure builtin sqlite TARGET... --report benchmarks/measure.json
    python -P scripts/generate.py

Each table stands between two marks, and the part behind the second one is written by hand.
"""

import json
from collections.abc import Iterator
from typing import Any

from memproto.report.measured import tables
from scripts.tree import Tree, filled

FIGURES = "benchmarks/measure.json"
PAGE = "docs/measure.md"


def made(document: dict[str, Any]) -> dict[str, str]:
    """Name of a place to its Markdown."""
    shown = {"recall": tables.recall, "kinds": tables.kinds}
    shown |= {"times": tables.speed, "growth": tables.growth}
    return {
        "conditions": _sentence(tables.facts(document)),
        **{name: tables.as_markdown(table(document), _cell) for name, table in shown.items()},
        "remarks": "\n".join(_remarks(document)),
    }


def _sentence(text: str) -> str:
    return f"Conditions: {text}."


def _remarks(document: dict[str, Any]) -> Iterator[str]:
    for who, text in tables.remarks(document):
        yield f"- `{who}`: {_cell(text)}"


def _cell(text: str) -> str:
    """A text of the kept file in Markdown; a bar would end its cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def rewrite(tree: Tree) -> None:
    """
    Lay the tables over the page.

    Raises:
        Broken: A table has no place on the page.

    """
    found = {name: (FIGURES, text) for name, text in made(json.loads(tree.text(FIGURES))).items()}
    tree.put(PAGE, filled(PAGE, tree.text(PAGE), found))
