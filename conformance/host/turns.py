"""Chapter 80: which turns are recorded, and what is told of them beside their texts."""

import contextlib
import copy
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memproto.deadlines import Deadlines
from memproto.testing.clauses import NotApplicable, Untestable, Violation, check
from memproto.testing.driver import SwitchKind
from memproto.testing.evidence import Called, Differs, Misordered, Returned
from memproto.testing.host.host import Host, HostLate
from memproto.testing.host.model import failing_model, repeated, saying
from memproto.testing.host.probes import Extended, Probe, answering, needs_promise, raising
from memproto.testing.host.run import HostRun
from memproto.testing.host.words import PAGES, UNUSUAL
from memproto.testing.needs import depends_on
from memproto.testing.wire import show

_TURN = "on_turn_complete"

#: A write is held so long, for what should wait behind it to overtake it.
_HOLD_S = 1.0

#: A text whose lines, gaps and backslashes mean something, as those of a program do.
_LAID_OUT = "It says:  \n\n\n\n        C:\\new\\1 \\g<0> %s\n \t\n"

#: Number of writes that wait, some of them perhaps on their way to the queue.
_QUEUED = 20

#: As long as a write waits for a host that does not wait for it to forget.
_QUEUED_S = 0.4

#: Hooks of the lane of the writes, and the words for one that waits.
_WAITING = {
    _TURN: "turn",
    "on_memory_write": "mirrored write",
    "record": "recorded turn",
    "on_delegation": "delegation",
}

_SERVED_BY = {"record": ("record",), "on_delegation": ("delegation",)}

_NEVER_CALLED = "`forget` of the provider is not called"


def _recorded(run: HostRun, provider: Probe, count: int) -> list[tuple[Any, ...]]:
    """The turns that a provider got, once there are so many, or a while has passed."""
    run.wait_until(lambda: provider.count(_TURN) >= count, 2.0)
    return [call.args for call in provider.named(_TURN)]


def _assert_only_the_next_is_recorded(
    run: HostRun, host: Host, provider: Probe, what: str, *, step: str
) -> None:
    """One ordinary turn; nothing of the one before it reached the provider."""
    wanted = _answered(host, "Book berth 7.", "Berth 7 it is.")
    run.wait_until(lambda: any(wanted.is_in(c.args) for c in provider.named(_TURN)), 2.0)
    found = [call.args for call in provider.named(_TURN)]
    others = [turn for turn in found if not wanted.is_in(turn)]
    # A turn that holds more than the next one was said holds something of the one before it.
    is_joined = any(wanted.user in str(turn[0]) for turn in others)
    if len(others) == len(found) and not is_joined:
        raise Untestable(
            f"the next turn is not recorded: {show(found)}", depends_on("MP-HOST-TURN-007")
        )
    if len(found) != 1 or is_joined:
        other = others[0] if others else found[0]
        run.violated(
            Returned(wanted=f"nothing of a turn that {what}", value=show(other)), operation=step
        )


class _Turn(NamedTuple):
    """A turn as it was said: the user's words, the model's, and what the user saw of these."""

    user: str
    answer: str
    shown: str

    def is_in(self, recorded: tuple[Any, ...]) -> bool:
        """True if it was recorded so; a host may add to what it shows, as by a signature."""
        return recorded[0] == self.user and recorded[1] in (self.answer, self.shown)


def _answered(host: Host, user: str, *pieces: str, step: str = "turn") -> _Turn:
    """One turn of the user, which the model answers."""
    host.model.answer = saying(*pieces)
    return _Turn(user, "".join(pieces), host.turn(user, step=step))


@check("MP-HOST-TURN-004")
def a_turn_that_was_broken_off_is_not_recorded(run: HostRun) -> None:
    run.needs_agent()
    provider = run.probe()
    host = run.opened(provider, steps=("interrupt", "turn"))
    # The second one is broken off behind a whole sentence, which reads as an answer.
    for answer in (("I book ", "berth 4.", " Done."), ("I book berth 4. ", "Done.")):
        host.model.answer = saying(*answer)
        host.turn("Book a berth.", step="interrupt")
    _assert_only_the_next_is_recorded(run, host, provider, "was broken off", step="interrupt")
    # It may be the last one: a host that keeps it until the next turn has it still at the end.
    for step in ("end", "exit"):
        provider = run.serving("record", "sessions")
        plain = run.beside(run.probe())
        host = run.opened(provider, *plain)
        if not host.has(step):
            continue
        host.model.answer = saying("I book ", "berth 4.", " Done.")
        host.turn("Book a berth.", step="interrupt")
        if step == "end":
            host.end()
        host.close()
        for told in (call for one in (provider, *plain) for call in one.named(_TURN, "record")):
            wanted = "nothing of a turn that was broken off, when its session ends"
            run.violated(Returned(wanted=wanted, value=show(told.args)), operation="interrupt")


@check("MP-HOST-TURN-005")
def a_turn_whose_answer_was_refused_is_not_recorded(run: HostRun) -> None:
    run.needs_agent()
    provider = run.probe()
    host = run.opened(provider, steps=("reject", "turn"))
    host.model.answer = saying("The code of the gate is 4711.")
    host.turn("What is the code of the gate?", step="reject")
    _assert_only_the_next_is_recorded(run, host, provider, "a guardrail refused", step="reject")


@check("MP-HOST-TURN-009")
def no_provider_is_handed_an_answer_that_was_refused(run: HostRun) -> None:
    run.needs_agent()
    fact = run.facts.new()
    provider = run.serving("sessions")
    host = run.opened(provider, steps=("reject", "turn"))
    host.model.answer = saying(fact.text)
    host.turn("What is the code of the gate?", step="reject")
    _answered(host, "Book berth 7.", "Berth 7 it is.")
    if host.has("end"):
        host.end()
    host.close()
    # A turn of it is for MP-HOST-TURN-005.
    for call in (call for call in provider.calls if call.hook not in (_TURN, "record")):
        if fact.name in repr(call.args):
            run.violated(
                Returned(
                    wanted="nothing of an answer that a guardrail refused",
                    value=show(call.args),
                    lead=f"`{call.hook}` gets ",
                ),
                operation="reject",
            )


@check("MP-HOST-TURN-006")
def a_turn_without_an_answer_is_not_recorded(run: HostRun) -> None:
    run.needs_agent()
    for step in ("turn", "stream"):
        provider = run.probe()
        host = run.opened(provider, steps=("turn",))
        if not host.has(step):
            continue
        host.model.answer = failing_model
        host.try_turn("Which berth is free?", step=step)
        host.model.answer = _failing_behind("Berth 7 ")
        host.try_turn("And which one tomorrow?", step=step)
        _assert_only_the_next_is_recorded(run, host, provider, "got no answer", step=step)


def _failing_behind(piece: str) -> Callable[[list[dict[str, Any]]], Iterator[str]]:
    """A model whose answer breaks off behind its first piece."""

    def answer(request: list[dict[str, Any]]) -> Iterator[str]:
        yield piece
        failing_model(request)

    return answer


@check("MP-HOST-TURN-007")
def each_answered_turn_is_recorded_once(run: HostRun) -> None:
    run.needs_agent()
    provider = run.probe(enrich_turn=answering("The harbour opens at six."))
    host = run.opened(provider, steps=("turn",))
    expected: list[_Turn] = []
    for step in ("turn", "stream", "turn"):
        if host.has(step):
            number = len(expected)
            said = f"Question {number}?", "Berth ", f"{number}."
            expected.append(_answered(host, *said, step=step))
    for step in filter(host.has, ("turn", "stream")):
        expected += [_answered(host, user, answer, step=step) for user, answer in _unusual()]
    found = _recorded(run, provider, len(expected))
    host.close()
    found = _recorded(run, provider, len(expected))
    if len(found) != len(expected) or not all(map(_Turn.is_in, expected, found)):
        wanted = _shown([turn[:2] for turn in expected])
        run.violated(Returned(wanted=f"the turns {wanted}", value=_shown(found)), operation="turn")
    _turns_of_a_resumed_session_are_recorded(run)
    _a_turn_behind_one_that_was_left_is_recorded(run)


def _a_turn_behind_one_that_was_left_is_recorded(run: HostRun) -> None:
    """A turn that was broken off, refused or got no answer takes no other one with it."""
    provider = run.probe()
    host = run.opened(provider)
    for number, step in enumerate(("interrupt", "reject", "turn")):
        if not host.has(step):
            continue
        host.model.answer = saying("I book ", "all of them.")
        if step == "turn":
            host.model.answer = failing_model
            try:
                host.try_turn("Book all of them.")
            except Untestable:
                return  # It goes on trying, which is its own affair.
        else:
            host.turn("Book all of them.", step=step)
        wanted = _answered(host, f"Book berth {number}.", f"Berth {number} it is.")
        if run.wait_until(lambda t=wanted: _is_recorded(provider, t), 2.0):  # type: ignore[misc]
            continue
        host.close()  # A host may hand a turn over when its session ends.
        # One that holds words of the turn that was left as well is for MP-HOST-TURN-004.
        told = [str(call.args[0]) for call in provider.named(_TURN)]
        if not _is_recorded(provider, wanted) and not any(wanted.user in text for text in told):
            found = _shown([call.args for call in provider.named(_TURN)])
            what = f"the turn {_shown([wanted[:2]])} behind one by `{step}` that was left"
            run.violated(Returned(wanted=what, value=found), operation=step)
        return


def _is_recorded(provider: Probe, turn: _Turn) -> bool:
    return any(turn.is_in(call.args) for call in provider.named(_TURN))


def _turns_of_a_resumed_session_are_recorded(run: HostRun) -> None:
    """A session that ended is no end of the agent: what is said in the next one is recorded."""
    provider = run.serving("sessions")
    host = run.opened(provider)
    if not host.has("end") or not host.has("switch resume"):
        return
    host.end()
    host.switch("resume", run.session_key())
    wanted = _answered(host, "Book berth 4.", "Berth 4 it is.")
    host.close()
    if not run.wait_until(lambda: _is_recorded(provider, wanted), 2.0):
        found = [call.args for call in provider.named(_TURN)]
        what = f"the turn {_shown([wanted[:2]])} behind an end"
        run.violated(Returned(wanted=what, value=_shown(found)))


def _shown(turns: list[Any]) -> str:
    """Turns as a message shows them, with the length of a long one."""
    texts = [tuple(show(text, 40) for text in turn) for turn in turns]
    return ", ".join(f"({', '.join(turn)})" for turn in texts)


def _unusual() -> Iterator[tuple[str, str]]:
    """Turns that a careless host leaves out, cuts or rewrites: see the words themselves."""
    yield from [("Go on.", "Done.")] * 2
    yield "Yes", "Berth 7 is yours."
    yield UNUSUAL, f"You wrote {UNUSUAL}"
    yield "Read:\r\n\tberth 7\r\nThat is all.", "I read:\r\n\tberth 7\r\nThat is all."
    yield f"Read this. {_LAID_OUT}That is all.", f"I read this. {_LAID_OUT}That is all."
    yield f"Read this. {PAGES}That is all.", f"I read this. {PAGES}That is all."


@check("MP-HOST-TURN-008")
def an_answer_is_recorded_without_a_block(run: HostRun) -> None:
    run.needs_agent()
    for step in ("turn", "stream"):
        fact = run.facts.new()
        provider = run.probe(enrich_turn=answering(fact.text))
        host = run.opened(provider, steps=("turn",))
        if not host.has(step):
            continue
        host.model.answer = lambda request: ["You told me: ", repeated(request)]
        host.turn("What do you know?", step=step)
        if not host.model.was_sent(fact.name):
            raise Untestable(
                "nothing that was recalled is in the request", depends_on("MP-HOST-RECALL-006")
            )
        if not _recorded(run, provider, 1):
            raise Untestable("no turn is recorded at all", depends_on("MP-HOST-TURN-007"))
        # A model may say nothing else; a host may then record an empty answer, or no turn.
        host.model.answer = lambda request: [repeated(request)]
        host.try_turn("And what else?", step=step)
        host.close()
        for found in _recorded(run, provider, 1):
            if fact.name in found[1]:
                run.violated(
                    Returned(wanted=f"an answer without {show(fact.text)}", value=show(found)),
                    operation=step,
                )


# -- beside the texts -----------------------------------------------------------------------------


@check("MP-HOST-TSTART-001")
def a_turn_is_said_to_begin_before_recall(run: HostRun) -> None:
    for step in ("stream", "turn"):
        provider = run.serving("turns", enrich_turn=answering("Noted."))
        host = run.opened(provider, *run.beside(run.probe()), steps=("turn",))
        if host.has(step):
            _begins_before_recall(run, host, provider, step)
    if run.loaded.is_driver:
        _begins_once_without_an_answer(run, host, provider)
    if run.takes("deadlines"):
        _begins_again_for_one_that_was_late(run)


def _begins_again_for_one_that_was_late(run: HostRun) -> None:
    """Once it has returned from the turn that did not wait for it, it is told of the next one."""
    gate, short_s = run.gate(), 0.3 * run.scale
    provider = run.serving("turns", on_turn_start=gate)
    host = run.opened(provider, deadlines=Deadlines(turn_start_s=short_s, ask_s=short_s))
    # A host that waits all the same is for MP-HOST-TSTART-002.
    with contextlib.suppress(HostLate):
        host.turn("Question 1?")
        if not gate.entered.wait(5.0 * run.scale):
            return
        gate.open()
        gate.left.wait(5.0 * run.scale)
        numbers = itertools.count(2)

        def is_told() -> bool:
            before = provider.count("on_turn_start")
            host.turn(f"Question {next(numbers)}?")
            return provider.count("on_turn_start") > before

        if not run.wait_until(is_told):
            wanted = "a beginning of the turn behind one for which it was late, and has returned"
            run.violated(Called(wanted=wanted, hook="on_turn_start", times=0, due=1))


def _begins_before_recall(run: HostRun, host: Host, provider: Probe, step: str) -> None:
    # One of them begins with pages that somebody pasted.
    questions = [f"{PAGES if number == 1 else ''}Question {number}?" for number in range(3)]
    for question in questions:
        host.turn(question, step=step)
    needs_promise(provider, "on_turn_start")
    hooks = [call.hook for call in provider.named("on_turn_start", "enrich_turn")]
    # A host may recall for one turn more than once.
    again = ["enrich_turn", "enrich_turn"]
    order = [hook for n, hook in enumerate(hooks) if hooks[max(n - 1, 0) : n + 1] != again]
    if order != ["on_turn_start", "enrich_turn"] * 3:
        run.violated(
            Misordered(
                wanted="on_turn_start before enrich_turn, in each of 3 turns", calls=tuple(hooks)
            )
        )
    begun = [call.args for call in provider.named("on_turn_start")]
    if [message for _, message in begun] != questions:
        run.violated(Returned(wanted="the messages of the turns", value=show(begun)))
    _assert_grows(run, provider)


def _assert_grows(run: HostRun, provider: Probe) -> None:
    numbers = [call.args[0] for call in provider.named("on_turn_start")]
    if numbers != sorted(set(numbers)):
        run.violated(Returned(wanted="a number that grows by the turn", value=show(numbers)))


def _begins_once_without_an_answer(run: HostRun, host: Host, provider: Probe) -> None:
    """Turns that are broken off, or that the model fails in, are turns as well, and one each."""
    if host.has("interrupt"):
        host.turn("And the next one?", step="interrupt")
    answers = iter([failing_model])

    def answer(request: list[dict[str, Any]]) -> Iterable[str]:
        return next(answers, saying("Berth 7."))(request)

    host.model.answer = answer
    host.try_turn("Which berth is free?")
    host.model.answer = saying("Berth 4.")
    host.turn("Question 4?")
    begun = Counter(call.args[1] for call in provider.named("on_turn_start"))
    asked = {call.args[0] for call in provider.named("enrich_turn")}
    if missing := sorted(message for message in asked if message not in begun):
        wanted = f"a beginning of the turn {show(missing[0])}, for which it recalls"
        run.violated(Called(wanted=wanted, hook="on_turn_start", times=0, due=1))
    if more := [message for message, times in begun.items() if times > 1]:
        wanted = f"one beginning of the turn {show(more[0])}, however often the model is asked"
        due = dict(begun)[more[0]]
        run.violated(Called(wanted=wanted, hook="on_turn_start", times=due, due=1))
    _assert_grows(run, provider)


#: Deadlines one after the other would take longer than one deadline and the machine's slack.
_HANGING = 32


@check("MP-HOST-TSTART-002")
def a_turn_does_not_wait_for_its_beginning(run: HostRun) -> None:
    for number, pace_s in ((_HANGING if run.loaded.most is None else 1, 0.3), (1, 1.5)):
        _is_not_waited_for(run, number, pace_s * run.scale)
    if run.loaded.most is None:
        _no_answer_moves_the_deadline(run)
    if run.takes("deadlines"):
        _it_ends_by_no_wall_clock(run)


def _it_ends_by_no_wall_clock(run: HostRun) -> None:
    budget_s = 0.3 * run.scale
    hung = run.serving("turns", on_turn_start=run.gate())
    pace = Deadlines(turn_start_s=budget_s, ask_s=budget_s, enrich_s=2.0 * run.scale)
    host = run.opened(hung, deadlines=pace)
    run.ends_while_the_clock_stands_still(
        "a recall behind a turn's beginning", lambda: host.turn("Which berth is free?")
    )


def _no_answer_moves_the_deadline(run: HostRun) -> None:
    """Providers return one after the other: the deadline is that of the turn's beginning."""
    budget_s, recall_s = 0.3 * run.scale, 2.0 * run.scale
    gates = run.trickling(None, budget_s, 2 * budget_s + recall_s)
    pace = Deadlines(turn_start_s=budget_s, ask_s=budget_s, enrich_s=recall_s)
    slow = [run.serving("turns", on_turn_start=gate) for gate in gates]
    host = run.opened(*slow, deadlines=pace)
    try:
        host.turn("Which berth is free?")
    except HostLate:
        wanted = f"a turn beside {len(slow)} providers that return one after the other"
        run.violated(Differs(wanted=wanted, seen="it had not returned"))
    finally:
        run.open_gates()


def _is_not_waited_for(run: HostRun, number: int, budget_s: float) -> None:
    """Two turns beside so many that hang; a single one has the time to enter its hook."""
    hook, gate = "on_turn_start", run.gate()
    hung = [
        run.serving("turns", on_turn_start=gate, enrich_turn=answering("Noted."))
        for _ in range(number)
    ]
    # The kit waits for the whole turn: a beginning that takes all budgets in a row is to exceed it.
    pace = Deadlines(turn_start_s=budget_s, ask_s=budget_s, enrich_s=2.0 * run.scale)
    host = run.opened(*hung, deadlines=pace, steps=("turn",))
    for question in ("Which berth is free?", "And which one tomorrow?"):
        try:
            host.turn(question)
        except HostLate:
            wanted = f"a turn beside {number} providers that hang in `{hook}`"
            run.violated(Differs(wanted=wanted, seen="it had not returned"))
    needs_promise(hung[0], hook)
    for provider in hung:
        if provider.count(hook) > 1:
            wanted = "one call of a provider whose first call has not returned"
            run.violated(Called(wanted=wanted, hook=hook, times=provider.count(hook), due=1))
        if provider.count(hook) and provider.count("enrich_turn") < 2:
            wanted = f"recall of a provider that hangs in `{hook}`, in each of 2 turns"
            times = provider.count("enrich_turn")
            run.violated(Called(wanted=wanted, hook="enrich_turn", times=times, due=2))


def _whole(turn_id: str, author: str) -> dict[str, Any]:
    """A turn with all that is known of it."""
    return {
        "turn_id": turn_id,
        "started_at": "2026-03-14T09:26:53+05:45",
        "ended_at": "2026-03-14T09:27:10+05:45",
        "user_message": f"This is {author}.",
        "assistant_response": "Noted.",
        "author": {"id": author},
    }


@check("MP-HOST-REC-001")
def a_turn_comes_by_one_of_two_hooks(run: HostRun) -> None:
    whole, texts = run.serving("record"), run.probe()
    for group in run.groups([whole, texts]):
        host = run.opened(*group, steps=("record_turn",))
        for number in range(3):
            host.record_turn(_whole(f"turn-{number}", "ines"))
    _assert_by_one_hook(run, whole, texts)
    _a_turn_of_a_bot_comes_by_record(run)
    _a_turn_that_was_refused_comes_by_no_other_hook(run)


def _a_turn_of_a_bot_comes_by_record(run: HostRun) -> None:
    """A provider that is told whose words a turn holds gets that of a bot as well."""
    provider = run.serving("record")
    host = run.opened(provider)
    host.record_turn({**_whole("turn-1", "relay"), "author": {"id": "relay", "is_bot": True}})
    if not run.wait_until(lambda: provider.count("record") > 0, 2.0):
        wanted = "a turn of a bot by `record`"
        run.violated(Called(wanted=wanted, hook="record", times=0, due=1))


def _a_turn_that_was_refused_comes_by_no_other_hook(run: HostRun) -> None:
    """A provider whose `record` raises may have stored the turn; the other hook stores it twice."""
    provider = run.serving("record", record=raising(lambda: OSError("no space left")))
    host = run.opened(provider)
    for number in range(2):
        host.record_turn(_whole(f"turn-{number}", "ines"))
    run.wait_until(lambda: provider.count("record") > 1, 2.0)
    host.close()
    if times := provider.count(_TURN):
        wanted = "a turn whose `record` raised by no other hook"
        run.violated(Called(wanted=wanted, hook=_TURN, times=times, due=0))


def _assert_by_one_hook(run: HostRun, whole: Probe, texts: Probe) -> None:
    for provider, hook, other in ((whole, "record", _TURN), (texts, _TURN, "record")):
        if not run.wait_until(lambda p=provider, h=hook: p.count(h) >= 3):  # type: ignore[misc]
            run.violated(
                Called(
                    wanted=f"three turns by `{hook}`",
                    hook=hook,
                    times=provider.count(hook),
                    due=3,
                    seen=f"{provider.count(hook)} came",
                )
            )
        if provider.count(hook, other) != 3:
            run.violated(
                Called(
                    wanted="each turn by one hook",
                    hook=other,
                    times=provider.count(other),
                    due=0,
                    seen=f"{provider.count(other)} came by `{other}`",
                )
            )


@check("MP-HOST-REC-002")
def a_turn_keeps_its_id_its_author_and_its_times(run: HostRun) -> None:
    provider = run.serving("record")
    host = run.opened(provider, steps=("record_turn",))
    of_nobody = {key: item for key, item in _whole("turn-3", "").items() if key != "author"}
    of_a_bot = {**_whole("turn-4", "relay"), "author": {"id": "relay", "is_bot": True}}
    turns = [_whole("turn-1", "ines"), _whole("turn-2", "ben"), _whole("turn-1", "ines")]
    turns += [of_a_bot, of_nobody]
    for turn in turns:
        host.record_turn(turn)
    run.wait_until(lambda: provider.count("record") >= len(turns))
    found = [call.args[0] for call in provider.named("record")]
    if len(found) != len(turns):
        run.violated(
            Called(
                wanted=f"{len(turns)} turns by `record`",
                hook="record",
                times=len(found),
                due=len(turns),
                seen=f"{len(found)} came",
            )
        )
    for wanted, got in zip(turns, found, strict=True):
        changed = [key for key in wanted if not _is_same(wanted[key], got.get(key))]
        if changed:
            run.violated(
                Returned(
                    wanted=f"{changed[0]} {show(wanted[changed[0]])}",
                    value=show(got.get(changed[0])),
                )
            )
    if found[-1].get("author"):
        expected = "no author of a turn that has none"
        run.violated(Returned(wanted=expected, value=show(found[-1]["author"])))
    _a_turn_is_its_providers_own(run)
    if run.loaded.is_driver and host.has("turn"):
        _each_turn_has_an_id_of_its_own(run)


def _a_turn_is_its_providers_own(run: HostRun) -> None:
    """A provider takes the keys out of its turn, as it stores them; the next one has them all."""
    taken, seen = threading.Event(), []

    def take(turn: dict[str, Any]) -> None:
        turn.get("author", {}).clear()
        turn.clear()
        taken.set()

    def look(turn: dict[str, Any]) -> None:
        taken.wait(2.0 * run.scale)
        seen.append(copy.deepcopy(turn))

    wanted = _whole("turn-1", "ines")
    for other in run.beside(run.serving("record", record=look)):
        run.opened(run.serving("record", record=take), other).record_turn(copy.deepcopy(wanted))
        run.wait_until(lambda: bool(seen), 2.0)
    for got in seen:
        if changed := [key for key in wanted if not _is_same(wanted[key], got.get(key))]:
            expected = f"{changed[0]} {show(wanted[changed[0]])}, whatever another provider does"
            run.violated(Returned(wanted=expected, value=show(got.get(changed[0]))))


@check("MP-HOST-REC-003")
def two_texts_are_the_users(run: HostRun) -> None:
    provider = run.probe()
    host = run.opened(provider, *run.beside(run.serving("record")), steps=("record_turn",))
    relayed = {**_whole("turn-1", "relay"), "author": {"id": "relay", "is_bot": True}}
    of_a_job = {**_whole("turn-2", "job"), "context": "cron"}
    takes_jobs = "cron" in provider.protocol().get("contexts", ())
    for turn in (relayed, *(() if takes_jobs else (of_a_job,)), _whole("turn-3", "ines")):
        host.record_turn(turn)
    words = "This is ines."
    if not run.wait_until(lambda: any(c.args[0] == words for c in provider.named(_TURN)), 2.0):
        raise Untestable("the turn of a user is not recorded", depends_on("MP-HOST-REC-001"))
    if others := [call.args for call in provider.named(_TURN) if call.args[0] != words]:
        wanted = "the turn of the user alone, and none of a bot or a job"
        run.violated(Returned(wanted=wanted, value=show(others[0])))


@check("MP-HOST-REC-004")
def a_turn_names_its_session(run: HostRun) -> None:
    for is_held in (False, True):
        _names_its_session(run, is_held=is_held)
    _names_its_own_of_two(run)


def _names_its_own_of_two(run: HostRun) -> None:
    """Two sessions are open in one process; the one that began last says nothing of the other."""
    sessions = []
    for _ in range(2):
        provider = run.serving("record")
        sessions.append((run.opened(provider), provider))
    for number, (host, provider) in enumerate(sessions):
        host.turn(f"Book berth {number}.")
        host.close()
        # A host may make keys of its own; it tells the provider by `initialize`.
        keys = [call.args[0] for call in provider.named("initialize")]
        for call in provider.named("record") if keys else ():
            if (got := call.args[0].get("session_id")) != keys[0]:
                wanted = f"a turn of the session {keys[0]!r}, beside which another one is open"
                run.violated(Returned(wanted=wanted, value=show(got)))


def _names_its_session(run: HostRun, *, is_held: bool) -> None:
    """`is_held` is True for turns that wait with the switch between them, and come at once."""
    # A recall of the second one may wait for the switch, and a host has a deadline for that.
    gate, pace = run.gate(hangs_s=run.scale), Deadlines(enrich_s=0.3 * run.scale)
    held: dict[str, Any] = {"record": gate} if is_held else {}
    provider = run.serving("record", "sessions", "delegation", **held)
    host = run.opened(provider, deadlines=pace, steps=("turn",))
    # Of two turns before the switch one at least is still in the queue when it comes.
    for text in ("Book berth 7.", "And berth 8."):
        host.turn(text)
        # The session of a subagent is none of the user's.
        if host.has("delegate"):
            host.delegate("Find a berth.", "Berth 9.", run.session_key())
    if host.has("switch resume"):
        host.switch("resume", run.session_key())
        host.turn("Book berth 4.")
    gate.open()
    host.close()
    if not provider.count("record"):
        needs_promise(provider, "record")
        raise Untestable("no turn comes by `record`", depends_on("MP-HOST-REC-001"))
    key = ""
    for call in provider.named("initialize", "on_session_switch", "record"):
        if call.hook != "record":
            key = call.args[0]
        elif call.args[0].get("session_id") != key:
            wanted = f"a turn of the session {key!r}"
            run.violated(Returned(wanted=wanted, value=show(call.args[0].get("session_id"))))


def _each_turn_has_an_id_of_its_own(run: HostRun) -> None:
    """The ids that an agent makes: in one session, in the next one, and in the first one again."""
    provider = run.serving("record", "sessions")
    host, key = run.host(provider), run.session_key()
    host.open(key)
    for text in ("Book berth 7.", "Book berth 4.", "Book berth 4."):
        host.turn(text)
    ways: tuple[tuple[SwitchKind, str], ...] = (("new", run.session_key()), ("resume", key))
    for kind, to in ways:
        if host.has(f"switch {kind}"):
            host.switch(kind, to)
            host.turn("Book berth 9.")
            host.turn("Book berth 2.")
    host.close()
    turns = [call.args[0] for call in provider.named("record")]
    ids = [turn.get("turn_id") for turn in turns]
    if len(ids) != len(set(map(repr, ids))):
        run.violated(Returned(wanted="an id of its own for each turn", value=show(ids)))
    for turn in turns:
        times = turn.get("started_at"), turn.get("ended_at")
        if not all(map(_is_instant, times)):
            wanted = "a beginning and an end with their offset from UTC"
            run.violated(Returned(wanted=wanted, value=show(times)))


def _is_instant(text: Any) -> bool:
    """True for a time of which one moment is told."""
    with contextlib.suppress(TypeError, ValueError):
        return datetime.fromisoformat(text).tzinfo is not None
    return False


def _is_same(wanted: Any, got: Any) -> bool:
    """True if both are one value; one instant may be written with another offset."""
    with contextlib.suppress(TypeError, ValueError):
        return datetime.fromisoformat(wanted) == datetime.fromisoformat(got)
    return bool(wanted == got)


@check("MP-HOST-PREWARM-001")
def recall_is_prepared_behind_its_turn(run: HostRun) -> None:
    gate = run.gate()
    provider = run.serving("prewarm", on_turn_complete=gate)
    key = run.session_key()
    host = run.host(provider)
    host.open(key)
    host.record("Which berth is free?", "Berth 7.")
    if not gate.entered.wait(5.0 * run.scale):
        raise Untestable("no turn is recorded at all")
    if not run.stays_silent(lambda: provider.count("queue_prefetch") > 0):
        run.violated(
            Misordered(wanted="no preparation before its turn was delivered", seen="there was one")
        )
    gate.open()
    if not run.wait_until(lambda: provider.count("queue_prefetch") > 0):
        needs_promise(provider, "queue_prefetch")
        run.violated(
            Called(
                wanted=("a preparation once the turn was delivered"), hook="queue_prefetch", times=0
            )
        )
    call = provider.named("queue_prefetch")[0]
    if call.keywords["session_id"] not in ("", key):
        run.violated(Returned(wanted=f"the session's key {key!r}", value=show(call.keywords)))
    if host.has("switch new"):
        _nothing_is_prepared_for_the_session_that_was_left(run)


def _nothing_is_prepared_for_the_session_that_was_left(run: HostRun) -> None:
    """A host drops at a switch what it was about to have prepared, and what was prepared."""
    gate = run.gate()
    is_second = threading.Event()

    def store(*args: Any) -> None:
        if is_second.is_set():
            gate(*args)

    provider = run.serving("prewarm", "sessions", on_turn_complete=store)
    host = run.opened(provider)
    host.record("Which berth is free?", "Berth 7.")
    run.wait_until(lambda: provider.count("queue_prefetch") > 0, 2.0)
    is_second.set()
    host.record("And which one tomorrow?", "Berth 4.")
    if not gate.entered.wait(5.0 * run.scale):
        raise Untestable("no turn is recorded at all")
    host.switch("new", run.session_key())
    gate.open()
    if not run.wait_until(lambda: provider.count("on_session_switch") > 0):
        return  # A switch that is not told is for MP-HOST-SESS-005.

    def is_prepared() -> bool:
        hooks = [call.hook for call in provider.named("on_session_switch", "queue_prefetch")]
        return "queue_prefetch" in hooks[hooks.index("on_session_switch") :]

    if not run.stays_silent(is_prepared):
        wanted = "no preparation for a turn of the session that was left"
        run.violated(Misordered(wanted=wanted, seen="there was one behind the switch"))
    is_second.clear()
    before, key = provider.count("queue_prefetch"), provider.named("on_session_switch")[-1].args[0]
    host.record("Which berth is mine?", "Berth 9.")
    if run.wait_until(lambda: provider.count("queue_prefetch") > before, 2.0):
        call = provider.named("queue_prefetch")[-1]
        if call.keywords["session_id"] not in ("", key):
            wanted = f"a preparation under the key {key!r} of the session that was switched to"
            run.violated(Returned(wanted=wanted, value=show(call.keywords)))


@check("MP-HOST-PREWARM-002")
def a_preparation_holds_up_no_write_and_no_other(run: HostRun) -> None:
    gate = run.gate()
    provider = run.serving("prewarm", queue_prefetch=gate)
    host = run.opened(provider)
    host.record("Which berth is free?", "Berth 7.")
    if not gate.entered.wait(5.0 * run.scale):
        needs_promise(provider, "queue_prefetch")
        raise Untestable("no recall is prepared", depends_on("MP-HOST-PREWARM-001"))
    # A while lies between the turns: a host that gave the first one to a thread is done with it.
    for number in range(2):
        host.record(f"Book berth {number}.")
        if not run.wait_until(lambda n=number: provider.count(_TURN) == n + 2):  # type: ignore[misc]
            wanted = "the turn behind one whose preparation hangs"
            run.violated(Called(wanted=wanted, hook=_TURN, times=number + 1, due=number + 2))
        if not run.stays_silent(lambda: provider.count("queue_prefetch") > 1):
            wanted = "one preparation of a provider at a time"
            times = provider.count("queue_prefetch")
            run.violated(Called(wanted=wanted, hook="queue_prefetch", times=times, due=1))
    _a_preparation_that_raised_ends_no_write(run)


def _a_preparation_that_raised_ends_no_write(run: HostRun) -> None:
    """One that raises what ends programs ends no thread that delivers the turns behind it."""
    provider = run.serving("prewarm", queue_prefetch=raising(SystemExit))
    host = run.opened(provider)
    host.record("Which berth is free?", "Berth 7.")
    run.wait_until(lambda: provider.count("queue_prefetch") > 0, 2.0)
    for number in range(2):
        host.record(f"Book berth {number}.")
    if not run.wait_until(lambda: provider.count(_TURN) >= 3):
        wanted = "the turns behind one whose preparation raised SystemExit"
        times = provider.count(_TURN) - 1
        run.violated(Called(wanted=wanted, hook=_TURN, times=times, due=2))


@check("MP-HOST-PRIV-001")
def what_waits_is_stored_before_it_is_forgotten(run: HostRun) -> None:
    for hook in _WAITING:
        for count in (_QUEUED, 1):
            _is_stored_before(run, hook, count)
    if run.takes("deadlines"):
        _nothing_is_forgotten_beside_a_write_that_lasts(run)


def _nothing_is_forgotten_beside_a_write_that_lasts(run: HostRun) -> None:
    """A host waits no longer for a write, and says so; what is forgotten then is stored again."""
    gate = run.gate()
    provider = run.serving("privacy", on_turn_complete=gate)
    host = run.opened(provider, deadlines=Deadlines(privacy_s=0.5 * run.scale))
    host.record("My boat is the Ondine.")
    if not gate.entered.wait(5.0 * run.scale):
        return
    # A host may tell its caller by an exception; one that does not return is MP-HOST-ISO-006's.
    with contextlib.suppress(Violation, Untestable):
        host.forget({})
    if provider.count("forget") and not gate.left.is_set():
        wanted = "no `forget` beside a turn that is on its way, whenever the time is over"
        run.violated(Misordered(wanted=wanted, seen="it came before that was stored"))
    gate.open()


def _is_stored_before(run: HostRun, hook: str, count: int) -> None:
    """So many writes by `hook` are on their way when their provider is to forget."""
    asked, entered = threading.Event(), threading.Event()
    stored: list[Any] = []
    early: list[bool] = []

    def store(*args: Any) -> None:
        entered.set()
        if not stored:
            asked.wait(_QUEUED_S * run.scale)
        stored.append(args)

    def forget(scope: Any) -> dict[str, int]:
        early.append(len(stored) < count)
        asked.set()
        return {"removed": 1, "pending": 0}

    hooks: dict[str, Any] = {hook: store, "forget": forget}
    provider = run.serving("privacy", *_SERVED_BY.get(hook, ()), **hooks)
    host = run.opened(provider, steps=("forget",))
    if not all(_is_made(run, host, hook) for _ in range(count)):
        return
    if count == 1:  # None waits then, and one is being stored.
        entered.wait(_QUEUED_S * run.scale)
    host.forget({})
    if not early:
        raise Untestable(_NEVER_CALLED, depends_on("MP-HOST-INIT-005"))
    # A write that never comes is for the requirement on it.
    if early[0] and run.wait_until(lambda: provider.count(hook) >= count, 2.0):
        what = _WAITING[hook]
        run.violated(
            Misordered(
                wanted=f"`forget` behind the {what} before it",
                seen=f"it came before that was stored, by `{hook}`",
            )
        )


def _is_made(run: HostRun, host: Host, hook: str) -> bool:
    """Have a write of this kind made; False if the host makes none."""
    writes: dict[str, tuple[str, Callable[[], Any]]] = {
        _TURN: ("record", lambda: host.record("My boat is the Ondine.")),
        "record": ("record_turn", lambda: host.record_turn(_whole(run.label(), "ines"))),
        "on_memory_write": (
            "write_memory",
            lambda: host.mirror("add", "memory", f"The boat is the {run.facts.name()}."),
        ),
        "on_delegation": (
            "delegate",
            lambda: host.delegate("Find the boat.", "It is the Ondine.", run.session_key()),
        ),
    }
    step, write = writes[hook]
    # A turn of two texts is made in any case: a driver without the step is told so.
    if hook != _TURN and not host.has(step):
        return False
    write()
    return True


@check("MP-HOST-PRIV-002")
def no_more_is_forgotten_than_was_asked_for(run: HostRun) -> None:
    providers = [run.serving("privacy"), *run.beside(run.serving("privacy"))]
    host = run.opened(*providers, steps=("forget",))
    user, session = str(run.config()["user_id"]), run.session_key()
    scopes = (
        {"session_id": session},
        {"user_id": user},
        {"user_id": user, "session_id": session},
    )
    for scope in scopes:
        before = [provider.count("forget") for provider in providers]
        host.forget(dict(scope))
        calls = [p.named("forget")[n:] for p, n in zip(providers, before, strict=True)]
        if not any(calls):
            raise Untestable(_NEVER_CALLED, depends_on("MP-HOST-INIT-005"))
        for asked in calls:
            got = asked[-1].args[0] if asked else None
            # A narrower one, as of a host that names its user in each, forgets no more.
            if not isinstance(got, dict) or not scope.items() <= got.items():
                wanted = f"the scope {show(scope)} for each of {len(providers)} providers"
                run.violated(Returned(wanted=wanted, value=show(got)))
    _a_key_of_a_later_release_is_kept(run, host, providers)
    _a_scope_is_its_providers_own(run)
    _a_job_has_it_forgotten(run)


def _a_job_has_it_forgotten(run: HostRun) -> None:
    """To forget is no write hook: it is asked for in any context."""
    provider = run.serving("privacy")
    host = run.host(provider)
    host.open(agent_context="cron")
    host.begin(provider)
    if not provider.count("initialize"):
        return  # A host that opens no memory outside of conversations.
    host.forget({"user_id": str(run.config()["user_id"])})
    if not provider.count("forget"):
        wanted = "`forget` in the context 'cron'"
        run.violated(Called(wanted=wanted, hook="forget", times=0, due=1))


def _a_scope_is_its_providers_own(run: HostRun) -> None:
    """A provider takes the keys out of its scope, as it reads them; the next one has them all."""
    read, seen = threading.Event(), []

    def take(scope: dict[str, Any]) -> dict[str, int]:
        scope.clear()
        read.set()
        return {"removed": 0, "pending": 0}

    def look(scope: dict[str, Any]) -> dict[str, int]:
        read.wait(2.0 * run.scale)
        seen.append(dict(scope))
        return {"removed": 0, "pending": 0}

    asked = {"user_id": str(run.config()["user_id"])}
    for other in run.beside(run.serving("privacy", forget=look)):
        run.opened(run.serving("privacy", forget=take), other).forget(dict(asked))
    for got in seen:
        if not asked.items() <= got.items():
            wanted = f"the scope {show(asked)}, whatever another provider does with its own"
            run.violated(Returned(wanted=wanted, value=show(got)))


def _a_key_of_a_later_release_is_kept(run: HostRun, host: Host, providers: Sequence[Probe]) -> None:
    """
    A host that does not know a key refuses the scope, or hands it over with all its keys.

    So it is with a key that says nothing, as of an agent that has no session yet.
    """
    user = str(run.config()["user_id"])
    for scope in ({"user_id": user, "topic": "harbour"}, {"session_id": ""}):
        before = [provider.count("forget") for provider in providers]
        with contextlib.suppress(Violation):
            host.forget(dict(scope))
        for provider, count in zip(providers, before, strict=True):
            for call in provider.named("forget")[count:]:
                got = call.args[0]
                # A key without a value may stand for that of the session that the host is in.
                said = {key: value for key, value in scope.items() if value}
                fits = isinstance(got, dict) and scope.keys() <= got.keys()
                if not fits or not said.items() <= got.items():
                    wanted = f"the scope {show(scope)}, or no call"
                    run.violated(Returned(wanted=wanted, value=show(got)))


@check("MP-HOST-PRIV-003")
def what_each_provider_forgot_is_told(run: HostRun) -> None:
    # A provider may say more than the two numbers, and that there was nothing.
    told: list[dict[str, Any]] = [
        {"removed": 3, "pending": 0},
        {"removed": 0, "pending": 2, "until": "midnight"},
        {"removed": 0, "pending": 0},
    ]
    acts: list[dict[str, Any]] = [{"forget": lambda scope, one=one: dict(one)} for one in told]
    # No order of names is the one in which they were registered.
    labels = sorted((run.label() for _ in told), reverse=True)
    providers = [
        Extended(label, ("privacy",), **act) for label, act in zip(labels, acts, strict=True)
    ]
    host = run.opened(*providers, steps=("forget",))
    if run.loaded.is_driver:
        raise NotApplicable("how an agent tells its user is its own affair")
    answers = host.forget({})
    if not all(provider.count("forget") for provider in providers):
        raise Untestable(_NEVER_CALLED, depends_on("MP-HOST-INIT-005"))
    given = [getattr(answer, "document", None) for answer in _listed(answers)]
    if [one for one in given if one is not None] != told:
        run.violated(
            Returned(
                wanted=f"the documents {show(told)}, in this order",
                value=show(given),
                hook="forget",
            )
        )


def _listed(answers: Any) -> list[Any]:
    return list(answers) if isinstance(answers, list | tuple) else []
