"""Speed and growth: the times of each operation, and what a store takes, at several sizes."""

import dataclasses
import itertools
import time
from collections.abc import Iterable, Sequence

from memproto.measure import intervals, invented
from memproto.measure.player import Course, Player, Unmeasurable
from memproto.measure.recalling import LIMITS, route, step_of
from memproto.testing.provider.visits import Step, Visit

#: Numbers of turns at which a store is measured, unless others are asked for.
SIZES = (100, 1_000, 10_000)

#: Turns of one session while a store grows.
_SESSION_TURNS = 50

#: Turns of one script, so that a budget ends a large one soon.
_SCRIPT_TURNS = 10_000

#: The last sessions before a size, of which the times count for it.
_LATEST = 4

#: Processes that only ask, the sessions of each, and the questions of each session. A process of
#: its own shows what differs from one to the next, which many calls in one process do not.
_PROCESSES, _ASKING, _QUESTIONS = 4, 5, 5

#: Sessions that only write, and the writes of each.
_WRITING, _WRITES = 4, 5

#: A store that refused a larger share of its turns is not as large as it is said to be.
_MOST_REFUSED = 0.1

#: Operation as a reader knows it to those of the specification that serve it.
OPERATIONS = {
    "recall": ("recall",),
    "record": ("record", "record_turn"),
    "write": ("mirror",),
    "start": ("open",),
    "shutdown": ("close",),
}


@dataclasses.dataclass
class Size:
    """
    A store of one size.

    Attributes:
        turns: Number of turns that it was told.
        times_s: Operation of `OPERATIONS` to the seconds of each call, in parts: those of one
            process, or of one session.
        disk_bytes: The length of its files.
        memory_bytes: The memory that sessions that ask add to a fresh process.
        calls_per_turn: Calls to servers of this machine for each turn that was told, sessions
            included; None where that cannot be seen.
        calls_per_recall: The same for each question.

    """

    turns: int
    times_s: dict[str, list[list[float]]]
    disk_bytes: int
    memory_bytes: int
    calls_per_turn: float | None
    calls_per_recall: float | None


@dataclasses.dataclass
class Growth:
    """The sizes that were measured, and why others were not."""

    sizes: list[Size] = dataclasses.field(default_factory=list)
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)

    def slopes(self) -> dict[str, float | None]:
        """The power of the size by which the median of each operation, and the disk, grow."""
        at = [float(size.turns) for size in self.sizes]
        found: dict[str, float | None] = {}
        for name in OPERATIONS:
            taken = [size.times_s.get(name) for size in self.sizes]
            medians = [intervals.percentile(flat(parts), 0.5) for parts in taken if parts]
            found[name] = intervals.slope(at, medians) if len(medians) == len(at) else None
        found["disk"] = intervals.slope(at, [float(size.disk_bytes) for size in self.sizes])
        return {name: None if value is None else round(value, 2) for name, value in found.items()}


def measured(player: Player, sizes: Sequence[int], seed: int, budget_s: float) -> Growth:
    """
    Let one store grow, and measure it at each size, as far as the budget goes.

    Raises:
        Unmeasurable: The target stores neither turns nor writes of a host.

    """
    growth = Growth()
    growing = _Growing(player, seed, max(sizes), time.monotonic() + budget_s)
    for size in sorted(sizes):
        try:
            growth.sizes.append(growing.to(size))
        except Unmeasurable as fault:
            more = " and more" if size < max(sizes) else ""
            growth.left_out[f"{size:,} turns{more}"] = str(fault)
            if growing.is_full and not growth.sizes:
                growth.sizes.append(growing.as_it_is())
            break
    if growing.route == "writes":
        growth.left_out["record"] = "it stores no turns: they were told as writes"
    return growth


class _Growing:
    """One store under way."""

    def __init__(self, player: Player, seed: int, most: int, end: float) -> None:
        self.route = route(player)
        self._player, self._seed, self._end = player, seed, end
        self._turns = invented.conversation(seed, most)
        self._store = player.store()
        self._user = f"p1-{self._store.mark}"
        self._told = self._refused = self._sessions = 0
        self._latest = Course()
        self._has_one_session = "session" in player.contact.capabilities.get("isolates", ())

    def to(self, size: int) -> Size:
        """
        Tell turns until there are so many, and measure.

        Raises:
            Unmeasurable: It was not told to the end, or refused too much.

        """
        return self._measured(size, self._tell(size - self._told))

    def as_it_is(self) -> Size:
        """Measure a store that takes no more turns, with those that it took."""
        return self._measured(self._told - self._refused, self._latest)

    @property
    def is_full(self) -> bool:
        """True if it took some turns, and refused others."""
        return 0 < self._refused < self._told

    def _measured(self, size: int, telling: Course) -> Size:
        disk_bytes = self._store.size_bytes()
        asked = invented.asked_at_random(self._seed + size, _PROCESSES * _ASKING * _QUESTIONS)
        questions = [("recall", text) for text in asked]
        asking = [self._asked(part) for part in _parts(questions, _ASKING * _QUESTIONS)]
        writing = self._written(size)
        for course in (*asking, writing):
            if not course.is_ended:
                raise Unmeasurable(f"{course.why}, while a store of {size:,} turns was asked")
        is_told = self.route == "turns"
        times = {
            "recall": [_times(one, "recall") for one in asking],
            "record": _by_session(telling, "record")[-_LATEST:] if is_told else [],
            "write": _by_session(writing, "write"),
            "start": [_times(one, "start") for one in asking],
            "shutdown": [_times(one, "shutdown") for one in asking],
        }
        kept = {name: [part for part in parts if part] for name, parts in times.items()}
        added = [one.memory_bytes - one.idle_bytes for one in asking if one.memory_bytes]
        calls = [one.backend_calls for one in asking]
        return Size(
            size,
            {name: parts for name, parts in kept.items() if parts},
            disk_bytes,
            max(0, int(intervals.percentile(added, 0.5))) if added else 0,
            _each(telling.backend_calls, len(_times(telling, "record" if is_told else "write"))),
            _each(None if None in calls else sum(map(int, filter(None, calls))), len(questions)),
        )

    def _asked(self, questions: Sequence[Step]) -> Course:
        parts = _parts(questions, _QUESTIONS)
        return self._play([Visit(self._session(), self._user, part) for part in parts])

    def _written(self, size: int) -> Course:
        if self._player.contact.routes.get("writes") not in ("declared", "observed"):
            return Course(is_ended=True)
        made = invented.conversation(self._seed + size, _WRITING * _WRITES)
        parts = _parts([("write", turn.user) for turn in made], _WRITES)
        return self._play([Visit(self._session(), self._user, part) for part in parts])

    def _tell(self, count: int) -> Course:
        """Tell so many turns, of which the last script is given."""
        course = Course(is_ended=True)
        while count > 0:
            course = self._tell_some(min(count, _SCRIPT_TURNS))
            count -= _SCRIPT_TURNS
        return course

    def _tell_some(self, count: int) -> Course:
        visits = []
        turns = list(itertools.islice(self._turns, count))
        for first in range(0, count, _SESSION_TURNS):
            part = turns[first : first + _SESSION_TURNS]
            at = self._told + first
            mark = f"{self._store.mark}-t"
            steps = [step_of(self.route, turn, f"{mark}{at + n}") for n, turn in enumerate(part)]
            visits.append(Visit(self._session(), self._user, steps))
        course = self._play(visits)
        if not course.is_ended:
            told = self._told + _SESSION_TURNS * len(course.played)
            raise Unmeasurable(f"{course.why}, after about {told:,} turns")
        self._told, self._latest = self._told + count, course
        faults = [said for one in course.played.values() for said in one.refusals]
        faults += [course.why] * sum(len(visits[at].steps) for at in course.lost)
        self._refused += len(faults)
        if self._refused > _MOST_REFUSED * self._told:
            said = f"{self._refused:,} of {self._told:,} turns were not taken: {faults[0][:160]}"
            raise Unmeasurable(self._player.hide(said))
        return course

    def _session(self) -> str:
        self._sessions += 1
        number = "" if self._has_one_session else f"-{self._sessions}"
        return f"measure-{self._store.mark}{number}"

    def _play(self, visits: Sequence[Visit]) -> Course:
        left_s = max(0.0, self._end - time.monotonic())
        return self._player.play(self._store, visits, budget_s=left_s, limits=LIMITS)


def flat(parts: Iterable[Sequence[float]]) -> list[float]:
    """The calls of all parts."""
    return list(itertools.chain.from_iterable(parts))


def _parts(values: Sequence[Step], size: int) -> list[Sequence[Step]]:
    return [values[first : first + size] for first in range(0, len(values), size)]


def _by_session(course: Course, name: str) -> list[list[float]]:
    """The times of an operation in each visit, in order."""
    wanted = OPERATIONS[name]
    return [
        [took_s for operation, took_s in course.played[number].times if operation in wanted]
        for number in sorted(course.played)
    ]


def _times(course: Course, name: str) -> list[float]:
    return flat(_by_session(course, name))


def _each(calls: int | None, of: int) -> float | None:
    return None if calls is None or not of else round(calls / of, 2)
