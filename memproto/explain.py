"""`memproto explain ID`: a requirement with what is behind it, as an author reads it."""

import argparse
import dataclasses
import functools
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memproto import links, spec
from memproto.errors import MissingPackage, NoSuchRequirement
from memproto.mutants import Mutant, mutants
from memproto.spec import Requirement

if TYPE_CHECKING:
    from memproto.testing.conditions import Condition

#: Prose is no wider than this, however wide the terminal.
_WIDEST = 96

_INDENT = " " * 12

#: A row of the table of classes: its name, and what goes wrong.
_CLASS = re.compile(r"^\| ([A-Z]\d+) \| ([^|]+) \|", re.MULTILINE)


def add_command(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `memproto explain`."""
    parser.add_argument(
        "id", nargs="+", help="such as MP-RECALL-002, recall 2, or an area such as MP-RECALL"
    )
    parser.add_argument(
        "--json", action="store_true", help="the rows as JSON, with what each needs as data"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Print one requirement, or list those of an area.

    Raises:
        NoSuchRequirement: There is none of that id; the message names the nearest.

    """
    columns = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    typed = " ".join(options.id)
    text = as_json(typed) if options.json else explained(typed, columns)
    encoding = sys.stdout.encoding or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    if sys.stdout.isatty() and links.are_shown(os.environ):
        text = links.linked(text)
    sys.stdout.write(f"{text}\n")
    return 0


def explained(typed: str, columns: int = _WIDEST) -> str:
    """The text for what was typed, in so many columns; raises as `run` does."""
    found = _meant(typed)
    if [item.id for item in found] == [spec.normal(typed)]:
        return _one(found[0], columns)
    return "\n".join(
        _filled(f"{item.id:<20} {item.level:<7}", item.text, columns) for item in found
    )


def as_json(typed: str) -> str:
    """A JSON list of what was typed: the row of the catalogue, and `needs`; raises as `run`."""
    rows = [
        {
            **_row_of_catalogue(item),
            "clause": item.clause,
            "needs": [need.as_dict() for need in needs(item)],
        }
        for item in _meant(typed)
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def _row_of_catalogue(item: Requirement) -> dict[str, Any]:
    """The keys as the catalogue names them; a host's requirement has no class."""
    row = dataclasses.asdict(item)
    name, limits = row.pop("conformance_class"), row.pop("limits")
    row["applies_to"] = limits
    return {**row, "class": name} if name else row


def _meant(typed: str) -> list[Requirement]:
    """The requirement of the id that was typed, or those of the area."""
    wanted = spec.normal(typed)
    if wanted in spec.requirements():
        return [spec.requirement(wanted)]
    found = [*_selected(wanted, "provider"), *_selected(wanted, "host")]
    if wanted == "MP" or not found:
        raise spec.unknown(typed, wanted)
    return found


def needs(item: Requirement) -> "tuple[Condition, ...]":
    """
    The conditions under which a requirement concerns a provider, as its check states them.

    Raises:
        MissingPackage: The checks need a package that is not installed.

    """
    try:
        from memproto.testing import clauses

        check = clauses.checks(item.side).get(item.id)
    except ModuleNotFoundError as missing:
        fault = f"showing what a requirement needs takes the package {missing.name}"
        raise MissingPackage(item.id, fault, "pip install 'memproto[kit]'") from None
    return check.conditions if check else ()


def _selected(wanted: str, side: spec.Side) -> list[Requirement]:
    try:
        return spec.select([wanted], side)
    except NoSuchRequirement:
        return []


# -- one requirement -------------------------------------------------------------------------------


def _one(item: Requirement, columns: int) -> str:
    about = ", ".join(
        filter(
            None,
            (
                item.level,
                item.side,
                f"class {item.conformance_class}" if item.conformance_class else "",
                _concerns(item),
                f"since {item.since}",
                item.status,
            ),
        )
    )
    lines = [f"{item.id} ({about})"]
    lines += [_filled(f"  {name:<9}", text, columns) for name, text in _rows(item)]
    lines += [f"  {name:<9} {text}" for name, text in _copied(item)]
    for mutant in mutants().get(item.id, ())[:1]:
        lines += ["", *_broken(mutant, item.side, columns)]
    return "\n".join(lines)


def _concerns(item: Requirement) -> str:
    extension = f"extension {item.extension}" if item.extension else ""
    binding = "" if item.binding == "any" else f"{item.binding} binding"
    return ", ".join(filter(None, (extension, binding)))


def _rows(item: Requirement) -> Iterator[tuple[str, str]]:
    yield "rule", item.text
    if item.disputed:
        yield "disputed", f"{item.disputed}; until that is decided it warns, and does not fail"
    yield "intent", item.intent
    try:
        found = [need.words for need in needs(item)]
    except MissingPackage as missing:
        found = [f"is shown after {missing.fix}"]
    for number, words in enumerate(found):
        yield "" if number else "needs", words
    for label, said in (
        ("concerns", item.limits),
        ("means", item.definitions),
        ("not asked", item.exemptions),
        ("example", (item.example,) if item.example else ()),
        ("looked at", item.procedure),
    ):
        for number, sentence in enumerate(said):
            yield "" if number else label, _plain(sentence)
    for number, mutant in enumerate(mutants().get(item.id, ())):
        yield "" if number else "causes", f"- {_in_words(mutant.name)}"
    yield "fix", item.fix
    yield from _reports(item)
    if item.unchecked:
        yield "unchecked", item.unchecked


def _copied(item: Requirement) -> Iterator[tuple[str, str]]:
    """Lines that a user copies from the terminal, and that are not broken at its edge."""
    yield "clause", f"{item.clause}, here: memproto spec {item.id}"
    if not item.unchecked:
        flag = "--memproto-host" if item.side == "host" else "--memproto"
        yield "run", f"pytest {flag}=TARGET --memproto-clause={item.id}"


def _reports(item: Requirement) -> Iterator[tuple[str, str]]:
    """The classes of public bug reports behind it, and what each is called."""
    titles = classes()
    label = "reports"
    for name in item.sources:
        if name == "seed":
            yield label, "the documents that the protocol comes from"
        else:
            yield label, f"{name}: {titles.get(name, 'see memproto spec 95-coverage')}"
        label = ""


def _in_words(name: str) -> str:
    """`LastTurnStaysInTheBatch` as `last turn stays in the batch`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name).lower()


def _broken(mutant: Mutant, side: str, columns: int) -> list[str]:
    """The code of a broken provider, unbroken, so that it stays code."""
    head = f"a {side} that breaks it ({mutant.file}), of which the kit says {mutant.says!r}:"
    code = textwrap.indent(mutant.source.rstrip(), "    ")
    return [textwrap.fill(head, columns, initial_indent="  ", subsequent_indent="  "), "", code]


def _filled(head: str, text: str, columns: int) -> str:
    return textwrap.fill(
        text,
        max(columns, 40),
        initial_indent=f"{head} ",
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


# -- what is behind it -----------------------------------------------------------------------------


@functools.cache
def classes() -> dict[str, str]:
    """Each class of bug reports, and what goes wrong in it."""
    return {name: title.strip() for name, title in _CLASS.findall(spec.chapter("95-coverage"))}


def _plain(sentence: str) -> str:
    """A sentence without the marks of Markdown and the addresses of links."""
    return re.sub(r"^\*Not required:\* |\]\([^)]*\)|[\[*`]", "", sentence)
