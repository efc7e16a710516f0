"""
The requirements that the census makes stable, by the rule of docs/governance.md.

The rule is that of `memproto stability`, here over the kept outcomes of the census. The readings
make it stricter: a requirement becomes stable if each red line of it was read and is true.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from census.entries import CHECKOUT, Entry, Unusable
from census.outcomes import Found
from census.readings import Reading
from memproto import spec
from memproto.report import stability
from memproto.report.stability import Ledger, Standing
from memproto.testing.outcomes import Outcome

_ROOT = Path(__file__).parents[1]

#: Targets that are the authors' own, and forks.
LEDGER = _ROOT / "docs" / "stability.toml"
CATALOGUE = _ROOT / "spec" / "v1" / "requirements.toml"

#: The version that reports of the census name; every kept outcome is of one unreleased kit.
_KIT = "0"


def standings(
    entries: Mapping[str, Entry],
    outcomes: Mapping[str, Found],
    readings: Mapping[tuple[str, str], Reading],
    ledger: Ledger,
) -> list[Standing]:
    """
    Each requirement on its road to stable, in the order of the catalogue.

    One that the outcomes alone would make ready is `refuted` if a line of it was read as wrong,
    `disputed` if one is debatable, and `short` if one was not read.
    """
    reports = [
        _report(entry, outcomes[name])
        for name, entry in entries.items()
        if name in outcomes and entry.version != CHECKOUT
    ]
    unread = {
        row.id
        for name, one in outcomes.items()
        for row in one.red
        if name in entries and (name, row.id) not in readings
    }
    read = {
        said: {key for (_, key), one in readings.items() if one.reading == said}
        for said in ("refuted", "debatable")
    }
    return [
        _strict(one, read["refuted"], read["debatable"], unread)
        for one in stability.standings(reports, ledger)
    ]


def _report(entry: Entry, found: Found) -> dict[str, Any]:
    """As much of a report as the rule looks at."""
    red = [{"id": row.id, "outcome": Outcome.FAIL} for row in found.red]
    held = [{"id": key, "outcome": Outcome.PASS} for key in found.passed.split()]
    return {"target": entry.target, "kit": _KIT, "results": red + held}


def _strict(one: Standing, refuted: set[str], debatable: set[str], unread: set[str]) -> Standing:
    if one.state != "ready":
        return one
    if one.item.id in refuted:
        return dataclasses.replace(one, state="refuted", reason="a line of it was refuted")
    if one.item.id in debatable:
        return dataclasses.replace(one, state="disputed", reason="a line of it is debatable")
    if one.item.id in unread:
        return dataclasses.replace(one, state="short", reason="a line of it was not read")
    return one


def ready(found: list[Standing]) -> tuple[str, ...]:
    """The requirements that may become stable."""
    return tuple(one.item.id for one in found if one.state == "ready")


def mark(text: str, ids: tuple[str, ...]) -> str:
    """
    The text of the catalogue, in which these drafts are stable.

    Raises:
        Unusable: The catalogue has no such row.

    """
    for key in ids:
        row = re.compile(rf'^(id = "{re.escape(key)}"\n)(?!status = )', re.MULTILINE)
        text, count = row.subn(r'\1status = "stable"\n', text)
        if count != 1:
            raise Unusable(f"{CATALOGUE.name}: no draft {key} stands there")
    return text


def table(found: list[Standing]) -> str:
    """The stable requirements, and how many real targets were judged by each and violate it."""
    head = "| stable | level | judged | violated by |"
    return "\n".join([head, "| --- " * 4 + "|", *_rows(found)])


def _rows(found: list[Standing]) -> Iterator[str]:
    for one in found:
        if spec.requirement(one.item.id).status == "stable":
            yield f"| {one.item.id} | {one.item.level} | {len(one.judged)} | {len(one.red)} |"
