"""Chapter 57: users and sessions, one after the other; see `side_by_side` and `ids` as well."""

import contextlib
import dataclasses
import functools
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from memproto.testing import wording
from memproto.testing.clauses import Inconclusive, Lost, NotApplicable, Untestable, check
from memproto.testing.conditions import Declared
from memproto.testing.evidence import Differs, Evidence, NotRecalled, Raised, Recalled, Wrote
from memproto.testing.facts import Fact
from memproto.testing.instruments import watchers
from memproto.testing.instruments.threads import together
from memproto.testing.lifetimes import store_files
from memproto.testing.needs import depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, HookWithdrawn, Subject
from memproto.testing.scenarios import (
    conversations,
    entries,
    mirrored_writes,
    smallest,
    tenants,
)
from memproto.testing.scenarios.smallest import Least
from memproto.testing.scenarios.tenants import Boundary, Reader, Tenant
from memproto.testing.wire import show


def _isolates(boundary: Boundary) -> Declared:
    """The provider declares that it keeps sides apart by the boundary."""
    return Declared(
        "isolates",
        ["profile"],
        any_of=(boundary,),
        otherwise=f"`isolates` does not name {boundary}",
    )


#: The optional keys of the configuration that the kit gives in all other checks.
_GIVEN = ("user_id", "agent_identity", "agent_context")


# -- one after the other ---------------------------------------------------------------------------


@check("MP-TENANT-001", declares=_isolates("user"), routes=routes.ROUTES)
def users_do_not_leak(run: Run) -> None:
    _do_not_leak(run, "user")


@check("MP-TENANT-002", declares=_isolates("session"), routes=routes.ROUTES)
def sessions_do_not_leak(run: Run) -> None:
    _do_not_leak(run, "session")


def _do_not_leak(run: Run, boundary: Boundary) -> None:
    one, other = tenants.pair(run, boundary)
    stored = {tenant.called: _store_by_each_route(run, tenant) for tenant in (one, other)}
    shown = {tenant.called: _show_in_passing(run, tenant) for tenant in (one, other)}
    # Nothing is stored between an owner's question and the same one of a guest: the answer that
    # the owner got may be kept ready.
    reader, missing = Reader(run), ""
    for owner in (one, other):
        missing = missing or _missing(run, reader, owner, stored[owner.called])
    guests = [(other, one), (one, other)]
    if boundary == "user":
        # A group chat is one session of several users.
        guests.append((dataclasses.replace(other, session=one.session), one))
    for guest, owner in guests:
        told = stored[owner.called] | shown[owner.called]
        _knows_nothing(run, reader, guest, owner, told)
    if missing:
        raise Lost(missing)


def _store_by_each_route(run: Run, tenant: Tenant) -> dict[str, Fact]:
    """Route to a fact that was stored by it, for each route that the provider serves."""
    planted = {route: run.facts.new() for route in routes.ROUTES if run.serves(route)}
    with tenant.opened(run) as subject:
        for route, fact in planted.items():
            run.plant(subject, fact, route)
        return planted | _store_about_the_user(run, subject)


def _show_in_passing(run: Run, tenant: Tenant) -> dict[str, Fact]:
    """Operation to a fact in messages that a session is handed by it, to be stored or not."""
    facts = {"compress": run.facts.new(), "end": run.facts.new()}
    with tenant.opened(run) as subject:
        for operation, call in (("compress", subject.compress), ("end", subject.end)):
            if subject.has(operation):
                said = conversations.talk(facts[operation])
                routes.in_passing(functools.partial(call, said))
    return facts


def _store_about_the_user(run: Run, subject: Subject) -> dict[str, Fact]:
    """The other target of mirrored writes is a store of its own in many providers."""
    added_to = mirrored_writes.targets(run, "add") if run.declared("mirrors", None) else []
    others = [target for target in added_to if target != run.writing.first[1]]
    if not run.binding.can_declare or not others:
        return {}
    fact = run.facts.new()
    try:
        subject.mirror("add", others[0], fact.text)
    except HookRaised as failure:
        if failure.is_report:
            return {}
        raise
    return {f"writes to {others[0]}": fact}


def _missing(run: Run, reader: Reader, owner: Tenant, stored: dict[str, Fact]) -> str:
    """Why nothing is proved where an owner does not get back what was stored for it; or ""."""
    for route, fact in stored.items():
        if reader.lacks(owner, [fact]):
            return f"{fact.text!r}, stored by {route} for {owner.called}, does not come back for it"
    return ""


def _knows_nothing(
    run: Run, reader: Reader, guest: Tenant, owner: Tenant, stored: dict[str, Fact]
) -> None:
    try:
        subject = guest.open(run)
    except tenants.Refused:
        # A provider that does not serve a second user does not mix two.
        return
    expected = f"nothing for {guest.called} of what was stored for {owner.called} on the same home"
    block = _prompt_block(subject)
    for route, fact in stored.items():
        by = f"{_hook(run, route)} stored for {owner.called}"
        for operation, shows in (
            ("recall", reader.finds(subject, fact)),
            ("prompt", fact.is_in(block)),
        ):
            if shows:
                run.violated(
                    Recalled(
                        wanted=expected,
                        texts=(fact.text,),
                        by=run.hook(operation),
                        of_whom=owner.called,
                        to_whom=guest.called,
                        lead=f"{run.hook(operation)} gives ",
                        tail=f", which {by}",
                    ),
                    operation=operation,
                )
    run.close(subject)


def _hook(run: Run, route: str) -> str:
    name = route.partition(" ")[0]
    return run.hook(routes.OPERATIONS.get(name, name))


def _prompt_block(subject: Subject) -> Any:
    """The block for the system prompt; None where there is none, or it raises."""
    if not subject.has("prompt"):
        return None
    try:
        return subject.call("prompt", subject.provider.system_prompt_block)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return None


# -- one user on several platforms -----------------------------------------------------------------


@check("MP-TENANT-007", routes=routes.ROUTES)
def a_user_stays_the_same(run: Run) -> None:
    route = run.route
    reader = Reader(run)
    for what, config in _appearances(run):
        lost = functools.partial(_lost_under, run, reader, config, route)
        if fault := losses.seen_again(lost):
            run.violated(
                fault.told(
                    wanted=(
                        "text that was stored for a user_id, recalled for the same user_id on "
                        "the same home"
                    ),
                    lead=f"with {what}, ",
                    tail="; with the same values on both sides it does",
                ),
            )


def _lost_under(run: Run, reader: Reader, config: dict[str, str], route: str) -> NotRecalled | None:
    """The facts lost between sessions with and without these values; None for nothing."""
    facts = run.facts.several(2)
    fault = _lost_between(run, reader, facts, config, route)
    alike = map(run.facts.like, facts)
    if fault and (same := _lost_between(run, reader, alike, {}, route)):
        raise Lost(f"with nothing changed {wording.observed(same)} as well")
    return fault


def _appearances(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """Values that may differ while the user is the same; each by itself, then all together."""
    differing = {"user_name": "Ida B.", "session_title": "Plans for the harbour"}
    if not run.binding.ids_by_platform:
        differing["platform"] = "telegram"
    for key, value in differing.items():
        yield f"{key} {value!r}", {key: value}
    yield "all of them together", differing


def _lost_between(
    run: Run, reader: Reader, facts: Iterable[Fact], config: dict[str, str], route: str
) -> NotRecalled | None:
    """The facts that a session with the values misses from one without, or the reverse."""
    here, there = (Tenant("the user", "", None, values) for values in ({}, config))
    for fact, (writer, asker) in zip(facts, ((here, there), (there, here)), strict=True):
        tenants.store(run, writer, [fact], route)
        if reader.lacks(asker, [fact]):
            side = "with" if writer is there else "without"
            about, verb = f"stored {side} it", "does not come back"
            return NotRecalled(texts=(fact.text,), about=about, verb=verb)
    return None


# -- optional keys ---------------------------------------------------------------------------------


@check("MP-TENANT-008", routes=routes.ROUTES)
def absent_keys_are_absent_for_both(run: Run) -> None:
    reader, refusals, sessions = Reader(run), [], [*_sessions_without()]
    given = Tenant("a session with all keys", run.session_key())
    for absent in sessions:
        tenant = Tenant("", run.session_key(), None, dict.fromkeys(absent))
        try:
            _comes_back_without(run, reader, tenant, given, absent)
        except tenants.Refused as reason:
            refusals.append(reason)
    if len(refusals) == len(sessions):
        raise NotApplicable(f"the provider says that it needs them: {refusals[0]}")


def _sessions_without() -> Iterator[tuple[str, ...]]:
    for key in _GIVEN:
        yield (key,)
    yield _GIVEN


def _comes_back_without(
    run: Run, reader: Reader, tenant: Tenant, given: Tenant, absent: tuple[str, ...]
) -> None:
    for route in (route for route in routes.ROUTES if run.serves(route)):
        lost = functools.partial(_lost_without, run, reader, tenant, given, route)
        if text := losses.seen_again(lost):
            run.violated(
                NotRecalled(
                    wanted=(
                        f"text that was stored without {_listed(absent)}, recalled without "
                        f"{_listed(absent)}"
                    ),
                    texts=(text,),
                    tail="; what was stored and asked for with all keys did",
                ),
            )


def _lost_without(run: Run, reader: Reader, tenant: Tenant, given: Tenant, route: str) -> str:
    """The text that the tenant does not get back while another does; "" for none."""
    fact = run.facts.new()
    other = run.facts.like(fact)
    tenants.store(run, tenant, [fact], route)
    if not reader.lacks(tenant, [fact]):
        return ""
    tenants.store(run, given, [other], route)
    if reader.lacks(given, [other]):
        raise Lost(f"nothing stored through {route} comes back with all keys either")
    return fact.text


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(keys)


@check("MP-TENANT-009", declares=_isolates("user"), routes=routes.ROUTES)
def nobody_is_nobody_else(run: Run) -> None:
    route = run.route
    if "user_id" in run.context.config:
        raise NotApplicable("the settings give a user_id to every session")
    one, other = tenants.pair(run, "user")
    # If two users are mixed, that it happens without one too says nothing new.
    tenants.keeps(run, "user", tenants.pair(run, "user", "-plain"), route)
    reader, facts = Reader(run), run.facts.several(2)
    for tenant, fact in zip((one, other), facts, strict=True):
        tenants.store(run, tenant, [fact], route)
        if reader.lacks(tenant, [fact]):
            raise Lost(f"nothing stored through {route} comes back for {tenant.called}")
    nobody = Tenant("a session without user_id", one.session, None, {"user_id": None})
    named = dataclasses.replace(
        nobody,
        called="a session without user_id whose user_name is the id of a user",
        config={**nobody.config, "user_name": one.config["user_id"]},
    )
    for tenant in (nobody, dataclasses.replace(nobody, session=other.session), named):
        _is_nobody(run, reader, tenant, dict(zip((one.called, other.called), facts, strict=True)))
    if not run.binding.ids_by_platform:
        _is_none_of_the_namesakes(run, reader, route)


#: Users whose ids are how an absent one is spelled when it is made a text. A word that a store
#: chose for nobody, such as `default`, is its own: no platform hands it out.
_NAMESAKES = ("None", "null")


def _is_none_of_the_namesakes(run: Run, reader: Reader, route: str) -> None:
    """A user may be called as a store calls the one who has no id."""
    home, key, facts = run.own_home("namesakes"), run.session_key(), dict[str, Fact]()
    for name in _NAMESAKES:
        plain, fact = tenants.of(run, "user", name, home), run.facts.new()
        tenant = dataclasses.replace(plain, session=key)
        try:
            tenants.store(run, tenant, [fact], route)
        except tenants.Refused:
            continue
        if not reader.lacks(tenant, [fact]):
            facts[tenant.called] = fact
    nobody = Tenant("a session without user_id", key, home, {"user_id": None})
    _is_nobody(run, reader, nobody, facts)


def _is_nobody(run: Run, reader: Reader, nobody: Tenant, facts: Mapping[str, Fact]) -> None:
    try:
        subject = nobody.open(run)
    except tenants.Refused:
        return
    for owner, fact in facts.items():
        if reader.finds(subject, fact):
            run.violated(
                Recalled(
                    wanted=f"for {nobody.called} nothing of what was stored for {owner}",
                    texts=(fact.text,),
                    answer=show(routes.recalled(subject, fact.query)),
                    question=fact.query,
                    by=run.hook("recall"),
                    of_whom=owner,
                    to_whom=nobody.called,
                    lead=f"{run.hook('recall')} gives ",
                ),
                operation="recall",
            )
    run.close(subject)


# -- ids -------------------------------------------------------------------------------------------

# Chapter 57: ids are any text, and different ones stay different.


_LONG_CHARS = 10_000

#: An id of this length is nowhere too long.
_SHORT_CHARS = 20

#: Description of an odd id, as it completes "for ...", to the id.
_ODD = {
    "a path upwards": "../../x",
    "a path of Windows": "C:\\x",
    "the parent directory": "..",
    "this directory": ".",
    "a dot at the end": "harbour.",
    "a space at the end": "harbour ",
    "a single space": " ",
    f"{_LONG_CHARS:,} characters": "x" * _LONG_CHARS,
    "a NUL": "harbour\x00master",
    "an emoji": "harbour-\U0001f6a2",
    "a device name of Windows": "CON",
    "an encoded path": "%2e%2e%2fx",
    "half a surrogate pair": "harbour-\ud83d",
    "a line break": "harbour\nmaster",
    "a quotation mark": "o'harbour\"; --",
    "the word None": "None",
}

#: User ids as platforms of a Hermes host give them. Some are chosen by the sender.
_PLATFORM_USERS = {
    "an address with an apostrophe": "o'neil+harbour@mail.example",
    "an address with a slash": "harbour/north@mail.example",
    "an address in quotation marks": '"../../harbour"@mail.example',
    "a Matrix id": "@ida:harbour.example",
    "a resource name": "users/117029184630",
    "a phone number": "+4915112345678",
    "a chat id below zero": "-1001234567890",
    "a nickname with a backslash": "ida\\away|",
    "an id in base64": "29:1tWx_Kk/9z+Q==",
}

#: A Hermes host makes session ids itself, and lets no separator into them.
_HOST_SESSIONS = ("20260314_092653_5f8a1c", "cron_ev-report_20260314_0926")

#: Half a surrogate pair.
_HALF = re.compile("[\ud800-\udfff]")

#: Ids that a careless name makes one of; `{}` is a part that no other check uses.
_FAMILIES = {
    "a separator": ("{}/n", "{}_n", "{} n", "{}:n", "{}-n", "{}.n", "{}\\n", "{}%2Fn"),
    "upper case": ("{}-north", "{}-North"),
    "text that follows 100 characters": ("{}" + "n" * 120 + "1", "{}" + "n" * 120 + "2"),
    "text that follows 255 characters": ("{}" + "n" * 300 + "1", "{}" + "n" * 300 + "2"),
    "how an accent is written": ("{}-caf\u00e9", "{}-cafe\u0301"),
    "a space or a dot at the end": ("{}", "{} ", "{}."),
    "letters beyond ASCII": ("{}-\u6e2f", "{}-\u5c71"),
    "half a surrogate pair, or a character that is not shown": (
        *("{}-\ud83d", "{}-?", "{}-\ufffd"),
        *("{}-", "{}-\u200b"),
    ),
    "text that follows a NUL": ("{}\x00north", "{}\x00south"),
    "a sign in front": ("{}", "-{}", "+{}"),
    "how a number is written": ("{number}", "0{number}", "+{number}", "-{number}"),
    "text in the middle of 400 characters": (
        "{}" + "n" * 200 + "1" + "n" * 200,
        "{}" + "n" * 200 + "2" + "n" * 200,
    ),
    "a sign that patterns have": ("{}-x", "{}-?", "{}-*", "{}-%", "{}-[x]"),
    "text in front of 300 characters": ("1" + "n" * 300 + "{}", "2" + "n" * 300 + "{}"),
}

#: Separators that stand in ids, and by which a key is made of two.
_SEPARATORS = (":", "/", "-", "_")

_PLATFORM_USER_FAMILIES = {
    "a separator": (
        "{}.berg@mail.example",
        "{}-berg@mail.example",
        "{}_berg@mail.example",
        "{}+berg@mail.example",
        "{}/berg@mail.example",
    ),
    "where the name ends": ("@{}:berg.example", "@{}.berg:example"),
    "a sign in front": ("{}", "-{}"),
    "a sign in front of a number": ("{number}", "-{number}"),
}

_HOST_SESSION_FAMILIES = {"the last character": ("{}-5f8a1c2e", "{}-5f8a1c2f")}


# -- any id ----------------------------------------------------------------------------------------


@check("MP-TENANT-004", budget_s=240.0, routes=routes.ROUTES)
def any_id_is_accepted(run: Run) -> None:
    route = run.route
    if fault := _fault(run, "plain", {}, route):
        raise _plain_fault("with plain ids", fault)
    trials = [*_trials(run)]
    found = [item for item in trials if _fault(run, item[0], item[1], route)]
    if not found:
        return
    another = {"user_id": f"{run.config()['user_id']}-otto"}
    if fault := _fault(run, "another plain id", another, route):
        raise _plain_fault("with another plain id", fault)
    told = f"{len(found)} of {len(trials)} ids failed"
    for name, ids in found:
        narrow, fault = _narrowed(run, name, ids, route)
        if fault:
            keys = " and ".join(narrow)
            told_of = fault.told(
                wanted=(
                    f"any text as {keys} is accepted by {run.hook('open')}, and what is stored "
                    "under it comes back under it"
                ),
                lead=f"for {name}, {show(next(iter(narrow.values())), 60)}: ",
                tail=f"; {told}",
            )
            least = _least_id(run, narrow, fault, route)
            run.violated(least.told(told_of) if least else told_of)
    raise Inconclusive(f"{told} once and not again, {found[0][0]} among them")


def _trials(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """The oddity of a session's ids, and the ids: all three at once, which is quick."""
    if not run.binding.ids_by_platform:
        for name, odd in _ODD.items():
            yield name, dict.fromkeys(("session key", "user_id", "agent_identity"), odd)
        return
    for name, odd in _PLATFORM_USERS.items():
        yield name, {"user_id": odd}
    for odd in _HOST_SESSIONS:
        yield "a session id", {"session key": odd}


def _plain_fault(ids: str, fault: Evidence) -> Untestable:
    """The error of a check whose plain ids meet the fault as well."""
    error = Lost if isinstance(fault, NotRecalled) else Untestable
    return error(f"{ids}: {wording.observed(fault)}")


def _least_id(run: Run, ids: dict[str, str], fault: Evidence, route: str) -> Least | None:
    """The length from which on such ids fail in the same way, of ids that are long."""
    known = min(map(len, ids.values()))
    if known < _LONG_CHARS:
        return None

    def fails(chars: int) -> bool:
        cut = {key: odd[:chars] for key, odd in ids.items()}
        return isinstance(_fault(run, f"{chars} characters", cut, route), type(fault))

    return smallest.of_length(run, known, _SHORT_CHARS, fails)


def _narrowed(
    run: Run, name: str, ids: dict[str, str], route: str
) -> tuple[dict[str, str], Evidence | None]:
    """The one id with which it fails by itself, or all of them; and what happens."""
    for key, odd in ids.items():
        if fault := _fault(run, f"{name} as {key}", {key: odd}, route):
            return {key: odd}, fault
    return ids, _fault(run, f"{name} again", ids, route)


def _fault(run: Run, name: str, ids: Mapping[str, str], route: str) -> Evidence | None:
    """The fault in a session with these ids and in a second one; None for nothing."""
    fact, tenant = run.facts.new(), tenants.named(run, name, ids)
    try:
        with run.session(tenant.home, tenant.session, **tenant.config) as subject:
            routes.plant(subject, fact, route)
        with run.session(tenant.home, tenant.session, **tenant.config) as again:
            came_back = losses.is_shown(run, again, fact)
    except HookRaised as failure:
        if failure.ends_process or isinstance(failure, Untestable):
            raise
        hook = run.hook(failure.operation)
        return Raised.by(failure.error, hook=hook, who=hook)
    except HookWithdrawn:
        raise
    except Untestable as refusal:
        return Differs(seen=str(refusal))
    if came_back:
        return None
    return NotRecalled(texts=(fact.text,), subject="text that was stored")


# -- different ids ---------------------------------------------------------------------------------


@check("MP-TENANT-006", budget_s=300.0, routes=routes.ROUTES, parts=4)
def different_ids_stay_different(run: Run) -> None:
    route = run.route
    refusals = []
    families = _families(run)
    for boundary, rows in families.items():
        try:
            plain = tenants.pair(run, boundary)
            apart = _both(plain) if tenants.keeps(run, boundary, plain, route) else ""
            for number, (what, names) in run.of_part(enumerate(rows.items())):
                home = run.own_home(f"{boundary}-{number}")
                members = [tenants.of(run, boundary, name, home) for name in names]
                _Family(run, members, f"differ in {what}", apart).judge(route)
            _both_keep_equal_texts(run, tenants.pair(run, boundary, "-alike"), route)
        except tenants.Refused as reason:
            refusals.append(reason)
    if len(refusals) == len(families):
        raise refusals[0]
    if {"user", "session"} <= set(run.declared("isolates", [])) and not run.binding.ids_by_platform:
        for number, separator in run.of_part(enumerate(_SEPARATORS)):
            _joined(run, number, separator).judge(route)


def _joined(run: Run, number: int, separator: str) -> "_Family":
    """A user and a session each, whose ids are the same when a separator joins them."""
    base, home = run.session_key(), run.own_home(f"joined-{number}")
    parts = ((f"{base}{separator}north", "south"), (base, f"north{separator}south"))
    members = [
        Tenant(f"user_id {user!r} in the session {key!r}", key, home, {"user_id": user})
        for user, key in parts
    ]
    return _Family(run, members, "are the same where they are joined", "two plain ids of each kind")


def _both_keep_equal_texts(run: Run, pair: list[Tenant], route: str) -> None:
    """Two say the same, word for word, and each of them is to have it."""
    lost = functools.partial(_lost_of_equal_texts, run, pair, route)
    if fault := losses.seen_again(lost):
        run.violated(fault.told(wanted="a text that two ids stored, recalled for each of them"))


def _lost_of_equal_texts(run: Run, pair: list[Tenant], route: str) -> NotRecalled | None:
    equal, *other = run.facts.several(3)
    for tenant in pair:
        tenants.store(run, tenant, [equal], route)
    reader = Reader(run)
    missing = [tenant for tenant in pair if reader.lacks(tenant, [equal])]
    if not missing:
        return None
    for tenant, fact in zip(pair, other, strict=True):
        tenants.store(run, tenant, [fact], route)
        if reader.lacks(tenant, [fact]):
            raise Lost(f"a text of its own does not come back for {tenant.called} either")
    others = [tenant.called for tenant in pair if tenant not in missing]
    return NotRecalled(
        texts=(equal.text,),
        about=f"stored for {missing[0].called}",
        verb="does not come back",
        tail=f" for it, which {' and '.join(others) or 'the other one'} has stored as well",
    )


def _families(run: Run) -> dict[Boundary, dict[str, list[str]]]:
    """For users and for sessions: what tells ids apart, and ids that are the same but for it."""
    templates: dict[Boundary, Mapping[str, tuple[str, ...]]] = {
        "user": _PLATFORM_USER_FAMILIES,
        "session": _HOST_SESSION_FAMILIES,
    }
    if not run.binding.ids_by_platform:
        templates = {"user": _FAMILIES, "session": _FAMILIES}
    bases = {"user": str(run.config()["user_id"]), "session": run.session_key()}
    return {
        boundary: {
            what: _arriving(run, [_filled(form, bases[boundary]) for form in rows[what]])
            for what in rows
        }
        for boundary, rows in templates.items()
    }


def _filled(form: str, base: str) -> str:
    """The id of that form; `number` is one that no other check uses."""
    return form.format(base, number=zlib.crc32(base.encode()))


def _arriving(run: Run, ids: list[str]) -> list[str]:
    """Ids as the provider gets them, each once: it cannot tell apart what arrives as one."""
    if run.binding.carries_halves:
        return ids
    return list(dict.fromkeys(_HALF.sub("\ufffd", one) for one in ids))


def _both(pair: list[Tenant]) -> str:
    return " and ".join(tenant.called for tenant in pair)


class _Family:
    """
    Tenants whose ids are nearly the same, each with a fact of its own.

    An id that does not work by itself is left out: that is for MP-TENANT-004.
    """

    def __init__(self, run: Run, members: list[Tenant], differ: str, apart: str) -> None:
        self._run = run
        self._differ = differ
        self._apart = apart
        self._reader = Reader(run)
        self._members = members
        self._told: list[tuple[Tenant, Fact]] = []

    def judge(self, route: str) -> None:
        """Store for one after the other; then ask each for its own and, if kept, for the rest."""
        if seen := losses.seen_again(functools.partial(self._lost, route)):
            self._run.violated(
                seen.told(
                    wanted=(
                        f"text stored for each of {len(self._told)} ids that {self._differ}, "
                        "recalled for it"
                    ),
                ),
            )

    def _lost(self, route: str) -> NotRecalled | None:
        """The facts that one of them does not get back, though it gets back a fact of its own."""
        told = [(member, self._run.facts.new()) for member in self._members]
        self._told = [row for row in told if self._stores(*row, route)]
        lost = [row for row in self._told if self._reader.lacks(row[0], [row[1]])]
        for member, _ in self._told if self._apart else []:
            self._gets_nothing(member)
        for member, fact in lost:
            if self._keeps_as_many(member, fact, route):
                others = [other.called for other, _ in self._told if other is not member]
                return NotRecalled(
                    texts=(fact.text,),
                    about=f"stored for {member.called}",
                    verb="does not come back",
                    tail=f" for it after sessions with {', '.join(others)}",
                )
        return None

    def _stores(self, member: Tenant, fact: Fact, route: str) -> bool:
        try:
            tenants.store(self._run, member, [fact], route)
            self._run.close(member.open(self._run))
        except tenants.Refused:
            return False
        except HookRaised as failure:
            if failure.ends_process or isinstance(failure, Untestable):
                raise
            return False
        return True

    def _keeps_as_many(self, member: Tenant, fact: Fact, route: str) -> bool:
        """True if such a fact comes back for one that stored it among all the others itself."""
        alike = {told: self._run.facts.like(told) for _, told in self._told}
        kept = [self._stores(member, other, route) for other in alike.values()]
        return all(kept) and not self._reader.lacks(member, [alike[fact]])

    def _gets_nothing(self, member: Tenant) -> None:
        with member.opened(self._run) as subject:
            for owner, fact in self._told:
                if owner is not member and self._reader.finds(subject, fact):
                    recall = self._run.hook("recall")
                    self._run.violated(
                        Recalled(
                            wanted=f"{_both([member, owner])} kept apart, as {self._apart} are",
                            texts=(fact.text,),
                            by=recall,
                            of_whom=owner.called,
                            to_whom=member.called,
                            lead=f"{recall} for {member.called} gives ",
                            tail=f", which was stored for {owner.called}",
                        ),
                    )


# -- ids outside -----------------------------------------------------------------------------------

# Chapter 57: ids that read as paths, and where a session leaves what was said in it.


@check("MP-TENANT-005", budget_s=120.0)
def no_id_leads_out_of_the_home(run: Run) -> None:
    usual = _usual(run)
    for key, odd in _leading_out(run):
        tenant = _deep(tenants.named(run, f"{key} {odd}", {key: odd}))
        for path in _outside(run, tenant):
            if not any(path.is_relative_to(place) for place in usual):
                seen = os.path.relpath(path, tenant.home or run.home)
                run.violated(
                    Wrote(
                        wanted=("text stored lies below the home, or where it does for a plain id"),
                        paths=(seen,),
                        lead=f"with the {key} {show(odd, 100)} it is in ",
                        tail=", seen from the home",
                    ),
                )
    run.needs_route(*routes.ROUTES)


def _usual(run: Run) -> set[Path]:
    """Directories outside of the home in which two sessions with plain ids leave stored text."""
    others = dict.fromkeys(("user_id", "agent_identity", "session key"), f"plain-{run.tag}")
    plain, other = (
        _outside(run, _deep(tenants.named(run, name, ids)))
        for name, ids in (("plain", {}), ("another plain", others))
    )
    return {path.parent for path in [*plain, *other]} | set(_shared(plain, other))


def _shared(plain: list[Path], other: list[Path]) -> Iterator[Path]:
    """The folder with a file of each: the provider's own directory, where every id has a place."""
    for path in plain if other else ():
        above = [Path(os.path.commonpath([path, one])) for one in other]
        nearest = max(above, key=lambda place: len(place.parts))
        if nearest.is_relative_to(Path.home()) and nearest != Path.home():
            yield nearest


def _deep(tenant: Tenant) -> Tenant:
    """The tenant with a home so deep that a few steps upwards end where the kit looks."""
    home = tenant.home / "a" / "b" / "c" if tenant.home else None
    return dataclasses.replace(tenant, home=home)


def _leading_out(run: Run) -> Iterator[tuple[str, str]]:
    """Key to an id that reads as a path; where it leads is inside the check's own directory."""
    if run.binding.ids_by_platform:
        for steps in (2, 3):
            yield "user_id", f'"/{"../" * steps}stray"@mail.example'
        return
    elsewhere = str(run.root / "stray")
    for key in ("session key", "user_id", "agent_identity"):
        for odd in ("../stray", "../../stray", "../../../stray", "n/../../../stray", elsewhere):
            yield key, odd


def _outside(run: Run, tenant: Tenant) -> list[Path]:
    """Files outside of the home that a session wrote, and that hold what was said in it."""
    facts = {route: run.facts.new() for route in routes.ROUTES}
    before = watchers.tree(run.root)
    listed: list[Path] = []
    try:
        listed = _live(run, tenant, facts)
    except tenants.Refused:
        # MP-TENANT-004 judges that an id is refused, or that a hook raises for it.
        return []
    except HookRaised as failure:
        if failure.ends_process:
            raise
    places = [(tenant.home or run.home).resolve(), *listed]
    after = watchers.tree(run.root)
    written = [Path(name).resolve() for name, state in after.items() if before.get(name) != state]
    strays = [path for path in written if not any(map(path.is_relative_to, places))]
    return [path for path in strays if store_files.holds(path, [*facts.values()])]


def _live(run: Run, tenant: Tenant, facts: Mapping[str, Fact]) -> list[Path]:
    """A session that stores the facts; gives the places that it lists for backups."""
    with tenant.opened(run) as subject:
        for route, fact in facts.items():
            if route != "tools" or subject.has("tools"):
                with contextlib.suppress(Untestable):
                    routes.plant(subject, fact, route)
        routes.in_passing(lambda: subject.recall(facts["turns"].query))
        named = subject.backup_paths() if subject.has("backup") else []
    texts = named if isinstance(named, list) else []
    listed = [text for text in texts if isinstance(text, str) and "\0" not in text]
    return [Path(text).expanduser().resolve() for text in listed]


# -- side by side ----------------------------------------------------------------------------------

# Chapter 57: users, sessions and profiles that are open at the same time.


#: Number of facts that each of two stores by turns, and of those at the same time as the other.
_BY_TURNS, _AT_ONCE = 2, 6

#: Times that a loss is looked for with nothing beside it.
_TRIES = 3


@check("MP-TENANT-003", budget_s=180.0, routes=routes.ROUTES)
def tenants_at_the_same_time_do_not_cross(run: Run) -> None:
    route = run.route
    refusals, tried = [], False
    for boundary in _several_at_a_time(run):
        try:
            kept = tenants.keeps(run, boundary, tenants.pair(run, boundary, "-alone"), route)
            if kept:
                if boundary == "profile":
                    _one_home_beside_another(run, route)
                pair = _pair_in_two_sessions(run, boundary)
                _Beside(run, pair, route, boundary).live()
            tried |= kept
        except tenants.Refused as reason:
            refusals.append(reason)
    if not tried:
        raise refusals[0] if refusals else NotApplicable("no two ids are kept apart on one home")


def _several_at_a_time(run: Run) -> list[Boundary]:
    """The boundaries of which two sides may be open at once."""
    one_home: list[Boundary] = ["user", "session"]
    if run.declared("single_writer", default=False):
        one_home = []
    return ["profile", *one_home] if run.binding.own_homes else one_home


def _one_home_beside_another(run: Run, route: str) -> None:
    """Leave to MP-ISO-001 what it finds: a home that shows what is stored in one beside it."""
    fact, (one, other) = run.facts.new(), tenants.pair(run, "profile", "-beside")
    with one.opened(run) as first, other.opened(run) as second:
        run.plant(first, fact, route)
        if fact.is_in(routes.recalled(second, fact.query)):
            raise Untestable(
                f"{other.called} shows what {one.called} is told", depends_on("MP-ISO-001")
            )


def _pair_in_two_sessions(run: Run, boundary: Boundary) -> list[Tenant]:
    """No host has one session open twice at a time, whoever its users are."""
    pair = tenants.pair(run, boundary)
    if boundary != "user":
        return pair
    return [dataclasses.replace(t, session=f"{t.session}-{n}") for n, t in enumerate(pair)]


class _Beside:
    """Two instances that are open at the same time, and what each of them is told."""

    def __init__(self, run: Run, pair: list[Tenant], route: str, boundary: Boundary) -> None:
        self._run = run
        self._pair = pair
        self._route = route
        self._boundary = boundary
        self._reader = Reader(run)
        self._facts = [run.facts.several(_BY_TURNS + _AT_ONCE) for _ in pair]

    def live(self) -> None:
        """Use both by turns and then at once, and ask each for its own and for the other's."""
        earlier = self._run.facts.new()
        tenants.store(self._run, self._pair[0], [earlier], self._route)
        with self._pair[0].opened(self._run) as one, self._pair[1].opened(self._run) as other:
            both = (one, other)
            has_earlier = self._reader.sees(one, earlier)
            for number in range(_BY_TURNS):
                self._exchange(both, number)
            raised = together(self._conversation(0, one), self._conversation(1, other))
        for side in (0, 1):
            self._look_at(side, raised[side])
        if not has_earlier:
            self._is_hidden(earlier)
        lost = [self._reader.lacks(*row) for row in zip(self._pair, self._facts, strict=True)]
        for guest, tenant in enumerate(self._pair):
            with tenant.opened(self._run) as subject:
                self._gets_nothing(guest, subject, self._facts[1 - guest])
        for side in (0, 1):
            if lost[side]:
                self._is_lost(side, lost[side])

    def _is_hidden(self, earlier: Fact) -> None:
        """A text of an earlier session did not come back behind the other one's start."""
        owner, other = self._pair
        with owner.opened(self._run) as alone:
            if not self._reader.sees(alone, earlier):
                raise Lost(f"{earlier.text!r} does not come back for {owner.called} alone either")
        with owner.opened(self._run) as again, other.opened(self._run):
            if self._reader.sees(again, earlier):
                return
        self._run.violated(
            NotRecalled(
                wanted=(
                    f"what an earlier session stored for {owner.called} recalled while a session "
                    f"for {other.called} is open, which began later"
                ),
                texts=(earlier.text,),
                tail=", and does while none is",
            ),
            operation="open",
        )

    def _exchange(self, both: tuple[Subject, Subject], number: int) -> None:
        for side, subject in enumerate(both):
            self._run.plant(subject, self._facts[side][number], self._route)
        for side, subject in enumerate(both):
            self._gets_nothing(side, subject, [self._facts[1 - side][number]])
            self._is_shown_nothing(side, subject, self._facts[1 - side][number])

    def _conversation(self, side: int, subject: Subject) -> Callable[[], None]:
        def speak() -> None:
            own, foreign = (self._facts[i][_BY_TURNS:] for i in (side, 1 - side))
            for fact, asked in zip(own, foreign, strict=True):
                self._run.plant(subject, fact, self._route)
                self._gets_nothing(side, subject, [asked])

        return speak

    def _gets_nothing(self, guest: int, subject: Subject, facts: list[Fact]) -> None:
        called, owner = self._pair[guest].called, self._pair[1 - guest].called
        for fact in facts:
            if self._reader.finds(subject, fact):
                recall = self._run.hook("recall")
                self._run.violated(
                    Recalled(
                        wanted=(
                            f"nothing for {called} of what is stored for {owner} while both "
                            "are open, "
                            "as one after the other"
                        ),
                        texts=(fact.text,),
                        by=recall,
                        of_whom=owner,
                        to_whom=called,
                        lead=f"{recall} for {called} gives ",
                        tail=f", which was stored for {owner}",
                    ),
                    operation="recall",
                )

    def _is_shown_nothing(self, guest: int, subject: Subject, fact: Fact) -> None:
        """The same of the items of recall and of an export."""
        called, owner = self._pair[guest].called, self._pair[1 - guest].called
        # A boundary between sessions bounds recall; the scope {} selects all of them.
        by_session = self._boundary == "session"
        scope = {"session_id": self._pair[guest].session} if by_session else {}
        reads: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "items": lambda: entries.items(subject, fact.query),
            "privacy": lambda: entries.exported(subject, scope) or [],
        }
        for extension, read in reads.items():
            if entries.served(self._run, extension) and entries.of_fact(read(), fact):
                hook = "recall_items" if extension == "items" else "export"
                self._run.violated(
                    Recalled(
                        wanted=f"nothing for {called} of what is stored for {owner} while both "
                        "are open, as one after the other",
                        texts=(fact.text,),
                        by=hook,
                        of_whom=owner,
                        to_whom=called,
                        lead=f"{hook} for {called} gives ",
                        tail=f", which was stored for {owner}",
                    ),
                    operation="recall",
                )

    def _look_at(self, side: int, raised: BaseException | None) -> None:
        """Raise again what a conversation raised, if it does not when it is held alone."""
        if raised is None:
            return
        if isinstance(raised, HookRaised) and self._fails_alone(self._pair[side]):
            raise Untestable(f"with one session alone on another thread as well: {raised}")
        raise raised

    def _fails_alone(self, tenant: Tenant) -> bool:
        """True if the same number of facts is lost, or a hook raises, with nothing beside it."""
        facts = self._run.facts.several(_BY_TURNS + _AT_ONCE)
        with tenant.opened(self._run) as subject:
            for fact in facts[:_BY_TURNS]:
                self._run.plant(subject, fact, self._route)
            raised = together(lambda: self._plant_all(subject, facts[_BY_TURNS:]))
        return raised != [None] or bool(self._reader.lacks(tenant, facts))

    def _plant_all(self, subject: Subject, facts: list[Fact]) -> None:
        for fact in facts:
            self._run.plant(subject, fact, self._route)

    def _is_lost(self, side: int, lost: list[Fact]) -> None:
        tenant, facts = self._pair[side], self._facts[side]
        # If rank decides which facts come back, one try may lack some and the next one none.
        if any(self._fails_alone(tenant) for _ in range(_TRIES)):
            raise Lost(f"of {len(facts)} facts of one session alone some are lost as well")
        self._run.violated(
            NotRecalled(
                wanted=(
                    f"text that is stored for {tenant.called} while {self._pair[1 - side].called} "
                    "is open, "
                    "recalled as what is stored while it is not"
                ),
                texts=tuple(fact.text for fact in lost),
                of=len(facts),
            ),
            operation=routes.OPERATIONS[self._route],
        )
