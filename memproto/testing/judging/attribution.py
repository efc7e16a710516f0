"""
One place says whose fault it is: an event goes in, results come out, by a table.

An event may happen in the check of any requirement. It is booked under the rule that forbids it, so
that the check it happened in stays open and the rule turns red wherever it is met.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from memproto import spec
from memproto.errors import InvalidSettings, ProviderError
from memproto.testing import incidents
from memproto.testing.judging import caught, events, statements
from memproto.testing.judging.events import Event
from memproto.testing.needs import DependsOn
from memproto.testing.outcomes import Outcome, Result

# -- conditions ------------------------------------------------------------------------------------


def always(_: Event) -> bool:
    """No condition."""
    return True


def is_excused(event: events.HookLate | events.LoadLate) -> bool:
    """True if the machine may have made it late."""
    return bool(event.excuse)


def was_late(event: events.HookLate) -> bool:
    """True if the hook was late before, so that it was waited for less."""
    return event.was_late


def is_unanswered(event: events.HookLate | events.HookHung) -> bool:
    """True if its rule binds while the backend answers, and the target tried one in vain."""
    return event.unanswered and event.operation in incidents.WHILE_ANSWERED


def is_reported(event: events.HookRaised) -> bool:
    """True for an error by which the protocol has a provider report."""
    return isinstance(event.error, ProviderError)


def is_refusal(event: events.HookRaised) -> bool:
    """True if a checkpoint, which has no errors to report by in its binding, keeps the messages."""
    return (
        event.has_checkpoint
        and event.binding.checkpoint_raises
        and event.operation in ("compress", "compress_notes")
        and isinstance(event.error, Exception)
    )


def in_checkpoint(event: events.HookRaised) -> bool:
    """True if the rule of a checkpoint's own is about the hook."""
    is_about = spec.requirement(incidents.CHECKPOINT).applies_to(event.binding)
    return event.operation == "compress" and is_about and event.has_checkpoint


def ends_process(event: events.HookRaised) -> bool:
    """True if a host without a guard would end by it."""
    return event.ends_process


def opens_while_failing(event: events.HookRaised) -> bool:
    """True if a session did not begin where the check made the backend fail: a rule's own check."""
    return incidents.makes_fail(event.check) and event.operation == "open"


def while_failing(event: Event) -> bool:
    """True if the check made the backend fail, for which the chapter has rules on time."""
    return incidents.makes_fail(event.check)


def while_counted(event: Event) -> bool:
    """True if the check counts memory, which slows every hook."""
    return event.check == incidents.COUNTS


def by_author(event: events.CheckRaised) -> bool:
    """True if the exception came through the author's code."""
    return bool(event.place)


def has_changed(event: events.CheckRaised | events.KitFailed) -> bool:
    """True if the provider changed what the kit works with, so that nothing can be told."""
    return bool(event.replaced)


def by_machine(event: events.CheckRaised) -> bool:
    """True for an error of the operating system."""
    return isinstance(event.error, OSError)


def is_loading(event: events.ProcessLost) -> bool:
    """True if there was no check yet."""
    return event.is_loading


def is_known(event: events.ProcessLost) -> bool:
    """True if the hook hung before, so that it was waited for less."""
    return event.is_known


def has_no_bound(event: events.HookHung) -> bool:
    """True if no rule bounds the hook where it hung."""
    return not incidents.books_late(event.check, event.operation)


def of_host(event: events.ProcessLost) -> bool:
    """True for hosts, which break what is asked of them: the rules on processes bind providers."""
    return event.side == "host"


def seen_by_host(event: Event) -> bool:
    """True if the check is one of hosts, for whom no rule forbids it."""
    return spec.requirement(event.check).side == "host"


def not_alone(event: events.FilesRewritten) -> bool:
    """True if another target of the run may have done it."""
    return not event.is_alone


# -- rules -----------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """
    The requirement that an event is booked under.

    Attributes:
        of: The requirement, or a function that gives it for the event.
        elsewhere: Those of providers that it may be, for an event that any check may meet.

    """

    of: str | Callable[[Any], str]
    elsewhere: frozenset[str] = frozenset()

    def booked(self, event: Event) -> str:
        """The requirement that an event is booked under."""
        return self.of if isinstance(self.of, str) else self.of(event)


def _of_check(event: Event) -> str:
    return event.check


def _named(event: events.RuleViolated) -> str:
    return event.rule


def _if_raised(event: events.HookRaised) -> str:
    return incidents.RAISED.get(event.operation, event.check)


def _if_late(event: events.HookLate | events.HookHung) -> str:
    return incidents.LATE.get(event.operation, event.check)


def _refused(event: events.LoadRefused) -> str:
    is_program = event.seen.deed == "program"
    return spec.role("load_starts_programs" if is_program else "load_connects")


def _rewritten(event: events.FilesRewritten) -> str:
    of_provider = event.side == "provider"
    return incidents.MEDDLED if of_provider else incidents.load_rule(event.side)


def _one(requirement_id: str) -> Rule:
    return Rule(requirement_id, frozenset({requirement_id}))


#: The requirement whose check met it.
OWN = Rule(_of_check)
#: The one that the check named: the catalogue says which may be named.
NAMED = Rule(_named)
#: The rule on loading, of the side.
LOADING = Rule(_of_check, frozenset({incidents.LOAD}))
#: The rule of the operation, or the check's own if it has none.
IF_RAISED = Rule(_if_raised, frozenset(incidents.RAISED.values()))
IF_LATE = Rule(_if_late, frozenset(incidents.LATE.values()))
CHECKPOINT, DIED = _one(incidents.CHECKPOINT), _one(incidents.DIED)
FROZE, GREW, MEDDLED = _one(incidents.FROZE), _one(incidents.GREW), _one(incidents.MEDDLED)
#: The rules on connections and on programs in the load step.
REFUSED = Rule(_refused)
#: The rule on changes of the kit; the first rule of hosts stands for it.
REWRITTEN = Rule(_rewritten)


# -- the table -------------------------------------------------------------------------------------


#: In the place of an outcome: FAIL for a MUST that stands, else WARN.
VIOLATED = "violated"

#: The check's own requirement, if another rule is booked: untestable, as it depends on that one;
#: or nothing, as it gets a result of its own.
DEPENDS, NOTHING = "depends", "nothing"


class Row(NamedTuple):
    """
    Of the rows for an event, the first whose condition holds says whose fault it is.

    Rows are tuples, which no code of a target's can change in place.

    Attributes:
        event: The type of the event; its subtypes are meant as well.
        when: The condition.
        rule: The requirement that is booked.
        outcome: Its outcome, or VIOLATED.
        own: DEPENDS or NOTHING.
        said: The rest of the result.

    """

    event: type[Event]
    when: Callable[[Any], bool]
    rule: Rule
    outcome: Outcome | str
    own: str
    said: Callable[[Any], statements.Statement]


_E, _S = events, statements
_PASS, _FAIL, _KIT_ERROR = Outcome.PASS, Outcome.FAIL, Outcome.KIT_ERROR
_UNTESTABLE, _INCONCLUSIVE = Outcome.UNTESTABLE, Outcome.INCONCLUSIVE
_NOT_SCORED, _NOT_APPLICABLE = Outcome.NOT_SCORED, Outcome.NOT_APPLICABLE

#: In each row: the event, the condition, the rule, its outcome, the check's own, what is said.
TABLE: tuple[Row, ...] = (
    # before a check
    Row(_E.NotInRelease, always, OWN, _NOT_SCORED, NOTHING, _S.nothing),
    Row(_E.Unchecked, always, OWN, _NOT_SCORED, NOTHING, _S.reason),
    Row(_E.OtherBinding, always, OWN, _NOT_APPLICABLE, NOTHING, _S.other_binding),
    Row(_E.GateClosed, always, OWN, _UNTESTABLE, NOTHING, _S.reason),
    Row(_E.LostTooOften, always, OWN, _UNTESTABLE, NOTHING, _S.lost_too_often),
    # the end of a check
    Row(_E.CheckReturned, always, OWN, _PASS, NOTHING, _S.nothing),
    Row(_E.RuleViolated, always, NAMED, VIOLATED, DEPENDS, _S.violation),
    Row(_E.NotConcerned, always, OWN, _NOT_APPLICABLE, NOTHING, _S.reason),
    Row(_E.NotExercised, always, OWN, _UNTESTABLE, NOTHING, _S.reason),
    Row(_E.NotMeasured, always, OWN, _INCONCLUSIVE, NOTHING, _S.reason),
    # a hook that raised in a check
    Row(_E.HookRaised, is_reported, OWN, _UNTESTABLE, NOTHING, _S.report),
    Row(_E.HookRaised, is_refusal, OWN, _UNTESTABLE, NOTHING, _S.refusal),
    Row(_E.HookRaised, opens_while_failing, OWN, _UNTESTABLE, NOTHING, _S.while_failing),
    Row(_E.HookRaised, ends_process, DIED, VIOLATED, DEPENDS, _S.raised),
    Row(_E.HookRaised, in_checkpoint, CHECKPOINT, VIOLATED, DEPENDS, _S.raised),
    Row(_E.HookRaised, always, IF_RAISED, VIOLATED, DEPENDS, _S.raised),
    # a hook that returned late in a check
    Row(_E.HookLate, is_excused, OWN, _INCONCLUSIVE, NOTHING, _S.excused),
    Row(_E.HookLate, was_late, OWN, _UNTESTABLE, NOTHING, _S.late_again),
    Row(_E.HookLate, while_failing, OWN, _UNTESTABLE, NOTHING, _S.while_failing),
    Row(_E.HookLate, while_counted, OWN, _UNTESTABLE, NOTHING, _S.while_counted),
    Row(_E.HookLate, is_unanswered, OWN, _UNTESTABLE, NOTHING, _S.unanswered),
    Row(_E.HookLate, always, IF_LATE, VIOLATED, DEPENDS, _S.late),
    # an exception outside of a hook
    Row(_E.CheckRaised, by_author, OWN, VIOLATED, NOTHING, _S.authors_code),
    Row(_E.CheckRaised, has_changed, OWN, _UNTESTABLE, NOTHING, _S.met_after_changes),
    Row(_E.CheckRaised, by_machine, OWN, _INCONCLUSIVE, NOTHING, _S.machine),
    Row(_E.CheckRaised, always, OWN, _KIT_ERROR, NOTHING, _S.unexpected),
    # the load step
    Row(_E.LoadRaised, always, LOADING, _FAIL, NOTHING, _S.load_raised),
    Row(_E.LoadLate, is_excused, LOADING, _INCONCLUSIVE, NOTHING, _S.load_excused),
    Row(_E.LoadLate, always, LOADING, _FAIL, NOTHING, _S.load_late),
    Row(_E.LoadRefused, always, REFUSED, _FAIL, NOTHING, _S.load_refused),
    Row(_E.LoadFailedAgain, always, LOADING, _FAIL, NOTHING, _S.load_failed_again),
    Row(_E.LoadOverdue, always, LOADING, _INCONCLUSIVE, NOTHING, _S.load_overdue),
    Row(_E.Forked, always, DIED, _FAIL, NOTHING, _S.forked),
    # a process that was lost
    Row(_E.ProcessLost, is_loading, LOADING, _FAIL, NOTHING, _S.fate),
    Row(_E.ProcessFroze, is_known, OWN, _UNTESTABLE, NOTHING, _S.hung_again),
    Row(_E.HookHung, is_known, OWN, _UNTESTABLE, NOTHING, _S.hung_again),
    Row(_E.HookHung, has_no_bound, OWN, _UNTESTABLE, NOTHING, _S.not_late),
    Row(_E.ProcessLost, of_host, OWN, _FAIL, NOTHING, _S.fate),
    Row(_E.ProcessDied, always, DIED, _FAIL, DEPENDS, _S.fate),
    Row(_E.ProcessFroze, always, FROZE, _FAIL, DEPENDS, _S.fate),
    Row(_E.ProcessGrew, always, GREW, _FAIL, DEPENDS, _S.fate),
    Row(_E.HookHung, while_failing, OWN, VIOLATED, NOTHING, _S.fate),
    Row(_E.HookHung, is_unanswered, OWN, _UNTESTABLE, NOTHING, _S.unanswered),
    Row(_E.HookHung, always, IF_LATE, _FAIL, DEPENDS, _S.fate),
    Row(_E.CheckOverdue, always, OWN, _INCONCLUSIVE, NOTHING, _S.overdue),
    # the kit itself
    Row(_E.KitChanged, seen_by_host, OWN, _FAIL, NOTHING, _S.changed),
    Row(_E.KitChanged, always, MEDDLED, _FAIL, DEPENDS, _S.changed),
    Row(_E.MessageForged, seen_by_host, OWN, _FAIL, NOTHING, _S.forged),
    Row(_E.MessageForged, always, MEDDLED, _FAIL, DEPENDS, _S.forged),
    Row(_E.FilesRewritten, not_alone, REWRITTEN, _KIT_ERROR, NOTHING, _S.rewritten_by_one),
    Row(_E.FilesRewritten, always, REWRITTEN, _FAIL, NOTHING, _S.rewritten),
    Row(_E.KitFailed, has_changed, OWN, _UNTESTABLE, NOTHING, _S.failed_after_changes),
    Row(_E.KitFailed, always, OWN, _KIT_ERROR, NOTHING, _S.kit_failed),
)


# -- by the table ----------------------------------------------------------------------------------


def row(event: Event) -> Row:
    """The row that says whose fault an event is."""
    return next(item for item in TABLE if isinstance(event, item.event) and item.when(event))


def attribute(event: Event) -> list[Result]:
    """
    The results of an event, that of the check's own requirement first.

    Of an event behind the end of its check there is that of the booked rule alone.
    """
    found = row(event)
    rule = found.rule.booked(event)
    outcome = _outcome(found, rule)
    seen_in = "" if rule == event.check else event.check
    result = Result(rule, outcome, seen_in=seen_in, **found.said(event))
    if found.own == NOTHING or getattr(event, "is_afterwards", False):
        return [result]
    return depending(event.check, result)


def _outcome(found: Row, rule: str) -> Outcome:
    return failing(spec.requirement(rule)) if found.outcome == VIOLATED else Outcome(found.outcome)


def failing(requirement: spec.Requirement) -> Outcome:
    """The outcome of a violation: only a MUST fails, and one that stands."""
    return Outcome.FAIL if requirement.is_demanded else Outcome.WARN


def depending(requirement_id: str, result: Result) -> list[Result]:
    """The result, and before it the open one of a requirement that another rule stands before."""
    if result.id == requirement_id:
        return [result]
    is_red = result.outcome in (Outcome.FAIL, Outcome.WARN)
    state = "violated" if is_red else result.outcome.replace("_", " ")
    reason = f"depends on {result.id}, which is {state}: {result.observed or result.reason}"
    needs = (DependsOn(result.id, state), *result.needs)
    return [Result(requirement_id, Outcome.UNTESTABLE, reason=reason, needs=needs), result]


@functools.cache
def found_elsewhere(side: spec.Side) -> frozenset[str]:
    """
    The rules of a side that the check of another requirement may find violated.

    Nothing is said of them before the last check has ended; of all others their own check decides.
    """
    named = {item.id for item in spec.select([], side) if item.found_elsewhere}
    return frozenset(named | _booked_elsewhere(side))


def _booked_elsewhere(side: spec.Side) -> set[str]:
    if side == "host":
        return {incidents.load_rule(side)}
    return {rule for item in TABLE for rule in item.rule.elsewhere}


def judge(requirement: spec.Requirement, decide: Callable[[], None], run: Any) -> list[Result]:
    """
    Run a check and give its result, and a second one where another rule is violated instead.

    Raises:
        InvalidSettings: A function of the user's did not do what its setting asks for.

    """
    try:
        decide()
    except InvalidSettings:
        raise
    except BaseException as error:
        return attribute(caught.event(requirement, error, run))
    return attribute(events.CheckReturned(check=requirement.id))
