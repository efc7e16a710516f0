"""
The blocks of the requirements in the chapters, written from the catalogue.

A block is the anchor, the line with id, level, release and side, the sentence, the sentences that
limit and define it, and below them, as a quotation, the rationale and an example. The catalogue
holds all of these. The kit's procedure stands in the annex on testing.
"""

import re
import tomllib
from typing import Any

from scripts.tree import Broken, Tree

Row = dict[str, Any]

FOLDER = "spec/v1"
CATALOGUE = f"{FOLDER}/requirements.toml"

#: The folder of the examples that are calls and answers, seen from a chapter.
EXAMPLES = "examples/requirements"

_BLOCK = re.compile(
    r'^<a id="[^"]+"></a>\n\*\*(?P<id>MP-[^*]+)\*\* · .+\n.+\n\n'
    r"(?:\*(?:Applies to|Definitions|Exemptions)\.\* (?:.+\n)+\n)*"
    r"> \*(?:Intent|Rationale)\.\* .+\n(?P<below>(?:>.*\n)*)",
    re.MULTILINE,
)
#: The normative parts behind the sentence of a requirement, and how a chapter calls each.
_NORMATIVE = {
    "applies_to": "Applies to",
    "definitions": "Definitions",
    "exemptions": "Exemptions",
}
#: Keys of a row without which it has no block.
_NEEDED = ("id", "level", "side", "text", "intent", "anchor")

#: The line behind the last one of a block: that of the next block, or of a heading.
_END = re.compile(r"^(?=<a id=|## )", re.MULTILINE)


def rewrite(tree: Tree) -> None:
    """
    Write the block of each requirement; a new one stands behind its predecessor.

    Raises:
        Broken: A block is no requirement of the catalogue, or stands in another chapter than its
            anchor says, or a chapter is missing, or a row lacks a key.

    """
    of_chapter: dict[str, list[Row]] = {}
    for row in rows(tree):
        of_chapter.setdefault(row["anchor"].partition("#")[0], []).append(row)
    chapters = [name.rpartition("/")[2] for name in tree.names(FOLDER, "*.md")]
    if missing := sorted(set(of_chapter) - set(chapters)):
        raise Broken(f"{CATALOGUE}: no chapter {missing[0]}; write its title and its first lines")
    for chapter in chapters:
        name = f"{FOLDER}/{chapter}"
        tree.put(name, _completed(name, tree.text(name), of_chapter.get(chapter, [])))


def rows(tree: Tree) -> list[Row]:
    """
    The requirements of the catalogue, in its order.

    Raises:
        Broken: A row lacks a key that its block is made of.

    """
    catalogue: dict[str, list[Row]] = tomllib.loads(tree.text(CATALOGUE))
    for number, row in enumerate(catalogue["requirement"], 1):
        if lacking := [f"`{key}`" for key in _NEEDED if key not in row]:
            name = row.get("id", f"requirement {number}")
            raise Broken(f"{CATALOGUE}: {name} lacks {', '.join(lacking)}; write it into its row")
    shown = {name.rpartition("/")[2] for name in tree.names(f"{FOLDER}/{EXAMPLES}", "*.json")}
    return [{**row, "shown": f"{row['id']}.json" in shown} for row in catalogue["requirement"]]


def block(row: Row) -> str:
    """All of a requirement that its chapter repeats."""
    gate = " · gate" if row.get("gate") else ""
    name = f" · {row['class']}" if "class" in row else ""
    about = f"{row['level']}{name} · since {row.get('since', '1.0')} · {_bound(row)}{gate}"
    anchor = row["anchor"].partition("#")[2]
    head = f'<a id="{anchor}"></a>\n**{row["id"]}** · {about}\n'
    parts = [f"{head}{row['text']}\n"]
    parts += [
        f"*{label}.* " + "\n".join(row[key]) + "\n"
        for key, label in _NORMATIVE.items()
        if key in row
    ]
    said = [f"*Rationale.* {row['intent']}", *row.get("rationale", [])]
    return (
        "\n".join(parts)
        + "\n"
        + "".join(f"> {line}".rstrip() + "\n" for line in [*said, *_example(row)])
    )


def _example(row: Row) -> list[str]:
    """The lines of the example: a paragraph of its own, with its calls where there are some."""
    linked = f"[calls and answers]({EXAMPLES}/{row['id']}.json)" if row.get("shown") else ""
    said = [f"*Example.* {row['example']}"] if "example" in row else []
    if linked:
        said.append(f"{'' if said else '*Example.* '}See {linked}.")
    return ["", *said] if said else []


def _bound(row: Row) -> str:
    """The side that has to hold a requirement, in the words of the chapters."""
    if row["side"] == "host":
        return "hosts"
    kinds = {
        "native": "native providers",
        "hermes": "Hermes providers",
        "wire": "providers of the wire",
    }
    served = f" that serve `{row['extension']}`" if row.get("extension") else ""
    return kinds.get(row.get("binding", "any"), "providers" if served else "all providers") + served


def _completed(name: str, text: str, wanted: list[Row]) -> str:
    """The chapter with the block of each of its requirements."""
    blocks = {row["id"]: block(row) for row in wanted}
    known = [match["id"] for match in _BLOCK.finditer(text)]
    if strays := [one for one in known if one not in blocks]:
        raise Broken(f"{name}: {strays[0]} does not belong here by {CATALOGUE}; move its block")
    for match in _BLOCK.finditer(text):
        if match["below"] and "> *Intent.*" in match[0]:
            raise Broken(
                f"{name}: {match['id']} has lines below its intent, which belong to the catalogue; "
                "`python -P scripts/structure.py` moves them"
            )
    text = _BLOCK.sub(lambda match: blocks[match["id"]], text)
    before = ""
    for one, new in blocks.items():
        if one not in known:
            text = _inserted(text, new, before, next(iter(known), ""))
        before = one
    for row in wanted:
        if text.count(f"\n**{row['id']}** · ") != 1:
            raise Broken(f"{name}: {row['id']} has a block that is not whole, or two; remove one")
    return text


def _inserted(text: str, new: str, before: str, first: str) -> str:
    """The chapter with a new block behind the one of `before`, or in front of `first`."""
    if before:
        start = text.index(f"**{before}** ·")
        found = _END.search(text, start)
        place = found.start() if found else len(text)
    else:
        place = text.rindex("<a id=", 0, text.index(f"**{first}** ·")) if first else len(text)
    above, below = text[:place].rstrip("\n"), text[place:]
    return f"{above}\n\n{new}" + (f"\n{below}" if below else "")
