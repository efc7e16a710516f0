"""Chapter 62: recall that is prepared before it is asked for."""

import dataclasses

from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.conditions import RECALL_BY_QUERY, Declared
from memproto.testing.evidence import Recalled, Returned
from memproto.testing.facts import Fact
from memproto.testing.needs import depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.preparation import PREWARM_S
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.scenarios import switches, tenants, texts
from memproto.testing.scenarios.tenants import Boundary, Tenant
from memproto.testing.wire import show

_EXTENSION = "prewarm"

_QUESTION = "What did we agree on for the next week?"

#: A user who begins a day so has said nothing that a memory could know something about.
_GREETING = "Good morning!"

#: Another question, which has no word in common with what is stored.
_UNRELATED = "Please multiply 17 x 23."

#: Seconds that a prepared answer may take to get into the next session.
_LATE_S = 0.3

#: Seconds that a preparation may take to be ready.
_READY_S = 1.0


@check("MP-PREWARM-001", calls_alone=False, budget_s=120.0, extension=_EXTENSION)
def preparing_takes_any_text(run: Run) -> None:
    odd, again = texts.odd(run), {"a second call at once": _QUESTION}
    with run.session() as subject:
        found = texts.raised_for(run, odd, subject.prewarm)
        found += texts.raised_for(run, again, subject.prewarm, makes_smaller=False)
        subject.recall(_QUESTION)
        # Shut down while the last one is under way.
        subject.prewarm(_QUESTION)
    wanted = f"{run.hook('prewarm')} returns for every str"
    texts.none_raises(run, found, "prewarm", wanted, of=len(odd))


@check("MP-PREWARM-002", calls_alone=False, extension=_EXTENSION)
def preparing_keeps_its_time(run: Run) -> None:
    # A hook that is late ends the check, wherever it happens: see `incidents.LATE`.
    with run.session() as subject:
        for question in (_QUESTION, _QUESTION * 40, "Which berth is free?"):
            subject.prewarm(question)
            subject.recall(question)


# -- another question ------------------------------------------------------------------------------


@check(
    "MP-PREWARM-003",
    calls_alone=False,
    budget_s=120.0,
    extension=_EXTENSION,
    declares=RECALL_BY_QUERY,
    routes=routes.ROUTES,
)
def another_question_is_answered(run: Run) -> None:
    route = run.route
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    with run.session() as plain:
        if not _at_once(run, plain, fact):
            raise NotApplicable("without preparation recall brings nothing at once either")
    with run.session() as subject:
        subject.prewarm(_GREETING)
        run.stays_silent(lambda: False, _LATE_S)
        if not _at_once(run, subject, fact):
            run.violated(
                Returned(
                    wanted=f"{fact.name!r} for {fact.query!r}, as without preparation",
                    hook=run.hook("recall"),
                    value=show(routes.recalled(subject, fact.query)),
                    tail=f", after {run.hook('prewarm')} had been called with {_GREETING!r}",
                ),
                operation="recall",
            )


def _at_once(run: Run, subject: Subject, fact: Fact) -> bool:
    run.settle()
    return fact.is_in(routes.recalled(subject, fact.query))


# -- another session, another user -----------------------------------------------------------------


@check(
    "MP-PREWARM-004", calls_alone=False, budget_s=120.0, extension=_EXTENSION, routes=routes.ROUTES
)
def what_was_prepared_stays_apart(run: Run) -> None:
    route = run.route
    tried = [_is_judged(run, boundary, route) for boundary in ("user", "session")]
    if not any(tried):
        raise NotApplicable("neither sessions at a switch nor users side by side are kept apart")


def _is_judged(run: Run, boundary: Boundary, route: str) -> bool:
    try:
        return _stays_apart(run, boundary, route)
    except tenants.Refused:
        return False


def _stays_apart(run: Run, boundary: Boundary, route: str) -> bool:
    """True if the boundary is one that is kept, and so was judged."""
    plain = tenants.pair(run, boundary, "-unprepared")
    if not tenants.keeps(run, boundary, plain, route):
        return False
    one, other = _two(run, boundary)
    fact = run.facts.new()
    tenants.store(run, one, [fact], route)
    with one.opened(run) as subject:
        if not run.brings_back(subject, fact):
            raise Lost(f"{fact.text!r} does not come back for {one.called}")
    if boundary == "session":
        return _after_a_switch(run, one, other, fact)
    _in_one_session(run, one, other, fact)
    return _beside(run, one, other, fact)


def _two(run: Run, boundary: Boundary) -> list[Tenant]:
    """No host has one session open twice at a time, whoever its users are."""
    pair = tenants.pair(run, boundary, "-prepared")
    if boundary == "session":
        return pair
    return [dataclasses.replace(t, session=f"{t.session}-{n}") for n, t in enumerate(pair)]


def _after_a_switch(run: Run, one: Tenant, other: Tenant, fact: Fact) -> bool:
    if switches.IS_SWITCHED.unmet(run):
        return False
    for is_prepared in (False, True):
        with one.opened(run) as subject:
            if is_prepared:
                subject.prewarm(fact.query)
            switches.go(run, subject, one, other)
            shows = _shows_within(run, subject, fact)
        if shows and not is_prepared:
            raise Untestable(
                "recall shows the session that was left anyway", depends_on("MP-SESS-010")
            )
        if shows:
            _crosses(run, one, other, fact)
    return True


def _in_one_session(run: Run, one: Tenant, other: Tenant, fact: Fact) -> None:
    """A group chat is one session of several users, one after the other."""
    with one.opened(run) as first:
        first.prewarm(fact.query)
        run.stays_silent(lambda: False, _LATE_S)
    with dataclasses.replace(other, session=one.session).opened(run) as second:
        if _shows_within(run, second, fact):
            _crosses(run, one, other, fact)


def _beside(run: Run, one: Tenant, other: Tenant, fact: Fact) -> bool:
    if run.declared("single_writer", default=False):
        return False
    with one.opened(run) as first, other.opened(run) as second:
        first.prewarm(fact.query)
        run.wait_until(lambda: fact.is_in(routes.recalled(first, fact.query)), _READY_S)
        first.prewarm(fact.query)
        if _shows_within(run, second, fact):
            _crosses(run, one, other, fact)
    return True


def _shows_within(run: Run, subject: Subject, fact: Fact) -> bool:
    asked = lambda: fact.is_in(routes.recalled(subject, fact.query))  # noqa: E731 - a condition
    return not run.stays_silent(asked, _LATE_S)


def _crosses(run: Run, one: Tenant, other: Tenant, fact: Fact) -> None:
    run.violated(
        Recalled(
            wanted=f"nothing for {other.called} of what was prepared for {one.called}",
            texts=(fact.text,),
            question=fact.query,
            by=run.hook("recall"),
            of_whom=one.called,
            to_whom=other.called,
            lead=f"{fact.query!r}, prepared there, brings ",
        ),
        operation="recall",
    )


# -- another conversation --------------------------------------------------------------------------


_NOT_SESSION = Declared(
    "recall_basis",
    "query",
    none_of=("session",),
    otherwise="recall_basis is {value}: answers do not depend on the question",
)


@check(
    "MP-PREWARM-005",
    calls_alone=False,
    budget_s=120.0,
    extension=_EXTENSION,
    declares=_NOT_SESSION,
    routes=routes.ROUTES,
)
def what_was_prepared_stays_in_its_conversation(run: Run) -> None:
    route = run.route
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        raise NotApplicable("text that one session stored is not recalled in another")
    for called, strays in _WAYS.items():
        # Seen with the question itself prepared, and waited for, it is an answer to the question.
        if strays(run, fact, fact.query, _LATE_S) and not strays(run, fact, _UNRELATED, PREWARM_S):
            run.violated(
                Recalled(
                    wanted=(
                        f"nothing that was prepared for {fact.query!r}, which another "
                        "conversation asked"
                    ),
                    texts=(fact.text,),
                    question=_UNRELATED,
                    by=run.hook("recall"),
                    lead=f"{called} {_UNRELATED!r} brings ",
                    tail="; with itself prepared it does not",
                ),
                operation="recall",
            )


def _strays_over_a_switch(run: Run, fact: Fact, prepared: str, within_s: float) -> bool:
    if switches.IS_SWITCHED.unmet(run):
        return False
    key = run.session_key()
    with run.session(session=key) as subject:
        _prepare(run, subject, prepared)
        if subject.has("end"):
            routes.tolerant(lambda: subject.end([]))
        switches.NEW.make(subject, key, f"{key}-new")
        return _is_given(run, subject, fact, within_s)


def _strays_beside(run: Run, fact: Fact, prepared: str, within_s: float) -> bool:
    if run.declared("single_writer", default=False):
        return False
    with run.session() as first, run.session() as second:
        _prepare(run, first, prepared)
        return _is_given(run, second, fact, within_s)


def _prepare(run: Run, subject: Subject, query: str) -> None:
    subject.prewarm(query)
    run.stays_silent(lambda: False, _LATE_S)


def _is_given(run: Run, subject: Subject, fact: Fact, within_s: float) -> bool:
    """True if recall brings the fact for a question that has nothing to do with it."""
    asked = lambda: fact.is_in(routes.recalled(subject, _UNRELATED))  # noqa: E731 - a condition
    return not run.stays_silent(asked, within_s)


#: Ways in which another conversation comes to ask in the same process, as a message begins.
_WAYS = {
    "after a switch to a new conversation": _strays_over_a_switch,
    "in another session that is open": _strays_beside,
}
