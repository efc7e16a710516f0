"""Chapter 76: recall as a list of items."""

import contextlib
import dataclasses
import datetime as dt
import json
from collections.abc import Iterator
from time import monotonic
from typing import Any

from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.evidence import (
    Misordered,
    NotRecalled,
    Recalled,
    Returned,
    Surplus,
    TooLong,
    Unfit,
    Unsteady,
)
from memproto.testing.facts import Fact
from memproto.testing.faults import unanswered
from memproto.testing.instruments.walltime import (
    KATHMANDU,
    LOS_ANGELES,
    WallClock,
    time_zone,
    wall_clock,
)
from memproto.testing.lifetimes import unreadable
from memproto.testing.lifetimes.ends import HostProcess
from memproto.testing.needs import depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.provider.write_action import USUAL
from memproto.testing.scenarios import entries, mirrored_writes, tenants, texts
from memproto.testing.scenarios.entries import REFUSED
from memproto.testing.scenarios.tenants import Boundary, Tenant
from memproto.testing.wire import show

#: Clocks of a provider's backend and of this machine differ.
_SLACK = dt.timedelta(seconds=120)

#: Half the time for which a session has lasted when its texts are told, and the turns in it.
_TALK, _TURNS = dt.timedelta(hours=3), 12

#: Number of texts behind which a store tidies up, and seconds for which they are told.
_MANY, _MANY_S = 100, 3.0

_MESSAGES = [
    {"role": "user", "content": "Which berth is free today?"},
    {"role": "assistant", "content": "Berth 4."},
]


@check("MP-ITEMS-001", budget_s=240.0, extension="items", grows=True)
def every_request_gets_a_list(run: Run) -> None:
    odd = texts.odd(run, texts.LONG)
    requests: dict[str, dict[str, Any]] = {
        "a request with all keys": {"messages": _MESSAGES, "budget_chars": 400},
        "a request without a budget": {"messages": []},
        "a request with a budget of 0": {"budget_chars": 0},
        "a request with a key of a later release": {"mood": "cheerful"},
    }
    with run.session() as subject:
        for name, more in requests.items():
            _fits(run, subject, name, {"query": "Which berth is free today?", **more})
        _plant_each(run, subject)
    with run.session() as again:
        for name, text in odd.items():
            _fits(run, again, f"the query {name}", {"query": text})


def _fits(run: Run, subject: Subject, name: str, request: dict[str, Any]) -> None:
    answer = entries.unless_refused(lambda: subject.items(request))
    fault = "it raised" if answer is REFUSED else entries.misfit(answer, "recall-items")
    if fault:
        run.violated(
            Unfit(
                wanted=f"a document as in recall-items.schema.json for {name}",
                schema="recall-items",
                fault=fault,
            )
        )


def _plant_each(run: Run, subject: Subject) -> list[Fact]:
    """A fact by each route that is known to store."""
    planted = []
    for route in routes.ROUTES:
        if run.serves(route):
            planted.append(run.facts.new())
            run.plant(subject, planted[-1], route)
    return planted


def _items_of(run: Run, subject: Subject, fact: Fact, **request: Any) -> list[dict[str, Any]]:
    """
    The items for the question of a fact, once one of them brings it.

    Raises:
        Untestable: None does.

    """
    found = _waited(run, subject, fact, **request)
    if not entries.of_fact(found, fact):
        raise Untestable(f"no item brings {fact.text!r}", depends_on("MP-ITEMS-003"))
    return found


def _waited(run: Run, subject: Subject, fact: Fact, **request: Any) -> list[dict[str, Any]]:
    """The items for the question of a fact, as fresh as the provider declares."""
    answers: list[list[dict[str, Any]]] = []

    def brought() -> bool:
        answers.append(entries.items(subject, fact.query, **request))
        return bool(entries.of_fact(answers[-1], fact))

    run.turn_before(subject, fact.query)
    run.settle()
    run.wait_until(brought, run.freshness_s)
    return answers[-1]


# -- the budget -----------------------------------------------------------------------------------


@check("MP-ITEMS-002", extension="items", routes=routes.ROUTES)
def a_budget_drops_whole_items(run: Run) -> None:
    with run.session() as subject:
        facts = [fact for _ in range(3) for fact in _plant_each(run, subject)]
    with run.session() as again:
        for fact in facts[:2]:
            whole = [item["text"] for item in _items_of(run, again, fact)]
            total, first = sum(map(len, whole)), len(whole[0])
            for budget in {total, total - 1, first, first - 1, first // 2, 1, 0}:
                _within(run, again, fact, whole, max(0, budget))
            if not entries.of_fact(entries.items(again, fact.query, budget_chars=total), fact):
                run.violated(
                    NotRecalled(
                        wanted=(
                            f"{fact.text!r} with budget_chars={total}, as long as all items "
                            "without one"
                        ),
                        texts=(fact.text,),
                        subject="it",
                        verb="is not among the items",
                    ),
                )
    _one_alone_fits(run)


def _one_alone_fits(run: Run) -> None:
    """The only item of a store, in letters beyond ASCII, with room for it and for no more."""
    home, told = run.own_home("alone"), run.facts.new()
    fact = told.within(f"{told.text} \u6e2f\u53e3 gr\xfc\xdft.")
    with run.session(home) as subject:
        if not routes.accepts(subject, run.route, fact.whole, "\u597d."):
            return
    with run.session(home) as again:
        found = _waited(run, again, fact)
        total = sum(len(item["text"]) for item in found)
        if not entries.of_fact(found, fact):
            return
        if not entries.of_fact(entries.items(again, fact.query, budget_chars=total), fact):
            run.violated(
                NotRecalled(
                    wanted=f"{fact.whole!r} with budget_chars={total}, its length without a budget",
                    texts=(fact.whole,),
                    subject="it",
                    verb="is not among the items",
                ),
            )


def _within(run: Run, subject: Subject, fact: Fact, whole: list[str], budget: int) -> None:
    """Judge the answer with a budget, given the texts without one."""
    texts_within = [
        item["text"] for item in entries.items(subject, fact.query, budget_chars=budget)
    ]
    length = sum(map(len, texts_within))
    if length > budget:
        run.violated(
            TooLong(
                wanted=f"at most {budget} characters, as budget_chars says",
                hook=run.hook("items"),
                chars=length,
                limit=budget,
            )
        )
    for text in texts_within:
        if _is_part(text, whole):
            run.violated(
                Returned(
                    wanted=f"with budget_chars={budget} each item whole, as without a budget",
                    hook=run.hook("items"),
                    value=show(text),
                    lead="there is a part of one: ",
                ),
            )


def _is_part(text: str, whole: list[str]) -> bool:
    """True if a text is the beginning of an item, with dots behind it or not, and none itself."""
    begin = text.rstrip(" .\u2026")
    return text not in whole and bool(begin) and any(known.startswith(begin) for known in whole)


# -- items and the recall that they stand beside --------------------------------------------------


@check("MP-ITEMS-003", extension="items", routes=routes.ROUTES)
def what_recall_brings_is_an_item(run: Run) -> None:
    with run.session() as subject:
        facts = _plant_each(run, subject)
    brought = 0
    for fact in facts:
        with run.session() as again:
            if not run.brings_back(again, fact):
                continue
            brought += 1
            found = _waited(run, again, fact)
            if not entries.of_fact(found, fact):
                run.violated(
                    NotRecalled(
                        wanted=f"{fact.text!r}, which {run.hook('recall')} brings, among the items",
                        texts=(fact.text,),
                        lead=f"{len(found)} items for {fact.query!r} and ",
                        subject="not",
                        verb="this one",
                    ),
                )
    if not brought:
        raise Lost("nothing that was stored came back", depends_on("MP-TURN-001", "MP-WRITE-001"))


@check("MP-ITEMS-004", extension="items", routes=routes.ROUTES)
def an_id_names_one_item(run: Run) -> None:
    first = _first_of_all(run)
    with run.session() as subject:
        facts = [*_plant_each(run, subject), *_plant_each(run, subject)]
    # Equal words of two sessions are one item or two.
    with run.session() as subject:
        routes.accepts(subject, run.route, facts[0].text, routes.reply_to(facts[0]))
    before = _ids(run, facts)
    is_verbatim = run.declared("retention", "verbatim") == "verbatim"
    if is_verbatim:
        # A place in a list is no id. An item that is derived from more may be another one.
        with run.session() as subject:
            _plant_each(run, subject)
    _are_steady(run, before, _ids(run, facts), "after a new start")
    if entries.served(run, "privacy"):
        _are_steady(run, before, _ids_of_an_export(run, facts), "in an export")
    elsewhere = _ids_in_another_process(run, facts)
    # A provider that keeps sessions apart shows a new session nothing of these.
    shown = {fact: ids for fact, ids in before.items() if elsewhere[fact]}
    _are_steady(run, shown, elsewhere, "in another process")
    if is_verbatim and first and _is_removed(run, first):
        _are_steady(run, before, _ids(run, facts), "after the removal of another one")
    if is_verbatim:
        _talks_on(run)
        # A recall that brings few of many says nothing of the ids that it leaves out.
        with contextlib.suppress(Untestable):
            _are_steady(run, before, _ids(run, facts), f"after {_MANY} more were stored")


def _talks_on(run: Run) -> None:
    """Store so many texts that a file is tidied up or divided, as far as there is time."""
    if run.is_selective or run.watch.calls_left is not None:
        return
    until = monotonic() + _MANY_S * run.context.scale * run.context.slowdown
    with run.session() as subject:
        for number in range(_MANY):
            if monotonic() > until:
                return
            routes.accepts(subject, run.route, f"Lamp {number} burns.", "Good.")


def _are_steady(
    run: Run, before: dict[Fact, set[str]], after: dict[Fact, set[str]], when: str
) -> None:
    for fact, ids in before.items():
        if not ids <= after[fact]:
            run.violated(
                Unsteady(
                    wanted=f"the item {fact.text!r} under the same id {when}",
                    subject="id",
                    values=(*sorted(ids), *sorted(after[fact])),
                    difference=f"it was {sorted(ids)} and is {sorted(after[fact])}",
                ),
            )


def _first_of_all(run: Run) -> Fact | None:
    """A fact that lies before all others and can be removed by a mirrored write; None for none."""
    target = USUAL[1]
    actions = (mirrored_writes.targets(run, action) for action in ("add", "remove"))
    if not run.serves("writes") or not all(target in named for named in actions):
        return None
    fact = run.facts.new()
    try:
        with run.session() as subject:
            mirrored_writes.bring(run, subject, target, fact.text)
    except mirrored_writes.Refused:
        return None
    return fact


def _is_removed(run: Run, fact: Fact) -> bool:
    """True if the provider accepts that the fact be removed."""
    try:
        with run.session() as subject:
            mirrored_writes.write(subject, "remove", USUAL[1], "", fact.text)
    except mirrored_writes.Refused:
        return False
    return True


def _ids(run: Run, facts: list[Fact]) -> dict[Fact, set[str]]:
    """Fact to the ids of the items that bring it; no id stands twice in one answer."""
    found: dict[Fact, set[str]] = {}
    with run.session() as subject:
        for fact in facts:
            answer = _items_of(run, subject, fact)
            ids = [item["id"] for item in answer]
            if twice := sorted({name for name in ids if ids.count(name) > 1}):
                run.violated(
                    Surplus(
                        wanted="an id for each item of an answer",
                        kind_of="id",
                        names=(repr(twice[0]),),
                        tail=" stands twice",
                    )
                )
            found[fact] = {item["id"] for item in entries.of_fact(answer, fact)}
    return found


def _ids_of_an_export(run: Run, facts: list[Fact]) -> dict[Fact, set[str]]:
    """Fact to the ids of the items that bring it in an export; as recalled if none does there."""
    with run.session() as subject:
        found = entries.exported(subject, {}) or []
        return {
            fact: {item["id"] for item in entries.of_fact(found or [], fact)}
            or {item["id"] for item in entries.of_fact(_items_of(run, subject, fact), fact)}
            for fact in facts
        }


def _ids_in_another_process(run: Run, facts: list[Fact]) -> dict[Fact, set[str]]:
    """Fact to the ids of the items that bring it in the next process; none if that said nothing."""
    calls = [
        {"hook": "recall_items", "arguments": [{"query": fact.query}], "keywords": {}}
        for fact in facts
    ]
    marks = HostProcess(run, "shows", [], calls=calls).end().marks
    answers = [json.loads(mark.partition(" ")[2]) for mark in marks if mark.startswith("shown ")]
    answers += [{}] * (len(facts) - len(answers))
    return {
        fact: {item["id"] for item in entries.of_fact(answer.get("items", []), fact)}
        for fact, answer in zip(facts, answers, strict=True)
    }


@check("MP-ITEMS-005", extension="items", routes=routes.ROUTES)
def the_best_item_comes_first(run: Run) -> None:
    scored = 0
    with run.session() as subject:
        facts = [fact for _ in range(3) for fact in _plant_each(run, subject)]
    with run.session() as again:
        for fact in facts:
            # Of two questions at once one fits an item more than the other.
            for query in (fact.query, f"{facts[0].query} {fact.text}"):
                run.turn_before(again, query)
                found = entries.items(again, query)
                scores = [item["score"] for item in found if item.get("score") is not None]
                scored += len(scores)
                if scores != sorted(scores, reverse=True):
                    run.violated(
                        Misordered(
                            wanted="scores from the highest to the lowest",
                            calls=tuple(map(str, scores)),
                            seen=f"{scores}",
                        )
                    )
    if not scored:
        raise NotApplicable("no item has a score")


# -- a store that cannot be read ------------------------------------------------------------------


@check("MP-ITEMS-008", budget_s=120.0, extension="items", routes=routes.ROUTES)
def an_answer_of_a_store_that_cannot_be_read_is_not_ok(run: Run) -> None:
    seen, when = unanswered.asked(run, _answer_about, _brings), "its backend answers 503"
    if seen is None:
        seen, when = (
            unreadable.asked(run, _answer_about, _brings),
            "another process holds the files",
        )
    answer = entries.fitting(seen, "recall-items")
    if answer["status"] == "ok":
        run.violated(
            Returned(
                wanted=f"`partial` or `unavailable` while {when}",
                hook=run.hook("items"),
                value=show(answer),
                tail=", and the text is there before and afterwards",
            )
        )


def _answer_about(subject: Subject, fact: Fact) -> Any:
    return subject.items({"query": fact.query})


def _brings(answer: Any, fact: Fact) -> bool:
    found = answer.get("items", ()) if isinstance(answer, dict) else ()
    return bool(entries.of_fact(list(found), fact))


# -- time and boundaries --------------------------------------------------------------------------


@check("MP-ITEMS-006", environment={"TZ": KATHMANDU.name}, extension="items", routes=routes.ROUTES)
def an_item_knows_its_instant(run: Run) -> None:
    began, dated = dt.datetime.now(dt.UTC), 0
    with time_zone(KATHMANDU) as use:
        # A server, or a library that asks the system, has the time of now all along.
        with wall_clock(began - 2 * _TALK) as clock, run.session() as subject:
            clock.tick(_TALK.total_seconds())
            _talks_until(run, subject, clock, began)
            facts = _plant_each(run, subject)
            # A machine is taken along, and its zone follows.
            use(LOS_ANGELES)
            facts += _plant_each(run, subject)
            use(KATHMANDU)
        with run.session() as again:
            for fact in facts:
                for item in entries.of_fact(_items_of(run, again, fact), fact):
                    dated += _judge_time(run, item, began)
        dated += _judge_later(run, facts, began)
    if not dated:
        raise NotApplicable("no item has a time")


def _talks_until(run: Run, subject: Subject, clock: WallClock, now: dt.datetime) -> None:
    """Let the clock go on to this moment, with a turn now and then where a turn costs little."""
    if not run.is_selective and run.watch.calls_left is None:
        for number in range(_TURNS):
            routes.accepts(subject, run.route, f"Lamp {number} burns.", "Good.")
            clock.tick(_TALK.total_seconds() / _TURNS)
    clock.jump(now)


def _judge_later(run: Run, facts: list[Fact], began: dt.datetime) -> int:
    """Number of times that items and an export have when the clock has gone on."""
    if not entries.served(run, "privacy"):
        return 0
    with wall_clock(dt.datetime.now(dt.UTC) + _TALK), run.session() as later:
        every = entries.exported(later, {}) or []
        shown = [(fact, "items", _items_of(run, later, fact)) for fact in facts]
    shown += [(fact, "export", every) for fact in facts]
    return sum(
        _judge_time(run, item, began, by)
        for fact, by, found in shown
        for item in entries.of_fact(found, fact)
    )


def _judge_time(
    run: Run, item: dict[str, Any], began: dt.datetime, operation: str = "items"
) -> bool:
    if not item.get("created_at"):
        return False
    shown, now = entries.instant(item["created_at"]), dt.datetime.now(dt.UTC)
    if not began - _SLACK <= shown <= now + _SLACK:
        run.violated(
            Returned(
                wanted=(
                    f"the instant at which it was stored, about {now.isoformat(timespec='seconds')}"
                ),
                hook=run.hook(operation),
                value=repr(item["created_at"]),
                tail=(
                    ", in a process whose zone is +05:45 and changes, amid a session of six hours"
                ),
            ),
            operation=operation,
        )
    return True


@check("MP-ITEMS-009", extension="items", routes=routes.ROUTES)
def an_item_has_the_scope_of_its_storing(run: Run) -> None:
    apart = set(run.declared("isolates", []))
    if "session" in apart:
        raise NotApplicable("`isolates` names session: no other session sees the item")
    user = str(run.config()["user_id"])
    writer = tenants.of(run, "user", user)
    readers = [writer] if "user" in apart else [writer, tenants.of(run, "user", f"{user}-otto")]
    late = f"{writer.session}-late"
    with writer.opened(run) as subject:
        if entries.served(run, "record"):
            # It is of another session, and changes nothing for what this one stores.
            entries.is_taken(subject, entries.turn(late, run.facts.new().text))
        facts = _plant_each(run, subject)
    scoped = 0
    for reader in (dataclasses.replace(one, session=run.session_key()) for one in readers):
        with reader.opened(run) as subject:
            shown = [("items", item) for fact in facts for item in _bringing(run, subject, fact)]
            if entries.served(run, "privacy"):
                every = entries.exported(subject, {}) or []
                exported = [item for fact in facts for item in entries.of_fact(every, fact)]
                shown += [("export", item) for item in exported]
        for by, item in shown:
            _is_not_of_a_late_turn(run, item, by, writer, late)
            scoped += _judge_scope(run, item, by, writer, reader)
    if not scoped:
        raise NotApplicable("no item has a scope")


def _bringing(run: Run, subject: Subject, fact: Fact) -> list[dict[str, Any]]:
    return entries.of_fact(_items_of(run, subject, fact), fact)


def _is_not_of_a_late_turn(
    run: Run, item: dict[str, Any], operation: str, writer: Tenant, late: str
) -> None:
    if (item.get("scope") or {}).get("session_id") == late:
        run.violated(
            Returned(
                wanted=f"the session_id with which it was stored, {writer.session!r}, or none",
                hook=run.hook(operation),
                value=repr(late),
                lead=(
                    f"{run.hook(operation)} gives {item['text']!r} that of a late turn which was "
                    "recorded before it, "
                ),
            ),
            operation=operation,
        )


def _judge_scope(
    run: Run, item: dict[str, Any], operation: str, writer: Tenant, reader: Tenant
) -> bool:
    scope = item.get("scope") or {}
    stored = {"session_id": writer.session, "user_id": writer.config["user_id"]}
    asking = {"session_id": reader.session, "user_id": reader.config["user_id"]}
    for key, now in asking.items():
        if scope.get(key) == now != stored[key]:
            run.violated(
                Returned(
                    wanted=f"the {key} with which it was stored, {stored[key]!r}, or none",
                    hook=run.hook(operation),
                    value=repr(now),
                    lead=f"{run.hook(operation)} gives {item['text']!r} that of who asks, ",
                ),
                operation=operation,
            )
    return any(scope.get(key) is not None for key in asking)


@check("MP-ITEMS-007", extension="items", routes=routes.ROUTES)
def items_keep_to_their_side(run: Run) -> None:
    declared = set(run.declared("isolates", [])) | {"profile"}
    for boundary in ("user", "session", "profile"):
        if boundary in declared:
            _keep_to(run, boundary)


def _keep_to(run: Run, boundary: Boundary) -> None:
    one, other = tenants.pair(run, boundary)
    stored = {tenant.called: list(_stored_for(run, tenant)) for tenant in (one, other)}
    for guest, owner in ((one, other), (other, one)):
        with guest.opened(run) as subject:
            for fact in stored[owner.called]:
                run.turn_before(subject, fact.query)
                if found := entries.of_fact(entries.items(subject, fact.query), fact):
                    run.violated(
                        Recalled(
                            wanted=f"for {guest.called} no item of {owner.called}",
                            texts=(found[0]["text"],),
                            answer=show(found[0]["text"]),
                            by=run.hook("items"),
                            of_whom=owner.called,
                            to_whom=guest.called,
                        )
                    )


def _stored_for(run: Run, tenant: Tenant) -> Iterator[Fact]:
    """Store for a tenant by each route; the facts that its own items bring."""
    with tenant.opened(run) as subject:
        facts = _plant_each(run, subject)
    with tenant.opened(run) as again:
        for fact in facts:
            _items_of(run, again, fact)
            yield fact
