"""Chapter 70: failure isolation."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from memproto.testing import losses, plain_host, routes, watchers
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show

#: A life in a process of its own; and two more if something is lost in the first.
_PLAIN_LIVES_S = 260.0

#: What the requirement names, of all that the watchers see.
_NAMED = (
    "working directory",
    "signal handlers",
    "locale",
    "root logger",
    "socket timeout",
    "sys.excepthook",
    "threading.excepthook",
    "event-loop policy",
    "standard streams",
)

#: So much of what was printed is shown.
_SHOWN_CHARS = 100

#: So much of it is read.
_PRINTED_BYTES = 50_000_000


# -- homes -----------------------------------------------------------------------------------------


@check("MP-ISO-001")
def homes_do_not_leak(run: Run) -> None:
    route = run.needs_route("turns", "writes", "tools")
    other_home, fact = run.place("other"), run.facts.new()
    one, other = run.open(), run.open(other_home)
    run.plant(one, fact, route)
    _knows_nothing(run, other, fact, "at the same time")
    run.close(other)
    run.close(one)
    if not run.reopened_brings_back(fact):
        raise Untestable(f"nothing stored through {route} comes back from its own home")
    with run.session(other_home) as again:
        _knows_nothing(run, again, fact, "after a new start")
    with run.session() as one, run.session(other_home) as again:
        one.recall(fact.query)
        _knows_nothing(run, again, fact, "beside an instance that has just recalled it")


def _knows_nothing(run: Run, other: Subject, fact: Fact, when: str) -> None:
    recalled = other.recall(fact.query)
    if fact.is_in(recalled):
        expected = "nothing of what was stored below another home"
        run.violated(expected, f"{when}: {show(recalled)}", operation="recall")


# -- process state ---------------------------------------------------------------------------------


@check("MP-ISO-002")
def a_session_leaves_the_process_as_it_was(run: Run) -> None:
    before = _state()
    changed: dict[str, str] = {}
    for operation in _session(run):
        for line in watchers.differences(before, _state()):
            changed.setdefault(line, operation)
    left = [line for line in watchers.differences(before, _state()) if line in changed]
    if left:
        run.violated(
            "the process as it was before the session", left[0], operation=changed[left[0]]
        )


def _state() -> dict[str, Any]:
    """What belongs to the host, one entry for each signal and each environment variable."""
    state = {name: value for name, value in watchers.process_globals().items() if name in _NAMED}
    signals = state.pop("signal handlers")
    variables = watchers.environment()
    return {
        **state,
        **{f"handler of signal {number}": handler for number, handler in signals.items()},
        **{f"environment variable {name}": value for name, value in variables.items()},
    }


def _session(run: Run) -> Iterator[str]:
    """Live through one session; yields the operation that was called last, after each call."""
    yield "load"
    subject = run.open()
    yield "open"
    fact = run.facts.new()
    for operation, call in routes.core_calls(subject, fact.text, fact.query).items():
        routes.in_passing(call)
        yield operation
    run.close(subject)
    yield "close"


@check("MP-ISO-003")
def a_session_leaves_the_process_alone(run: Run) -> None:
    # An end of the process, now or later, is seen from outside; a fork is seen here.
    assert run.audit is not None
    with run.audit.recording() as events:
        for operation in _session(run):
            forks = [event for event in events if event.startswith("started a program: os.fork")]
            if forks:
                observed = f"{run.hook(operation)} forked the process"
                run.violated("no copy of the process", observed, operation=operation)
            if signals := [event for event in events if event.startswith("signalled the host")]:
                observed = f"{run.hook(operation)} {signals[0]}"
                run.violated(
                    "no signal to the process or its parent", observed, operation=operation
                )


@check("MP-ISO-007")
def a_session_replaces_no_functions(run: Run) -> None:
    for operation in _session(run):
        # Since before the load: what importing replaced is found at the first look.
        if taken := [name for name in watchers.replaced() if name.rpartition(".")[0] != "sys"]:
            expected = "the functions of the standard library as they were before the load"
            observed = f"replaced: {', '.join(taken[:4])}"
            run.violated(expected, observed, operation=operation)


@check("MP-ISO-010")
def a_session_leaves_the_code_of_its_host_alone(run: Run) -> None:
    # The main loop of the process compares after each check; here a whole session gives cause.
    for _ in _session(run):
        pass


@check("MP-ISO-011", budget_s=_PLAIN_LIVES_S)
def a_host_without_the_kit_is_served_alike(run: Run) -> None:
    first = run.needs_route("turns", "writes", "tools")
    others = [route for route in routes.ROUTES if route != first and run.serves(route)]
    if run.is_selective:
        others = [route for route in others if route in run.manner.routes]
    asked = run.facts.new()
    with run.session() as subject:
        run.plant(subject, asked, first)
    if not run.reopened_brings_back(asked):
        raise Untestable("a text that was just stored does not come back in a new session")
    answered, lost = _plain_life(run, asked, (first, *others))
    if answered and not lost:
        return
    # Only a loss that no host of the kit meets, and that is met twice, has to do with the kit.
    served, lost_too = _life_of_the_kit(run, asked, tuple(lost))
    if first in lost_too:
        raise Untestable("a text that a host in a process of its own stored does not come back")
    told = [route for route in lost if route not in lost_too]
    if not (told or (served and not answered)):
        return
    answered, lost = _plain_life(run, asked, tuple(told))
    if served and not answered:
        observed = f"a host that has nothing of the kit asked for {asked.text!r} and got it not"
        run.violated("recall as in the process of the kit", observed, operation="recall")
    for route, fact in lost.items():
        observed = (
            f"{fact.text!r}, which a host that has nothing of the kit stored by {route}, did not "
            "come back, and a text did that a host of the kit stored in the same way"
        )
        expected = "storage as in the process of the kit"
        run.violated(expected, observed, operation=routes.OPERATIONS[route])


def _plain_life(run: Run, asked: Fact, by: tuple[str, ...]) -> tuple[bool, dict[str, Fact]]:
    """Whether a host without the kit got what it asked for; route to what it stored in vain."""
    life = plain_host.planned(run, asked, {route: run.facts.new() for route in by})
    found = plain_host.lead(run, life)
    run.watch.stored_at = monotonic()
    return not _answers_plainly(run) or any(map(asked.is_in, found)), _lost(run, life.stored)


def _life_of_the_kit(run: Run, asked: Fact, by: tuple[str, ...]) -> tuple[bool, dict[str, Fact]]:
    """The same of a host that has the kit in its process."""
    life = plain_host.planned(run, asked, {route: run.facts.new() for route in by})
    found = plain_host.lead_with_the_kit(run, life)
    return any(map(asked.is_in, found)), _lost(run, life.stored)


def _lost(run: Run, stored: Mapping[str, Fact]) -> dict[str, Fact]:
    if not stored:
        return {}
    with run.session() as again:
        return {route: fact for route, fact in stored.items() if not run.brings_back(again, fact)}


def _answers_plainly(run: Run) -> bool:
    """Whether one question in a new session is enough to be answered, as far as is declared."""
    prepares = "prewarm" in run.declared("extensions", ())
    is_fresh = run.declared("consistency", "immediate") == "immediate"
    return is_fresh and not prepares and run.declared("recall_basis", "query") == "query"


@check("MP-ISO-008")
def a_session_prints_nothing(run: Run) -> None:
    # What building prints has a rule of its own.
    subject, fact = run.provider(), run.facts.new()
    calls = {
        "open": lambda: subject.open(run.session_key(), run.config()),
        **routes.core_calls(subject, fact.text, fact.query),
        "close": subject.close,
    }
    with _printed() as printed, _closed_early(subject):
        for operation, call in calls.items():
            routes.in_passing(call)
            if text := printed():
                shown = " ".join(text[:_SHOWN_CHARS].split())
                observed = f"{len(text):,} characters on standard output: {shown}"
                run.violated("nothing on standard output", observed, operation=operation)


@contextlib.contextmanager
def _closed_early(subject: Subject) -> Iterator[None]:
    """Shut the instance down where the body does not come to it."""
    try:
        yield
    except Exception:
        with contextlib.suppress(Exception):
            subject.close()
        raise


@contextlib.contextmanager
def _printed() -> Iterator[Callable[[], str]]:
    """In the body standard output goes to a file; what it gives tells what has come, so far."""
    _flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lambda: _whole(file.fileno())
        finally:
            _flush()
            os.dup2(kept, 1)
            os.close(kept)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _whole(descriptor: int) -> str:
    _flush()
    return os.pread(descriptor, _PRINTED_BYTES, 0).decode("utf-8", "replace")


# -- neighbours ------------------------------------------------------------------------------------


@check("MP-ISO-004")
def shutdown_of_one_leaves_the_others(run: Run) -> None:
    route = run.needs_route("turns", "writes", "tools")
    if run.binding.own_homes:
        _outlives(run, route, run.place("neighbour"), "another home")
    if not run.binding.own_homes or not run.declared("single_writer", default=False):
        _outlives(run, route, run.home, "the same home")


def _outlives(run: Run, route: str, neighbours_home: Path, which: str) -> None:
    # Of a session of its own: no host opens one session twice at a time.
    neighbour = run.open(neighbours_home, f"{run.session_key()}-neighbour")
    subject = run.open()
    first, second = run.facts.several(2)
    run.plant(subject, first, route)
    # No rule asks that a text be recallable in its own session; but what is, stays so.
    seen = run.brings_back(subject, first)
    run.close(neighbour)
    if seen and not run.brings_back(subject, first):
        _violated(run, "what was recalled before it is not recalled any more", which)
    try:
        run.plant(subject, second, route)
        subject.recall(second.query)
    except HookRaised as failure:
        if failure.ends_process or failure.is_report:
            raise
        observed = f"{run.hook(failure.operation)} raised {show(failure.error)}"
        _violated(run, observed, which)
    run.close(subject)
    kept = [losses.is_stored(run, fact) for fact in (first, second)]
    if kept[0] and not kept[1]:
        _violated(run, "what was stored after it is not recalled, what was stored before is", which)
    if not kept[0]:
        raise Untestable(f"nothing stored through {route} comes back, with a neighbour or without")


def _violated(run: Run, observed: str, which: str) -> None:
    expected = f"an instance works on after {run.hook('close')} of one with {which}"
    run.violated(expected, observed, operation="close")


# -- places ----------------------------------------------------------------------------------------
