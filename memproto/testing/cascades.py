"""
The rule that stands before another one: one fault is told once, and the others wait or follow.

A check names the rules that its result rests on (`needs.DependsOn`). A run alone knows which of
them is violated. An open result behind one of those waits for it and for nothing else: settings
that could help if the rule held are no advice while it does not. A violation may be the consequence
of another one as well: it stays a violation, and is told below its root.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from memproto import spec
from memproto.testing import evidence, needs
from memproto.testing.evidence import NotRecalled, Raised
from memproto.testing.needs import DependsOn, Need, Setting
from memproto.testing.outcomes import OPEN, Outcome, Result

#: The state of a rule before which nothing else can be decided.
VIOLATED = "violated"

#: Outcomes of a rule that does not hold; a waiver hides no fault from what rests on it.
_RED = frozenset({Outcome.FAIL, Outcome.WARN, Outcome.WAIVED})

#: Outcomes that may wait for another rule: a rule that did not run waits for a run.
_WAITING = frozenset({Outcome.UNTESTABLE, Outcome.INCONCLUSIVE})

#: Number of the parts of an exception that was swallowed: itself, and two lines.
_SWALLOWED = 3

#: A setting that helps only if a rule on which the result rests is not known to hold.
_TIMED = "settle"

_Rests = Mapping[str, tuple[Outcome, tuple[Need, ...]]]


def resolved(results: Mapping[str, Result]) -> dict[str, Result]:
    """
    The results of a run, each open one with the rule that it waits for, if one is violated.

    The other needs of such a result are left out. If a rule on which a result rests holds, the
    store is fresh in time, and a setting that waits for it is left out; if nothing else is needed
    then, a bound of the store is in the way.
    """
    rests = {key: (item.outcome, item.needs) for key, item in results.items()}
    roots = consequences(results)
    found = {key: _resolved(item, rests) for key, item in results.items()}
    return {
        key: dataclasses.replace(item, follows=roots[key]) if key in roots else item
        for key, item in found.items()
    }


def resolved_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same for the rows of a report, whose reasons stay as they are."""
    found = list(rows)
    rests = {row["id"]: (Outcome(row["outcome"]), needs.of_row(row)) for row in found}
    known = {row["id"]: _of_row(row) for row in found if "follows" in row}
    roots = consequences(known)
    return [
        {
            **row,
            **({"needs": _rows_of(_needs(row["id"], rests))} if "needs" in row else {}),
            **({"follows": roots.get(row["id"])} if row["id"] in known else {}),
        }
        for row in found
    ]


def _rows_of(wanted: tuple[Need, ...]) -> list[dict[str, str]]:
    return [need.as_dict() for need in wanted]


def _of_row(row: dict[str, Any]) -> Result:
    """As much of a result as says whether it follows from another one."""
    seen = row.get("evidence")
    return Result(
        row["id"],
        Outcome(row["outcome"]),
        None if seen is None else evidence.from_dict(seen),
        row["where"] or "",
        rests_on=tuple(row.get("rests_on") or ()),
        swallowed=tuple(row.get("swallowed") or ()),
        silenced=bool(row.get("silenced")),
    )


def behind(rows: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """Each rule that others wait for, with the ids of those; the one with most is the first."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["outcome"] in OPEN and (root := needs.behind(needs.of_row(row))):
            found.setdefault(root, []).append(row["id"])
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _resolved(result: Result, rests: _Rests) -> Result:
    wanted = _needs(result.id, rests)
    if wanted == result.needs:
        return result
    root, before = needs.behind(wanted), needs.behind(result.needs)
    said = f"waits for {root}, which is {VIOLATED}" if root and root != before else ""
    reason = "; ".join(filter(None, (result.reason, said)))
    return dataclasses.replace(result, needs=wanted, reason=reason)


def _needs(requirement: str, rests: _Rests) -> tuple[Need, ...]:
    """The needs of a result as all results of the run make them."""
    outcome, wanted = rests[requirement]
    if outcome not in _WAITING:
        return wanted
    if root := _root(requirement, rests, set()):
        return (DependsOn(root, VIOLATED),)
    is_fresh = any(_outcome(need, rests) is Outcome.PASS for need in wanted)
    left = tuple(need for need in wanted if not _is_idle(need, rests, is_fresh=is_fresh))
    # A text is lost that waits for nothing, and plain ones come back: the store has a bound.
    is_bounded = is_fresh and not left and any(_is_timed(need) for need in wanted)
    return needs.MORE if is_bounded else left


def _is_idle(need: Need, rests: _Rests, *, is_fresh: bool) -> bool:
    """True for a rule that holds or concerns nobody, and for a setting that waits for nothing."""
    if isinstance(need, Setting):
        return is_fresh and _is_timed(need)
    return _outcome(need, rests) in (Outcome.PASS, Outcome.NOT_APPLICABLE)


def _is_timed(need: Need) -> bool:
    """True for a setting that helps only if the store is fresh later."""
    return isinstance(need, Setting) and need.name == _TIMED and bool(need.where)


def _outcome(need: Need, rests: _Rests) -> Outcome | None:
    """The outcome of the rule that a need names; None if it names none, or none of the run."""
    if isinstance(need, DependsOn) and need.requirement in rests:
        return rests[need.requirement][0]
    return None


def _root(requirement: str, rests: _Rests, seen: set[str]) -> str:
    """The violated rule behind which an open one is, over any number of others; "" for none."""
    seen.add(requirement)
    named = [need for need in rests[requirement][1] if isinstance(need, DependsOn)]
    # A rule by which the check ended is a surer cause than one on which it rests.
    for need in sorted(named, key=lambda item: not item.state):
        outcome = _outcome(need, rests)
        if outcome in _RED:
            return need.requirement
        is_new = outcome in _WAITING and need.requirement not in seen
        if is_new and (root := _root(need.requirement, rests, seen)):
            return root
    return ""


# -- violations that follow from another one -------------------------------------------------------


def consequences(results: Mapping[str, Result]) -> dict[str, str]:
    """
    Each violated rule that is a consequence of another violated one, and that one: the root.

    Four kinds of evidence tell so: a text is missed, and a rule by which it should have come back
    is violated; the catalogue says that the other rule entails it, which a broken provider shows;
    the same line raised the same exception; or texts are missed, and the exception of that line was
    swallowed. A warning is no cause of a failure.
    """
    red = {key: item for key, item in results.items() if item.outcome in _RED}
    calls: dict[tuple[str, ...], str] = {}
    cause: dict[str, str] = {}
    for key in sorted(red, key=_place):
        item = red[key]
        entailing = [name for name in red if key in spec.requirement(name).entails]
        same = calls.setdefault(call, key) if (call := _call(item)) else key
        for name in (*(name for name in item.rests_on if name in red), *entailing, same):
            # Of two that name each other, the one that comes first is the root.
            if _cause(name, cause) != key and _may_cause(red[name], item):
                cause[key] = name
                break
    return {key: _cause(key, cause) for key in cause}


def _place(requirement: str) -> tuple[bool, int]:
    """Gates first, and then the order of the catalogue."""
    known = spec.requirement(requirement)
    return not known.gate, _order()[requirement]


@functools.cache
def _order() -> dict[str, int]:
    return {key: number for number, key in enumerate(spec.requirements())}


def _call(item: Result) -> tuple[str, ...] | None:
    """
    The exception of a failure and the line that raised it, swallowed or not.

    None if no exception is known, or not its line. One that nobody was told of may have nothing to
    do with the failure, and joins it to no other.
    """
    seen = item.evidence
    is_told = len(item.swallowed) == _SWALLOWED and not item.silenced
    if is_told and isinstance(seen, NotRecalled):
        return item.swallowed[:2]
    if not isinstance(seen, Raised) or not (place := seen.place or item.where):
        return None
    return (seen.shown, place)


def _may_cause(root: Result, item: Result) -> bool:
    return root.outcome is not Outcome.WARN or item.outcome is Outcome.WARN


def _cause(key: str, cause: Mapping[str, str]) -> str:
    """The root behind a violation, over any number of others; the violation itself for none."""
    while key in cause:
        key = cause[key]
    return key
