"""
Output of the kit that pages show, as far as it repeats the catalogue.

The counts in `docs/ten-minutes.md` are those of the day that the page names, and are not written.
"""

import re

from scripts import chapters
from scripts.tree import Tree

_FAILURES = "docs/reading-a-failure.md"

_FAILURE = re.compile(
    r"^(?P<id>MP-[A-Z0-9-]+) \([A-Z ]+\) is violated by (?P<who>.+)\n(?P<lines>(?:  .+\n)+)",
    re.MULTILINE,
)
_LINE = re.compile(r"^  (rule|fix|clause)( +).+$", re.MULTILINE)


def rewrite(tree: Tree) -> None:
    """Write rule, fix and clause of each shown failure, and the count of the narrowed run."""
    rows = {row["id"]: row for row in chapters.rows(tree)}
    for name in ("README.md", *tree.names("docs", "*.md")):
        tree.put(name, _FAILURE.sub(lambda match: _failure(match, rows), tree.text(name)))
    tree.put(_FAILURES, _narrowed(tree.text(_FAILURES), [*rows.values()]))


def _failure(match: re.Match[str], rows: dict[str, chapters.Row]) -> str:
    row = rows[match["id"]]
    told = {"rule": row["text"], "fix": row["fix"], "clause": f"{chapters.FOLDER}/{row['anchor']}"}
    lines = _LINE.sub(lambda line: f"  {line[1]}{line[2]}{told[line[1]]}", match["lines"])
    return f"{row['id']} ({row['level']}) is violated by {match['who']}\n{lines}"


def _narrowed(text: str, rows: list[chapters.Row]) -> str:
    """The page with what a provider's run that is narrowed to MP-TURN leaves out."""
    ids = [row["id"] for row in rows if row["side"] == "provider"]
    left_out = sum(not one.startswith("MP-TURN-") for one in ids)
    return re.sub(r"(untestable, )\d+( not run)", rf"\g<1>{left_out}\g<2>", text)
