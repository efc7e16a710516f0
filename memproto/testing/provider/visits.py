"""
Visits: sessions that are played on a provider as a script says, with the time of each call.

A check asks one question and decides. A script is for those who measure: it holds many sessions of
ordinary calls, and decides nothing. A visit is one instance from `initialize` to `shutdown`. The
script and what came of it are files, since both are far longer than a message of a child may be.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TextIO

from memproto.testing.clauses import Untestable, Violation
from memproto.testing.provider import routes
from memproto.testing.provider.preparation import PREWARM_S
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised, Subject
from memproto.testing.wire import show

#: One call of a visit: its kind, and then its arguments.
#:
#: - `turn`, user, assistant, turn id, begin, end: a finished turn is recorded.
#: - `write`, text: a write of the memory tool is mirrored.
#: - `recall`, query: the answer is kept.
#: - `items`, query, characters: the texts of the items are kept.
Step = tuple[Any, ...]

#: Empty answers for which preparing one in advance is tried in a process, if that never helps.
_MOST_PREPARED = 3

#: After so many visits in a row that could not begin, none is tried any more.
_MOST_UNOPENED = 3


@dataclasses.dataclass(frozen=True)
class Visit:
    """
    One session to play.

    Attributes:
        session: Its key.
        user: The `user_id` that its config holds.
        steps: The calls, in order.

    """

    session: str
    user: str
    steps: Sequence[Step]


@dataclasses.dataclass
class Played:
    """
    The course of one visit.

    Attributes:
        number: Its place in the script.
        times: The operation and the seconds of each call, in the order in which they returned.
        texts: Place of a step to what recall answered: a text, or None.
        items: Place of a step to the texts of the items, the best first.
        faults: Place of a step, or -1 for the begin and -2 for the end, to what was raised.

    """

    number: int
    times: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    texts: dict[int, str | None] = dataclasses.field(default_factory=dict)
    items: dict[int, list[str]] = dataclasses.field(default_factory=dict)
    faults: dict[int, str] = dataclasses.field(default_factory=dict)

    #: The places in `faults` of what is no step.
    BEGIN = -1
    END = -2

    @property
    def refusals(self) -> list[str]:
        """The faults of the steps, in order; a begin or an end is no step."""
        return [said for at, said in sorted(self.faults.items()) if at >= 0]

    @classmethod
    def from_dict(cls, data: Any) -> "Played":
        """
        The values of one line, read from a process in which a stranger's code ran.

        Raises:
            ValueError: They are not those of a visit.

        """
        try:
            return cls(
                number=_checked(data["number"], int),
                times=[(_checked(name, str), _seconds(took_s)) for name, took_s in data["times"]],
                texts={
                    int(at): text if text is None else _checked(text, str)
                    for at, text in data["texts"].items()
                },
                items={
                    int(at): [_checked(text, str) for text in texts]
                    for at, texts in data["items"].items()
                },
                faults={int(at): _checked(said, str) for at, said in data["faults"].items()},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no visit: {error}") from None


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} where {kind.__name__} belongs")
    return value


def _seconds(value: Any) -> float:
    if not 0 <= _checked(value, float) < math.inf:
        raise ValueError(f"a call took {value} s")
    found: float = value
    return found


def write(file: Path, visits: Sequence[Visit], first: int = 0) -> None:
    """Write a script, a line for each visit; they are numbered from `first` on."""
    # A text of many megabytes that is read at once would hold the interpreter of the child.
    with file.open("w", encoding="ascii") as sink:
        for at, visit in enumerate(visits):
            sink.write(json.dumps({"number": first + at, **vars(visit)}) + "\n")


def play(run: Run, script: Path, kept: Path, budget_s: float) -> tuple[int, bool]:
    """
    Play a script, and write a line for each visit to `kept` as soon as it is over.

    Gives the number of visits that were played to their end, and whether that is all of them. It
    ends early once `budget_s` is over, between two calls, and if no session begins any more. The
    user's `settle` is waited for at the end.
    """
    end = monotonic() + budget_s
    done = unopened = 0
    habits, is_whole = _Habits(), True
    with script.open(encoding="ascii") as rows, kept.open("a", encoding="ascii") as sink:
        for row in map(json.loads, rows):
            visit = Visit(row["session"], row["user"], row["steps"])
            whole = _Play(run, visit, Played(row["number"]), habits).through(end, sink)
            unopened = 0 if whole else unopened + 1
            is_whole, done = is_whole and whole, done + whole
            if monotonic() >= end or unopened >= _MOST_UNOPENED:
                is_whole = is_whole and next(rows, None) is None
                break
    run.settle()
    return done, is_whole


class _Habits:
    """Facts about a provider that are found out while it is asked."""

    def __init__(self) -> None:
        self._helped = self._failed = 0

    @property
    def may_prepare(self) -> bool:
        """True if an answer that is empty may come once it is prepared."""
        return bool(self._helped) or self._failed < _MOST_PREPARED

    def note(self, *, helped: bool) -> None:
        """Note if preparing an answer brought one."""
        self._helped += helped
        self._failed += not helped


class _Play:
    """One visit under way."""

    def __init__(self, run: Run, visit: Visit, played: Played, habits: _Habits) -> None:
        self._run, self._visit, self._played = run, visit, played
        self._habits = habits
        self._extensions = run.declared("extensions", [])
        self._is_behind = run.declared("recall_basis", "query") == "previous"
        self._prepares = False

    def through(self, end: float, sink: TextIO) -> bool:
        """Play it; False if its session did not begin, or its time was over before its end."""
        self._run.watch.timed = self._note
        try:
            return self._played_in(end)
        finally:
            self._run.watch.timed = None
            sink.write(json.dumps(vars(self._played)) + "\n")
            sink.flush()

    def _note(self, operation: str, took_s: float) -> None:
        self._played.times.append((operation, took_s))

    def _played_in(self, end: float) -> bool:
        opened: list[Subject] = []
        visit = self._visit
        self._tried(
            Played.BEGIN,
            lambda: opened.append(self._run.open(session=visit.session, user_id=visit.user)),
        )
        if not opened:
            self._run.finish()
            return False
        subject = opened[0]
        self._prepares = "prewarm" in self._extensions and subject.has("prewarm")
        is_whole = True
        for at, step in enumerate(visit.steps):
            if monotonic() >= end:
                is_whole = False
                break
            self._tried(at, lambda at=at, step=step: self._make(subject, at, step))  # type: ignore[misc]
        self._tried(Played.END, lambda: self._run.close(subject))
        return is_whole

    def _tried(self, at: int, call: Callable[[], object]) -> None:
        try:
            call()
        except HookRaised as failure:
            self._played.faults[at] = f"{failure.operation}: {show(failure.error)}"
        except (HookLate, Untestable, Violation) as failure:
            self._played.faults[at] = f"{type(failure).__name__}: {failure}"

    def _make(self, subject: Subject, at: int, step: Step) -> None:
        kind, *given = step
        if kind == "turn":
            self._record(subject, given)
        elif kind == "write":
            subject.write(given[0])
        elif kind == "recall":
            self._played.texts[at] = self._recall(subject, given[0])
        else:
            found = subject.items({"query": given[0], "budget_chars": given[1]})
            items = found.get("items", []) if isinstance(found, dict) else []
            texts = [item.get("text") for item in items if isinstance(item, dict)]
            self._played.items[at] = [text for text in texts if isinstance(text, str)]

    def _record(self, subject: Subject, turn: Sequence[str]) -> None:
        """Record a turn as a host does: with its id and its times where that is served."""
        user, assistant, turn_id, began, ended = turn
        if "record" not in self._extensions:
            subject.record(user, assistant)
            return
        subject.begin(user)
        subject.turning.ends()
        subject.record_turn(
            {
                "turn_id": turn_id,
                "session_id": self._visit.session,
                "started_at": began,
                "ended_at": ended,
                "user_message": user,
                "assistant_response": assistant,
            }
        )

    def _recall(self, subject: Subject, query: str) -> str | None:
        """The answer to a question, prepared in advance where the provider asks for that."""
        if self._is_behind and not self._prepares:
            subject.record(query, "Let me see.")
        found: str | None = routes.recalled(subject, query)
        if found or not (self._prepares and self._habits.may_prepare):
            return found
        # Times are those of one question, and not of asking again until there is an answer.
        self._run.watch.timed = None
        try:
            end = monotonic() + PREWARM_S
            subject.prewarm(query)
            while not (found := routes.recalled(subject, query)) and monotonic() < end:
                sleep(subject.poll_s)
        finally:
            self._run.watch.timed = self._note
        self._habits.note(helped=bool(found))
        return found
