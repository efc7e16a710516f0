"""From what became of a command to results, in the words that an author reads."""

import dataclasses
from typing import Any

from memproto import spec
from memproto.bindings import NATIVE, Binding
from memproto.testing import incidents, spread, wording
from memproto.testing.evidence import (
    Acted,
    Died,
    Froze,
    Grew,
    KitFault,
    Late,
    Meddled,
)
from memproto.testing.incidents import MEDDLED
from memproto.testing.judging.attribution import failing
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes.answer import Answer


def results(answer: Answer, requirement_id: str) -> list[Result]:
    """The results that a child answered for one requirement, or why there are none."""
    if answer.fate == "overdue":
        reason = f"no hook was late, and the check had not ended after {answer.took_s:.0f} s"
        return [Result(requirement_id, Outcome.INCONCLUSIVE, reason=reason)]
    try:
        return with_frames([Result.from_dict(item) for item in answer.data["results"]], answer)
    except (KeyError, TypeError, ValueError):
        return [_no_result(answer, requirement_id)]


def with_frames(found: list[Result], answer: Answer) -> list[Result]:
    """The results, a freeze that a check has measured with the thread that computed in it."""
    if not answer.still:
        return found
    return [
        _with_frames(item, answer.still) if item.id == incidents.FROZE else item for item in found
    ]


def _with_frames(result: Result, still: tuple[str, ...]) -> Result:
    if result.outcome is not Outcome.FAIL:
        return result
    seen = result.evidence
    if isinstance(seen, Froze):
        seen = dataclasses.replace(seen, computing=still)
    return dataclasses.replace(result, evidence=seen, where=still[0], stack="\n".join(still))


def _no_result(answer: Answer, requirement_id: str) -> Result:
    text = str(answer.data.get("kit_error", f"the child answered {answer.data}"))[-1500:]
    replaced = answer.data.get("replaced")
    if replaced:
        reason = f"the provider changed {', '.join(replaced[:4])}: {text.splitlines()[-1]}"
        return Result(requirement_id, Outcome.UNTESTABLE, reason=reason)
    return Result(requirement_id, Outcome.KIT_ERROR, KitFault(text=text))


def meddling(answer: Answer, seen_in: str) -> Result | None:
    """The violation of a target that changed the kit, or wrote in its name; None for none."""
    changed = answer.data.get("changed_kit") or ()
    if not (changed or answer.data.get("forged")):
        return None
    broken = MEDDLED if spec.requirement(seen_in).side == "provider" else seen_in
    met_in = "" if seen_in == broken else seen_in
    return Result(broken, Outcome.FAIL, Meddled(names=tuple(changed)), seen_in=met_in)


def rewriting(changed: list[str], side: spec.Side, *, is_alone: bool) -> Result:
    """The result of a run in which installed files of the kit became others."""
    rule_id = MEDDLED if side == "provider" else incidents.load_rule(side)
    seen = Meddled(names=tuple(changed), written=True)
    if is_alone:
        return Result(rule_id, Outcome.FAIL, seen)
    tail = "; judge each target in a run of its own"
    told = dataclasses.replace(seen, lead="the kit's own files were ", tail=tail)
    return Result(rule_id, Outcome.KIT_ERROR, told)


def rule(answer: Answer, fallback: str) -> str:
    """The requirement that forbids what happened to a child."""
    if answer.fate == "died":
        return incidents.DIED
    if answer.fate == "froze":
        return incidents.FROZE
    if answer.fate == "grew":
        return incidents.GREW
    if incidents.makes_fail(fallback):
        return fallback
    return incidents.LATE.get(answer.operation, fallback)


def finding(answer: Answer, binding: Binding | None, broken: str, seen_in: str) -> Result:
    """A child's fate, as the violation of the rule `broken`."""
    hook = hook_of(answer.operation, binding)
    return Result(
        broken,
        _outcome(answer, broken),
        dataclasses.replace(evidence(answer, binding), at=answer.stack),
        answer.stack[0] if answer.stack else hook,
        seen_in="" if seen_in == broken else seen_in,
        stack="\n".join(answer.stack),
        duration_s=answer.took_s,
        **_tally(answer),
    )


def _tally(answer: Answer) -> dict[str, Any]:
    """The call that did not return: the child that counted its calls is gone."""
    if answer.fate not in ("late", "froze") or not answer.operation:
        return {}
    times: spread.Spread = {}
    spread.count(times, answer.took_s)
    took_s = answer.took_s
    return {
        "hooks": {answer.operation: [1, took_s, took_s]},
        "times": {answer.operation: times},
    }


def _outcome(answer: Answer, broken: str) -> Outcome:
    """A hook that is late where it should not be is warned of; all else that happens fails."""
    if answer.fate == "late" and incidents.makes_fail(broken):
        return failing(spec.requirement(broken))
    return Outcome.FAIL


def forked() -> Result:
    """A target that forked while it was imported or built."""
    seen = Acted(
        wanted="no copy of the process",
        deed="copy",
        seen=("importing or building forked the process",),
    )
    return Result(incidents.DIED, Outcome.FAIL, seen, seen_in=incidents.LOAD)


def described(answer: Answer, binding: Binding | None) -> str:
    """The fate of a child, in one line."""
    return wording.observed(evidence(answer, binding))


def evidence(answer: Answer, binding: Binding | None) -> Died | Froze | Grew | Late:
    """The fate of a child as evidence."""
    hook, took_s = hook_of(answer.operation, binding), answer.took_s
    if answer.fate == "died":
        return Died(hook=hook, ending=answer.ending)
    if answer.fate == "froze":
        return Froze(hook=hook, held_s=took_s, given=answer.given, ended=True)
    if answer.fate == "grew":
        return Grew(hook=hook, held=answer.ending)
    return Late(hook=hook, took_s=took_s, budget_s=answer.budget_s, state="ended")


def hook_of(operation: str, binding: Binding | None) -> str:
    """The hook of an operation in the author's binding; "" for none."""
    if operation in ("", "load"):
        return "the load step" if operation else ""
    return (binding or NATIVE).hook(operation)
