"""
The parts of a requirement in the catalogue: moved there from its chapter, and from its check.

Writers may put sentences below a requirement's first line of intent in the chapter. The catalogue
is where they belong: `python -P scripts/structure.py` moves them into the part that their words
suggest, and writes the sentences by which checks leave providers out: their conditions, and the
reasons that they find out as they run (`scripts/reasons.py`). It can run again at any time, and
changes nothing that the catalogue holds already.
"""

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from memproto.testing import clauses  # noqa: E402 - needs the path above
from memproto.testing.clauses import Check  # noqa: E402 - as above
from memproto.testing.conditions import Extension  # noqa: E402 - as above
from scripts import reasons  # noqa: E402 - as above
from scripts.tree import Tree  # noqa: E402 - as above

Row = dict[str, Any]
Parts = dict[str, list[str]]

CATALOGUE = "spec/v1/requirements.toml"

#: The parts that hold sentences, in the order in which the catalogue has them.
PARTS = ("applies_to", "definitions", "exemptions", "rationale", "procedure")

#: A block with lines below its intent, and the example in words behind it.
_OLD = re.compile(
    r"^\*\*(?P<id>MP-[^*]+)\*\* · .+\n.+\n\n> \*Intent\.\* .+\n"
    r"(?P<lines>(?:> .+\n)*)(?P<example>\nExample: .+\n(?=\n|\Z))?",
    re.MULTILINE,
)
_ROW = re.compile(r"^\[\[requirement\]\]\nid = \"(?P<id>[^\"]+)\"\n(?:.+\n)*", re.MULTILINE)


def moved(lines: list[str]) -> Parts:
    """Sentences of a chapter, each in the part that its words suggest."""
    found: Parts = {name: [] for name in PARTS}
    part = "definitions"
    for line in lines:
        if part != "exemptions":
            part = _suggested(line)
        found[part].append(line)
    return found


def _suggested(line: str) -> str:
    if line.startswith("*Not required:*"):
        return "exemptions"
    if re.search(r"\bthe kit\b", line, re.IGNORECASE):
        return "procedure"
    if re.match(r"It concerns |.* is not asked\b", line):
        return "applies_to"
    return "definitions"


def granted(check: Check | None, row: Row) -> list[str]:
    """The sentences by which a check leaves providers out, but that of the row's own extension."""
    if check is None:
        return []
    return [
        item.sentence
        for item in check.conditions
        if not (type(item) is Extension and item.name == row.get("extension"))
    ]


def _told(check: Check | None, said: list[str]) -> list[str]:
    """The sentences that the reasons of a check lack, but those that an author has to fill."""
    return [
        reasons.sentence(reason)
        for reason in (reasons.of_check(check) if check else [])
        if reasons.HOLE not in reason and not any(reasons.grants(one, reason) for one in said)
    ]


def rewrite(tree: Tree, parts: Mapping[str, Parts] | None = None) -> None:
    """Move what stands in chapters into the catalogue; `parts` holds what was sorted by hand."""
    catalogue = tree.text(CATALOGUE)
    rows = {row["id"]: row for row in tomllib.loads(catalogue)["requirement"]}
    new: dict[str, Row] = {name: {} for name in rows}
    for name in tree.names("spec/v1", "*.md"):
        text = tree.text(f"spec/v1/{name.rpartition('/')[2]}")
        for match in _OLD.finditer(text):
            lines = [line[2:] for line in match["lines"].splitlines()]
            found = (parts or {}).get(match["id"]) or moved(lines)
            new[match["id"]] = {part: said for part, said in found.items() if said}
            if match["example"]:
                said = match["example"].strip().removeprefix("Example: ")
                new[match["id"]]["example"] = said[0].upper() + said[1:]
        tree.put(f"spec/v1/{name.rpartition('/')[2]}", _OLD.sub(_shortened, text))
    known = {**clauses.checks("provider"), **clauses.checks("host")}
    for name, row in rows.items():
        said = [*row.get("applies_to", []), *new[name].get("applies_to", [])]
        missing = [one for one in granted(known.get(name), row) if one not in said]
        if missing:
            new[name]["applies_to"] = [*missing, *new[name].get("applies_to", [])]
        if told := _told(known.get(name), [*row.get("exemptions", [])]):
            new[name]["exemptions"] = [*new[name].get("exemptions", []), *told]
    tree.put(CATALOGUE, _ROW.sub(lambda match: _completed(match, rows, new), catalogue))


def _shortened(match: re.Match[str]) -> str:
    """A block without what went into the catalogue."""
    return match[0][: match.start("lines") - match.start()]


def _completed(match: re.Match[str], rows: dict[str, Row], new: dict[str, Row]) -> str:
    """A row of the catalogue with its new parts behind its intent."""
    row, added = rows[match["id"]], new[match["id"]]
    text = match[0]
    lines = []
    for part in PARTS:
        if part in added:
            said = [*added[part], *row.get(part, [])]
            if part == "exemptions":
                said = [*row.get(part, []), *added[part]]
            text = re.sub(rf"^{part} = \[\n(?:  .+\n)*\]\n", "", text, flags=re.MULTILINE)
            lines += [f"{part} = [", *(f"  {_quoted(one)}," for one in said), "]"]
    if "example" in added and "example" not in row:
        lines.append(f"example = {_quoted(added['example'])}")
    if not lines:
        return text
    before, key, behind = text.partition("\nfix = ")
    return "\n".join([before, *lines]) + key + behind


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def main() -> None:
    """Move what the chapters of this checkout hold; say which files changed."""
    tree = Tree(ROOT)
    rewrite(tree)
    sys.stdout.writelines(f"{name}\n" for name in tree.write())


if __name__ == "__main__":
    main()
