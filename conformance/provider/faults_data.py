"""Chapter 82: what becomes of writes while a backend fails, and when it works again."""

import contextlib
from collections.abc import Callable
from typing import NoReturn

from memproto.testing import losses, noise, routes, tally
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.faults import modes
from memproto.testing.faults.bench import (
    Bench,
    NothingBehind,
    accepts,
    elapsed,
    failing,
    relaying,
)
from memproto.testing.faults.server import Mode
from memproto.testing.faults.taking import Taking
from memproto.testing.logged import Records
from memproto.testing.run import Run
from memproto.testing.subject import HookLate, HookRaised, HookWithdrawn, Subject

_BUDGET_S = 600.0

#: What passes by its own words. A text that is refused with 4xx is refused for good, and a queue
#: that keeps such a one stands still.
_REFUSING: dict[str, Mode] = {
    "429": modes.retry_after("2"),
    "500": modes.status(500),
    "503": modes.status(503),
    "a reset": modes.reset,
}

#: How long a provider may take to find out that its backend works again, by the specification.
_AGAIN_S = 60.0

#: For the requests of one that stores in the background.
_BEHIND_S = 2.0

#: A hook is called so often while a queue is given its time.
_PAUSE_S = 0.5

#: A hook that waits for its backend takes longer.
_AT_ONCE_S = 0.3

#: With what a turn begins whose text is looked for in requests: a question about that is none. A
#: host may record other words than those with which the turn began, as for a command.
_BEGINNING = "There is something to note."

#: For the request of one that recalls behind the beginning of a turn.
_BEGUN_S = 0.5


def _stores(run: Run) -> str:
    return run.needs_route("turns", "writes", "tools")


def _known(bench: Bench, route: str) -> Fact:
    """A fact that was stored through the server, and that a new session brings back."""
    run, fact = bench.run, bench.run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    bench.needs_reach()
    if not run.reopened_brings_back(fact):
        raise Untestable(f"{fact.text!r}, stored while the backend works, did not come back")
    return fact


@check("MP-FAULT-006", budget_s=_BUDGET_S)
def what_is_accepted_while_the_backend_fails_is_stored(run: Run) -> None:
    try:
        _comes_back(run)
    except NothingBehind as reason:
        _is_sent_again(run, reason)


def _comes_back(run: Run) -> None:
    with relaying(run) as bench:
        route = _stores(run)
        _known(bench, route)
        subject = bench.open()
        accepted = _written(bench, subject, route, modes.forward)
        run.close(subject)
        lost = losses.lost(run, list(accepted.values()))
        if lost:
            _given_time(run, lambda session: all(run.brings_back(session, fact) for fact in lost))
            lost = losses.lost(run, lost)
        if lost:
            ways = ", ".join(said for said, fact in accepted.items() if fact in lost)
            run.violated(
                "what was accepted while the backend was away is recalled when it works again",
                f"{len(lost)} of {len(accepted)} did not come back, under {ways}: {lost[0].text!r}",
                operation=routes.OPERATIONS[route],
            )


def _is_sent_again(run: Run, nothing_behind: NothingBehind) -> None:
    """
    Judge by what is sent where nothing can come back.

    A provider that does not take the kit's answer for a success, and says or shows so, cannot be
    judged by it; nor can one whose requests do not show a text.
    """
    taking, records = Taking(), Records()
    # A provider that offers no tools is not asked for them.
    tried = [name for name in routes.ROUTES if name != "tools" or run.serves(name)]
    with failing(run, taking) as bench:
        with records.collected():
            route = next((name for name in tried if _is_taken(bench, taking, name)), "")
        if not route or records.found:
            raise nothing_behind
        subject = bench.open()
        accepted = _written(bench, subject, route, taking)
        run.close(subject)
        with records.collected():
            sends_still = _is_taken(bench, taking, route)
        if not sends_still or records.found:
            raise nothing_behind
        if not all(map(taking.times, accepted.values())):
            _given_time(run, lambda _: all(map(taking.times, accepted.values())))
            # One that sends what waits with the next text, or at a start and an end.
            _is_taken(bench, taking, route)
        _were_sent(run, {k: f for k, f in accepted.items() if not taking.times(f)}, route)


def _given_time(run: Run, is_there: Callable[[Subject], bool]) -> None:
    """Wait in an open session: a queue may try again after a pause, or at a later start only."""
    query = run.facts.new().query
    with run.session() as session:

        def looked() -> bool:
            # Some send at a hook; and a check that waits without one is taken for stuck.
            with contextlib.suppress(HookRaised, HookWithdrawn):
                session.recall(query)
            return run.wait_until(lambda: is_there(session), _PAUSE_S)

        run.wait_until(looked, _AGAIN_S)


def _is_taken(bench: Bench, taking: Taking, route: str) -> bool:
    """Whether what a session stores by a route is accepted and sent, once."""
    run, fact = bench.run, bench.run.facts.new()
    if route != "tools" and run.lacks(routes.OPERATIONS[route]):
        return False
    try:
        with run.session() as subject:
            _begin(bench, subject, route)
            accepted = accepts(subject, fact, route)
            # One that stores in the background, or when the session ends.
            run.wait_until(lambda: taking.times(fact) > 0, _BEHIND_S)
    except (HookRaised, HookLate):
        return False
    return accepted and taking.times(fact) == 1


def _were_sent(run: Run, lost: dict[str, Fact], route: str) -> None:
    if lost:
        fact = next(iter(lost.values()))
        run.violated(
            "what was accepted while the backend was away is sent to it when it works again",
            f"{len(lost)} texts were not, accepted under {', '.join(lost)}: {fact.text!r}",
            operation=routes.OPERATIONS[route],
        )


def _written(bench: Bench, subject: Subject, route: str, working: Mode) -> dict[str, Fact]:
    """What was accepted while the backend failed in each of the ways; it works again after each."""
    accepted: dict[str, Fact] = {}
    for said, mode in _REFUSING.items():
        fact = bench.run.facts.new()
        _begin(bench, subject, route)
        bench.turn(mode)
        seen = bench.server.pieces
        if accepts(subject, fact, route):
            accepted[said] = fact
            bench.server.wait_for(lambda: bench.server.pieces > seen, _BEHIND_S)  # noqa: B023 - called at once
        bench.turn(working)
    return accepted


def _begin(bench: Bench, subject: Subject, route: str) -> None:
    """Begin a turn while the backend works, and let what is asked for it pass."""
    if route == "turns" and bench.run.watch.turns is not None:
        seen = bench.server.pieces
        subject.begin(_BEGINNING)
        bench.server.wait_for(lambda: bench.server.pieces > seen, _BEGUN_S)


@check("MP-FAULT-007", budget_s=_BUDGET_S)
def a_late_answer_stores_nothing_twice(run: Run) -> None:
    with relaying(run) as bench:
        route = _stores(run)
        usual = tally.times(run, _known(bench, route))
        if not usual:
            reason = "recall does not show a stored text in its own words"
            raise Untestable(f"{reason}; needs: the setting `read_back`")
        fact, subject = run.facts.new(), bench.open()
        _frozen(bench, subject, fact, route)
        run.close(subject)
        # What the backend is handed late is not at once in its store.
        bench.server.settle(_BEHIND_S)
        times = tally.times(run, fact)
        if times > usual:
            run.violated(
                f"{fact.text!r} stored once, though the answer to it came late",
                f"stored {times} times, where another text is stored {usual} times",
                operation=routes.OPERATIONS[route],
            )


def _frozen(bench: Bench, subject: Subject, fact: Fact, route: str) -> None:
    """Store a fact while the backend keeps its answers for longer than the provider waits."""
    seen = bench.server.pieces
    bench.server.freeze()
    took_s, _ = elapsed(lambda: _stored(subject, fact, route))
    if took_s < _AT_ONCE_S * noise.slowdown():
        # It did not wait for the answer; a worker of its own may, and try again.
        bench.server.wait_for(lambda: bench.server.pieces > seen + 1, 2 * _BEHIND_S)
    bench.server.thaw()


def _stored(subject: Subject, fact: Fact, route: str) -> None:
    try:
        accepts(subject, fact, route)
    except HookLate as late:
        raise Untestable(f"{late}; see MP-FAULT-002") from None


@check("MP-FAULT-008", budget_s=_BUDGET_S)
def a_backend_that_works_again_is_used_again(run: Run) -> None:
    with relaying(run) as bench:
        route = _stores(run)
        known = _known(bench, route)
        subject = bench.open()
        asks = run.declared("recall_basis", "query") != "session"
        if asks and not run.brings_back(subject, known):
            raise Untestable(f"{known.text!r} did not come back before the backend failed")
        bench.turn(modes.status(503))
        with contextlib.suppress(HookRaised):
            subject.recall(run.facts.new().query)
        accepts(subject, run.facts.new(), route)
        bench.turn(modes.forward)
        if asks:
            _is_so_again(run, "recall", lambda: run.brings_back(subject, known))
        fact = run.facts.new()
        _is_so_again(run, routes.OPERATIONS[route], lambda: accepts(subject, fact, route))
        run.close(subject)
        if not losses.is_stored(run, fact):
            _is_not(run, routes.OPERATIONS[route], "what it accepted then did not come back")


def _is_so_again(run: Run, operation: str, works: Callable[[], bool]) -> None:
    if not run.wait_until(works, _AGAIN_S):
        _is_not(run, operation, f"it did not within {_AGAIN_S:g} s")


def _is_not(run: Run, operation: str, observed: str) -> NoReturn:
    expected = f"{run.hook(operation)} works in the same session, once the backend works again"
    run.violated(expected, observed, operation=operation)
