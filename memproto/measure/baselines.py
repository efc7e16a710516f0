"""Memories of a few lines, measured beside the targets: a reader sees what a target adds."""

import re
from collections.abc import Callable, Iterable

from memproto.measure.corpus import Person
from memproto.measure.scoring import LIMIT_CHARS

#: Gives the answer of recall to a question.
Recall = Callable[[str], str]

#: Remedy if the word search has no library.
INSTALL = "pip install 'memproto[measure]'"

_WORD = re.compile(r"\w+")


class NotInstalled(Exception):
    """A baseline needs a package that is not there."""


def nothing(_: Person) -> Recall:
    """Recalls nothing, for every question."""
    return lambda question: ""


def last_turns(person: Person) -> Recall:
    """The last turns that fit, as in a host without memory that is never started anew."""
    text = _filled(reversed([turn.text for turn in person.turns]))
    return lambda question: text


def whole_history(person: Person) -> Recall:
    """Every turn, whatever the length."""
    text = "\n".join(turn.text for turn in person.turns)
    return lambda question: text


def word_search(person: Person) -> Recall:
    """
    The turns that fit best by BM25 over their words, and of equal ones the latest first.

    Raises:
        NotInstalled: bm25s is not there.

    """
    try:
        import bm25s
    except ModuleNotFoundError:
        raise NotInstalled(f"word search needs bm25s: {INSTALL}") from None
    texts = [turn.text for turn in person.turns]
    index = bm25s.BM25()
    index.index([_words(text) for text in texts], show_progress=False)

    def recall(question: str) -> str:
        known = [word for word in _words(question) if word in index.vocab_dict]
        if not known:
            return ""
        scores = index.get_scores(known)
        best = sorted(range(len(texts)), key=lambda at: (-round(float(scores[at]), 4), -at))
        return _filled(texts[at] for at in best if scores[at] > 0)

    return recall


#: Name to the baseline, in the order of every table.
BASELINES: dict[str, Callable[[Person], Recall]] = {
    "nothing": nothing,
    "last turns": last_turns,
    "word search (BM25)": word_search,
    "whole history": whole_history,
}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _filled(texts: Iterable[str]) -> str:
    """As many whole texts as fit into the longest budget."""
    kept: list[str] = []
    left = LIMIT_CHARS
    for text in texts:
        left -= len(text) + 1
        if left < -1:
            break
        kept.append(text)
    return "\n".join(kept)
