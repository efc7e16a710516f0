"""
Write `spec/v1/mutants.toml`: of each requirement, the broken providers and hosts that it catches.

The shelf in `tests/broken` is no part of the wheel; `memproto explain` reads this file. Run
`python -P scripts/make_mutants.py` after a change to the shelf; `tests/commands/test_explain.py`
holds the file against it.
"""

import importlib
import inspect
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from tests.broken.marks import Mutant, load_all  # noqa: E402 - needs the path above

FILE = ROOT / "spec" / "v1" / "mutants.toml"

_HEAD = """\
# Faults of broken providers and hosts that a requirement catches: written by
# scripts/make_mutants.py from tests/broken, where each row is judged. MIT, as all code.
"""


def text() -> str:
    """The whole file."""
    mutants = sorted(load_all().values(), key=lambda item: (item.kills, item.target))
    return "\n".join([_HEAD, *map(_row, mutants)])


def _row(mutant: Mutant) -> str:
    module, _, name = mutant.target.partition(":")
    values = {
        "kills": mutant.kills,
        "name": name,
        "file": module.replace(".", "/") + ".py",
        "report": mutant.report,
        "says": mutant.says,
    }
    rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join(["[[mutant]]", *rows, f"source = {_block(_source(module, name))}", ""])


def _source(module: str, name: str) -> str:
    """The code without the mark that put it on the shelf."""
    lines = inspect.getsource(getattr(importlib.import_module(module), name)).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(("class ", "def ", "@")))
    while lines[start].startswith("@mutant"):
        start = next(n for n in range(start + 1, len(lines)) if _begins(lines[n]))
    return "\n".join(lines[start:]).rstrip() + "\n"


def _begins(line: str) -> bool:
    return line.startswith(("class ", "def ", "@"))


def _block(source: str) -> str:
    """A TOML string of several lines, in which nothing is escaped where that can be."""
    if "'''" in source:
        return json.dumps(source, ensure_ascii=False)
    return f"'''\n{source}'''"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
