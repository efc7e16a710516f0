"""Maps an exception of a check to the requirement that it violates: its own, or another one."""

import dataclasses
import traceback
from collections.abc import Callable
from typing import Any

from memproto import spec
from memproto.errors import InvalidSettings, Misconfigured, ProviderError
from memproto.testing import clauses, incidents, locate
from memproto.testing.evidence import KitFault, Late, Raised
from memproto.testing.instruments import watchers
from memproto.testing.needs import LATER, NO_REFUSAL, SET_UP, DependsOn, Need
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.provider.subject import HookLate, HookRaised
from memproto.testing.wire import describe, hidden, show

#: How a message names the load step.
_LOADING = "importing or building"


def judge(requirement: spec.Requirement, decide: Callable[[], None], run: Any) -> list[Result]:
    """
    Run a check and give its result, and a second one where another rule is violated instead.

    An exception that is none of the kit's own is an error of the kit, never the target's.
    """
    try:
        decide()
    except clauses.Violation as found:
        return _violated(requirement, found, run)
    except clauses.NotApplicable as found:
        return [Result(requirement.id, Outcome.NOT_APPLICABLE, reason=str(found))]
    except clauses.Behind as found:
        return _violated(requirement, found.violation, run)
    except clauses.Untestable as found:
        needs = _needs(found, run)
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=str(found), needs=needs)]
    except clauses.Inconclusive as found:
        return [Result(requirement.id, Outcome.INCONCLUSIVE, reason=str(found))]
    except (HookRaised, HookLate) as failure:
        return _met(requirement, failure, run)
    except InvalidSettings:
        raise
    except BaseException as error:
        return [_unexpected(requirement, error)]
    return [Result(requirement.id, Outcome.PASS)]


def _needs(found: clauses.Untestable, run: Any) -> tuple[Need, ...]:
    """The needs of an open result; the setting for freshness if a store may be fresh only later."""
    freshness = getattr(run, "freshness", None)
    is_told = any(not isinstance(need, DependsOn) for need in found.needs)
    if not isinstance(found, clauses.Lost) or is_told or freshness is None:
        return found.needs
    return found.needs if "settle" in freshness.functions else (*found.needs, *LATER)


def _unexpected(requirement: spec.Requirement, error: BaseException) -> Result:
    """
    The result of a check that raised outside of a hook.

    It is the provider's doing where the exception came through the author's code (what a hook
    returned raised when it was read, a signal handler raised), cannot be told where the provider
    changed what the kit works with, and an error of the kit else.
    """
    place = locate.raised(error)
    if place:
        expected = "plain values from the hooks, and no code of the provider between two of them"
        who = "outside of a hook its code"
        seen = Raised.by(error, shown=describe(error), wanted=expected, who=who)
        return Result(requirement.id, failing(requirement), seen, place)
    changed = watchers.replaced()
    if changed:
        shown = ", ".join(changed[:4])
        reason = f"the check met {describe(error)}, after the provider had changed {shown}"
        return Result(requirement.id, Outcome.UNTESTABLE, reason=reason)
    if isinstance(error, OSError):
        reason = f"the machine did not let the check work: {describe(error)}"
        return Result(requirement.id, Outcome.INCONCLUSIVE, reason=reason)
    if not isinstance(error, Exception):
        raise error
    text = "".join(traceback.format_exception(error))
    return Result(requirement.id, Outcome.KIT_ERROR, KitFault(text=hidden(text)[-1500:]))


def not_loaded(error: BaseException) -> Result:
    """The result of importing or building that raised or was late, under the rule on loading."""
    requirement = spec.requirement(incidents.LOAD)
    if isinstance(error, HookLate) and error.excuse:
        reason = f"importing and building took {error.took_s:.1f} s, and {error.excuse}"
        return Result(requirement.id, Outcome.INCONCLUSIVE, reason=reason)
    if isinstance(error, HookLate):
        expected = f"importing and building return within {error.budget_s:g} s"
        late = Late(
            wanted=expected,
            hook=_LOADING,
            took_s=error.took_s,
            budget_s=error.budget_s,
            several=True,
        )
        return Result(requirement.id, Outcome.FAIL, late)
    expected = "importing and building return to the caller"
    seen = Raised.by(error, shown=describe(error), wanted=expected, who=_LOADING)
    return Result(requirement.id, Outcome.FAIL, seen, locate.raised(error))


def _violated(requirement: spec.Requirement, found: clauses.Violation, run: Any) -> list[Result]:
    broken = spec.requirement(found.requirement or requirement.id)
    where = _where(run, found.operation or broken.operation)
    result = Result(broken.id, failing(broken), found.evidence, where)
    return _with_own(requirement, result)


def _met(requirement: spec.Requirement, failure: HookRaised | HookLate, run: Any) -> list[Result]:
    if isinstance(failure, HookLate) and failure.excuse:
        late = f"{_hook(run, failure.operation)} took {failure.took_s:.1f} s"
        reason = f"{late} of {failure.budget_s:g} s, and {failure.excuse}"
        return [Result(requirement.id, Outcome.INCONCLUSIVE, reason=reason)]
    if isinstance(failure, HookLate) and run.watch.deaths.get(failure.operation):
        hook = _hook(run, failure.operation)
        reason = f"{hook} was late before in this run, and was again"
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=reason)]
    if isinstance(failure, HookRaised) and isinstance(failure.error, ProviderError):
        hook = _hook(run, failure.operation)
        reason = f"{hook} reported {show(failure.error)}"
        needs = SET_UP if isinstance(failure.error, Misconfigured) else ()
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=reason, needs=needs)]
    if isinstance(failure, HookRaised) and _is_refusal(failure, run):
        said = f"{_hook(run, failure.operation)} refused the messages: {show(failure.error)}"
        how = f"how a checkpoint of the {run.binding.title} binding stops the compressor"
        reason = f"{said}, which is {how}"
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=reason, needs=NO_REFUSAL)]
    if incidents.makes_fail(requirement.id) and _is_for_another(failure):
        reason = f"while its backend failed, {failure}; see the chapter's rules on time"
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=reason)]
    if isinstance(failure, HookLate) and requirement.id == incidents.COUNTS:
        reason = f"{failure}, {incidents.why_not_late(requirement.id)}"
        return [Result(requirement.id, Outcome.UNTESTABLE, reason=reason)]
    return _with_own(requirement, _incident(failure, run, requirement.id))


def _is_refusal(failure: HookRaised, run: Any) -> bool:
    """True if a checkpoint, which has no errors to report by in its binding, keeps the messages."""
    return (
        run.binding.checkpoint_raises
        and failure.operation in ("compress", "compress_notes")
        and isinstance(failure.error, Exception)
        and "checkpoint" in run.declared("extensions", [])
    )


def _is_for_another(failure: HookRaised | HookLate) -> bool:
    """True if a rule of its own judges what happened while the backend failed."""
    return isinstance(failure, HookLate) or failure.operation == "open"


def _with_own(requirement: spec.Requirement, result: Result) -> list[Result]:
    """The result, and beside it the requirement's own where another one is violated."""
    if result.id == requirement.id:
        return [result]
    return depending(requirement.id, dataclasses.replace(result, seen_in=requirement.id))


def depending(requirement_id: str, result: Result) -> list[Result]:
    """The result, and before it the open one of a requirement that another rule stands before."""
    if result.id == requirement_id:
        return [result]
    is_red = result.outcome in (Outcome.FAIL, Outcome.WARN)
    state = "violated" if is_red else result.outcome.replace("_", " ")
    reason = f"depends on {result.id}, which is {state}: {result.observed or result.reason}"
    needs = (DependsOn(result.id, state), *result.needs)
    return [Result(requirement_id, Outcome.UNTESTABLE, reason=reason, needs=needs), result]


def _incident(failure: HookRaised | HookLate, run: Any, fallback: str) -> Result:
    operation = failure.operation
    hook = _hook(run, operation)
    if isinstance(failure, HookLate):
        broken = spec.requirement(incidents.LATE.get(operation, fallback))
        late = Late(hook=hook, took_s=failure.took_s, budget_s=failure.budget_s)
        return Result(broken.id, failing(broken), late, _where(run, operation))
    broken = spec.requirement(incidents.RAISED.get(operation, fallback))
    if operation == "compress" and _has_checkpoint(run):
        broken = spec.requirement(incidents.CHECKPOINT)
    if failure.ends_process:
        broken = spec.requirement(incidents.DIED)
    where = locate.raised(failure.error) or _where(run, operation)
    seen = Raised.by(failure.error, shown=describe(failure.error), hook=hook, who=hook)
    return Result(broken.id, failing(broken), seen, where)


def _has_checkpoint(run: Any) -> bool:
    """True if the rule of a checkpoint's own is about the provider."""
    is_about = spec.requirement(incidents.CHECKPOINT).applies_to(run.binding)
    return is_about and "checkpoint" in run.declared("extensions", [])


def failing(requirement: spec.Requirement) -> Outcome:
    """The outcome of a violation: only a MUST fails, and one that stands."""
    return Outcome.FAIL if requirement.is_demanded else Outcome.WARN


def _hook(run: Any, operation: str) -> str:
    hook: str = run.hook(operation)
    return hook


def _where(run: Any, operation: str) -> str:
    where: str = run.where(operation)
    return where
