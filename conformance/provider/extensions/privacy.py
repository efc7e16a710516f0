"""Chapter 77: what is stored is shown on demand, and forgotten on demand."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from memproto.testing.clauses import Lost, Untestable, check
from memproto.testing.evidence import Differs, NotRecalled, Recalled, Returned, Unfit
from memproto.testing.facts import Fact
from memproto.testing.needs import depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.scenarios import conversations, entries, tenants, texts
from memproto.testing.scenarios.entries import REFUSED
from memproto.testing.scenarios.tenants import Boundary, Reader, Tenant

#: Number of texts that fill a page of most servers and more, and seconds for which they are told.
_MANY, _MANY_S = 127, 6.0

#: Length of a text that a column or a page cuts.
_LONG_CHARS = 4_000

_TASK = "Find out what is known in the harbour office."

#: Seconds in which a recall is prepared, as before a next turn.
_PREPARED_S = 0.3

#: A key that no release of the specification has; what it would mean holds for nothing stored now.
_UNKNOWN: dict[str, Any] = {"said_before": "2001-01-01T00:00:00Z"}
#: Another one, whose value a careless test takes for none.
_UNKNOWN_AND_FALSE = {"is_stored": False}


@dataclasses.dataclass(frozen=True)
class _Planted:
    """Facts that were stored in one session, by the words of a message for the way they came."""

    session: str
    facts: dict[str, Fact]


def _plant(run: Run, session: str = "", *, is_alone: bool = True, **config: Any) -> _Planted:
    """Store a fact by every route that there is, in one session, alone or beside another one."""
    key = session or run.session_key()
    facts = {route: run.facts.new() for route in routes.ROUTES if run.serves(route)}
    beside: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    if not is_alone:
        beside = _open_meanwhile(run)
    with run.session(session=key, **config) as subject, beside:
        for route, fact in facts.items():
            run.plant(subject, fact, route)
        if entries.served(run, "record"):
            facts["record"] = run.facts.new()
            entries.record(subject, entries.turn(key, facts["record"].text))
            author = {"id": f"{key}-otto", "name": "Otto"}
            facts |= _recorded(run, subject, key, "record for another author", author=author)
    if entries.served(run, "record"):
        # Turns arrive late: from a queue, after a resume, by an import.
        with run.session(**config) as later:
            facts |= _recorded(run, later, key, "record in a later session")
    return _Planted(key, facts)


def _recorded(run: Run, subject: Subject, key: str, way: str, **more: Any) -> dict[str, Fact]:
    """The fact of one more turn of a session, by the way that it came; none if it is refused."""
    fact = run.facts.new()
    try:
        entries.record(subject, entries.turn(key, fact.text, **more))
    except Untestable:
        return {}
    return {way: fact}


def _there(run: Run, planted: _Planted, **config: Any) -> dict[str, Fact]:
    """Facts that recall brings."""
    reader, found = Reader(run), {}
    for name, fact in planted.facts.items():
        with run.session(session=_reading(run, planted), **config) as subject:
            if reader.sees(subject, fact):
                found[name] = fact
    if not found:
        raise Lost("nothing that was stored came back", depends_on("MP-TURN-001", "MP-WRITE-001"))
    return found


def _reading(run: Run, planted: _Planted) -> str:
    """The session from which the facts can be recalled."""
    return planted.session if "session" in run.declared("isolates", []) else run.session_key()


# -- the answers ----------------------------------------------------------------------------------


def _scopes(run: Run, planted: _Planted) -> dict[str, dict[str, Any]]:
    """The scopes in which the facts lie, by what a message calls them."""
    user = run.config().get("user_id")
    scopes: dict[str, dict[str, Any]] = {
        "of everything": {},
        "of the session": {"session_id": planted.session},
    }
    if user:
        scopes["of the user"] = {"user_id": user}
        scopes["of the user's session"] = {"user_id": user, "session_id": planted.session}
    return scopes


@check("MP-PRIV-001", extension="privacy")
def an_export_fits_its_schema(run: Run) -> None:
    with run.session() as subject:
        _answers_each(run, subject.export, "export", {"of an empty store": {}})
    planted = _plant(run)
    with run.session() as subject:
        _answers_each(run, subject.export, "export", _scopes(run, planted))
        nobody = {"of a session that never was": {"session_id": f"{planted.session}-none"}}
        _answers_each(run, subject.export, "export", nobody)
    _answers_behind_a_refusal(run, "export", "export")


@check("MP-PRIV-002", extension="privacy")
def forgetting_may_be_repeated(run: Run) -> None:
    with run.session() as subject:
        _answers_each(run, subject.forget, "forget-result", {"of an empty store": {}})
    planted = _plant(run)
    with run.session() as subject:
        nobody = {"of a session that never was": {"session_id": f"{planted.session}-none"}}
        for _ in range(2):
            _answers_each(run, subject.forget, "forget-result", {**nobody, **_scopes(run, planted)})
    with run.session() as again:
        _answers_each(run, again.forget, "forget-result", _scopes(run, planted))
    _answers_behind_a_refusal(run, "forget", "forget-result")


def _answers_behind_a_refusal(run: Run, name: str, schema: str) -> None:
    """No lock is held behind a scope that was refused; the next instance says if it is that."""
    _plant(run)
    with run.session() as subject:
        hook = getattr(subject, name)
        if entries.unless_refused(functools.partial(hook, dict(_NO_SCOPE))) is not REFUSED:
            return
        try:
            _answers_each(run, hook, schema, {"of everything": {}})
        except Untestable as away:
            seen = str(away)
        else:
            return
    with run.session() as again:
        _answers_each(run, getattr(again, name), schema, {"of everything": {}})
    run.violated(
        Differs(
            wanted=f"an answer of {name} for everything after a scope that it refused",
            seen=f"{seen}, and the next session answers",
        ),
        operation=name,
    )


#: A scope that everybody refuses, or that selects nothing.
_NO_SCOPE = {"x_shelf": "third"}


def _answers_each(
    run: Run, hook: Callable[[dict[str, Any]], Any], schema: str, scopes: dict[str, Any]
) -> None:
    for name, scope in scopes.items():
        answer = entries.unless_refused(functools.partial(hook, dict(scope)))
        if answer is REFUSED:
            if scope:
                continue
            run.violated(
                Differs(wanted=f"an answer for the scope {name}, {scope}", seen="it was refused")
            )
        if fault := entries.misfit(answer, schema):
            run.violated(
                Unfit(
                    wanted=f"plain JSON as in {schema}.schema.json for the scope {name}",
                    schema=schema,
                    fault=fault,
                )
            )


# -- an export is complete, and holds nothing else ------------------------------------------------


@check("MP-PRIV-003", extension="privacy", routes=routes.ROUTES)
def an_export_is_complete(run: Run) -> None:
    planted = _with_more(run, _plant(run, is_alone=False))
    there = _there(run, planted)
    # From another session, and from the one that is meant, when it is resumed.
    for key in dict.fromkeys((_reading(run, planted), planted.session)):
        with run.session(session=key) as subject:
            for name, scope in _scopes(run, planted).items():
                exported = entries.exported(subject, scope)
                _are_exported(run, there, exported, name)
    _many_are_exported(run)
    _long_ones_are_whole(run)


def _are_exported(
    run: Run, there: dict[str, Fact], exported: list[dict[str, Any]] | None, name: str
) -> None:
    for route, fact in there.items():
        if exported is None or entries.of_fact(exported, fact):
            continue
        run.violated(
            NotRecalled(
                wanted=f"{fact.text!r}, stored through {route} and recalled, in the export {name}",
                texts=(fact.text,),
                subject="it",
                verb=f"is not among its {len(exported)} items",
            ),
        )


def _many(run: Run, home: Path) -> list[Fact]:
    """More facts than a page of most servers holds, as far as they are taken, and in time."""
    if run.is_selective or run.watch.calls_left is not None:
        return []
    told, until = list[Fact](), monotonic() + _MANY_S * run.context.scale * run.context.slowdown
    with run.session(home) as subject:
        while len(told) < _MANY and monotonic() < until:
            fact = run.facts.new()
            if not routes.accepts(subject, run.route, fact.text, routes.reply_to(fact)):
                break
            told.append(fact)
    return told


def _many_are_exported(run: Run) -> None:
    home = run.own_home("many")
    told = _many(run, home)
    run.settle()
    with run.session(home) as subject:

        def missing() -> list[Fact]:
            shown = entries.exported(subject, {}) or []
            return [fact for fact in told if not entries.of_fact(shown, fact)]

        run.wait_until(lambda: not missing(), run.freshness_s)
        left = missing()
    if left and losses.is_stored(run, left[0], home):
        run.violated(
            NotRecalled(
                wanted=f"each of {len(told)} texts in the export of everything",
                texts=tuple(fact.text for fact in left),
                of=len(told),
                verb="is not among its items",
            ),
        )


def _long_ones_are_whole(run: Run) -> None:
    """If recall brings the end of a long text, the export holds it too."""
    if run.is_selective:
        return
    home, fact = run.own_home("long"), run.facts.new()
    text = f"{texts.padded('To begin with, this.', _LONG_CHARS)} {fact.text}"
    fact = fact.within(text)
    with run.session(home) as subject:
        if not routes.accepts(subject, run.route, text):
            return
    if not losses.is_stored(run, fact, home):
        return
    with run.session(home) as subject:

        def there() -> bool:
            return bool(entries.of_fact(entries.exported(subject, {}) or [], fact))

        is_whole = run.wait_until(there, run.freshness_s)
    if not is_whole:
        run.violated(
            NotRecalled(
                wanted=(
                    f"the end of a text of {len(text):,} characters, which recall brings, in the "
                    "export of everything"
                ),
                texts=(fact.text,),
                verb="is in none of its items",
            ),
        )


def _many_are_gone(run: Run) -> None:
    home = run.own_home("many")
    told = _many(run, home)
    with run.session(home) as subject:
        if not told or entries.forgotten(subject, {}) is None:
            return
    with run.session(home) as again:

        def left() -> list[dict[str, Any]]:
            return entries.exported(again, {}) or []

        if run.wait_until(lambda: not left(), run.freshness_s):
            return
        found = left()
    run.violated(
        Recalled(
            wanted=f"an empty export after forget() of everything, {len(told)} texts",
            texts=(found[0]["text"],),
            by="export",
            lead=f"{len(found)} items are left, among them ",
        ),
        operation="export",
    )


@check("MP-PRIV-004", extension="privacy", routes=routes.ROUTES)
def an_export_holds_nothing_else(run: Run) -> None:
    for owner, guest, scopes in _sides(run):
        for name, scope in scopes.items():
            with guest.opened(run) as subject:
                exported = entries.exported(subject, scope) or []
            for fact in owner.facts.values():
                if found := entries.of_fact(exported, fact):
                    run.violated(
                        Recalled(
                            wanted=f"in the export {name} nothing but what was stored there",
                            texts=(found[0]["text"],),
                            by=run.hook("export"),
                            of_whom=owner.called,
                            lead="it holds ",
                            tail=f", which was stored {owner.called}",
                        ),
                    )


@dataclasses.dataclass(frozen=True)
class _Owner:
    """Facts that lie outside a scope, and the words that say where."""

    called: str
    facts: dict[str, Fact]
    tenant: Tenant


#: The owner of what lies outside, the one who asks, and the scopes that he asks for.
_Side = tuple[_Owner, Tenant, dict[str, dict[str, Any]]]


def _sides(run: Run) -> Iterator[_Side]:
    """Both have stored by every route each time; that the outsider's comes back is seen first."""
    for ends in _NEAR:
        yield _of_another_session(run, ends)
    yield _of_a_parent(run)
    kept = {"profile", *run.declared("isolates", [])}
    for boundary in ("profile", "user"):
        if boundary in kept:
            yield _across(run, boundary)
    if "user" in kept:
        yield _asked_for_another(run)
        if "user_id" not in run.context.config:
            yield from _asked_for_somebody(run)
    if "user" not in kept and "user_id" not in run.context.config:
        yield _of_another_user(run)


#: Ends of the keys of two sessions: one begins as the other does, or is it in another case.
_NEAR = (("-one", "-one-more"), ("-a", "-A"))


def _of_another_session(run: Run, ends: tuple[str, str]) -> _Side:
    """Two sessions of one user; the scope is one of them."""
    key = run.session_key()
    mine, other = (Tenant("", key + end) for end in ends)
    _store(run, mine)
    owner = _Owner("in another session", _store(run, other), other)
    user = run.config().get("user_id")
    scopes = {"of one session": {"session_id": mine.session}}
    if user:
        scopes["of one session of the user"] = {"session_id": mine.session, "user_id": user}
    return owner, mine, scopes


def _of_a_parent(run: Run) -> _Side:
    """A session and one that was started from it: the scope is the later one."""
    key = run.session_key()
    parent = Tenant("", f"{key}-parent")
    child = Tenant("", f"{key}-child", config={"parent_session_id": parent.session})
    owner = _Owner("in the session from which another one was started", _store(run, parent), parent)
    _store(run, child)
    return owner, child, {"of the later session": {"session_id": child.session}}


def _asked_for_somebody(run: Run) -> Iterator[_Side]:
    """Nobody, who is kept apart from each user, asks for what is a user's."""
    somebody, _ = tenants.pair(run, "user", "-somebody")
    nobody = Tenant("nobody", run.session_key(), None, {"user_id": None})
    # One that starts without a user, and stores nothing then, is for MP-TENANT-008.
    with contextlib.suppress(tenants.Refused, Lost):
        owner = _Owner("without a user_id", _store(run, nobody), nobody)
        yield owner, nobody, {"of a user": {"user_id": somebody.config["user_id"]}}


def _asked_for_another(run: Run) -> _Side:
    """A user who is kept apart asks for what is another's: that is nothing, and none of his own."""
    mine, other = tenants.pair(run, "user", "-asked")
    owner = _Owner(f"for {mine.called}", _store(run, mine), mine)
    return owner, mine, {"of another user": {"user_id": other.config["user_id"]}}


def _across(run: Run, boundary: Boundary) -> _Side:
    """Two sides of a boundary that is kept; the scope is everything."""
    mine, other = tenants.pair(run, boundary)
    _store(run, mine)
    owner = _Owner(f"for {other.called}", _store(run, other), other)
    scopes: dict[str, dict[str, Any]] = {"of everything": {}}
    if boundary == "user":
        scopes["of another user"] = {"user_id": other.config["user_id"]}
        scopes["of the other's session"] = {"session_id": other.session}
    return owner, mine, scopes


def _of_another_user(run: Run) -> _Side:
    """Two users who share a memory; the scope is one of them."""
    mine, other = tenants.pair(run, "user")
    _store(run, mine)
    owner = _Owner(f"for {other.called}", _store(run, other), other)
    return owner, mine, {f"of {mine.called}": {"user_id": mine.config["user_id"]}}


def _store(run: Run, tenant: Tenant) -> dict[str, Fact]:
    """Store by every route for a tenant; the facts that come back for it."""
    facts = {route: run.facts.new() for route in routes.ROUTES if run.serves(route)}
    with tenant.opened(run) as subject:
        for route, fact in facts.items():
            run.plant(subject, fact, route)
    lost = Reader(run).lacks(tenant, list(facts.values()))
    there = {route: fact for route, fact in facts.items() if fact not in lost}
    if not there:
        raise Lost("nothing that was stored came back", depends_on("MP-TURN-001", "MP-WRITE-001"))
    return there


# -- forgotten is forgotten -----------------------------------------------------------------------


@check("MP-PRIV-005", budget_s=120.0, extension="privacy", routes=routes.ROUTES)
def what_was_forgotten_is_gone(run: Run) -> None:
    for number, is_resumed in ((0, False), (1, False), (1, True)):
        planted = _with_more(run, _plant(run))
        there = _there(run, planted)
        scopes = _scopes(run, planted)
        name = list(scopes)[number]
        key = planted.session if is_resumed else _reading(run, planted)
        with _open_meanwhile(run) as others, run.session(session=key) as subject:
            # Each was recalled in this session before: what is kept ready for it goes too.
            for asked, fact in itertools.product((subject, *others), there.values()):
                run.brings_back(asked, fact)
            _keep_ready(run, [subject, *others], next(iter(there.values())))
            if scopes[name] == {}:
                there = {**there, **_said_last(run, subject)}
            if entries.forgotten(subject, scopes[name]) is None:
                continue
            if run.declared("recall_basis", "query") != "session":
                _are_gone(run, subject, there, name, "in the same session", prompt=False)
                for other in others:
                    when = "in a session that was open meanwhile"
                    _are_gone(run, other, there, name, when, prompt=False)
        # A gateway starts the same session again, for the next message of it.
        for opened in (_reading(run, planted), key):
            with run.session(session=opened) as again:
                _are_gone(run, again, there, name, "after a new start", prompt=True)
    _many_are_gone(run)


def _keep_ready(run: Run, subjects: list[Subject], fact: Fact) -> None:
    """Have each read in every way, and prepare what it recalls for the question of a fact."""
    for subject in subjects:
        entries.showing(run, subject, fact, prompt=False)
        if entries.served(run, "prompt"):
            subject.prompt()
        if entries.served(run, "prewarm"):
            subject.prewarm(fact.query)
            run.stays_silent(lambda: False, _PREPARED_S)


def _said_last(run: Run, subject: Subject) -> dict[str, Fact]:
    """Facts that are accepted right before a forget(): a queue or a batch may still hold them."""
    told = {f"{route} right before": (route, run.facts.new()) for route in routes.ROUTES}
    return {
        way: fact
        for way, (route, fact) in told.items()
        if run.serves(route) and routes.accepts(subject, route, fact.text, routes.reply_to(fact))
    }


@contextlib.contextmanager
def _open_meanwhile(run: Run) -> Iterator[list[Subject]]:
    """One more session of the same user: to forget, a host opens an instance beside it."""
    if "session" in run.declared("isolates", []) or run.declared("single_writer", default=False):
        yield []
        return
    with run.session() as other:
        yield [other]


def _with_more(run: Run, planted: _Planted) -> _Planted:
    """The same, and what a subagent answered and a compression showed: it may be stored too."""
    answered, shown = run.facts.several(2)
    more, child = {"compression": shown}, f"{planted.session}-child"
    with run.session(session=planted.session) as subject:
        if entries.served(run, "delegation"):
            more["delegation"] = answered
            routes.tolerant(lambda: subject.delegated(_TASK, answered.text, child_session_id=child))
        routes.tolerant(lambda: subject.compress(conversations.talk(shown)))
    return dataclasses.replace(planted, facts={**planted.facts, **more})


def _are_gone(
    run: Run, subject: Subject, facts: dict[str, Fact], name: str, when: str, *, prompt: bool
) -> None:
    for route, fact in facts.items():
        left: list[str] = []

        def gone(fact: Fact = fact, left: list[str] = left) -> bool:
            left[:] = entries.showing(run, subject, fact, prompt=prompt)
            return not left

        run.settle()
        if not run.wait_until(gone, run.freshness_s):
            run.violated(
                Recalled(
                    wanted=f"{fact.text!r}, stored through {route}, gone after forget() {name}",
                    texts=(fact.text,),
                    answer="it",
                    by=left[0],
                    lead=f"{when} {left[0]} still shows ",
                ),
            )


@check("MP-PRIV-006", budget_s=120.0, extension="privacy", routes=routes.ROUTES)
def what_lies_outside_stays(run: Run) -> None:
    for owner, guest, scopes in _sides(run):
        for name, scope in scopes.items():
            with guest.opened(run) as subject:
                if entries.forgotten(subject, scope) is None:
                    continue
            lost = Reader(run).lacks(owner.tenant, list(owner.facts.values()))
            if lost:
                run.violated(
                    NotRecalled(
                        wanted=f"text stored {owner.called}, recalled after forget() {name}",
                        texts=tuple(fact.text for fact in lost),
                        verb="does not come back any more",
                    ),
                )
    _equal_words_stay(run)
    _a_text_between_stays(run)


def _a_text_between_stays(run: Run) -> None:
    """A session that is resumed lies around another one of nearly its id, in the order of time."""
    route, key = run.route, run.session_key()
    mine, other = Tenant("", f"{key}-around"), Tenant("", f"{key}-around\N{SHIP}")
    first, between, last = run.facts.several(3)
    for tenant, fact in ((mine, first), (other, between), (mine, last)):
        with tenant.opened(run) as subject:
            if not routes.accepts(subject, route, fact.text, routes.reply_to(fact)):
                return
    if Reader(run).lacks(other, [between]):
        return
    with mine.opened(run) as subject:
        if entries.forgotten(subject, {"session_id": mine.session}) is None:
            return
    if Reader(run).lacks(other, [between]):
        run.violated(
            NotRecalled(
                wanted=(
                    f"a text of the session {other.session!r}, recalled after forget() of the"
                    f" session {mine.session!r}, which was resumed after it"
                ),
                texts=(between.text,),
                verb="does not come back any more",
            ),
        )


def _equal_words_stay(run: Run) -> None:
    """Two sessions of one user have the same words, and one of the two is forgotten."""
    if run.declared("retention", "verbatim") != "verbatim":
        return
    route, fact, key = run.route, run.facts.new(), run.session_key()
    mine, other = Tenant("", f"{key}-first"), Tenant("", f"{key}-second")
    for tenant in (mine, other):
        with tenant.opened(run) as subject:
            if not routes.accepts(subject, route, fact.text, routes.reply_to(fact)):
                # It says that it has the text already.
                return
    with mine.opened(run) as subject:
        if entries.forgotten(subject, {"session_id": mine.session}) is None:
            return
    if Reader(run).lacks(other, [fact]):
        run.violated(
            NotRecalled(
                wanted="a text that two sessions stored, recalled after forget() of one of them",
                texts=(fact.text,),
                verb="does not come back any more",
            ),
        )


@check("MP-PRIV-007", extension="privacy", routes=routes.ROUTES)
def forgetting_counts(run: Run) -> None:
    with run.session() as subject:
        _counts(run, subject, "an empty store", {}, some=False)
    for number in range(2):
        planted = _plant(run)
        _there(run, planted)
        name, scope = list(_scopes(run, planted).items())[number]
        with run.session(session=_reading(run, planted)) as subject:
            nobody = {"session_id": f"{planted.session}-none"}
            _counts(run, subject, "a session that never was", nobody, some=False)
            _counts(run, subject, f"the scope {name}", scope, some=True)
        with run.session(session=_reading(run, planted)) as again:
            # Pending entries are gone by now, if the provider has to be given time.
            run.wait_until(functools.partial(_is_empty, again, scope), run.freshness_s)
            _counts(run, again, f"the scope {name}, forgotten before,", scope, some=False)


def _is_empty(subject: Subject, scope: dict[str, Any]) -> bool:
    return not entries.exported(subject, scope)


def _counts(run: Run, subject: Subject, name: str, scope: dict[str, Any], *, some: bool) -> None:
    count = entries.forgotten(subject, scope)
    if count is None:
        return
    if bool(count) != some:
        wanted = "more than 0" if some else "0"
        run.violated(
            Returned(
                wanted=f"removed and pending together {wanted} for {name}",
                hook=run.hook("forget"),
                value=str(count),
                lead="together they are ",
            )
        )


@check("MP-PRIV-008", extension="privacy", routes=routes.ROUTES)
def an_unknown_key_selects_nothing(run: Run) -> None:
    planted = _plant(run)
    there = _there(run, planted)
    scopes: list[dict[str, Any]] = [
        _UNKNOWN,
        {**_UNKNOWN, "session_id": planted.session},
        {**_UNKNOWN_AND_FALSE, "session_id": planted.session},
    ]
    for scope in scopes:
        with run.session(session=_reading(run, planted)) as subject:
            _selects_nothing(run, subject, scope, there)
        if lost := [fact for fact in there.values() if fact not in _still(run, planted).values()]:
            run.violated(
                NotRecalled(
                    wanted=f"nothing removed by forget({scope}), of which one key is unknown",
                    texts=tuple(fact.text for fact in lost),
                    verb="does not come back any more",
                ),
            )


def _selects_nothing(
    run: Run, subject: Subject, scope: dict[str, Any], facts: dict[str, Fact]
) -> None:
    exported = entries.exported(subject, scope) or []
    for fact in facts.values():
        if entries.of_fact(exported, fact):
            run.violated(
                Recalled(
                    wanted=f"nothing in export({scope}), of which one key is unknown",
                    texts=(fact.text,),
                    by=run.hook("export"),
                    lead="it holds ",
                ),
                operation="export",
            )
    entries.forgotten(subject, scope)


def _still(run: Run, planted: _Planted) -> dict[str, Fact]:
    try:
        return _there(run, planted)
    except Untestable:
        return {}
