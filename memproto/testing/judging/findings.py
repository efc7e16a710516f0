"""From what became of a command to results, in the words that an author reads."""

import dataclasses
from typing import Any

from memproto import spec
from memproto.bindings import NATIVE, Binding
from memproto.testing import incidents, spread
from memproto.testing.incidents import MEDDLED
from memproto.testing.judging.attribution import failing
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes.answer import Answer

#: A message on the wire of a kit child that the kit did not write.
_FORGED = "it wrote a message of its own on the descriptor by which its host reports"


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
    observed = f"{result.observed}; it computed at {'; '.join(still[:4])}"
    return dataclasses.replace(result, observed=observed, where=still[0], stack="\n".join(still))


def _no_result(answer: Answer, requirement_id: str) -> Result:
    text = str(answer.data.get("kit_error", f"the child answered {answer.data}"))[-1500:]
    replaced = answer.data.get("replaced")
    if replaced:
        reason = f"the provider changed {', '.join(replaced[:4])}: {text.splitlines()[-1]}"
        return Result(requirement_id, Outcome.UNTESTABLE, reason=reason)
    return Result(requirement_id, Outcome.KIT_ERROR, observed=text)


def meddling(answer: Answer, seen_in: str) -> Result | None:
    """The violation of a target that changed the kit, or wrote in its name; None for none."""
    changed = answer.data.get("changed_kit") or ()
    if not (changed or answer.data.get("forged")):
        return None
    broken = MEDDLED if spec.requirement(seen_in).side == "provider" else seen_in
    expected = "the code of the host, and what it reports, as they were before the load"
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    observed = f"replaced: {', '.join(changed[:3])}{more}" if changed else _FORGED
    met_in = "" if seen_in == broken else seen_in
    return Result(broken, Outcome.FAIL, expected, observed, seen_in=met_in)


def rewriting(changed: list[str], side: spec.Side, *, is_alone: bool) -> Result:
    """The result of a run in which installed files of the kit became others."""
    rule_id = MEDDLED if side == "provider" else incidents.load_rule(side)
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    observed = f"written during the run: {', '.join(changed[:3])}{more}"
    if is_alone:
        expected = "the installed files of the host as they were before the load"
        return Result(rule_id, Outcome.FAIL, expected, observed)
    observed = f"the kit's own files were {observed}; judge each target in a run of its own"
    return Result(rule_id, Outcome.KIT_ERROR, observed=observed)


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
    """What happened to a child, as the violation of the rule `broken`."""
    hook = hook_of(answer.operation, binding)
    stack = "; ".join(answer.stack[:4])
    return Result(
        broken,
        _outcome(answer, broken),
        _expected(answer, hook),
        described(answer, binding) + (f"; stopped at {stack}" if stack else ""),
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
    observed = "importing or building forked the process"
    return Result(
        incidents.DIED,
        Outcome.FAIL,
        "no copy of the process",
        observed,
        seen_in=incidents.LOAD,
    )


def _expected(answer: Answer, hook: str) -> str:
    if answer.fate == "died":
        return "the process goes on"
    if answer.fate == "grew":
        return "no more memory than the kit allows a process"
    if answer.fate == "froze":
        return "the other threads of the process go on running"
    return f"{hook or 'it'} returns within {answer.budget_s:g} s"


def described(answer: Answer, binding: Binding | None) -> str:
    """What happened to a child, in one line."""
    hook = hook_of(answer.operation, binding)
    if answer.fate == "died":
        during = f"during {hook}" if hook else "between two hooks"
        return f"the process ended {during} ({answer.ending})"
    if answer.fate == "froze":
        held = f"{hook} held the interpreter" if hook else "no thread ran between two hooks"
        given = f", with {answer.given}" if answer.given else ""
        return f"{held} for {answer.took_s:.1f} s{given}, and the process was ended"
    if answer.fate == "grew":
        during = f"during {hook}" if hook else "between two hooks"
        return f"the process held {answer.ending} {during}, and was ended"
    return f"{hook or 'it'} had not returned after {answer.took_s:.1f} s and was ended"


def hook_of(operation: str, binding: Binding | None) -> str:
    """The hook of an operation in the author's binding; "" for none."""
    if operation in ("", "load"):
        return "the load step" if operation else ""
    return (binding or NATIVE).hook(operation)
