"""From an exception of a check, or of the load step, to the event that it stands for."""

import itertools
from typing import Any

from memproto import spec
from memproto.testing import clauses, incidents, locate
from memproto.testing.evidence import NotRecalled
from memproto.testing.instruments import watchers
from memproto.testing.judging import events
from memproto.testing.needs import LATER, DependsOn, Need, depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.subject import HookLate, HookRaised


def event(requirement: spec.Requirement, error: BaseException, run: Any) -> events.Event:
    """
    The event of an exception that ended the check of a requirement.

    An exception that ends the interpreter, and is neither a hook's nor the author's, comes through.
    """
    check = requirement.id
    match error:
        case clauses.Violation():
            return _violated(requirement, error, run)
        case clauses.Behind():
            return _violated(requirement, error.violation, run)
        case clauses.NotApplicable():
            return events.NotConcerned(check=check, reason=str(error))
        case clauses.Untestable():
            return events.NotExercised(
                check=check, reason=str(error), needs=_needs(check, error, run)
            )
        case clauses.Inconclusive():
            return events.NotMeasured(check=check, reason=str(error))
        case HookRaised():
            return _raised(requirement, error, run)
        case HookLate():
            return _late(requirement, error, run)
    place = locate.raised(error)
    replaced = () if place else tuple(watchers.replaced())
    if not (place or replaced or isinstance(error, Exception)):
        raise error
    return events.CheckRaised(check=check, error=error, place=place, replaced=replaced)


def of_loading(error: BaseException) -> events.Event:
    """The event of importing or building that raised or was late."""
    if isinstance(error, HookLate):
        return events.LoadLate(
            check=incidents.LOAD,
            took_s=error.took_s,
            budget_s=error.budget_s,
            excuse=error.excuse,
        )
    return events.LoadRaised(check=incidents.LOAD, error=error, place=locate.raised(error))


def _violated(
    requirement: spec.Requirement, found: clauses.Violation, run: Any
) -> events.RuleViolated:
    broken = spec.requirement(found.requirement or requirement.id)
    return events.RuleViolated(
        check=requirement.id,
        rule=broken.id,
        evidence=found.evidence,
        where=getattr(found.evidence, "place", "")
        or run.where(found.operation or broken.operation),
        rests_on=_rests_on(broken.id, found, run),
    )


def _rests_on(broken: str, found: clauses.Violation, run: Any) -> tuple[str, ...]:
    """The rules by which a missed text should have come back; none for other evidence."""
    operation = found.operation or spec.requirement(broken).operation
    of_hook = (name for name, stores in routes.OPERATIONS.items() if stores == operation)
    route = getattr(run, "route", "") or next(of_hook, "")
    if not route or not isinstance(found.evidence, NotRecalled):
        return ()
    rules = routes.RULES[route]
    # Of the rules of a route each rests on those before it.
    return rules[: rules.index(broken)] if broken in rules else rules


def _needs(check: str, found: clauses.Untestable, run: Any) -> tuple[Need, ...]:
    """
    The needs of an open result; of a lost fact, the rules by which it should have come back too.

    The report leaves the setting for a store that is fresh only later out where one of them holds.
    """
    freshness = getattr(run, "freshness", None)
    is_told = any(not isinstance(need, DependsOn) for need in found.needs)
    if not isinstance(found, clauses.Lost) or is_told or freshness is None:
        return found.needs
    rules = _rules(run.route) if run.route or not found.needs else ()
    others = depends_on(*(rule for rule in rules if rule != check))
    rests = tuple(dict.fromkeys((*found.needs, *others)))
    return rests if "settle" in freshness.functions else (*rests, *LATER)


def _rules(route: str) -> tuple[str, ...]:
    """The rules by which a text that is stored by a route comes back; by every one for ""."""
    return routes.RULES[route] if route else tuple(itertools.chain(*routes.RULES.values()))


def _raised(requirement: spec.Requirement, failure: HookRaised, run: Any) -> events.HookRaised:
    operation = failure.operation
    may_be_checkpoint = operation in ("compress", "compress_notes")
    return events.HookRaised(
        check=requirement.id,
        operation=operation,
        hook=run.hook(operation),
        where=run.where(operation),
        error=failure.error,
        text=str(failure),
        binding=run.binding,
        has_checkpoint=may_be_checkpoint and "checkpoint" in run.declared("extensions", []),
        ends_process=failure.ends_process,
        number=failure.number,
    )


def _late(requirement: spec.Requirement, failure: HookLate, run: Any) -> events.HookLate:
    operation = failure.operation
    return events.HookLate(
        check=requirement.id,
        operation=operation,
        hook=run.hook(operation),
        where=run.where(operation),
        text=str(failure),
        took_s=failure.took_s,
        budget_s=failure.budget_s,
        excuse=failure.excuse,
        was_late=bool(run.watch.deaths.get(operation)),
        unanswered=failure.unanswered,
        given=failure.given,
        given_chars=failure.given_chars,
    )
