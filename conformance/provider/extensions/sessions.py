"""Chapter 64: sessions that end and change under one instance."""

import copy
import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.conditions import Declared, DeclaredFor
from memproto.testing.evidence import NotRecalled, Raised, Recalled, Repeated, Returned
from memproto.testing.facts import Fact
from memproto.testing.instruments.threads import together
from memproto.testing.needs import READ_BACK
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import conversations, entries, switches, tenants
from memproto.testing.scenarios.conversations import Messages
from memproto.testing.scenarios.switches import EXTENSION, Switch, transcript
from memproto.testing.scenarios.tenants import Reader, Tenant
from memproto.testing.wire import show

#: Fewer than most batches hold, and more than one.
_TURNS = 2

#: Times that a second copy is to be seen before it is told.
_TIMES = 2

#: Ids as hosts make them of chats and paths; those of a Hermes host are plain.
_ODD_KEYS = (
    "agent:main:telegram:dm:12345",
    "projects/harbour/../2026 plan (final).md",
    "line\nbreak 'quoted' \"twice\" %s {x}",
    "gespräch-漢字-🚢",
    "long-" * 80,
)
_PLAIN_KEYS = ("20260314_092653_5f8a1c2e", "0b9d7c52-3c1e-4a6e-9f57-8f2d2f0a7e11")


# -- the end ---------------------------------------------------------------------------------------


@check("MP-SESS-001", extension=switches.ENDS)
def an_end_takes_any_messages(run: Run) -> None:
    for name, messages in conversations.of(run).items():
        with run.session() as subject:
            _talks(subject)
            # Twice: a session that was ended may be used on, and ended again.
            for _ in range(2):
                _ends(run, subject, name, messages)
                subject.recall("Which berth is free today?")


def _talks(subject: Subject) -> None:
    routes.in_passing(lambda: subject.record("Which berth is free today?", "Berth 4."))


def _ends(run: Run, subject: Subject, name: str, messages: Messages) -> None:
    try:
        routes.tolerant(lambda: subject.end(copy.deepcopy(messages)))
    except HookRaised as failure:
        if failure.ends_process or failure.is_report:
            raise
        run.violated(
            Raised.by(
                failure.error,
                wanted=f"{run.hook('end')} returns for every list of messages",
                hook=run.hook("end"),
                given=name,
            ),
        )


@check("MP-SESS-002", budget_s=120.0, extension=switches.ENDS, routes=routes.ROUTES)
def an_end_costs_nothing(run: Run) -> None:
    route = run.route
    for told in ("no messages", "the messages of its turns"):
        earlier, *late = facts = run.facts.several(1 + _TURNS)
        _stored(run, [earlier], route)
        with run.session() as subject:
            for fact in late:
                run.plant(subject, fact, route)
            _ended(subject, late if told != "no messages" else [])
        if lost := losses.lost(run, facts):
            _comes_back_without(run, route)
            run.violated(
                NotRecalled(
                    wanted=(
                        f"all of {len(facts)} facts recalled after a session was ended with {told}"
                    ),
                    texts=tuple(fact.text for fact in lost),
                    of=len(facts),
                ),
            )


def _ended(subject: Subject, facts: list[Fact]) -> None:
    """End the session with the messages of these turns; a report is no failure."""
    routes.tolerant(lambda: subject.end(transcript(facts)))


def _stored(run: Run, facts: list[Fact], route: str) -> None:
    with run.session() as subject:
        for fact in facts:
            run.plant(subject, fact, route)


def _comes_back_without(run: Run, route: str) -> None:
    """See that facts stored in a plain session come back: else another rule is at stake."""
    facts = run.facts.several(_TURNS)
    _stored(run, facts, route)
    if lost := losses.lost(run, facts):
        raise Lost(f"{lost[0].text!r}, stored in a plain session, did not come back either")


@check("MP-SESS-003", budget_s=120.0, extension=switches.ENDS, routes=routes.ROUTES)
def a_second_end_stores_nothing(run: Run) -> None:
    for ends, said in ((2,), "twice"), ((1, 1), "twice, by an instance each,"):
        _no_more_than_after_one(run, run.route, ends, said)


def _no_more_than_after_one(run: Run, route: str, ends: tuple[int, ...], said: str) -> None:
    # A memory's derived texts vary by themselves; a text that it stores again it stores each time.
    for _ in range(_TIMES):
        counts = zip(*(_shown_after(run, route, each) for each in ((1,), ends)), strict=True)
        (once, twice), (shown, again) = counts
        if not once:
            reason = "recall does not show a stored text in its own words"
            raise Untestable(reason, READ_BACK)
        if shown and twice <= once:
            # Only its messages brought the text: a provider that takes none of them shows none.
            once, twice = shown, again
        if twice <= once:
            return
    run.violated(
        Repeated(
            wanted=f"a text of a session that was ended {said} found {once}-fold, as after one end",
            text="",
            times=twice,
            usual=once,
            unit="-fold",
            lead="found ",
        ),
    )


def _shown_after(run: Run, route: str, ends: tuple[int, ...]) -> list[int]:
    """
    Numbers of copies of two texts whose session each of some instances ended so many times.

    The first one was stored before, and the other one was never recorded.
    """
    facts, home = run.facts.several(2), run.own_home("ended-" + "-".join(map(str, ends)))
    key = run.session_key()
    for number, times in enumerate(ends):
        with run.session(home, key) as subject:
            if number == 0:
                run.plant(subject, facts[0], route)
            for _ in range(times):
                _ended(subject, facts)
    with run.session(home) as again:
        return [_copies(run, again, fact) for fact in facts]


def _copies(run: Run, again: Subject, fact: Fact) -> int:
    """Number of copies of a text, as far as an instance shows it."""
    found = run.read_back_count(again, fact.text)
    if found is not None:
        return found
    shown = losses.shown_by(run, again, fact)
    if not shown and entries.served(run, "privacy"):
        # A text that is kept in other words is an item of an export all the same.
        shown = len(entries.of_fact(entries.exported(again, {}) or [], fact))
    return shown


_PROMISES = (
    DeclaredFor(
        "extensions",
        EXTENSION,
        otherwise="a {title} provider cannot promise it; see `declares.extensions`",
    ),
    Declared(
        "single_writer",
        False,
        none_of=(True,),
        otherwise="single_writer is declared: no second instance is opened",
    ),
)


@check(
    "MP-SESS-004", budget_s=120.0, extension=switches.ENDS, declares=_PROMISES, routes=routes.ROUTES
)
def an_end_writes_what_was_accepted(run: Run) -> None:
    route = run.route
    facts = run.facts.several(_TURNS)
    with run.session() as subject:
        for fact in facts:
            run.plant(subject, fact, route)
        _ended(subject, facts)
        lost = losses.lost(run, facts)
    if lost and losses.lost(run, lost):
        raise Lost(f"{lost[0].text!r} did not come back after shutdown either")
    if lost:
        run.violated(
            NotRecalled(
                wanted=(
                    "text that was accepted before the end of a session, recalled by an instance "
                    "opened after"
                ),
                texts=tuple(fact.text for fact in lost),
                of=len(facts),
                verb=f"came back only after {run.hook('close')}",
            ),
        )


@check("MP-SESS-005", budget_s=120.0, extension=EXTENSION)
def ends_and_switches_keep_their_time(run: Run) -> None:
    # A hook that is late ends the check, wherever it happens: see `incidents.LATE`.
    facts, key = run.facts.several(_TURNS), run.session_key()
    with run.session(session=key) as subject:
        for number, fact in enumerate(facts):
            routes.live(subject, fact)
            _ended(subject, [fact])
            switches.NEW.make(subject, key, f"{key}-timed-{number}")


# -- what a switch may not cost --------------------------------------------------------------------


@check("MP-SESS-006", budget_s=120.0, extension=switches.SWITCHES)
def every_kind_of_switch_is_taken(run: Run) -> None:
    more = {"reason": "user", "x_memproto_future": {"spare": None}}
    for kind in (*switches.TO_ANOTHER, switches.REWIND):
        for extra in ({}, more):
            with run.session() as subject:
                for keys in _steps(run, kind):
                    _talks(subject)
                    _switches(run, subject, kind, keys, extra)
                    subject.recall("Which berth is free today?")


def _steps(run: Run, kind: Switch) -> list[tuple[str, str]]:
    """Pairs of session keys, the left one and the new one."""
    config_key = run.freshness.config["session_key"]
    keys = [config_key, *(_PLAIN_KEYS if run.binding.ids_by_platform else _ODD_KEYS)]
    if kind is switches.REWIND:
        return [(config_key, config_key)] * 2
    return [*itertools.pairwise(keys), (keys[-1], config_key)]


def _switches(
    run: Run, subject: Subject, kind: Switch, keys: tuple[str, str], more: Mapping[str, Any]
) -> None:
    try:
        kind.make(subject, *keys, **more)
    except HookRaised as failure:
        if failure.ends_process or failure.is_report:
            raise
        told = f", with the further keywords {', '.join(more)}" if more else ""
        run.violated(
            Raised.by(
                failure.error,
                wanted=f"{run.hook('switch')} takes every kind of switch",
                hook=run.hook("switch"),
                given=kind.called,
                tail=told,
            ),
        )


@check("MP-SESS-007", budget_s=240.0, extension=switches.SWITCHES, routes=routes.ROUTES)
def a_switch_costs_nothing(run: Run) -> None:
    route = run.route
    for number, kind in enumerate(switches.TO_ANOTHER):
        fact, one, other = run.facts.new(), *tenants.pair(run, "session", f"-{number}")
        with one.opened(run) as subject:
            run.plant(subject, fact, route)
            kind.make(subject, one.session, other.session)
        if _lost_in(run, fact, one, other):
            _comes_back_without(run, route)
            _is_lost(run, fact, kind)
    _a_return_costs_nothing(run, route)
    _a_rewind_leaves_other_sessions(run, route)


def _a_return_costs_nothing(run: Run, route: str) -> None:
    """A session that is left and resumed by one instance has a part on each side."""
    before, between, after = run.facts.several(3)
    one, other = tenants.pair(run, "session", "-back")
    with one.opened(run) as subject:
        run.plant(subject, before, route)
        switches.RESUMED.make(subject, one.session, other.session)
        run.plant(subject, between, route)
        switches.RESUMED.make(subject, other.session, one.session)
        run.plant(subject, after, route)
    for fact in (before, between, after):
        if _lost_in(run, fact, one, other):
            _comes_back_without(run, route)
            run.violated(
                NotRecalled(
                    wanted=(
                        "each of three texts recalled after a new start: of a session, of another "
                        "one that was switched to, and of the first one again"
                    ),
                    texts=(fact.text,),
                ),
            )


def _lost_in(run: Run, fact: Fact, *sessions: Tenant) -> bool:
    """True if the fact comes back in none of the sessions."""
    return all(Reader(run).lacks(tenant, [fact]) for tenant in sessions)


def _a_rewind_leaves_other_sessions(run: Run, route: str) -> None:
    fact, earlier, rewound = run.facts.new(), *tenants.pair(run, "session", "-rewound")
    tenants.store(run, earlier, [fact], route)
    with rewound.opened(run) as subject:
        _talks(subject)
        switches.REWIND.make(subject, rewound.session, rewound.session)
        # The second time there is nothing left of this session that could be taken back.
        switches.REWIND.make(subject, rewound.session, rewound.session)
    if _lost_in(run, fact, earlier):
        _comes_back_without(run, route)
        _is_lost(run, fact, switches.REWIND)


def _is_lost(run: Run, fact: Fact, kind: Switch) -> None:
    run.violated(
        NotRecalled(
            wanted=f"text that was accepted before {kind.called}, recalled after a new start",
            texts=(fact.text,),
        ),
    )


# -- switching apart -------------------------------------------------------------------------------

# Chapter 64: which session it is that is served, before and after a switch.


_UNSEEN = "sessions are not kept apart: in which one a text is, cannot be seen"


class _Sight:
    """The sight of the session in which a text is: by recall."""

    shown = "recalled"

    def __init__(self, run: Run) -> None:
        self._run = run

    def tells_apart(self, mark: str, route: str) -> bool:
        """True if two sessions, each with an instance of its own, are told apart."""
        pair = tenants.pair(self._run, "session", f"-{mark}-plain")
        return tenants.keeps(self._run, "session", pair, route)

    def is_apart(self, mark: str, route: str) -> bool:
        """True if they are by one more route, which may store for all sessions."""
        pair = tenants.pair(self._run, "session", f"-{mark}-{route}")
        return tenants.are_apart(self._run, pair, route)

    def has(self, tenant: Tenant, fact: Fact) -> bool:
        """True if the fact is in the session."""
        return not Reader(self._run).lacks(tenant, [fact])


class _Exported(_Sight):
    """By the export of a session, for a provider whose recall knows none."""

    shown = "exported"

    def tells_apart(self, mark: str, route: str) -> bool:
        """As above; a scope that is refused tells nothing."""
        pair = tenants.pair(self._run, "session", f"-{mark}-exported")
        facts = self._run.facts.several(2)
        for tenant, fact in zip(pair, facts, strict=True):
            tenants.store(self._run, tenant, [fact], route)
        return [self.has(t, f) for t in pair for f in facts] == [True, False, False, True]

    def is_apart(self, mark: str, route: str) -> bool:
        """As above."""
        return self.tells_apart(f"{mark}-{route}", route)

    def has(self, tenant: Tenant, fact: Fact) -> bool:
        """As above; recall is asked first, which waits until the fact is to be seen at all."""
        with tenant.opened(self._run) as subject:
            Reader(self._run).sees(subject, fact)
            found = entries.exported(subject, {"session_id": tenant.session})
        return bool(entries.of_fact(found or [], fact))


def _sight(run: Run, mark: str) -> _Sight:
    """
    The sight of the place of a text, as two plain sessions show.

    Raises:
        NotApplicable: It cannot be seen.

    """
    route = run.route
    ways = [_Sight(run)] + ([_Exported(run)] if entries.served(run, "privacy") else [])
    seen = next((way for way in ways if way.tells_apart(mark, route)), None)
    if seen is None:
        raise NotApplicable(_UNSEEN)
    return seen


def _routes_apart(run: Run, mark: str, sight: _Sight) -> list[str]:
    """The routes that are served; where none are declared to keep sessions apart, those seen to."""
    known, served = run.route, filter(run.serves, routes.ROUTES)
    if run.binding.can_declare and "session" in run.declared("isolates", []):
        return list(served)
    return [route for route in served if route == known or sight.is_apart(mark, route)]


# -- what came before ------------------------------------------------------------------------------


@check("MP-SESS-008", budget_s=240.0, extension=switches.IS_SWITCHED, routes=routes.ROUTES)
def what_came_before_stays_in_the_old_session(run: Run) -> None:
    sight, (one, other) = _sight(run, "before"), tenants.pair(run, "session", "-before")
    for route in _routes_apart(run, "before", sight):
        facts = run.facts.several(_TURNS)
        with one.opened(run) as subject:
            for fact in facts:
                run.plant(subject, fact, route)
            switches.go(run, subject, one, other)
        _are_not_in(run, sight, other, facts, f"{run.hook(routes.OPERATIONS[route])} of")
    if not run.lacks("end"):
        _nor_what_the_end_told(run, sight)


def _are_not_in(run: Run, sight: _Sight, other: Tenant, facts: list[Fact], by: str) -> None:
    for fact in facts:
        if sight.has(other, fact):
            run.violated(
                Recalled(
                    wanted=(
                        f"nothing in {other.called} of what was accepted before the switch to it"
                    ),
                    texts=(fact.text,),
                    to_whom=other.called,
                    tail=f", which {by} the session before held, is {sight.shown} there",
                ),
            )


def _nor_what_the_end_told(run: Run, sight: _Sight) -> None:
    """An extraction from the transcript is the one that is still at work when the switch comes."""
    one, other = tenants.pair(run, "session", "-ended")
    facts = run.facts.several(_TURNS)
    with one.opened(run) as subject:
        routes.tolerant(lambda: subject.end(switches.transcript(facts)))
        switches.go(run, subject, one, other)
    _are_not_in(run, sight, other, facts, f"the messages of {run.hook('end')} of")


# -- what comes after ------------------------------------------------------------------------------


@check("MP-SESS-009", budget_s=240.0, extension=switches.IS_SWITCHED, routes=routes.ROUTES)
def what_comes_after_is_in_the_new_session(run: Run) -> None:
    sight, (one, other) = _sight(run, "after"), tenants.pair(run, "session", "-after")
    branch, follower = tenants.pair(run, "session", "-after-more")
    # There, back again, and on under two further keys.
    ways = (
        *((switches.NEW, other), (switches.RESUMED, one)),
        *((switches.BRANCH, branch), (switches.COMPRESSED, follower)),
    )
    for route in _routes_apart(run, "after", sight):
        told = _told_on_the_way(run, one, ways, route)
        for number, (kind, left, entered, fact) in enumerate(told):
            if sight.has(entered, fact) and not sight.has(left, fact):
                continue
            # A later switch that moves or loses it breaks the rules on what was before a switch.
            *_, last = _told_on_the_way(run, one, ways[: number + 1], route)
            hook = run.hook(routes.OPERATIONS[route])
            by = f"{last.fact.text!r}, accepted by {hook} after a switch to {kind.called}"
            _is_in_the_new_one(run, sight, by, (left, entered), last.fact)
    if run.binding.own_homes:
        _of_an_odd_key(run, sight, run.route)


def _of_an_odd_key(run: Run, sight: _Sight, route: str) -> None:
    """A key is taken at a switch as it is at a start, with each letter and space of it."""
    plain, _ = tenants.pair(run, "session", "-after-odd")
    odd = dataclasses.replace(
        plain,
        called="a session key with capitals, an accent and a space at its end",
        session=f"{plain.session.swapcase()} cafe\u0301 ",
    )
    at_start, fact = run.facts.several(2)
    tenants.store(run, odd, [at_start], route)
    if not sight.has(odd, at_start) or sight.has(plain, at_start):
        return  # MP-TENANT-006 is about keys that a start takes for one.
    with plain.opened(run) as subject:
        switches.go(run, subject, plain, odd)
        run.plant(subject, fact, route)
    if not sight.has(odd, fact) or sight.has(plain, fact):
        by = f"{fact.text!r}, accepted after a switch to {odd.called}"
        _is_in_the_new_one(run, sight, by, (plain, odd), fact)


class _Told(NamedTuple):
    """A text that was accepted behind a switch."""

    kind: Switch
    left: Tenant
    entered: Tenant
    fact: Fact


def _told_on_the_way(
    run: Run, first: Tenant, ways: Sequence[tuple[Switch, Tenant]], route: str
) -> list[_Told]:
    """Go from session to session on one instance, with a text behind each switch."""
    left, told = first, list[_Told]()
    with first.opened(run) as subject:
        for kind, entered in ways:
            told.append(_Told(kind, left, entered, run.facts.new()))
            go = functools.partial(switches.go, run, subject, left, entered, kind)
            # Hosts switch on the thread of the writes, and call tools on another one.
            raised = together(go)[0] if len(told) % 2 == 0 else go()
            if raised is not None:
                raise raised
            run.plant(subject, told[-1].fact, route)
            left = entered
    return told


def _is_in_the_new_one(
    run: Run, sight: _Sight, by: str, way: tuple[Tenant, Tenant], fact: Fact
) -> None:
    left, entered = way
    if not sight.has(entered, fact):
        place = f"and is in {left.called}" if sight.has(left, fact) else "nor in the old one"
        run.violated(
            NotRecalled(
                wanted=f"{by}, in {entered.called}",
                texts=(fact.text,),
                subject="it",
                verb=f"is not {sight.shown} there",
                tail=f", {place}",
            )
        )
    if sight.has(left, fact):
        run.violated(
            Recalled(
                wanted=f"{by}, in {entered.called} only",
                texts=(fact.text,),
                answer="it",
                to_whom=left.called,
                tail=f" is {sight.shown} in {left.called} too",
            )
        )


@check("MP-SESS-010", budget_s=120.0, extension=switches.IS_SWITCHED, routes=routes.ROUTES)
def recall_follows_the_switch(run: Run) -> None:
    route = run.route
    if not _Sight(run).tells_apart("recall", route):
        raise NotApplicable("sessions are not kept apart: recall is the same in each")
    one, other = tenants.pair(run, "session", "-recall")
    known = dict(zip((one.session, other.session), run.facts.several(2), strict=True))
    for tenant in (one, other):
        tenants.store(run, tenant, [known[tenant.session]], route)
    with one.opened(run) as subject:
        _shows(run, subject, known, one, other)
        switches.go(run, subject, one, other, switches.RESUMED)
        _shows(run, subject, known, other, one)
        switches.go(run, subject, other, one, switches.RESUMED)
        _shows(run, subject, known, one, other)


def _shows(
    run: Run, subject: Subject, known: dict[str, Fact], current: Tenant, left: Tenant
) -> None:
    """See that recall brings what is known in the current session, and nothing of the one left."""
    own, foreign = known[current.session], known[left.session]
    reader = Reader(run)
    if not reader.sees(subject, own):
        if not _Sight(run).has(current, own):
            raise Lost(f"{own.text!r} does not come back in {current.called} by itself")
        run.violated(
            Returned(
                wanted=f"{own.text!r} recalled in {current.called}, which the instance is in",
                hook=run.hook("recall"),
                value=show(routes.recalled(subject, own.query)),
                lead=f"{own.query!r} brings ",
            ),
            operation="recall",
        )
    if reader.finds(subject, foreign):
        run.violated(
            Recalled(
                wanted=f"nothing of {left.called} recalled after the switch to {current.called}",
                texts=(foreign.text,),
                question=foreign.query,
                by=run.hook("recall"),
                of_whom=left.called,
                to_whom=current.called,
                lead=f"{foreign.query!r} brings ",
                tail=", which is stored there",
            ),
            operation="recall",
        )
