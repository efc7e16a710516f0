"""
One target as it is measured: first contact as for a verdict, then scripts in fresh processes.

The processes are those of a verdict: copies of a template with places of their own, confined to
loopback, with the user's settings and without the operator's credentials. A store lives as long as
its root; each script is played in a process that was started for it.
"""

import contextlib
import dataclasses
import itertools
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from memproto.testing.judging import fates
from memproto.testing.judging.children import CannotServe, Children
from memproto.testing.judging.judge import Judge
from memproto.testing.messages import CommandFailed, ScriptPlayed
from memproto.testing.processes import service, template, vitals
from memproto.testing.processes.answer import Answer
from memproto.testing.processes.commands import Place, Play
from memproto.testing.provider.visits import Played, Visit, write
from memproto.testing.settings.order import Contact, Order

#: A process that is lost takes its visit with it. The rest is left out after so many, if they are
#: so large a share of the visits until then.
_MOST_LOST, _LOST_SHARE = 3, 0.5

#: Seconds beyond its budget in which a script ends by itself.
_MARGIN_S = 60.0

#: A file that a child keeps for its parent may be so long; an answer has at most 64,000 characters.
_MOST_BYTES = 1 << 30


@dataclasses.dataclass
class Course:
    """
    The course of a script.

    Attributes:
        played: Number of a visit to its course; one that was lost, or not reached, is not there.
        is_ended: True if the script came to its end, though visits may have been lost on the way.
        lost: The visits that were lost with their process.
        is_late: True if it did not end since its time was over.
        why: Why it did not end, or how the last one was lost; else "".
        memory_bytes: The memory of the process at the end, and of those that it had started.
        idle_bytes: The same before the first visit.
        backend_calls: Times that a server of this machine was asked something; None where that
            cannot be seen.

    """

    played: dict[int, Played] = dataclasses.field(default_factory=dict)
    is_ended: bool = False
    lost: list[int] = dataclasses.field(default_factory=list)
    is_late: bool = False
    why: str = ""
    memory_bytes: int = 0
    idle_bytes: int = 0
    backend_calls: int | None = None


#: Why a script ended early that was given too little time.
OUT_OF_TIME = "the time for it was over"


class Unmeasurable(Exception):
    """Nothing can be measured of a target; the text says why."""


class Store:
    """
    A place that outlives processes: where one store of a target lies.

    Attributes:
        place: Its place, for the commands to a child.
        root: The directory of it.
        mark: A word that stands in every id of this store, since a server may keep several.

    """

    def __init__(self, place: Place, mark: str) -> None:
        self.place, self.mark = place, mark
        self.root = Path(place.root)

    def size_bytes(self) -> int:
        """The length of all files that lie there."""
        found = 0
        for folder, _, names in os.walk(self.root):
            for name in names:
                with contextlib.suppress(OSError):
                    info = os.lstat(Path(folder, name))
                    found += info.st_size if stat.S_ISREG(info.st_mode) else 0
        return found


@dataclasses.dataclass(frozen=True)
class _Part:
    """The visits for one process: the first one has the number `first` in the whole script."""

    store: Store
    visits: list[Visit]
    first: int
    budget_s: float
    limits: dict[str, int]


class Player:
    """
    Plays scripts on one target.

    Guarantees:
        `close` leaves no process behind. `play` returns, whatever the target does to its process.
    Assumes:
        One caller at a time. `root` is a directory that the caller removes after `close`.
    """

    def __init__(self, order: Order, root: Path) -> None:
        self.order = order
        self._judge = Judge(order, root)
        self.contact = Contact()
        self._folder = Path(tempfile.mkdtemp(prefix="measured-", dir=root))
        self._children: Children | None = None
        self._marks = itertools.count(1)

    def meet(self) -> Contact:
        """
        Make first contact.

        Raises:
            Unmeasurable: No session begins, so that there is nothing to measure.
            KitUsageError: As `Judge.meet`.

        """
        self.contact = self._judge.meet()
        if self.contact.blocked:
            raise Unmeasurable(self.hide(self.contact.blocked))
        self._children = Children(
            self.order, self.contact, self._judge.deaths, self._folder, flushes=True
        )
        return self.contact

    def hide(self, text: str) -> str:
        """A text without the credentials of the target and the places of this machine."""
        return self._judge.told(text)

    def store(self) -> Store:
        """A fresh place for a store."""
        assert self._children is not None
        mark = f"m{next(self._marks)}"
        return Store(self._children.place(f"measure-{mark}"), mark)

    def play(
        self, store: Store, visits: Sequence[Visit], *, budget_s: float, limits: dict[str, int]
    ) -> Course:
        """
        Play visits on a store in a fresh process; blocks until it is done, or its time is over.

        If a process is lost, the visits after the one under way are played in another one.
        """
        course = Course()
        left, first, end = list(visits), 0, time.monotonic() + budget_s
        while left:
            left_s = max(0.0, end - time.monotonic())
            answer = self._in_process(_Part(store, left, first, left_s, limits), course)
            if isinstance(answer, Answer) and isinstance(answer.reply, ScriptPlayed):
                course.is_ended = answer.reply.is_whole
                if not course.is_ended:
                    self._cut(course, end)
                return course
            course.why = self.hide(answer if isinstance(answer, str) else self._why(answer))
            # The visit under way is lost with its process.
            lost = max(max(course.played, default=-1) + 1, first)
            left, first = left[lost + 1 - first :], lost + 1
            if lost >= len(visits):
                # The last visit was over, and its process ended behind it.
                break
            course.lost.append(lost)
            if isinstance(answer, str) or self._is_hopeless(course, first):
                return course
        course.is_ended = True
        return course

    @staticmethod
    def _is_hopeless(course: Course, reached: int) -> bool:
        lost = len(course.lost)
        return lost >= _MOST_LOST and lost > _LOST_SHARE * reached

    def _cut(self, course: Course, end: float) -> None:
        """Note why a script ended before its last visit."""
        faults = course.played[max(course.played)].faults if course.played else {}
        if time.monotonic() < end and Played.BEGIN in faults:
            course.why = self.hide(f"no session began any more: {faults[Played.BEGIN]}")
            return
        course.is_late = True
        # Processes that end take the time in which others are started.
        before = f"; sessions were lost before: {course.why}" if course.why else ""
        course.why = OUT_OF_TIME + before

    def _in_process(self, part: "_Part", course: Course) -> Answer | str:
        """The answer of a fresh process, or why there is none; what it kept goes to the course."""
        assert self._children is not None
        service.assert_runs(self.contact.service, self.order.settings)
        try:
            self._children.start("measure")
        except CannotServe as fault:
            return fault.result.observed or fault.result.reason
        process = self._children.process
        assert process is not None
        store = part.store
        script, kept = (Path(f"{store.root}.{kind}") for kind in ("script", "kept"))
        write(script, part.visits, part.first)
        kept.write_bytes(b"")
        command = Play(store.place, str(script), str(kept), part.budget_s, part.limits)
        course.idle_bytes = _memory_bytes(process.pid)
        asked = template.exchanges(self.owner)
        answer = self._children.ask(command, part.budget_s + _MARGIN_S)
        if answer.fate == "answered":
            course.memory_bytes = _memory_bytes(process.pid)
        if asked is not None and not self.contact.unconfined:
            now = template.exchanges(self.owner) or asked
            course.backend_calls = (course.backend_calls or 0) + now - asked
        self._children.clean()
        self._children.dismiss()
        # A process that was started and disowned would keep open a store that is opened anew.
        vitals.end_strays(store.root)
        numbers = range(part.first, part.first + len(part.visits))
        for played in _kept(kept):
            if played.number in numbers:
                course.played[played.number] = played
        return answer

    @property
    def owner(self) -> str:
        """The owner of the template of its processes."""
        assert self._children is not None
        return self._children.owner

    def _why(self, answer: Answer) -> str:
        if isinstance(answer.reply, CommandFailed):
            return f"the kit failed: {answer.reply.text[-300:]}"
        return f"a process was lost: {fates.described(answer, self.contact.binding)}"

    def close(self) -> None:
        """End every process."""
        if self._children is not None:
            with contextlib.suppress(CannotServe):
                self._children.finish()
            self._children.dismiss()
            vitals.end_strays(self._folder)
        self._judge.close()


def _kept(file: Path) -> Iterator[Played]:
    """The visits that a process kept; lines that are none are left out."""
    with contextlib.suppress(OSError):
        if file.is_symlink() or file.stat().st_size > _MOST_BYTES:
            return
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with contextlib.suppress(ValueError, RecursionError):
                    yield Played.from_dict(json.loads(line))


def _memory_bytes(pid: int) -> int:
    """The memory that a process and its children alone hold; 0 if it is gone."""
    found = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                # A copy of a template shares most of its memory, which is not the target's.
                found += one.memory_full_info().uss
    return found
