"""Chapter 80: what happens before messages are discarded."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from memproto.deadlines import Deadlines
from memproto.testing.clauses import check
from memproto.testing.evidence import Called, Differs, Misordered, Returned
from memproto.testing.host.host import HostLate, undecided_if_late
from memproto.testing.host.probes import Probe, answering, needs_promise, raising
from memproto.testing.host.run import HostRun
from memproto.testing.instruments.walltime import YEARS, wall_clock
from memproto.testing.wire import show

_MESSAGES = [
    {"role": "user", "content": "Book berth 7."},
    {"role": "assistant", "content": "Berth 7 is booked."},
]

#: No provider comes near it.
_PATIENT = Deadlines(compress_s=20.0)

#: Seconds of the other deadlines, where a compression takes longer than they allow.
_SHORT_S = 0.3

#: Long enough for a host that does not wait to go on.
_HOLD_S = 1.0


@check("MP-HOST-COMP-002")
def messages_are_discarded_when_the_providers_have_read_them(run: HostRun) -> None:
    left, compressed = threading.Event(), threading.Event()

    def read(*args: Any) -> None:
        compressed.wait(_HOLD_S * run.scale)
        left.set()

    provider = run.probe(on_compress=read)
    # A compression may take longer than any other question.
    short_s = _SHORT_S * run.scale
    pace = Deadlines(enrich_s=short_s, ask_s=short_s, turn_start_s=short_s, tool_s=short_s)
    host = run.opened(*run.beside(run.probe()), provider, deadlines=pace)
    host.compress(list(_MESSAGES))
    has_waited = left.is_set()
    compressed.set()
    if not provider.count("on_compress"):
        run.violated(
            Called(wanted="on_compress is called", hook="on_compress", times=0, seen="it was not")
        )
    if not has_waited:
        run.violated(
            Misordered(
                wanted="messages kept until on_compress returned",
                seen="the host had gone on before",
            )
        )
    _they_are_kept_while_the_clock_jumps(run)
    if run.takes("deadlines"):
        _one_that_was_late_reads_the_next_ones(run)


def _one_that_was_late_reads_the_next_ones(run: HostRun) -> None:
    gate, hook = run.gate(), "on_compress"
    provider = run.probe(on_compress=gate)
    host = run.opened(provider, deadlines=Deadlines(compress_s=_SHORT_S * run.scale))
    # A host that waits all the same is for MP-HOST-ISO-006.
    with contextlib.suppress(HostLate):
        host.compress(list(_MESSAGES))
        gate.open()
        if not gate.entered.is_set() or not gate.left.wait(5.0 * run.scale):
            return

        def is_asked() -> bool:
            before = provider.count(hook)
            host.compress(list(_MESSAGES))
            return provider.count(hook) > before

        if not run.wait_until(is_asked):
            wanted = "the next messages for a provider that was late, and has returned"
            run.violated(Called(wanted=wanted, hook=hook, times=0, due=1))


def _they_are_kept_while_the_clock_jumps(run: HostRun) -> None:
    """Somebody sets the clock while a provider reads the messages; nobody has let them go."""
    left, compressed = threading.Event(), threading.Event()

    with wall_clock() as clock:

        def read(*args: Any) -> None:
            clock.jump(clock.now() + YEARS)
            compressed.wait(0.3 * run.scale)
            left.set()

        host = run.opened(run.probe(on_compress=read))
        host.compress(list(_MESSAGES))
        has_waited = left.is_set()
        compressed.set()
        left.wait(5.0 * run.scale)
    if not has_waited:
        wanted = "messages kept until on_compress returned, though the wall clock jumps"
        run.violated(Misordered(wanted=wanted, seen="the host had gone on before"))


@check("MP-HOST-COMP-003")
def the_summary_is_asked_with_the_notes(run: HostRun) -> None:
    first, *more = (run.facts.new() for _ in range(2))
    notes = run.serving("compress_notes", compress_notes=_noting(first.text))
    others = [run.serving("compress_notes", compress_notes=_noting(fact.text)) for fact in more]
    taken = run.beside(*others)
    host = run.opened(notes, *taken)
    asked = host.compress(list(_MESSAGES)).asked
    if not notes.count("compress_notes"):
        needs_promise(notes, "compress_notes")
    for fact in (first, *more[: len(taken)]):
        if fact.name not in asked:
            wanted = f"{show(fact.text)} for the model that summarizes"
            run.violated(Returned(wanted=wanted, value=show(asked)))


def _noting(text: str) -> Any:
    return lambda messages: text


@check("MP-HOST-COMP-004")
def a_checkpoint_that_did_not_return_keeps_the_messages(run: HostRun) -> None:
    errors: tuple[Callable[[], BaseException], ...] = (
        lambda: OSError("no space left"),
        SystemExit,
        asyncio.CancelledError,
    )
    for make in errors:
        failing = run.serving("checkpoint", on_compress=raising(make))
        _assert_kept(run, failing, f"raised {make().__class__.__name__}")
    if run.takes("deadlines"):
        late = run.serving("checkpoint", on_compress=run.gate())
        pace = Deadlines(compress_s=0.3 * run.scale)
        _assert_kept(run, late, "had not returned at the deadline", pace)


def _assert_kept(
    run: HostRun, checkpoint: Probe, came: str, deadlines: Deadlines = _PATIENT
) -> None:
    # Another one has stored them, which is no use to this one.
    stored = run.serving("checkpoint", enrich_turn=answering("Noted."))
    host = run.opened(*run.beside(stored), checkpoint, deadlines=deadlines)
    # Once more: a provider that is not asked, since it has not returned, has not stored them.
    for again in ("", ", and had not when it was asked before"):
        # A host that goes on waiting has let nothing go.
        with undecided_if_late():
            compressed = host.compress(list(_MESSAGES))
        if not compressed.kept:
            wanted = f"messages that are kept, since a checkpoint {came}"
            run.violated(Differs(wanted=wanted, seen=f"they were let go{again}"))


@check("MP-HOST-COMP-005")
def no_checkpoint_holds_the_messages_of_another_context(run: HostRun) -> None:
    run.opened(run.probe(), steps=("compress",))
    for context in ("cron", "subagent", "flush"):
        failing = run.serving("checkpoint", on_compress=raising(lambda: OSError("no space left")))
        host = run.host(*run.beside(run.probe()), failing)
        host.open(agent_context=context)
        host.begin(failing)
        if context in failing.protocol().get("contexts", (context,)):
            continue  # one that the host names, or a host that opens no memory there
        if host.compress(list(_MESSAGES)).kept:
            wanted = f"messages that are let go in the context {context!r}"
            run.violated(Differs(wanted=wanted, seen="they were kept for a checkpoint"))


#: Far beyond what any summary has room for.
_HUGE = 2_000_000


@check("MP-HOST-COMP-006")
def what_a_provider_adds_to_a_summary_is_cut(run: HostRun) -> None:
    # As one line as well, for a host that counts these.
    for line in ("The user has a boat.\n", "The user has a boat. "):
        notes = line * (_HUGE // len(line))
        provider = run.serving("compress_notes", compress_notes=_noting(notes))
        host = run.opened(provider, steps=("compress",))
        asked = len(host.compress(list(_MESSAGES)).asked)
        if not provider.count("compress_notes"):
            needs_promise(provider, "compress_notes")
        run.assert_cut(asked, _HUGE)
