"""
The rule that stands before an open one: one fault is told once, and the others wait for it.

A check names the rules that its result rests on (`needs.DependsOn`). A run alone knows which of
them is violated. An open result behind one of those waits for it and for nothing else: settings
that could help if the rule held are no advice while it does not.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from memproto.testing import needs
from memproto.testing.needs import DependsOn, Need, Setting
from memproto.testing.outcomes import OPEN, Outcome, Result

#: The state of a rule before which nothing else can be decided.
VIOLATED = "violated"

#: Outcomes of a rule that does not hold; a waiver hides no fault from what rests on it.
_RED = frozenset({Outcome.FAIL, Outcome.WARN, Outcome.WAIVED})

#: Outcomes that may wait for another rule: a rule that did not run waits for a run.
_WAITING = frozenset({Outcome.UNTESTABLE, Outcome.INCONCLUSIVE})

#: A setting that helps only if a rule on which the result rests is not known to hold.
_TIMED = "settle"

_Rests = Mapping[str, tuple[Outcome, tuple[Need, ...]]]


def resolved(results: Mapping[str, Result]) -> dict[str, Result]:
    """
    The results of a run, each open one with the rule that it waits for, if one is violated.

    The other needs of such a result are left out. If a rule on which a result rests holds, the
    store is fresh in time, and a setting that waits for it is left out.
    """
    rests = {key: (item.outcome, item.needs) for key, item in results.items()}
    return {key: _resolved(item, rests) for key, item in results.items()}


def resolved_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same for the rows of a report, whose reasons stay as they are."""
    found = list(rows)
    rests = {row["id"]: (Outcome(row["outcome"]), needs.of_row(row)) for row in found}
    return [
        {**row, "needs": [need.as_dict() for need in _needs(row["id"], rests)]}
        if "needs" in row
        else row
        for row in found
    ]


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
    return tuple(need for need in wanted if not _is_idle(need, rests, is_fresh=is_fresh))


def _is_idle(need: Need, rests: _Rests, *, is_fresh: bool) -> bool:
    """True for a rule that holds or concerns nobody, and for a setting that waits for nothing."""
    if isinstance(need, Setting):
        return is_fresh and need.name == _TIMED and bool(need.where)
    return _outcome(need, rests) in (Outcome.PASS, Outcome.NOT_APPLICABLE)


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
