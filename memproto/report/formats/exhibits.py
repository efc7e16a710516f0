"""The evidence of a row as a small table: the wanted and the seen as a diff, and the facts."""

import dataclasses
import difflib
from collections.abc import Iterator
from typing import Any

from memproto.testing import evidence, wording
from memproto.testing.evidence import Evidence

#: Fields of which a table says something that no sentence holds, and the label of each. Several
#: values of a field are lines below one another, in their order.
_LABELS = {
    "hook": "hook",
    "at": "stopped at",
    "computing": "computed at",
    "texts": "text",
    "answer": "shown",
    "question": "asked",
    "keys": "key",
    "values": "value",
    "names": "name",
    "paths": "path",
    "seen": "seen",
    "calls": "call",
    "given": "given",
    "excerpt": "excerpt",
    "mode": "mode",
    "schema": "schema",
    "holder": "in",
    "shown": "raised",
}

#: Frames are lines of the table, and not of the sentence above it; that of a hook which still runs
#: ends with the innermost one.
_FRAMES = ("at", "computing")

#: So many lines of one field are shown; the report holds them all.
_MOST_LINES = 8


@dataclasses.dataclass(frozen=True)
class Line:
    """
    A line of the table.

    Attributes:
        label: The fact's name; "" for one more value of the line above it.
        text: Its value.
        sign: "-" for what was wanted, "+" for what was seen in its place, "" for any other fact.

    """

    label: str
    text: str
    sign: str = ""


def table(row: dict[str, Any]) -> list[Line]:
    """
    The lines for a row of a report; none if nothing was wanted and nothing was seen.

    A text that a line above it holds is left out, so nothing is told twice. Without evidence as
    data, as in reports of earlier kits, there are the two sentences alone.
    """
    found = _evidence(row)
    observed = row.get("observed") or ""
    if found is not None and getattr(found, "state", "") != "running":
        # `at` of some kinds is a place in a document, and a text.
        held = [name for name in _FRAMES if isinstance(getattr(found, name, None), tuple)]
        frames: dict[str, Any] = dict.fromkeys(held, ())
        observed = wording.observed(dataclasses.replace(found, **frames)) if frames else observed
    lines = [Line("expected", row["expected"], "-")] if row.get("expected") else []
    due, calls = getattr(found, "due", ()), getattr(found, "calls", ())
    if isinstance(due, tuple) and due and calls:
        return [*lines, *_difference(due, calls)]
    if observed:
        lines.append(Line("observed", observed, "+"))
    told = "\n".join(line.text for line in lines)
    # A single frame is the one of `where`, which stands below the table.
    return [*lines, *_facts(found, told, row.get("where") or "")] if found else lines


def _evidence(row: dict[str, Any]) -> Evidence | None:
    """The row's evidence; None where there is none, or none that this kit knows."""
    data = row.get("evidence")
    found = evidence.from_dict(data) if isinstance(data, dict) and data.get("type") else None
    return None if isinstance(found, evidence.Opaque) else found


def _difference(due: tuple[str, ...], calls: tuple[str, ...]) -> Iterator[Line]:
    """The order that was due and the one that came, as a diff."""
    label = "order"
    for text in difflib.ndiff(due, calls):
        if text[0] != "?":
            yield Line(label, text[2:], text[0].strip())
            label = ""


def _facts(found: Evidence, told: str, where: str) -> Iterator[Line]:
    """The fields whose values are not in `told`, which is what stands above them."""
    labels: tuple[str, ...] = getattr(found, "labels", ())
    for field, label in _LABELS.items():
        value = getattr(found, field, ())
        texts = [text for text in ((value,) if isinstance(value, str) else value) if text]
        texts = [] if field in _FRAMES and texts == [where] else texts
        fresh = [(at, text) for at, text in enumerate(texts) if not _is_told(text, told)]
        for place, (at, text) in enumerate(fresh[:_MOST_LINES]):
            own = labels[at] if field == "texts" and at < len(labels) else ""
            yield Line(own or ("" if place else label), text)
        if len(fresh) > _MOST_LINES:
            yield Line("", f"and {len(fresh) - _MOST_LINES} more")


def _is_told(text: str, told: str) -> bool:
    return text in told or wording.quoted(text)[1:-1] in told
