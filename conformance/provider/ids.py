"""Chapter 57: ids are any text, and different ones stay different."""

import functools
from collections.abc import Iterator, Mapping

from memproto.testing import losses, repeating, routes, tenants
from memproto.testing.clauses import Inconclusive, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, HookWithdrawn
from memproto.testing.tenants import Boundary, Reader, Tenant
from memproto.testing.wire import show

_LONG_CHARS = 10_000

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

_PLATFORM_USER_FAMILIES = {
    "a separator": (
        "{}.berg@mail.example",
        "{}-berg@mail.example",
        "{}_berg@mail.example",
        "{}+berg@mail.example",
        "{}/berg@mail.example",
    ),
    "where the name ends": ("@{}:berg.example", "@{}.berg:example"),
}

_HOST_SESSION_FAMILIES = {"the last character": ("{}-5f8a1c2e", "{}-5f8a1c2f")}


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
    told = f"{len(found)} of {len(trials)} ids failed"
    for name, ids in found:
        keys, fault = _narrowed(run, name, ids, route)
        if fault:
            run.violated(
                f"any text as {keys} is accepted by {run.hook('open')}, and what is stored under "
                "it comes back under it",
                f"for {name}, {show(next(iter(ids.values())), 60)}: {fault}; {told}",
            )
    raise Inconclusive(f"{told} once and not again, {found[0][0]} among them")


def _trials(run: Run) -> Iterator[tuple[str, dict[str, str]]]:
    """What is odd about the ids of a session, and the ids: all three at once, which is quick."""
    if not run.binding.ids_by_platform:
        for name, odd in _ODD.items():
            yield name, dict.fromkeys(("session key", "user_id", "agent_identity"), odd)
        return
    for name, odd in _PLATFORM_USERS.items():
        yield name, {"user_id": odd}
    for odd in _HOST_SESSIONS:
        yield "a session id", {"session key": odd}


def _narrowed(run: Run, name: str, ids: dict[str, str], route: str) -> tuple[str, str]:
    """The one key with which it fails by itself, or all of them; and what happens."""
    for key, odd in ids.items():
        if fault := _fault(run, f"{name} as {key}", {key: odd}, route):
            return key, fault
    return " and ".join(ids), _fault(run, f"{name} again", ids, route)


def _fault(run: Run, name: str, ids: Mapping[str, str], route: str) -> str:
    """What goes wrong in a session with these ids and in a second one; "" for nothing."""
    fact, tenant = run.facts.new(), tenants.named(run, name, ids)
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
                home = run.own_home(f"{boundary}-{number}")
                members = [tenants.of(run, boundary, name, home) for name in names]
                _Family(run, members, f"differ in {what}", apart).judge(route)
        except tenants.Refused as reason:
            refusals.append(reason)
    if len(refusals) == len(families):
        raise refusals[0]


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
