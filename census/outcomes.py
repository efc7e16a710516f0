"""
The outcomes of the last census, as `outcomes.json` keeps them in the repository.

A report has a third of a megabyte; of each stands here only what the table, the readings and a
comparison need, with the fingerprint by which the report itself is known.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from census.entries import Entry
from census.judging import Record, State
from census.kept import Kept
from memproto import spec
from memproto.report import classes
from memproto.testing.outcomes import OPEN, Outcome

FILE = Path(__file__).parent / "outcomes.json"

#: Characters of one observation, or reason, that are kept.
_MOST_CHARS = 400

_RED = (Outcome.FAIL, Outcome.WARN)


@dataclasses.dataclass(frozen=True, slots=True)
class Red:
    """
    A requirement that is violated.

    Attributes:
        id: The requirement.
        level: Its level.
        observed: The thing seen, shortened.
        where: File, line and hook, or "".

    """

    id: str
    level: str
    observed: str
    where: str

    @property
    def is_must(self) -> bool:
        """True if the verdict falls by it."""
        return self.level.startswith("MUST")


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """
    The outcome of one target.

    Attributes:
        name: The entry.
        version: The version that was judged.
        state: As in `judging.Record`.
        reason: Why there is no verdict, or "".
        date: The day, as `YYYY-MM-DD`.
        took_s: Seconds of the run.
        inputs: The digest of the inputs.
        distribution: The digest of the installed files.
        kit: The digest of the kit's wheel.
        verdict: The verdict, or "".
        held: The highest class that holds, or "".
        contact: The gate that did not hold, and why; "" after first contact.
        red: Requirements that are violated.
        passed: Ids of the requirements that hold, with a space between each two.
        unsettled: Ids of those that were not decided, in the same way.
        outward: Addresses outside of the machine that the target asked for.
        fingerprint: That of the report.

    """

    name: str
    version: str
    state: State
    reason: str
    date: str
    took_s: float
    inputs: str
    distribution: str
    kit: str
    verdict: str = ""
    held: str = ""
    contact: str = ""
    red: tuple[Red, ...] = ()
    passed: str = ""
    unsettled: str = ""
    outward: int = 0
    fingerprint: str = ""

    @property
    def red_musts(self) -> tuple[Red, ...]:
        """The violated requirements by which the verdict falls."""
        return tuple(row for row in self.red if row.is_must)


def found_in(kept: Kept, entries: Mapping[str, Entry]) -> dict[str, Found]:
    """
    The outcomes of a folder, of those targets that have an entry still.

    A run of some requirements only is none of the census, and is left out.
    """
    found = {
        name: _found(record, entries[name], kept.report(name))
        for name, record in kept.records().items()
        if name in entries
    }
    return {name: one for name, one in found.items() if one is not None}


def _found(record: Record, entry: Entry, report: Path) -> Found | None:
    common = Found(
        record.name,
        entry.version,
        record.state,
        _cut(record.reason),
        record.date,
        record.took_s,
        record.inputs,
        record.distribution,
        record.kit,
    )
    try:
        (document,) = json.loads(report.read_text("utf-8"))["reports"]
    except (OSError, ValueError):
        return common
    if document["selected"]:
        return None
    return dataclasses.replace(common, **_of_report(document))


def _of_report(report: Mapping[str, Any]) -> dict[str, Any]:
    rows = report["results"]
    red = [row for row in rows if row["outcome"] in _RED]
    return {
        "verdict": report["verdict"] or "",
        "held": classes.held(dict(report)) or "",
        "contact": _contact(rows),
        "red": tuple(
            Red(row["id"], row["level"], _cut(row["observed"]), row["where"] or "") for row in red
        ),
        "passed": " ".join(row["id"] for row in rows if row["outcome"] == Outcome.PASS),
        "unsettled": " ".join(row["id"] for row in rows if row["outcome"] in OPEN),
        "outward": len(report["network"]["outward"]),
        "fingerprint": report["fingerprint"],
    }


def _contact(rows: Iterable[Mapping[str, Any]]) -> str:
    """The first gate that did not hold, with what was seen there."""
    for row in rows:
        if spec.requirement(row["id"]).gate and row["outcome"] not in (
            Outcome.PASS,
            Outcome.NOT_APPLICABLE,
        ):
            return _cut(f"{row['id']}: {row['observed'] or row['reason']}")
    return ""


def _cut(text: str | None) -> str:
    plain = " ".join((text or "").split())
    return plain if len(plain) <= _MOST_CHARS else f"{plain[: _MOST_CHARS - 3]}..."


def read(path: Path = FILE) -> dict[str, Found]:
    """Name to outcome; none if nothing is kept."""
    if not path.exists():
        return {}
    rows = json.loads(path.read_text("utf-8"))["targets"]
    return {
        row["name"]: Found(**{**row, "red": tuple(Red(**one) for one in row["red"])})
        for row in rows
    }


def write(found: Mapping[str, Found], path: Path = FILE) -> None:
    """Keep these outcomes, in the order of the alphabet."""
    rows = [dataclasses.asdict(found[name]) for name in sorted(found)]
    text = json.dumps({"format": 1, "targets": rows}, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", "utf-8")
