"""Chapter 80: ends and switches of sessions, and delegations."""

import contextlib
import functools
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

from memproto.deadlines import Deadlines
from memproto.testing.clauses import NotApplicable, Untestable, Violation, check
from memproto.testing.driver import SWITCHES, SwitchKind
from memproto.testing.evidence import Called, Misordered, NotReported, Returned
from memproto.testing.facts import Fact
from memproto.testing.host.host import Host
from memproto.testing.host.model import failing_model, plain
from memproto.testing.host.probes import Extended, Probe, ReceivedCall, answering, tool
from memproto.testing.host.run import HostRun
from memproto.testing.host.words import ALMOST_EQUAL, PAGES, UNUSUAL
from memproto.testing.needs import Driver, depends_on
from memproto.testing.wire import show

_END, _SWITCH, _TURN = "on_session_end", "on_session_switch", "on_turn_complete"

#: Ends of a session, as the steps that do it, and the number of sessions that have ended then.
_WAYS: dict[str, tuple[tuple[str, ...], int]] = {
    "the agent is left": (("exit",), 1),
    "it ends, and the agent is left": (("end", "exit"), 1),
    "it ends twice, and the agent is left": (("end", "end", "exit"), 1),
    "a turn is broken off, and the agent is left": (("interrupt", "exit"), 1),
    "a new one begins, and the agent is left": (("new", "exit"), 2),
    "it ends, a new one begins, and the agent is left": (("end", "new", "exit"), 2),
    "it ends, another one is resumed, and the agent is left": (("end", "resume", "exit"), 2),
    "it ends, one is branched off, and the agent is left": (("end", "branch", "exit"), 2),
    "it ends, it goes on compressed, and the agent is left": (("end", "compress", "exit"), 2),
    # A rewind stays in its session.
    "a turn is undone, and the agent is left": (("rewind", "exit"), 1),
    "it ends, a turn is undone, and the agent is left": (("end", "rewind", "exit"), 1),
}

#: Number of turns of a conversation that is longer than a few screens.
_SAID = 30

#: Number of writes that are made while a provider takes none.
_BURST = 300

#: Step of a driver that makes one of those, if it has another name.
_STEP_OF = {way: f"switch {way}" for way in SWITCHES} | {"fails": "turn"}


@check("MP-HOST-SESS-001")
def each_session_ends_once(run: HostRun) -> None:
    run.opened(run.probe(), steps=("end",))
    for way, (steps, wanted) in _WAYS.items():
        first = run.serving("sessions")
        providers = [first, *run.beside(run.serving("sessions"))]
        host, key = run.host(*providers), run.session_key()
        if not all(host.has(_STEP_OF.get(step, step)) for step in steps):
            continue
        host.open(key)
        _go(run, host, key, steps)
        for provider in providers:
            run.wait_until(lambda p=provider, n=wanted: p.count(_END) >= n, 2.0)  # type: ignore[misc]
            if provider.count(_END) != wanted:
                whose = "" if provider is first else " for the second provider"
                observed = f"{provider.count(_END)} ends{whose} where {way}"
                run.violated(
                    Called(
                        wanted=f"one end of each of {wanted} sessions",
                        hook=_END,
                        times=provider.count(_END),
                        due=wanted,
                        seen=observed,
                    )
                )
    _a_session_that_comes_again_ends_again(run)


def _a_session_that_comes_again_ends_again(run: HostRun) -> None:
    """A session that was left and is opened once more, under its key, ends once more."""
    key = run.session_key()
    for _ in range(2):
        provider = run.serving("sessions")
        host = run.host(provider)
        host.open(key)
        _go(run, host, key, ("exit",) if run.loaded.is_driver else ("end", "exit"))
        run.wait_until(lambda p=provider: p.count(_END) > 0, 2.0)  # type: ignore[misc]
        if (times := provider.count(_END)) != 1:
            wanted = "one end of a session each time that it is opened under its key"
            run.violated(Called(wanted=wanted, hook=_END, times=times, due=1))


def _go(run: HostRun, host: Host, key: str, steps: tuple[str, ...]) -> None:
    """A turn in each session, and what ends it."""
    _say(host, "Book berth 7.")
    for step in steps:
        if step == "rewind":
            host.switch("rewind", key)
        else:
            _leave(run, host, step)
        # A turn comes in the session that was switched to. Behind an end it may be that the host
        # begins another session by a turn.
        if step in SWITCHES and not (step == "rewind" and "end" in steps):
            _say(host, "Book berth 4.")


def _say(host: Host, text: str) -> None:
    host.turn(text) if host.has("turn") else host.record(text)


@check("MP-HOST-SESS-002")
def a_session_ends_with_its_messages(run: HostRun) -> None:
    has = run.opened(run.probe(), steps=("end", "turn")).has
    # A registry that is left by itself has no messages to end with.
    ways: list[tuple[str, ...]] = [("exit",), ("new",)]
    # A turn that comes to nothing takes no other one with it.
    ways += [("interrupt", "exit"), ("reject", "exit"), ("fails", "exit")]
    for steps in [("end",), *(ways if run.loaded.is_driver else [])]:
        if not all(has(_STEP_OF.get(step, step)) for step in steps):
            continue
        provider = run.serving("sessions")
        host = run.opened(provider)
        texts = [f"Book berth {number} for {run.facts.name()}." for number in range(_SAID)]
        texts.append(f"Read this. {PAGES}{run.facts.name()}.")
        # The same words come twice, and were said twice.
        texts += [f"Once more for {run.facts.name()}."] * 2
        for text in texts:
            host.turn(text)
        for step in steps:
            _leave(run, host, step)
        _assert_holds(run, provider, texts, " and ".join(steps))
    if run.loaded.is_driver:
        _what_is_said_behind_a_rewind_is_in_the_end(run)


def _what_is_said_behind_a_rewind_is_in_the_end(run: HostRun) -> None:
    """A rewind leaves no session: it ends when the user leaves, with what was said until then."""
    provider = run.serving("sessions")
    host, key = run.host(provider), run.session_key()
    if not host.has("switch rewind"):
        return
    host.open(key)
    host.turn("Book berth 7.")
    host.switch("rewind", key)
    said = f"Book berth 4 for {run.facts.name()}."
    host.turn(said)
    host.close()
    run.wait_until(lambda: provider.count(_END) > 0, 2.0)
    ends = [call.args[0] for call in provider.named(_END)]
    if ends and not any(said in plain(m.get("content")) for end in ends for m in end):
        wanted = f"an end behind a rewind with {show(said)}"
        run.violated(Returned(wanted=wanted, value=show(ends[-1])))


def _leave(run: HostRun, host: Host, way: str) -> None:
    if way in ("interrupt", "reject"):
        host.turn("Book all of them.", step=way)
    elif way == "fails":
        host.model.answer = failing_model
        with contextlib.suppress(Untestable):  # One that goes on trying, which is its own affair.
            host.try_turn("Book all of them.")
    elif way in SWITCHES:
        host.switch(way, run.session_key())
    elif way == "end":
        host.end()
    else:
        host.close()


def _assert_holds(run: HostRun, provider: Extended, texts: list[str], way: str) -> None:
    if not run.wait_until(lambda: provider.count(_END) > 0, 2.0):
        raise Untestable(f"no session is ended by `{way}`", depends_on("MP-HOST-SESS-001"))
    messages = provider.named(_END)[0].args[0]
    _assert_shaped(run, messages, way)
    said = [plain(message.get("content")) for message in messages if message.get("role") == "user"]
    whole = "\n".join(said)
    missing = [text for text in texts if whole.count(text) < texts.count(text)]
    if missing:
        run.violated(
            Returned(wanted=f"an end by `{way}` with {show(missing[0])}", value=show(messages))
        )


def _assert_shaped(run: HostRun, messages: Any, way: str) -> None:
    """Each message says who said it, and what: a provider reads both of all of them."""
    for message in messages:
        role, content = message.get("role"), message.get("content", 0)
        is_said = isinstance(role, str) and role.strip() and isinstance(content, str | list | None)
        if not is_said:
            wanted = f"an end by `{way}` with messages as in message.schema.json"
            run.violated(Returned(wanted=wanted, value=show(message), lead="one of them is "))


@check("MP-HOST-SESS-003")
def ends_and_switches_keep_their_place_among_the_writes(run: HostRun) -> None:
    gate = run.gate()
    provider = run.serving("sessions", on_turn_complete=gate)
    host = run.opened(provider, steps=("end", "switch"))
    key = run.session_key()
    for number in range(_SAID):
        host.record(f"Book berth {number}.")
    host.end()
    host.switch("resume", key)
    host.record("Book all of them.")
    if not gate.entered.wait(5.0 * run.scale):
        raise Untestable("no turn is recorded at all")
    if not run.stays_silent(lambda: provider.count(_END, _SWITCH) > 0):
        run.violated(
            Misordered(wanted="no end and no switch beside the write before", seen="there was one")
        )
    gate.open()
    hooks = (_TURN, _END, _SWITCH)
    due = (*[_TURN] * _SAID, _END, _SWITCH, _TURN)
    run.wait_until(lambda: provider.count(*hooks) >= len(due))
    order = tuple(call.hook for call in provider.named(*hooks))
    if order != due:
        wanted = f"{_SAID} times {_TURN}, then {_END}, {_SWITCH}, {_TURN}"
        run.violated(Misordered(wanted=wanted, calls=order, due=due))
    _a_switch_finds_room(run)
    _a_rewind_waits_as_any_other(run)
    if run.loaded.is_driver and host.has("turn"):
        _turns_stay_in_their_session(run)


def _a_rewind_waits_as_any_other(run: HostRun) -> None:
    """It leaves no session, and is told behind the turns that it undoes."""
    gate = run.gate()
    provider = run.serving("sessions", on_turn_complete=gate)
    host, key = run.host(provider), run.session_key()
    if not host.has("switch rewind"):
        return
    host.open(key)
    _say(host, "Book berth 7.")
    host.switch("rewind", key)
    if gate.entered.wait(5.0 * run.scale) and not run.stays_silent(
        lambda: provider.count(_SWITCH) > 0
    ):
        wanted = "no rewind beside the turn before"
        run.violated(Misordered(wanted=wanted, seen="there was one"))
    gate.open()


def _a_switch_finds_room(run: HostRun) -> None:
    """A queue may have a bound for writes, and none for what says where they belong."""
    gate = run.gate()
    provider = run.serving("sessions", on_turn_complete=gate)
    host = run.opened(provider)
    for number in range(_BURST):
        host.record(f"Book berth {number}.")
    host.switch("resume", run.session_key())
    gate.open()
    if not run.wait_until(lambda: provider.count(_SWITCH) > 0):
        wanted = f"a switch behind {_BURST} turns that waited"
        run.violated(Called(wanted=wanted, hook=_SWITCH, times=0, due=1))


def _turns_stay_in_their_session(run: HostRun) -> None:
    """An agent hands over a turn before the switch behind it, however it gathers turns."""
    provider = run.serving("sessions")
    host = run.opened(provider)
    host.turn("Book berth 7.")
    host.switch("resume", run.session_key())
    host.turn("Book berth 4.")
    run.wait_until(lambda: provider.count(_TURN) >= 2, 2.0)
    host.close()
    order = tuple(call.hook for call in provider.named(_TURN, _SWITCH))
    due = (_TURN, _SWITCH, _TURN)
    if order.count(_TURN) != 2 or order.count(_SWITCH) != 1:
        raise Untestable("not all of it is told", depends_on("MP-HOST-TURN-007"))
    if order != due:
        wanted = f"{_SWITCH} between the two turns"
        run.violated(Misordered(wanted=wanted, calls=order, due=due))


@check("MP-HOST-SESS-004")
def the_user_waits_for_no_end_and_no_switch(run: HostRun) -> None:
    gate = run.gate()
    slow = run.serving("sessions", on_session_end=gate, on_session_switch=gate)
    good = run.probe(enrich_turn=answering("Noted."))
    host = run.opened(slow, *run.beside(good), steps=("end", "switch"))
    host.end()
    host.switch("new", run.session_key())
    if not gate.entered.wait(5.0 * run.scale):
        raise Untestable("no session is ended", depends_on("MP-HOST-SESS-001"))
    for kind in SWITCHES:
        _is_not_waited_for(run, kind)


def _is_not_waited_for(run: HostRun, kind: SwitchKind) -> None:
    """A switch of any kind behind a turn that hangs: nobody waits until it comes to that."""
    provider = run.serving("sessions", on_turn_complete=run.gate())
    host, key = run.host(provider), run.session_key()
    if not host.has(f"switch {kind}"):
        return
    host.open(key)
    _say(host, "Book berth 7.")
    run.wait_until(lambda: provider.count(_TURN) > 0, 2.0)
    host.switch(kind, key if kind == "rewind" else run.session_key())
    run.open_gates()


# -- switches -------------------------------------------------------------------------------------

#: Kind to parent, reset and rewound; `left` stands for the session that is left.
_KINDS: dict[SwitchKind, tuple[tuple[str, ...], bool, bool]] = {
    "new": (("", "left"), True, False),
    "resume": (("", "left"), False, False),
    "branch": (("left",), False, False),
    "compress": (("left",), False, False),
    "rewind": (("",), False, True),
}


@check("MP-HOST-SESS-005")
def a_switch_says_which_kind_it_is(run: HostRun) -> None:
    told = 0
    for kind, (parents, reset, rewound) in _KINDS.items():
        providers = [run.serving("sessions"), *run.beside(run.serving("sessions"))]
        left = run.session_key()
        host = run.host(*providers)
        host.needs("switch")
        if host.is_without(f"switch {kind}"):
            continue
        told += 1
        host.open(left)
        # The second one leaves a session to which there was a switch, and not the first one.
        for number in range(2):
            key = left if kind == "rewind" else run.session_key()
            # A session in which nothing was said has nothing to undo or to compress.
            if host.has("turn") or host.has("record"):
                _say(host, "Book berth 7.")
            host.switch(kind, key)
            for provider in providers:
                if not run.wait_until(lambda p=provider, n=number: p.count(_SWITCH) > n):  # type: ignore[misc]
                    run.violated(
                        Called(
                            wanted=(
                                f"a switch of the kind `{kind}` is told to each of {len(providers)}"
                            ),
                            hook="on_session_switch",
                            times=provider.count(_SWITCH),
                            due=number + 1,
                            seen="it was not",
                        )
                    )
                call = provider.named(_SWITCH)[number]
                allowed = [left if parent == "left" else parent for parent in parents]
                wanted = key, allowed, reset, rewound
                _assert_says(run, kind, (call.args[0], call.keywords), wanted)
            left = key
    if not told:
        raise NotApplicable("the framework has no kind of switch")
    _two_keys_stay_two(run)


def _two_keys_stay_two(run: HostRun) -> None:
    """A host may refuse a key, and makes no two sessions one."""
    provider = run.serving("sessions")
    host, key = run.opened(provider), run.session_key()
    if not host.has("switch resume"):
        return
    for ends in ALMOST_EQUAL:
        before = provider.count(_SWITCH)
        for end in ends:
            with contextlib.suppress(Violation):
                host.switch("resume", f"{key}{end}")
        run.wait_until(lambda n=before: provider.count(_SWITCH) == n + 2, 1.0)  # type: ignore[misc]
        got = [call.args[0] for call in provider.named(_SWITCH)[before:]]
        if len(got) == 2 and got[0] == got[1]:
            wanted = f"two keys for the sessions {show(ends[0])} and {show(ends[1])} of {key!r}"
            run.violated(Returned(wanted=wanted, value=show(got[0])))


def _assert_says(
    run: HostRun,
    kind: str,
    got: tuple[Any, dict[str, Any]],
    wanted: tuple[str, list[str], bool, bool],
) -> None:
    key, parents, reset, rewound = wanted
    told, keywords = got
    flags = {"reset": reset, "rewound": rewound}
    if told != key:
        run.violated(Returned(wanted=f"the key {key!r} for `{kind}`", value=show(told)))
    for name, value in flags.items():
        if keywords.get(name, False) is not value:
            run.violated(Returned(wanted=f"{name}={value} for `{kind}`", value=show(keywords)))
    if keywords.get("parent_session_id", "") not in parents:
        run.violated(
            Returned(
                wanted=f"the parent {' or '.join(map(repr, parents))} for `{kind}`",
                value=show(keywords),
            )
        )


@check("MP-HOST-SESS-006")
def no_recall_between_a_switch_and_its_delivery(run: HostRun) -> None:
    gate = run.gate()
    slow = run.serving("sessions", on_turn_complete=gate, enrich_turn=answering("Berth 7."))
    good = run.probe(enrich_turn=answering("Noted."))
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host = run.opened(slow, *run.beside(good), deadlines=pace, steps=("switch",))
    host.record("Book berth 7.")
    if not gate.entered.wait(5.0 * run.scale):
        raise Untestable("no turn is recorded at all")
    host.switch("resume", run.session_key())
    if slow.count(_SWITCH):
        return  # it was delivered at once, which is for MP-HOST-SESS-003
    _assert_is_not_asked(run, host, slow)
    gate.open()
    numbers = itertools.count()  # A question that was asked before might be answered from a cache.
    if not run.wait_until(lambda: slow.name in host.recall(f"And now, {next(numbers)}?"), 5.0):
        run.violated(
            Called(
                wanted="recall again once the switch was delivered",
                hook="enrich_turn",
                times=0,
                seen="it is not asked any more",
            )
        )
    _no_recall_before_the_last_of_them(run)
    _no_recall_before_a_rewind(run)


def _no_recall_before_the_last_of_them(run: HostRun) -> None:
    """Two switches wait, with a turn between: the first one is not where the user is."""
    gates = [run.gate(), run.gate()]
    turns = iter(gates)
    act = answering("Berth 7.")
    slow = run.serving("sessions", on_turn_complete=lambda *_: next(turns)(), enrich_turn=act)
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host = run.opened(slow, *run.beside(run.probe()), deadlines=pace)
    for _ in gates:
        host.record("Book berth 7.")
        host.switch("resume", run.session_key())
    gates[0].open()
    # The first one is delivered, and the turn behind it hangs.
    if gates[1].entered.wait(5.0 * run.scale) and slow.count(_SWITCH) == 1:
        _assert_is_not_asked(run, host, slow)
    gates[1].open()


def _no_recall_before_a_rewind(run: HostRun) -> None:
    """A provider knows of no rewind until it was told."""
    gate = run.gate()
    slow = run.serving("sessions", on_turn_complete=gate, enrich_turn=answering("Berth 7."))
    pace = Deadlines(enrich_s=0.3 * run.scale)
    host, key = run.host(slow, *run.beside(run.probe()), deadlines=pace), run.session_key()
    if not host.has("switch rewind"):
        return
    host.open(key)
    _say(host, "Book berth 7.")
    if not gate.entered.wait(5.0 * run.scale):
        return
    host.switch("rewind", key)
    if not slow.count(_SWITCH):
        _assert_is_not_asked(run, host, slow)
    gate.open()


def _assert_is_not_asked(run: HostRun, host: Host, slow: Probe) -> None:
    before = slow.count("enrich_turn")
    answers = host.recall("Which berth?")
    if slow.count("enrich_turn") != before or slow.name in answers:
        run.violated(
            Returned(
                wanted="no recall of a provider that has not switched yet", value=show(answers)
            )
        )


@check("MP-HOST-SESS-007")
def a_session_begins_with_nothing_of_another(run: HostRun) -> None:
    said, recalled, asked, elsewhere, last = run.facts.several(5)
    told: list[str | None] = [recalled.text]
    first = run.probe(enrich_turn=lambda *args: told[0])
    host, key = run.host(first), run.session_key()
    host.needs("turn")
    host.open(key)
    # No other check has asked this, so that a cache has no answer from before. It begins the
    # session as it will begin the next one, for a cache that goes by the conversation as well.
    for text in (asked.query, said.text, asked.query, last.text):
        host.turn(text)
    if not host.model.was_sent(recalled.name):
        reason = "nothing that was recalled is in the request"
        raise Untestable(reason, depends_on("MP-HOST-RECALL-006"))
    told[0] = None
    knows_nothing = functools.partial(
        _assert_knows_nothing, run, (said, recalled, last), asked.query
    )
    if host.has("switch new"):
        host.switch("new", run.session_key())
        knows_nothing((host, first), "a new conversation")
        if host.has("switch resume"):
            host.turn(elsewhere.text)
            host.switch("resume", key)
            # It goes on with what was said in it, and with nothing of the one that was left.
            _assert_knows_nothing(run, (elsewhere,), asked.query, (host, first), "a resumed one")
    host.close()
    user = str(run.config()["user_id"])
    for name, where in ((user, "another session"), (f"{user}-guest", "a session of another user")):
        other = run.probe(enrich_turn=answering("The lamps are lit."))
        guest = run.host(other)
        guest.open(user_id=name)
        knows_nothing((guest, other), where)
        guest.close()
    _other_texts_are_of_one_session(run)
    _two_sessions_at_a_time_are_apart(run)


def _two_sessions_at_a_time_are_apart(run: HostRun) -> None:
    """Two users are served side by side, and each provider is told of its own session alone."""
    facts, sessions = run.facts.several(2), []
    for number in range(2):
        served = ("sessions", "delegation", "turns", "tools")
        provider = run.serving(*served, schemas=[tool("find_berth")])
        host = run.host(provider)
        host.open(user_id=f"{run.config()['user_id']}-{number}")
        sessions.append((host, provider))
        if host.has("tools") and host.has("call_tool"):
            host.tools()
    # One behind the other, as fast as they come: what is on its way belongs to its own session.
    for _ in range(_SAID):
        for (host, _), fact in zip(sessions, facts, strict=True):
            host.turn(fact.text)
    for (host, _), fact in zip(sessions, facts, strict=True):
        acts: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("record", functools.partial(host.record, fact.text, fact.text)),
            ("write_memory", functools.partial(host.mirror, "add", "memory", fact.text)),
            ("call_tool", functools.partial(host.call_tool, "find_berth", {"text": fact.text})),
            (
                "delegate",
                functools.partial(host.delegate, fact.text, fact.text, run.session_key()),
            ),
            ("end", host.end),
        )
        for step, act in acts:
            if host.has(step):
                act()
    for host, _ in sessions:
        host.close()
    for (host, provider), other in zip(sessions, facts[::-1], strict=True):
        told = [
            call for call in provider.calls if other.stands_in(repr((call.args, call.keywords)))
        ]
        if told or host.model.was_sent(other.name):
            where = f"`{told[0].hook}`" if told else "the request to the model"
            expected = f"in {where} of a session nothing of another one that is open beside it"
            value = show(told[0].args if told else host.model.sent())
            run.violated(Returned(wanted=expected, value=value), operation="turn")


def _other_texts_are_of_one_session(run: HostRun) -> None:
    """A memory tells one user by a tool, in the prompt or to a summary nothing of another."""
    fact, own = run.facts.several(2)
    name, called = run.label(), f"find_{run.label().replace('-', '_')}"
    told = [_told_by(run, name, called, text) for text in (fact.text, own.text)]
    for place, text in told[1].items():
        if fact.stands_in(text):
            expected = f"in {place} of another user nothing of the session before"
            run.violated(Returned(wanted=expected, value=show(text)), operation="turn")


def _told_by(run: HostRun, name: str, called: str, text: str) -> dict[str, str]:
    """The texts that a provider of that name has to say in a session, as the model gets them."""
    provider = Extended(
        name,
        ("tools", "prompt", "compress_notes"),
        [tool(called)],
        handle_tool_call=lambda *args: json.dumps({"found": text}),
        system_prompt_block=lambda: text,
        compress_notes=lambda messages: text,
    )
    host = run.host(provider)
    host.open(user_id=f"{run.config()['user_id']}-{run.session_key()}")
    told: dict[str, str] = {}
    if host.has("prompt"):
        told["the prompt"] = host.prompt()
    if host.has("tools") and host.has("call_tool"):
        host.tools()
        told["the result of a tool"] = str(host.call_tool(called, {"text": "x"}))
    if host.has("compress"):
        messages = [{"role": "user", "content": "Hello."}]
        told["the text for a summary"] = str(host.compress(messages).asked)
    host.close()
    return told


def _assert_knows_nothing(
    run: HostRun, others: Sequence[Fact], asked: str, session: tuple[Host, Probe], where: str
) -> None:
    """One turn of a session holds nothing of another: its request, its answer, its history."""
    host, provider = session
    requests, calls = len(host.model.requests), len(provider.calls)
    seen = {
        "the answer": [host.turn(asked)],
        "the request": [
            plain(message.get("content"))
            for request in host.model.requests[requests:]
            for message in request
        ],
        "the messages for a provider": [
            plain(message.get("content"))
            for call in provider.calls[calls:]
            if call.hook == "enrich_turn"
            for message in call.args[1]
        ],
    }
    for place, texts in seen.items():
        if found := [text for text in texts if any(fact.stands_in(text) for fact in others)]:
            expected = f"in {place} of {where} nothing of the session before"
            run.violated(Returned(wanted=expected, value=show(found[0])), operation="turn")


@check("MP-HOST-SESS-008")
def a_provider_that_stays_in_its_session_is_reported(run: HostRun) -> None:
    is_only = run.loaded.most == 1
    kinds = [kind for kind in SWITCHES if kind != "rewind"]
    told = 0
    for kind in kinds:
        staying = run.serving()
        host = run.opened(*run.beside(run.serving("sessions")), staying, steps=("switch",))
        if not host.has(f"switch {kind}"):
            continue
        told += 1
        for text in ("Book berth 7.", "Is it free?"):
            _say(host, text)
        if not run.wait_until(lambda p=staying: p.count(_TURN) == 2):  # type: ignore[misc]
            raise Untestable("a turn was not recorded", depends_on("MP-HOST-TURN-007"))
        # The second one leads away from it as well.
        for number in range(2):
            before = len(host.reports.about(staying.name, is_only=is_only))
            host.switch(kind, run.session_key())
            _say(host, "Book berth 4.")
            # A host that hands it nothing more has left it out, or opens another one.
            if not run.wait_until(lambda p=staying, n=number: p.count(_TURN) > 2 + n, 1.0):  # type: ignore[misc]
                break
            if staying.count(_SWITCH) or staying.count("initialize") > 1:
                break
            heard = functools.partial(host.reports.about, staying.name, is_only=is_only)
            if not run.wait_until(lambda h=heard, n=before: len(h()) > n, 2.0):  # type: ignore[misc]
                what = f"{staying.name}, which stays in its session at a switch of the kind"
                run.violated(NotReported(about=f"{what} `{kind}`"))
    if not told and any(step.startswith("switch") for step in run.refused):
        raise Untestable("the driver takes no kind of switch", (Driver("switch"),))
    if not told:
        raise NotApplicable("the framework has no kind of switch")


@check("MP-HOST-DELEG-001")
def a_delegation_is_told_once(run: HostRun) -> None:
    told, other = run.serving("delegation"), run.serving("delegation")
    providers = [told, *run.beside(other)]
    host = run.opened(*providers, steps=("delegate",))
    # Two subagents may have the same task, and each has its own session and its own answer.
    found = ("Berth 7 is free.", f"Berth 4. {UNUSUAL} {PAGES}Done.")
    done = [("Find a berth.", result, run.session_key()) for result in found]
    # And one of them may be asked again, in its session.
    done.append(("And one for tomorrow.", "Berth 9 is free.", done[0][2]))
    for task in done:
        host.delegate(*task)
    run.wait_until(lambda: all(p.count("on_delegation") >= len(done) for p in providers), 2.0)
    host.close()
    for provider in providers:
        calls = [(*call.args, call.keywords.get("child_session_id")) for call in _told(provider)]
        if calls != done:
            sessions = ", ".join(repr(child) for *_, child in done)
            wanted = f"one delegation of each of {len(done)} tasks, with the session {sessions}"
            run.violated(Returned(wanted=wanted, value=show(calls)))
        texts = [task[:2] for task in done]
        if turns := [turn for turn in map(_texts_of, provider.named(_TURN)) if turn in texts]:
            wanted = "a delegation that is told as one, and not as a turn of the user as well"
            run.violated(Returned(wanted=wanted, value=show(turns[0])))


def _texts_of(turn: ReceivedCall) -> tuple[Any, ...]:
    return turn.args[:2]


def _told(provider: Probe) -> list[Any]:
    return provider.named("on_delegation")
