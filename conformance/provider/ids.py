"""Chapter 57: ids are any text, and different ones stay different."""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memproto.testing import losses, repeating, routes, tenants, watchers
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, HookWithdrawn
from memproto.testing.tenants import Boundary, Reader, Tenant
from memproto.testing.wire import show

_LONG_CHARS = 10_000

#: Of a larger file only so many bytes are searched.
_SEARCHED_BYTES = 50_000_000

#: What it is to the id, as it completes "for ...".
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
_HERMES_USERS = {
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
_HERMES_SESSIONS = ("20260314_092653_5f8a1c", "cron_ev-report_20260314_0926")

#: Ids that a careless name makes one of; `{}` is a part that no other check uses.
_FAMILIES = {
    "a separator": ("{}/n", "{}_n", "{} n", "{}:n", "{}-n", "{}.n", "{}\\n", "{}%2Fn"),
    "upper case": ("{}-north", "{}-North"),
    "what follows 100 characters": ("{}" + "n" * 120 + "1", "{}" + "n" * 120 + "2"),
    "what follows 255 characters": ("{}" + "n" * 300 + "1", "{}" + "n" * 300 + "2"),
    "how an accent is written": ("{}-caf\u00e9", "{}-cafe\u0301"),
    "a space or a dot at the end": ("{}", "{} ", "{}."),
    "letters beyond ASCII": ("{}-\u6e2f", "{}-\u5c71"),
    "half a surrogate pair": ("{}-\ud83d", "{}-?", "{}-\ufffd"),
    "what follows a NUL": ("{}\x00north", "{}\x00south"),
}

_HERMES_USER_FAMILIES = {
    "a separator": (
        "{}.berg@mail.example",
        "{}-berg@mail.example",
        "{}_berg@mail.example",
        "{}+berg@mail.example",
        "{}/berg@mail.example",
    ),
    "where the name ends": ("@{}:berg.example", "@{}.berg:example"),
}

_HERMES_SESSION_FAMILIES = {"the last character": ("{}-5f8a1c2e", "{}-5f8a1c2f")}


# -- any id ----------------------------------------------------------------------------------------


@check("MP-TENANT-004", budget_s=240.0)
def any_id_is_accepted(run: Run) -> None:
    route = run.needs_route(*routes.ROUTES)
    if fault := _fault(run, "plain", {}, route):
        raise Untestable(f"with plain ids: {fault}")
    trials = [*_trials(run)]
    found = [item for item in trials if _fault(run, item[0], item[1], route)]
    if not found:
        return
    another = {"user_id": f"{run.config()['user_id']}-otto"}
    if fault := _fault(run, "another plain id", another, route):
        raise Untestable(f"with another plain id: {fault}")
    name, ids = found[0]
    keys, fault = _narrowed(run, name, ids, route)
    run.violated(
        f"any text as {keys} is accepted by {run.hook('open')}, and what is stored under it "
        "comes back under it",
        f"for {name}, {show(next(iter(ids.values())), 60)}: {fault}; "
        f"{len(found)} of {len(trials)} ids failed",
    )


def _trials(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """What is odd about the ids of a session, and the ids: all three at once, which is quick."""
    if run.binding == "native":
        for name, odd in _ODD.items():
            yield name, dict.fromkeys(("session key", "user_id", "agent_identity"), odd)
        return
    for name, odd in _HERMES_USERS.items():
        yield name, {"user_id": odd}
    for odd in _HERMES_SESSIONS:
        yield "a session id", {"session key": odd}


def _narrowed(run: Run, name: str, ids: dict[str, str], route: str) -> tuple[str, str]:
    """The one key with which it fails by itself, or all of them; and what happens."""
    for key, odd in ids.items():
        if fault := _fault(run, f"{name} as {key}", {key: odd}, route):
            return key, fault
    return " and ".join(ids), _fault(run, f"{name} again", ids, route)


def _fault(run: Run, name: str, ids: Mapping[str, str], route: str) -> str:
    """What goes wrong in a session with these ids and in a second one; "" for nothing."""
    fact, tenant = run.facts.new(), _named(run, name, ids)
    try:
        with run.session(tenant.home, tenant.session, **tenant.config) as subject:
            routes.plant(subject, fact, route)
        with run.session(tenant.home, tenant.session, **tenant.config) as again:
            came_back = losses.is_shown(run, again, fact)
    except HookRaised as failure:
        if failure.ends_process or isinstance(failure, Untestable):
            raise
        return f"{run.hook(failure.operation)} raised {show(failure.error)}"
    except HookWithdrawn:
        raise
    except Untestable as refusal:
        return str(refusal)
    return "" if came_back else "what was stored did not come back"


def _named(run: Run, name: str, ids: Mapping[str, str]) -> Tenant:
    """A tenant with these ids, and where it can be in a home of its own: there may be one user."""
    config = {key: value for key, value in ids.items() if key != "session key"}
    place = "".join(letter if letter.isalnum() else "-" for letter in name)
    home = run.place(f"for-{place}") if run.binding == "native" else None
    return Tenant(name, ids.get("session key") or run.session_key(), home, config)


# -- places ----------------------------------------------------------------------------------------


@check("MP-TENANT-005", budget_s=120.0)
def no_id_leads_out_of_the_home(run: Run) -> None:
    usual = {path.parent for path in _outside(run, _deep(_named(run, "plain", {})))}
    for key, odd in _leading_out(run):
        tenant = _deep(_named(run, f"{key} {odd}", {key: odd}))
        for path in _outside(run, tenant):
            if not any(path.is_relative_to(place) for place in usual):
                seen = os.path.relpath(path, tenant.home or run.home)
                run.violated(
                    "what is stored lies below the home, or where it does for a plain id",
                    f"with the {key} {show(odd, 100)} it is in {seen}, seen from the home",
                )
    run.needs_route(*routes.ROUTES)


def _deep(tenant: Tenant) -> Tenant:
    """The tenant with a home so deep that a few steps upwards end where the kit looks."""
    home = tenant.home / "a" / "b" / "c" if tenant.home else None
    return dataclasses.replace(tenant, home=home)


def _leading_out(run: Run) -> Iterator[tuple[str, str]]:
    """Key to an id that reads as a path; where it leads is inside the check's own directory."""
    if run.binding != "native":
        for steps in (2, 3):
            yield "user_id", f'"/{"../" * steps}stray"@mail.example'
        return
    elsewhere = str(run.root / "work" / "stray")
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
        # That an id is refused, or that a hook raises for it, is for MP-TENANT-004.
        return []
    except HookRaised as failure:
        if failure.ends_process:
            raise
    places = [(tenant.home or run.home).resolve(), *listed]
    after = watchers.tree(run.root)
    written = [Path(name).resolve() for name, state in after.items() if before.get(name) != state]
    words = [word.lower().encode() for fact in facts.values() for word in fact.name.split()]
    strays = [path for path in written if not any(map(path.is_relative_to, places))]
    return [path for path in strays if _holds(path, words)]


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


def _holds(path: Path, words: list[bytes]) -> bool:
    try:
        with path.open("rb") as file:
            data = file.read(_SEARCHED_BYTES).lower()
    except OSError:
        return False
    return any(word in data for word in words)


# -- different ids ---------------------------------------------------------------------------------


@check("MP-TENANT-006", budget_s=300.0)
def different_ids_stay_different(run: Run) -> None:
    route = run.needs_route(*routes.ROUTES)
    refusals = []
    families = _families(run)
    for boundary, rows in families.items():
        try:
            plain = tenants.pair(run, boundary)
            apart = _both(plain) if tenants.keeps(run, boundary, plain, route) else ""
            for number, (what, names) in enumerate(rows.items()):
                home = run.place(f"{boundary}-{number}") if run.binding == "native" else None
                members = [tenants.of(run, boundary, name, home) for name in names]
                _Family(run, members, f"differ in {what}", apart).judge(route)
        except tenants.Refused as reason:
            refusals.append(reason)
    if len(refusals) == len(families):
        raise refusals[0]


def _families(run: Run) -> dict[Boundary, dict[str, list[str]]]:
    """For users and for sessions: what tells ids apart, and ids that are the same but for it."""
    templates: dict[Boundary, Mapping[str, tuple[str, ...]]] = {
        "user": _HERMES_USER_FAMILIES,
        "session": _HERMES_SESSION_FAMILIES,
    }
    if run.binding == "native":
        templates = {"user": _FAMILIES, "session": _FAMILIES}
    bases = {"user": str(run.config()["user_id"]), "session": run.session_key()}
    return {
        boundary: {what: [form.format(bases[boundary]) for form in rows[what]] for what in rows}
        for boundary, rows in templates.items()
    }


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
        if observed := repeating.seen_again(functools.partial(self._lost, route)):
            self._run.violated(
                f"what was stored for each of {len(self._told)} ids that {self._differ}, "
                "recalled for it",
                observed,
            )

    def _lost(self, route: str) -> str:
        """What one of them does not get back, that does so with a fact of its own; or ""."""
        told = [(member, self._run.facts.new()) for member in self._members]
        self._told = [row for row in told if self._stores(*row, route)]
        lost = [row for row in self._told if self._reader.lacks(row[0], [row[1]])]
        for member, _ in self._told if self._apart else []:
            self._gets_nothing(member)
        for member, fact in lost:
            if self._keeps_as_many(member, fact, route):
                others = [other.called for other, _ in self._told if other is not member]
                return (
                    f"{fact.text!r}, stored for {member.called}, does not come back for it "
                    f"after sessions with {', '.join(others)}"
                )
        return ""

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
        """Whether such a fact comes back for one that stored it among all the others itself."""
        alike = {told: self._run.facts.like(told) for _, told in self._told}
        kept = [self._stores(member, other, route) for other in alike.values()]
        return all(kept) and not self._reader.lacks(member, [alike[fact]])

    def _gets_nothing(self, member: Tenant) -> None:
        with member.opened(self._run) as subject:
            for owner, fact in self._told:
                if owner is not member and self._reader.finds(subject, fact):
                    recall = self._run.hook("recall")
                    self._run.violated(
                        f"{_both([member, owner])} kept apart, as {self._apart} are",
                        f"{recall} for {member.called} gives {fact.text!r}, "
                        f"which was stored for {owner.called}",
                    )
