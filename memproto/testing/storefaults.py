"""Stores that fail, seen from a check: locked by another process, without room, read-only."""

import contextlib
import dataclasses
import json
import subprocess
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Self, TypeVar

from memproto.testing import noise, sandbox, store_holder
from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.ending import Ended, HostProcess
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.storefiles import BESIDE, all_files, route, stored
from memproto.testing.wire import hidden

T = TypeVar("T")

#: What recall may take, and so much more before the kit speaks of it: what SQLite waits for a lock
#: unless it is told otherwise is 5 s, and the host's limit is another one.
RECALL_S, MARGIN_S = 5.0, 1.0

#: What initialize may take.
OPEN_S = 30.0

#: A lock is held a little longer than that, and during a write for so long.
_HELD_S, _WRITING_S = RECALL_S + MARGIN_S + 0.5, 1.0

#: A provider that waits before it tries again does so within this time.
AGAIN_S = 15.0

#: So many writes are made while a store takes none: a batch that is written together is shorter.
_BATCH = 12

#: Why there is nothing to be observed, which is so for each rule on it.
_REASONS = (NotApplicable, Untestable)


class StoreHost(HostProcess):
    """
    A host that runs one of the scripts of `store_process` with the target.

    As a context it does not outlive its body.
    """

    module = "memproto.testing.store_process"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._seen is None:
            self._process.kill()
            self.end()

    def comes(self, mark: str, within_s: float = 0.0) -> bool:
        """Whether it says `mark` in so many seconds; those that any host gets without a number."""
        wait_s = within_s or self._life_s
        end = monotonic() + wait_s
        with self._run.watch.wire.hook("close", wait_s + self._exit_s):
            while mark not in self.marks and monotonic() < end:
                if (
                    not self._listen(min(end, monotonic() + 0.1))
                    and self._process.poll() is not None
                ):
                    return mark in self.marks
        return mark in self.marks


@dataclasses.dataclass(frozen=True)
class Seen:
    """
    What a host saw while its store failed.

    Attributes:
        ended: How it ended, and how far it came.
        facts: What it was to store, in order.

    """

    ended: Ended
    facts: list[Fact]

    def took_s(self, what: str) -> float | None:
        """Seconds that the first call of that kind took; None where none came back."""
        told = self._told(what)
        return float(told[0].split()[0]) if told else None

    def said(self, what: str) -> str:
        """What became of the last call of that kind: "done", or what it raised."""
        told = self._told(what)
        return hidden(told[-1].split(maxsplit=1)[1])[:240] if told else "it was not called"

    def _told(self, what: str) -> list[str]:
        told = [m.removeprefix(f"{what} ") for m in self.ended.marks if m.startswith(f"{what} ")]
        return [text for text in told if text[:1].isdigit() and " " in text]

    def accepted(self, *numbers: int) -> list[Fact]:
        """Those of the facts of which a write hook returned."""
        return [self.facts[number] for number in numbers if self.said(f"store {number}") == "done"]

    @property
    def last(self) -> int:
        """The number of the fact that is stored when the store is well again."""
        return len(self.facts) - 1


# -- locked ----------------------------------------------------------------------------------------


def locked(run: Run) -> Seen:
    """What a host saw whose store was locked; see `_locked`."""
    return once(run, _locked)


def once(run: Run, observe: Callable[[Run], T]) -> T:
    """
    An observation that several rules judge, made once for all checks in one process.

    It starts a process, or several; what comes after it has the home, the user and the sessions for
    whom it was made, and waits for what was stored then.
    """
    name = observe.__name__
    if name not in run.shared:
        run.shared[name] = (_observed(run, observe), run)
    seen: T
    first: Run
    seen, first = run.shared[name]
    if isinstance(seen, _REASONS):
        raise seen
    run.home, run.tag, run.numbers = first.home, first.tag, first.numbers
    run.freshness.config, run.watch.stored_at = first.freshness.config, first.watch.stored_at
    return seen


def _observed(run: Run, observe: Callable[[Run], T]) -> T | Exception:
    """What was seen, or why there is nothing to be seen."""
    try:
        return observe(run)
    except _REASONS as reason:
        return reason


def _locked(run: Run) -> Seen:
    """
    Have a host recall and store while another process holds every file of the store.

    Raises:
        NotApplicable: It holds them itself, so that nobody else can.
        Untestable: The host did not come so far.

    """
    stored(run)
    facts = run.facts.several(3)
    with host_of(run, "locked", facts) as host:
        lived(host, "ready")
        with _held(run):
            host.go()
            host.comes("recall ended", _HELD_S * _pace(run))
            if host.comes("storing 1", MARGIN_S * _pace(run)):
                host.comes("store 1 ended", _WRITING_S * _pace(run))
        host.go()
        return Seen(host.end(), facts)


def opened_locked(run: Run) -> Seen:
    """What a host saw that opened its session while the store was locked."""
    return once(run, _opened_locked)


def _opened_locked(run: Run) -> Seen:
    stored(run)
    facts = run.facts.several(1)
    with host_of(run, "opens", facts) as host:
        lived(host, "ready")
        with _held(run):
            host.go()
            host.comes("open ended", (OPEN_S + MARGIN_S) * _pace(run))
        return Seen(host.end(), facts)


@contextlib.contextmanager
def _held(run: Run) -> Iterator[None]:
    """Every file of the home is locked by another process in the body."""
    names = [str(path) for path in all_files(run) if not path.name.endswith(BESIDE)]
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
        yield


def _pace(run: Run) -> float:
    return run.context.scale * max(run.context.slowdown, noise.slowdown())


# -- full ------------------------------------------------------------------------------------------


def full(run: Run) -> tuple[list[Fact], Seen]:
    """What a host saw that had no room, and what was stored before."""
    return once(run, _full)


def _full(run: Run) -> tuple[list[Fact], Seen]:
    """Have a host store while no file takes a byte; what was stored before, and what it saw."""
    before = stored(run)
    facts = run.facts.several(1 + _BATCH + 1)
    with host_of(run, "full", facts) as host:
        lived(host, "storing 0")
        return before, Seen(host.end(), facts)


# -- read-only -------------------------------------------------------------------------------------


def read_only(run: Run) -> Seen:
    """What a host saw whose home nobody may write to, until its hooks were called."""
    return once(run, _read_only)


def _read_only(run: Run) -> Seen:
    """
    Have a host open and store while every file of the home is read-only, and end when none is.

    Raises:
        Untestable: This process may write to any file; or the host did not come so far.

    """
    stored(run)
    facts = run.facts.several(_BATCH)
    with host_of(run, "read_only", facts, home=str(run.home)) as host:
        lived(host, "open ended")
        ended = host.end()
        if "may write" in ended.marks:
            reason = "a process of this user's may write to a file that is read-only"
            raise Untestable(f"{reason}; needs: a user other than root")
        return Seen(ended, facts)


# -- hosts -----------------------------------------------------------------------------------------


def host_of(run: Run, script: str, facts: list[Fact], **told: str) -> StoreHost:
    """Start a host that runs one of the scripts of `store_process` with those facts."""
    return StoreHost(
        run,
        script,
        [fact.text for fact in facts],
        query=facts[0].query,
        route=route(run),
        again_s=AGAIN_S * _pace(run),
        **told,
    )


def lived(host: StoreHost, mark: str) -> None:
    """
    Go on only where a host came so far.

    Raises:
        Untestable: It did not: it is another rule that was broken, or the machine.

    """
    if not host.comes(mark):
        ended = host.end()
        reason = f"a host in a process of its own did not come to {mark!r}: {ended.ending}"
        raise Untestable(f"{reason}; {hidden(ended.errors.strip())[-300:]}")
