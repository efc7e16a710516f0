"""Chapter 40: recall: how much of it, and for which question."""

from typing import Any

from memproto.testing import routes, texts
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import Subject
from memproto.testing.wire import show

#: So many texts of that length are more than a host wants to read in every turn.
_MANY, _CHARS = 30, 300

#: A recall that is shorter than this is bounded by itself.
_SHORT_CHARS = 1_000

#: Questions that share no word with a fact, nor with the answers that the kit gives to one.
_UNRELATED = (
    "How does photosynthesis turn sunlight into sugar?",
    "What is 17 times 23?",
    "Could you write a haiku?",
)


@check("MP-RECALL-007", budget_s=120.0)
def recall_stays_within_the_limit(run: Run) -> None:
    route = run.needs_route("turns", "writes", "tools")
    query = _alike(run, route)
    wide = _length(run, query)
    if not wide:
        raise Untestable("none of many stored texts came back for a question that all answer")
    if wide < _SHORT_CHARS:
        return
    limit = wide // 2
    narrow = _length(run, query, limits={"recall_chars": limit})
    if narrow > limit:
        run.violated(
            f"at most {limit:,} characters with limits.recall_chars = {limit:,}",
            f"{narrow:,} characters; {wide:,} without that limit",
        )


def _alike(run: Run, route: str) -> str:
    """Store many texts that answer one question equally well; the question."""
    first = run.facts.new()
    with run.session() as subject:
        for _ in range(_MANY):
            text = first.text.replace(first.name, run.facts.name())
            # A store that is full, or bounded, has what it took.
            routes.accepts(subject, route, texts.padded(text, _CHARS))
    run.settle()
    return first.query


def _length(run: Run, query: str, **extra: Any) -> int:
    """How many characters a new session recalls, with more keys in its configuration."""
    lengths: list[int] = []

    def anything() -> bool:
        if prepares:
            again.prewarm(query)
        lengths.append(len(routes.recalled(again, query) or ""))
        return lengths[-1] > 0

    with run.session(**extra) as again:
        if run.declared("recall_basis", "query") == "previous":
            again.record(query, "Let me see.")
        prepares = again.has("prewarm")
        run.wait_until(anything, max(run.freshness_s, routes.PREWARM_S if prepares else 0.0))
    return lengths[-1]


@check("MP-RECALL-008")
def an_unrelated_question_brings_nothing(run: Run) -> None:
    if run.declared("recall_basis", None) != "query":
        raise NotApplicable("recall_basis is not declared as query")
    route = run.needs_route("turns", "writes", "tools")
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        raise Untestable("a stored fact did not come back for its own question")
    with run.session() as again:
        for question in _UNRELATED:
            _brings_nothing(run, again, fact, question)


def _brings_nothing(run: Run, again: Subject, fact: Fact, question: str) -> None:
    found = routes.recalled(again, question)
    if fact.is_in(found):
        run.violated(f"nothing of {fact.text!r} for the question {question!r}", show(found))
