"""Chapter 45: hooks beside a running event loop, and beside one another."""

import functools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from memproto.testing import losses, routes
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import BackendAway, HookRaised, Subject
from memproto.testing.together import together
from memproto.testing.wire import show

#: The operation that serves each route.
_STORES = {"turns": "record", "writes": "mirror", "tools": "call_tool"}

#: How often a recall and a write begin together, in one session and as the first calls of new ones.
_ROUNDS = 4


# -- an event loop ---------------------------------------------------------------------------------


@check("MP-THR-004", budget_s=120.0)
def hooks_work_where_a_loop_runs(run: Run) -> None:
    planted = _facts(run)
    raised: dict[str, Exception] = {}
    steps = _session(run, planted, raised)
    error = together(lambda: _amid_a_loop(steps))[0]
    if error is not None:
        raise error
    for operation, failure in raised.items():
        _judge_raised_in_a_loop(run, operation, failure)
    for route, fact in planted.items():
        if _STORES[route] not in raised and not losses.is_stored(run, fact):
            _judge_lost_in_a_loop(run, route)


def _amid_a_loop(steps: Iterator[None]) -> None:
    """Take the steps on a thread on which a loop runs, which gets a turn after each."""
    import asyncio

    async def take() -> None:
        for _ in steps:
            await asyncio.sleep(0)

    asyncio.run(take())


def _facts(run: Run) -> dict[str, Fact]:
    """Route to a fact to store by it, for each route that is served."""
    return {route: run.facts.new() for route in routes.ROUTES if run.serves(route)}


def _session(run: Run, planted: dict[str, Fact], raised: dict[str, Exception]) -> Iterator[None]:
    """Live through a session; `raised` gets the first failure of each operation."""
    subject = _noted(raised, "open", run.open)
    yield
    if subject is None:
        return
    for operation, call in _calls(run, subject):
        _noted(raised, operation, call)
        yield
    for route, fact in planted.items():
        _noted(raised, _STORES[route], functools.partial(routes.plant, subject, fact, route))
        yield
    _noted(raised, "close", lambda: run.close(subject))


def _noted(raised: dict[str, Exception], operation: str, call: Callable[[], Any]) -> Any:
    """What the call gives; None where it failed, which is noted under its operation."""
    try:
        return call()
    except (HookRaised, Untestable) as failure:
        if isinstance(failure, BackendAway) or (
            isinstance(failure, HookRaised) and failure.ends_process
        ):
            raise
        raised.setdefault(operation, failure)
        return None


def _calls(run: Run, subject: Subject) -> Iterator[tuple[str, Callable[[], Any]]]:
    fact = run.facts.new()
    yield "declare", subject.declare
    yield from routes.core_calls(subject, fact.text, fact.query).items()
    if subject.has("tools"):
        yield "tools", subject.tools
    if subject.has("prewarm"):
        yield "prewarm", lambda: subject.prewarm(fact.query)


def _judge_raised_in_a_loop(run: Run, operation: str, failure: Exception) -> None:
    """The same session without a loop, on such a thread, tells whether the loop is to blame."""
    alike: dict[str, Exception] = {}
    error = together(lambda: deque(_session(run, _facts(run), alike), maxlen=0))[0]
    if error is not None:
        raise error
    same = alike.get(operation)
    if same is None:
        told = show(failure.error) if isinstance(failure, HookRaised) else str(failure)
        run.violated(
            f"{run.hook(operation)} works on a thread on which an event loop is running",
            f"there it gave {told}, and on a thread without a loop it works",
            operation=operation,
        )
    if isinstance(same, HookRaised) and not same.is_report:
        hook = run.hook(operation)
        raise Untestable(f"{hook} raises on that thread without a loop as well: {show(same.error)}")


def _judge_lost_in_a_loop(run: Run, route: str) -> None:
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not losses.is_stored(run, fact):
        raise Untestable(f"nothing stored through {route} comes back, with a loop or without")
    operation = _STORES[route]
    run.violated(
        f"{run.hook(operation)} works on a thread on which an event loop is running",
        "what it accepted there did not come back after the loop had ended; "
        "what it accepted without a loop did",
        operation=operation,
    )


# -- a recall beside a write -----------------------------------------------------------------------


@check("MP-THR-005", budget_s=120.0)
def a_recall_and_a_write_work_side_by_side(run: Run) -> None:
    for route in ("turns", "writes"):
        if not run.lacks(_STORES[route]):
            # Of a question that was asked before there was an answer, another rule speaks.
            known = run.facts.new()
            with run.session() as first:
                routes.tolerant(functools.partial(routes.plant, first, known, route))
            accepted = _written(run, route, functools.partial(_both, known.query))
            if run.serves(route):
                _all_come_back(run, route, accepted)


def _written(
    run: Run, route: str, write: Callable[[Run, Subject, Fact, str], list[Fact]]
) -> list[Fact]:
    """What `write` had accepted: first by new instances, then by one that works on."""
    facts = run.facts.several(2 * _ROUNDS)
    accepted: list[Fact] = []
    for fact in facts[:_ROUNDS]:
        with run.session() as new:
            accepted += write(run, new, fact, route)
    with run.session() as subject:
        for fact in facts[_ROUNDS:]:
            accepted += write(run, subject, fact, route)
    return accepted


def _alone(run: Run, subject: Subject, fact: Fact, route: str) -> list[Fact]:
    """Write a fact on a thread of its own, with nothing beside it."""
    error = together(lambda: run.plant(subject, fact, route))[0]
    if error:
        raise Untestable(f"{run.hook(_STORES[route])} raises on another thread alone") from error
    return [fact]


def _both(question: str, run: Run, subject: Subject, fact: Fact, route: str) -> list[Fact]:
    """Write a fact while a recall answers; gives the fact where it was accepted."""
    calls = {
        _STORES[route]: lambda: routes.plant(subject, fact, route),
        "recall": lambda: routes.recalled(subject, question),
    }
    if route == "turns":
        # Beside a recall no turn begins: a host says so before.
        subject.begin(fact.text)
    errors = together(*calls.values())
    for (operation, call), error in zip(calls.items(), errors, strict=True):
        if error is not None:
            other = next(name for name in calls if name != operation)
            _judge_raised_beside(run, error, call, other)
    return [] if errors[0] else [fact]


def _judge_raised_beside(
    run: Run, error: BaseException, call: Callable[[], Any], other: str
) -> None:
    """The same call by itself tells whether the one beside it is to blame."""
    if not isinstance(error, HookRaised) or error.ends_process or isinstance(error, BackendAway):
        raise error
    if error.is_report:
        return
    if together(call)[0]:
        call()
        hook = run.hook(error.operation)
        raise Untestable(f"{hook} raises on another thread alone as well; see MP-THR-001")
    run.violated(
        f"{run.hook(error.operation)} works while {run.hook(other)} runs",
        f"it raised {show(error.error)}; alone it does not",
        operation=error.operation,
    )


def _all_come_back(run: Run, route: str, accepted: list[Fact]) -> None:
    lost = losses.lost(run, accepted)
    if not lost:
        return
    if losses.lost(run, _written(run, route, _alone)):
        hook = run.hook(_STORES[route])
        raise Untestable(f"what {hook} accepts on another thread is lost without a recall as well")
    run.violated(
        f"what {run.hook(_STORES[route])} accepts while {run.hook('recall')} runs, recalled later",
        f"{len(lost)} of {len(accepted)} did not come back, among them {lost[0].text!r}; "
        "what was written alone did",
        operation=_STORES[route],
    )
