"""
The requirements that kept reports have made ready to be stable, by the rule of governance.

A requirement may become stable if ten real targets were judged by it and no red line of it was
refuted. Reports say who was judged, and how. A ledger says what no report can: which targets are
not real, which are forks of one another, and which red lines were refuted.
"""

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from memproto import spec
from memproto.errors import KitUsageError
from memproto.report import reading, verifying
from memproto.report.view import one_line
from memproto.spec import Requirement
from memproto.testing.outcomes import Outcome

#: The number of real targets that have to be judged; see docs/governance.md.
NEEDED = 10

#: The outcomes that count as judged.
_DECIDED = frozenset({Outcome.PASS, Outcome.FAIL, Outcome.WARN, Outcome.WAIVED})
_RED = _DECIDED - {Outcome.PASS}

State = Literal["ready", "short", "refuted", "disputed", "settled"]

#: Title of each state, the one that asks for an act first.
TITLES: dict[State, str] = {
    "ready": "may become stable",
    "refuted": "have a refuted line that is not mended",
    "disputed": "are disputed",
    "short": f"were judged on fewer than {NEEDED} real targets",
    "settled": "are stable or deprecated already",
}

_FORM = 'own = ["TARGET", ...], [fork] FORK = "TARGET", [[refuted]] id, target, issue, mended'


@dataclasses.dataclass(frozen=True, slots=True)
class Refuted:
    """
    A red line that was shown to be wrong.

    Attributes:
        id: The requirement.
        target: The target whose line it was.
        issue: The address at which that was decided.
        mended: The version of the kit that mended the check or the rule; "" while none has.

    """

    id: str
    target: str
    issue: str
    mended: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Ledger:
    """
    All that no report says.

    Attributes:
        own: Targets of the authors of requirements, which are not real in the sense of the rule.
        fork: Fork to the target that it counts with.
        refuted: Red lines that were refuted.

    """

    own: frozenset[str] = frozenset()
    fork: Mapping[str, str] = dataclasses.field(default_factory=dict)
    refuted: tuple[Refuted, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """
    One requirement on its road to stable.

    Attributes:
        item: The requirement.
        state: Its state; see `TITLES`.
        judged: The real targets that were judged by it, forks as one.
        red: Those of them that violated it.
        reason: The obstacle, or "".

    """

    item: Requirement
    state: State
    judged: tuple[str, ...]
    red: tuple[str, ...]
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "id": self.item.id,
            "level": self.item.level,
            "state": self.state,
            "judged": list(self.judged),
            "red": list(self.red),
            "reason": self.reason,
        }


def read_ledger(path: Path) -> Ledger:
    """
    The ledger in a file of TOML.

    Raises:
        UnreadableReport: It cannot be read, or is no UTF-8.
        KitUsageError: It is no TOML, or no ledger.

    """
    try:
        data = tomllib.loads(reading.read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise KitUsageError(str(path), f"is no TOML: {error}", f"write {_FORM}") from None
    own, fork, refuted = data.get("own", []), data.get("fork", {}), data.get("refuted", [])
    is_form = (
        data.keys() <= {"own", "fork", "refuted"}
        and _are_texts(own)
        and isinstance(fork, dict)
        and _are_texts(fork.values())
        and isinstance(refuted, list)
        and all(_is_refuted(row) for row in refuted)
    )
    if not is_form:
        raise KitUsageError(str(path), "is no ledger of stability", f"write {_FORM}")
    found = tuple(Refuted(**row) for row in refuted)
    for row in found:
        spec.requirement(row.id)
    return Ledger(frozenset(own), fork, found)


def _are_texts(values: Any) -> bool:
    is_many = isinstance(values, Iterable) and not isinstance(values, str)
    return is_many and all(isinstance(value, str) for value in values)


def _is_refuted(row: Any) -> bool:
    keys = {"id", "target", "issue"}
    return (
        isinstance(row, dict)
        and keys <= row.keys() <= {*keys, "mended"}
        and _are_texts(row.values())
    )


def read_reports(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """
    The reports on single targets of several files.

    Raises:
        UnreadableReport: A file cannot be read as reports.
        KitUsageError: A report denies itself, as `memproto verify` would say.

    """
    found: list[dict[str, Any]] = []
    for path in paths:
        document = reading.read(path)
        if faults := verifying.faults(document):
            fix = f"memproto verify {path} says all; leave the file out, or judge again"
            raise KitUsageError(str(path), f"is no evidence: {one_line(faults[0])}", fix)
        found += document["reports"]
    return found


def standings(reports: Iterable[dict[str, Any]], ledger: Ledger) -> list[Standing]:
    """Each requirement on its road, in the order of the catalogue."""
    rows = [
        (report, row)
        for report in reports
        if not _is_own(report["target"], ledger)
        for row in report["results"]
        if row["outcome"] in _DECIDED
    ]
    by_id: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for report, row in rows:
        by_id.setdefault(row["id"], []).append((report, row))
    return [
        _standing(item, by_id.get(item.id, []), ledger) for item in spec.requirements().values()
    ]


def _is_own(target: str, ledger: Ledger) -> bool:
    """True if a target is one of the authors'; a name that ends in `*` stands for its beginning."""
    begins = tuple(name[:-1] for name in ledger.own if name.endswith("*"))
    return target in ledger.own or (bool(begins) and target.startswith(begins))


def _standing(
    item: Requirement,
    rows: list[tuple[dict[str, Any], dict[str, Any]]],
    ledger: Ledger,
) -> Standing:
    refuted = [row for row in ledger.refuted if row.id == item.id]
    # Reports of a kit that still had the fault count for nothing.
    since = max((_numbers(row.mended) for row in refuted if row.mended), default=())
    counted = [(report, row) for report, row in rows if _numbers(report["kit"]) >= since]
    judged = _named((report["target"] for report, _ in counted), ledger)
    red = _named((r["target"] for r, row in counted if row["outcome"] in _RED), ledger)
    open_ = [row for row in refuted if not row.mended]
    if item.status != "draft":
        return Standing(item, "settled", judged, red, f"it is {item.status}")
    if open_:
        return Standing(item, "refuted", judged, red, f"{open_[0].target}: {open_[0].issue}")
    if item.disputed:
        return Standing(item, "disputed", judged, red, item.disputed)
    if len(judged) < NEEDED:
        return Standing(item, "short", judged, red, f"{len(judged)} of {NEEDED}")
    return Standing(item, "ready", judged, red)


def _named(targets: Iterable[str], ledger: Ledger) -> tuple[str, ...]:
    """The targets, each once, and a fork by the name of the target that it counts with."""
    return tuple(dict.fromkeys(_origin(target, ledger.fork) for target in targets))


def _origin(target: str, fork: Mapping[str, str]) -> str:
    seen = set()
    while target in fork and target not in seen:
        seen.add(target)
        target = fork[target]
    return target


def _numbers(version: str) -> tuple[int, ...]:
    """A version of the kit as numbers: `0.10.1` comes after `0.9`."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


# -- as text ---------------------------------------------------------------------------------------


def as_text(found: list[Standing]) -> str:
    """The number of each state, and below it the requirements that ask for an act."""
    lines = []
    for state, title in TITLES.items():
        those = [one for one in found if one.state == state]
        lines.append(f"{len(those)} {title}")
        if state in ("ready", "refuted", "disputed"):
            lines += [f"  {_told(one)}" for one in those]
    near = sorted((one for one in found if one.state == "short"), key=lambda one: -len(one.judged))
    lines += [f"nearest: {_told(one)}" for one in near[:5] if one.judged]
    return "\n".join(lines)


def _told(one: Standing) -> str:
    said = f": {one_line(one.reason)}" if one.reason else ""
    return f"{one.item.id} ({one.item.level}, {len(one.judged)} judged, {len(one.red)} red){said}"


def as_markdown(found: list[Standing]) -> str:
    """A table of the states, and one of the requirements by the number of their targets."""
    lines = ["| state | requirements |", "| --- | --- |"]
    for state, title in TITLES.items():
        lines.append(f"| {title} | {sum(one.state == state for one in found)} |")
    lines += [
        "",
        "| requirement | level | judged | red | state |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.item.id} | {one.item.level} | {len(one.judged)} | {len(one.red)} | {one.state} |"
        for one in found
        if one.judged or one.state != "short"
    ]
    return "\n".join(lines)
