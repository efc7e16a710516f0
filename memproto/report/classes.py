"""
The conformance classes in a report: the verdict of each, the highest that holds, what is missing.

A class is judged by the rows of its own requirements and of the classes before it. The last class
is judged by all rows, and so its verdict is that of the report.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from memproto import spec
from memproto.report import verdicts
from memproto.spec import ConformanceClass
from memproto.testing.outcomes import OPEN, Outcome, Verdict

Row = dict[str, Any]
Judge = Callable[..., str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """
    The rows that stand between a provider and one class, of those that the class itself adds.

    Attributes:
        name: The class.
        violated: Ids of requirements that are violated.
        waived: Ids of those that are waived.
        unsettled: Ids of those that are open, and count.

    """

    name: ConformanceClass
    violated: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()


def verdicts_of(rows: Iterable[Row], *, strict: bool) -> dict[str, str | None]:
    """Each class and its verdict over these rows; None where the kit failed in it."""
    return _judged(rows, verdicts.verdict, strict=strict)


def _judged(rows: Iterable[Row], judge: Judge, *, strict: bool) -> dict[str, str | None]:
    found = list(rows)
    return {name: judge(verdicts.within(found, name), strict=strict) for name in spec.CLASSES}


def of(report: dict[str, Any]) -> dict[str, str | None]:
    """
    Each class and its verdict in a report on a provider; empty for a host, which has no classes.

    A report of a kit without classes is read by its rows, as that kit counted them. It has no
    classes if they do not make its verdict.
    """
    if report["side"] == "host":
        return {}
    if "classes" in report:
        return dict(report["classes"])
    judge = verdicts.former if _counts_every_open_row(report) else verdicts.verdict
    found = _judged(report["results"], judge, strict=bool(report.get("strict", False)))
    return found if found[spec.CLASSES[-1]] == report["verdict"] else {}


def _counts_every_open_row(report: dict[str, Any]) -> bool:
    """True if the report was made by a kit in which any open row made a run INCOMPLETE."""
    strict = bool(report.get("strict", False))
    due = verdicts.verdict(report["results"], strict=strict)
    return "classes" not in report and report["verdict"] != due


def held(report: dict[str, Any]) -> ConformanceClass | None:
    """The highest class that holds, with all before it; None for no class, and for a host."""
    found = of(report)
    highest: ConformanceClass | None = None
    for name in spec.CLASSES:
        if found.get(name) != Verdict.CONFORMANT:
            break
        highest = name
    return highest


def missing(report: dict[str, Any]) -> list[Missing]:
    """
    The obstacles before the next class, and the violations in the classes behind it.

    The first is that of the next class; it is empty if nothing that the class is judged by passed.
    """
    found = of(report)
    if not found:
        return []
    highest = held(report)
    start = 0 if highest is None else spec.CLASSES.index(highest) + 1
    still = [_missing(report, name) for name in spec.CLASSES[start:]]
    return [*still[:1], *(Missing(one.name, one.violated) for one in still[1:] if one.violated)]


def _missing(report: dict[str, Any], name: ConformanceClass) -> Missing:
    strict, counts_all = bool(report.get("strict", False)), _counts_every_open_row(report)
    mine = [row for row in report["results"] if verdicts.class_of(row) == name]
    red = [row for row in mine if verdicts.is_red(row, strict=strict)]
    waived = [row for row in mine if row["outcome"] == Outcome.WAIVED]
    unsettled = [
        row
        for row in mine
        if row["outcome"] in OPEN - {Outcome.WAIVED}
        and (counts_all or verdicts.keeps_open(row, strict=strict))
    ]
    return Missing(name, _ids(red), _ids(waived), _ids(unsettled))


def _ids(rows: list[Row]) -> tuple[str, ...]:
    return tuple(row["id"] for row in rows)
