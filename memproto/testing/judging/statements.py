"""The part of a result that tells of an event: evidence and place, or a reason and needs."""

import dataclasses
import traceback
from typing import Any

from memproto.errors import Misconfigured
from memproto.testing import incidents, locate, spread, wording
from memproto.testing.evidence import Acted, Differs, KitFault, Late, Meddled, Raised
from memproto.testing.judging import events
from memproto.testing.needs import LESS_TO_DO, NO_REFUSAL, SET_UP, Backend
from memproto.testing.wire import describe, hidden, show

#: Fields of a result.
Statement = dict[str, Any]

#: How a message names the load step.
_LOADING = "importing or building"

_MOST_NAMES, _MOST_TEXT = 4, 1500


def nothing(_: events.Event) -> Statement:
    """A pass, and what the release lacks, say enough by their outcome."""
    return {}


def reason(event: Any) -> Statement:
    """The reason that the event carries, with its needs if it has any."""
    return {"reason": event.reason, "needs": getattr(event, "needs", ())}


def other_binding(event: events.OtherBinding) -> Statement:
    """The binding that the requirement is about, beside the target's."""
    return {"reason": f"speaks about {event.wanted} providers; this one is {event.binding}"}


def lost_too_often(_: events.LostTooOften) -> Statement:
    """That no process is started any more."""
    why = "the process was lost between two hooks too often, and is not started any more"
    return {"reason": why}


def violation(event: events.RuleViolated) -> Statement:
    """The evidence of a check."""
    return {"evidence": event.evidence, "where": event.where, "rests_on": event.rests_on}


# -- hooks -----------------------------------------------------------------------------------------


def report(event: events.HookRaised) -> Statement:
    """The refusal or failure that a provider reported."""
    needs = SET_UP if isinstance(event.error, Misconfigured) else NO_REFUSAL
    return {"reason": f"{event.hook} reported {show(event.error)}", "needs": needs}


def refusal(event: events.HookRaised) -> Statement:
    """A checkpoint that kept the messages by an exception."""
    said = f"{event.hook} refused the messages: {show(event.error)}"
    how = f"how a checkpoint of the {event.binding.title} binding stops the compressor"
    return {"reason": f"{said}, which is {how}", "needs": NO_REFUSAL}


def while_failing(event: events.HookRaised | events.HookLate) -> Statement:
    """A fault of a hook whose backend the check made fail."""
    return {"reason": f"while its backend failed, {event.text}; see the chapter's rules on time"}


def unanswered(event: events.HookLate | events.HookHung) -> Statement:
    """A hook that was late where no backend answered, and whose rule binds while one does."""
    if isinstance(event, events.HookHung):
        text = wording.observed(event.seen)
    else:
        text = f"{event.hook} took {event.took_s:.1f} s of {event.budget_s:g} s"
    why = f"{incidents.LATE[event.operation]} binds while the backend answers, and none did"
    return {"reason": f"{text}; {why}", "needs": (Backend(),)}


def while_counted(event: events.HookLate) -> Statement:
    """A hook that was late where the kit slows it."""
    return {"reason": f"{event.text}, {incidents.why_not_late(event.check)}"}


def raised(event: events.HookRaised) -> Statement:
    """The exception of a hook, at the author's line if it has one."""
    where = locate.raised(event.error) or event.where
    seen = Raised.by(
        event.error,
        shown=describe(event.error),
        hook=event.hook,
        who=event.hook,
        number=event.number,
    )
    return {"evidence": seen, "where": where}


def excused(event: events.HookLate) -> Statement:
    """A hook that the machine may have made late."""
    late = f"{event.hook} took {event.took_s:.1f} s of {event.budget_s:g} s"
    return {"reason": f"{late}, and {event.excuse}", "needs": LESS_TO_DO}


def late_again(event: events.HookLate) -> Statement:
    """A hook that was late, and is called once more with less patience."""
    return {"reason": f"{event.hook} was late before in this run, and was again"}


def late(event: events.HookLate) -> Statement:
    """The time that a hook took."""
    seen = Late(
        hook=event.hook,
        took_s=event.took_s,
        budget_s=event.budget_s,
        given=event.given,
        given_chars=event.given_chars,
    )
    return {"evidence": seen, "where": event.where}


# -- exceptions outside of hooks -------------------------------------------------------------------


def authors_code(event: events.CheckRaised) -> Statement:
    """The exception of the author's code between two hooks."""
    expected = "plain values from the hooks, and no code of the provider between two of them"
    who = "outside of a hook its code"
    seen = Raised.by(event.error, shown=describe(event.error), wanted=expected, who=who)
    return {"evidence": seen, "where": event.place}


def met_after_changes(event: events.CheckRaised) -> Statement:
    """An exception that may come of the provider's changes."""
    shown = ", ".join(event.replaced[:_MOST_NAMES])
    met = f"the check met {describe(event.error)}"
    return {"reason": f"{met}, after the provider had changed {shown}"}


def machine(event: events.CheckRaised) -> Statement:
    """An error of the operating system."""
    return {"reason": f"the machine did not let the check work: {describe(event.error)}"}


def unexpected(event: events.CheckRaised) -> Statement:
    """The traceback of an error of the kit."""
    text = "".join(traceback.format_exception(event.error))
    return {"evidence": KitFault(text=hidden(text)[-_MOST_TEXT:])}


# -- loading ---------------------------------------------------------------------------------------


def load_excused(event: events.LoadLate) -> Statement:
    """A load step that the machine may have made late."""
    reason = f"importing and building took {event.took_s:.1f} s, and {event.excuse}"
    return {"reason": reason, "needs": LESS_TO_DO}


def load_late(event: events.LoadLate) -> Statement:
    """The time that the load step took."""
    seen = Late(
        wanted=f"importing and building return within {event.budget_s:g} s",
        hook=_LOADING,
        took_s=event.took_s,
        budget_s=event.budget_s,
        several=True,
    )
    return {"evidence": seen}


def load_raised(event: events.LoadRaised) -> Statement:
    """The exception of the load step."""
    expected = "importing and building return to the caller"
    seen = Raised.by(event.error, shown=describe(event.error), wanted=expected, who=_LOADING)
    return {"evidence": seen, "where": event.place}


def load_refused(event: events.LoadRefused) -> Statement:
    """The connection or program that was refused."""
    return {"evidence": event.seen}


def load_failed_again(event: events.LoadFailedAgain) -> Statement:
    """The fault of a target that had loaded before."""
    observed = f"it was loaded before in this run, and then {event.fault}"
    return {"evidence": Differs(wanted="the target loads each time", seen=observed)}


def load_overdue(event: events.LoadOverdue) -> Statement:
    """The time that a process took without coming to the target."""
    reason = f"a process had not come to the target after {event.took_s:.0f} s"
    return {"reason": reason, "needs": LESS_TO_DO}


def forked(_: events.Forked) -> Statement:
    """The copy that was made."""
    seen = ("importing or building forked the process",)
    return {"evidence": Acted(wanted="no copy of the process", deed="copy", seen=seen)}


# -- fates of a process ----------------------------------------------------------------------------


def fate(event: Any) -> Statement:
    """The end of a process, with the frames and the call in it."""
    seen = dataclasses.replace(event.seen, at=event.stack)
    return {
        "evidence": seen.told(tail=event.tail) if event.tail else seen,
        "where": event.stack[0] if event.stack else event.hook,
        "stack": "\n".join(event.stack),
        "duration_s": event.took_s,
        "after": event.after,
        **_tally(event),
    }


def _tally(event: events.ProcessLost) -> Statement:
    """The call that did not return: the child that counted its calls is gone."""
    if not (isinstance(event, events.HookHung | events.ProcessFroze) and event.operation):
        return {}
    times: spread.Spread = {}
    spread.count(times, event.took_s)
    took_s = event.took_s
    return {
        "hooks": {event.operation: [1, took_s, took_s]},
        "times": {event.operation: times},
    }


def hung_again(event: events.ProcessLost) -> Statement:
    """A hook that hung, and was called once more with less patience."""
    return {"reason": f"{event.hook} hung before in this run, and did again"}


def not_late(event: events.HookHung) -> Statement:
    """A hook that did not return where no rule bounds it."""
    why = incidents.why_not_late(event.check)
    return {"reason": f"{wording.observed(event.seen)}, {why}"}


def overdue(event: events.CheckOverdue) -> Statement:
    """The time that a check took."""
    why = f"no hook was late, and the check had not ended after {event.took_s:.0f} s"
    return {"reason": why, "needs": LESS_TO_DO}


# -- the kit itself --------------------------------------------------------------------------------


def changed(event: events.KitChanged) -> Statement:
    """The names that the target changed."""
    return {"evidence": Meddled(names=event.names)}


def forged(_: events.MessageForged) -> Statement:
    """A message that the kit did not write."""
    return {"evidence": Meddled(names=())}


def rewritten(event: events.FilesRewritten) -> Statement:
    """The files that became others."""
    return {"evidence": Meddled(names=event.names, written=True)}


def rewritten_by_one(event: events.FilesRewritten) -> Statement:
    """The files that one of several targets rewrote."""
    seen = Meddled(names=event.names, written=True)
    tail = "; judge each target in a run of its own"
    return {"evidence": seen.told(lead="the kit's own files were ", tail=tail)}


def failed_after_changes(event: events.KitFailed) -> Statement:
    """A failure of the kit that may come of the provider's changes."""
    shown = ", ".join(event.replaced[:_MOST_NAMES])
    last = event.text[-_MOST_TEXT:].splitlines()[-1]
    return {"reason": f"the provider changed {shown}: {last}"}


def kit_failed(event: events.KitFailed) -> Statement:
    """The end of the kit's own traceback."""
    return {"evidence": KitFault(text=event.text[-_MOST_TEXT:])}
