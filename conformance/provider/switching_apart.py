"""Chapter 64: which session it is that is served, before and after a switch."""

from memproto.testing import routes, switches, tenants
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import Subject
from memproto.testing.tenants import Reader, Tenant
from memproto.testing.wire import show

#: Fewer than most batches hold, and more than one.
_TURNS = 2

Pair = tuple[Tenant, Tenant]


def _two_sessions(run: Run, mark: str) -> Pair:
    """Two sessions that the provider keeps apart where each has an instance of its own."""
    switches.needs_switches(run)
    route = run.needs_route(*routes.ROUTES)
    if not tenants.keeps(run, "session", tenants.pair(run, "session", f"-{mark}-plain"), route):
        raise NotApplicable("sessions are not kept apart: in which one a text is, cannot be seen")
    one, other = tenants.pair(run, "session", f"-{mark}")
    return one, other


def _routes_apart(run: Run, mark: str) -> list[str]:
    """The routes that are served; one that was not declared is seen to keep sessions apart."""
    known, served = run.needs_route(*routes.ROUTES), filter(run.serves, routes.ROUTES)
    return [r for r in served if run.binding == "native" or r == known or _is_apart(run, mark, r)]


def _is_apart(run: Run, mark: str, route: str) -> bool:
    """In the Hermes binding what a tool or a mirrored write stores may be for all sessions."""
    return tenants.are_apart(run, tenants.pair(run, "session", f"-{mark}-{route}"), route)


def _is_in(run: Run, tenant: Tenant, fact: Fact) -> bool:
    return not Reader(run).lacks(tenant, [fact])


# -- what came before ------------------------------------------------------------------------------


@check("MP-SESS-008", budget_s=240.0)
def what_came_before_stays_in_the_old_session(run: Run) -> None:
    one, other = _two_sessions(run, "before")
    for route in _routes_apart(run, "before"):
        facts = run.facts.several(_TURNS)
        with one.opened(run) as subject:
            for fact in facts:
                run.plant(subject, fact, route)
            switches.go(run, subject, one, other)
        _are_not_in(run, other, facts, f"{run.hook(routes.OPERATIONS[route])} of")
    if not run.lacks("end"):
        _nor_what_the_end_told(run)


def _are_not_in(run: Run, other: Tenant, facts: list[Fact], by: str) -> None:
    for fact in facts:
        if _is_in(run, other, fact):
            run.violated(
                f"nothing in {other.called} of what was accepted before the switch to it",
                f"{fact.text!r}, which {by} the session before held, is recalled there",
            )


def _nor_what_the_end_told(run: Run) -> None:
    """An extraction from the transcript is the one that is still at work when the switch comes."""
    one, other = tenants.pair(run, "session", "-ended")
    facts = run.facts.several(_TURNS)
    with one.opened(run) as subject:
        routes.tolerant(lambda: subject.end(switches.transcript(facts)))
        switches.go(run, subject, one, other)
    _are_not_in(run, other, facts, f"the messages of {run.hook('end')} of")


# -- what comes after ------------------------------------------------------------------------------


@check("MP-SESS-009", budget_s=240.0)
def what_comes_after_is_in_the_new_session(run: Run) -> None:
    one, other = _two_sessions(run, "after")
    for route in _routes_apart(run, "after"):
        fact = run.facts.new()
        with one.opened(run) as subject:
            switches.go(run, subject, one, other)
            run.plant(subject, fact, route)
        by = f"{fact.text!r}, accepted by {run.hook(routes.OPERATIONS[route])} after a switch"
        if not _is_in(run, other, fact):
            place = f"and is in {one.called}" if _is_in(run, one, fact) else "nor in the old one"
            run.violated(f"{by}, in {other.called}", f"it does not come back there, {place}")
        if _is_in(run, one, fact):
            run.violated(f"{by}, in {other.called} only", f"it is recalled in {one.called} too")


@check("MP-SESS-010", budget_s=120.0)
def recall_follows_the_switch(run: Run) -> None:
    one, other = _two_sessions(run, "recall")
    route = run.needs_route(*routes.ROUTES)
    known = dict(zip((one.session, other.session), run.facts.several(2), strict=True))
    for tenant in (one, other):
        tenants.store(run, tenant, [known[tenant.session]], route)
    with one.opened(run) as subject:
        _shows(run, subject, known, one, other)
        switches.go(run, subject, one, other, switches.RESUMED)
        _shows(run, subject, known, other, one)
        switches.go(run, subject, other, one, switches.RESUMED)
        _shows(run, subject, known, one, other)


def _shows(
    run: Run, subject: Subject, known: dict[str, Fact], current: Tenant, left: Tenant
) -> None:
    """See that recall brings what is known in the current session, and nothing of the one left."""
    own, foreign = known[current.session], known[left.session]
    reader = Reader(run)
    if not reader.sees(subject, own):
        if not _is_in(run, current, own):
            raise Untestable(f"{own.text!r} does not come back in {current.called} by itself")
        run.violated(
            f"{own.text!r} recalled in {current.called}, which the instance is in",
            f"{own.query!r} brings {show(routes.recalled(subject, own.query))}",
            operation="recall",
        )
    if reader.finds(subject, foreign):
        run.violated(
            f"nothing of {left.called} recalled after the switch to {current.called}",
            f"{foreign.query!r} brings {foreign.text!r}, which is stored there",
            operation="recall",
        )
