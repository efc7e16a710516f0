"""Chapter 50: recorded turns."""

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

from memproto.adapters import tool_results
from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.evidence import NotRecalled, Recalled
from memproto.testing.facts import Fact
from memproto.testing.instruments.threads import together
from memproto.testing.lifetimes.ends import HostProcess
from memproto.testing.needs import BETTER_RECALL, depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, HookWithdrawn, Subject
from memproto.testing.provider.write_action import USUAL
from memproto.testing.scenarios import (
    beginnings,
    entries,
    mirrored_writes,
    places,
    smallest,
    switches,
    tenants,
    texts,
    tool_calls,
    tool_memory,
)
from memproto.testing.scenarios.tenants import Reader
from memproto.testing.wire import show

_TURNS = 4

#: Number of facts that are alike, more than most searches give.
_ALIKE = 24

#: Number of turns of another user, more than a search asks its store for, and seconds for them.
_CROWD, _CROWD_S = {"quick": 120, "ci": 500, "deep": 500}, 4.0

_LONG_CHARS = 100_000

#: Seconds for which the longest text is looked for that a store takes; a few are enough for most.
_PATIENCE_S = 8.0

#: A text of this length is nowhere too long.
_PLAIN_CHARS = 200

#: Number of times that two calls of a tool begin together.
_ROUNDS = 3

#: Number of texts that a tool stores beside one another: of two ids one may begin the other.
_NOTES = 12

#: Number of turns of each half of a long session, and seconds after which it is long enough.
_LONG_TURNS, _LONG_S = 50, 3.0

#: Replaces of one text, one after the other: numbers of two digits among the versions.
_VERSIONS = 11

_GOODBYE = ("Thanks, that is all for today.", "Until next time.")

#: Number of turns of a session, each time: a worker that is behind loses the last of several.
_LAST_OF = (1, 3, 8, 8, 8)

#: Marks that mean something to LIKE, GLOB and regular expressions, and a text that LIKE takes for
#: them.
_MARKS, _BY_PATTERN = "b_7%x?[2]*", "b47 to x?[2]*"

#: Number of entries that hold one old text.
_HOLDING = 2

#: As long as a background worker may need for a turn.
_MOMENT_S = 1.0


@check("MP-TURN-001", budget_s=240.0, routes=("turns",))
def every_turn_comes_back(run: Run) -> None:
    _all_of_a_session(run)
    _without_an_answer(run)
    _unusual_ones(run)
    _alike(run)
    _of_another_user(run)
    _of_sessions_side_by_side(run)
    _of_a_long_session(run)
    _behind_each_break(run)
    _told_again(run)
    _are_left_by_writes(run)
    _in_a_home_of_any_name(run, "turns")


def _in_a_home_of_any_name(run: Run, route: str) -> None:
    if seen := places.lost(run, route):
        run.violated(seen)


def _behind_each_break(run: Run) -> None:
    """A turn behind a compression, an end or a switch is one as any other: the instance goes on."""
    if run.is_selective:
        return
    if lost := losses.seen_again(functools.partial(_lost_behind_a_break, run)):
        what, fact = lost
        run.violated(
            NotRecalled(
                wanted=f"a turn recalled that was recorded behind {what}, on the same instance",
                texts=(fact.text,),
            ),
        )


def _lost_behind_a_break(run: Run) -> tuple[str, Fact] | None:
    """The break behind which an accepted turn is lost, and its fact; None if each is there."""
    home, old, owed = run.own_home("breaks"), tenants.Tenant("", run.session_key()), {}
    told = list[Fact]()
    with run.session(home, old.session) as subject:
        for what, goes_on in _breaks(run, old).items():
            before, fact = run.facts.several(2)
            if _taken(subject, before.text):
                told.append(before)
                goes_on(subject, switches.transcript(told))
                # Later breaks are not told of it, which could bring it back.
                if _taken(subject, fact.text):
                    owed[fact] = what
        # The last turn of a session has a rule of its own, MP-TURN-003.
        _taken(subject, _GOODBYE[0])
    lost = losses.lost(run, list(owed), home)
    return (owed[lost[0]], lost[0]) if lost else None


_Break = Callable[[Subject, list[dict[str, Any]]], None]


def _breaks(run: Run, old: tenants.Tenant) -> dict[str, _Break]:
    """The calls behind which an instance is used on, in the order in which they may come."""
    found: dict[str, _Break] = {}
    is_told = not run.binding.can_declare or entries.served(run, switches.EXTENSION)
    if is_told and not run.lacks("switch"):
        # First of all: it may take back what stands before it.
        found["a rewind"] = functools.partial(_rewinds, old.session)
    if not run.lacks("compress"):
        found["a compression"] = _compresses
    if is_told and not run.lacks("end"):
        found["an end of the session"] = _ends
    if is_told and not run.lacks("switch") and "session" not in run.declared("isolates", []):
        # A provider that keeps sessions apart is judged by MP-SESS-009.
        new = tenants.Tenant("", f"{old.session}-new")
        found["a switch"] = lambda subject, _: switches.go(run, subject, old, new)
    return found


def _compresses(subject: Subject, said: list[dict[str, Any]]) -> None:
    routes.in_passing(lambda: subject.compress(said, 1))


def _rewinds(session: str, subject: Subject, said: list[dict[str, Any]]) -> None:
    routes.in_passing(lambda: switches.REWIND.make(subject, session, session))


def _ends(subject: Subject, said: list[dict[str, Any]]) -> None:
    routes.in_passing(lambda: subject.end(said))


def _are_left_by_writes(run: Run) -> None:
    """A mirrored write names an entry of mirrored writes; turns that hold the same words stay."""
    is_verbatim = run.declared("retention", "verbatim") == "verbatim" and not run.is_selective
    if not is_verbatim or not run.serves("writes"):
        return
    for action in ("remove", "replace"):
        named = mirrored_writes.targets(run, action)
        target = next((name for name in mirrored_writes.targets(run, "add") if name in named), "")
        taken = functools.partial(_taken_by_a_write, run, action, target)
        if target and (text := losses.seen_again(taken)):
            run.violated(
                NotRecalled(
                    wanted=(
                        f"a turn recalled after a mirrored {action} of an entry in {target} that "
                        "has a word in common with it"
                    ),
                    texts=(text,),
                    verb="came back before and does not any more",
                    removed=True,
                ),
            )


def _taken_by_a_write(run: Run, action: str, target: str) -> str:
    """The text of a turn that is gone when a write names an entry by a word; "" if it stays."""
    home, word = run.own_home(f"by-{action}"), run.facts.name()
    said, noted = (fact.within(f"{fact.text} So {word} says.") for fact in run.facts.several(2))
    new = run.facts.new().text if action == "replace" else ""
    try:
        with run.session(home) as subject:
            if not _taken(subject, said.whole):
                return ""
            mirrored_writes.bring(run, subject, target, noted.whole)
            # The last turn of a session has a rule of its own, MP-TURN-003.
            _taken(subject, _GOODBYE[0])
    except mirrored_writes.Refused:
        return ""
    if losses.lost(run, [said, noted], home):
        return ""
    with run.session(home) as subject:
        if not _accepts(subject, target, new, action, word):
            return ""
    return "" if losses.is_stored(run, said, home) else said.text


def _told_again(run: Run) -> None:
    """A text that was forgotten and is told again is a turn as any other."""
    if run.is_selective or not entries.served(run, "privacy"):
        return
    home, fact, other = run.own_home("again"), run.facts.new(), run.facts.new()
    with run.session(home) as subject:
        told = _taken(subject, fact.text)
    if not told or not losses.is_stored(run, fact, home) or not _is_forgotten(run, fact, home):
        return
    with run.session(home) as subject:
        told = _taken(subject, fact.text) and _taken(subject, other.text)
        # The last turn of a session has a rule of its own, MP-TURN-003.
        _taken(subject, _GOODBYE[0])
    if told and not losses.is_stored(run, fact, home) and losses.is_stored(run, other, home):
        run.violated(
            NotRecalled(
                wanted="a turn recalled that was told again after forget() of everything",
                texts=(fact.text,),
                tail="; a new turn of the same session does come back",
            ),
        )


def _is_forgotten(run: Run, fact: Fact, home: Path) -> bool:
    """True if the provider says that everything is gone now, and recall does not bring the fact."""
    try:
        with run.session(home) as subject:
            answer = subject.forget({})
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
    if not isinstance(answer, dict) or answer.get("pending"):
        # The chapter on privacy judges the answer; pending entries may go later.
        return False
    run.settle()
    with run.session(home) as again:
        return not fact.is_in(routes.recalled(again, fact.query))


def _all_of_a_session(run: Run) -> None:
    facts, key = run.facts.several(_TURNS), run.session_key()
    with run.session(session=key) as subject:
        for fact in facts:
            # The same answer each time, as agents give it; it is the user's words that differ.
            subject.record(fact.text, "Done.")
        # The last turn of a session has a rule of its own, MP-TURN-003.
        subject.record(*_GOODBYE)
    lost = losses.lost(run, facts)
    if lost:
        run.violated(
            NotRecalled(
                wanted=f"each of {_TURNS} turns recalled by a question about it, after a new start",
                texts=tuple(fact.text for fact in lost),
                of=_TURNS,
                labels=_labels(facts, lost),
                about=_hint_on_sessions(run, key, lost[0]),
            ),
        )


def _hint_on_sessions(run: Run, key: str, lost: Fact) -> str:
    """Words that say so if the lost turn is there for a session of the same key."""
    with run.session(session=key) as same:
        found = run.brings_back(same, lost)
    said = (
        "; a session with the same key recalls it: if that is meant of every route, declare session"
        " in `isolates`; if of turns alone, leave turns out of `stores`"
    )
    return said if found else ""


def _without_an_answer(run: Run) -> None:
    """The assistant may have nothing to say, as where it called a tool or showed a picture."""
    with_one, without = facts = run.facts.several(2)
    with run.session() as subject:
        owed = [
            fact for fact in facts if _taken(subject, fact.text, "" if fact == without else "Done.")
        ]
        subject.record(*_GOODBYE)
    lost = losses.lost(run, owed) if without in owed else []
    if without in lost and with_one not in lost:
        run.violated(
            NotRecalled(
                wanted=f"{run.hook('record')} stores a turn whose response is empty, or refuses it",
                texts=(without.text,),
                tail="; a turn of the same session that has a response does",
            ),
        )


def _unusual_ones(run: Run) -> None:
    """Each is stored or refused; what was accepted is there, whatever else stands around it."""
    # In a store of its own: the effect of such a text on others has rules of its own.
    home, unusual = run.own_home("unusual"), texts.around(run.facts.several(8), _LONG_CHARS)
    with run.session(home) as subject:
        accepted = [_taken(subject, text) for _, _, text in unusual]
        subject.record(*_GOODBYE)
    owed = {fact: what for (what, fact, _), kept in zip(unusual, accepted, strict=True) if kept}
    for fact in losses.lost(run, list(owed), home):
        _plain_ones(run, len(unusual), fact)
        seen = NotRecalled(
            wanted=f"{run.hook('record')} stores a turn, or raises an error of memproto.errors",
            texts=(fact.text,),
            lead=f"it returned for a turn {owed[fact]}, and ",
            tail=" from it",
        )
        is_long = fact == unusual[0][1]
        run.violated(_of_least_length(run, seen, _loses_turn) if is_long else seen)
    if not accepted[0]:
        _longest_comes_back(run, "record", _taken_before_another)


def _taken_before_another(subject: Subject, text: str) -> bool:
    """True if a turn was accepted; another one follows, since the last has a rule of its own."""
    is_taken = _taken(subject, text)
    _taken(subject, _GOODBYE[0])
    return is_taken


_Takes = Callable[[Subject, str], bool]


def _longest_comes_back(run: Run, operation: str, takes: _Takes) -> None:
    """A store that refuses long texts counts alike where it takes one and where it shows one."""
    if run.is_selective or not run.binding.own_homes or run.watch.calls_left is not None:
        return
    if seen := losses.seen_again(functools.partial(_lost_longest, run, operation, takes)):
        text, chars = seen
        run.violated(
            NotRecalled(
                wanted=f"{run.hook(operation)} raises where it does not store",
                texts=(text,),
                lead=f"it returned for a text of {chars}, longer than any other that it took, and ",
                tail=" from it",
            ),
            operation=operation,
        )


def _lost_longest(run: Run, operation: str, takes: _Takes) -> tuple[str, str] | None:
    """The fact in the longest text that a new store takes, and its length; None if it is there."""
    fact, end = run.facts.new(), monotonic() + _PATIENCE_S
    least, most = len(fact.text), _LONG_CHARS
    longest: tuple[Fact, Path] | None = None
    while least <= most and monotonic() < end:
        chars = (least + most) // 2
        text = texts.filled(fact.text, chars)
        home = run.own_home(f"{operation}-{re.sub(r'[^a-zA-Z]', '', fact.name)}-{chars}")
        with run.session(home) as subject:
            is_taken = takes(subject, text)
        if is_taken:
            longest, least = (fact.within(text), home), chars + 1
        else:
            most = chars - 1
    if longest is None or losses.is_stored(run, *longest):
        return None
    return fact.text, f"{len(longest[0].whole):,} characters"


def _of_least_length(
    run: Run, seen: NotRecalled, loses: Callable[[Run, int], bool], longest: int = _LONG_CHARS
) -> NotRecalled:
    """The loss of a long text, with the length from which on such texts are lost."""
    found = smallest.of_length(run, longest, _PLAIN_CHARS, functools.partial(loses, run))
    return seen if found is None else found.told(seen)


def _loses_turn(run: Run, chars: int) -> bool:
    """True if a turn of that length is accepted and does not come back."""
    fact = run.facts.new()
    text = texts.filled(fact.text, chars)
    with run.session() as subject:
        kept = _taken(subject, text)
        subject.record(*_GOODBYE)
    return kept and not losses.is_stored(run, fact.within(text))


def _alike(run: Run) -> None:
    """Turns that are alike but for what is said, as those of one template are."""
    if lost := beginnings.lost(run, _taken, run.own_home("beginnings")):
        run.violated(lost.told(wanted="each of the turns recalled that are alike for the rest"))


def _plain_ones(run: Run, count: int, odd: Fact) -> None:
    """If plain turns in the place of unusual ones are lost too, their content is not the reason."""
    facts = texts.behind_as_much(run.facts.several(count), odd)
    with run.session() as subject:
        accepted = [fact for fact in facts if _taken(subject, fact.whole)]
        subject.record(*_GOODBYE)
    _all_come_back(run, accepted, f"from a session of {count + 1} plain turns")


def _taken(subject: Subject, text: str, response: str = "Done.") -> bool:
    """True if the turn was accepted; what else than a report was raised is for MP-TURN-002."""
    try:
        subject.record(text, response)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
    return True


def _of_another_user(run: Run) -> None:
    """A text that one user said is still there after another one used the same home."""
    facts = run.facts.several(2)
    with run.session() as subject:
        for fact in facts:
            run.plant(subject, fact, "turns")
        subject.record(*_GOODBYE)
    with run.session(user_id=f"{run.config()['user_id']}-guest") as guest:
        guest.record("What are your opening hours?", "From nine to five.")
        guest.record(*_GOODBYE)
    _all_come_back(run, facts, "after another user had a session on the same home")
    if "user" in run.declared("isolates", []) and not run.is_selective:
        _among_many_of_another_user(run)


def _among_many_of_another_user(run: Run) -> None:
    """Another user says much that fits the questions as well, behind one text and before one."""
    if run.watch.calls_left is not None:
        return
    home, facts = run.own_home("crowd"), run.facts.several(2)
    until = monotonic() + _CROWD_S * run.context.scale * run.context.slowdown
    both, told = " ".join(fact.text for fact in facts), 0
    for fact in facts:
        with run.session(home) as subject:
            owed = _taken(subject, fact.text)
            _taken(subject, _GOODBYE[0])
        if not owed or (not told and not losses.is_stored(run, fact, home)):
            return
        if not told:
            with run.session(home, user_id=f"{run.config()['user_id']}-guest") as guest:
                while told < _CROWD[run.context.profile] and monotonic() < until:
                    told += 1
                    if not _taken(guest, f"{both} So far {told} times."):
                        break
    _all_come_back(run, facts, f"beside {told} of another user in their words", home)


def _of_sessions_side_by_side(run: Run) -> None:
    """A gateway has several sessions of a profile open at a time."""
    if "session" in run.declared("isolates", []) or run.declared("single_writer", default=False):
        return
    # A function of atexit shuts down again what was over before another session was.
    facts, again = (
        _told_side_by_side(run, shuts_down_again=True),
        "one of which was shut down again",
    )
    if losses.lost(run, facts):
        _all_come_back(run, _told_side_by_side(run), _SIDE_BY_SIDE)
        _all_come_back(run, facts, f"{_SIDE_BY_SIDE}, {again}")
    _beside_a_job(run)


def _beside_a_job(run: Run) -> None:
    """A job that runs by the clock begins while a conversation is open."""
    fact = run.facts.new()
    with run.session() as subject:
        try:
            job = run.open(agent_context="cron")
        except HookRaised as failure:
            if failure.ends_process:
                raise
            return  # for MP-CTX-001
        run.plant(subject, fact, "turns")
        run.close(job)
        subject.record(*_GOODBYE)
    _all_come_back(run, [fact], "that a session recorded while a job of its home was open")


_SIDE_BY_SIDE = "that two sessions of one home recorded while both were open"


def _told_side_by_side(run: Run, *, shuts_down_again: bool = False) -> list[Fact]:
    """Facts that two sessions recorded; the one that is over first may be shut down again."""
    *facts, late = every = run.facts.several(4)
    with run.session() as one:
        with run.session() as other:
            for fact, subject in zip(facts, (one, other, one), strict=True):
                run.plant(subject, fact, "turns")
            other.record(*_GOODBYE)
        run.plant(one, late, "turns")
        one.record(*_GOODBYE)
    if shuts_down_again:
        other.close()
    return every


def _of_a_long_session(run: Run) -> None:
    """The first turn of many is there, as well as one in the middle and the last."""
    is_fresh = run.declared("consistency", "immediate") == "immediate"
    if run.is_selective or run.watch.calls_left is not None or not is_fresh:
        return
    *before, last = facts = run.facts.several(3)
    home = run.own_home("long")
    count = len(facts) + 1
    with run.session(home) as subject:
        for fact in before:
            run.plant(subject, fact, "turns")
            count += _talks(run, subject, count)
        run.plant(subject, last, "turns")
        subject.record(*_GOODBYE)
    _all_come_back(run, facts, f"of a session of {count} turns", home, _hint_on_the_newest)


def _talks(run: Run, subject: Subject, first: int) -> int:
    """Record turns from that number on, as many as there is time for; gives how many."""
    until = monotonic() + _LONG_S * run.context.scale * run.context.slowdown
    for number in range(_LONG_TURNS):
        if monotonic() > until:
            return number
        subject.record(f"Is lamp {first + number} lit?", "It is lit.")
    return _LONG_TURNS


def _hint_on_the_newest(facts: list[Fact], lost: list[Fact]) -> str:
    """Words that say so if the oldest turns are lost, and all that came later are there."""
    if lost == facts or lost != facts[: len(lost)]:
        return ""
    return (
        "; what was told later did: if it keeps or recalls the newest texts alone, and is meant to,"
        " declare `retention` as selective"
    )


def _all_come_back(
    run: Run,
    facts: list[Fact],
    when: str,
    home: Path | None = None,
    hint: Callable[[list[Fact], list[Fact]], str] = lambda *_: "",
) -> None:
    if lost := losses.lost(run, facts, home):
        run.violated(
            NotRecalled(
                wanted=f"each of {len(facts)} turns recalled {when}",
                texts=tuple(fact.text for fact in lost),
                of=len(facts),
                labels=_labels(facts, lost),
                about=hint(facts, lost),
            ),
        )


def _labels(facts: list[Fact], lost: list[Fact]) -> tuple[str, ...]:
    return tuple(f"turn {facts.index(fact) + 1}" for fact in lost)


@check("MP-TURN-002", budget_s=240.0, hook="record", grows=True)
def a_turn_takes_any_text(run: Run) -> None:
    odd = texts.odd(run, texts.LONGEST)
    wanted = f"{run.hook('record')} stores every str, or raises an error of memproto.errors"
    with run.session() as subject:
        subject.record("Which berth is free today?", "Berth 4.")
        found = texts.raised_for(run, odd, lambda text: _exchange(subject, text))
        # Before shutdown, which may raise for the same text.
        texts.none_raises(run, found, "record", wanted, of=len(odd))
    # Stored texts must not stand in the way of the next session.
    with run.session() as again:
        again.recall("Which berth is free today?")


def _exchange(subject: Subject, text: str) -> None:
    """The text as the user's words; where they were taken, as the assistant's too."""
    subject.record(text, "Noted.")
    subject.record("What did you find?", text)


@check("MP-TURN-003", budget_s=120.0, routes=("turns",))
def the_last_turn_is_stored(run: Run) -> None:
    for count in _LAST_OF:
        *_, last = facts = run.facts.several(count)
        subject = run.open()
        for fact in facts:
            run.plant(subject, fact, "turns")
        run.close(subject)
        if not losses.is_stored(run, last):
            seen = _comes_back_from_the_middle(run, last)
            number = "the only turn" if count == 1 else f"the last of {count} turns"
            run.violated(
                NotRecalled(
                    wanted=(
                        "a turn that was recorded right before shutdown, recalled after a new start"
                    ),
                    texts=(last.text,),
                    subject=f"{number}, {last.text!r},",
                    tail=seen,
                ),
            )


def _comes_back_from_the_middle(run: Run, fact: Fact) -> str:
    """See that the turn is not unfit for recall, where the provider did not say that it stores."""
    if "turns" in run.declared("stores", []):
        return ""
    with run.session() as subject:
        run.plant(subject, fact, "turns")
        routes.talk_on(subject)
        run.wait_until(lambda: False, _MOMENT_S)
    if not losses.is_stored(run, fact):
        raise Lost("the last turn did not come back from the middle of a session either")
    return "; recorded again, with time and other turns before shutdown, it did"


@check("MP-TURN-004", routes=("turns",))
def a_resumed_session_keeps_its_turns(run: Run) -> None:
    session = run.session_key()
    early, late = run.facts.several(2)
    _one_turn(run, session, early)
    if not losses.is_stored(run, early):
        raise Lost("the turn of the session's first part did not come back")
    _one_turn(run, session, late)
    for fact, part in ((early, "first"), (late, "second")):
        if not losses.is_stored(run, fact):
            run.violated(
                NotRecalled(
                    wanted="the turns of both parts of a session that was opened again",
                    texts=(fact.text,),
                    subject=f"the turn of the {part} part, {fact.text!r},",
                ),
            )


def _one_turn(run: Run, session: str, fact: Fact) -> None:
    subject = run.open(session=session)
    if entries.served(run, "turns"):
        # A process that opens a session again counts the turns that it sees itself.
        with contextlib.suppress(HookRaised, HookWithdrawn):
            subject.turn_start(1, fact.text)
    run.plant(subject, fact, "turns")
    run.close(subject)


@check("MP-TURN-005", budget_s=120.0)
def the_words_of_a_bot_are_not_the_users(run: Run) -> None:
    is_told = entries.served(run, "record")
    if not is_told and not run.binding.takes_authors(run.provider().provider):
        raise NotApplicable("no hook takes the author of a turn")
    # Asked for behind that: nothing is missing to judge a provider that knows of no authors.
    run.needs_route("turns")
    users, bots = run.facts.several(2)
    key = run.session_key()
    user = {"id": str(run.config()["user_id"]), "name": "Ida", "is_bot": False}
    bot = {"id": f"{key}-rook", "name": "Rook", "is_bot": True}
    with run.session(session=key) as subject:
        for fact, author in ((users, user), (bots, bot)):
            _said_by(run, subject, key, fact, author)
    reader = Reader(run)
    of_user = _shown(run, reader.sees, users, bots)
    if not of_user:
        raise Lost(f"{users.text!r} did not come back", depends_on("MP-TURN-001"))
    if _shown(run, reader.finds, bots, users) == of_user:
        run.violated(
            Recalled(
                wanted="the words of a bot left out, or shown as those of somebody else",
                texts=(bots.text,),
                by=run.hook("recall"),
                of_whom="a bot",
                to_whom="the user",
                lead=f"{run.hook('recall')} gives ",
                tail=", which a bot said, in the same form as the user's own words",
            ),
            operation="recall",
        )


def _said_by(run: Run, subject: Subject, key: str, fact: Fact, author: Mapping[str, Any]) -> None:
    """Record a turn of an author, which one of the hooks takes."""
    reply = routes.reply_to(fact)
    if entries.served(run, "record"):
        given = entries.turn(key, fact.text, reply, author=dict(author))
        # To refuse the words of a bot is one way to leave them out.
        take = entries.is_taken if author["is_bot"] else entries.record
        take(subject, given)
    else:
        routes.tolerant(lambda: subject.record(fact.text, reply, author=author))


def _shown(
    run: Run, is_back: Callable[[Subject, Fact], bool], fact: Fact, other: Fact
) -> list[str]:
    """
    The form in which recall gives a fact, in lines; [] where it does not give it.

    It has the lines of the fact, those before them that hold neither fact, and those behind them
    as far as the other one. Names of the facts, numbers and ids are taken out.
    """
    with run.session() as again:
        if not is_back(again, fact):
            return []
        answer = routes.answer(again, fact, run.freshness_s) or ""
    lines = answer.replace(fact.query, "QUESTION").splitlines()
    first = next((at for at, line in enumerate(lines) if fact.stands_in(line)), len(lines))
    before = [line for line in lines[:first] if not other.stands_in(line)]
    own = itertools.takewhile(lambda line: not other.stands_in(line), lines[first:])
    texts = (routes.reply_to(fact), fact.text, fact.name)
    return [_NUMBER.sub("0", _without(line, texts)) for line in [*before, *own]]


#: A number, a time, or an id.
_NUMBER = re.compile(r"(?=[0-9a-f-]*\d)[0-9a-f-]+|\d+", re.IGNORECASE)


def _without(line: str, texts: tuple[str, ...]) -> str:
    for number, text in enumerate(texts):
        line = line.replace(text, f"TEXT {'ABC'[number]}")
    return line


# -- writes ----------------------------------------------------------------------------------------

# Chapter 50: mirrored writes, and storing through tools.


_SHORT_CHARS = 1_000

#: For some hundred calls of a provider that asks a service each time.
_ANY_TEXT_S = 240.0

#: Number of entries of about 400 characters that fill every bounded store which a prompt can show.
_MANY = 30


def _added(run: Run, targets: list[str]) -> Iterator[tuple[str, Fact]]:
    """Add one fact for each target, and see every one come back before something is asserted."""
    facts = _brought(run, targets)
    for target, fact in facts.items():
        found = losses.found(run, fact)
        if found is None:
            raise Lost(f"text added to {target} did not come back", depends_on("MP-WRITE-001"))
        # It is asked for afterwards in the way that brought it.
        facts[target] = found
    yield from facts.items()


def _brought(run: Run, targets: list[str]) -> dict[str, Fact]:
    """
    A fact for each of the targets, brought in by one session.

    A policy of the store may be against one of them; it was said, and no text is lost.

    Raises:
        Refused: It is against all of them.

    """
    facts: dict[str, Fact] = {}
    refused: list[mirrored_writes.Refused] = []
    with run.session() as subject:
        for target in targets:
            fact = run.facts.new()
            try:
                mirrored_writes.bring(run, subject, target, fact.text)
            except mirrored_writes.Refused as reason:
                refused.append(reason)
            else:
                facts[target] = fact
    if not facts:
        raise refused[0]
    return facts


@check("MP-WRITE-001", routes=("writes",))
def an_added_text_comes_back(run: Run) -> None:
    facts = _brought(run, mirrored_writes.needed_targets(run, "add"))
    for target, fact in facts.items():
        if not losses.is_stored(run, fact):
            run.violated(
                NotRecalled(
                    wanted=f"text that was added to {target}, recalled after a new start",
                    texts=(fact.text,),
                    verb="was accepted and did not come back",
                ),
            )
    _adds_alike(run, next(iter(facts)))
    _side_by_side(run, next(iter(facts)))
    _another_user_leaves_it(run, next(iter(facts)))
    _others_leave_it(run, next(iter(facts)))
    _in_a_home_of_any_name(run, "writes")


def _others_leave_it(run: Run, target: str) -> None:
    """An entry stays that a write does not name, and one that is added again."""
    is_verbatim = run.declared("retention", "verbatim") == "verbatim" and not run.is_selective
    if not is_verbatim or target not in mirrored_writes.targets(run, "remove"):
        return
    if seen := losses.seen_again(functools.partial(_lost_beside, run, target)):
        what, text = seen
        run.violated(
            NotRecalled(
                wanted=f"a text that was added to {target}, recalled after {what}",
                texts=(text,),
                verb="came back before and does not any more",
                removed=True,
            ),
        )


def _lost_beside(run: Run, target: str) -> tuple[str, str] | None:
    """The write behind which another entry is gone, and the text of that; None if each stays."""
    home, (part, rest, again, near, odd) = run.own_home("beside"), run.facts.several(5)
    whole, odd = f"{part.text} {rest.text}", odd.within(f"{odd.text} Its number is {_BY_PATTERN}.")
    with run.session(home) as subject:
        owed = _told_beside(subject, target, part, again, whole)
        if _accepts(subject, target, near.text):
            owed[_OF_NONE] = near
        if _accepts(subject, target, odd.whole):
            owed[_OF_A_PATTERN] = odd
    with run.session(home) as subject:
        owed = {what: fact for what, fact in owed.items() if run.brings_back(subject, fact)}
    with run.session(home) as subject:
        for text in (whole, again.text, near.renamed(run.facts.name()).text, _MARKS):
            _accepts(subject, target, "", "remove", text)
    with run.session(home) as subject:
        if not _accepts(subject, target, again.text):
            owed.pop(_ADDED_AGAIN, None)
    lost = losses.lost(run, list(owed.values()), home)
    return next(((what, fact.text) for what, fact in owed.items() if fact in lost), None)


#: The fate of an entry, as it completes "recalled after ...".
_OF_A_LONGER = "a remove of a longer text that begins with it"
_ADDED_AGAIN = "a remove and another add of it, in sessions of their own"
_OF_NONE = "a remove whose old_text fits no entry, and is the same but for a name"
_OF_A_PATTERN = f"a remove whose old_text, {_MARKS!r}, fits it as a pattern alone"


def _told_beside(
    subject: Subject, target: str, part: Fact, again: Fact, whole: str
) -> dict[str, Fact]:
    """Add texts; those accepted, by what is going to befall them."""
    told = {
        _OF_A_LONGER: (part, [(target, whole), (target, part.text)]),
        _ADDED_AGAIN: (again, [(target, again.text)]),
    }
    return {
        what: fact
        for what, (fact, writes) in told.items()
        if all(_accepts(subject, *write) for write in writes)
    }


def _adds_alike(run: Run, target: str) -> None:
    """Entries that are alike but for what is said, as those of one template are."""
    if target not in mirrored_writes.targets(run, "add"):
        return
    accepts = functools.partial(_accepts_in, target)
    if lost := beginnings.lost(run, accepts, run.own_home("beginnings")):
        run.violated(
            lost.told(
                wanted=(
                    f"each of the texts recalled that were added to {target} and are alike for "
                    "the rest"
                )
            )
        )


def _accepts_in(target: str, subject: Subject, text: str) -> bool:
    return _accepts(subject, target, text)


def _side_by_side(run: Run, target: str) -> None:
    """A gateway has several sessions of a profile open at a time."""
    if "session" in run.declared("isolates", []) or run.declared("single_writer", default=False):
        return
    facts = run.facts.several(4)
    with run.session() as one, run.session() as other:
        pairs = zip(facts, (one, other, one, other), strict=True)
        accepted = [fact for fact, subject in pairs if _accepts(subject, target, fact.text)]
    if lost := losses.lost(run, accepted):
        run.violated(
            NotRecalled(
                wanted=(
                    "text that was added by two sessions of one home while both were open, "
                    "recalled later"
                ),
                texts=tuple(fact.text for fact in lost),
                of=len(accepted),
            ),
        )


def _another_user_leaves_it(run: Run, target: str) -> None:
    """The entry that a write names is one of the same user, if users are kept apart."""
    if run.is_selective or "user" not in run.declared("isolates", []):
        return
    for action in ("remove", "replace"):
        if target not in mirrored_writes.targets(run, action):
            continue
        if text := losses.seen_again(functools.partial(_taken_by_another, run, target, action)):
            run.violated(
                NotRecalled(
                    wanted=(
                        f"text that one user added to {target}, recalled for that user after a "
                        f"{action} of another user"
                    ),
                    texts=(text,),
                    verb="came back before and does not any more",
                    removed=True,
                ),
            )


def _taken_by_another(run: Run, target: str, action: str) -> str:
    """The text of one user that is gone when another one names it; "" if it stays."""
    owner, other = tenants.pair(run, "user", f"-{action}")
    fact, same, new, reader = (*run.facts.several(3), Reader(run))
    try:
        with owner.opened(run) as subject:
            for told in (fact, same):
                mirrored_writes.bring(run, subject, target, told.text)
        if reader.lacks(owner, [fact, same]):
            return ""
        with other.opened(run) as subject:
            if reader.finds(subject, fact):
                # MP-TENANT-001 judges that the two are not kept apart.
                return ""
            text = new.text if action == "replace" else ""
            _accepts(subject, target, text, action, fact.text)
            # Of equal words each user has an entry of its own.
            if _accepts(subject, target, same.text):
                _accepts(subject, target, text, action, same.text)
    except (mirrored_writes.Refused, tenants.Refused):
        return ""
    lost = reader.lacks(owner, [fact, same])
    return lost[0].text if lost else ""


@check("MP-WRITE-002", budget_s=_ANY_TEXT_S, hook="mirror", parts=4, grows=True)
def a_write_takes_any_text(run: Run) -> None:
    odd = texts.odd(run, texts.LONGEST)
    wanted = f"{run.hook('mirror')} stores every str, or raises an error of memproto.errors"
    found: list[texts.Raising] = []
    with run.session() as subject:
        for number, arguments in run.of_part(enumerate(_shapes(run))):
            # The long ones once are enough: they cost time in every store.
            chosen = {k: v for k, v in odd.items() if not number or len(v) < _SHORT_CHARS}
            fill = functools.partial(_fill, run, subject, arguments)
            found += texts.raised_for(run, chosen, fill, makes_smaller=not found)
        # Before shutdown, which may raise for the same text.
        texts.none_raises(run, found, "mirror", wanted, of=len(odd))
    # Stored texts must not stand in the way of the next session.
    with run.session() as again:
        again.recall("What did I ask you to keep?")


#: Stands for the odd text in the arguments of a write.
_ODD = object()

#: Text that replaces an odd one, or is replaced by it.
_PLAIN = "The lamps are lit."


def _shapes(run: Run) -> Iterator[tuple[Any, ...]]:
    """The arguments of every declared kind of write; each odd text is put at its marks."""
    if not any(run.mirrors.values()):
        # A host mirrors what it writes all the same.
        yield (*USUAL, _ODD)
    for target in mirrored_writes.targets(run, "add"):
        yield ("add", target, _ODD)
    for target in mirrored_writes.targets(run, "replace")[:1]:
        yield ("replace", target, _PLAIN, _ODD)
        yield ("replace", target, _ODD, _PLAIN)
    for target in mirrored_writes.targets(run, "remove")[:1]:
        yield ("remove", target, "", _ODD)


def _fill(run: Run, subject: Subject, arguments: tuple[Any, ...], text: str) -> None:
    if arguments[-1] is _PLAIN and arguments[1] in mirrored_writes.targets(run, "add"):
        # An odd text takes its place each time: it has to be there.
        routes.tolerant(lambda: subject.mirror("add", arguments[1], _PLAIN))
    subject.mirror(*(text if item is _ODD else item for item in arguments))


@check("MP-WRITE-003", budget_s=120.0, routes=("writes",))
def a_replaced_text_is_gone(run: Run) -> None:
    _named_both_ways(run, "replace", _replaced)
    _stays_in_its_target(run)
    for target in mirrored_writes.needed_targets(run, "replace")[:1]:
        if not run.is_selective:
            with contextlib.suppress(mirrored_writes.Refused):
                _has_other_words(run, target)
            with contextlib.suppress(mirrored_writes.Refused):
                _many_times_over(run, target)


def _has_other_words(run: Run, target: str) -> None:
    """A text that has no word of the one in whose place it comes is found by its own words."""
    old, (new, plain) = run.facts.name(), run.facts.several(2)
    with run.session() as subject:
        mirrored_writes.bring(run, subject, target, old)
        mirrored_writes.bring(run, subject, target, plain.text)
        mirrored_writes.write(subject, "replace", target, new.text, old)
    if not losses.is_stored(run, new) and losses.is_stored(run, plain):
        run.violated(
            NotRecalled(
                wanted=f"the new text recalled after a replace in {target} of {old!r}",
                texts=(new.text,),
                tail="; it has no word of the old one, and an added text came back",
            )
        )


def _many_times_over(run: Run, target: str) -> None:
    """The newest of many versions is the one that is there; when it is removed, none is."""
    if run.watch.calls_left is not None:
        return
    versions = [run.facts.new()]
    with run.session() as subject:
        mirrored_writes.bring(run, subject, target, versions[0].text)
        # One that is refused comes too late: the text before it was accepted.
        with contextlib.suppress(mirrored_writes.Refused):
            for _ in range(_VERSIONS):
                new = versions[0].renamed(run.facts.name())
                mirrored_writes.write(subject, "replace", target, new.text, versions[-1].text)
                versions.append(new)
    if len(versions) == 1:
        return
    after = f"{len(versions) - 1} replaces of one text in {target}, one after the other"
    if not losses.is_stored(run, versions[-1]):
        fault = NotRecalled(wanted=f"the newest text after {after}", texts=(versions[-1].text,))
        run.violated(fault)
    _are_gone(run, versions[:-1], after)
    if target not in mirrored_writes.targets(run, "remove"):
        return
    with run.session() as subject:
        mirrored_writes.write(subject, "remove", target, "", versions[-1].text)
    # If the newest is there still, MP-WRITE-004 is broken.
    _are_gone(run, versions[:-1], f"{after}, and a remove of the newest")


def _stays_in_its_target(run: Run) -> None:
    """A new text is in the target of its replace: a remove that names the other one leaves it."""
    added, removed = (mirrored_writes.targets(run, action) for action in ("add", "remove"))
    for target in mirrored_writes.targets(run, "replace"):
        other = next((name for name in removed if name != target), "")
        if run.is_selective or target not in added or not other:
            continue
        if text := losses.seen_again(functools.partial(_taken_elsewhere, run, target, other)):
            run.violated(
                NotRecalled(
                    wanted=(
                        f"the new text of a replace in {target}, recalled after a remove of it in "
                        f"{other}"
                    ),
                    texts=(text,),
                    verb="came back before and does not any more",
                    removed=True,
                ),
            )


def _taken_elsewhere(run: Run, target: str, other: str) -> str:
    """The new text that is gone when a remove names it in the other target; "" if it stays."""
    home, old, new = run.own_home(f"in-{target}"), *run.facts.several(2)
    try:
        with run.session(home) as subject:
            mirrored_writes.bring(run, subject, target, old.text)
            mirrored_writes.write(subject, "replace", target, new.text, old.text)
    except mirrored_writes.Refused:
        return ""
    if not losses.is_stored(run, new, home):
        return ""
    with run.session(home) as subject:
        _accepts(subject, other, "", "remove", new.text)
    return "" if losses.is_stored(run, new, home) else new.text


def _named_both_ways(run: Run, action: str, judge: Callable[[Run, str, Fact, str], None]) -> None:
    """Judge the action with the whole text as `old_text`; then with words of it, and beside one."""
    targets = mirrored_writes.needed_targets(run, action)
    for target, old in _added(run, targets):
        judge(run, target, old, old.text)
    with contextlib.suppress(mirrored_writes.Refused):
        for target, old in _added(run, targets):
            near = _added_beside(run, target)
            judge(run, target, old, old.name)
            _stays(run, near, f"a {action} of another text in {target}")
        for target in targets:
            _of_two_alike(run, action, target, judge)
        for target in targets[:1]:
            for is_older in (True, False):
                _of_marks(run, action, target, judge, is_older=is_older)


def _of_two_alike(
    run: Run, action: str, target: str, judge: Callable[[Run, str, Fact, str], None]
) -> None:
    """Judge the action on one of two texts with a long beginning in common; the other one stays."""
    if run.is_selective:
        return
    old, near = beginnings.alike(run, 2)
    with run.session() as subject:
        for fact in (old, near):
            mirrored_writes.bring(run, subject, target, fact.whole)
    if losses.lost(run, [old, near]):
        # MP-WRITE-001 says whether they may be lost.
        return
    judge(run, target, old, old.whole)
    _stays(run, near, f"a {action} in {target} of a text that begins as it does")


def _of_marks(
    run: Run,
    action: str,
    target: str,
    judge: Callable[[Run, str, Fact, str], None],
    *,
    is_older: bool,
) -> None:
    """Judge the action by words that a pattern finds in another text as well; that one stays."""
    if run.is_selective:
        return
    near, old = (
        fact.within(f"{fact.text} Its number is {number}.")
        for fact, number in zip(run.facts.several(2), (_BY_PATTERN, _MARKS), strict=True)
    )
    with run.session() as subject:
        for fact in (near, old) if is_older else (old, near):
            mirrored_writes.bring(run, subject, target, fact.whole)
    if losses.lost(run, [near, old]):
        return
    judge(run, target, old, _MARKS)
    _stays(run, near, f"a {action} in {target} with old_text={_MARKS!r}, which it does not hold")


def _replaced(run: Run, target: str, old: Fact, old_text: str) -> None:
    name = run.facts.name()
    new = old.renamed(name)
    with _one_more_open(run), run.session() as subject:
        mirrored_writes.write(subject, "replace", target, new.text, old_text)
    after = f"a replace in {target} with old_text={old_text!r}"
    if not losses.is_stored(run, new):
        run.violated(
            NotRecalled(
                wanted=f"the new text, {new.text!r}, after {after}",
                texts=(new.text,),
                subject="it",
                tail=" after a new start",
            )
        )
    _is_gone(run, old, after)


@contextlib.contextmanager
def _one_more_open(run: Run) -> Iterator[None]:
    """
    Another session of the home that is open meanwhile, as in a gateway, and is closed later.

    It has seen what is about to go, and must not bring it back when it ends.
    """
    if "session" in run.declared("isolates", []) or run.declared("single_writer", default=False):
        yield
        return
    with run.session() as other:
        routes.recalled(other, _PLAIN)
        yield


@check("MP-WRITE-004", budget_s=240.0, routes=("writes",))
def a_removed_text_is_gone(run: Run) -> None:
    _named_both_ways(run, "remove", _removed)
    _stays_gone_when_the_process_ends(run)


def _stays_gone_when_the_process_ends(run: Run) -> None:
    """A process of its own stores, removes, is shut down and ends; nothing puts the text back."""
    target = run.writing.first[1]
    is_added = target in mirrored_writes.targets(run, "add")
    if not is_added or target not in mirrored_writes.targets(run, "remove"):
        return
    kept, gone = run.facts.several(2)
    remove = {
        "hook": "on_memory_write",
        "arguments": ["remove", target, "", gone.text],
        "keywords": {},
    }
    told = [kept.text, gone.text]
    ended = HostProcess(run, "twice", told, route="writes", calls=[remove]).end()
    if "made" in ended.marks and "closed" in ended.marks:
        _is_gone(run, gone, "a process that removed it has ended")


def _removed(run: Run, target: str, fact: Fact, old_text: str) -> None:
    with _one_more_open(run), run.session() as subject:
        mirrored_writes.write(subject, "remove", target, "", old_text)
    _is_gone(run, fact, f"a remove in {target} with old_text={old_text!r}")


def _added_beside(run: Run, target: str) -> Fact:
    """
    One more fact in the same target.

    A model names an entry by some words of it that occur in no other; those that have nothing to
    do with it stay.
    """
    near = run.facts.new()
    with run.session() as subject:
        mirrored_writes.bring(run, subject, target, near.text)
    return near


def _stays(run: Run, near: Fact, after: str) -> None:
    if not losses.is_stored(run, near):
        run.violated(
            NotRecalled(
                wanted=f"{near.text!r}, which was added, recalled after {after}",
                texts=(near.text,),
                subject="it",
            ),
            requirement="MP-WRITE-001",
        )


def _is_gone(run: Run, fact: Fact, after: str) -> None:
    _are_gone(run, [fact], after)


def _are_gone(run: Run, facts: list[Fact], after: str) -> None:
    """None of some facts with one question is recalled."""
    answers, query = list[Any](), facts[0].query

    def left() -> list[Fact]:
        answers.append(routes.recalled(again, query))
        return [fact for fact in facts if fact.is_in(answers[-1])]

    with run.session() as again:
        if run.wait_until(lambda: not left(), run.freshness_s):
            return
        there = left()
    if there:
        run.violated(
            Recalled(
                wanted=f"{there[0].text!r} gone from recall after {after}",
                texts=(there[0].text,),
                answer=show(answers[-1]),
                question=query,
                lead=f"{query!r} still brings ",
            ),
        )


@check("MP-WRITE-005", budget_s=120.0, routes=("writes",))
def what_is_not_stored_is_reported(run: Run) -> None:
    target, _ = next(_added(run, mirrored_writes.needed_targets(run, "add")))
    _unmatched_replace(run, target)
    longs = _accepted(run, target, [run.facts.new()], _LONG_CHARS)
    for long in longs:
        _must_come_back(run, long, f"a text of {_LONG_CHARS:,} characters")
    if not longs:
        _longest_comes_back(run, "mirror", lambda subject, text: _accepts(subject, target, text))
    many = run.facts.several(_MANY)
    if accepted := _accepted(run, target, many, 400):
        number = [fact.name for fact in many].index(accepted[-1].name) + 1
        _must_come_back(run, accepted[-1], f"write {number} of {_MANY}, each of 400 characters,")
    _writes_unusual_ones(run, target)


def _unmatched_replace(run: Run, target: str) -> None:
    """A mirror that began after the memory that it mirrors is told to replace what it never had."""
    if target not in mirrored_writes.targets(run, "replace"):
        return
    never, new = run.facts.several(2)
    with run.session() as subject:
        accepted = _accepts(subject, target, new.text, "replace", never.text)
    if accepted:
        _must_come_back(run, new, f"a replace in {target} whose old_text fits no entry")


def _writes_unusual_ones(run: Run, target: str) -> None:
    # Below a home of their own where that is possible: the first one may be full by now.
    home = run.own_home("unusual")
    unusual = texts.around(run.facts.several(8), _SHORT_CHARS)
    with run.session(home) as subject:
        accepted = [_accepts(subject, target, text) for _, _, text in unusual]
    for (what, fact, _), kept in zip(unusual, accepted, strict=True):
        if kept and not losses.is_stored(run, fact, home):
            _expect_a_plain_one(run, target, home)
            _expect_plain_ones(run, target, len(unusual), fact)
            loses = functools.partial(_loses_write, target, home) if fact == unusual[0][1] else None
            _say_lost(run, fact, f"a text {what}", loses)


def _loses_write(target: str, home: Path, run: Run, chars: int) -> bool:
    """True if a write of that length is accepted and does not come back."""
    fact = run.facts.new()
    text = texts.filled(fact.text, chars)
    with run.session(home) as subject:
        kept = _accepts(subject, target, text)
    return kept and not losses.is_stored(run, fact.within(text), home)


def _expect_a_plain_one(run: Run, target: str, home: Path) -> None:
    """A short text behind all the long ones: recall may bring nothing but those."""
    plain = run.facts.new()
    with run.session(home) as subject:
        kept = _accepts(subject, target, plain.text)
    if not kept or not run.reopened_brings_back(plain, home):
        reason = "behind texts of many characters a short one does not come back either"
        raise Untestable(reason, BETTER_RECALL)


def _expect_plain_ones(run: Run, target: str, count: int, odd: Fact) -> None:
    """If plain texts in the place of the unusual ones are lost too, it is not by what they hold."""
    home = run.own_home("plain")
    facts = texts.behind_as_much(run.facts.several(count), odd)
    with run.session(home) as subject:
        accepted = [fact for fact in facts if _accepts(subject, target, fact.whole)]
    if losses.lost(run, accepted, home):
        reason = f"of {count} plain texts added to {target} in one session some do not come back"
        raise Lost(reason, depends_on("MP-WRITE-001"))


def _accepts(
    subject: Subject, target: str, text: str, action: str = "add", old_text: str | None = None
) -> bool:
    """True if the write was accepted; what else than a report was raised is for MP-WRITE-002."""
    try:
        subject.mirror(action, target, text, old_text)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
    return True


def _accepted(run: Run, target: str, facts: list[Fact], chars: int) -> list[Fact]:
    """Write the facts in one session, each made that long; those that were not refused."""
    kept: list[Fact] = []
    with run.session() as subject:
        for fact in facts:
            text = texts.padded(fact.text, chars)
            try:
                subject.mirror("add", target, text)
            except HookRaised as failure:
                if not failure.is_report:
                    raise
            else:
                # The whole text is a way to ask for it as well.
                kept.append(fact.within(text))
    return kept


def _must_come_back(run: Run, fact: Fact, what: str, home: Path | None = None) -> None:
    if not losses.is_stored(run, fact, home):
        _say_lost(run, fact, what)


def _say_lost(
    run: Run, fact: Fact, what: str, loses: Callable[[Run, int], bool] | None = None
) -> NoReturn:
    seen = NotRecalled(
        wanted=f"{run.hook('mirror')} raises where it does not store",
        texts=(fact.text,),
        lead=f"it returned for {what} and ",
        subject=f"neither {fact.query!r} nor its own words",
        verb="bring it back",
        tail=", while a single short text does come back",
    )
    run.violated(_of_least_length(run, seen, loses, _SHORT_CHARS) if loses else seen)


@check("MP-WRITE-006", budget_s=120.0, routes=("writes",))
def an_ambiguous_old_text_costs_one_entry_at_most(run: Run) -> None:
    if run.is_selective:
        raise NotApplicable("retention is selective: the store may drop an entry by itself")
    named = mirrored_writes.needed_targets(run, "replace", "remove")
    for action, choice in (("remove", 0), ("replace", -1)):
        if among := [name for name in mirrored_writes.targets(run, action) if name in named]:
            _of_several(run, action, among[choice])


def _of_several(run: Run, action: str, target: str) -> None:
    """Several entries of a target hold the words by which one is named."""
    common, *facts = (run.facts.name(), *run.facts.several(_HOLDING))
    with run.session() as subject:
        for fact in facts:
            mirrored_writes.bring(run, subject, target, f"{fact.text} So {common} says.")
    if losses.lost(run, facts):
        raise Lost(
            "entries that have a word in common do not come back", depends_on("MP-WRITE-001")
        )
    new, later = (fact.text for fact in run.facts.several(2))
    with run.session() as subject:
        _accepts(subject, target, new if action == "replace" else "", action, common)
        # A refused write is not made with the next one either.
        _accepts(subject, target, later)
    lost = losses.lost(run, facts)
    if len(lost) > 1:
        run.violated(
            NotRecalled(
                wanted=(
                    f"one entry at most changed by a {action} in {target} whose old_text several "
                    f"entries hold, {common!r}"
                ),
                texts=tuple(fact.text for fact in lost),
                of=len(facts),
            )
        )


#: A tool stores whose schema looks like it; the author alone knows of any other.
_NO_STORING_TOOL = (
    "no tool was recognised that stores a text: one says so by its name, by a choice or by the "
    "first word of its description, and takes the text as content, text, note or the like"
)


@check("MP-TOOL-001")
def what_a_tool_stored_comes_back(run: Run) -> None:
    with run.session() as subject:
        if not subject.has("tools") or not subject.tools():
            raise NotApplicable("the provider serves no tools")
        is_known = routes.storing_call(subject.tools(), "a fact") is not None
        weights = _weights(run, subject.tools())
    if not is_known and "stores" not in run.context.capabilities:
        raise Untestable(_NO_STORING_TOOL, (run.declaration("stores"),))
    run.needs_route("tools")
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, "tools")
    if not losses.is_stored(run, fact):
        run.violated(
            NotRecalled(
                wanted="text that a tool answered to have stored, recalled after a new start",
                texts=(fact.text,),
                about="stored by a call that reported no error",
            ),
        )
    _in_a_home_of_any_name(run, "tools")
    _notes_alike(run)
    _comes_back_however_weighed(run, weights)
    _comes_back_in_the_place_of_another(run)
    _stays_beside_a_forgotten_one(run)
    _comes_back_beside_another_call(run)


def _notes_alike(run: Run) -> None:
    """Texts that are alike but for what is said; a tool says of each that it is stored."""
    if run.watch.calls_left is not None:
        return

    def is_taken(subject: Subject, text: str) -> bool:
        call = routes.storing_call(subject.tools(), text)
        return call is not None and not tool_results.refused(subject.call_tool(*call))

    if lost := beginnings.lost(run, is_taken, run.own_home("notes-alike")):
        wanted = "each of the texts recalled that a tool answered to have stored and that are alike"
        run.violated(lost.told(wanted=wanted))


def _comes_back_beside_another_call(run: Run) -> None:
    """Two calls of one answer of the model run side by side."""
    if run.is_selective or run.watch.calls_left is not None:
        return
    if text := losses.seen_again(functools.partial(_lost_beside_another_call, run)):
        run.violated(
            NotRecalled(
                wanted="text that a tool answered to have stored beside another call of it",
                texts=(text,),
                about="stored by a call that reported no error",
            ),
        )


def _lost_beside_another_call(run: Run) -> str:
    """The text of a call that ran beside another one, and is lost; "" for none."""
    told: list[Fact] = []

    def tells(subject: Subject, fact: Fact) -> None:
        if _told_by_tool(subject, fact) is not None:
            told.append(fact)

    with run.session() as subject:
        for _ in range(_ROUNDS):
            gone, *pair = run.facts.several(3)
            calls: list[Callable[[], Any]] = _call_that_forgets(run, subject, gone)
            calls += [functools.partial(tells, subject, fact) for fact in pair]
            for raised in together(*calls):
                if raised is not None and not isinstance(raised, HookRaised):
                    raise raised
    lost = losses.lost(run, told)
    return lost[0].text if lost else ""


def _call_that_forgets(run: Run, subject: Subject, fact: Fact) -> list[Callable[[], Any]]:
    """A call by which a tool forgets a fact that it is told here; none if no tool does."""
    told = _told_by_tool(subject, fact)
    if told is None:
        return []
    tools = tool_calls.offered(run, subject.tools())
    answers = [told[1], *_shown_of(subject, tools, fact)]
    asked = tool_memory.forgetting(tools, told[0], fact, answers)
    return [functools.partial(subject.call_tool, *asked[:2])] if asked else []


def _comes_back_however_weighed(run: Run, weights: list[tuple[str, Any]]) -> None:
    """A model says how much a text matters; it is stored all the same."""
    if not weights or run.is_selective or run.watch.calls_left is not None:
        return
    if seen := losses.seen_again(functools.partial(_lost_by_its_weight, run, weights)):
        given, text = seen
        run.violated(
            NotRecalled(
                wanted=f"text that a tool answered to have stored with {given}, recalled",
                texts=(text,),
                about=f"stored with {given} by a call that reported no error",
                tail="; one that was stored without it did",
            ),
        )


def _comes_back_in_the_place_of_another(run: Run) -> None:
    """A tool that changes a text stores the new one, under the words by which it is looked for."""
    if run.is_selective or run.watch.calls_left is not None:
        return
    if seen := losses.seen_again(functools.partial(_lost_by_a_change, run)):
        changed_by, text = seen
        run.violated(
            NotRecalled(
                wanted=f"text that {changed_by} answered to have put in the place of another",
                texts=(text,),
                about="stored by a call that reported no error",
            ),
        )


def _lost_by_a_change(run: Run) -> tuple[str, str] | None:
    """A tool that changes what was stored, and a new text that is lost; None for none."""
    fact, new = run.facts.several(2)
    home = run.own_home(f"changed-{next(run.numbers)}")
    with run.session(home) as subject:
        tools, told = tool_calls.offered(run, subject.tools()), _told_by_tool(subject, fact)
        if told is None or not tool_memory.may_change(tools):
            return None
        _tell_alike(run, subject, new)
        stored_by, *answers = told
        answers += _shown_of(subject, tools, fact)
        call = tool_memory.changing(tools, stored_by, fact, new.text, answers)
        if call is None or not tool_memory.says_changed(subject.call_tool(*call)):
            return None
    if losses.is_stored(run, new, home) or _is_passed_over(run):
        return None
    return call[0], new.text


def _told_by_tool(subject: Subject, fact: Fact) -> tuple[str, Any] | None:
    """The tool that stored a fact, and its answer; None if it was refused."""
    call = routes.storing_call(subject.tools(), fact.text)
    answer = subject.call_tool(*call) if call else None
    return (call[0], answer) if call and not tool_results.refused(answer) else None


def _tell_alike(run: Run, subject: Subject, fact: Fact) -> None:
    """Facts that answer the same question: one that is found by other words comes behind them."""
    for _ in range(_ALIKE):
        if _told_by_tool(subject, run.facts.like(fact)) is None:
            return


def _is_passed_over(run: Run) -> bool:
    """True if a fact that was stored as it is does not come back beside others that are alike."""
    fact, home = run.facts.new(), run.own_home(f"alike-{next(run.numbers)}")
    with run.session(home) as subject:
        _told_by_tool(subject, fact)
        _tell_alike(run, subject, fact)
    return not losses.is_stored(run, fact, home)


def _lost_by_its_weight(run: Run, weights: list[tuple[str, Any]]) -> tuple[str, str] | None:
    """A choice with which a tool took a text that is lost, and the text; None for none."""
    told: dict[Fact, str] = {}
    with run.session() as subject:
        for name, value in weights:
            fact = run.facts.new()
            call = routes.storing_call(subject.tools(), fact.text)
            if call and not tool_results.refused(
                subject.call_tool(call[0], {**call[1], name: value})
            ):
                told[fact] = f"{name}={value!r}"
    lost = losses.lost(run, [*told])
    return (told[lost[0]], lost[0].text) if lost else None


def _weights(run: Run, schemas: Any) -> list[tuple[str, Any]]:
    """Choices of arguments that say how much a text matters, of the tool that stores."""
    stores = routes.storing_call(schemas, "a fact")
    return [
        (name, value)
        for tool in tool_calls.offered(run, schemas)
        if stores and tool.name == stores[0]
        for name, item in tool.properties.items()
        if _WEIGHING.intersection(tool_calls.split(name))
        for value in tool_calls.choices(item)[:_MOST_WEIGHTS]
    ]


#: Words in the name of such an argument. A category may say how long a text is kept, or for whom.
_WEIGHING = frozenset({"importance", "priority", "relevance", "salience", "significance", "weight"})

_MOST_WEIGHTS = 6


def _stays_beside_a_forgotten_one(run: Run) -> None:
    """So many texts that the ids of some may begin as the id of one that is forgotten."""
    if run.is_selective or run.watch.calls_left is not None:
        return
    facts = run.facts.several(_NOTES)
    gone = _forgets_the_first(run, facts, run.own_home("notes"))
    if not gone:
        return
    _comes_back_when_told_again(run, facts[0], run.own_home("notes"), gone)
    lost = losses.lost(run, facts[1:], run.own_home("notes"))
    if not lost:
        return
    others, home = run.facts.several(_NOTES), run.own_home("other-notes")
    with run.session(home) as subject:
        for fact in others:
            run.plant(subject, fact, "tools")
    if losses.lost(run, others, home):
        raise Lost(f"of {_NOTES} texts that a tool stored not all come back")
    run.violated(
        NotRecalled(
            wanted=f"text that a tool stored, recalled after {gone} had another one forgotten",
            texts=tuple(fact.text for fact in lost),
            of=len(facts) - 1,
        ),
    )


def _comes_back_when_told_again(run: Run, fact: Fact, home: Path, gone: str) -> None:
    """A text that was forgotten may be told once more; then it is stored like any other."""
    with run.session(home) as subject:
        call = routes.storing_call(subject.tools(), fact.text)
        if call is None or tool_results.refused(subject.call_tool(*call)):
            return
    if not losses.is_stored(run, fact, home):
        run.violated(
            NotRecalled(
                wanted=f"text that a tool stored again after {gone} had it forgotten, recalled",
                texts=(fact.text,),
                about="stored by a call that reported no error",
            ),
        )


def _forgets_the_first(run: Run, facts: list[Fact], home: Path) -> str:
    """Store the facts by a tool, and have the first forgotten by its id; the tool that did so."""
    with run.session(home) as subject:
        tools, answers = tool_calls.offered(run, subject.tools()), list[Any]()
        for fact in facts:
            call = routes.storing_call(subject.tools(), fact.text)
            answers.append(subject.call_tool(*call) if call else "")
            if call is None or tool_results.refused(answers[-1]):
                return ""
        stored_by = call[0] if call else ""
        told = [answers[0], *_shown_of(subject, tools, facts[0])]
        asked = tool_memory.forgetting(tools, stored_by, facts[0], told)
        if asked is None or asked[2] != "id":
            return ""
        answer = subject.call_tool(asked[0], asked[1])
        return asked[0] if tool_memory.says_forgotten(answer) else ""


def _shown_of(subject: Subject, tools: list[tool_calls.Tool], fact: Fact) -> list[Any]:
    return [*tool_memory.shown_by_tools(subject, tool_memory.finding(tools, fact)).values()]
