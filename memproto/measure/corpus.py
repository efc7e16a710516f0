"""The corpus as values: people, their conversations, and questions with evidence in the turns."""

import dataclasses
import functools
import hashlib
import json
import random
from collections.abc import Iterable
from typing import Literal, get_args

Kind = Literal["single", "several", "update", "time", "near", "absent", "other"]

#: The kinds of questions, in the order of every table.
KINDS: tuple[Kind, ...] = get_args(Kind)

#: The kinds that have an answer in the turns of the person who asks.
ANSWERABLE: tuple[Kind, ...] = ("single", "several", "update", "time", "near")


@dataclasses.dataclass(frozen=True)
class Turn:
    """One turn: both texts, and when it began and ended, with the offset from UTC."""

    user: str
    assistant: str
    began: str
    ended: str

    @property
    def text(self) -> str:
        """The turn as a history shows it."""
        return f"{self.began[:10]} user: {self.user}\nassistant: {self.assistant}"


@dataclasses.dataclass(frozen=True)
class Session:
    """A conversation, with an id that no other session of the corpus has."""

    id: str
    turns: tuple[Turn, ...]


@dataclasses.dataclass(frozen=True)
class Person:
    """Someone who talks: an id, a name, and the sessions in the order of time."""

    id: str
    name: str
    sessions: tuple[Session, ...]

    @property
    def turns(self) -> list[Turn]:
        """All turns, in the order of time."""
        return [turn for session in self.sessions for turn in session.turns]


@dataclasses.dataclass(frozen=True)
class Span:
    """
    A piece of a turn that answers a question, or did once.

    Attributes:
        person, session, turn: Places in the corpus.
        side: The text of the turn that holds it.
        start, end: Its characters in that text.

    """

    person: int
    session: int
    turn: int
    side: Literal["user", "assistant"]
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Question:
    """
    One question.

    Attributes:
        id: Unique in the corpus.
        kind: See `KINDS`.
        person: The one who asks.
        text: The words of the question.
        evidence: All that has to be there for an answer; for `other`, what must not be.
        superseded: Spans that answered it once, and are wrong by now.

    """

    id: str
    kind: Kind
    person: int
    text: str
    evidence: tuple[Span, ...] = ()
    superseded: tuple[Span, ...] = ()


@dataclasses.dataclass(frozen=True)
class Corpus:
    """
    People and questions about what they said.

    Attributes:
        name: `invented`, or the name of a public one.
        people: Those who talk.
        questions: In the order in which they are asked.
        checksum: The sha256 of what it was made from; of the values themselves if that is "".
        is_loaded: True if it was read from a file of the user's.

    """

    name: str
    people: tuple[Person, ...]
    questions: tuple[Question, ...]
    checksum: str = ""
    is_loaded: bool = False

    def words(self, span: Span) -> str:
        """The text of a span."""
        return self.around(span)[span.start : span.end]

    def around(self, span: Span) -> str:
        """The text of the turn that holds a span."""
        turn = self.people[span.person].sessions[span.session].turns[span.turn]
        return turn.user if span.side == "user" else turn.assistant

    @functools.cached_property
    def digest(self) -> str:
        """The checksum, or one made of the values."""
        if self.checksum:
            return self.checksum
        values = [dataclasses.asdict(self)[key] for key in ("people", "questions")]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    @property
    def turn_count(self) -> int:
        """The number of turns of all people."""
        return sum(len(person.turns) for person in self.people)

    def shuffled(self, seed: int) -> "Corpus":
        """The same with its questions in another order."""
        questions = list(self.questions)
        random.Random(seed).shuffle(questions)
        return dataclasses.replace(self, questions=tuple(questions), checksum=self.digest)

    def without(self, kinds: Iterable[Kind]) -> "Corpus":
        """The same without the questions of some kinds."""
        left_out = set(kinds)
        kept = tuple(item for item in self.questions if item.kind not in left_out)
        return dataclasses.replace(self, questions=kept, checksum=self.digest)


def digest_of(corpora: Iterable[Corpus]) -> str:
    """One checksum for several corpora."""
    return hashlib.sha256("".join(item.digest for item in corpora).encode()).hexdigest()
