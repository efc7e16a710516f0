"""Chapter 58: text, in every script and locale, and in every shape of a conversation."""

import codecs
import copy
import dataclasses
import functools
import json
import locale
import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from memproto.fence import build_memory_context_block
from memproto.testing.clauses import Inconclusive, Lost, NotApplicable, Untestable, check
from memproto.testing.conditions import Declared
from memproto.testing.evidence import NotRecalled, Raised, Recalled, Returned
from memproto.testing.facts import QUESTION, Fact
from memproto.testing.lifetimes import own_lines
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised, Subject
from memproto.testing.scenarios import characters as scripts
from memproto.testing.scenarios import conversations
from memproto.testing.wire import show

_QUESTION = "What did we agree on for the next week?"

#: Times that a loss is seen again before it is believed.
_TIMES = 3

#: The operation that serves each route.
_STORES = {"turns": "record", "writes": "mirror", "tools": "call_tool"}


# -- conversations ---------------------------------------------------------------------------------


_Odd = TypeVar("_Odd", bound=Fact)


# Some dozens of recalls, of which each may take its 5 s.
@check("MP-TEXT-001", budget_s=240.0)
def recall_takes_any_conversation(run: Run) -> None:
    with run.session() as empty:
        _ask_amid_all(empty, _QUESTION)
    route = next((route for route in routes.ROUTES if run.serves(route)), "")
    if route:
        _comes_back_amid_all(run, route)


def _ask_amid_all(subject: Subject, query: str) -> None:
    for name, messages in conversations.NAMED.items():
        conversations.recall_amid(subject, query, name, copy.deepcopy(messages))


def _comes_back_amid_all(run: Run, route: str) -> None:
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    with run.session() as again:
        if not run.brings_back(again, fact):
            raise Lost("a stored fact did not come back, with no messages before it either")
        for name in conversations.NAMED:
            amid = _Amid(again.provider, run.binding, run.watch)
            amid.conversation = name
            if not run.brings_back(amid, fact):
                run.violated(
                    Returned(
                        wanted=(
                            f"{fact.name!r} in the answer to {fact.query!r}, whatever "
                            "messages it follows"
                        ),
                        value=show(amid.recall(fact.query)),
                        given=name,
                        lead=f"it comes back without messages, and with {name} recall gave ",
                    ),
                )


class _Amid(Subject):
    """An instance of which each recall stands in the middle of a conversation."""

    conversation = ""

    def recall(self, query: str, messages: Any = None) -> Any:
        """Recall with a copy of the conversation, where no messages are given."""
        if messages is not None:
            return super().recall(query, messages)
        given = copy.deepcopy(conversations.NAMED[self.conversation])
        return conversations.recall_amid(self, query, self.conversation, given)


# -- the locale ------------------------------------------------------------------------------------

#: The C locale of a bare container or a cron job, without Python's own remedies for it.
_LOCALE_C = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@check("MP-TEXT-002", environment=_LOCALE_C)
def text_is_kept_in_every_locale(run: Run) -> None:
    encoding = locale.getpreferredencoding(False)
    if codecs.lookup(encoding).name != "ascii":
        raise Inconclusive(f"in the locale C this machine encodes as {encoding}, not as ASCII")
    run.needs_route("turns", "writes", "tools")
    for route in routes.ROUTES:
        if run.serves(route):
            _keeps_scripts(run, route)


def _keeps_scripts(run: Run, route: str) -> None:
    home = run.own_home(route)
    whole = _keeps_words(run, route, home)
    scripts_of = scripts.LETTERS
    owed = {
        _in_script(run.facts.new(), text, whole=whole): kind for kind, text in scripts_of.items()
    }
    try:
        with run.session(home) as subject:
            accepted = [fact for fact in owed if _is_taken(subject, fact, route)]
        lost = losses.lost(run, accepted, home)
    except HookRaised as failure:
        _judge_raised(run, failure)
    if lost:
        _plain_ones_come_back(run, route, len(owed))
        alike = {
            fact: functools.partial(_in_script_anew, run, scripts_of[owed[fact]], whole=whole)
            for fact in lost
        }
        missed = _lost_each_time(run, route, alike) or lost[0]
        run.violated(
            NotRecalled(
                wanted=(
                    f"{run.hook(_STORES[route])} stores text that recall brings back, or "
                    "refuses it, "
                    "where the locale encodes as ASCII"
                ),
                texts=tuple(fact.text for fact in lost),
                subject=f"{missed.text!r} ({owed[missed]})",
                verb="was accepted there and did not come back",
            ),
            operation=_STORES[route],
        )


def _in_script(fact: Fact, letters: str, *, whole: bool) -> Fact:
    """The fact with letters added to its name; they are looked for where texts stay whole."""
    name = f"{fact.name} {letters}"
    return Fact(fact.text.replace(fact.name, name), fact.query, name if whole else fact.name)


def _in_script_anew(run: Run, letters: str, *, whole: bool) -> Fact:
    return _in_script(run.facts.new(), letters, whole=whole)


def _judge_raised(run: Run, failure: HookRaised) -> None:
    """An error of a codec is what is looked for; any other is met in every locale."""
    if failure.ends_process or not _is_of_a_codec(failure.error):
        raise failure
    run.violated(
        Raised.by(
            failure.error,
            wanted=f"{run.hook(failure.operation)} works where the locale encodes as ASCII",
            hook=run.hook(failure.operation),
        ),
        operation=failure.operation,
    )


def _is_of_a_codec(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, UnicodeError):
        error = error.__cause__ or error.__context__
    return error is not None


# -- every character -------------------------------------------------------------------------------


def _without_spaces(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).split()).casefold()


@dataclasses.dataclass(frozen=True, slots=True)
class _Lettered(Fact):
    """A fact whose name has characters behind it, each of which a recall has to hold."""

    characters: str = ""

    def missing_in(self, recalled: object) -> str:
        """Characters that are not there, under NFC."""
        found = set(unicodedata.normalize("NFC", str(recalled)))
        wanted = unicodedata.normalize("NFC", self.characters)
        return "".join(c for c in dict.fromkeys(wanted) if c not in found)

    def is_in(self, recalled: object) -> bool:
        """True if the name comes back, and every character."""
        return Fact.is_in(self, recalled) and not self.missing_in(recalled)


class _Worded(_Lettered):
    """A fact with words behind its name, which are no secret and come back as they were."""

    __slots__ = ()

    def missing_in(self, recalled: object) -> str:
        """A word that is not there; how a recall breaks its lines makes no difference."""
        there = _without_spaces(str(recalled))
        lacking = (w for w in self.characters.split() if _without_spaces(w) not in there)
        return next(lacking, "")


class _Marked(_Worded):
    """A fact with words behind its name that have signs around them."""

    __slots__ = ()

    def missing_in(self, recalled: object) -> str:
        """A word that is not there, whatever becomes of the signs."""
        there = _without_spaces(str(recalled))
        return next((w for w in re.findall(r"\w+", self.characters) if w not in there), "")


class _Edged(_Worded):
    """A fact with a word at an end, beside a space; it is lost only where the rest is shown."""

    __slots__ = ()

    def is_in(self, recalled: object) -> bool:
        """True too if the fact is not found at all: a space may keep a question from it."""
        return not Fact.is_in(self, recalled) or not self.missing_in(recalled)


_VERBATIM = Declared(
    "retention",
    "verbatim",
    any_of=("verbatim",),
    otherwise="retention is {value}: texts come back in other words",
)


#: Words for a first line that no store takes for one of its own.
_HEADING = "noted at noon, "

#: Letters that every store keeps, for a text that is odd in another way.
_FEW = "kelp"


@check("MP-TEXT-003", declares=_VERBATIM, routes=("turns", "writes", "tools"), budget_s=120.0)
def every_character_comes_back(run: Run) -> None:
    served = [route for route in routes.ROUTES if run.serves(route)]
    judged = [route for route in served if _keeps_characters(run, route)]
    if not judged:
        raise NotApplicable("no text was seen to come back word for word, and none is declared to")
    route = "writes" if "writes" in judged else judged[0]
    _keeps_its_own_lines(run, route)
    _keeps_whole_letters(run, route)


def _keeps_characters(run: Run, route: str) -> bool:
    """Judge one route; False where it is not known to keep texts word for word."""
    home = run.own_home(route)
    if not _keeps_words(run, route, home):
        return False
    kinds = {**scripts.CHARACTERS, **scripts.drawn(run.context.seed, run.examples)}
    made: list[tuple[str, str, Callable[[Fact, str], _Lettered]]] = [
        *((kind, letters, _lettered) for kind, letters in kinds.items()),
        ("a text with white space at its end", _FEW, _before_spaces),
        *((kind, words, _worded) for kind, words in scripts.PLAIN.items()),
        *((kind, words, _marked) for kind, words in scripts.MARKED.items()),
        *((kind, words, _led) for kind, words in scripts.LEADING.items()),
        ("a text that is an object of JSON", '{"note":', _in_json),
        ("a text with one space at its end", run.facts.name(), _before_a_space),
        ("a text with a space in front", run.facts.name(), _behind_a_space),
    ]
    owed = {make(run.facts.new(), letters): (kind, make) for kind, letters, make in made}
    with run.session(home) as subject:
        accepted: list[Fact] = [fact for fact in owed if _is_taken(subject, fact, route)]
    lost = losses.lost(run, accepted, home)
    if lost:
        _plain_ones_come_back(run, route, len(owed))
    alike = {
        fact: functools.partial(_made_anew, run, make, fact.characters)
        for fact, (_, make) in owed.items()
        if fact in lost and not _is_shortened(run, route, fact)
    }
    if (missed := _lost_each_time(run, route, alike)) is not None:
        _judge_missing(run, route, missed, owed[missed][0], home)
    return True


def _made_anew(run: Run, make: Callable[[Fact, str], _Lettered], characters: str) -> _Lettered:
    return make(run.facts.new(), characters)


def _is_shortened(run: Run, route: str, fact: _Lettered) -> bool:
    """True if recall lacks the end of a text of plain words too that is as long up to there."""
    end = max(fact.text.index(part) + len(part) for part in (fact.characters, fact.name))
    if not fact.text[end:].strip():
        end = len(fact.text)  # the space behind it counts where a text is cut
    base, last = run.facts.new(), run.facts.name()
    before = base.text.index(base.name) + len(base.name) + len(f"  {last}")
    plain = _worded(base, f"{_heading(end - before + 1)} {last}")
    home = run.own_home(f"{route}-as-long")
    with run.session(home) as subject:
        is_taken = _is_taken(subject, plain, route)
    return not is_taken or bool(losses.lost(run, [plain], home))


#: Digits of three bytes and letters of two: where bytes are cut, a cut falls into one of them.
_DIGITS, _LETTER = "\u96f6\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d", "\u00e4"

#: The same, and the letter that a decoder puts in the place of a torn one.
_OF_BYTES = {*_DIGITS, _LETTER, "\ufffd"}

#: Number of words of a text of some 12,000 bytes, longer than several of the usual pieces.
_WORDS = 1_000

#: The most characters that stand between two words of one recall in the place of a third.
_BETWEEN_CHARS = 120


def _keeps_whole_letters(run: Run, route: str) -> None:
    """A long text is kept in pieces by some stores, and no letter is lost where they meet."""
    if seen := losses.seen_again(lambda: _torn(run, route)):
        word, recalled = seen
        run.violated(
            NotRecalled(
                wanted=(
                    f"every letter of the part that recall brings of a long text that "
                    f"{run.hook(_STORES[route])} accepted"
                ),
                texts=(word,),
                subject=f"{word!r}",
                lead="of letters of several bytes, ",
                verb="did not come back whole",
                tail=f", between the words that stood around it: {show(recalled)}",
            ),
            operation=_STORES[route],
        )


def _torn(run: Run, route: str) -> tuple[str, str] | None:
    """A word that lost a letter amid two that are whole, and that recall; None for none."""
    words = _words_of_bytes()
    fact, home = run.facts.new(), run.own_home(f"{route}-pieces")
    fact = fact.within(" ".join([fact.text, *words]))
    with run.session(home, limits=_WIDE) as subject:
        if not routes.accepts(subject, route, fact.whole):
            return None
    with run.session(home, limits=_WIDE) as again:
        run.brings_back(again, fact)
        recalled = unicodedata.normalize("NFC", str(routes.recalled(again, fact.query)))
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        _, _, behind = recalled.partition(before)
        between, found, _ = behind[: _BETWEEN_CHARS + len(after)].partition(after)
        # A heading, a time or dots may stand where two pieces meet; they hold no such letter.
        letters = "".join(c for c in between if c in _OF_BYTES)
        if found and letters and word not in letters:
            return word, f"{before}{between}{after}"
    return None


def _words_of_bytes() -> list[str]:
    numbers = (f"{number:03}" for number in range(_WORDS))
    return [
        "".join(_DIGITS[int(digit)] for digit in number) + _LETTER * (place % 3)
        for place, number in enumerate(numbers)
    ]


#: A recalled text is not to be shortened for the sake of the host.
_WIDE = {"recall_chars": 1_000_000}


def _judge_missing(run: Run, route: str, fact: _Lettered, kind: str, home: Path) -> None:
    with run.session(home) as again:
        recalled = routes.recalled(again, fact.query)
    missing = fact.missing_in(recalled)
    code = f"U+{ord(missing[0]):04X} {unicodedata.name(missing[0], '')}" if missing else "its text"
    if isinstance(fact, _Worded) and missing:
        is_led = fact.text.lstrip().startswith(missing)
        why = "with which it begins" if is_led else "which is no secret"
        code = f"{missing!r}, {'beside a sign' if isinstance(fact, _Marked) else why},"
    run.violated(
        NotRecalled(
            wanted=(
                f"every character of a text that {run.hook(_STORES[route])} accepted, in "
                "the recall of it"
            ),
            texts=(code.strip(),),
            subject=code.strip(),
            lead=f"of {kind}, ",
            tail=f"; recall gave {show(recalled)}",
        ),
        operation=_STORES[route],
    )


def _keeps_its_own_lines(run: Run, route: str) -> None:
    """Texts behind a line such as stands in a file of the provider: it is text all the same."""
    home = run.own_home(f"{route}-lines")
    told = run.facts.several(2)
    with run.session(home) as subject:
        if not all(_is_taken(subject, fact, route) for fact in told):
            return
    run.settle()
    lines = own_lines.found(home, [word for fact in told for word in fact.text.split()])
    if not lines:
        return
    owed = {_behind(run.facts.new(), line): line for line in lines}
    plain = _behind(run.facts.new(), _heading(max(map(len, lines))))
    with run.session(home) as subject:
        accepted: list[Fact] = [f for f in (*owed, plain) if _is_taken(subject, f, route)]
    lost = losses.lost(run, accepted, home)
    if plain in lost or plain not in accepted:
        # Recall shows the beginning of a text, or the store takes no lines.
        return
    alike = {
        fact: functools.partial(_made_anew, run, _behind, line)
        for fact, line in owed.items()
        if fact in lost
    }
    if (missed := _lost_each_time(run, route, alike)) is not None:
        kind = f"a text behind {owed[missed]!r}, a line of its file"
        _judge_missing(run, route, missed, kind, home)


def _heading(chars: int) -> str:
    """A plain line as long as another."""
    return (_HEADING * chars)[: max(chars, len(_HEADING))].strip()


def _behind(fact: Fact, line: str) -> _Lettered:
    return _Lettered(f"{line}\n{fact.text}", fact.query, fact.name, line)


def _lettered(fact: Fact, characters: str) -> _Lettered:
    text = fact.text.replace(fact.name, f"{fact.name} {characters}")
    return _Lettered(text, fact.query, fact.name, characters)


def _worded(fact: Fact, words: str) -> _Worded:
    plain = _lettered(fact, words)
    return _Worded(plain.text, plain.query, plain.name, plain.characters)


def _marked(fact: Fact, words: str) -> _Marked:
    plain = _lettered(fact, words)
    return _Marked(plain.text, plain.query, plain.name, plain.characters)


def _in_json(fact: Fact, characters: str) -> _Lettered:
    text = json.dumps({"note": fact.text, "urgent": True}, ensure_ascii=False)
    return _Lettered(text, fact.query, fact.name, characters)


def _led(fact: Fact, words: str) -> _Worded:
    """The fact behind words with which the text begins."""
    return _Worded(f"{words} {fact.text}", fact.query, fact.name, words)


def _before_spaces(fact: Fact, characters: str) -> _Lettered:
    """The fact as an editor leaves a text; the white space itself is not owed."""
    plain = _lettered(fact, characters)
    return dataclasses.replace(plain, text=f"{plain.text} \n")


def _before_a_space(fact: Fact, word: str) -> _Edged:
    """The fact and a word at the very end, but for a space that is not owed."""
    return _Edged(f"{fact.text} {word} ", fact.query, fact.name, word)


def _behind_a_space(fact: Fact, word: str) -> _Edged:
    """The fact behind a word with which the text begins, but for a space that is not owed."""
    return _Edged(f" {word} {fact.text}", fact.query, fact.name, word)


# -- words at the ends of a text -------------------------------------------------------------------


@check("MP-TEXT-005", declares=_VERBATIM, routes=("turns", "writes", "tools"))
def no_word_gets_a_letter_more(run: Run) -> None:
    for route in _with_own_words(run):
        if seen := losses.seen_again(functools.partial(_grown, run, route)):
            words, recalled = seen
            run.violated(
                Returned(
                    wanted=f"{words!r} without a letter beside it that nobody wrote",
                    value=recalled,
                    hook=run.hook("recall"),
                    lead="of a text with a space before it or behind it, ",
                ),
                operation=_STORES[route],
            )


def _grown(run: Run, route: str) -> tuple[str, str] | None:
    """Words at the end of a text that came back with a letter more, and that recall."""
    home, (plain, begun, ended) = run.own_home(f"{route}-ends"), run.facts.several(3)
    told = [
        _between(plain, run.facts.name(), run.facts.name(), "{}"),
        _between(begun, run.facts.name(), run.facts.name(), " {}"),
        _between(ended, run.facts.name(), run.facts.name(), "{} "),
    ]
    with run.session(home) as subject:
        taken = [fact for fact in told if _is_taken(subject, fact, route)]
    if told[0] not in taken:
        return None
    with run.session(home) as again:
        answers = {fact: _recalled(run, again, fact) for fact in taken}
    grown = {
        fact: (words, answer)
        for fact, answer in answers.items()
        for words in fact.characters.split("/")
        if _has_grown(words, answer)
    }
    # A recall that puts words of its own beside those of a text does it there as well.
    return None if told[0] in grown else next(iter(grown.values()), None)


def _between(fact: Fact, before: str, behind: str, form: str) -> _Lettered:
    text = form.format(f"{before} {fact.text} {behind}")
    return _Lettered(text, fact.query, fact.name, f"{before}/{behind}")


def _recalled(run: Run, subject: Subject, fact: _Lettered) -> str:
    """The answer to the question about a fact, under NFC; "" if it does not bring it."""
    plain = Fact(fact.text, fact.query, fact.name)
    if not run.brings_back(subject, plain):
        return ""
    return unicodedata.normalize("NFC", str(routes.recalled(subject, plain.query)))


def _has_grown(words: str, recalled: str) -> bool:
    """True if the words are there, and each time with a letter before them or behind them."""
    there = re.findall(rf"(.?){re.escape(words)}(.?)", recalled, re.DOTALL)
    return bool(there) and all(any(map(str.isalpha, beside)) for beside in there)


# -- what both need --------------------------------------------------------------------------------


def _is_taken(subject: Subject, fact: Fact, route: str) -> bool:
    """True if a text was accepted; a refusal is no failure."""
    try:
        routes.plant(subject, fact, route)
    except BackendAway:
        raise
    except HookRaised as failure:
        if not failure.is_report:
            raise
        return False
    except Untestable:  # a tool that answered with an error
        return False
    return True


def _plain_ones_come_back(run: Run, route: str, count: int) -> None:
    """See that a session of as many plain facts loses none; else no character is to blame."""
    home = run.own_home(f"{route}-plain")
    facts = run.facts.several(count)
    with run.session(home) as subject:
        accepted = [fact for fact in facts if _is_taken(subject, fact, route)]
    if not accepted or losses.lost(run, accepted, home):
        raise Lost(f"of {count} plain facts stored through {route} not all came back either")


def _lost_each_time(run: Run, route: str, alike: Mapping[_Odd, Callable[[], Fact]]) -> _Odd | None:
    """
    The first of some lost facts whose like is lost each time; None if there are no facts.

    Raises:
        Untestable: Each of them was lost by chance.

    """
    by_chance: Untestable | None = None
    for fact, make in alike.items():
        try:
            _assert_lost_each_time(run, route, make)
        except Untestable as once:
            by_chance = by_chance or once
        else:
            return fact
    if by_chance is not None:
        raise by_chance
    return None


def _assert_lost_each_time(run: Run, route: str, make: Callable[[], Fact]) -> None:
    """
    See such a fact lost again, each time between two plain ones that come back.

    Of a store that loses texts at random, as one whose threads shutdown does not wait for, a single
    loss says nothing about the characters.
    """
    for number in range(_TIMES):
        home = run.own_home(f"{route}-again-{number}")
        before, odd, after = facts = [run.facts.new(), make(), run.facts.new()]
        with run.session(home) as subject:
            accepted = [fact for fact in facts if _is_taken(subject, fact, route)]
        lost = losses.lost(run, accepted, home)
        if before in lost or after in lost:
            raise Lost(f"plain facts stored through {route} do not all come back either")
        if odd not in lost:
            raise Untestable(f"a text stored through {route} was lost once, and not again")


def _with_own_words(run: Run) -> list[str]:
    """
    The routes by which texts come back in their own words.

    Raises:
        NotApplicable: There is none.

    """
    served = [route for route in routes.ROUTES if run.serves(route)]
    found = [route for route in served if _keeps_words(run, route, run.own_home(route))]
    if not found:
        raise NotApplicable("no text was seen to come back word for word, and none is declared to")
    return found


def _keeps_words(run: Run, route: str, home: Path) -> bool:
    """True if texts come back in their own words: by declaration, or as was seen."""
    if run.declared("retention", "verbatim") != "verbatim":
        return False
    if run.binding.can_declare or "retention" in run.context.capabilities:
        return True
    fact = run.facts.new()
    with run.session(home) as subject:
        run.plant(subject, fact, route)
    with run.session(home) as again:
        return run.brings_back(again, Fact(fact.text, fact.query, fact.text))


# -- questions in scripts without spaces ----------------------------------------------------------

#: Letters of a script that puts no spaces between words: two parts of a text, and letters of which
#: the name is made that is asked for.
_UNSPACED = {
    "Chinese": (
        "\u6e2f\u53e3\u7684\u65e7\u706f\u5854 \u5b83\u7684\u540d\u5b57\u662f",
        "\u7389\u8861\u9752\u9e3e\u6c90\u6f9c\u7425\u73c0\u9706\u9732",
    ),
    "Japanese": (
        "\u6e2f\u306e\u53e4\u3044\u706f\u53f0 \u305d\u306e\u540d\u524d\u306f",
        "\u3059\u305a\u3081\u3064\u3070\u304b\u308f\u305b\u307f\u3072\u308a",
    ),
    "Thai": (
        "\u0e1b\u0e23\u0e30\u0e20\u0e32\u0e04\u0e32\u0e23 \u0e0a\u0e37\u0e48\u0e2d\u0e02\u0e2d",
        "\u0e21\u0e30\u0e25\u0e34\u0e14\u0e32\u0e27\u0e40\u0e23\u0e37\u0e2d\u0e07\u0e1f",
    ),
}


@check("MP-TEXT-006", declares=_VERBATIM, routes=("turns", "writes", "tools"))
def a_question_without_spaces_finds_its_text(run: Run) -> None:
    route = _with_own_words(run)[0]
    if run.find_way() != QUESTION:
        raise NotApplicable("recall finds nothing for a whole question with spaces either")
    if missed := losses.seen_again(functools.partial(_missed, run, route)):
        kind, fact = missed
        run.violated(
            NotRecalled(
                wanted=f"a text in {kind} for a question that repeats its beginning",
                texts=(fact.text,),
                subject=f"{fact.text!r}",
                verb="did not come back",
                tail=f" for {fact.query!r}, and a text with spaces does",
            ),
            operation="recall",
        )


def _missed(run: Run, route: str) -> tuple[str, Fact] | None:
    """A script and a text that no question finds, where one with spaces is found."""
    home, plain = run.own_home(f"{route}-unspaced"), run.facts.new()
    drawn = random.Random(plain.name)
    told = {
        kind: Fact(f"{parts} {name}", parts, name)
        for kind, (parts, letters) in _UNSPACED.items()
        if (name := "".join(drawn.choices(letters, k=8)))
    }
    with run.session(home) as subject:
        taken = [kind for kind, fact in told.items() if _is_taken(subject, fact, route)]
        is_taken = _is_taken(subject, plain, route)
    with run.session(home) as again:
        lost = [kind for kind in taken if not run.brings_back(again, told[kind])]
        if not lost or not is_taken or not run.brings_back(again, plain):
            return None
    return lost[0], told[lost[0]]


# -- the context block -----------------------------------------------------------------------------


@check("MP-TEXT-004", routes=("turns",))
def a_context_block_is_not_stored(run: Run) -> None:
    within, own = run.facts.several(2)
    _show_that_it_comes_back(run, within)
    said = f"{own.text}\n\n{build_memory_context_block([('other-memory', within.text)])}"
    with run.session() as subject:
        taken = _is_recorded(subject, said)
    with run.session() as again:
        # A turn that is refused leaves nothing of the block behind either.
        if taken and not run.brings_back(again, own):
            run.violated(
                NotRecalled(
                    wanted="the user's own words, of a turn in which a context block still stands",
                    texts=(own.text,),
                ),
            )
        if run.brings_back(again, within):
            run.violated(
                Recalled(
                    wanted="nothing of a context block that stands behind the user's words",
                    texts=(within.text,),
                    answer=show(routes.recalled(again, within.query)),
                    question=within.query,
                    lead=f"{within.text!r} stood in the block, and {within.query!r} brings ",
                ),
            )


def _is_recorded(subject: Subject, said: str) -> bool:
    """True if a turn was accepted; a refusal is no failure."""
    try:
        subject.record(said, "Done.")
    except BackendAway:
        raise
    except HookRaised as failure:
        if not failure.is_report:
            raise
        return False
    return True


def _show_that_it_comes_back(run: Run, fact: Fact) -> None:
    """A text that is to stay away comes back if a user says it, in another home if there is one."""
    home, said = run.own_home("plain"), fact if run.binding.own_homes else run.facts.new()
    with run.session(home) as subject:
        subject.record(said.text, "Done.")
    if not run.reopened_brings_back(said, home):
        raise Lost("a plain turn did not come back")
