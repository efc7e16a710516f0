"""
Plausible facts to plant: sentences that an extracting memory keeps, each with a unique name.

A marker such as `canary-8f3a` is dropped by providers that store what matters to a user; a
person's or a place's name is kept, by verbatim and by deriving stores alike.
"""

import dataclasses
import itertools
import random
import re
import unicodedata
from collections.abc import Callable, Iterable

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
    # For who makes "The user's dentist is ..." of it, and keeps no other noun.
    ("My {role} is {name}.", "Who is my {role}?"),
)

#: Number of the sentences for everybody; the others are for a provider that keeps none of these.
USUAL = 5

#: Two of these say nothing against each other: one may keep several.
_NUMBERED = (
    "I keep a locker in the hall {about}, with the number {number}.",
    "Which lockers do I keep in the hall {about}?",
)

#: As long as no other number of a recall is.
_NUMBERS = range(10**8, 10**9)

_ROLES = (
    *("dentist", "landlord", "sister", "neighbour", "tutor", "mechanic", "cousin", "barber"),
    *("editor", "lawyer", "uncle", "florist", "plumber", "trainer", "niece", "tailor"),
    *("banker", "cook", "gardener", "doctor", "nephew", "carpenter", "aunt", "painter"),
)

#: Number of facts that are tried at a time, of a provider that keeps some and not others.
_SIFTED = 16

#: If so many words one after the other are used already, longer ones are drawn.
_TRIES = 20

_CAPITALISED = re.compile(r"\b[A-Z]\w+")

#: No word to look for; a search that knows no such words finds them in every text.
_COMMON = frozenset({"the", "who", "does", "where", "which", "through", "works"})

#: The way of asking that a host uses, and the one that is tried first.
QUESTION = "question"

#: The way that holds the very name which is looked for, so that an echo has to be ruled out.
BY_NAME = "name"


def _key_words(fact: "Fact") -> str:
    """Words that the question and the text have in common, in the order of the text."""
    asked = set(re.findall(r"\w{3,}", fact.query))
    told = re.findall(r"\w{3,}", _before_the_name(fact))
    return " ".join(word for word in told if word in asked and word.lower() not in _COMMON)


def _before_the_name(fact: "Fact") -> str:
    return fact.text.partition(fact.name)[0].strip()


def _beginning(fact: "Fact") -> str:
    """The words with which the text begins that was handed over."""
    return (fact.whole or fact.text).partition(fact.name)[0].strip()


def _noun(fact: "Fact") -> str:
    """The proper noun that the question is about."""
    return " ".join(_CAPITALISED.findall(_before_the_name(fact), 1))


#: Ways to ask recall for a fact. A recall that compares words, or parts of a text, finds
#: nothing for a whole question, and the fact for one of the others. But for the last of them, none
#: holds the name that is looked for.
WAYS: dict[str, Callable[["Fact"], str]] = {
    QUESTION: lambda fact: fact.query,
    "key words": _key_words,
    "proper noun": _noun,
    "one word": lambda fact: _noun(fact).partition(" ")[0],
    "beginning": _beginning,
    "small letters": lambda fact: _noun(fact).lower(),
    "part of the name": lambda fact: fact.name.partition(" ")[0],
    BY_NAME: lambda fact: fact.name,
}


#: Functions that are told in which text a fact was looked for, and whether it is there.
listeners: list[Callable[..., None]] = []

_ACCENTS = str.maketrans("aeiou", "áéíóú")


def _folded(text: str) -> str:
    if text.isascii():
        # Of a 100 MB recall as well, without a look at each character.
        return text.casefold()
    letters = unicodedata.normalize("NFKD", text)
    return "".join(itertools.filterfalse(unicodedata.combining, letters)).casefold()


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """
    One thing to remember.

    Attributes:
        text: The sentence that is stored.
        query: Text that recall is asked for it: a question that it answers, or another of `WAYS`.
        name: The proper noun that occurs in no other fact of the run, nor in the question.
        whole: The text that was handed over, if the fact is only a part of it.
        question: The question, if recall is asked in another way.

    """

    text: str
    query: str
    name: str
    whole: str = dataclasses.field(default="", compare=False, kw_only=True)
    question: str = dataclasses.field(default="", compare=False, kw_only=True)

    def is_in(self, recalled: object) -> bool:
        """
        True if a recalled text brings this fact back.

        Case and accents make no difference, nor what a deriving memory puts between two words.
        """
        found = self.stands_in(recalled)
        for listener in listeners:
            listener(self, recalled, found=found)
        return found

    def stands_in(self, recalled: object) -> bool:
        """As `is_in`; nobody is told of this look."""
        return isinstance(recalled, str) and self._is_in(_folded(recalled))

    def _is_in(self, text: str) -> bool:
        return all(word in text for word in _folded(self.name).split())

    def asked(self, way: str) -> "Fact":
        """The same fact, asked for in one of `WAYS`."""
        plain = dataclasses.replace(self, query=self.question or self.query)
        return dataclasses.replace(
            plain, query=WAYS[way](plain) or plain.query, question=plain.query
        )

    def otherwise(self) -> list["Fact"]:
        """
        The same fact, asked for in each of `WAYS` in which it is not asked for now.

        None of the queries holds the name. A text of several lines is asked for by its first line
        as well.
        """
        queries = [self.asked(way).query for way in WAYS if way != BY_NAME]
        queries += _beginning(self).splitlines()[:1]
        others = [query for query in dict.fromkeys(queries) if query not in ("", self.query)]
        return [dataclasses.replace(self, query=query) for query in others]

    def by_its_words(self) -> list["Fact"]:
        """The same fact, asked for by words that hold its name: its own, and the whole text."""
        queries = dict.fromkeys((self.text, self.name, self.whole or self.text))
        return [dataclasses.replace(self, query=query) for query in queries]

    def within(self, whole: str) -> "Fact":
        """The same fact as a part of a longer text."""
        return dataclasses.replace(self, whole=whole)

    def accented(self) -> "Fact":
        """The same fact about a name with letters beyond ASCII."""
        return self.renamed(self.name.translate(_ACCENTS))

    def renamed(self, name: str) -> "Fact":
        """The same fact about another name."""
        text, query = (item.replace(self.name, name) for item in (self.text, self.query))
        return dataclasses.replace(self, text=text, query=query, name=name)


class Facts:
    """
    A source of facts; the same seed gives the same facts, no two of them share a name.

    Attributes:
        way: Of `WAYS`: how recall is asked for them.
        sift: Gives those of some facts that a provider keeps, where it keeps some and not others.

    """

    def __init__(self, seed: int) -> None:
        self.way = QUESTION
        self._random = random.Random(seed)
        self._used: set[str] = set()
        self._turn = itertools.cycle(range(USUAL))
        self._roles = itertools.cycle(_ROLES)
        self.sift: Callable[[list[Fact]], list[Fact]] | None = None
        self._kept: list[Fact] = []
        self._longer = 0

    def name(self) -> str:
        """A new proper noun: two words, pronounceable, never a part of another one."""
        return self._words((_FIRST, _MIDDLE, _MIDDLE, _LAST))

    def _words(self, syllables: tuple[tuple[str, ...], ...]) -> str:
        used_up = 0
        while True:
            drawn = (*syllables[:-1], *[_MIDDLE] * self._longer, syllables[-1])
            words = ["".join(map(self._random.choice, drawn)) for _ in range(2)]
            if not self._used.intersection(words) and words[0] != words[1]:
                self._used.update(words)
                return " ".join(words)
            used_up += 1
            if used_up == _TRIES:
                # Nearly all words of that length are used, as after a thousand facts.
                self._longer, used_up = self._longer + 1, 0

    def use(self, templates: Iterable[int]) -> None:
        """Make facts of these sentences from now on."""
        self._turn = itertools.cycle(templates)

    def of(self, template: int) -> Fact:
        """A new fact in the sentence with that number."""
        return self._told(*_TEMPLATES[template])

    def new(self) -> Fact:
        """A new fact."""
        if not self._kept and self.sift is not None:
            self._kept = self.sift([self.of(next(self._turn)) for _ in range(_SIFTED)])
        return self._kept.pop(0) if self._kept else self.of(next(self._turn))

    def like(self, fact: Fact) -> Fact:
        """A new fact in the same words but for the names: a ranking finds it as well as that."""
        alike = (row for row in _TEMPLATES if fact.text.startswith(row[0].split("{")[0]))
        return self._told(*next(alike))

    def numbered(self, count: int) -> list[Fact]:
        """`count` new facts of one sentence about one thing, in which a number alone differs."""
        about = self._words((_FIRST, _MIDDLE, _LAST))
        text, query = (row.replace("{about}", about) for row in _NUMBERED)
        numbers = self._random.sample(_NUMBERS, count)
        found = [Fact(text.format(number=n), query, str(n)) for n in numbers]
        return found if self.way == QUESTION else [fact.asked(self.way) for fact in found]

    def _told(self, text: str, query: str) -> Fact:
        # Shorter than a name: recall that shows the first hundred characters shows the whole fact.
        about, name = self._words((_FIRST, _MIDDLE, _LAST)), self.name()
        told = {"about": about, "name": name, "role": next(self._roles) if "{role}" in text else ""}
        fact = Fact(text.format(**told), query.format(**told), name)
        return fact if self.way == QUESTION else fact.asked(self.way)

    def several(self, count: int) -> list[Fact]:
        """`count` new facts."""
        return [self.new() for _ in range(count)]
