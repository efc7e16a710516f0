"""
The tables of docs/census.md and the letters to authors, from the kept outcomes of the census.

    python -m census collect
    python -P scripts/generate.py
"""

from census import commands
from scripts.tree import Broken, Tree

PAGE = "docs/census.md"
LETTERS = "census/letters"

_BEGIN = "<!-- census: from census/outcomes.json, by scripts/generate.py -->"
_END = "<!-- end of census -->"


def rewrite(tree: Tree) -> None:
    """
    Lay the page with its tables, and the letters, over the checkout.

    Raises:
        Broken: The page has no place for its tables, or a letter tells of no line any more.

    """
    before, begin, rest = tree.text(PAGE).partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise Broken(f"{PAGE} has lost its marks\n  fix: put {_BEGIN} and {_END} back")
    tree.put(PAGE, f"{before}{_BEGIN}\n\n{commands.tables()}\n\n{_END}{after}")
    found = {f"{LETTERS}/{name}.md": held for name, held in commands.written_letters().items()}
    if stale := sorted(set(tree.names(LETTERS, "*.md")) - set(found)):
        raise Broken(
            f"{stale[0]}: its target has no true red line any more\n  fix: remove the file"
        )
    for name, held in found.items():
        tree.put(name, held)
