"""Stores that fail, seen from a check: locked by another process, without room, read-only."""

import contextlib
import copy
import dataclasses
import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

from memproto.adapters import tool_results
from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.facts import Fact
from memproto.testing.lifetimes import changes, lock_waits, store_holder, store_process
from memproto.testing.lifetimes.changes import Change, Prepared
from memproto.testing.lifetimes.ends import Ended, HostProcess, not_lived
from memproto.testing.lifetimes.store_files import (
    BESIDE,
    Pristine,
    elsewhere,
    files,
    files_below,
    found_in,
    has_elsewhere,
    left,
    places,
    route,
    stored,
    unharmed,
)
from memproto.testing.needs import Machine
from memproto.testing.processes import sandbox
from memproto.testing.provider import losses
from memproto.testing.provider.run import Run
from memproto.testing.scenarios import credentials, tenants
from memproto.testing.wire import hidden

T = TypeVar("T")

#: Seconds that recall may take, and so many more before the kit speaks of it: SQLite waits 5 s for
#: a lock unless it is told otherwise, and the host's limit is another one.
RECALL_S, MARGIN_S = 5.0, 1.0

#: Seconds that initialize may take.
OPEN_S = 30.0

#: A lock is held a little longer than that.
_HELD_S = RECALL_S + MARGIN_S + 0.5

#: And so long, while a write waits for it: the rule has no bound. In ci it is longer than SQLite
#: waits by itself, and in deep longer than a host waits for a write.
_WRITING_S = {"quick": 1.0, "ci": 6.0, "deep": 17.0}

#: A host beside another one has so long to open its session.
_OPENING_S = 5.0

#: A host beside another one had that time already.
_WAITING_S = 0.05

#: A provider that waits before it tries again does so within this time.
AGAIN_S = 15.0

#: Number of writes while a store takes none: a batch that is written together is shorter.
_BATCH = 12

#: Why there is nothing to be observed, which is so for each rule on it.
_REASONS = (NotApplicable, Untestable)


class StoreHost(HostProcess):
    """
    A host that runs one of the scripts of `store_process` with the target.

    As a context it does not outlive its body.
    """

    module = "memproto.testing.lifetimes.store_process"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._seen is None:
            self._process.kill()
            self.end()

    def comes(self, mark: str, within_s: float = 0.0) -> bool:
        """
        True if it says `mark` in so many seconds; those that any host gets without a number.

        `within_s` is scaled by the run and by what the machine takes.
        """
        end = self.deadline(within_s)
        with self._run.watch.wire.hook("close", self._longest_s(within_s)):
            while mark not in self.marks and (left_s := end.left_s()) > 0:
                if not self._listen(min(left_s, 0.1)) and self._process.poll() is not None:
                    return mark in self.marks
        return mark in self.marks


@dataclasses.dataclass(frozen=True)
class Seen:
    """
    The observations of a host while its store failed.

    Attributes:
        ended: Its ending, and the marks that it reached.
        facts: The facts that it was to store, in order.
        ready: The other calls that it was to make, and what they left alone.
        others: Observations of hosts that made one of these calls each, at the same time.
        waits: The lock that it still waited for when its time was over, in words; or "".
        guest: The other one, for whom a session was open beside it; None if there was none.

    """

    ended: Ended
    facts: list[Fact]
    ready: Prepared = dataclasses.field(default_factory=lambda: Prepared([], [], []))
    others: list["Seen"] = dataclasses.field(default_factory=list)
    waits: str = ""
    guest: tenants.Tenant | None = None

    def took_s(self, what: str) -> float | None:
        """Seconds that the first call of that kind took; None where none came back."""
        told = self._told(what)
        return float(told[0].split()[0]) if told else None

    def said(self, what: str) -> str:
        """The fate of the last call of that kind: "done", its exception, or a tool's refusal."""
        told = self._told(what)
        fate = told[-1].split(maxsplit=1)[1] if told else "it was not called"
        if fate == "done" and tool_results.refused(answer := self._answer(what)):
            fate = f"answered {answer}"
        return hidden(fate)[:240]

    def _told(self, what: str) -> list[str]:
        told = [m.removeprefix(f"{what} ") for m in self.ended.marks if m.startswith(f"{what} ")]
        return [text for text in told if text[:1].isdigit() and " " in text]

    def raised(self) -> list[str]:
        """The exceptions of all calls, each behind the name of its call."""
        return [mark for mark in self.ended.marks if re.match(r"[a-z]+[ 0-9.]* raised ", mark)]

    def accepted(self, *numbers: int) -> list[Fact]:
        """Facts of which a write hook returned."""
        return [self.facts[number] for number in numbers if self.said(f"store {number}") == "done"]

    def changes(self, number: int = 0) -> list[tuple[str, Change]]:
        """The calls of one round, each with the name by which the host speaks of it."""
        made = self.ready.rounds[number] if number < len(self.ready.rounds) else []
        return [(f"change {number} {place}", change) for place, change in enumerate(made)]

    def last_calls(self) -> list[tuple[str, Change]]:
        """The calls that come last, each with the name by which the host speaks of it."""
        return [(f"last {place}", change) for place, change in enumerate(self.ready.last)]

    def is_done(self, name: str) -> bool:
        """True if a call returned, and a tool did not answer that it refused."""
        return self.said(name) == "done"

    def crossed(self) -> str:
        """The answer to the guest that shows the first fact, if none did before; else ""."""
        fact = self.facts[0]
        found = self._answer("guest")
        return found if fact.is_in(found) and not fact.is_in(self._answer("guest before")) else ""

    def _answer(self, name: str) -> str:
        sign = f"{name} answered "
        found = [mark.removeprefix(sign) for mark in self.ended.marks if mark.startswith(sign)]
        return str(json.loads(found[-1])) if found else ""

    def reports(self) -> Iterator[tuple[str, str, Any]]:
        """
        For each report on itself, asked while the store failed: the operation, and how it fared.

        That is "answered" with the answer, or "raised" with the exception in words.
        """
        for operation in store_process.REPORTS:
            sign = re.compile(rf"{operation} (answered|raised) (.*)")
            for found in filter(None, map(sign.fullmatch, self.ended.marks)):
                fate, told = found.groups()
                yield operation, fate, json.loads(told) if fate == "answered" else told

    def changed(self) -> str:
        """The call that changed a file of the store first, in words; "" if none did."""
        for name, change in (*self.changes(), *self.last_calls()):
            sign = f"{name} changed "
            for mark in self.ended.marks:
                if mark.startswith(sign):
                    return f"{change.what} changed {Path(mark.removeprefix(sign)).name}"
        return ""

    @property
    def last(self) -> int:
        """The number of the fact that is stored when the store is well again."""
        return len(self.facts) - 1


# -- locked ----------------------------------------------------------------------------------------


def locked(run: Run) -> Seen:
    """The observations of a host whose store was locked; see `_locked`."""
    return once(run, _locked)


def once(run: Run, observe: Callable[[Run], T]) -> T:
    """
    An observation that several rules judge, made once for all checks in one process.

    It starts a process, or several; what comes after it has the places, the user and the sessions
    for whom it was made, and waits for what was stored then.
    """
    name = observe.__name__
    if name not in run.shared:
        observed = _observed(run, observe)
        # The check may go on elsewhere afterwards.
        run.shared[name] = (observed, copy.copy(run), sandbox.Standing.now())
    seen: T
    first: Run
    stood: sandbox.Standing
    seen, first, stood = run.shared[name]
    if isinstance(seen, _REASONS):
        raise seen
    if first.root != run.root and has_elsewhere(first):
        # A store below ~ or in the working directory is found from there only.
        stood.take()
    run.home, run.root = first.home, first.root
    run.tag, run.numbers = first.tag, first.numbers
    run.freshness.config, run.watch.stored_at = first.freshness.config, first.watch.stored_at
    return seen


def _observed(run: Run, observe: Callable[[Run], T]) -> T | Exception:
    """The observations, or the reason why there are none."""
    try:
        return observe(run)
    except _REASONS as reason:
        return reason


def _locked(run: Run) -> Seen:
    """
    Have a host recall and store while another process holds every file of the store.

    Beside it there is a host for each other call that changes the store: one that waits for the
    lock would keep the next one from being made while it is held.

    Raises:
        NotApplicable: It holds them itself, so that nobody else can.
        Untestable: The host did not come so far.

    """
    before = stored(run)
    facts, ready, guest = run.facts.several(3), _one_call_each(run), _guest(run)
    with contextlib.ExitStack() as all_hosts:
        host = all_hosts.enter_context(host_of(run, "locked", facts, guest=_told_of(run, guest)))
        lived(host, "ready")
        others = [all_hosts.enter_context(_changing(run, call)) for call in ready]
        # A store that one process holds as long as it is open lets no other one in.
        if not all(one.comes("ready", _OPENING_S) for one in others):
            others = []
        with held(run, before, *_homes(guest)):
            for one in (host, *others):
                one.go()
            _recalled_and_stored(host, _WRITING_S[run.context.profile])
            for one in others:
                one.comes("change 1 0 ended", _WAITING_S)
        for one in (host, *others):
            one.go()
        beside = [Seen(one.end(), [], call) for one, call in zip(others, ready, strict=False)]
        return Seen(host.end(), facts, others=beside, guest=guest)


def _guest(run: Run) -> tenants.Tenant | None:
    """Another one who is kept apart, and may have a session beside this one; None for nobody."""
    boundary = tenants.finest(run)
    if boundary is None or run.declared("single_writer", default=False):
        return None
    return tenants.pair(run, boundary, "-locked")[1]


def _told_of(run: Run, guest: tenants.Tenant | None) -> dict[str, Any] | None:
    if guest is None:
        return None
    return {"session_key": guest.session, "config": run.config(guest.home, **guest.config)}


def _homes(guest: tenants.Tenant | None) -> list[Path]:
    return [guest.home] if guest and guest.home else []


def _recalled_and_stored(host: StoreHost, writing_s: float) -> None:
    """Wait until the host of `locked` has tried both, as long as it may take."""
    if host.comes("recall ended", _HELD_S):
        host.comes("asked", _HELD_S)
    if host.comes("storing 1", MARGIN_S):
        host.comes("store 1 ended", writing_s)


def locked_in_turn(run: Run) -> Seen:
    """The same, of one host after the other, so that no two of them store at the same time."""
    return once(run, _locked_in_turn)


def _locked_in_turn(run: Run) -> Seen:
    run.home = unharmed(run)
    before = stored(run)
    facts, ready = run.facts.several(3), _one_call_each(run)
    with host_of(run, "locked", facts) as host:
        lived(host, "ready")
        with held(run, before):
            host.go()
            _recalled_and_stored(host, _WRITING_S[run.context.profile])
        host.go()
        seen = Seen(host.end(), facts)
    for call in ready:
        with _changing(run, call) as other:
            if not other.comes("ready", _OPENING_S):
                continue
            with held(run, before):
                other.go()
                # As long as beside the first host, which recalled and stored meanwhile.
                other.comes("change 1 0 ended", _HELD_S + _WRITING_S[run.context.profile])
            other.go()
            seen.others.append(Seen(other.end(), [], call))
    return seen


def _one_call_each(run: Run) -> list[Prepared]:
    """For each call that changes the store, that call in three rounds; none for a single writer."""
    if run.declared("single_writer", default=False):
        return []
    ready = changes.prepared(run, 3)
    # A call that could not be made up in one of the rounds is left out.
    return [
        Prepared([], [[one] for one in calls], []) for calls in zip(*ready.rounds, strict=False)
    ]


def _changing(run: Run, ready: Prepared) -> StoreHost:
    return host_of(run, "changes_locked", run.facts.several(1), ready)


def opened_locked(run: Run) -> Seen:
    """The observations of a host that opened its session while the store was locked."""
    return once(run, _opened_locked)


def _opened_locked(run: Run) -> Seen:
    before = stored(run)
    facts = run.facts.several(1)
    with host_of(run, "opens", facts) as host:
        lived(host, "ready")
        with held(run, before) as locked:
            host.go()
            is_open = host.comes("open ended", (OPEN_S + MARGIN_S))
            waits = "" if is_open else lock_waits.waited_for(host.pid, locked)
        return Seen(host.end(), facts, waits=waits)


@contextlib.contextmanager
def held(run: Run, facts: list[Fact], *homes: Path) -> Iterator[list[str]]:
    """
    Every file where the facts are stored is locked by another process in the body, which gets them.

    So is every file of further homes.

    Raises:
        NotApplicable: The provider holds them itself.

    """
    found = files_below(*places(run, facts), *homes)
    names = [str(path) for path in found if not path.name.endswith(BESIDE)]
    with subprocess.Popen(
        [sandbox.interpreter(), "-I", "-S", store_holder.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.write(f"{json.dumps(names)}\n".encode())
        holder.stdin.flush()
        if not int(holder.stdout.readline() or 0):
            raise NotApplicable("it keeps its files locked itself, as long as it is open")
        yield names


# -- full ------------------------------------------------------------------------------------------


def full(run: Run) -> tuple[list[Fact], Seen]:
    """The facts that were stored before, and the observations of a host that had no room."""
    return once(run, _full)


def _full(run: Run) -> tuple[list[Fact], Seen]:
    """Have a host store while no file takes a byte; what was stored before, and what it saw."""
    before, ready = stored(run), changes.prepared(run, 2)
    facts = run.facts.several(1 + _BATCH + 1)
    told = {
        "config": run.config() | credentials.planted(run),
        "watched": watched(run, [*before, *ready.kept]),
    }
    with host_of(run, "full", facts, ready, **told) as host:
        lived(host, "storing 0")
        return before, Seen(host.end(), facts, ready)


def watched(run: Run, facts: list[Fact]) -> list[str]:
    """The files in which some of the facts are found."""
    return [str(path) for path in files(run, facts)]


def loses_anyway(run: Run, seen: Seen) -> bool:
    """True if such calls cost texts in a store that is well: then no fault of it is to blame."""
    with _in_order(run, seen) as (before, well):
        owed = [*before, *well.ready.kept, *well.accepted(*range(len(well.facts)))]
        return bool(losses.lost(run, owed))


def fails_anyway(run: Run, seen: Seen, shows: Callable[[Seen], object]) -> bool:
    """True if such calls show the same in a store that is well: then no fault of it is to blame."""
    with _in_order(run, seen) as (_, well):
        return bool(shows(well))


@contextlib.contextmanager
def _in_order(run: Run, seen: Seen) -> Iterator[tuple[list[Fact], Seen]]:
    """
    The facts that were stored before, and the observations of a host with a store that is well.

    It stores as many texts, and makes as many rounds of calls, as were accepted and made: a
    provider may gather a few before it writes. In the body the run has the home of that store.
    """
    with elsewhere(run):
        before, ready = stored(run), changes.prepared(run, len(seen.ready.rounds))
        facts = run.facts.several(max(1, len(seen.accepted(*range(len(seen.facts))))))
        with host_of(run, "healthy", facts, ready) as host:
            ended = host.end()
        yield before, Seen(ended, facts, ready)


# -- read-only -------------------------------------------------------------------------------------


def read_only(run: Run) -> Seen:
    """The observations of a host whose home nobody may write to, until its hooks were called."""
    return once(run, _read_only)


def _read_only(run: Run) -> Seen:
    """
    Have a host open and store while every file of the home is read-only, and end when none is.

    Raises:
        Untestable: This process may write to any file; or the host did not come so far.

    """
    before = stored(run)
    ready = changes.prepared(run)
    facts = run.facts.several(_BATCH)
    where = [str(place) for place in places(run, before)]
    with host_of(run, "read_only", facts, ready, places=where) as host:
        lived(host, "open ended")
        ended = host.end()
        if "may write" in ended.marks:
            reason = "a process of this user's may write to a file that is read-only"
            raise Untestable(reason, (Machine("a user other than root"),))
        return Seen(ended, facts, ready)


# -- hosts -----------------------------------------------------------------------------------------


def host_of(
    run: Run, script: str, facts: list[Fact], ready: Prepared | None = None, **told: Any
) -> StoreHost:
    """Start a host that runs one of the scripts of `store_process` with those facts and calls."""
    return StoreHost(
        run,
        script,
        [fact.text for fact in facts],
        query=facts[0].query,
        route=route(run),
        again_s=AGAIN_S * run.context.scale,
        reports="status" in run.declared("extensions", []) and not run.binding.free_status,
        slowdown=run.context.slowdown,
        **(ready.told() if ready else {}),
        **told,
    )


def lived(host: StoreHost, mark: str) -> None:
    """
    Go on only where a host came so far.

    Raises:
        Behind: It did not, since it crashed.
        Untestable: It did not: it is another rule that was broken, or the machine.

    """
    if not host.comes(mark):
        ended = host.end()
        reason = f"a host in a process of its own did not come to {mark!r}: {ended.ending}"
        not_lived(ended, reason)


# -- storedamage -----------------------------------------------------------------------------------

# Stores whose files are damaged, one after the other, seen from a check.


#: Number of files of a store that are damaged, the largest first.
_MOST_FILES = 3

#: The store as it was before any damage, among what checks share.
_PRISTINE = "the undamaged store"

#: A page of SQLite's, and the beginning of any file.
_PAGE = 4_096


@dataclasses.dataclass(frozen=True)
class Damage:
    """
    One file of a store that was damaged, and what came of it.

    Attributes:
        what: The damage.
        survivors: The facts that it still held.
        seen: The observations of the host that opened the store then.
        is_kept: True if any of the survivors was left below the home afterwards.

    """

    what: str
    survivors: list[Fact]
    seen: Seen
    is_kept: bool


def lives_undamaged(run: Run) -> None:
    """
    Go on only where a host lives through the same with the store as it was before the damage.

    Raises:
        Untestable: It does not.

    """
    run.shared[_PRISTINE].restore()
    with host_of(run, "damaged", run.facts.several(1), changes.Prepared([], [[]], [])) as host:
        lived(host, "over")


def damaged(run: Run) -> list[Damage]:
    """The observations of hosts that opened the store with one file damaged, each in turn."""
    return once(run, _damaged)


def _damaged(run: Run) -> list[Damage]:
    facts, ready = stored(run), changes.prepared(run)
    facts += left(run, ready.kept)
    run.shared[_PRISTINE] = Pristine(run, facts)
    return [
        _damage(run, path, how, facts, ready)
        for path in files(run, facts)[:_MOST_FILES]
        for how in _DAMAGES
    ]


def _damage(run: Run, path: Path, how: str, facts: list[Fact], ready: Prepared) -> Damage:
    run.shared[_PRISTINE].restore()
    _DAMAGES[how](path)
    survivors = found_in(path, facts)
    more = run.facts.several(1)
    with host_of(run, "damaged", more, ready) as host:
        seen = Seen(host.end(), more, ready)
    name = path.relative_to(run.home) if path.is_relative_to(run.home) else path.name
    return Damage(f"{name} was {how}", survivors, seen, bool(left(run, survivors)))


def _halve(path: Path) -> None:
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size // 2)


def _overwrite(path: Path) -> None:
    length = min(_PAGE, path.stat().st_size // 2)
    with path.open("rb+") as file:
        file.write(random.Random(length).randbytes(length))


_DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut in half": _halve,
    "overwritten at its beginning": _overwrite,
}
