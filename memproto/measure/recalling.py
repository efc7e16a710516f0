"""Recall of evidence: a corpus is told to a target, which is started anew and asked."""

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence

from memproto.measure.corpus import Corpus, Kind, Person, Question, Turn
from memproto.measure.player import Course, Player, Unmeasurable
from memproto.measure.scoring import LIMIT_CHARS, Answer, Marked, marked
from memproto.testing.provider.visits import Played, Step, Visit

#: The limits that each session is given.
LIMITS = {"recall_chars": LIMIT_CHARS}

#: Questions of one session.
_ASKED_TOGETHER = 10

#: Seconds for which a store that is fresh only after a while is waited for, at most.
_MOST_FRESH_S = 60.0

#: Characters of a fault that are told.
_FAULT_CHARS = 200

#: Words of a reader for the routes by which turns are told.
ROUTES = {"turns": "turn", "writes": "write"}


@dataclasses.dataclass
class Recalled:
    """
    The recall of one target, over all repeats.

    Attributes:
        route: The route by which the turns were told: turns or writes.
        repeats: The marked answers of each repeat.
        answers: Question id to its answer, of the first repeat.
        told: Number of turns that were told.
        refused: Number of those that it did not take.
        faults: Number of questions that raised, or were lost with their process.
        left_out: Subject to the reason for which it was not measured.
        notes: Circumstances that a reader has to know.

    """

    route: str
    repeats: list[list[Marked]] = dataclasses.field(default_factory=list)
    answers: dict[str, Answer] = dataclasses.field(default_factory=dict)
    told: int = 0
    refused: int = 0
    faults: int = 0
    left_out: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)


def route(player: Player) -> str:
    """
    The route by which a target is told: turns if it stores them, else writes.

    Raises:
        Unmeasurable: It stores neither; a text that its own tools alone store is told by a model.

    """
    known = player.contact.routes
    for name in ROUTES:
        if known.get(name) in ("declared", "observed"):
            return name
    found = ", ".join(name for name, how in known.items() if how in ("declared", "observed"))
    by = f"it stores by {found} alone" if found else "it brought nothing back at first contact"
    raise Unmeasurable(f"no turn and no write of a host comes back: {by}")


def measured(player: Player, corpora: Sequence[Corpus], budget_s: float) -> Recalled:
    """
    Tell and ask each corpus, with a fresh store for each.

    Raises:
        Unmeasurable: As `route`; or the first corpus was not told and asked to its end.

    """
    recalled, end = Recalled(route(player)), time.monotonic() + budget_s
    keeps_users_apart = "user" in player.contact.capabilities.get("isolates", ["profile"])
    if not keeps_users_apart:
        said = "it does not declare that users are kept apart; each person had a store alone"
        recalled.left_out["other"] = said
    for corpus in corpora:
        kinds: tuple[Kind, ...] = () if keeps_users_apart else ("other",)
        asked = corpus.without(kinds)
        try:
            answers = _repeat(player, asked, recalled, end, is_shared=keeps_users_apart)
        except Unmeasurable as fault:
            if not recalled.repeats:
                raise
            recalled.note(f"{len(recalled.repeats)} of {len(corpora)} repeats: {fault}")
            break
        recalled.repeats.append(marked(asked, answers))
        recalled.answers = recalled.answers or answers
    return recalled


def _repeat(
    player: Player, corpus: Corpus, recalled: Recalled, end: float, *, is_shared: bool
) -> dict[str, Answer]:
    everyone = range(len(corpus.people))
    answers: dict[str, Answer] = {}
    for group in [list(everyone)] if is_shared else [[place] for place in everyone]:
        answers |= _Group(player, corpus, group, recalled, end).asked()
    return answers


class _Group:
    """People whose turns lie in one store."""

    def __init__(
        self, player: Player, corpus: Corpus, places: list[int], recalled: Recalled, end: float
    ) -> None:
        self._player, self._corpus, self._places = player, corpus, places
        self._recalled, self._end = recalled, end
        self._contact = player.contact
        isolates = self._contact.capabilities.get("isolates", ())
        self._has_one_session = "session" in isolates
        self._store = player.store()

    def asked(self) -> dict[str, Answer]:
        """Tell, start anew, ask; the answers by question."""
        questions = [item for item in self._corpus.questions if item.person in self._places]
        if not questions:
            return {}
        self._tell()
        time.sleep(min(_MOST_FRESH_S, self._freshness_s()))
        return self._ask(questions)

    def _play(self, visits: Sequence[Visit]) -> Course:
        left_s = max(0.0, self._end - time.monotonic())
        return self._player.play(self._store, visits, budget_s=left_s, limits=LIMITS)

    def _freshness_s(self) -> float:
        """Seconds after which all is there; none if a `settle` has waited for it."""
        if self._player.order.settings.settle:
            return 0.0
        consistency = self._contact.capabilities.get("consistency", "immediate")
        eventual = consistency.get("eventual") if isinstance(consistency, dict) else None
        found = eventual.get("freshness_s", 0) if isinstance(eventual, dict) else 0
        scale = self._player.order.scale
        return found * scale if isinstance(found, int | float) and 0 < found < math.inf else 0.0

    # -- told -------------------------------------------------------------------------------------

    def _tell(self) -> None:
        visits = [self._telling(person, at) for person, at in self._sessions()]
        course = self._play(visits)
        steps = sum(len(visit.steps) for visit in visits)
        if not course.is_ended:
            raise Unmeasurable(f"the turns were not told to the end: {course.why}")
        self._note_lost(course, "turns were told")
        self._recalled.told += steps
        faults = [said for played in course.played.values() for said in played.refusals]
        if faults and not self._recalled.refused:
            self._note_first("turn that it did not take", faults[0])
        self._recalled.refused += len(faults) + sum(len(visits[at].steps) for at in course.lost)
        self._note_ends(course)

    def _sessions(self) -> Iterator[tuple[Person, int]]:
        """All sessions of the group in the order of time."""
        people = [self._corpus.people[place] for place in self._places]
        found = [
            (session.turns[0].began, person, at)
            for person in people
            for at, session in enumerate(person.sessions)
            if session.turns
        ]
        for _, person, at in sorted(found, key=lambda item: (item[0], item[1].id)):
            yield person, at

    def _telling(self, person: Person, at: int) -> Visit:
        session = person.sessions[at]
        steps = [
            step_of(self._recalled.route, turn, f"{self._store.mark}-{session.id}-t{number}")
            for number, turn in enumerate(session.turns)
        ]
        return Visit(self._key(person, session.id), self._user(person), steps)

    def _key(self, person: Person, session: str) -> str:
        name = person.id if self._has_one_session else session
        return f"measure-{self._store.mark}-{name}"

    def _user(self, person: Person) -> str:
        return f"{person.id}-{self._store.mark}"

    def _note_lost(self, course: Course, when: str) -> None:
        if course.lost:
            self._recalled.note(f"sessions were lost while {when}: {course.why}")

    def _note_ends(self, course: Course) -> None:
        ends = [played.faults.get(Played.END) for played in course.played.values()]
        for said in filter(None, ends):
            self._note_first("session that did not end well", said)
            return

    def _note_first(self, thing: str, said: str) -> None:
        about = f"the first {thing}: "
        if not any(note.startswith(about) for note in self._recalled.notes):
            self._recalled.note(about + self._player.hide(said)[:_FAULT_CHARS])

    # -- asked ------------------------------------------------------------------------------------

    def _ask(self, questions: list[Question]) -> dict[str, Answer]:
        has_items = "items" in self._contact.capabilities.get("extensions", ())
        visits: list[Visit] = []
        asked: dict[tuple[int, int], str] = {}
        for place in self._places:
            person = self._corpus.people[place]
            mine = [item for item in questions if item.person == place]
            for first in range(0, len(mine), _ASKED_TOGETHER):
                steps: list[Step] = []
                for item in mine[first : first + _ASKED_TOGETHER]:
                    asked[len(visits), len(steps)] = item.id
                    steps.append(("recall", item.text))
                    if has_items:
                        steps.append(("items", item.text, LIMIT_CHARS))
                key = self._key(person, f"asked-{person.id}-{first}")
                visits.append(Visit(key, self._user(person), steps))
        course = self._play(visits)
        if not course.is_ended:
            said = f"it was not asked to the end: {course.why}"
            if course.is_late:
                # The questions that were reached are no fair part of all.
                raise Unmeasurable(said)
            self._recalled.note(said)
        self._note_lost(course, "it was asked")
        self._note_ends(course)
        found = {
            question_id: self._answer(course, visit, step, has_items=has_items)
            for (visit, step), question_id in asked.items()
        }
        faults = [answer.fault for answer in found.values() if answer.fault]
        if faults:
            self._note_first("question that raised", faults[0])
        self._recalled.faults += len(faults)
        return found

    def _answer(self, course: Course, visit: int, step: int, *, has_items: bool) -> Answer:
        played = course.played.get(visit)
        if played is None:
            return Answer("", None, course.why)
        fault = played.faults.get(step, "") or played.faults.get(Played.BEGIN, "")
        items = tuple(played.items.get(step + 1, ())) if has_items else None
        return Answer(played.texts.get(step) or "", items, self._player.hide(fault))


def step_of(route: str, turn: Turn, turn_id: str) -> Step:
    """The call by which a turn is told."""
    if route == "writes":
        return ("write", turn.user)
    return ("turn", turn.user, turn.assistant, turn_id, turn.began, turn.ended)
