"""The joint meaning of a report's rows: its verdict, and the exit code of its document."""

from collections.abc import Iterable
from typing import Any

from memproto import spec
from memproto.spec import ConformanceClass
from memproto.testing import needs, outcomes
from memproto.testing.outcomes import ExitCode, Outcome, Result, Verdict


def verdict(rows: Iterable[dict[str, Any]], *, strict: bool) -> str | None:
    """The verdict over all rows of a target; None where the kit failed."""
    found = outcomes.verdict([_scored(row) for row in rows], strict=strict)
    return None if found is None else str(found)


def within(rows: Iterable[dict[str, Any]], name: ConformanceClass) -> list[dict[str, Any]]:
    """The rows that a class is judged by: its own, and those of the classes before it."""
    held = spec.up_to(name)
    return [row for row in rows if class_of(row) in held]


def class_of(row: dict[str, Any]) -> ConformanceClass:
    """The class of a row; the last one for a requirement that has none or is not known."""
    known = spec.requirements().get(row["id"])
    return (known.conformance_class if known else "") or spec.CLASSES[-1]


def asked(report: dict[str, Any]) -> ConformanceClass:
    """The class that the exit code asks for; the last one where a report does not say."""
    name: ConformanceClass = report.get("class", spec.CLASSES[-1])
    return name


def former(rows: Iterable[dict[str, Any]], *, strict: bool) -> str | None:
    """
    The verdict as kits gave it in which any open row made a run INCOMPLETE.

    Their reports stand as they are: what they say is stricter and no less true.
    """
    found = list(rows)
    given = verdict(found, strict=strict)
    is_open = any(row["outcome"] in outcomes.OPEN for row in found)
    return str(Verdict.INCOMPLETE) if given == Verdict.CONFORMANT and is_open else given


def keeps_open(row: dict[str, Any], *, strict: bool) -> bool:
    """True if this row leaves the verdict open; see `outcomes.keeps_open`."""
    return outcomes.keeps_open(Result(row["id"], Outcome(row["outcome"])), strict=strict)


def _waits(row: dict[str, Any], waived: set[str]) -> bool:
    """True if an open row is behind one of these."""
    return row["outcome"] in outcomes.OPEN and needs.behind(needs.of_row(row)) in waived


def _scored(row: dict[str, Any]) -> Result:
    """A row as the verdict counts it: a defensive rule never changes it."""
    outcome = Outcome(row["outcome"])
    if outcome is Outcome.WARN and _is_defensive(row):
        outcome = Outcome.PASS
    return Result(row["id"], outcome)


def is_red(row: dict[str, Any], *, strict: bool) -> bool:
    """True if this row alone says that the target violates its rule."""
    if row["outcome"] == Outcome.WARN:
        return strict and not _is_defensive(row)
    return bool(row["outcome"] == Outcome.FAIL)


def _is_defensive(row: dict[str, Any]) -> bool:
    known = spec.requirements().get(row["id"])
    return known is not None and known.defensive


def counts(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Number of rows that ended in each outcome; every outcome has a key."""
    return outcomes.counts(Result(row["id"], Outcome(row["outcome"])) for row in rows)


def exit_code(
    reports: list[dict[str, Any]], *, allow_incomplete: bool, as_former: bool = False
) -> ExitCode:
    """
    The exit code of a run with these reports, by the classes asked for, their rows and waivers.

    `as_former` counts every open row, those behind a waived one included, as former kits did.
    """
    verdicts = [_for_exit(report, as_former=as_former) for report in reports]
    return outcomes.exit_code(verdicts, allow_incomplete=allow_incomplete)


def _for_exit(report: dict[str, Any], *, as_former: bool) -> Verdict | None:
    """
    The verdict that decides the exit code.

    A row that was waived or left out does not raise it, nor does an open one that waits for a
    waived one: whether it holds cannot be known before that is mended.
    """
    if report["verdict"] is None:
        return None
    if report.get("waivers", {}).get("faults"):
        return Verdict.NON_CONFORMANT
    strict = bool(report.get("strict", False))
    rows, name = report["results"], asked(report)
    if name == spec.CLASSES[-1]:
        found = Verdict(report["verdict"])
    else:
        rows = within(rows, name)
        # No row is a fault of the kit, or the report had no verdict.
        found = Verdict(str(verdict(rows, strict=strict)))
    if found is not Verdict.INCOMPLETE:
        return found
    borne = {Outcome.WAIVED, Outcome.NOT_RUN} if report["selected"] else {Outcome.WAIVED}
    waived = {row["id"] for row in report["results"] if row["outcome"] == Outcome.WAIVED}
    if as_former:
        waived = set()
    left = [row for row in rows if row["outcome"] not in borne and not _waits(row, waived)]
    counted = [row for row in left if as_former or keeps_open(row, strict=strict)]
    is_open = any(row["outcome"] in outcomes.OPEN for row in counted)
    passed = not is_open and any(row["outcome"] == Outcome.PASS for row in left)
    return Verdict.CONFORMANT if passed else found
