"""
Writes all that repeats the catalogue, the code or kept figures: `python -P scripts/generate.py`.

Each part reads one source and lays texts over the checkout. `--check` writes nothing, and prints
which file would change and how; its exit code is 1 if one would. `--number` gives drafts of
decisions their numbers as well, which is for the main branch. Tables that need a file from
elsewhere have scripts of their own: `make_fence_tables.py`, `make_fence_names.py` and
`make_honcho_facts.py`.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from scripts import (  # noqa: E402 - as above
    census_tables,
    chapters,
    decisions,
    growth_figures,
    measure_figures,
    mutation_figures,
    sqlite_figures,
    tables,
    transcripts,
)
from scripts.tree import Broken, Tree  # noqa: E402

#: The parts, in the order in which each reads what those before it have laid.
PARTS = (
    chapters.rewrite,
    tables.rewrite,
    transcripts.rewrite,
    decisions.rewrite,
    sqlite_figures.rewrite,
    measure_figures.rewrite,
    mutation_figures.rewrite,
    growth_figures.rewrite,
    census_tables.rewrite,
)


def generated(root: Path = ROOT) -> Tree:
    """
    A checkout with all texts laid over it; nothing is written.

    Raises:
        Broken: A file holds what cannot be derived; the message names the repair.

    """
    tree = Tree(root)
    for part in PARTS:
        part(tree)
    return tree


def main(words: list[str] | None = None, root: Path = ROOT) -> int:
    """Write, or say what would be written; 2 is the exit code if a file is broken."""
    parser = argparse.ArgumentParser(prog="generate.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, show what would be")
    parser.add_argument("--number", action="store_true", help="give drafts of decisions numbers")
    options = parser.parse_args(words)
    try:
        if options.number and not options.check:
            for old, new in decisions.number(root).items():
                sys.stdout.write(f"{old} is {new}\n")
        tree = generated(root)
    except Broken as broken:
        sys.stderr.write(f"{broken}\n")
        return 2
    if not options.check:
        sys.stdout.writelines(f"{name}\n" for name in tree.write())
        return 0
    for name in tree.changed():
        sys.stdout.write("\n".join(tree.difference(name)) + "\n")
    return 1 if tree.changed() else 0


if __name__ == "__main__":
    sys.exit(main())
