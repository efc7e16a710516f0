"""
From the answers to figures: which evidence stands within so many characters of an answer.

No model reads anything. A span counts as found if its words stand in the answer, whatever the case
and the spaces between them. A provider that tells what was said in other words brings the value all
the same, and a value that it tells in other words is missed: its figures are lower bounds.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from memproto.measure.corpus import ANSWERABLE, Corpus, Kind, Question, Span

#: The characters of an answer within which evidence is looked for.
BUDGETS_CHARS = (1_000, 2_000, 4_000)

#: The limit that a provider is told, and the most that a baseline shows but for the whole history.
LIMIT_CHARS = BUDGETS_CHARS[-1]

#: Of how many of the best items the texts are looked through.
DEPTHS = (1, 3, 5, 10)


@dataclasses.dataclass(frozen=True)
class Answer:
    """
    The answer to one question.

    Attributes:
        text: The text of recall, "" for none.
        items: The texts of the items, the best first; None where there are no items.
        fault: The error that was raised, in words, or "".

    """

    text: str
    items: tuple[str, ...] | None = None
    fault: str = ""


@dataclasses.dataclass(frozen=True)
class Marked:
    """
    One answer beside its question.

    Attributes:
        question: Its id.
        kind: Its kind.
        chars: The length of the answer.
        found: For each of `BUDGETS_CHARS`, and then for the whole answer, true if all evidence
            stands in it.
        part: The share of the spans that stand in the whole answer.
        stale: The same for a superseded value that stands there while the present one does not.
        ranks: For each of `DEPTHS`, true if all evidence stands in so many items; () for no items.
        spoken: Number of spans in the whole answer, and of those that stand in the words of their
            turn.
        fault: The error that was raised, in words, or "".

    """

    question: str
    kind: Kind
    chars: int
    found: tuple[bool, ...]
    part: float
    stale: tuple[bool, ...] = ()
    ranks: tuple[bool, ...] = ()
    spoken: tuple[int, int] = (0, 0)
    fault: str = ""


def marked(corpus: Corpus, answers: Mapping[str, Answer]) -> list[Marked]:
    """Each question of the corpus that was asked, with what its answer holds."""
    return [
        _marked(corpus, question, answers[question.id])
        for question in corpus.questions
        if question.id in answers
    ]


def _marked(corpus: Corpus, question: Question, answer: Answer) -> Marked:
    pieces = [_plain(answer.text[:chars]) for chars in (*BUDGETS_CHARS, None)]
    evidence = _wanted(corpus, question.evidence)
    superseded = _wanted(corpus, question.superseded)
    stale = tuple(
        any(word in piece for word in superseded) and not _holds(piece, evidence)
        for piece in pieces
        if superseded
    )
    ranks: tuple[bool, ...] = ()
    if answer.items is not None:
        shown = [_plain("\n".join(answer.items[:depth])) for depth in DEPTHS]
        ranks = tuple(_holds(piece, evidence) for piece in shown)
    return Marked(
        question.id,
        question.kind,
        len(answer.text),
        tuple(_holds(piece, evidence) for piece in pieces),
        sum(word in pieces[-1] for word in evidence) / max(1, len(evidence)),
        stale,
        ranks,
        _spoken(corpus, question, pieces[-1]),
        answer.fault,
    )


def _spoken(corpus: Corpus, question: Question, piece: str) -> tuple[int, int]:
    found = [span for span in question.evidence if _plain(corpus.words(span)) in piece]
    return len(found), sum(_plain(corpus.around(span)) in piece for span in found)


def _wanted(corpus: Corpus, spans: Iterable[Span]) -> list[str]:
    return [_plain(corpus.words(span)) for span in spans]


def _holds(piece: str, evidence: Sequence[str]) -> bool:
    return bool(evidence) and all(word in piece for word in evidence)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# -- counted ---------------------------------------------------------------------------------------

# Each gives a truth for each question that it is about, in the order of the questions.


def answered(rows: Iterable[Marked], place: int, kinds: Sequence[Kind] = ANSWERABLE) -> list[bool]:
    """Questions whose evidence stands within the budget of that place."""
    return [row.found[place] for row in rows if row.kind in kinds]


def stale(rows: Iterable[Marked], place: int) -> list[bool]:
    """Questions about something that has changed that are shown the former value alone."""
    return [row.stale[place] for row in rows if row.stale]


def shown_for_absent(rows: Iterable[Marked]) -> list[bool]:
    """Questions about something that nobody said that are shown anything at all."""
    return [row.chars > 0 for row in rows if row.kind == "absent"]


def leaked(rows: Iterable[Marked]) -> list[bool]:
    """Questions about something that somebody else said that are shown it."""
    return [row.found[-1] for row in rows if row.kind == "other"]


def ranked(rows: Iterable[Marked], place: int) -> list[bool]:
    """Questions whose evidence stands in the first items; none where there are no items."""
    return [row.ranks[place] for row in rows if row.ranks and row.kind in ANSWERABLE]


def in_own_words(rows: Iterable[Marked]) -> bool:
    """True if most of the evidence that was found stands in other words than those of its turn."""
    found = [row.spoken for row in rows]
    return 2 * sum(verbatim for _, verbatim in found) < sum(spans for spans, _ in found)
