"""Stores that fail, seen from a check: locked by another process, without room, damaged."""

import contextlib
import dataclasses
import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Self

from memproto.testing import noise, routes, sandbox, store_holder
from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.ending import Ended, HostProcess
from memproto.testing.facts import Fact
from memproto.testing.run import Run

#: What recall may take, and so much more before the kit speaks of it: what SQLite waits for a lock
#: unless it is told otherwise is 5 s, and the host's limit is another one.
RECALL_S, MARGIN_S = 5.0, 1.0

#: A lock is held a little longer than that, and during a write for so long.
_HELD_S, _WRITING_S = RECALL_S + MARGIN_S + 0.5, 1.0

#: A provider that waits before it tries again does so within this time.
AGAIN_S = 15.0

#: So many texts are in a store before it is damaged, so that a part of them is in each part of it.
_STORED = 12

#: So many files of a store are damaged, the largest first.
_MOST_FILES = 3

#: A page of SQLite's, and the beginning of any file.
_PAGE = 4_096

#: Of a larger file only so many bytes are searched.
_SEARCHED_BYTES = 50_000_000

#: What SQLite keeps beside a database.
_BESIDE = ("-wal", "-shm", "-journal")

_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


class StoreHost(HostProcess):
    """
    A host that runs one of the scripts of `store_process` with the target.

    As a context it does not outlive its body.
    """

    module = "memproto.testing.store_process"
    _seen: Ended | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._seen is None:
            self._process.kill()
            self.end()

    def end(self) -> Ended:
        """Wait for its end, once; gives what became of it."""
        self._seen = self._seen or super().end()
        return self._seen

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
        return told[-1].split(maxsplit=1)[1] if told else "it was not called"

    def _told(self, what: str) -> list[str]:
        told = [m.removeprefix(f"{what} ") for m in self.ended.marks if m.startswith(f"{what} ")]
        return [text for text in told if text[:1].isdigit() and " " in text]

    def accepted(self, *numbers: int) -> list[Fact]:
        """Those of the facts of which a write hook returned."""
        return [self.facts[number] for number in numbers if self.said(f"store {number}") == "done"]


# -- which files -----------------------------------------------------------------------------------


def route(run: Run) -> str:
    """The route by which hosts of other processes store."""
    return run.needs_route("turns", "writes", "tools")


def storing(run: Run) -> str:
    """The operation that stores by it."""
    return routes.OPERATIONS[route(run)]


def stored(run: Run) -> list[Fact]:
    """
    Store facts in a session; those that are found in a file below the home.

    Raises:
        NotApplicable: None of them is found in a file below the home.

    """
    facts, by = run.facts.several(_STORED), route(run)
    with run.session() as subject:
        kept = [f for f in facts if routes.accepts(subject, by, f.text, routes.reply_to(f))]
    run.settle()
    found = left(run, kept)
    if not found:
        raise NotApplicable("what it stores is found in no file below its home")
    return found


def files(run: Run, facts: list[Fact]) -> list[Path]:
    """
    The files below the home in which some of the facts are found, the largest first.

    What SQLite keeps beside a database belongs to it: it may be thrown away when it is damaged.
    """
    holding = [path for path in _all(run) if found_in(path, facts)]
    found = {_database(path) if path.name.endswith(_BESIDE) else path for path in holding}
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


def _database(beside: Path) -> Path:
    found = beside.with_name(beside.name.rpartition("-")[0])
    return found if found.is_file() else beside


def _all(run: Run) -> list[Path]:
    return [path for path in run.home.rglob("*") if path.is_file() and not path.is_symlink()]


def found_in(path: Path, facts: list[Fact]) -> list[Fact]:
    """Those of the facts whose name stands in a file."""
    try:
        with path.open("rb") as file:
            data = file.read(_SEARCHED_BYTES).lower()
    except OSError:
        return []
    return [f for f in facts if any(f.name.lower().encode(e) in data for e in _ENCODINGS)]


def left(run: Run, facts: list[Fact]) -> list[Fact]:
    """Those of the facts that are found in any file below the home."""
    found = {fact.name for path in _all(run) for fact in found_in(path, facts)}
    return [fact for fact in facts if fact.name in found]


def comes_back_otherwise(run: Run) -> bool:
    """Whether what is stored comes back while the store is well: else a loss proves nothing."""
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route(run))
    return run.reopened_brings_back(fact)


# -- locked ----------------------------------------------------------------------------------------


def locked(run: Run) -> Seen:
    """
    Have a host recall and store while another process holds every file of the store.

    Raises:
        NotApplicable: It holds them itself, so that nobody else can.
        Untestable: The host did not come so far.

    """
    stored(run)
    facts = run.facts.several(3)
    with _host(run, "locked", facts) as host:
        lived(host, "ready")
        with _held(run):
            host.go()
            host.comes("recall ended", _HELD_S * _pace(run))
            if host.comes("storing 1", MARGIN_S * _pace(run)):
                host.comes("store 1 ended", _WRITING_S * _pace(run))
        host.go()
        return Seen(host.end(), facts)


@contextlib.contextmanager
def _held(run: Run) -> Iterator[None]:
    """Every file of the home is locked by another process in the body."""
    names = [str(path) for path in _all(run) if not path.name.endswith(_BESIDE)]
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
    """Have a host store while no file takes a byte; what was stored before, and what it saw."""
    before = stored(run)
    facts = run.facts.several(3)
    with _host(run, "full", facts) as host:
        lived(host, "storing 0")
        return before, Seen(host.end(), facts)


# -- damaged ---------------------------------------------------------------------------------------


def damaged(run: Run) -> Iterator[tuple[str, list[Fact], Seen]]:
    """
    Have a host open the store with one file damaged, one after the other.

    Yields:
        What was done, which facts the damaged file still held, and what the host saw. The home is
        as the host left it until the next one.

    """
    facts = stored(run)
    pristine = run.place("pristine")
    shutil.copytree(run.home, pristine, symlinks=True)
    names = [path.relative_to(run.home) for path in files(run, facts)[:_MOST_FILES]]
    for name in names:
        for how, spoil in _DAMAGES.items():
            shutil.rmtree(run.home)
            shutil.copytree(pristine, run.home, symlinks=True)
            spoil(run.home / name)
            survivors = found_in(run.home / name, facts)
            more = run.facts.several(1)
            with _host(run, "damaged", more) as host:
                seen = Seen(host.end(), more)
            yield f"{name} was {how}", survivors, seen


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


# -- hosts -----------------------------------------------------------------------------------------


def _host(run: Run, script: str, facts: list[Fact]) -> StoreHost:
    return StoreHost(
        run,
        script,
        [fact.text for fact in facts],
        query=facts[0].query,
        route=route(run),
        again_s=AGAIN_S * run.context.scale * run.context.slowdown,
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
        raise Untestable(f"{reason}; {ended.errors.strip()[-300:]}")
