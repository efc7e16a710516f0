"""Chapter 81: how the process ends, and several processes on one store."""

import json
import signal
from collections.abc import Callable
from typing import Any, NoReturn

from memproto.testing.clauses import Behind, Lost, NotApplicable, Untestable, Violation, check
from memproto.testing.conditions import Declared
from memproto.testing.evidence import Died, Differs, Evidence, NotRecalled, Repeated
from memproto.testing.facts import Fact
from memproto.testing.lifetimes import changes, store_files
from memproto.testing.lifetimes.changes import Change
from memproto.testing.lifetimes.ends import EXIT_S, Ended, HostProcess, not_lived
from memproto.testing.lifetimes.ends_process import EXIT_CODE, TERMINATED
from memproto.testing.lifetimes.races import Race, Races
from memproto.testing.lifetimes.same_process import run_here
from memproto.testing.needs import SET_UP, depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run

#: A race that was seen is sought so often again.
_TRIES = 3

#: A host of another process loads, opens and stores before it ends.
_BUDGET_S = 300.0

#: Times that a process ends with threads inside of hooks, for each profile.
_ENDS = {"quick": 2, "ci": 5, "deep": 50}

#: Calls of Python functions in a hook after which the user interrupts.
_POINTS = {"quick": [2, 9], "ci": [1, 3, 9, 25], "deep": [1, 2, 3, 4, 6, 9, 14, 25, 50, 100]}

#: The same, where a signal ends the process; a host of its own for each hook and signal.
_ENDING_POINTS = {"quick": [2], "ci": [2, 5], "deep": [1, 2, 3, 5, 9, 14]}

#: The hooks in which it comes.
_HOOKS = ("open", "recall", "record", "mirror", "compress", "close")

#: The exit code by which each ends a host: Ctrl+C that nobody caught, and what init sends.
_SIGNALS = {signal.SIGINT: -signal.SIGINT, signal.SIGTERM: TERMINATED}

#: A call that no hook comes to: nobody interrupts.
_NEVER = 1 << 40

#: Parts of the way through storing one text at which the process is killed.
_PARTS = {
    "quick": [0.3, 0.7],
    "ci": [0.1, 0.3, 0.5, 0.7, 0.9],
    "deep": [step / 20 for step in range(1, 20)],
}

#: Moments of one call in which a host is killed at most.
_MOMENTS = {"quick": 2, "ci": 4, "deep": 16}

#: Script of a simple end to the rule on it, and how the host ends.
_SIMPLER = {
    "plain": ("MP-PROC-001", "after shutdown"),
    "forgets": ("MP-PROC-002", "where the host returns and calls no shutdown"),
}

#: Scripts of hosts that call shutdown.
_SHUT_DOWN = ("plain", "at_exit")

#: Number of texts that each of two processes stores.
_EACH = 10


def _route(run: Run) -> str:
    """The route by which a host of another process stores: turns, else writes."""
    return run.needs_route("turns", "writes")


def _any_route(run: Run) -> str:
    """The same where nothing has to come back: how a process ends concerns every provider."""
    try:
        return _route(run)
    except (NotApplicable, Untestable):
        return "turns"


def _host(run: Run, script: str, facts: list[Fact], **told: Any) -> HostProcess:
    return HostProcess(run, script, [fact.text for fact in facts], **told)


def _lived(ended: Ended, mark: str) -> None:
    """If a host did not come so far, another rule was broken, or the machine is to blame."""
    if mark not in ended.marks:
        not_lived(ended, f"a host in a process of its own did not come to {mark!r}: {ended.ending}")


def _came_to_its_end(ended: Ended) -> None:
    """An exception on the way to the end of a host says nothing of ends."""
    if ended.code is not None:
        _lived(ended, "ending")


def _ends(run: Run, script: str, code: int, how: str, *simpler: str) -> Ended:
    """
    A host ends in its time, with its own exit code.

    It goes on after an exception of a hook that stores, as an agent does: its backend may be away.
    If a `simpler` end fails as well, this one proves nothing.
    """
    texts, route = run.facts.several(2), _any_route(run)
    ended = _host(run, script, texts, route=route, is_forgiving=True).end()
    _lived(ended, "opened")
    _came_to_its_end(ended)
    fault = _fault(ended, script, code)
    if fault and _is_raised_by_shutdown(ended, script):
        _behind_shutdown(fault)
    if fault:
        for other in simpler:
            _not_of(run, other)
        unheard = " and no complaint of the interpreter's" if script in _SHUT_DOWN else ""
        expected = f"exit code {code} within {EXIT_S:g} s{unheard}"
        run.violated(Died(wanted=f"{expected}, {how}", ending=fault, own=True), operation="close")
    return ended


def _is_raised_by_shutdown(ended: Ended, script: str) -> bool:
    """True if shutdown let an exception through, which is the end of this host."""
    return (
        script == "plain"
        and ended.code == 1
        and bool(ended.trouble)
        and "closed" not in ended.marks
    )


def _behind_shutdown(fault: str) -> NoReturn:
    """
    Tell of a shutdown that raised: the process ended by that, and not as its program would.

    Raises:
        Behind: Always.

    """
    rule = "MP-SHUT-001"
    seen = Died(wanted="shutdown returns", ending=fault, own=True)
    violation = Violation(seen, operation="close", requirement=rule)
    raise Behind(f"shutdown raised ({fault})", violation, depends_on(rule))


def _fault(ended: Ended, script: str, code: int) -> str:
    if ended.code != code:
        return f"{ended.ending}{f'; {ended.trouble}' if ended.trouble else ''}"
    # An instance that was never shut down may say so.
    return f"its last words: {ended.trouble}" if ended.trouble and script in _SHUT_DOWN else ""


def _not_of(run: Run, script: str) -> None:
    """
    See that a simpler end is well, so that it is not this that fails.

    Raises:
        Behind: It is not: its own rule is violated, whether its own check has met that or not.

    """
    texts, route = run.facts.several(1), _any_route(run)
    ended = _host(run, script, texts, route=route, is_forgiving=True).end()
    _came_to_its_end(ended)
    if fault := _fault(ended, script, 0):
        if _is_raised_by_shutdown(ended, script):
            _behind_shutdown(fault)
        known, how = _SIMPLER[script]
        expected = f"exit code 0 within {EXIT_S:g} s, {how}"
        violation = Violation(
            Died(wanted=expected, ending=fault, own=True), operation="close", requirement=known
        )
        raise Behind(f"a simpler end fails as well ({fault})", violation, depends_on(known))


@check("MP-PROC-001", calls_alone=False, budget_s=_BUDGET_S)
def a_process_ends_after_shutdown(run: Run) -> None:
    _ends(run, "plain", 0, "after shutdown")


@check("MP-PROC-002", calls_alone=False, budget_s=_BUDGET_S)
def a_process_ends_without_shutdown(run: Run) -> None:
    for script, code in (("forgets", 0), ("fails", 1), ("exits", EXIT_CODE)):
        _ends(run, script, code, f"where the host {script} and calls no shutdown", "plain")


@check("MP-PROC-003", calls_alone=False, budget_s=_BUDGET_S)
def shutdown_may_come_when_the_interpreter_ends(run: Run) -> None:
    how = "where shutdown is called by a function of atexit"
    ended = _ends(run, "at_exit", 0, how, "plain", "forgets")
    if "closed" not in ended.marks:
        run.violated(
            Died(wanted=f"shutdown returns, {how}", ending=ended.ending, own=True),
            operation="close",
        )
    fact = run.facts.new()
    _host(run, "at_exit", [fact], route=_route(run)).end()
    if not losses.is_stored(run, fact):
        _needs_return(run)
        run.violated(
            NotRecalled(wanted=f"text that was accepted is stored, {how}", texts=(fact.text,))
        )


def _needs_return(run: Run, count: int = 1) -> None:
    """
    Go on only where as many facts come back from one process that shuts down before it ends.

    Raises:
        Behind: They do not, though they do if one process stores and asks: MP-PROC-010 is violated.
        Untestable: They do not: a loss proves nothing.

    """
    facts, route = run.facts.several(count), _route(run)
    with store_files.elsewhere(run):
        ended = _host(run, "plain", facts, route=route).end()
        _needs_to_outlive(run, route, facts, ended)


def _needs_to_outlive(run: Run, route: str, facts: list[Fact], ended: Ended) -> None:
    """
    Go on only where the facts that a process stored in one session come back when it has ended.

    Raises:
        Behind: See `_needs_return`.
        Untestable: They do not.

    """
    _not_of_its_end(ended)
    lost = losses.lost(run, facts)
    if not lost:
        return
    reason = "text of a process that is shut down before it ends does not come back either"
    if run.is_selective:
        raise Lost(reason, depends_on("MP-TURN-001", "MP-PROC-001"))
    _comes_back_in_one_process(run, route, "plain", len(facts))
    seen = _taken_along(lost, len(facts), "a session")
    violation = Violation(seen, operation=routes.OPERATIONS[route], requirement="MP-PROC-010")
    raise Behind(reason, violation, depends_on("MP-PROC-010"))


def _not_of_its_end(ended: Ended) -> None:
    """
    Go on only where a process that was shut down has ended as it should.

    Raises:
        Behind: It has not: the rule on that is violated.
        Untestable: It did not come to its end.

    """
    _came_to_its_end(ended)
    if fault := _fault(ended, "plain", 0):
        if _is_raised_by_shutdown(ended, "plain"):
            _behind_shutdown(fault)
        known, how = _SIMPLER["plain"]
        expected = f"exit code 0 within {EXIT_S:g} s, {how}"
        violation = Violation(
            Died(wanted=expected, ending=fault, own=True), operation="close", requirement=known
        )
        raise Behind(f"a process that is shut down fails ({fault})", violation, depends_on(known))


@check("MP-PROC-004", calls_alone=False, budget_s=_BUDGET_S)
def a_process_may_end_while_hooks_run(run: Run) -> None:
    for _ in range(_ENDS[run.context.profile]):
        how = "while two daemon threads are inside of hooks"
        _ends(run, "busy", 0, how, "plain", "forgets")


@check("MP-PROC-005", calls_alone=False, budget_s=_BUDGET_S)
def an_interrupt_loses_nothing_that_was_accepted(run: Run) -> None:
    facts, points = run.facts.several(2), _POINTS[run.context.profile]
    ended = _interrupted(run, facts, points)
    _lived(ended, "opened")
    how = "after the user pressed Ctrl+C inside of hooks"
    if "closed" not in ended.marks:
        _lived(_interrupted(run, facts, [_NEVER]), "closed")
        expected = f"the hooks work and shutdown returns, {how}"
        run.violated(
            Died(wanted=expected, ending=ended.trouble or ended.ending, own=True), operation="close"
        )
    lost = losses.lost(run, facts)
    if lost:
        _needs_return(run, len(facts))
        _needs_peace(run, len(points))
        run.violated(
            NotRecalled(
                wanted=f"text that was accepted before and after is recalled, {how}",
                texts=(lost[0].text,),
            )
        )


def _interrupted(run: Run, facts: list[Fact], points: list[int]) -> Ended:
    """The end of a host in whose calls Ctrl+C came, of those that change the store as well."""
    route, ready = _route(run), changes.prepared(run)
    calls = [change.told() for change in ready.rounds[0]]
    switches = [change.told() for change in ready.last if change.operation == "switch"]
    ends = [change.told() for change in ready.last if change.operation == "end"]
    told = {"calls": calls, "switches": [switches] if switches else [], "ends": ends}
    return _host(run, "interrupted", facts, route=route, points=points, **told).end()


def _needs_peace(run: Run, rounds: int) -> None:
    """
    Go on only where the same hooks cost nothing while nobody presses Ctrl+C.

    An interrupted turn may be stored or not: any number of turns up to that one is tried.

    Raises:
        Untestable: They do: a batch that is not full, or a compression, loses it as well.

    """
    for count in range(rounds + 1):
        facts = run.facts.several(2)
        _interrupted(run, facts, [_NEVER] * count)
        if losses.lost(run, facts):
            reason = f"{facts[0].text!r} or what followed it is lost without Ctrl+C too"
            raise Untestable(reason, depends_on("MP-TURN-001", "MP-TURN-003", "MP-COMP-003"))


@check("MP-PROC-006", calls_alone=False, budget_s=_BUDGET_S)
def what_was_stored_survives_a_kill(run: Run) -> None:
    facts, others = run.facts.several(3), run.facts.several(2)
    route = _route(run)
    ended = _host(run, "plain", facts, route=route).end()
    _lived(ended, "closed")
    _needs_to_outlive(run, route, facts, ended)
    with store_files.still_opens(run, "after a process was killed in the middle of a write"):
        for part in _PARTS[run.context.profile]:
            _lived(_host(run, "killed", others, route=route, part=part).end(), "opened")
            if lost := losses.lost(run, facts):
                run.violated(
                    NotRecalled(
                        wanted=(
                            "text that an earlier session had stored is recalled after a process"
                            " was killed in the middle of a write"
                        ),
                        texts=tuple(fact.text for fact in lost),
                        of=len(facts),
                    ),
                )
        _survives_in_each_call(run)


def _survives_in_each_call(run: Run) -> None:
    """
    The same for each other call that changes the store.

    A host makes the calls and tells in which moments the files with the texts are not as they were,
    and not all files below the home as they will be; a host is killed in some of these. A provider
    that writes a new file beside the old one, or keeps a database, has no such moment.
    """
    ready = changes.prepared(run)
    made = [*ready.rounds[0], *ready.last]
    kept = changes.brought(run, ready.kept)
    watched = [str(path) for path in store_files.files(run, kept)]
    if not made or not watched:
        return
    with store_files.Pristine(run, kept) as pristine:
        told: dict[str, Any] = {"calls": [change.told() for change in made], "watched": watched}
        told["home"] = str(run.home)
        seen = _host(run, "watched", [], **told).end()
        for number, change in enumerate(made):
            for moment in _some(_moments(seen, number), run.context.profile):
                pristine.restore()
                told["calls"] = [one.told() for one in made[: number + 1]]
                _lived(_host(run, "killed_at", [], **told, moment=moment).end(), "opened")
                _is_left(run, kept, change)


def _moments(seen: Ended, number: int) -> list[int]:
    sign = f"moments {number} "
    found = [mark.removeprefix(sign) for mark in seen.marks if mark.startswith(sign)]
    return json.loads(found[0]) if found else []


def _some(moments: list[int], profile: str) -> list[int]:
    """As many of the moments as a profile has time for, from the first to the last."""
    most = _MOMENTS[profile]
    if len(moments) <= most:
        return moments
    return [moments[place * (len(moments) - 1) // (most - 1)] for place in range(most)]


def _is_left(run: Run, kept: list[Fact], change: Change) -> None:
    if lost := losses.lost(run, kept):
        run.violated(
            NotRecalled(
                wanted=(
                    "text that an earlier session had stored is recalled after a process was killed"
                    f" in the middle of {change.what}"
                ),
                texts=tuple(fact.text for fact in lost),
                of=len(kept),
            ),
            operation=change.operation,
        )


def _stored_at_once(run: Run, races: Races | None = None) -> tuple[list[Fact], list[Ended]]:
    """The texts that two processes stored at the same time, and their ends; the races follow."""
    facts = run.facts.several(2 * _EACH)
    parts, route = (facts[:_EACH], facts[_EACH:]), _route(run)
    watched, *rows = (races.watched, races.pausing, races.adding) if races else ([], [], [])
    told = [{"route": route, "watched": watched, "races": row} for row in rows]
    hosts = [
        _host(run, "waits_to_write", part, **more) for part, more in zip(parts, told, strict=True)
    ]
    ready = [host.comes_to("opened") for host in hosts]
    for host in hosts:
        host.go()
    if races:
        races.drive(*hosts)
    ended = [host.end() for host in hosts]
    if not all(ready):
        _lived(ended[ready.index(False)], "opened")
    accepted = [
        fact
        for part, end in zip(parts, ended, strict=True)
        for number, fact in enumerate(part)
        if f"stored {number}" in end.marks
    ]
    return accepted, ended


_SHARED = (
    Declared("single_writer", False, none_of=(True,), otherwise="it declares a single writer"),
    Declared(
        "isolates",
        [],
        none_of=("session",),
        otherwise="each session has a memory of its own, and no two share one",
    ),
)


@check("MP-PROC-007", calls_alone=False, budget_s=_BUDGET_S, declares=_SHARED)
def two_processes_lose_none_of_each_others_writes(run: Run) -> None:
    races = Races(run, _route(run))
    with store_files.still_opens(run, "after two processes wrote to it at the same time"):
        _lose_nothing(run, races)


def _lose_nothing(run: Run, races: Races) -> None:
    accepted, ended = _stored_at_once(run, races)
    if losses.lost(run, accepted):
        # One of the calls of the races may take away more than it should, which is another rule's.
        accepted, _ = _stored_at_once(run)
    if lost := losses.lost(run, accepted):
        _needs_return(run, len(accepted))
        run.violated(
            NotRecalled(
                wanted=(
                    f"all {len(accepted)} texts that two processes stored at the same time are "
                    "recalled"
                ),
                texts=tuple(fact.text for fact in lost),
                of=len(accepted),
            ),
        )
    for race in races.judged(*ended):
        if race.fault and (fault := _fault_alone(run, race)) and not race.fails_in_turn():
            run.violated(
                fault.told(
                    wanted=(
                        "text that one process stores while another is about to change the store"
                        " is recalled, and the change is made"
                    ),
                ),
                operation=race.change.operation,
            )


def _fault_alone(run: Run, race: Race) -> Evidence | None:
    """
    The fault that such a race shows if it is the only one; None for nothing in a few tries.

    On a busy machine the second process may come too late to be in the midst of the call.
    """
    for _ in range(_TRIES):
        again = race.alone()
        _, ended = _stored_at_once(run, again)
        if fault := next((one.fault for one in again.judged(*ended) if one.fault), None):
            return fault
    return None


@check("MP-PROC-008", calls_alone=False, budget_s=_BUDGET_S)
def a_signal_inside_of_a_hook_ends_the_process(run: Run) -> None:
    points = _ENDING_POINTS[run.context.profile]
    hooks = [name for name in _HOOKS if not run.lacks(name)]
    told = [(name, number) for name in hooks for number in _SIGNALS]
    if run.context.profile == "quick":
        # Each hook once, and each signal in half of them.
        told = [(name, list(_SIGNALS)[place % 2]) for place, name in enumerate(hooks)]
    for operation, number in told:
        for point in points:
            _ends_by_signal(run, operation, number, point)


def _ends_by_signal(run: Run, operation: str, number: signal.Signals, point: int) -> None:
    asked = {"operation": operation, "signal": number, "point": point}
    ended = _host(run, "signalled", run.facts.several(1), route=_any_route(run), **asked).end()
    if "signalled" not in ended.marks or ended.code == _SIGNALS[number]:
        return
    how = f"{number.name} came inside of {run.hook(operation)} and the program did not catch it"
    if ended.code is None:
        _not_of(run, "forgets")
        run.violated(
            Died(
                wanted=f"the process ends within {EXIT_S:g} s when {how}",
                ending=ended.ending,
                own=True,
            )
        )
    # An exception in a destructor goes no further; the interpreter says so.
    if ended.code == 0 and not ended.trouble:
        run.violated(
            Differs(
                wanted=f"the process ends by it when {how}",
                seen="the hook returned as if nothing had been",
            )
        )


@check("MP-PROC-009", calls_alone=False, budget_s=_BUDGET_S)
def a_fork_costs_the_session_nothing(run: Run) -> None:
    facts, scale = run.facts.several(2), run.context.scale * run.context.slowdown
    ended = _host(run, "forked", facts, route=_any_route(run), copy_s=EXIT_S * scale).end()
    _lived(ended, "forked")
    how = "where its process was forked and the copy called no hook and ended"
    if "copy 0" not in ended.marks:
        _not_of(run, "forgets")
        copy = next(mark for mark in ended.marks if mark.startswith("copy "))
        run.violated(
            Died(
                wanted=f"the copy ends with exit code 0 within {EXIT_S:g} s, {how}",
                ending=copy,
                own=True,
            )
        )
    if "closed" not in ended.marks:
        _not_of(run, "plain")
        _lives_unforked(run)
        run.violated(
            Died(
                wanted=f"the hooks work and shutdown returns, {how}",
                ending=ended.trouble or ended.ending,
                own=True,
            )
        )
    _keeps_both(run, facts, how)


def _lives_unforked(run: Run) -> None:
    """The same calls without a fork: a recall may raise because its backend is away."""
    ended = _host(run, "unforked", run.facts.several(2), route=_any_route(run)).end()
    if "closed" not in ended.marks:
        said = f"without a fork the session fails as well: {ended.trouble or ended.ending}"
        raise Untestable(said, SET_UP)


def _keeps_both(run: Run, facts: list[Fact], how: str) -> None:
    """Texts stored before the fork and after it are stored, and neither of them twice."""
    run.needs_route("turns", "writes")
    if lost := losses.lost(run, facts):
        _needs_return(run, len(facts))
        _needs_the_fork(run, lambda others: losses.lost(run, others))
        run.violated(
            NotRecalled(wanted=f"text that was accepted is recalled, {how}", texts=(lost[0].text,))
        )
    before, after = (losses.count(run, fact) for fact in facts)
    if before > after > 0:
        _needs_the_fork(run, lambda others: _is_twice(run, others))
        run.violated(
            Repeated(
                wanted=f"each text is stored once, {how}",
                text=facts[0].text,
                times=before,
                usual=after,
                lead=f"{facts[0].text!r}: ",
            )
        )


def _needs_the_fork(run: Run, fault: Callable[[list[Fact]], object]) -> None:
    """
    Go on only where the same calls without a fork do not show the fault.

    Raises:
        Lost: They do.

    """
    facts = run.facts.several(2)
    with store_files.elsewhere(run):
        _host(run, "unforked", facts, route=_any_route(run)).end()
        if fault(facts):
            rules = depends_on("MP-TURN-001", "MP-TURN-004")
            raise Lost("the same calls without a fork do that as well", rules)


def _is_twice(run: Run, facts: list[Fact]) -> bool:
    """True if the first text is stored more often than the second."""
    before, after = (losses.count(run, fact) for fact in facts)
    return before > after > 0


@check("MP-PROC-010", calls_alone=False, budget_s=_BUDGET_S, routes=("turns", "writes"))
def what_a_process_stored_outlives_it(run: Run) -> None:
    for route in filter(run.serves, ("turns", "writes")):
        facts = run.facts.several(3)
        ended = _host(run, "twice", facts, route=route, calls=[]).end()
        _lived(ended, "closed")
        if lost := losses.lost(run, facts):
            _not_of_its_end(ended)
            _comes_back_in_one_process(run, route, "twice", len(facts), calls=[])
            seen = _taken_along(lost, len(facts), "two sessions")
            run.violated(seen, operation=routes.OPERATIONS[route])


def _taken_along(lost: list[Fact], count: int, sessions: str) -> NotRecalled:
    """Texts that a process took with it, of so many that it stored in its `sessions`."""
    return NotRecalled(
        wanted=(
            f"text that another process stored in {sessions}, recalled when it was shut down and"
            " has ended"
        ),
        texts=tuple(fact.text for fact in lost),
        of=count,
        tail=", while text that this process stored does, after shutdown",
    )


def _comes_back_in_one_process(run: Run, route: str, script: str, count: int, **told: Any) -> None:
    """
    Go on only where as many texts come back to the process that stored them by the same calls.

    Raises:
        Lost: They do not: the end of a process is not what costs them.
        Untestable: One process cannot make these calls.

    """
    facts = run.facts.several(count)
    run_here(run, script, facts, route=route, **told)
    if losses.lost(run, facts):
        rules = depends_on(*routes.RULES[route])
        raise Lost("text that this process stored does not come back to it either", rules)
