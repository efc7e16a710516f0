"""Chapter 66: what a subagent was asked, and what it answered."""

import dataclasses
import functools
from typing import Any

from memproto.testing.clauses import Lost, NotApplicable, check
from memproto.testing.evidence import NotRecalled, Recalled
from memproto.testing.facts import Fact
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.scenarios import switches, tenants, texts
from memproto.testing.scenarios.tenants import Boundary, Reader, Tenant

_TASK = "Find out which berths are free."

#: Keywords that no release has: a later one may.
_LATER: dict[str, Any] = {"x_child_role": "researcher", "x_took_s": 4.5}


@check("MP-DELEG-001", budget_s=240.0, extension="delegation", grows=True)
def a_delegation_takes_any_text(run: Run) -> None:
    odd = texts.odd(run, texts.LONG)
    with run.session() as subject:
        told = functools.partial(_each_way, subject, f"{run.session_key()}-child")
        found = texts.raised_for(run, odd, told)
    wanted = f"{run.hook('delegation')} takes every str, or raises an error of memproto.errors"
    texts.none_raises(run, found, "delegation", wanted, of=len(odd))
    # Stored texts must not stand in the way of the next session.
    with run.session() as again:
        again.recall("Which berths are free?")


def _each_way(subject: Subject, child: str, text: str) -> None:
    """The text as the result, as the task, and as the id of the child's session."""
    subject.delegated(_TASK, text, child_session_id=child, **_LATER)
    subject.delegated(text, "Berth 4.")
    subject.delegated(_TASK, "Berth 4.", child_session_id=text)


@check("MP-DELEG-002", extension="delegation", routes=routes.ROUTES)
def a_delegation_leaves_the_session(run: Run) -> None:
    route = run.route
    session = run.session_key()
    before, after = run.facts.several(2)
    with run.session(session=session) as subject:
        run.plant(subject, before, route)
        _tell(subject, "Berths 4 and 7 are free.", f"{session}-child")
        run.plant(subject, after, route)
    for fact, when in ((before, "before"), (after, "after")):
        if not losses.is_stored(run, fact):
            _is_kept_without(run, route)
            run.violated(
                NotRecalled(
                    wanted=(
                        f"text that was stored {when} {run.hook('delegation')}, recalled after a "
                        "new start"
                    ),
                    texts=(fact.text,),
                ),
            )


def _is_kept_without(run: Run, route: str) -> None:
    """See that the loss has to do with the delegation."""
    with run.session() as subject:
        facts = run.facts.several(2)
        for fact in facts:
            run.plant(subject, fact, route)
    if losses.lost(run, facts):
        raise Lost("two stored facts do not come back without a delegation either")


def _tell(subject: Subject, result: str, child: str) -> None:
    routes.tolerant(lambda: subject.delegated(_TASK, result, child_session_id=child))


# -- whose it is -----------------------------------------------------------------------------------


@check("MP-DELEG-003", budget_s=120.0, extension="delegation")
def a_result_stays_with_its_owner(run: Run) -> None:
    seen = [_stays(run, boundary) for boundary in tenants.boundaries(run)]
    if not any(seen):
        raise NotApplicable("no result of a delegation is recalled, or nobody is kept apart")


def _stays(run: Run, boundary: Boundary) -> bool:
    """True if the first of two recalls its result; the other one is not to."""
    owner, guest = tenants.pair(run, boundary)
    mine, other = run.facts.several(2)
    try:
        for tenant, fact in ((owner, mine), (guest, other)):
            with tenant.opened(run) as subject:
                _tell(subject, fact.text, f"{tenant.session}-child")
    except tenants.Refused:
        return False
    reader = Reader(run)
    is_recalled = not reader.lacks(owner, [mine])
    if is_recalled:
        _knows_nothing(run, reader, guest, owner, mine)
    if boundary == "session":
        _stays_with_the_parent(run, reader)
    return is_recalled


def _stays_with_the_parent(run: Run, reader: Reader) -> None:
    """A result is the parent's, and that of the session in which it came."""
    owner, guest = tenants.pair(run, "session", "-delegating")
    child = dataclasses.replace(guest, session=f"{owner.session}-child")
    fact, later = run.facts.several(2)
    is_switched = not switches.IS_SWITCHED.unmet(run)
    with owner.opened(run) as subject:
        _tell(subject, fact.text, child.session)
        if is_switched:
            switches.go(run, subject, owner, guest)
            _tell(subject, later.text, child.session)
    for other in (guest, child):
        _knows_nothing(run, reader, other, owner, fact)
    if is_switched:
        _knows_nothing(run, reader, owner, guest, later)


def _knows_nothing(run: Run, reader: Reader, guest: Tenant, owner: Tenant, fact: Fact) -> None:
    with guest.opened(run) as subject:
        if reader.finds(subject, fact):
            run.violated(
                Recalled(
                    wanted=(
                        f"nothing for {guest.called} of what a delegation brought {owner.called}"
                    ),
                    texts=(fact.text,),
                    by=run.hook("recall"),
                    of_whom=owner.called,
                    to_whom=guest.called,
                    lead="recall gives ",
                ),
                operation="recall",
            )
