"""From what became of a command to a child to the event that it stands for, or its own results."""

import contextlib
import dataclasses

from memproto import spec
from memproto.bindings import NATIVE, Binding
from memproto.testing import incidents, wording
from memproto.testing.evidence import Died, Froze, Grew, Late
from memproto.testing.judging import events
from memproto.testing.judging.attribution import attribute
from memproto.testing.messages import CommandFailed, Judged
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes.answer import Answer

#: The event of each fate but those of a process that lives on.
_LOST: dict[str, type[events.ProcessLost]] = {
    "died": events.ProcessDied,
    "froze": events.ProcessFroze,
    "grew": events.ProcessGrew,
    "late": events.HookHung,
}


def lost(
    answer: Answer,
    check: str,
    binding: Binding | None,
    side: spec.Side = "provider",
    *,
    is_known: bool = False,
) -> events.ProcessLost:
    """The event of a process that was lost in a check."""
    found = _LOST[answer.fate](
        check=check,
        side=side,
        operation=answer.operation,
        hook=hook_of(answer.operation, binding),
        took_s=answer.took_s,
        stack=answer.stack,
        is_known=is_known,
        seen=evidence(answer, binding),
    )
    if isinstance(found, events.HookHung):
        return dataclasses.replace(found, unanswered=answer.unanswered)
    return found


def lost_afterwards(
    answer: Answer,
    check: str,
    binding: Binding | None,
    side: spec.Side,
    *,
    tail: str,
    after: tuple[str, ...] = (),
) -> events.ProcessLost:
    """The event of a process that was lost behind the end of a check, by what that had left."""
    found = lost(answer, check, binding, side)
    return dataclasses.replace(found, is_afterwards=True, tail=tail, after=after)


def not_loaded(answer: Answer, binding: Binding | None, side: spec.Side) -> events.Event:
    """The event of a process that was lost, or let go of, before the target was loaded."""
    rule = incidents.load_rule(side)
    if answer.fate == "overdue":
        return events.LoadOverdue(check=rule, took_s=answer.took_s)
    loading = dataclasses.replace(answer, operation="load")
    return dataclasses.replace(lost(loading, rule, binding, side), is_loading=True)


def meddling(answer: Answer, check: str) -> events.Event | None:
    """The event of a target that changed the kit, or wrote in its name; None for none."""
    if answer.changed_kit:
        return events.KitChanged(check=check, names=answer.changed_kit)
    return events.MessageForged(check=check) if answer.forged else None


def results(answer: Answer, check: str) -> list[Result]:
    """The results that a child answered for one requirement, or those of its having none."""
    if answer.fate == "overdue":
        return attribute(events.CheckOverdue(check=check, took_s=answer.took_s))
    reply = answer.reply
    if isinstance(reply, CommandFailed):
        failed = events.KitFailed(check=check, text=reply.text, replaced=reply.replaced)
        return attribute(failed)
    if isinstance(reply, Judged):
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return _with_frames([Result.from_dict(item) for item in reply.results], answer)
    return attribute(events.KitFailed(check=check, text=f"the child answered {reply}"))


def _with_frames(found: list[Result], answer: Answer) -> list[Result]:
    """The results, a freeze that a check has measured with the thread that computed in it."""
    if not answer.still:
        return found
    return [
        _frozen_at(item, answer.still) if item.id == incidents.FROZE else item for item in found
    ]


def _frozen_at(result: Result, still: tuple[str, ...]) -> Result:
    if result.outcome is not Outcome.FAIL:
        return result
    seen = result.evidence
    if isinstance(seen, Froze):
        seen = dataclasses.replace(seen, computing=still)
    return dataclasses.replace(result, evidence=seen, where=still[0], stack="\n".join(still))


def described(answer: Answer, binding: Binding | None) -> str:
    """The fate of a child, in one line."""
    return wording.observed(evidence(answer, binding))


def evidence(answer: Answer, binding: Binding | None) -> Died | Froze | Grew | Late:
    """The fate of a child."""
    hook, took_s = hook_of(answer.operation, binding), answer.took_s
    if answer.fate == "died":
        return Died(hook=hook, ending=answer.ending, number=answer.number)
    if answer.fate == "froze":
        return Froze(
            hook=hook,
            held_s=took_s,
            given=answer.given,
            given_chars=answer.chars,
            ended=True,
            number=answer.number,
        )
    if answer.fate == "grew":
        return Grew(hook=hook, held=answer.ending)
    return Late(
        hook=hook,
        took_s=took_s,
        budget_s=answer.budget_s,
        state="ended",
        number=answer.number,
        given=answer.given,
        given_chars=answer.chars,
    )


def hook_of(operation: str, binding: Binding | None) -> str:
    """The hook of an operation in the author's binding; "" for none."""
    if operation in ("", "load"):
        return "the load step" if operation else ""
    return (binding or NATIVE).hook(operation)
