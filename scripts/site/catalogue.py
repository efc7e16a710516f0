"""The tables of a page that are made of the whole catalogue: annex, index, old sentences."""

import functools
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from memproto import mutants, operations, spec  # noqa: E402 - needs the path above
from memproto.bindings import HERMES  # noqa: E402 - as above
from scripts import chapters  # noqa: E402 - as above
from scripts.chapters import EXAMPLES, FOLDER, Row  # noqa: E402 - as above
from scripts.tree import Tree  # noqa: E402 - as above

#: The chapters that name others only to lead to them.
_MADE = ("96-testing.md", "97-index.md")


@functools.cache
def _rows() -> list[Row]:
    return chapters.rows(Tree(ROOT))


def _row(*cells: str) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def _linked(row: Row) -> str:
    return f"[{row['id']}]({row['anchor']})"


# -- the annex on testing --------------------------------------------------------------------------


def procedures() -> Iterator[str]:
    """For each requirement, how the kit looks at it, and the faults that it was seen to find."""
    found = mutants.mutants()
    chapter = ""
    for row in _rows():
        file = row["anchor"].partition("#")[0]
        if file != chapter:
            chapter = file
            yield from ("", f"### {file.removesuffix('.md')}", "")
        causes = ", ".join(_in_words(one.name) for one in found.get(row["id"], ()))
        said = [*row.get("procedure", [])]
        said += [f"Faults that it is shown to find: {causes}."] if causes else []
        yield f"- {_linked(row)}: " + " ".join(said)


def _in_words(name: str) -> str:
    """`LastTurnStaysInTheBatch` as `last turn stays in the batch`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name).lower()


# -- the index -------------------------------------------------------------------------------------


def requirements() -> Iterator[str]:
    """The catalogue as a table."""
    yield from ("| id | level | class | sentence | example |", "|---|---|---|---|---|")
    for row in sorted(_rows(), key=lambda one: str(one["id"])):
        shown = f"[calls]({EXAMPLES}/{row['id']}.json)" if row["shown"] else ""
        yield _row(_linked(row), row["level"], row.get("class", "host"), row["text"], shown)


def the_operations() -> Iterator[str]:
    """Each operation with its hooks, its time and its requirements."""
    yield from (
        "| operation | native | Hermes | seconds | requirements |",
        "|---|---|---|---|---|",
    )
    rules = spec.hooks()
    named: dict[str, list[Row]] = {}
    for row in _rows():
        named.setdefault(row["operation"], []).append(row)
    for name in dict.fromkeys(["load", *operations.OPERATIONS, *named]):
        operation = operations.OPERATIONS.get(name)
        native = f"`{operation.native}`" if operation else ""
        hermes = f"`{HERMES.hooks[name]}`" if name in HERMES.hooks else ""
        budget = f"{rules[name].budget_s:g}" if name in rules else ""
        those = ", ".join(_linked(row) for row in named.get(name, []))
        yield _row(f"`{name}`", native, hermes, budget, those)


def errors() -> Iterator[str]:
    """Each error of the chapter on operations, with the requirements that name it."""
    yield from ("| error | named by |", "|---|---|")
    text = Tree(ROOT).text(f"{FOLDER}/20-operations.md")
    table = text.partition("\n## Errors\n")[2].partition("\n## ")[0]
    for name in re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE):
        said = [row for row in _rows() if f"`{name}`" in _whole(row) or f" {name}" in row["text"]]
        where = ["[20-operations.md](20-operations.md#errors)", *map(_linked, said)]
        yield _row(f"`{name}`", ", ".join(where))


def _whole(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False)


def settings() -> Iterator[str]:
    """The keys of the settings of a run, and the chapters that name each."""
    yield from ("| setting of a run | chapters that name it |", "|---|---|")
    schema: dict[str, Any] = json.loads(Tree(ROOT).text(f"{FOLDER}/schemas/settings.schema.json"))
    pages = {
        path.name: path.read_text("utf-8")
        for path in sorted((ROOT / FOLDER).glob("[0-9]*.md"))
        if path.name not in _MADE
    }
    for key in schema["properties"]:
        said = [f"[{name}]({name})" for name, text in pages.items() if f"`{key}`" in text]
        yield _row(f"`{key}`", ", ".join(said) or "[its schema](schemas/settings.schema.json)")


# -- sentences as they were ------------------------------------------------------------------------


def sentences() -> Iterator[str]:
    """Each sentence that was reworded, before and now."""
    yield from ("| id | before | now |", "|---|---|---|")
    before = tomllib.loads(Tree(ROOT).text("docs/reworded.toml"))
    for row in _rows():
        if row["id"] in before:
            linked = f"[{row['id']}](../{FOLDER}/{row['anchor']})"
            yield _row(linked, before[row["id"]], row["text"])
