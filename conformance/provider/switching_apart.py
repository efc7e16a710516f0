"""Chapter 64: which session it is that is served, before and after a switch."""

from memproto.testing import entries, routes, switches, tenants
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import Subject
from memproto.testing.tenants import Reader, Tenant
from memproto.testing.wire import show

#: Fewer than most batches hold, and more than one.
_TURNS = 2

_UNSEEN = "sessions are not kept apart: in which one a text is, cannot be seen"


class _Sight:
    """How it is seen in which session a text is: by recall."""

    shown = "recalled"

    def __init__(self, run: Run) -> None:
        self._run = run

    def tells_apart(self, mark: str, route: str) -> bool:
        """Whether two sessions, each with an instance of its own, are told apart."""
        pair = tenants.pair(self._run, "session", f"-{mark}-plain")
        return tenants.keeps(self._run, "session", pair, route)

    def is_apart(self, mark: str, route: str) -> bool:
        """Whether they are by one more route, which may store for all sessions."""
        pair = tenants.pair(self._run, "session", f"-{mark}-{route}")
        return tenants.are_apart(self._run, pair, route)

    def has(self, tenant: Tenant, fact: Fact) -> bool:
        """Whether the fact is in the session."""
        return not Reader(self._run).lacks(tenant, [fact])


class _Exported(_Sight):
    """By the export of a session, for a provider whose recall knows none."""

    shown = "exported"

    def tells_apart(self, mark: str, route: str) -> bool:
        """As above; a scope that is refused tells nothing."""
        pair = tenants.pair(self._run, "session", f"-{mark}-exported")
        facts = self._run.facts.several(2)
        for tenant, fact in zip(pair, facts, strict=True):
            tenants.store(self._run, tenant, [fact], route)
        return [self.has(t, f) for t in pair for f in facts] == [True, False, False, True]

    def is_apart(self, mark: str, route: str) -> bool:
        """As above."""
        return self.tells_apart(f"{mark}-{route}", route)

    def has(self, tenant: Tenant, fact: Fact) -> bool:
        """As above; recall is asked first, which waits until the fact is to be seen at all."""
        with tenant.opened(self._run) as subject:
            Reader(self._run).sees(subject, fact)
            found = entries.exported(subject, {"session_id": tenant.session})
        return bool(entries.of_fact(found or [], fact))


def _sight(run: Run, mark: str) -> _Sight:
    """
    How it is seen where a text is, as two plain sessions show.

    Raises:
        NotApplicable: Nobody switches the instance, or it cannot be seen.

    """
    switches.needs_switches(run)
    route = run.needs_route(*routes.ROUTES)
    ways = [_Sight(run)] + ([_Exported(run)] if entries.served(run, "privacy") else [])
    seen = next((way for way in ways if way.tells_apart(mark, route)), None)
    if seen is None:
        raise NotApplicable(_UNSEEN)
    return seen


def _routes_apart(run: Run, mark: str, sight: _Sight) -> list[str]:
    """The routes that are served; where none are declared to keep sessions apart, those seen to."""
    known, served = run.needs_route(*routes.ROUTES), filter(run.serves, routes.ROUTES)
    if run.binding.can_declare and "session" in run.declared("isolates", []):
        return list(served)
    return [route for route in served if route == known or sight.is_apart(mark, route)]


# -- what came before ------------------------------------------------------------------------------


@check("MP-SESS-008", budget_s=240.0)
def what_came_before_stays_in_the_old_session(run: Run) -> None:
    sight, (one, other) = _sight(run, "before"), tenants.pair(run, "session", "-before")
    for route in _routes_apart(run, "before", sight):
        facts = run.facts.several(_TURNS)
        with one.opened(run) as subject:
            for fact in facts:
                run.plant(subject, fact, route)
            switches.go(run, subject, one, other)
        _are_not_in(run, sight, other, facts, f"{run.hook(routes.OPERATIONS[route])} of")
    if not run.lacks("end"):
        _nor_what_the_end_told(run, sight)


def _are_not_in(run: Run, sight: _Sight, other: Tenant, facts: list[Fact], by: str) -> None:
    for fact in facts:
        if sight.has(other, fact):
            run.violated(
                f"nothing in {other.called} of what was accepted before the switch to it",
                f"{fact.text!r}, which {by} the session before held, is {sight.shown} there",
            )


def _nor_what_the_end_told(run: Run, sight: _Sight) -> None:
    """An extraction from the transcript is the one that is still at work when the switch comes."""
    one, other = tenants.pair(run, "session", "-ended")
    facts = run.facts.several(_TURNS)
    with one.opened(run) as subject:
        routes.tolerant(lambda: subject.end(switches.transcript(facts)))
        switches.go(run, subject, one, other)
    _are_not_in(run, sight, other, facts, f"the messages of {run.hook('end')} of")


# -- what comes after ------------------------------------------------------------------------------


@check("MP-SESS-009", budget_s=240.0)
def what_comes_after_is_in_the_new_session(run: Run) -> None:
    sight, (one, other) = _sight(run, "after"), tenants.pair(run, "session", "-after")
    for route in _routes_apart(run, "after", sight):
        fact = run.facts.new()
        with one.opened(run) as subject:
            switches.go(run, subject, one, other)
            run.plant(subject, fact, route)
        by = f"{fact.text!r}, accepted by {run.hook(routes.OPERATIONS[route])} after a switch"
        if not sight.has(other, fact):
            place = f"and is in {one.called}" if sight.has(one, fact) else "nor in the old one"
            run.violated(f"{by}, in {other.called}", f"it is not {sight.shown} there, {place}")
        if sight.has(one, fact):
            observed = f"it is {sight.shown} in {one.called} too"
            run.violated(f"{by}, in {other.called} only", observed)


@check("MP-SESS-010", budget_s=120.0)
def recall_follows_the_switch(run: Run) -> None:
    switches.needs_switches(run)
    route = run.needs_route(*routes.ROUTES)
    if not _Sight(run).tells_apart("recall", route):
        raise NotApplicable("sessions are not kept apart: recall is the same in each")
    one, other = tenants.pair(run, "session", "-recall")
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
        if not _Sight(run).has(current, own):
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
