"""Chapter 80: the end of a session."""

import contextlib
import functools
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import thread as pools
from typing import Any

from memproto.deadlines import Deadlines
from memproto.errors import Unavailable
from memproto.testing.clauses import Untestable, check
from memproto.testing.evidence import Called, Differs, Misordered, NotReported
from memproto.testing.host.host import SLACK_S, Host, HostLate, undecided_if_late
from memproto.testing.host.probes import Gate, Probe, answering, raising
from memproto.testing.host.run import HostRun
from memproto.testing.instruments.walltime import YEARS, wall_clock
from memproto.testing.needs import depends_on
from memproto.testing.wire import show

_WRITES = ("on_turn_complete", "on_memory_write")
_COUNT = 20

#: Number of turns that are given up at an end, and a whole number in a report.
_LEFT = 5
_WHOLE = re.compile(r"(?<![\d.])\d+(?![\d.])")

#: Budgets one after the other would take longer than one budget and the machine's slack.
_HANGING = 8

#: Long enough for a host on a loaded machine to come to its shutdown calls.
_HOLD_S = 1.0

#: The same for one that has nothing else to do any more.
_HOLD_OF_THE_LAST_S = 0.3


@check("MP-HOST-SHUT-001")
def queued_writes_are_delivered_before_shutdown(run: HostRun) -> None:
    ended = threading.Event()
    returned: list[Any] = []
    beside: list[bool] = []

    def write(*args: Any) -> None:
        # The first write holds the queue for a moment, in which a host that drains waits for it
        # and one that does not calls shutdown: the order tells them apart, not the time.
        if not returned:
            ended.wait(_HOLD_S * run.scale)
        # And the last one, behind which nothing waits any more.
        if len(returned) == _COUNT - 1:
            ended.wait(_HOLD_OF_THE_LAST_S * run.scale)
        returned.append(args)

    def end() -> None:
        beside.append(len(returned) < busy.count(*_WRITES))
        ended.set()

    busy = run.probe(on_turn_complete=write, on_memory_write=write, shutdown=end)
    host = run.opened(*run.beside(run.probe()), busy)
    for number in range(0, _COUNT, 2):
        host.record(f"Turn {number}.")
        host.write(f"Turn {number + 1}.")
    host.close()
    hooks = [call.hook for call in busy.named(*_WRITES, "shutdown")]
    if "shutdown" not in hooks:
        run.violated(
            Called(
                wanted="shutdown is called after the writes",
                hook="shutdown",
                times=0,
                due=1,
                seen="it was not called",
            )
        )
    delivered = hooks.index("shutdown")
    if delivered != _COUNT:
        run.violated(
            Called(
                wanted=f"{_COUNT} writes before shutdown",
                hook="writes",
                times=delivered,
                due=_COUNT,
                seen=f"{delivered} came before it",
            )
        )
    if any(beside):
        wanted = "shutdown once the last write has returned"
        run.violated(Misordered(wanted=wanted, seen="it came while that write ran"))
    _they_are_delivered_while_the_clock_jumps(run)
    if run.takes("deadlines"):
        _what_is_given_up_is_counted(run)


def _they_are_delivered_while_the_clock_jumps(run: HostRun) -> None:
    """Somebody sets the clock while the queue is drained: the exit budget is not over by that."""
    with wall_clock() as clock:

        def write(*args: Any) -> None:
            ended.wait(_HOLD_OF_THE_LAST_S * run.scale)
            clock.jump(clock.now() + YEARS)

        ended = threading.Event()
        busy = run.probe(on_turn_complete=write, shutdown=ended.set)
        host = run.opened(busy)
        for number in range(_LEFT):
            host.record(f"Turn {number}.")
        host.close()
    hooks = [call.hook for call in busy.named("on_turn_complete", "shutdown")]
    if hooks != ["on_turn_complete"] * _LEFT + ["shutdown"]:
        wanted = f"{_LEFT} turns before shutdown, though the wall clock jumps"
        run.violated(Misordered(wanted=wanted, calls=tuple(hooks)))


def _what_is_given_up_is_counted(run: HostRun) -> None:
    """Each write that is given up is told by itself, or their number is."""
    gate = run.gate()
    hung = run.probe(on_turn_complete=gate)
    host = run.opened(hung, deadlines=Deadlines(shutdown_s=0.3 * run.scale))
    for number in range(_LEFT):
        host.record(f"Turn {number}.")
    gate.entered.wait(5.0 * run.scale)
    before = len(host.reports.about(hung.name))
    # A host that waits all the same is for MP-HOST-SHUT-003.
    with contextlib.suppress(HostLate):
        host.close()
    # One that says nothing is for MP-HOST-SHUT-004.
    run.wait_until(lambda: len(host.reports.about(hung.name)) > before, 1.0)
    reports = host.reports.about(hung.name)[before:]
    told = {int(number) for report in reports for number in _WHOLE.findall(report)}
    # With the one in hand, or without.
    if 0 < len(reports) < _LEFT - 1 and not told & {_LEFT - 1, _LEFT}:
        wanted = f"a report with the number of the turns that were given up, {_LEFT}"
        seen = f"it says {'; '.join(show(report) for report in reports)}"
        run.violated(Differs(wanted=wanted, seen=seen))


@check("MP-HOST-SHUT-002")
def shutdown_of_a_provider_is_called_once(run: HostRun) -> None:
    for callers in (1, 2):
        slow = threading.Event()

        def linger(*args: Any, slow: threading.Event = slow) -> None:
            slow.wait(0.05 * run.scale)

        providers = [
            run.probe(),
            run.probe(shutdown=linger),
            run.probe(shutdown=raising(lambda: RuntimeError("closed already"))),
            run.probe(initialize=raising(lambda: RuntimeError("no database"))),
            # It is open by then, whatever the host makes of one that cannot say what it serves.
            run.probe(capabilities=raising(lambda: RuntimeError("no database"))),
        ]
        for group in run.groups(providers):
            host = run.opened(*group)
            host.ask("Anything?")
            host.close_from(callers)
            slow.set()
            host.close()
        for provider in providers:
            times = provider.count("shutdown")
            if times != 1:
                how = "from two threads at once, then again" if callers == 2 else "twice in a row"
                observed = f"{times} calls when the host's own was called {how}"
                run.violated(
                    Called(
                        wanted="one shutdown of each provider",
                        hook="shutdown",
                        times=times,
                        due=1,
                        seen=observed,
                    )
                )
    if run.takes("deadlines"):
        _is_called_of_one_that_hangs(run)


def _is_called_of_one_that_hangs(run: HostRun) -> None:
    """A provider that hangs in a recall was initialized as well, and is shut down."""
    hung = run.probe(enrich_turn=run.gate())
    budget_s = 0.3 * run.scale
    host = run.opened(hung, deadlines=Deadlines(enrich_s=budget_s, shutdown_s=2 * budget_s))
    # One that waits all the same is for MP-HOST-RECALL-001 and MP-HOST-SHUT-003.
    with contextlib.suppress(HostLate):
        host.ask("Anything?")
        host.close()
        if not run.wait_until(lambda: hung.count("shutdown") == 1, 1.0):
            wanted = "shutdown of a provider that hangs in a recall"
            run.violated(Called(wanted=wanted, hook="shutdown", times=0, due=1))


@check("MP-HOST-SHUT-003", budget_s=240.0)
def shutdown_returns_while_a_provider_hangs(run: HostRun) -> None:
    def attempt(deadlines: Deadlines) -> None:
        good = run.beside(*(run.probe(enrich_turn=answering("Noted.")) for _ in range(3)))
        writing = run.probe(on_turn_complete=run.gate())
        hung = [
            run.probe(shutdown=run.gate()),
            writing,
            run.probe(enrich_turn=run.gate()),
            run.probe(on_compress=run.gate() if run.takes("deadlines") else _nothing),
        ]
        # A preparation of a recall is waited for by nobody.
        hung.append(run.serving("prewarm", queue_prefetch=run.gate()))
        if run.loaded.most is None:
            hung += [run.probe(shutdown=run.gate()) for _ in range(_HANGING)]
        for group in run.groups(hung):
            _assert_ends(run, [*good[:1], *group, *good[1:]], deadlines)
        for provider in [*good, writing]:
            if not run.wait_until(lambda p=provider: p.count("shutdown") == 1, 1.0):  # type: ignore[misc]
                which = "that hangs in a write" if provider is writing else "that does not hang"
                run.violated(
                    Called(
                        wanted=f"shutdown of a provider {which}",
                        hook="shutdown",
                        times=0,
                        due=1,
                        seen="it was not called",
                    )
                )

    run.at_some_pace(attempt)
    if run.takes("deadlines"):
        _ends_while_the_clock_stands_still(run)
        _has_one_budget(run)
    run.needs_also("compress")


def _has_one_budget(run: HostRun) -> None:
    """A drain that takes all of the budget leaves no second one to what comes after it."""
    hung = run.probe(on_turn_complete=run.gate(), shutdown=run.gate())
    # So long that two of them are longer than one and the machine's slack.
    host = run.opened(hung, deadlines=Deadlines(shutdown_s=1.25 * SLACK_S * run.scale))
    host.record("One turn.")
    run.wait_until(lambda: hung.count("on_turn_complete") > 0, 2.0)
    host.close()


def _ends_while_the_clock_stands_still(run: HostRun) -> None:
    """A time server may hold the wall clock: the budget of an exit goes by another one."""
    hung = run.probe(on_turn_complete=run.gate(), shutdown=run.gate())
    host = run.opened(hung, deadlines=Deadlines(shutdown_s=0.3 * run.scale))
    host.record("One turn.")
    run.wait_until(lambda: hung.count("on_turn_complete") > 0, 2.0)
    run.ends_while_the_clock_stands_still("an end of the exit", host.close)


def _assert_ends(run: HostRun, providers: list[Probe], deadlines: Deadlines) -> None:
    """A session of providers some of which hang; its end is waited for."""
    host = run.opened(*providers, deadlines=deadlines)
    host.ask("Anything?")
    host.record("One turn.")
    _compress(host)
    host.close()


def _nothing(*args: Any) -> None:
    """Compression with its full budget of two minutes is not waited for."""


def _compress(host: Host) -> None:
    with undecided_if_late():
        host.offer()


@check("MP-HOST-SHUT-004")
def writes_that_were_given_up_are_reported(run: HostRun) -> None:
    # One that is in hand is given up as those that wait behind it.
    for number in (_LEFT, 1):
        _is_reported_as_given_up(run, number)


def _is_reported_as_given_up(run: HostRun, count: int) -> None:
    gate = run.gate()
    hung = [run.probe(on_turn_complete=gate), *run.beside(run.probe(on_turn_complete=gate))]
    host = run.opened(
        *hung[1:],
        *run.beside(run.probe()),
        *hung[:1],
        deadlines=Deadlines(shutdown_s=0.5 * run.scale),
    )
    for number in range(count):
        host.record(f"Turn {number}.")
    if not run.wait_until(lambda: all(one.count("on_turn_complete") for one in hung)):
        raise Untestable("no turn is recorded at all")
    reported = functools.partial(host.reports.about, is_only=run.loaded.most == 1)
    before = {one.name: len(reported(one.name)) for one in hung}
    host.close()
    for one in hung:
        if one.count("on_turn_complete") == count > 1:
            continue
        if not run.wait_until(lambda p=one: len(reported(p.name)) > before[p.name]):  # type: ignore[misc]
            run.violated(
                NotReported(
                    wanted="a report about the turns that were given up",
                    about=f"the turns that were given up of {one.name}",
                    seen="neither event nor log has it",
                )
            )


#: Number of sessions, one after the other, that are compared with as many before them.
_SESSIONS = 16


@check("MP-HOST-SHUT-005")
def no_thread_is_left_with_each_session(run: HostRun) -> None:
    # The first ones may start what sessions share.
    before = _threads_after(run, _SESSIONS)
    _threads_after(run, _SESSIONS)

    def left() -> int:
        return len(_threads() - before)

    # One thread for each of them is more than any of what they share grows by.
    if not run.wait_until(lambda: left() < _SESSIONS):
        seen = f"{left()} more threads after {_SESSIONS} more sessions"
        run.violated(Differs(wanted="no thread that a session leaves behind", seen=seen))


def _threads_after(run: HostRun, count: int) -> set[threading.Thread]:
    """Threads that are there when so many sessions have come and gone."""
    for _ in range(count):
        host = run.opened(run.probe(enrich_turn=answering("Noted.")))
        if host.has("turn"):
            host.turn("What was noted?")
        host.close()
    return _threads()


def _threads() -> set[threading.Thread]:
    """Threads that are none of the kit's own."""
    return {thread for thread in threading.enumerate() if not thread.name.startswith("kit-")}


@check("MP-HOST-SHUT-006")
def a_shutdown_that_failed_is_reported(run: HostRun) -> None:
    errors: tuple[Callable[[], BaseException], ...] = (
        lambda: OSError("no space left"),
        lambda: Unavailable("the backend is away"),
        SystemExit,
    )
    failing = [run.probe(shutdown=raising(make)) for make in errors]
    for group in run.groups(failing):
        host = run.opened(*group)
        host.record("Book berth 7.")
        host.close()
        for provider in group:
            if not provider.count("shutdown"):
                raise Untestable("a shutdown did not come", depends_on("MP-HOST-SHUT-002"))
            if not run.wait_until(lambda p=provider, h=host: bool(h.reports.about(p.name)), 2.0):  # type: ignore[misc]
                run.violated(NotReported(about=f"shutdown of {provider.name}, which raised"))
    # A host that takes no deadlines has an exit budget that nobody names.
    if run.takes("deadlines"):
        _is_reported_if_it_hangs(run)


def _is_reported_if_it_hangs(run: HostRun) -> None:
    hung = run.probe(shutdown=run.gate())
    is_only = run.loaded.most == 1
    host = run.opened(
        *run.beside(run.probe()), hung, deadlines=Deadlines(shutdown_s=0.5 * run.scale)
    )
    host.record("Book berth 7.")
    # One that waits all the same is for MP-HOST-SHUT-003.
    with undecided_if_late():
        host.close()
    if not hung.count("shutdown"):
        raise Untestable("a shutdown did not come", depends_on("MP-HOST-SHUT-002"))
    if not run.wait_until(lambda: bool(host.reports.about(hung.name, is_only=is_only)), 2.0):
        run.violated(NotReported(about=f"shutdown of {hung.name}, which had not returned"))


@check("MP-HOST-SHUT-007")
def no_call_that_hangs_holds_the_process(run: HostRun) -> None:
    # A shutdown that hangs takes the whole exit budget of a host that takes no other one.
    hooks = ("enrich_turn", "on_turn_complete", *(["shutdown"] if run.takes("deadlines") else []))
    for hook in hooks:
        gate = run.gate()
        provider = run.probe(**{hook: gate})
        budget_s = 0.3 * run.scale
        host = run.opened(provider, deadlines=Deadlines(enrich_s=budget_s, shutdown_s=2 * budget_s))
        # A host that waits for it is for MP-HOST-RECALL-001, MP-HOST-TURN-002 and MP-HOST-SHUT-003.
        with contextlib.suppress(HostLate):
            host.ask("Anything?") if hook == "enrich_turn" else host.record("One turn.")
            if hook == "shutdown":
                host.close()
        if not gate.entered.wait(5.0 * run.scale):
            if hook == "shutdown":
                return  # A host that does not call it is for MP-HOST-SHUT-002.
            raise Untestable(f"{hook} is not called", depends_on("MP-HOST-INIT-005"))
        if held := [thread for thread in _threads() if _is_joined(thread) and _is_in(thread, gate)]:
            seen = f"{hook} hangs on {held[0].name!r}, which the interpreter waits for"
            run.violated(Differs(wanted="a process that can end while a provider hangs", seen=seen))


def _is_joined(thread: threading.Thread) -> bool:
    """True if the interpreter waits for a thread when it ends; one of a pool may be a daemon."""
    return not thread.daemon or thread in pools._threads_queues  # noqa: SLF001 - as below


def _is_in(thread: threading.Thread, gate: Gate) -> bool:
    """True if a thread hangs at the gate."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the only view of it
    while frame is not None and frame.f_locals.get("self") is not gate:
        frame = frame.f_back
    return frame is not None
