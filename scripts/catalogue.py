"""All that is made of the whole catalogue: JSON, the annex on testing, the index, old sentences."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from memproto import mutants, operations, spec
from memproto.bindings import HERMES
from scripts import chapters
from scripts.chapters import EXAMPLES, FOLDER, Row
from scripts.tree import Tree

_ANNEX = f"{FOLDER}/96-testing.md"
_INDEX = f"{FOLDER}/97-index.md"
_JSON = f"{FOLDER}/requirements.json"
_REWORDED = "docs/reworded.md"

#: A part of a page that is written here, between its marks.
_PART = "<!-- {0}: made by scripts/generate.py -->"


def rewrite(tree: Tree) -> None:
    """Write the JSON of the catalogue, and the made parts of annex, index and list of sentences."""
    rows = chapters.rows(tree)
    tree.put(_JSON, as_json(tree))
    _fill(tree, _ANNEX, "procedures", _procedures(rows))
    _fill(tree, _INDEX, "requirements", _requirements(rows))
    _fill(tree, _INDEX, "operations", _operations(rows))
    _fill(tree, _INDEX, "errors", _errors(tree, rows))
    _fill(tree, _INDEX, "settings", _settings(tree))
    _fill(tree, _REWORDED, "sentences", _sentences(tree, rows))


def as_json(tree: Tree) -> str:
    """The catalogue as JSON, as `requirements.schema.json` says, one requirement in one place."""
    data = tomllib.loads(tree.text(chapters.CATALOGUE))
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _fill(tree: Tree, name: str, part: str, lines: Iterator[str]) -> None:
    """Put lines between the marks of a part."""
    text = tree.text(name)
    begin, end = _PART.format(part), f"<!-- end of {part} -->"
    if begin not in text or end not in text:
        # A checkout of which a test took a part only.
        return
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    tree.put(name, f"{head}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{tail}")


def _row(*cells: str) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def _linked(row: Row) -> str:
    return f"[{row['id']}]({row['anchor']})"


# -- the annex on testing --------------------------------------------------------------------------


def _procedures(rows: list[Row]) -> Iterator[str]:
    """For each requirement, how the kit looks at it, and the faults that it was seen to find."""
    found = mutants.mutants()
    chapter = ""
    for row in rows:
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


def _requirements(rows: list[Row]) -> Iterator[str]:
    yield from ("| id | level | class | sentence | example |", "|---|---|---|---|---|")
    for row in sorted(rows, key=lambda one: str(one["id"])):
        shown = f"[calls]({EXAMPLES}/{row['id']}.json)" if row["shown"] else ""
        yield _row(_linked(row), row["level"], row.get("class", "host"), row["text"], shown)


def _operations(rows: list[Row]) -> Iterator[str]:
    yield from (
        "| operation | native | Hermes | seconds | requirements |",
        "|---|---|---|---|---|",
    )
    rules = spec.hooks()
    named: dict[str, list[Row]] = {}
    for row in rows:
        named.setdefault(row["operation"], []).append(row)
    for name in dict.fromkeys(["load", *operations.OPERATIONS, *named]):
        operation = operations.OPERATIONS.get(name)
        native = f"`{operation.native}`" if operation else ""
        hermes = f"`{HERMES.hooks[name]}`" if name in HERMES.hooks else ""
        budget = f"{rules[name].budget_s:g}" if name in rules else ""
        those = ", ".join(_linked(row) for row in named.get(name, []))
        yield _row(f"`{name}`", native, hermes, budget, those)


def _errors(tree: Tree, rows: list[Row]) -> Iterator[str]:
    yield from ("| error | named by |", "|---|---|")
    text = tree.text(f"{FOLDER}/20-operations.md")
    table = text.partition("\n## Errors\n")[2].partition("\n## ")[0]
    for name in re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE):
        said = [row for row in rows if f"`{name}`" in _whole(row) or f" {name}" in row["text"]]
        where = ["[20-operations.md](20-operations.md#errors)", *map(_linked, said)]
        yield _row(f"`{name}`", ", ".join(where))


def _whole(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False)


def _settings(tree: Tree) -> Iterator[str]:
    """The keys of the settings of a run, and the chapters that name each."""
    yield from ("| setting of a run | chapters that name it |", "|---|---|")
    schema: dict[str, Any] = json.loads(tree.text(f"{FOLDER}/schemas/settings.schema.json"))
    pages = {
        name.rpartition("/")[2]: tree.text(name)
        for name in tree.names(FOLDER, "[0-9]*.md")
        if name not in (_INDEX, _ANNEX)
    }
    for key in schema["properties"]:
        said = [f"[{name}]({name})" for name, text in pages.items() if f"`{key}`" in text]
        yield _row(f"`{key}`", ", ".join(said) or "[its schema](schemas/settings.schema.json)")


# -- sentences as they were ------------------------------------------------------------------------


def _sentences(tree: Tree, rows: list[Row]) -> Iterator[str]:
    yield from ("| id | before | now |", "|---|---|---|")
    before = tomllib.loads(tree.text("docs/reworded.toml"))
    for row in rows:
        if row["id"] in before:
            linked = f"[{row['id']}](../{FOLDER}/{row['anchor']})"
            yield _row(linked, before[row["id"]], row["text"])
