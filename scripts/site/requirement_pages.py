"""A page for each requirement: its parts, its example, what breaks it, and its history."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memproto import mutants, spec
from memproto.spec import Requirement

ROOT = Path(__file__).parents[2]

#: The folder of the pages, seen from the root of the site.
FOLDER = "docs/requirements"

_EXAMPLES = "spec/v1/examples/requirements"

#: The parts that bind, with their titles.
_BINDING = {"limits": "Applies to", "definitions": "Definitions", "exemptions": "Exemptions"}

#: Characters of a call that a page shows.
_SHOWN = 220


def pages() -> dict[str, str]:
    """Page to text, in the order of the catalogue."""
    before = tomllib.loads((ROOT / "docs" / "reworded.toml").read_text("utf-8"))
    return {
        f"{FOLDER}/{item.id}.md": "\n".join(_page(item, before.get(item.id, ""))) + "\n"
        for item in spec.requirements().values()
    }


def _page(item: Requirement, before: str) -> Iterator[str]:
    chapter = item.anchor.partition("#")[0]
    yield from (f"# {item.id}", "", f"**{_prose(item.text)}**", "")
    yield from ("| | |", "|---|---|")
    for name, value in _facts(item):
        yield f"| {name} | {value} |"
    for key, title in _BINDING.items():
        yield from _part(title, getattr(item, key), chapter)
    yield from _part("Rationale", (item.intent, *item.rationale), chapter)
    yield from _example(item)
    yield from _part("How the kit looks at it", item.procedure, chapter)
    yield from ("", "## Fix", "", _prose(item.fix))
    yield from _broken(item)
    yield from ("", "## History", "", f"- Since release {item.since}, {item.status}.")
    if before:
        yield f"- Reworded; before: “{_prose(before)}”"
    if item.disputed:
        yield f"- Disputed: <{item.disputed}>"


def _facts(item: Requirement) -> Iterator[tuple[str, str]]:
    yield "level", item.level
    yield "side", item.side
    if item.conformance_class:
        yield "class", f"[{item.conformance_class}](../../spec/v1/90-conformance.md#classes)"
    if item.binding != "any":
        yield "binding", item.binding
    if item.extension:
        yield "extension", f"`{item.extension}`"
    yield "operation", f"`{item.operation}`"
    chapter = item.anchor.partition("#")[0]
    yield "clause", f"[{chapter}](../../spec/v1/{item.anchor})"
    yield "field reports", f"[{', '.join(item.sources)}](../../spec/v1/95-coverage.md)"


def _part(title: str, sentences: tuple[str, ...], chapter: str) -> Iterator[str]:
    if sentences:
        # The sentences stand in a chapter, and lead from there.
        yield from ("", f"## {title}", "")
        yield from (_prose(_led(one, chapter)) for one in sentences)


def _led(sentence: str, chapter: str) -> str:
    """A sentence of a chapter, of which the links lead from here."""
    return re.sub(
        r"\]\((#?)",
        lambda found: f"](../../spec/v1/{chapter if found[1] else ''}{found[1]}",
        sentence,
    )


def _example(item: Requirement) -> Iterator[str]:
    file = f"{_EXAMPLES}/{item.id}.json"
    yield from ("", "## Example", "")
    if item.example:
        yield from (_prose(_led(item.example, item.anchor.partition("#")[0])), "")
    data = json.loads((ROOT / file).read_text("utf-8"))
    for key, title in (("conforms", "One that conforms"), ("violates", "One that does not")):
        found = data[key]
        yield from (f"{title}: `{found.get('provider') or found.get('host')}`.", "", "```text")
        yield from _lines(data, found) if "lines" in data else _calls(data, found)
        yield from ("```", "")
        for name in ("expected", "observed"):
            if found.get(name):
                yield f"{name.capitalize()}: `{_one_line(found[name]).replace('`', chr(39))}`"
                yield ""
    yield f"[All of it as data](../../{file})."


def _lines(data: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """The lines of a transcript, up to the one from which a broken server departs."""
    for line in data["lines"][: found.get("line", len(data["lines"])) + 1]:
        yield _one_line(json.dumps(line, ensure_ascii=True))


def _calls(data: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """The calls of a play with the answers of one, or those that were heard of it."""
    calls = data.get("calls") or found.get("calls") or []
    answers = found.get("answers") or [call.get("answer") for call in calls]
    for call, answer in zip(calls, answers, strict=False):
        said = ", ".join(json.dumps(one, ensure_ascii=True) for one in call.get("arguments") or [])
        who = call.get("on") or f"instance {call['instance']}"
        name = call.get("call") or call["hook"] or call["operation"]
        yield _one_line(f"{who}: {name}({said})")
        if answer not in (None, {"returns": None}, {"shows": "None"}):
            yield _one_line(f"    {json.dumps(answer, ensure_ascii=True)}")
    if not calls:
        yield "(no call of a hook shows it)"


def _one_line(text: str) -> str:
    line = " ".join(text.split()) if not text.startswith("    ") else text
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _broken(item: Requirement) -> Iterator[str]:
    those = mutants.mutants().get(item.id, ())
    if those:
        yield from ("", "## What breaks it", "")
        yield f"[The kill matrix](../kill-matrix.md#{item.id.lower()}) has all of these; one is:"
        yield from ("", "```python", those[0].source.rstrip(), "```")


def _prose(text: str) -> str:
    return text.replace("<", "&lt;")
