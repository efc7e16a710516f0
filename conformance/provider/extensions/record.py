"""Chapter 74: turns that are recorded with their id, author and times."""

import contextlib
import copy
import datetime as dt
import functools
import time
import zlib
from collections.abc import Iterator
from time import monotonic
from typing import Any

from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.conditions import Declared
from memproto.testing.evidence import Changed, NotRecalled, Repeated, Returned
from memproto.testing.facts import Fact
from memproto.testing.instruments.walltime import ending_summer_time, time_zone
from memproto.testing.needs import depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.scenarios import beginnings, entries, texts
from memproto.testing.wire import show

_GOODBYE = ("Thanks, that is all for today.", "Until next time.")

#: Number of turns of a session, each time; the last one stands right before shutdown.
_SESSIONS = (1, 4)

#: As ids only the shorter ones are handed over.
_SHORT_CHARS = 1_000

#: Number of turns after which a turn is handed over again, and seconds for which they are told.
_MANY, _MANY_S = 80, 4.0

#: Zones whose offset is no whole hour: one that is lost, or taken for another one, shows.
#: The minutes of the second one go the way that its hours do.
_ZONES = (
    dt.timezone(dt.timedelta(hours=5, minutes=45)),
    dt.timezone(-dt.timedelta(hours=3, minutes=30)),
)

_SECOND = dt.timedelta(seconds=1)

#: How long a turn lasts.
_TURN = dt.timedelta(minutes=2)


_VERBATIM = Declared(
    "retention",
    "verbatim",
    any_of=("verbatim",),
    otherwise="what is derived from two equal turns may be one",
)
_EXPORTS = Declared(
    "extensions",
    [],
    any_of=("privacy",),
    otherwise="the extension `privacy` is not served: nothing shows the author",
)


@check("MP-REC-001", budget_s=120.0, extension="record")
def a_turn_with_an_id_comes_back(run: Run) -> None:
    for count in _SESSIONS:
        facts, key = run.facts.several(count), run.session_key()
        with run.session(session=key) as subject:
            for fact in facts:
                entries.record(subject, entries.turn(key, fact.text))
        if lost := losses.lost(run, facts):
            run.violated(
                NotRecalled(
                    wanted=(
                        f"each of {count} turns that record() accepted, recalled after a new start"
                    ),
                    texts=tuple(fact.text for fact in lost),
                    of=count,
                ),
            )
    _ids_alike_are_different(run)
    _another_wrote_it(run)
    _each_kind_comes_back(run)
    _alike_but_for_what_is_said(run)
    if entries.served(run, "privacy"):
        _a_late_turn_after_a_forget(run)


def _another_wrote_it(run: Run) -> None:
    """A turn belongs to the memory that it is handed to, whoever its author is."""
    key, facts = run.session_key(), run.facts.several(2)
    authors: tuple[dict[str, Any], ...] = (
        {"id": f"{key}-otto", "name": "Otto"},
        {"id": f"{key}-ida", "is_bot": False},
    )
    with run.session(session=key) as subject:
        owed = [
            fact
            for fact, author in zip(facts, authors, strict=True)
            if entries.is_taken(subject, entries.turn(key, fact.text, author=dict(author)))
        ]
    if lost := losses.lost(run, owed):
        run.violated(
            NotRecalled(
                wanted=(
                    "a turn that another than the user wrote, and that record() accepted, "
                    "recalled for the user to whose instance it was handed"
                ),
                texts=tuple(fact.text for fact in lost),
                of=len(owed),
            ),
        )


def _each_kind_comes_back(run: Run) -> None:
    """Turns that are late, without a response, or whose messages do not end with their words."""
    key, now = run.session_key(), dt.datetime.now(dt.UTC).replace(microsecond=0)
    late, empty, led_on = run.facts.several(3)
    said = [("user", led_on.text), ("assistant", "One moment."), ("user", "Go on, please.")]
    began = (now - dt.timedelta(hours=3)).isoformat()
    kinds: dict[Fact, tuple[str, dict[str, Any]]] = {
        late: ("that began before one that is stored", _from_to(began, began)),
        empty: ("whose response is empty", {"assistant_response": ""}),
        led_on: ("whose messages end otherwise", {"messages": [_message(*one) for one in said]}),
    }
    with run.session(session=key) as subject:
        entries.record(subject, entries.turn(key, *_GOODBYE))
        owed = [
            fact
            for fact, (_, more) in kinds.items()
            if entries.is_taken(subject, entries.turn(key, fact.text, **more))
        ]
    if lost := losses.lost(run, owed):
        run.violated(
            NotRecalled(
                wanted=f"a turn {kinds[lost[0]][0]}, and that record() accepted, recalled",
                texts=tuple(fact.text for fact in lost),
                of=len(owed),
            ),
        )


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _alike_but_for_what_is_said(run: Run) -> None:
    """Turns that are alike for the rest, as those of one template are."""

    def is_taken(subject: Subject, text: str) -> bool:
        key = str(run.freshness.config["session_key"])
        return entries.is_taken(subject, entries.turn(key, text))

    if lost := beginnings.lost(run, is_taken, run.own_home("alike")):
        wanted = "each of the turns that record() accepted and that are alike for the rest"
        run.violated(lost.told(wanted=wanted))


def _a_late_turn_after_a_forget(run: Run) -> None:
    """A turn that began before everything was forgotten, and is handed over afterwards."""
    key, (before, after) = run.session_key(), run.facts.several(2)
    began = dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(days=3)
    late = {name: began.isoformat() for name in ("started_at", "ended_at")}
    home = run.own_home("late")
    with run.session(home, session=key) as subject:
        if not entries.is_taken(subject, entries.turn(key, before.text, **late)):
            # It takes no turn that is days old, and says so.
            return
    if not losses.is_stored(run, before, home):
        raise Lost("a turn that was handed over late does not come back")
    with run.session(home, session=key) as subject:
        if entries.forgotten(subject, {}) is None:
            return
        if not entries.is_taken(subject, entries.turn(key, after.text, **late)):
            # It says that what was said before a forget() is forgotten too.
            return
    if not losses.is_stored(run, after, home):
        run.violated(
            NotRecalled(
                wanted=(
                    "a turn that began three days ago, and that record() accepted after forget(), "
                    "recalled after a new start"
                ),
                texts=(after.text,),
                tail=", and one that was recorded before did",
            ),
        )


#: Ids that a careless key makes one of; `{}` and the number are such as no other check uses.
_ALIKE = (
    *("{}/turn", "{}/Turn", "{}-turn", "{}-turn "),
    *("{}:" + "n" * 40 + "1", "{}:" + "n" * 40 + "2"),
    *("{}:" + "n" * 300 + "1", "{}:" + "n" * 300 + "2"),
    *("{number}", "0{number}", "{number}.0", "+{number}"),
)


def _ids_alike_are_different(run: Run) -> None:
    """Turns of one session, of which each has an id of its own, though nearly that of another."""
    if lost := losses.seen_again(functools.partial(_lost_by_its_id, run)):
        name, fact = lost
        run.violated(
            NotRecalled(
                wanted="each of the turns that record() accepted under ids that are nearly alike",
                texts=(fact.text,),
                tail=f", of the turn_id {show(name, 60)}",
            ),
        )


def _lost_by_its_id(run: Run) -> tuple[str, Fact] | None:
    """The id under which an accepted turn is lost that is there under a plain one, and its fact."""
    key = run.session_key()
    number = zlib.crc32(key.encode())
    told = {form.format(key, number=number): run.facts.new() for form in _ALIKE}
    with run.session(session=key) as subject:
        owed = {
            fact: name
            for name, fact in told.items()
            if entries.is_taken(subject, entries.turn(key, fact.text, turn_id=name))
        }
    with run.session() as again:
        doubtful = [fact for fact in owed if not run.brings_back(again, fact)]
    lost = losses.lost(run, doubtful)
    if not lost:
        return None
    plain = run.facts.several(len(told))
    with run.session(session=key) as subject:
        for fact in plain:
            entries.record(subject, entries.turn(key, fact.text))
    if losses.lost(run, plain):
        raise Lost(f"of {len(plain)} turns with plain ids not all come back either")
    return owed[lost[0]], lost[0]


@check("MP-REC-002", budget_s=240.0, extension="record")
def every_turn_of_the_schema_is_accepted(run: Run) -> None:
    key = run.session_key()
    with run.session(session=key) as subject:
        odd = texts.odd(run)
        found = texts.raised_for(run, odd, lambda text: _with_text(subject, key, text))
        shapes = {name: name for name in _SHAPES}
        found += texts.raised_for(
            run,
            shapes,
            lambda name: subject.record_turn(_shaped(key, copy.deepcopy(_SHAPES[name]))),
            makes_smaller=False,
        )
    wanted = "record() stores every turn of its schema, or raises an error of memproto.errors"
    texts.none_raises(run, found, "record_turn", wanted)
    # Stored texts must not stand in the way of the next session.
    with run.session() as again:
        again.recall("Which berth is free today?")


def _from_to(started_at: str, ended_at: str) -> dict[str, str]:
    return {"started_at": started_at, "ended_at": ended_at}


#: The oddity of a turn, as it completes "it raised for ...", to its further keys.
_SHAPES: dict[str, dict[str, Any]] = {
    "a turn with no optional key": {},
    "a turn with an author and no name": {"author": {"id": "telegram:4711"}},
    "a turn of a subagent": {"context": "subagent"},
    "a turn without messages": {"messages": []},
    "a turn with a tool call in its messages": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Which berth is free?"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "name": "berths"}]},
            {"role": "tool", "tool_call_id": "1", "content": "4"},
        ]
    },
    "a turn with a key of a later release": {"mood": "cheerful"},
    "a turn in UTC with microseconds": {"started_at": "2026-03-14T09:26:53.589793Z"},
    "a turn with times without seconds": _from_to("2026-03-14T09:26Z", "2026-03-14T09:27+00:00"),
    "a turn with times in nanoseconds": _from_to(
        "2026-03-14T09:26:53.589793238Z", "2026-03-14T09:26:54.1-03:30"
    ),
}


def _shaped(key: str, more: dict[str, Any]) -> dict[str, Any]:
    return entries.turn(key, "Which berth is free today?", "Berth 4.", **more)


def _with_text(subject: Subject, key: str, text: str) -> None:
    """The text as what was said; then, where it can be one, as each of the ids."""
    subject.record_turn(entries.turn(key, text, text))
    if 0 < len(text) < _SHORT_CHARS:
        ids: dict[str, Any] = {"turn_id": text, "session_id": text}
        ids["author"] = {"id": text, "name": text}
        subject.record_turn(entries.turn(key, "Is the lamp lit?", **ids))


# -- stored once, and each ------------------------------------------------------------------------


@check("MP-REC-003", extension="record")
def a_turn_id_is_stored_once(run: Run) -> None:
    key, (once, twice, again, far) = run.session_key(), _alike(run, 4)
    early, late = entries.turn(key, twice.text), entries.turn(key, again.text)
    with run.session(session=key) as subject:
        for given in (entries.turn(key, once.text), early, early, late):
            entries.record(subject, copy.deepcopy(given))
    with run.session(session=key) as subject:
        # A host that was killed hands over again what it does not know to be stored.
        entries.record(subject, copy.deepcopy(late))
    usual = _times_shown(run, once)
    told = {twice: "twice in one session", again: "once more after a new start"}
    _are_shown_once(run, told, usual)
    # A recall that shows the newest alone says nothing of one that lies behind many others.
    with contextlib.suppress(Untestable):
        _are_shown_once(run, _told_again(run, key, far), usual)


def _are_shown_once(run: Run, told: dict[Fact, str], usual: dict[str, int]) -> None:
    for fact, when in told.items():
        for reader, times in _times_shown(run, fact).items():
            if times > usual[reader]:
                run.violated(
                    Repeated(
                        wanted=f"a turn that was recorded {when} under one turn_id, stored once",
                        text=fact.text,
                        times=times,
                        usual=usual[reader],
                        lead=f"{reader} shows {fact.text!r} ",
                        tail=f", and {usual[reader]} times a turn that was recorded once",
                    ),
                )


def _told_again(run: Run, key: str, fact: Fact) -> dict[Fact, str]:
    """Record a turn twice with others between; how, as a message says, or nothing without time."""
    given = entries.turn(key, fact.text)
    with run.session(session=key) as subject:
        entries.record(subject, copy.deepcopy(given))
        if count := _talks_on(run, subject, key):
            entries.record(subject, copy.deepcopy(given))
            return {fact: f"again after {count} others"}
    return {}


def _talks_on(run: Run, subject: Subject, key: str) -> int:
    """Record other turns, more than one looks back; their number, and 0 if there is no time."""
    if run.is_selective or run.watch.calls_left is not None:
        return 0
    until = monotonic() + _MANY_S * run.context.scale * run.context.slowdown
    for number in range(_MANY):
        if monotonic() > until:
            return number
        entries.is_taken(subject, entries.turn(key, f"Lamp {number} burns.", "Good."))
    return _MANY


def _alike(run: Run, count: int) -> list[Fact]:
    """Facts of one sentence, of which a provider that derives makes equally many entries."""
    found = [run.facts.new()]
    while len(found) < count:
        fact = run.facts.new()
        if fact.text.split()[:2] == found[0].text.split()[:2]:
            found.append(fact)
    return found


def _times_shown(run: Run, fact: Fact) -> dict[str, int]:
    with run.session() as subject:
        if not run.brings_back(subject, fact):
            raise Lost(f"{fact.text!r} did not come back", depends_on("MP-REC-001"))
        return entries.times_shown(run, subject, fact)


@check("MP-REC-004", extension="record", declares=_VERBATIM)
def equal_turns_are_stored_each(run: Run) -> None:
    key, (once, twice) = run.session_key(), _alike(run, 2)
    with run.session(session=key) as subject:
        for fact in (once, twice, twice):
            entries.record(subject, entries.turn(key, fact.text))
        # MP-REC-001 asks that the last turn be stored.
        entries.record(subject, entries.turn(key, *_GOODBYE))
    usual, times = _times_shown(run, once), _times_shown(run, twice)
    counted = [reader for reader in ("read_back", "export") if reader in times]
    if not counted:
        raise NotApplicable("no export and no `read_back` shows how often a turn is stored")
    for reader in counted:
        if times[reader] <= usual[reader]:
            run.violated(
                Repeated(
                    wanted="two turns of the same words, with two turn_ids, both stored",
                    text=twice.text,
                    times=times[reader],
                    usual=times[reader] + 1,
                    lead=(
                        f"{reader} shows {twice.text!r} as often as a turn that was recorded once: "
                    ),
                ),
            )


# -- what is kept beside the words ----------------------------------------------------------------


@check("MP-REC-005", extension="record")
def a_turn_keeps_its_time(run: Run) -> None:
    for zone in _ZONES:
        now = dt.datetime.now(zone).replace(microsecond=0)
        late, last = now - dt.timedelta(days=3), now - _TURN
        if not _keeps_its_time(run, late):
            # None is taken so late.
            _keeps_its_time(run, last, is_owed=True)
    if hasattr(time, "tzset"):
        _of_an_hour_that_comes_twice(run)


def _of_an_hour_that_comes_twice(run: Run) -> None:
    """Two turns of one time of day, before and after the clock of the machine is put back."""
    noon = dt.datetime.now(dt.UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    put_back = noon - dt.timedelta(days=3)
    with time_zone(ending_summer_time(put_back)):
        for moment in (put_back - dt.timedelta(minutes=30), put_back + dt.timedelta(minutes=30)):
            _keeps_its_time(run, moment)


def _keeps_its_time(run: Run, began: dt.datetime, *, is_owed: bool = False) -> bool:
    """Judge a turn of that moment; False if the provider takes none, and need not."""
    key, fact, ended = run.session_key(), run.facts.new(), began + _TURN
    turn = entries.turn(key, fact.text, **_from_to(began.isoformat(), ended.isoformat()))
    with run.session(session=key) as subject:
        if is_owed:
            entries.record(subject, turn)
        elif not entries.is_taken(subject, turn):
            return False
    _is_dated(run, fact, began, ended)
    return True


def _is_dated(run: Run, fact: Fact, began: dt.datetime, ended: dt.datetime) -> None:
    for reader, item in _items_of(run, fact):
        shown = item.get("created_at")
        if shown is None and reader == "recall_items":
            continue
        if not shown or not began - _SECOND <= entries.instant(shown) <= ended + _SECOND:
            run.violated(
                Returned(
                    wanted=f"an instant from {began.isoformat()} to {ended.isoformat()}",
                    hook=reader,
                    value=f"created_at={shown!r}",
                    lead=f"{reader} gives ",
                ),
            )


def _items_of(run: Run, fact: Fact) -> Iterator[tuple[str, dict[str, Any]]]:
    with run.session() as again:
        if not run.brings_back(again, fact):
            raise Lost(f"{fact.text!r} did not come back", depends_on("MP-REC-001"))
        yield from entries.dated(run, again, fact)


@check("MP-REC-006", extension="record", declares=_EXPORTS)
def a_turn_keeps_its_author(run: Run) -> None:
    key, (own, *facts) = run.session_key(), run.facts.several(6)
    ida, otto = {"id": f"{key}-ida", "name": "Ida"}, {"id": f"{key}-otto", "name": "Otto"}
    # The last one is another person: ids are opaque.
    authors = (ida, otto, ida, otto, {"id": f"{key}-Ida", "name": "Ida M."})
    with run.session(session=key) as subject:
        told = {
            fact: author["id"]
            for fact, author in zip(facts, authors, strict=True)
            if entries.is_taken(subject, entries.turn(key, fact.text, author=dict(author)))
        }
        # Without an author the words are those of the user of the instance.
        entries.record(subject, entries.turn(key, own.text))
    right: dict[Fact, tuple[str | None, ...]] = {
        own: (None, str(run.config()["user_id"])),
        **{fact: (name,) for fact, name in told.items()},
    }
    for fact, names in right.items():
        exported = [item for reader, item in _items_of(run, fact) if reader == "export"]
        found = [item.get("author", {}).get("id") for item in exported]
        if wrong := [name for name in found if name not in names]:
            named = "nobody but the user" if fact == own else f"the author {names[0]!r}"
            run.violated(
                Returned(
                    wanted=f"export names {named} for {fact.text!r}",
                    hook="export",
                    value=f"{wrong[0]!r}",
                    lead="it names ",
                ),
            )


@check("MP-REC-007", extension="record")
def a_turn_is_left_as_it_is(run: Run) -> None:
    key = run.session_key()
    with run.session(session=key) as subject:
        for name, more in _SHAPES.items():
            given = _shaped(key, copy.deepcopy(more))
            before = copy.deepcopy(given)
            routes.tolerant(functools.partial(subject.record_turn, given))
            if given != before:
                changed = [k for k in {**before, **given} if before.get(k) != given.get(k)]
                run.violated(
                    Changed(
                        wanted=f"{name} as it was handed over",
                        subject="argument",
                        difference=f"{changed[0]!r} was changed: {show(given)}",
                    )
                )
