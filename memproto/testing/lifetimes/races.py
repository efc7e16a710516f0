"""
Two processes on one store, each in the midst of the other's changes.

One makes a call and stands still before it changes the first file; what the other one stores then
is what the first has not read. Chance brings two processes so close together once in many runs.
"""

import dataclasses
import functools
import json

from memproto.adapters import tool_results
from memproto.testing.evidence import Evidence, NotRecalled, Recalled
from memproto.testing.facts import Fact
from memproto.testing.lifetimes import changes, store_files
from memproto.testing.lifetimes.changes import Change
from memproto.testing.lifetimes.ends import Ended, HostProcess
from memproto.testing.lifetimes.ends_process import SESSION
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject

#: Seconds that the other process may take before it is taken for one that waits for a lock.
_AWAITED_S = 0.15

#: The most of such times that are waited while it computes: a lock may be waited for by looking.
_MOST_WAITS = 10


@dataclasses.dataclass
class Race:
    """
    One call of a process, in whose midst another process stored a text.

    Attributes:
        route: The route by which a plain text is stored in this run.
        change: The call.
        beside: The call that the other process made.
        fault: The fact that is lost, or still there; None for nothing.

    """

    run: Run
    route: str
    change: Change
    beside: Change
    fault: Evidence | None = None

    def fails_in_turn(self) -> bool:
        """True if such calls fail one after the other too, so that no race is to blame."""
        return any(
            self.alone().faults_in_turn(beside_first=beside_first, sessions=sessions)
            for beside_first in (True, False)
            for sessions in (1, 2)
        )

    def alone(self) -> "Races":
        """Such a race without the others, which may take away what it is about."""
        return Races(self.run, self.route, like=self)


class Races:
    """
    The races of two hosts, prepared, driven and judged.

    Attributes:
        watched: The files whose change ends the pause.
        pausing: For each race the calls of the process that pauses: by itself, and in the race.
        adding: For each race the call of the other.

    """

    def __init__(self, run: Run, route: str, like: Race | None = None) -> None:
        self._run = run
        ready = changes.prepared(run, 2)
        first, second = ready.rounds
        if route in ("turns", "writes"):
            plain = changes.by_route(run, route)
            plain = dataclasses.replace(plain, adds=plain)
            first = [plain.adding(run.facts.new()), *first]
            second = [dataclasses.replace(plain.adding(run.facts.new()), adds=plain), *second]
        if like is not None:
            first = [one for one in first if one.what == like.change.what]
            second = [one for one in second if one.what == like.change.what]
        pairs = [pair for pair in zip(first, second, strict=False) if pair[1].adds is not None]
        self._kept = changes.brought(run, ready.kept)
        self._races = [
            Race(run, route, change, change.adding(run.facts.new())) for _, change in pairs
        ]
        self.watched = _watched(run, [*self._kept, *(c.takes for c in first if c.takes)])
        self.pausing = [[before.told(), change.told()] for before, change in pairs]
        self.adding = [[None, race.beside.told()] for race in self._races]

    def drive(self, pausing: HostProcess, adding: HostProcess) -> None:
        """Have each race run: the one stands still, the other stores, the one goes on."""
        for number in range(len(self._races)):
            paused, made = f"paused {number}", f"made {number} "
            pausing.go()
            if not pausing.comes_to_one_of(paused, made):
                return
            adding.go()
            _let_work(adding, made)
            if paused in pausing.marks:
                pausing.go()
                pausing.comes_to_one_of(made)
            adding.comes_to_one_of(made)

    def judged(self, pausing: Ended, adding: Ended) -> list[Race]:
        """The races, each with what came of it."""
        for number, race in enumerate(self._races):
            race.fault = self._fault(race, _is_done(pausing, number), _is_done(adding, number))
        return self._races

    def _fault(self, race: Race, change_is_done: bool, beside_is_done: bool) -> Evidence | None:
        change, beside = race.change, race.beside
        new = [change.new] if change.new and change_is_done else []
        added = [beside.new] if beside.new and beside_is_done else []
        gone = [change.gone] if change.gone and change_is_done else []
        back = changes.brought(self._run, [*new, *added, *gone, *self._kept])
        wanted = [fact for fact in (*new, *added, *self._kept) if fact not in back]
        lost = losses.lost(self._run, wanted) if wanted else []
        if lost:
            told = f"{beside.what} in the midst of {change.what}"
            return NotRecalled(texts=(lost[0].text,), lead=f"{told}: ")
        if [fact for fact in gone if fact in back]:
            told = f"{change.what} with {beside.what} in its midst"
            return Recalled(texts=(gone[0].text,), lead=f"{told}: ", tail=" is still there")
        return None

    def faults_in_turn(self, *, beside_first: bool, sessions: int) -> list[Evidence]:
        """The losses if the calls are made one after the other, in one session or in two."""
        for race in self._races:
            pair = [race.beside, race.change] if beside_first else [race.change, race.beside]
            for calls in [pair] if sessions == 1 else [[change] for change in pair]:
                with self._run.session() as subject:
                    key = str(self._run.freshness.config["session_key"])
                    for change in calls:
                        routes.tolerant(functools.partial(_make, subject, change, key))
        return [fault for race in self._races if (fault := self._fault(race, True, True))]


def _let_work(host: HostProcess, made: str) -> None:
    """
    Wait until a host has made its call, or waits for a lock.

    One that computes, is kept from a processor, or waits for a disk has not come to a lock yet. To
    go on then would have the race pass without a call in the midst of another one.
    """
    for _ in range(_MOST_WAITS):
        work = host.work()
        if host.comes_to_one_of(made, within_s=_AWAITED_S):
            return
        if work.done_s() < _AWAITED_S / 3 and not work.is_at_a_disk():
            return


def _make(subject: Subject, change: Change, key: str) -> None:
    told = json.loads(json.dumps(change.told()).replace(json.dumps(SESSION), json.dumps(key)))
    if change.operation == "record":
        subject.begin(str(told["arguments"][0]))
        subject.turning.ends()
    call = subject._use  # noqa: SLF001 - any operation
    call(change.operation, *told["arguments"], **told["keywords"])


def _watched(run: Run, facts: list[Fact]) -> list[str]:
    """The files in which the facts are found, and what SQLite keeps beside each."""
    found = [str(path) for path in store_files.files(run, facts)]
    return [name + end for name in found for end in ("", *store_files.BESIDE) if end != "-shm"]


def _is_done(ended: Ended, number: int) -> bool:
    sign = f"made {number} done "
    found = [mark.removeprefix(sign) for mark in ended.marks if mark.startswith(sign)]
    return bool(found) and not tool_results.refused(json.loads(found[0]))
