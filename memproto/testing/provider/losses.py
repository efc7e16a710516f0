"""
Lost texts: recall brings such a text in none of the ways in which the kit asks.

Recall compares by what it likes: questions, words, beginnings, or whole texts. The kit asks a run's
facts in the one way that was seen to bring something; a text with other lines around it may need
another. A ranking that brings few of many passes over some that are stored. Neither is a loss.

"Is it recalled?" has five answers, each stronger than the one before:

- `routes.recalled` gives the answer to a question, whatever it is.
- `routes.brings` is true if an instance answers the question about a fact with it, now.
- `Run.brings_back` is the same once the store is settled and as fresh as the provider declares;
  `Run.reopened_brings_back` is the same of a new instance. A check shows presence by these.
- `is_stored`, and `lost` for many facts, ask a new instance in every way. A check that asserts a
  loss uses these, and no other.
- `count` says how often, by the user's `read_back` if that is set (`Run.read_back_count`).
"""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memproto.testing import wording
from memproto.testing.clauses import Untestable
from memproto.testing.evidence import Evidence
from memproto.testing.facts import Fact
from memproto.testing.needs import BETTER_RECALL
from memproto.testing.provider import routes, selection
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject

#: The marks before the lines of a list or of a quotation.
_MARGIN = re.compile(r"^[\s>|*#•-]+", re.MULTILINE)


def lost(run: Run, facts: list[Fact], home: Path | None = None) -> list[Fact]:
    """
    Facts that a fresh instance on the home does not recall.

    Texts that were stored before are waited for once, and not for each of the facts.
    Each has an instance of its own: that an answer belongs to its question is another rule.
    """
    return [fact for fact in facts if not is_stored(run, fact, home)]


def is_stored(run: Run, fact: Fact, home: Path | None = None) -> bool:
    """True if a new instance on the same home brings the fact back; see `is_shown`."""
    if not _comes_back(run, fact, home):
        return False
    # A fact that came back once is asked for again, if not everything has to be kept.
    return not run.is_selective or _comes_back(run, fact, home)


def _comes_back(run: Run, fact: Fact, home: Path | None) -> bool:
    return found(run, fact, home) is not None


def found(run: Run, fact: Fact, home: Path | None = None) -> Fact | None:
    """The fact, asked for in a way in which a new instance on the home brings it; None for none."""
    with run.session(home) as again:
        if run.brings_back(again, fact):
            return fact
        ways = _other_ways(run, again, fact)
    return ways.best(run)


def is_shown(run: Run, subject: Subject, fact: Fact) -> bool:
    """True if recall brings the fact, in whatever way it is asked for."""
    return run.brings_back(subject, fact) or _other_ways(run, subject, fact).best(run) is not None


def is_known(run: Run, subject: Subject, fact: Fact) -> bool:
    """True if recall brings the fact for words that hold it."""
    own = routes.bringing(subject, fact.by_its_words())
    return _Ways([], _without_echoes(run, subject, own)).best(run) is not None


@dataclasses.dataclass(frozen=True)
class _Ways:
    """
    The ways in which recall brings a fact, beside the usual one.

    Attributes:
        plain: Those whose words do not hold the name that is looked for.
        telling: Those whose words hold it; none of them is an echo.

    """

    plain: list[Fact]
    telling: list[Fact]

    def best(self, run: Run) -> Fact | None:
        """
        The first of them.

        Words that hold the name count where recall answers questions at all, since one that finds
        whole texts only is of no use in a conversation.
        """
        if self.plain:
            return self.plain[0]
        return self.telling[0] if self.telling and run.answers_questions() else None


def _other_ways(run: Run, subject: Subject, fact: Fact) -> _Ways:
    # All at once: a provider that prepares recall is waited for only once.
    back = routes.bringing(subject, [*fact.otherwise(), *fact.by_its_words()])
    plain = [asked for asked in back if not fact.stands_in(asked.query)]
    telling = [asked for asked in back if fact.stands_in(asked.query)]
    return _Ways(plain, [] if plain else _without_echoes(run, subject, telling))


def _without_echoes(run: Run, subject: Subject, telling: list[Fact]) -> list[Fact]:
    """Queries that hold a name and bring no fact that was never stored."""
    if not telling:
        return []
    with selection.unheard():
        never = run.facts.new()
    asked = {
        fact: dataclasses.replace(
            never, query=fact.query.replace(fact.text, never.text).replace(fact.name, never.name)
        )
        for fact in telling
    }
    echoes = routes.bringing(subject, asked.values())
    return [fact for fact, absent in asked.items() if absent not in echoes]


# -- repeating -------------------------------------------------------------------------------------

# A loss is looked at again: a recall that brings few of many loses some by chance.


_Found = TypeVar("_Found")

#: Times that a fault that was found is looked for again.
_AGAIN = 2


def seen_again(find: Callable[[], _Found]) -> _Found:
    """
    The result of `find`, if it is nothing or stands repetitions with other facts.

    If all homes and users share one store, the checks before this one have filled it, and a
    weak ranking passes over an entry that is there.

    Raises:
        Untestable: Something was found, and not each time.

    """
    found = find()
    if found and not all(find() for _ in range(_AGAIN)):
        said = wording.observed(found) if isinstance(found, Evidence) else found
        raise Untestable(f"a text lost once was not lost when repeated: {said}", BETTER_RECALL)
    return found


# -- tally -----------------------------------------------------------------------------------------

# The number of copies of a text: by the user's own count, else by what recall shows.


def count(run: Run, fact: Fact) -> int:
    """The times that a fact is stored; 0 if a new instance does not show it in its own words."""
    with run.session() as again:
        stored = run.read_back_count(again, fact.text)
        if stored is not None:
            return stored
        return shown_by(run, again, fact)


def shown_by(run: Run, subject: Subject, fact: Fact) -> int:
    """The times that the recall of an instance which brings a fact holds its text."""
    run.turn_before(subject, fact.query)
    run.settle()
    found = routes.answer(subject, fact, run.freshness.wait_s(run.freshness_s)) or ""
    run.note(found=bool(found))
    return times_shown(found, fact.text)


def times_shown(recall: str, text: str) -> int:
    """The times that a recall holds a text, however it breaks and quotes its lines."""
    return " ".join(_MARGIN.sub("", recall).split()).count(text)
