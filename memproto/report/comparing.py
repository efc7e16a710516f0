"""Changes from one report to a later one, requirement by requirement."""

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

from memproto.report import classes, verdicts
from memproto.report.view import one_line
from memproto.spec import ConformanceClass
from memproto.testing.outcomes import Outcome

Kind = Literal["red", "disappeared", "green", "appeared", "changed"]

#: Title of each kind, the one that matters most first.
TITLES: dict[Kind, str] = {
    "red": "turned red",
    "disappeared": "disappeared",
    "green": "turned green",
    "appeared": "appeared",
    "changed": "changed otherwise",
}


@dataclasses.dataclass(frozen=True)
class Change:
    """
    One requirement of one target that is not as it was.

    Attributes:
        before: Its outcome in the old report, or "" where it was not there.
        after: Its outcome in the new one, or "".
        row: The result that tells of it: the new one, where there is one.
        is_red: True if the new one alone makes the verdict red, or takes it away.

    """

    kind: Kind
    target: str
    id: str
    before: str
    after: str
    row: dict[str, Any]
    is_red: bool


@dataclasses.dataclass(frozen=True)
class Comparison:
    """
    All that changed.

    Attributes:
        changes: Ordered by target and catalogue.
        verdicts: Target to its verdict before and after; None for a target that is not there.
        classes: Target to the highest class that it held before and after, if it is another one;
            None for no class. Hosts, and runs that were narrowed, have none.

    """

    changes: list[Change]
    verdicts: dict[str, tuple[str | None, str | None]]
    classes: dict[str, tuple[ConformanceClass | None, ConformanceClass | None]] = dataclasses.field(
        default_factory=dict
    )

    @property
    def is_worse(self) -> bool:
        """True if something turned red, appeared red or disappeared."""
        return any(
            change.kind == "disappeared" or (change.is_red and change.kind in ("red", "appeared"))
            for change in self.changes
        )

    def of(self, kind: Kind) -> list[Change]:
        """The changes of one kind."""
        return [change for change in self.changes if change.kind == kind]


def compare(old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """The changes; targets are the same by side and name, and by their order if it repeats."""
    before, after = _named(old), _named(new)
    names = list(dict.fromkeys([*after, *before]))
    changes = [
        change for name in names for change in _changes(name, before.get(name), after.get(name))
    ]
    verdicts = {name: (_verdict(before.get(name)), _verdict(after.get(name))) for name in names}
    return Comparison(changes, verdicts, _moved(before, after))


def _moved(
    before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]
) -> dict[str, tuple[ConformanceClass | None, ConformanceClass | None]]:
    """The classes of the targets that hold another one than before."""
    both = [name for name in after if name in before]
    whole = [name for name in both if not _is_narrow(before[name]) and not _is_narrow(after[name])]
    held = {name: (classes.held(before[name]), classes.held(after[name])) for name in whole}
    return {name: (old, new) for name, (old, new) in held.items() if old != new}


def _is_narrow(report: dict[str, Any]) -> bool:
    """True if a report says nothing of classes: of a host, or of a part of the requirements."""
    return report["side"] == "host" or bool(report["selected"])


def _verdict(report: dict[str, Any] | None) -> str | None:
    return None if report is None else report["verdict"] or "KIT ERROR"


def _named(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for report in document["reports"]:
        name = f"{report['side']} {report['target']}"
        same = sum(known == name or known.startswith(f"{name} #") for known in found)
        found[f"{name} #{same + 1}" if same else name] = report
    return found


def _changes(
    target: str, old: dict[str, Any] | None, new: dict[str, Any] | None
) -> Iterator[Change]:
    before = {row["id"]: row for row in old["results"]} if old else {}
    after = {row["id"]: row for row in new["results"]} if new else {}
    for key in dict.fromkeys([*after, *before]):
        one, other = before.get(key), after.get(key)
        is_red = _is_red(new, other)
        kind = _kind(one, other, is_red_before=_is_red(old, one), is_red_after=is_red)
        if kind is not None:
            row = other or one or {}
            yield Change(kind, target, key, _outcome(one), _outcome(other), row, is_red)


def _outcome(row: dict[str, Any] | None) -> str:
    return "" if row is None else str(row["outcome"])


def _kind(
    old: dict[str, Any] | None,
    new: dict[str, Any] | None,
    *,
    is_red_before: bool,
    is_red_after: bool,
) -> Kind | None:
    if old is None:
        return "appeared"
    if new is None:
        return "disappeared"
    if is_red_after and not is_red_before:
        return "red"
    if is_red_before and new["outcome"] == Outcome.PASS:
        return "green"
    return None if old["outcome"] == new["outcome"] else "changed"


def _is_red(report: dict[str, Any] | None, row: dict[str, Any] | None) -> bool:
    """True if the result alone makes the verdict red, or takes it away."""
    if report is None or row is None:
        return False
    strict = bool(report.get("strict"))
    return bool(row["outcome"] == Outcome.KIT_ERROR) or verdicts.is_red(row, strict=strict)


def as_text(found: Comparison) -> str:
    """The changes for a terminal."""
    lines = [f"{one_line(name)}: {_both(*verdicts)}" for name, verdicts in found.verdicts.items()]
    lines += class_lines(found)
    for kind, title in TITLES.items():
        changes = found.of(kind)
        lines += [f"{title}: {len(changes)}"] if changes else []
        lines += [_line(change) for change in changes]
    is_same = not found.changes and not found.classes
    return "\n".join([*lines, "nothing changed"] if is_same else lines)


def class_lines(found: Comparison) -> list[str]:
    """One line for each target that holds another class than before."""
    return [
        f"{one_line(name)}: class {old or 'none'} -> {new or 'none'}"
        for name, (old, new) in found.classes.items()
    ]


def _line(change: Change) -> str:
    head = f"  {change.id} ({one_line(change.target)}): {change.before or 'absent'} -> "
    observed = change.row["observed"] if change.kind == "red" else None
    said = one_line(" ".join(str(observed).split())) if observed else ""
    return f"{head}{change.after or 'absent'}" + (f": {said}" if said else "")


def _both(before: str | None, after: str | None) -> str:
    if before == after:
        return str(after)
    return f"{before or 'absent'} -> {after or 'absent'}"
