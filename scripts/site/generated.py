"""Parts of pages that are made of data: the catalogue, the kill matrix, a diff."""

import difflib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import catalogue

from memproto import spec
from memproto.scaffold import making

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

#: A comment in a page, in whose place a part is put.
_PART = re.compile(r"^<!-- site: ([a-z-]+) -->$", re.MULTILINE)

#: The first line of a requirement, which its sentence follows.
_HEAD = re.compile(r"^(\*\*MP-[A-Z0-9-]+\*\* · .+)$", re.MULTILINE)


# -- the table of requirements ---------------------------------------------------------------------


def requirements() -> str:
    """Every requirement with its level, status and release, linked to its clause."""
    lines = []
    for side in ("provider", "host"):
        items = spec.select([], side)
        lines += ["", f"## On the {side}", "", f"{len(items)} requirements.", ""]
        lines += [
            "| id | level | concerns | status | since | rule | page |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [_row(item) for item in items]
    return "\n".join(lines).lstrip()


def _row(item: spec.Requirement) -> str:
    about = item.extension or ("all" if item.binding == "any" else item.binding)
    cells = (
        f"[{item.id}](../spec/v1/{item.anchor})",
        item.level,
        about,
        item.status,
        item.since,
        _cell(item.text),
        f"[page](requirements/{item.id}.md)",
    )
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# -- the kill matrix -------------------------------------------------------------------------------


def kill_matrix() -> str:
    """Each requirement with the broken providers that it catches, and what was changed in them."""
    from tests.broken.marks import load_all

    killers: dict[str, list[Any]] = {}
    for mutant in load_all().values():
        killers.setdefault(mutant.kills, []).append(mutant)
    count = sum(map(len, killers.values()))
    lines = [f"{count} broken providers and hosts, for {len(killers)} requirements."]
    for item in spec.requirements().values():
        rule = f"[{item.level}](../spec/v1/{item.anchor}) · {_prose(item.text)}"
        lines += ["", f"## {item.id}", "", rule]
        for mutant in killers.get(item.id, ()):
            lines += ["", *_mutant(mutant)]
        if item.id not in killers:
            lines += ["", item.unchecked or "No broken provider: see the clause."]
    return "\n".join(lines)


def _prose(text: str) -> str:
    return text.replace("<", "&lt;")


def _mutant(mutant: Any) -> Iterator[str]:
    module, _, name = mutant.target.partition(":")
    yield f"**{_in_words(name)}** (after a report of class {mutant.report})."
    yield f"The check says: `{mutant.says}`."
    for also, reason in mutant.also.items():
        yield f"It also turns [{also}](#{also.lower()}) red: {reason}."
    yield from ("", "```python", _source(module, name), "```")


def _in_words(name: str) -> str:
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    return " ".join(words).capitalize()


def _source(module: str, name: str) -> str:
    """The changed code: the class or function, without the mark of the shelf."""
    made = getattr(sys.modules[module], name)
    text = textwrap.dedent(inspect.getsource(made))
    start = re.search(r"^(async )?(class|def) ", text, re.MULTILINE)
    return text[start.start() :].rstrip() if start else text.rstrip()


# -- parts of pages --------------------------------------------------------------------------------


def completed(text: str) -> str:
    """A page with its made parts in it, and each requirement's sentence on a line of its own."""
    return _PART.sub(lambda found: PARTS[found[1]](), _HEAD.sub(r"\1  ", text))


def hermes_diff() -> str:
    """The changes from the Hermes template of `memproto new` to the native one."""
    templates = Path(making.__file__).with_name("templates")
    place = Path("src", making.EXAMPLE.module)
    hermes, native = (
        (templates / kind / place / name).read_text("utf-8").splitlines()
        for kind, name in (("hermes", "__init__.py"), ("native", "provider.py"))
    )
    lines = difflib.unified_diff(hermes, native, "hermes", "native", lineterm="", n=2)
    return "\n".join(["```diff", *lines, "```"])


def stability() -> str:
    """The states of all requirements on the road to stable, by the reports that are kept."""
    from memproto.report import stability as road

    ledger = road.read_ledger(ROOT / "docs" / "stability.toml")
    reports = road.read_reports(sorted((ROOT / "census" / "reports").glob("*.json")))
    return road.as_markdown(road.standings(reports, ledger))


#: The part that is made, by the name in its comment.
PARTS: dict[str, Callable[[], str]] = {
    "hermes-diff": hermes_diff,
    "kill-matrix": kill_matrix,
    "requirements": requirements,
    "procedures": lambda: "\n".join(catalogue.procedures()),
    "index-of-requirements": lambda: "\n".join(catalogue.requirements()),
    "index-of-operations": lambda: "\n".join(catalogue.the_operations()),
    "index-of-errors": lambda: "\n".join(catalogue.errors()),
    "index-of-settings": lambda: "\n".join(catalogue.settings()),
    "stability": stability,
    "sentences": lambda: "\n".join(catalogue.sentences()),
}
