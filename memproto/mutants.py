"""
The broken providers and hosts that each requirement catches, as `memproto explain` shows them.

They stand in `tests/broken` of the project. The wheel does not hold that folder: when it is built,
`setup.py` reads the folder and puts one file of data into the package. In a checkout that is
installed to be followed there is no such file, and the folder itself is read. Nothing is imported
from it, since a build has no package of the kit.
"""

import ast
import dataclasses
import functools
import itertools
import json
import operator
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

#: The file of data in the wheel, beside this module.
FILE = "mutants.json"

#: The folder in a checkout, below its root.
FOLDER = "tests/broken"


@dataclasses.dataclass(frozen=True)
class Mutant:
    """
    One broken provider or host.

    Attributes:
        kills: The requirement that it violates.
        name: Its class or function, whose name says what is wrong.
        file: Its path, relative to the root of the project.
        says: A part of what the kit says of it.
        source: Its code, without the mark.

    """

    kills: str
    name: str
    file: str
    says: str
    source: str


@functools.cache
def mutants() -> dict[str, tuple[Mutant, ...]]:
    """
    Each requirement with its mutants, in the order of their files and names.

    Raises:
        FileNotFoundError: The package has neither the file of data nor a checkout around it.

    """
    data = resources.files("memproto") / FILE
    if data.is_file():
        return _by_requirement(Mutant(**row) for row in json.loads(data.read_text("utf-8")))
    with resources.as_file(resources.files("memproto._spec")) as spec:
        return _by_requirement(read(spec.parent))


def read(root: Path) -> Iterator[Mutant]:
    """
    The mutants of a checkout.

    Raises:
        FileNotFoundError: There is no folder of them.
        ValueError: The mark of one holds a value that is no literal.

    """
    folder = root / FOLDER
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder}: no broken providers, and no {FILE} in the package")
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield from _marked(node, text, path.relative_to(root).as_posix())


def as_data(root: Path) -> str:
    """The text of the wheel's file, for a checkout."""
    rows = [dataclasses.asdict(mutant) for mutant in read(root)]
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"


def _by_requirement(found: Iterable[Mutant]) -> dict[str, tuple[Mutant, ...]]:
    ordered = sorted(found, key=lambda one: (one.kills, one.file, one.name))
    return {kills: tuple(those) for kills, those in itertools.groupby(ordered, _kills)}


_kills = operator.attrgetter("kills")


# -- the folder ------------------------------------------------------------------------------------


def _marked(node: ast.ClassDef | ast.FunctionDef, text: str, file: str) -> Iterator[Mutant]:
    """One mutant for each mark of a class or function; its code begins below the marks."""
    marks = [one for one in node.decorator_list if _told(one)]
    first = min([node.lineno, *(one.lineno for one in node.decorator_list if one not in marks)])
    source = "\n".join(text.splitlines()[first - 1 : node.end_lineno]) + "\n"
    for mark in marks:
        told = _told(mark)
        yield Mutant(told["kills"], node.name, file, told["says"], source)


def _told(mark: ast.expr) -> dict[str, str]:
    """The texts of a mark on the shelf; nothing for another decorator."""
    if not (isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name)):
        return {}
    if mark.func.id != "mutant":
        return {}
    words = {word.arg: word.value for word in mark.keywords}
    return {key: ast.literal_eval(words[key]) for key in ("kills", "says")}
