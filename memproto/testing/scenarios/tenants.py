"""
Those that a memory keeps apart: users, sessions and profiles, two of which differ in one thing.

A check asks both for the text that it stores for one: first the owner, with as much patience as
it takes to see it, then the other with the same patience.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from memproto import spec
from memproto.errors import Misconfigured
from memproto.testing.clauses import Lost, NotApplicable, Untestable
from memproto.testing.facts import Fact
from memproto.testing.needs import depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.wire import shorten, show

Boundary = Literal["profile", "user", "session"]

#: A host's name for the id by which each boundary is drawn.
ID_OF: dict[Boundary, str] = {"profile": "home", "user": "user_id", "session": "session key"}

#: The rule on each boundary, as long as two ids are plain and are used one after the other.
RULES: dict[Boundary, str] = {
    "profile": spec.role("profile_apart"),
    "user": spec.role("user_apart"),
    "session": spec.role("session_apart"),
}

#: Of an id of 10,000 characters a message shows so many.
_SHOWN = 60


class Refused(NotApplicable):
    """A second user is refused at initialize: then two are not mixed."""


@dataclasses.dataclass(frozen=True)
class Tenant:
    """
    One for whom sessions are opened.

    Attributes:
        called: Its name in a message, such as "user_id 'ida'".
        session: The session key.
        home: The home, or None for the one of the check.
        config: Further keys of the configuration; a value of None leaves a key out.

    """

    called: str
    session: str
    home: Path | None = None
    config: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def open(self, run: Run) -> Subject:
        """
        A new instance for it.

        Raises:
            Refused: The provider says that it does not serve this one.

        """
        try:
            return run.open(self.home, self.session, **self.config)
        except HookRaised as failure:
            if isinstance(failure.error, Misconfigured):
                reason = f"{self.called} is refused at initialize: {show(failure.error)}"
                raise Refused(reason) from None
            raise

    @contextlib.contextmanager
    def opened(self, run: Run) -> Iterator[Subject]:
        """An instance for it that is shut down at the end of the block."""
        subject = self.open(run)
        yield subject
        run.close(subject)


def of(run: Run, boundary: Boundary, name: str, home: Path | None = None) -> Tenant:
    """A tenant with the id `name`, in all else as the others of the check."""
    called = f"{ID_OF[boundary]} {shorten(name, _SHOWN)!r}"
    if boundary == "profile":
        return Tenant(called, run.session_key(), run.place(name))
    if boundary == "session":
        return Tenant(called, name, home)
    return Tenant(called, run.session_key(), home, {"user_id": name})


def pair(run: Run, boundary: Boundary, mark: str = "", home: Path | None = None) -> list[Tenant]:
    """Two tenants with plain ids; another `mark` makes others."""
    base = {"user": str(run.config()["user_id"]), "session": run.session_key(), "profile": "of"}
    names = [f"{base[boundary]}{mark}-{name}" for name in ("ida", "otto")]
    return [of(run, boundary, name, home) for name in names]


def named(run: Run, name: str, ids: Mapping[str, str]) -> Tenant:
    """A tenant with these ids, and where it can be in a home of its own: there may be one user."""
    config = {key: value for key, value in ids.items() if key != "session key"}
    place = "".join(letter if letter.isalnum() else "-" for letter in name)
    home = run.place(f"for-{place}") if run.binding.own_homes else None
    return Tenant(name, ids.get("session key") or run.session_key(), home, config)


def boundaries(run: Run) -> list[Boundary]:
    """
    Those that the provider is to keep: what `isolates` names, and the home in any case.

    If the process has one home, as in the Hermes binding, there is no second one to keep apart.
    """
    declared = run.declared("isolates", ["profile"])
    homes: list[Boundary] = ["profile"] if run.binding.own_homes else []
    return homes + [name for name in ID_OF if name != "profile" and name in declared]


def finest(run: Run) -> Boundary | None:
    """
    The boundary across which an answer is looked for while a store fails; None if none is kept.

    That of the user if it is kept, else that of the home.
    """
    kept = boundaries(run)
    return "user" if "user" in kept else "profile" if "profile" in kept else None


class Reader:
    """
    Asks whether a fact comes back, with the patience that it takes to see one come back.

    Without it a recall that is prepared in advance would prove by its silence that nothing crosses;
    and with full patience for each, the check of a good provider would take minutes. An owner is
    asked before all others: what it sees is visible by then, however long the store took.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._is_patient = False

    def sees(self, subject: Subject, fact: Fact) -> bool:
        """True if an instance of its owner brings the fact back."""
        if self._at_once(subject, fact):
            return True
        found = self._run.brings_back(subject, fact)
        prepares = self._run.declared("recall_basis", "query") == "previous"
        self._is_patient |= found and (prepares or subject.has("prewarm"))
        return found

    def finds(self, subject: Subject, fact: Fact) -> bool:
        """True if another instance than its owner's brings the fact back."""
        if self._is_patient:
            return self._run.brings_absent(subject, fact)
        return self._at_once(subject, fact)

    @staticmethod
    def _at_once(subject: Subject, fact: Fact) -> bool:
        # Twice, since the first recall of a session may be behind; that is for MP-RECALL-005.
        return any(fact.is_in(routes.recalled(subject, fact.query)) for _ in range(2))

    def lacks(self, tenant: Tenant, facts: list[Fact]) -> list[Fact]:
        """The owner's facts that do not come back; an instance of its own for each."""
        lost = []
        for fact in facts:
            with tenant.opened(self._run) as subject:
                seen = self.sees(subject, fact) or losses.is_known(self._run, subject, fact)
                if not seen:
                    lost.append(fact)
        return lost


def store(run: Run, tenant: Tenant, facts: list[Fact], route: str) -> None:
    """Store facts in one session of the tenant."""
    with tenant.opened(run) as subject:
        for fact in facts:
            run.plant(subject, fact, route)


def are_apart(run: Run, pair: list[Tenant], route: str) -> bool:
    """
    True if two tenants, one after the other, get a memory each.

    Raises:
        Untestable: A text that was stored for one of them does not come back for it.
        Refused: One of them is not served.

    """
    reader, facts = Reader(run), run.facts.several(2)
    for tenant, fact in zip(pair, facts, strict=True):
        store(run, tenant, [fact], route)
    for tenant, fact in zip(pair, facts, strict=True):
        if reader.lacks(tenant, [fact]):
            hook = run.hook(routes.OPERATIONS[route])
            raise Lost(f"text {hook} stored for {tenant.called} does not come back for it")
    crossed = []
    for tenant, foreign in zip(reversed(pair), facts, strict=True):
        with tenant.opened(run) as subject:
            crossed.append(reader.finds(subject, foreign))
    return not any(crossed)


def keeps(run: Run, boundary: Boundary, plain: list[Tenant], route: str) -> bool:
    """
    True if the boundary is one that the provider keeps between two tenants with plain ids.

    It is where that is declared; a Hermes provider, which cannot declare, is watched.

    Raises:
        Untestable: It is declared and not kept, which is for the rule of that boundary.

    """
    declared = boundary == "profile" or boundary in run.declared("isolates", ["profile"])
    if not declared and run.binding.can_declare:
        return False
    if are_apart(run, plain, route):
        return True
    if declared:
        names = " and ".join(tenant.called for tenant in plain)
        raise Untestable(f"{names} are not kept apart", depends_on(RULES[boundary]))
    return False
