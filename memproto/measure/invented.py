"""
The corpus that ships: a generator and a seed, which together give the same people every time.

Each value that a question asks for is made up, and stands in one turn only, so that to find it is
to have found the turn. No question holds the value that it asks for: repeating it brings nothing.
Some questions ask in other words than those in which the fact was told. The turns between the facts
are small talk, in words that questions use as well.
"""

import dataclasses
import datetime as dt
import random
from collections.abc import Iterator

from memproto.measure.corpus import Corpus, Kind, Person, Question, Session, Span, Turn

NAME = "invented"

#: Sessions of each person, over half a year, and the turns of each session.
SESSIONS, TURNS = 14, 12

PEOPLE = 4

_BEGIN = dt.datetime(2026, 1, 5, 8, 0, tzinfo=dt.timezone(dt.timedelta(hours=1)))
_DAYS = 180

_VALUE = "<v>"


@dataclasses.dataclass(frozen=True)
class _Slot:
    """A thing to know about a person: how it is told, asked by the person, and by another one."""

    told: str
    asked: str
    of_other: str = ""


#: Facts that are told once.
_SINGLE = (
    _Slot(
        f"My sister {_VALUE} visits us this weekend, so I need ideas for a dinner for three.",
        "What is the name of my sister?",
        "What is the name of {name}'s sister?",
    ),
    _Slot(
        f"We have a puppy since Saturday! He is called {_VALUE} and sleeps in my shoes.",
        "What is the name of our dog?",
        "What is the name of {name}'s dog?",
    ),
    _Slot(
        f"The dentist near the station was good, Dr. {_VALUE}. I will stay with that practice.",
        "Who looks after my teeth?",
        "Who looks after {name}'s teeth?",
    ),
    _Slot(
        f"Before the trip I left the spare key of the flat with our neighbour {_VALUE}.",
        "Who can let me in when I am locked out?",
        "Who can let {name} in when the door is locked?",
    ),
    _Slot(
        f"I am halfway through a novel, it is called {_VALUE}, and I cannot put it down.",
        "Which book was I reading?",
        "Which book was {name} reading?",
    ),
    _Slot(
        f"The hotel in the mountains was the {_VALUE}; we want to go back there one day.",
        "In which hotel did we stay in the mountains?",
        "In which hotel did {name} stay in the mountains?",
    ),
    _Slot(
        f"As a child I learnt the cello with a very strict teacher, Mrs. {_VALUE}.",
        "Who gave me lessons on my first instrument?",
        "Who gave {name} lessons on an instrument?",
    ),
    _Slot(
        f"Please keep in mind that I get a rash from {_VALUE} cream, the doctor said so today.",
        "Which ointment must I not use on my skin?",
        "Which ointment must {name} not use?",
    ),
    _Slot(
        f"Our sailing club is the {_VALUE}, down at the old harbour behind the cranes.",
        "Which sailing club are we members of?",
        "Which sailing club is {name} a member of?",
    ),
    _Slot(
        f"My grandmother came from a village called {_VALUE}, high up in the hills.",
        "From which village did my grandmother come?",
        "From which village did {name}'s grandmother come?",
    ),
    _Slot(
        f"The tea that helped against my headaches was {_VALUE}, from the shop at the corner.",
        "Which tea helped against my headaches?",
        "Which tea helped against {name}'s headaches?",
    ),
    _Slot(
        f"We chose a name for the boat at last: {_VALUE}. The paint is still wet.",
        "What is the name of our boat?",
        "What is the name of {name}'s boat?",
    ),
)

#: Facts in several turns of several sessions, all of which the answer needs.
_SEVERAL = (
    (
        "Who is invited to the garden party?",
        (
            f"For the garden party I have asked {_VALUE}, who brings the lanterns.",
            f"One more for the garden party: {_VALUE} said yes this morning.",
            f"The garden party grows, {_VALUE} from work wants to come too.",
        ),
    ),
    (
        "Which huts do we sleep in on the long hike?",
        (
            f"The first night of the long hike is booked, in the {_VALUE} hut.",
            f"For the middle of the long hike I found a bed in the {_VALUE} hut.",
        ),
    ),
    (
        "With whom do I make music?",
        (
            f"I started a band with {_VALUE}, who plays the drums far too loudly.",
            f"The band has a bass player now, {_VALUE}, found by a note at the bakery.",
            f"And a singer for the band: {_VALUE}. We rehearse on Tuesday.",
        ),
    ),
)

#: Facts that change: how each is told first and later, and how it is asked.
_UPDATES = (
    (
        f"I live in {_VALUE} Street now, second floor, with a view of the park.",
        f"We moved again! The new flat is in {_VALUE} Street, and it has a balcony.",
        "In which street do I live now?",
    ),
    (
        f"I signed the contract, I work for {_VALUE} from next week on.",
        f"I changed jobs: since Monday my employer is {_VALUE}, with better hours.",
        "Who pays my salary at present?",
    ),
    (
        f"My running partner on Sundays is {_VALUE}, we do ten kilometres.",
        f"My knee slowed us down, so on Sundays I run with {_VALUE} now, much slower.",
        "Who is my running partner now?",
    ),
    (
        f"The bank for our savings is {_VALUE}, their rates are fair.",
        f"We took the savings away from there and gave them to {_VALUE}, a smaller bank.",
        "At which bank are our savings now?",
    ),
)

#: Events of one sort on several days, of which a question names the day.
_EVENTS = (
    f"On {{date}} we went to a concert of {_VALUE}, and the hall was packed.",
    "Whose concert did we go to on {date}?",
)
_EVENT_COUNT, _EVENTS_ASKED = 6, 4

#: Turns that are alike but for two numbers, one of which the question names.
_NEAR = (
    f"Invoice {{number}} of the workshop came to {_VALUE} euros, and I paid it at once.",
    "To how much did invoice {number} of the workshop come?",
)
_NEAR_COUNT, _NEAR_ASKED = 10, 4

_SINGLE_COUNT, _ABSENT_COUNT, _OTHER_COUNT = 6, 3, 3

_REPLIES = (
    "Good to know. I will keep it in mind.",
    "Thanks for telling me, that sounds fine.",
    "Understood. Shall we go on with the list?",
    "Noted! Is there anything else for today?",
)

# Small talk is put together out of these; there are far more ways than turns.
_WISHES = (
    *("Could you help me to", "I would like to", "Remind me how to", "what is the best way to"),
    *("My friend asked how to", "Before the weekend I have to", "I never learnt how to"),
    *("Is it a good idea to", "Next month we plan to", "I wonder if I should"),
)
_DEEDS = (
    *("repair a bicycle tyre", "bake bread with rye", "write a letter to the landlord"),
    *("sort the photos of the trip", "choose a tent for the hike", "learn the rules of chess"),
    *("plant tomatoes on the balcony", "clean an old lamp", "plan a dinner for ten people"),
    *("read the small print of a contract", "tune a guitar", "paint the kitchen door"),
    *("compare two savings plans", "book a train to the coast", "keep a diary of my runs"),
    *("find a quiet street to park", "knit a scarf in one evening", "train a young dog"),
    *("make tea for a cold", "set up a backup of my notes", "fold a paper boat"),
    *("name a small company", "prepare a talk for Monday", "thank a teacher after the concert"),
)
_TAILS = (
    *("without spending much", "in less than an hour", "if the weather stays bad"),
    *("with the things that are at home", "before my sister arrives", "the way my parents did"),
    *("even though I have tried twice", "while the neighbours are away", "for a friend at work"),
    *("and what would you do first", "since the shop is closed", "now that it is warmer"),
)
_ANSWERS = (
    *("Begin with a list of the parts", "Take your time over it", "The first step is the longest"),
    *("Most people do it in two goes", "Ask somebody who has done it", "Try it on a small piece"),
)
_ENDS = (
    *("and look at it again tomorrow.", "and keep the receipt.", "then it will be easy."),
    *("and do not hurry.", "and write down what worked.", "so that nothing gets lost."),
)

#: Beginnings, middles and ends of made-up names.
_HEADS = (
    *("Bra", "Cor", "Del", "Fen", "Gar", "Hol", "Jor", "Kel", "Lum", "Mor", "Nav", "Ost", "Pel"),
    *("Quil", "Ros", "Sel", "Tav", "Ulm", "Ver", "Wil", "Yar", "Zan"),
)
_MIDDLES = ("va", "mi", "do", "re", "lu", "sta", "ne", "ri", "go", "ta", "bi", "co")
_TAILS_OF_NAMES = ("ndor", "lix", "mere", "sson", "wyn", "ric", "tello", "nka", "ptis", "rova")

_FIRST_NAMES = ("Amira", "Bengt", "Chiara", "Dmitri", "Esra", "Farid", "Greta", "Hugo")


class _Names:
    """Made-up names, none of which is a part of another one."""

    def __init__(self, random_: random.Random) -> None:
        heads, middles, tails = _HEADS, _MIDDLES, _TAILS_OF_NAMES
        every = [head + middle + tail for head in heads for middle in middles for tail in tails]
        random_.shuffle(every)
        self._names = iter(every)
        self._amounts = iter(random_.sample(range(10_000, 99_999), 400))
        self._numbers = iter(random_.sample(range(1_000, 9_999), 400))

    def name(self) -> str:
        """A name."""
        return next(self._names)

    def amount(self) -> str:
        """A sum of money, as 413.07."""
        cents = next(self._amounts)
        return f"{cents // 100}.{cents % 100:02}"

    def number(self) -> str:
        """A number of four digits."""
        return str(next(self._numbers))


@dataclasses.dataclass(frozen=True)
class _Told:
    """A sentence with a value in it, and the session in which it is said."""

    session: int
    text: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class _Asked:
    """A question, and which sentences of whom answer it, or did."""

    kind: Kind
    text: str
    evidence: tuple[_Told, ...] = ()
    superseded: tuple[_Told, ...] = ()
    of: int | None = None


class _Life:
    """One person: the facts of half a year, and what is asked about them."""

    def __init__(self, random_: random.Random, names: _Names, name: str) -> None:
        self._random, self._names = random_, names
        self.name = name
        slots = list(_SINGLE)
        random_.shuffle(slots)
        self.known: dict[_Slot, _Told] = {
            slot: self._tell(slot.told, self._session()) for slot in slots[:_SINGLE_COUNT]
        }
        unknown = slots[_SINGLE_COUNT:]
        self.absent, self.unasked = unknown[:_ABSENT_COUNT], unknown[_ABSENT_COUNT:]
        self.told: list[_Told] = [*self.known.values()]
        self.asked: list[_Asked] = [
            _Asked("single", slot.asked, (told,)) for slot, told in self.known.items()
        ]
        self.asked += [_Asked("absent", slot.asked) for slot in self.absent]
        for part in (self._several, self._updates, self._events, self._near):
            for asked in part():
                self.asked.append(asked)

    def _session(self, low: float = 0.0, high: float = 1.0) -> int:
        return self._random.randrange(int(SESSIONS * low), int(SESSIONS * high))

    def _tell(self, text: str, session: int, value: str = "") -> _Told:
        value = value or self._names.name()
        start = text.index(_VALUE)
        return _Told(session, text.replace(_VALUE, value), start, start + len(value))

    def _note(self, *told: _Told) -> tuple[_Told, ...]:
        self.told += told
        return told

    def _several(self) -> Iterator[_Asked]:
        for question, texts in _SEVERAL:
            places = sorted(self._random.sample(range(SESSIONS), len(texts)))
            told = [self._tell(text, at) for text, at in zip(texts, places, strict=True)]
            yield _Asked("several", question, self._note(*told))

    def _updates(self) -> Iterator[_Asked]:
        for first, later, question in _UPDATES:
            old = self._note(self._tell(first, self._session(0.0, 0.4)))
            new = self._note(self._tell(later, self._session(0.5, 1.0)))
            yield _Asked("update", question, new, old)

    def _events(self) -> Iterator[_Asked]:
        sessions = self._random.sample(range(SESSIONS), _EVENT_COUNT)
        for place, session in enumerate(sessions):
            date = _words(_day_of(session) - dt.timedelta(days=1))
            told = self._note(self._tell(_EVENTS[0].replace("{date}", date), session))
            if place < _EVENTS_ASKED:
                yield _Asked("time", _EVENTS[1].replace("{date}", date), told)

    def _near(self) -> Iterator[_Asked]:
        for place in range(_NEAR_COUNT):
            number = self._names.number()
            text = _NEAR[0].replace("{number}", number)
            told = self._note(self._tell(text, self._session(), self._names.amount()))
            if place < _NEAR_ASKED:
                yield _Asked("near", _NEAR[1].replace("{number}", number), told)


def corpus(seed: int, *, people: int = PEOPLE) -> Corpus:
    """
    The corpus of a seed: `people` of them, at least 2 and at most 8.

    The same seed gives the same corpus under every Python that the kit runs on.
    """
    random_ = random.Random(f"memproto measure {seed}")
    names = _Names(random_)
    chosen = random_.sample(_FIRST_NAMES, people)
    lives = [_Life(random_, names, name) for name in chosen]
    for place, life in enumerate(lives):
        life.asked += _of_others(random_, place, lives)
    placed: dict[tuple[int, _Told], Span] = {}
    made = tuple(
        _person(random_, place, life, placed, f"p{place + 1}") for place, life in enumerate(lives)
    )
    questions = [
        _question(place, number, asked, placed)
        for place, life in enumerate(lives)
        for number, asked in enumerate(life.asked, 1)
    ]
    random_.shuffle(questions)
    return Corpus(NAME, made, tuple(questions))


def conversation(seed: int, turns: int) -> Iterator[Turn]:
    """So many turns of one person, for a store that grows: small talk, and a name now and then."""
    random_ = random.Random(f"memproto growth {seed}")
    made = _HEADS, _MIDDLES, _TAILS_OF_NAMES
    for number in range(turns):
        user, assistant = _small_talk(random_)
        if number % 5 == 0:
            slot = random_.choice(_SINGLE)
            value = "".join(random_.choice(part) for part in made)
            user = slot.told.replace(_VALUE, f"{value}{number}")
        moment = _BEGIN + dt.timedelta(minutes=20 * number)
        yield _turn(user, assistant, moment)


def asked_at_random(seed: int, count: int) -> list[str]:
    """Questions about a conversation that grows."""
    random_ = random.Random(f"memproto questions {seed}")
    return [random_.choice(_SINGLE).asked for _ in range(count)]


def _of_others(random_: random.Random, place: int, lives: list[_Life]) -> list[_Asked]:
    """Questions about what others told, and this person did not."""
    mine, found = lives[place], []
    for of, life in enumerate(lives):
        found += [(of, slot) for slot in mine.unasked if of != place and slot in life.known]
    random_.shuffle(found)
    return [
        _Asked(
            "other",
            slot.of_other.replace("{name}", lives[of].name),
            (lives[of].known[slot],),
            of=of,
        )
        for of, slot in found[:_OTHER_COUNT]
    ]


def _person(
    random_: random.Random,
    place: int,
    life: _Life,
    placed: dict[tuple[int, _Told], Span],
    person_id: str,
) -> Person:
    sessions = []
    for number in range(SESSIONS):
        mine: list[_Told | None] = [told for told in life.told if told.session == number]
        mine += [None] * max(0, TURNS - len(mine))
        random_.shuffle(mine)
        moment = _day_of(number)
        turns = []
        for at, told in enumerate(mine):
            user, assistant = _small_talk(random_)
            if told is not None:
                user, assistant = told.text, random_.choice(_REPLIES)
                span = Span(place, number, at, "user", told.start, told.end)
                placed[place, told] = span
            turns.append(_turn(user, assistant, moment + dt.timedelta(minutes=3 * at)))
        sessions.append(Session(f"{person_id}-s{number + 1:02}", tuple(turns)))
    return Person(person_id, life.name, tuple(sessions))


def _question(
    place: int, number: int, asked: _Asked, placed: dict[tuple[int, _Told], Span]
) -> Question:
    of = place if asked.of is None else asked.of
    evidence, superseded = (
        tuple(placed[of, told] for told in all_of) for all_of in (asked.evidence, asked.superseded)
    )
    question_id = f"p{place + 1}-q{number:02}"
    return Question(question_id, asked.kind, place, asked.text, evidence, superseded)


def _small_talk(random_: random.Random) -> tuple[str, str]:
    wish, deed, tail = map(random_.choice, (_WISHES, _DEEDS, _TAILS))
    mark = "?" if wish.startswith(("Could", "what", "Is")) or tail.startswith("and what") else "."
    first, last = map(random_.choice, (_ANSWERS, _ENDS))
    return f"{wish[0].upper()}{wish[1:]} {deed} {tail}{mark}", f"{first}, {last}"


def _turn(user: str, assistant: str, moment: dt.datetime) -> Turn:
    ended = moment + dt.timedelta(seconds=40)
    return Turn(user, assistant, moment.isoformat(), ended.isoformat())


def _day_of(session: int) -> dt.datetime:
    """The begin of a session: they are spread over the half year."""
    return _BEGIN + dt.timedelta(days=_DAYS * session // SESSIONS, hours=session % 9)


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _words(day: dt.datetime) -> str:
    """A date as people write it, in no locale."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
