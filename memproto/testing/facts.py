"""
Plausible facts to plant: sentences that an extracting memory keeps, each with a unique name.

A marker such as `canary-8f3a` is dropped by providers that store what matters to a user; a
person's or a place's name is kept, by verbatim and by deriving stores alike.
"""

import dataclasses
import itertools
import random
import unicodedata
from collections.abc import Callable

_FIRST = ("Ori", "Vel", "Tam", "Bre", "Kas", "Lun", "Fen", "Mar", "Sol", "Dri", "Hal", "Nev")
_MIDDLE = ("da", "ri", "lo", "ve", "ntha", "mi", "rro", "sta", "che", "qui", "bel", "zan")
_LAST = ("ne", "k", "ssa", "lt", "ra", "th", "vik", "mont", "dal", "gren", "wick", "sted")

#: The question never holds the name that is looked for: a recall that repeats the question is none.
_TEMPLATES = (
    ("My sister {about} works on the tug {name}.", "Which tug does my sister {about} work on?"),
    (
        "The release manager of project {about} is {name}.",
        "Who is the release manager of project {about}?",
    ),
    ("I keep the boat {about} in the marina of {name}.", "Where do I keep the boat {about}?"),
    (
        "The customer {about} pays through the bank {name}.",
        "Through which bank does the customer {about} pay?",
    ),
    ("I meet my coach {about} at the cafe {name}.", "Where do I meet my coach {about}?"),
)


#: Who is told in which text a fact was looked for, and whether it is there.
listeners: list[Callable[..., None]] = []

_ACCENTS = str.maketrans("aeiou", "áéíóú")


def _folded(text: str) -> str:
    if text.isascii():
        # Of a 100 MB recall as well, without a look at each character.
        return text.casefold()
    letters = unicodedata.normalize("NFKD", text)
    return "".join(c for c in letters if not unicodedata.combining(c)).casefold()


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """
    One thing to remember.

    Attributes:
        text: The sentence that is stored.
        query: A question that it answers.
        name: The proper noun that occurs in no other fact of the run, nor in the question.

    """

    text: str
    query: str
    name: str

    def is_in(self, recalled: object) -> bool:
        """
        Whether a recalled text brings this fact back.

        Case and accents make no difference, nor what a deriving memory puts between two words.
        """
        found = isinstance(recalled, str) and self._is_in(_folded(recalled))
        for listener in listeners:
            listener(self, recalled, found=found)
        return found

    def _is_in(self, text: str) -> bool:
        return all(word in text for word in _folded(self.name).split())

    def accented(self) -> "Fact":
        """The same fact about a name with letters beyond ASCII."""
        name = self.name.translate(_ACCENTS)
        return Fact(self.text.replace(self.name, name), self.query, name)


class Facts:
    """A source of facts; the same seed gives the same facts, no two of them share a name."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._used: set[str] = set()
        self._turn = itertools.cycle(_TEMPLATES)

    def name(self) -> str:
        """A new proper noun: two words, pronounceable, never a part of another one."""
        return self._words((_FIRST, _MIDDLE, _MIDDLE, _LAST))

    def _words(self, syllables: tuple[tuple[str, ...], ...]) -> str:
        while True:
            words = ["".join(map(self._random.choice, syllables)) for _ in range(2)]
            if not self._used.intersection(words) and words[0] != words[1]:
                self._used.update(words)
                return " ".join(words)

    def new(self) -> Fact:
        """A new fact."""
        return self._told(*next(self._turn))

    def like(self, fact: Fact) -> Fact:
        """A new fact in the same words but for the names: a ranking finds it as well as that."""
        alike = (row for row in _TEMPLATES if fact.query.startswith(row[1].split("{about}")[0]))
        return self._told(*next(alike))

    def _told(self, text: str, query: str) -> Fact:
        # Shorter than a name: recall that shows the first hundred characters shows the whole fact.
        about, name = self._words((_FIRST, _MIDDLE, _LAST)), self.name()
        return Fact(text.format(about=about, name=name), query.format(about=about), name)

    def several(self, count: int) -> list[Fact]:
        """`count` new facts."""
        return [self.new() for _ in range(count)]
