"""Chapter 80: recall under a deadline, late answers, stuck providers, wrong types."""

import dataclasses
import datetime as dt
import functools
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from memproto.deadlines import Deadlines
from memproto.testing.clauses import Untestable, Violation, check
from memproto.testing.evidence import Called, Differs, NotReported, Raised, Returned
from memproto.testing.host.host import Host, HostLate
from memproto.testing.host.probes import LATE_CALLS, Gate, Probe, answering, hanging_at_first
from memproto.testing.host.run import HostRun
from memproto.testing.instruments.walltime import YEARS, WallClock, wall_clock
from memproto.testing.needs import depends_on
from memproto.testing.wire import show

#: The answer that comes too late.
_LATE = "An answer to the first question."

#: Deadlines one after the other would take longer than one deadline and the machine's slack.
_HANGING = 32

_FIRST = "The first question?"


@check("MP-HOST-RECALL-001")
def recall_ends_at_its_deadline(run: HostRun) -> None:
    def attempt(deadlines: Deadlines) -> None:
        good = [run.probe(enrich_turn=answering(f"Answer {n}.")) for n in range(3)]
        hung = [run.probe(enrich_turn=run.gate("Too late.")) for _ in range(_HANGING)]
        taken = run.beside(good[0], *hung[1:8], good[1], *hung[8:], good[2])
        host = run.opened(*taken[:1], hung[0], *taken[1:], deadlines=deadlines)
        said = {provider.name: f"Answer {n}." for n, provider in enumerate(good)}
        expected = {provider.name: said[provider.name] for provider in good if provider in taken}
        answers = host.recall("Which answers are there?")
        if answers != expected:
            run.violated(
                Returned(
                    wanted=f"the answers of those that kept it: {show(expected)}",
                    value=show(answers),
                )
            )

    run.at_some_pace(attempt)
    if run.takes("deadlines") and run.loaded.most is None:
        _no_answer_moves_the_deadline(run)
    if run.loaded.is_driver:
        for step in ("turn", "stream"):
            run.at_some_pace(functools.partial(_ends_in_a_turn, run, step))


def _no_answer_moves_the_deadline(run: HostRun) -> None:
    """Answers come one after the other: the deadline is that of the turn, and of none of them."""
    budget_s = 0.3 * run.scale
    slow = [run.probe(enrich_turn=gate) for gate in run.trickling("Noted.", budget_s)]
    run.opened(*slow, deadlines=Deadlines(enrich_s=budget_s)).recall("What was noted?")
    run.open_gates()


def _ends_in_a_turn(run: HostRun, step: str, deadlines: Deadlines) -> None:
    """A turn may gather its recall in another way than a recall by itself, and a stream too."""
    budget_s = deadlines.enrich_s
    pace = dataclasses.replace(deadlines, turn_start_s=budget_s, ask_s=budget_s)
    sent = []
    # First without one that hangs: an answer that is never sent is for MP-HOST-RECALL-006.
    for hangs in (False, True):
        good = run.probe(enrich_turn=answering("The lamps are lit."))
        others = [run.probe(enrich_turn=run.gate("Too late."))] if hangs else []
        # One that takes one provider takes the one that hangs.
        taken = [*others, *run.beside(good)] if hangs else [good]
        host = run.opened(*taken, deadlines=pace)
        if not host.has(step):
            return
        host.turn("Which lamps are lit?", step=step)
        sent.append(good not in taken or host.model.was_sent("The lamps are lit."))
    if sent == [True, False]:
        wanted = "the answer of the provider that kept it in the request of a turn"
        run.violated(Returned(wanted=wanted, value=show(host.model.sent())), operation=step)


@check("MP-HOST-RECALL-002")
def a_late_answer_is_never_shown(run: HostRun) -> None:
    for has_more in (True, False):
        _is_never_shown(run, has_more=has_more)


def _is_never_shown(run: HostRun, *, has_more: bool) -> None:
    """`has_more` is True for a provider that has an answer to each of the later turns as well."""
    gate = run.gate(_LATE)
    slow = run.probe(enrich_turn=_first_hangs(gate, has_more=has_more))
    good = run.probe(enrich_turn=answering("Noted."))
    # The gate opens only after the first turn, whatever its deadline is.
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host = run.opened(slow, *run.beside(good), deadlines=pace)
    turns = _turns_until_it_hangs(run, host, gate)
    gate.open()
    gate.left.wait(5.0 * run.scale)
    run.wait_until(lambda: _takes_part(host, slow, turns))
    # The question of the late answer comes again, and asks anew.
    turns += [host.recall("And one more?"), host.recall(_FIRST)]
    for number, answers in enumerate(turns, 1):
        # Joined to the answer of that turn, it is shown all the same.
        if any(_LATE in str(answer) for answer in answers.values()):
            expected = "the answer to the first turn in no turn, since it came after its deadline"
            run.violated(
                Returned(wanted=expected, value=show(answers), lead=f"turn {number} shows ")
            )


@check("MP-HOST-RECALL-003")
def a_stuck_provider_is_not_asked_again_until_it_returns(run: HostRun) -> None:
    gate = run.gate()
    slow = run.probe(enrich_turn=_first_hangs(gate))
    good = run.probe(enrich_turn=answering("Noted."))
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host = run.opened(slow, *run.beside(good), deadlines=pace)
    _turns_until_it_hangs(run, host, gate)
    for number in range(2, 5):
        host.recall(f"Question {number}?")
        if slow.count("enrich_turn") > 1:
            expected = "one call of a provider whose first call has not returned"
            run.violated(
                Called(
                    wanted=expected,
                    hook="enrich_turn",
                    times=slow.count("enrich_turn"),
                    due=1,
                    tail=f" after {number} turns",
                )
            )
    gate.open()
    later: list[dict[str, Any]] = []
    if not run.wait_until(lambda: _takes_part(host, slow, later)):
        run.violated(
            Called(
                wanted="it takes part again once the call has returned",
                hook="enrich_turn",
                times=0,
                seen="it is not asked any more",
            )
        )
    for make, times in _ENDINGS:
        _takes_part_after_an_error(run, make, times)
    if run.takes("deadlines"):
        _takes_part_after_a_late_error(run)
        _takes_part_however_often_it_was_late(run)
    _is_not_asked_again_behind_a_switch(run)


def _is_not_asked_again_behind_a_switch(run: HostRun) -> None:
    """A switch lets go of the answer, and the thread is where it was."""
    gate = run.gate()
    slow = run.serving("sessions", enrich_turn=_first_hangs(gate))
    host = run.opened(slow, *run.beside(run.probe()), deadlines=Deadlines(enrich_s=0.3 * run.scale))
    if not host.has("switch resume"):
        return
    _turns_until_it_hangs(run, host, gate)
    host.switch("resume", run.session_key())
    run.wait_until(lambda: slow.count("on_session_switch") > 0, 2.0)
    host.recall("Which berth is free?")
    if (times := slow.count("enrich_turn")) > 1:
        wanted = "one call of a provider whose first call has not returned"
        tail = " after a switch"
        run.violated(Called(wanted=wanted, hook="enrich_turn", times=times, due=1, tail=tail))


#: One error that ends a program, and errors one after the other, as of a backend that is away.
_ENDINGS: tuple[tuple[type[BaseException], int], ...] = (
    (OSError, 1),
    (SystemExit, 1),
    (GeneratorExit, 1),
    (OSError, 6),
)


def _takes_part_after_an_error(run: HostRun, make: type[BaseException], times: int) -> None:
    """A call that ended by an exception has returned as well, and so has each of several."""
    asked: list[str] = []

    def act(user_message: str, messages: list[dict[str, Any]]) -> str:
        asked.append(user_message)
        if len(asked) <= times:
            raise make("the backend is away")
        return "Noted."

    host = run.opened(run.probe(enrich_turn=act), *run.beside(run.probe()))
    try:
        for number in range(times):
            host.recall(f"Which berth is free on day {number}?")
    except Violation as found:
        if not isinstance(found.evidence, Raised):
            raise
        reason = "recall raises what its provider raised"
        raise Untestable(reason, depends_on("MP-HOST-ISO-001")) from None
    before, name = len(asked), make.__name__
    host.recall("And which one tomorrow?")
    if before < times or len(asked) == before:
        run.violated(
            Called(
                wanted=f"it is asked again in the turn after the one in which it raised {name}",
                hook="enrich_turn",
                times=len(asked),
                due=times + 1,
                seen="it is not asked any more",
            )
        )


def _takes_part_after_a_late_error(run: HostRun) -> None:
    """The same for a call that was given up, and ended by an exception when nobody waited."""
    gate, calls = run.gate(), itertools.count()

    def act(*args: Any) -> str:
        if next(calls) == 0:
            gate()
            raise OSError("the backend is away")
        return "Noted."

    slow = run.probe(enrich_turn=act)
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host = run.opened(slow, *run.beside(run.probe()), deadlines=pace)
    _turns_until_it_hangs(run, host, gate)
    gate.open()
    later: list[dict[str, Any]] = []
    if not run.wait_until(lambda: _takes_part(host, slow, later)):
        run.violated(
            Called(
                wanted="it takes part again once the call that was given up has raised",
                hook="enrich_turn",
                times=0,
                seen="it is not asked any more",
            )
        )


def _takes_part_however_often_it_was_late(run: HostRun) -> None:
    """A backend is slow for a while: each of several calls is given up, and has returned."""
    gates = [run.gate() for _ in range(LATE_CALLS)]
    slow = run.probe(enrich_turn=hanging_at_first(gates, "Noted."))
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host = run.opened(slow, *run.beside(run.probe()), deadlines=pace)
    later: list[dict[str, Any]] = []
    for number, gate in enumerate(gates):
        if not run.wait_until(lambda g=gate: _takes_part(host, slow, later) or g.entered.is_set()):  # type: ignore[misc]
            _is_not_asked_any_more(run, number)
        gate.open()
        gate.left.wait(5.0 * run.scale)
    if not run.wait_until(lambda: _takes_part(host, slow, later)):
        _is_not_asked_any_more(run, len(gates))


def _is_not_asked_any_more(run: HostRun, times: int) -> NoReturn:
    wanted = f"it takes part again once each of {times} late calls has returned"
    seen = "it is not asked any more"
    run.violated(Called(wanted=wanted, hook="enrich_turn", times=0, seen=seen))


@check("MP-HOST-RECALL-004")
def an_answer_of_a_wrong_type_is_left_out_and_reported(run: HostRun) -> None:
    pending: list[Coroutine[Any, Any, str]] = []
    wrong = {what: run.probe(enrich_turn=act) for what, act in _wrong_answers(pending).items()}
    good = [run.probe(enrich_turn=answering("Noted.")) for _ in range(2)]
    gave = {provider.name: what for what, provider in wrong.items()}
    for group in run.groups(wrong.values()):
        taken = run.beside(*good)
        host = run.opened(*taken[:1], *group, *taken[1:])
        answers = host.recall("What was noted?")
        while pending:
            pending.pop().close()
        if answers != {provider.name: "Noted." for provider in taken}:
            run.violated(
                Returned(
                    wanted="the answers of those that gave a str, and no others",
                    value=show(answers),
                )
            )
        for probe in group:
            if not run.wait_until(lambda h=host, p=probe: bool(h.reports.about(p.name)), 2.0):  # type: ignore[misc]
                observed = "there is none"
                run.violated(
                    NotReported(
                        wanted=f"a report about {probe.name}, which gave {gave[probe.name]}",
                        about=probe.name,
                        seen=observed,
                    )
                )


def _first_hangs(gate: Gate, *, has_more: bool = True) -> Callable[..., Any]:
    """The first call hangs, the others answer at once."""
    calls: list[str] = []

    def act(user_message: str, messages: list[dict[str, Any]]) -> Any:
        calls.append(user_message)
        if len(calls) == 1:
            return gate()
        return f"An answer to: {user_message}" if has_more else None

    return act


def _turns_until_it_hangs(run: HostRun, host: Host, gate: Gate) -> list[dict[str, Any]]:
    """One turn; more where the machine gave the provider no time to begin in the first."""
    turns: list[dict[str, Any]] = []

    def hangs() -> bool:
        turns.append(host.recall(_FIRST))
        return gate.entered.is_set()

    if not run.wait_until(hangs):
        run.violated(
            Called(wanted="each provider is asked", hook="enrich_turn", times=0, seen="one was not")
        )
    return turns


def _takes_part(host: Host, provider: Probe, turns: list[dict[str, Any]]) -> bool:
    """Ask once more, and nothing that was asked before; whether the provider was asked, too."""
    before = provider.count("enrich_turn")
    turns.append(host.recall(f"Do you take part again, {len(turns)} turns later?"))
    return provider.count("enrich_turn") > before


def _wrong_answers(pending: list[Coroutine[Any, Any, str]]) -> dict[str, Callable[..., Any]]:
    async def late() -> str:
        return "Noted."

    def coroutine(*args: Any) -> Any:
        pending.append(late())
        return pending[-1]

    return {
        "a number": lambda *args: 7,
        "bytes": lambda *args: b"Noted.",
        "a list": lambda *args: ["Noted."],
        "a dict": lambda *args: {"text": "Noted."},
        "False": lambda *args: False,
        "a coroutine": coroutine,
    }


@check("MP-HOST-RECALL-008")
def a_recall_that_missed_its_deadline_is_reported(run: HostRun) -> None:
    def attempt(deadlines: Deadlines) -> None:
        slow = run.probe(enrich_turn=run.gate("Too late."))
        host = run.opened(slow, *run.beside(run.probe()), deadlines=deadlines)
        host.ask("What was noted?")
        if not slow.count("enrich_turn"):
            run.violated(
                Called(
                    wanted="a recall of each provider",
                    hook="enrich_turn",
                    times=0,
                    seen=f"{slow.name} was not asked",
                )
            )
        if not run.wait_until(lambda: bool(host.reports.about(slow.name)), 2.0):
            observed = "neither event nor log names it"
            run.violated(
                NotReported(
                    wanted="a report about a recall that was given up",
                    about="a recall that was given up",
                    seen=observed,
                )
            )

    run.at_some_pace(attempt)


@check("MP-HOST-RECALL-010")
def the_wall_clock_moves_no_deadline(run: HostRun) -> None:
    with wall_clock() as clock:
        began = clock.now()
        for to in (began + YEARS, began - YEARS):
            provider = run.probe(enrich_turn=_moving(clock, to))
            host = run.opened(provider)
            if "Noted." not in host.recall("What was noted?").values():
                wanted = f"the answer of a provider in whose recall the clock jumps to {to.year}"
                run.violated(Differs(wanted=wanted, seen="it is taken for a late one"))
            host.close()
    if not run.takes("deadlines"):
        return
    # A host that keeps no deadline by any clock is for MP-HOST-RECALL-001.
    _recall_that_hangs(run)
    with wall_clock():
        try:
            _recall_that_hangs(run)
        except HostLate:
            wanted = "a recall that ends at its deadline while the clock stands still"
            run.violated(Differs(wanted=wanted, seen="it had not returned"))
        finally:
            run.open_gates()


def _recall_that_hangs(run: HostRun) -> None:
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host = run.opened(run.probe(enrich_turn=run.gate("Too late.")), deadlines=pace)
    host.recall("What was noted?")


def _moving(clock: WallClock, to: dt.datetime) -> Callable[..., str]:
    """A recall in which somebody sets the clock."""

    def act(user_message: str, messages: list[dict[str, Any]]) -> str:
        clock.jump(to)
        return "Noted."

    return act
