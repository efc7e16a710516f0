"""Chapter 78: sessions that are no conversation."""

import contextlib
from collections.abc import Callable, Iterator

from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.evidence import NotRecalled, Raised, Recalled
from memproto.testing.facts import Fact
from memproto.testing.needs import depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import entries
from memproto.testing.scenarios.starts import needs_starts
from memproto.testing.wire import show

_PRIMARY = "primary"

#: The values of `agent_context` in which a host calls no write hooks, unless it says so.
_OTHERS = ("subagent", "cron", "flush")


@check("MP-CTX-001")
def every_context_starts(run: Run) -> None:
    for context in (_PRIMARY, *_OTHERS):
        try:
            subject = run.open(agent_context=context)
        except HookRaised as failure:
            if failure.ends_process or context == _PRIMARY:
                # An exception without it too is booked where it belongs, under MP-INIT-001.
                raise
            # One that opens a home once raises whatever the context is.
            needs_starts(run, _recalls)
            run.violated(
                Raised.by(
                    failure.error,
                    wanted=f"{run.hook('open')} starts with agent_context {context!r}",
                    hook=run.hook("open"),
                    shown=show(failure.error, 300),
                ),
            )
        _recalls(subject)
        run.close(subject)


def _recalls(subject: Subject) -> None:
    subject.recall("What did we agree on for the next week?")


@check("MP-CTX-002", routes=routes.ROUTES)
def every_context_recalls(run: Run) -> None:
    route = run.route
    fact = _stored_in_primary(run, route)
    for context in _OTHERS:
        if not _comes_back(run, fact, context):
            run.violated(
                NotRecalled(
                    wanted=(
                        f"{fact.name!r} recalled with agent_context {context!r}, as in a "
                        "conversation"
                    ),
                    texts=(fact.text,),
                    subject="it",
                    verb="does not come back",
                    tail=" there",
                ),
            )


def _stored_in_primary(run: Run, route: str) -> Fact:
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not _comes_back(run, fact, _PRIMARY):
        raise Lost("a fact stored in a conversation did not come back")
    return fact


@contextlib.contextmanager
def _opened(run: Run, context: str, session: str = "") -> Iterator[Subject]:
    try:
        subject = run.open(session=session, agent_context=context)
    except HookRaised as failure:
        if failure.ends_process or context == _PRIMARY:
            raise
        reason = f"it does not start with agent_context {context!r}"
        raise Untestable(reason, depends_on("MP-CTX-001")) from None
    yield subject
    run.close(subject)


def _comes_back(run: Run, fact: Fact, context: str) -> bool:
    with _opened(run, context) as subject:
        return run.brings_back(subject, fact)


@check("MP-CTX-003")
def other_contexts_store_no_turns(run: Run) -> None:
    if not run.serves("turns"):
        raise NotApplicable("no turn is stored")
    run.needs_route("turns")
    _stored_in_primary(run, "turns")
    written = run.config()["protocol"]["contexts"]
    others = [context for context in _OTHERS if context not in written]
    operations = ["record"] + ["record_turn"] * entries.served(run, "record")
    for operation in operations:
        stored = [context for context in others if _stores(run, context, operation)]
        if stored:
            shown = f"stored one of {' and '.join(stored)}: a conversation recalls it"
            run.violated(
                Recalled(
                    wanted=f"no turn stored where agent_context is {' or '.join(others)}",
                    answer=f"{run.hook(operation)} {shown}",
                ),
                operation=operation,
            )


def _stores(run: Run, context: str, operation: str) -> bool:
    """True if a turn that is handed over in the context is recalled in a conversation."""
    fact, key = run.facts.new(), run.session_key()
    with _opened(run, context, key) as subject:
        turn = entries.turn(key, fact.text)
        calls: dict[str, Callable[[], object]] = {
            "record": lambda: routes.plant(subject, fact, "turns"),
            "record_turn": lambda: subject.record_turn(turn),
        }
        # A refusal stores nothing, which is what is asked for.
        routes.tolerant(calls[operation])
    return _comes_back(run, fact, _PRIMARY)
