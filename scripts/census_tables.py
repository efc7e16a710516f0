"""
The tables of docs/census.md, from the kept outcomes of the census.

    python -m census collect
    python -P scripts/generate.py
"""

from census import commands
from scripts.tree import Broken, Tree

PAGE = "docs/census.md"

_BEGIN = "<!-- census: from census/outcomes.json, by scripts/generate.py -->"
_END = "<!-- end of census -->"


def rewrite(tree: Tree) -> None:
    """Lay the page with its tables over the checkout."""
    before, begin, rest = tree.text(PAGE).partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise Broken(f"{PAGE} has lost its marks\n  fix: put {_BEGIN} and {_END} back")
    tree.put(PAGE, f"{before}{_BEGIN}\n\n{commands.tables()}\n\n{_END}{after}")
