"""The names of code in the pages: paths, modules and rooms are those of the tree."""

import ast
import pkgutil
import re
import tomllib
from pathlib import PurePosixPath

import pytest

from tests.docs import documents
from tests.docs.documents import PAGES, name
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

#: The pages for those who work on the project; those for users name files of their own too.
OURS = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]

#: The logs of releases name modules of their time.
PAGES_OF_NOW = [page for page in PAGES if page.name != "CHANGELOG.md"]

#: Forms of a name, by which a reader names a file.
FORMS = {"docs/decisions/YYYY-MM-DD-short-title.md", "test_turns_PART.py"}

#: Files that a plugin of a host brings.
OF_PLUGINS = {"plugin.yaml"}

#: Names that begin as modules do and are none.
NO_MODULES = {
    "memproto.toml": "a file of settings",
    "memproto.providers": "a group of entry points",
    "memproto.bindings": "a group of entry points, and a package",
    **dict.fromkeys(
        (f"memproto.{key}" for key in ("clause", "id", "level", "outcome")), "a property of JUnit"
    ),
}

_FOLDERS = (
    *("memproto", "conformance", "reference_providers", "spec", "docs", "tests"),
    *("scripts", "benchmarks", "examples", "census", "packages"),
)


def in_code(page):
    """The words in back ticks, without the arguments of a call."""
    text = documents.BLOCK.sub("", page.read_text("utf-8"))
    return sorted(set(re.findall(r"`([^`\s(]+)(?:\([^`\n]*\))?`", text)))


@pytest.fixture(scope="module")
def tree():
    """The paths of the project, its folders among them."""
    inner = (path for folder in _FOLDERS for path in (ROOT / folder).rglob("*"))
    found = [*ROOT.iterdir(), *inner, *(ROOT / ".ci").iterdir()]
    return [PurePosixPath(path.relative_to(ROOT)) for path in found]


def is_there(path, tree):
    """True if a path of the project ends so."""
    return any(one.match(path.rstrip("/")) for one in tree)


def leads(dotted):
    """True if a dotted name leads to a module, or from one to a thing that it defines."""
    try:
        pkgutil.resolve_name(dotted)
    except (ImportError, AttributeError):
        return _is_written(dotted)
    return True


def _is_written(dotted):
    """The same by the source alone, for a module whose framework is not installed."""
    if (ROOT / f"{dotted.replace('.', '/')}.py").is_file():
        return True
    module, _, last = dotted.rpartition(".")
    source = ROOT / f"{module.replace('.', '/')}.py"
    nodes = ast.parse(source.read_text("utf-8")).body if source.is_file() else []
    return any(getattr(node, "name", "") == last for node in nodes)


@pytest.mark.parametrize("page", OURS, ids=name)
def test_each_path_of_a_page_is_there(page, tree):
    words = [word for word in in_code(page) if re.fullmatch(r"[\w./-]+", word)]
    paths = [word for word in words if "/" in word or re.search(r"\.(py|toml|md|ini|yml)$", word)]
    assert paths
    assert [path for path in paths if not is_there(path, tree) and path not in FORMS] == []


@pytest.mark.parametrize("page", OURS, ids=name)
def test_each_name_behind_a_module_is_defined_there(page, tree):
    """`judge.Judge` is said of the module by its last name."""
    lost = []
    for word in in_code(page):
        if not re.fullmatch(r"(?:[a-z]\w*\.)+\w+", word) or is_there(word, tree):
            continue
        module, _, last = word.rpartition(".")
        path = f"{module.replace('.', '/')}.py"
        modules = [one for one in tree if one.match(path) and one.parts[0] == "memproto"]
        named = (".".join(one.with_suffix("").parts) for one in modules)
        if not any(leads(f"{one}.{last}") for one in named) and not leads(word):
            lost.append(word)
    assert sorted(set(lost) - OF_PLUGINS - FORMS) == []


@pytest.mark.parametrize("page", PAGES_OF_NOW, ids=name)
def test_each_module_of_a_page_is_there(page):
    words = [word for word in in_code(page) if re.fullmatch(r"memproto(?:\.\w+)+", word)]
    for block in documents.blocks(page, "python"):
        words += imported(block)
    assert [word for word in words if word not in NO_MODULES and not leads(word)] == []


def imported(block):
    """The names that a block of Python takes from the package."""
    source = re.sub(r"^(\s*)await ", r"\1", block, flags=re.MULTILINE)
    return [
        f"{node.module}.{one.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("memproto")
        for one in node.names
    ]


def layers(title):
    """The layers of a contract in `rooms.toml`, each as the last names of its rooms."""
    rooms = tomllib.loads((ROOT / "rooms.toml").read_text("utf-8"))
    (found,) = (one for one in rooms["tool"]["importlinter"]["contracts"] if one["name"] == title)
    return [
        {room.rpartition(".")[2] for room in re.split(r" [|:] ", layer)}
        for layer in found["layers"]
    ]


def drawn():
    """The rooms of the drawing in ARCHITECTURE.md, a set for each line; the others left out."""
    (drawing,) = documents.blocks(ROOT / "ARCHITECTURE.md", "text")
    stack = drawing.partition("\n\n")[0].splitlines()
    left = (re.split(r"\s{2,}", line.strip(" │"))[0] for line in stack)
    cells = ([one.partition("/")[0] for one in re.split(r" · |, ", cell)] for cell in left)
    return [set(cell) for cell in cells if any(cell) and not cell[0].startswith("modules:")]


def test_the_drawing_shows_the_rooms_in_their_order():
    rooms, kit = layers("Rooms stack in one direction"), layers("The rooms of the kit")
    below = rooms.index({"testing"}) + 1
    # The last layer of the kit is its modules, of which the drawing names some.
    assert drawn() == [*rooms[:below], *kit[:-1], *rooms[below:]]


def test_the_modules_that_the_drawing_names_are_those_of_the_kit():
    (drawing,) = documents.blocks(ROOT / "ARCHITECTURE.md", "text")
    named = re.search(r"modules: ([\w, ]+), \.\.\.", drawing)[1].split(", ")
    assert set(named) <= layers("The rooms of the kit")[-1]


def test_a_module_that_is_not_there_is_found():
    assert leads("memproto.testing.driver.HostDriver")
    assert not leads("memproto.testing.driver.HostDrivers")
    assert not leads("memproto.testing.drivers")
