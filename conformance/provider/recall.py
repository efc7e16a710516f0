"""Chapter 40: recall."""

import copy
import dataclasses
from pathlib import Path
from typing import Any

from memproto.errors import Unavailable
from memproto.testing.clauses import Lost, check
from memproto.testing.conditions import RECALL_BY_QUERY, Declared
from memproto.testing.evidence import Changed, Recalled, Returned, TooLong
from memproto.testing.facts import Fact
from memproto.testing.needs import LATER, Setting, depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.preparation import PREWARM_S, Attempts
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import conversations, texts
from memproto.testing.scenarios.conversations import recall_amid
from memproto.testing.wire import show

#: Seconds that a prepared recall may take to get in the way of the next question.
_STALE_WITHIN_S = 0.3

_QUESTION = "What did we agree on for the next week?"

#: The beginning of questions that a template makes; no word of it is in a fact.
_BEGINNING = (
    "You are asked by somebody in a hurry, so please be brief, leave out every greeting, say so if"
    " nothing is noted, never guess, and think of all that was noted earlier as well as of today."
    " This is what has to be found out now:"
)

_NOT_PREVIOUS = Declared(
    "recall_basis",
    "query",
    none_of=("previous",),
    otherwise="recall_basis is {value}: before a first recall there was no turn",
)
_IS_QUERY = Declared(
    "recall_basis", None, any_of=("query",), otherwise="recall_basis is not declared as query"
)


@check("MP-RECALL-001")
def recall_gives_text_or_none(run: Run) -> None:
    with run.session() as subject:
        _each_history(run, subject, _QUESTION)
    query = _populate(run)
    with run.session() as again:
        _each_history(run, again, query)


def _each_history(run: Run, subject: Subject, query: str) -> None:
    for name, history in conversations.COMMON.items():
        answer = recall_amid(subject, query, name, copy.deepcopy(history))
        if answer is not None and not isinstance(answer, str):
            run.violated(
                Returned(wanted="a str or None", value=show(answer), tail=f", with {name}")
            )


def _populate(run: Run) -> str:
    """Store a fact where there is a way to; a question about it, or a general one."""
    route = _any_route(run)
    if not route:
        return _QUESTION
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    return fact.query


def _any_route(run: Run) -> str:
    return next((route for route in ("turns", "writes", "tools") if run.serves(route)), "")


@check("MP-RECALL-002")
def recall_keeps_its_deadline(run: Run) -> None:
    # A recall that is late ends the check, wherever it happens: see `incidents.LATE`.
    query = _populate(run)
    with run.session() as subject:
        for question in (query, _QUESTION, query * 40):
            for name, history in conversations.COMMON.items():
                recall_amid(subject, question, name, copy.deepcopy(history))


@check("MP-RECALL-003")
def the_messages_stay_as_they_were(run: Run) -> None:
    query = _populate(run)
    with run.session() as subject:
        for name, history in conversations.COMMON.items():
            given = copy.deepcopy(history)
            recall_amid(subject, query, name, given)
            if given != history:
                run.violated(
                    Changed(
                        wanted="the messages as they were handed over",
                        subject="argument",
                        name=name,
                        difference=difference(history, given),
                    ),
                )


def difference(before: list[Any], after: list[Any]) -> str:
    """The change of a list of messages, in one line."""
    if len(before) != len(after):
        return f"{len(before)} messages became {len(after)}: {show(after)}"
    changed = next(i for i, message in enumerate(before) if message != after[i])
    return f"message {changed}, {show(before[changed])}, became {show(after[changed])}"


#: A plugin whose recall shows what was prepared, and searches for nothing.
_PREVIOUS = (
    Setting("declares.recall_basis", where="it is that of the turn before", value='"previous"'),
    *LATER,
)


@check("MP-RECALL-004", declares=RECALL_BY_QUERY[1:], routes=("writes", "turns", "tools"))
def an_answer_belongs_to_its_question(run: Run) -> None:
    route = run.route
    first, second = run.facts.several(2)
    with run.session() as subject:
        run.plant(subject, first, route)
        run.plant(subject, second, route)
    for fact in (first, second):
        if not _answers(run, fact):
            said = "recall by question did not bring both of two stored facts"
            if run.lacks("prewarm") or _speaks_for_itself(run):
                raise Lost(said)
            raise Lost(said, (*depends_on(*routes.RULES[route]), *_PREVIOUS))
    with run.session() as asked:
        answer = _after_another_question(run, asked, first, second)
    _is_of_the_later(run, answer, first, second)
    _behind_one_beginning(run, first, second)


def _is_of_the_later(
    run: Run, answer: Any, first: Fact, second: Fact, earlier: str = "the earlier one"
) -> None:
    """See that the answer to a question about the second fact is not that about the first one."""
    if first.is_in(answer) and not second.is_in(answer):
        run.violated(
            Recalled(
                wanted=f"an answer to the later question, {second.query!r}",
                texts=(first.text,),
                answer=show(answer),
                question=second.query,
                lead=f"the answer to {earlier}, {first.query!r}, instead: ",
            ),
        )


def _behind_one_beginning(run: Run, first: Fact, second: Fact) -> None:
    """Questions that begin alike, as those of one template do."""
    one, other = (
        dataclasses.replace(fact, query=f"{_BEGINNING} {fact.query}") for fact in (first, second)
    )
    for fact in (one, other):
        with run.session() as alone:
            if not fact.is_in(routes.recalled(alone, fact.query)):
                return
    with run.session() as subject:
        answer = _after_another_question(run, subject, one, other)
    _is_of_the_later(run, answer, one, other, "one that begins alike")


def _speaks_for_itself(run: Run) -> bool:
    """True if the provider itself says that it recalls by query, or by saying nothing agrees."""
    return run.binding.can_declare or "recall_basis" in run.context.capabilities


def _answers(run: Run, fact: Fact) -> bool:
    """True if a new session brings the fact; of a provider that cannot declare, without help."""
    with run.session() as subject:
        if _speaks_for_itself(run):
            return run.brings_back(subject, fact)
        return fact.is_in(routes.recalled(subject, fact.query))


def _after_another_question(run: Run, subject: Subject, first: Fact, second: Fact) -> Any:
    """
    The answer of recall to the second question after the first one was asked.

    In the Hermes binding a recall may be prepared for the turn before by design; so only who says
    that recall goes by the query is asked to prepare the first one.
    """
    subject.recall(first.query)
    if not (subject.has("prewarm") and _speaks_for_itself(run)):
        return routes.recalled(subject, second.query)
    subject.prewarm(first.query)
    answers: list[Any] = []

    def settled() -> bool:
        answers.append(routes.recalled(subject, second.query))
        return first.is_in(answers[-1]) or second.is_in(answers[-1])

    run.wait_until(settled, _STALE_WITHIN_S)
    return answers[-1]


@check("MP-RECALL-005", declares=_NOT_PREVIOUS, routes=("writes", "turns", "tools"))
def the_first_recall_brings_what_is_stored(run: Run) -> None:
    route = run.route
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        raise Lost("a stored fact did not come back at all")
    with run.session() as again:
        answer = routes.recalled(again, fact.query)
    if not fact.is_in(answer):
        run.violated(
            Returned(
                wanted=f"{fact.name!r} in the first answer of a session, to {fact.query!r}",
                value=show(answer),
                tail="; a later recall of such a session brought it",
            ),
        )


# Some hundred questions, of which each may take its 5 s.
@check("MP-RECALL-006", budget_s=240.0, hook="recall", grows=True)
def recall_takes_any_text(run: Run) -> None:
    odd = texts.odd(run, texts.LONG)
    with run.session() as empty:
        empty.recall(_QUESTION)
        found = texts.raised_for(
            run, texts.named(run), lambda text: _ask(empty, text), allows=_is_away
        )
    query = _populate(run)
    with run.session() as subject:
        subject.recall(query)
        found += texts.raised_for(
            run,
            odd,
            lambda text: _ask(subject, text),
            allows=_is_away,
            makes_smaller=not found,
        )
    wanted = f"a str or None from {run.hook('recall')} for every question"
    texts.none_raises(run, found, "recall", wanted, of=len(odd))


def _is_away(failure: HookRaised) -> bool:
    return isinstance(failure.error, Unavailable)


def _ask(subject: Subject, text: str) -> None:
    subject.recall(text)


# -- recall bounds ---------------------------------------------------------------------------------

# Chapter 40: recall: how much of it, and for which question.


#: Number of texts of that length that are more than a host wants to read in every turn.
_MANY, _CHARS = 30, 300

#: A recall that is shorter than this is bounded by itself.
_SHORT_CHARS = 1_000

#: Questions that share no word with a fact, nor with the answers that the kit gives to one.
_UNRELATED = (
    "How does photosynthesis turn sunlight into sugar?",
    "What is 17 times 23?",
    "Could you write a haiku?",
)


@check("MP-RECALL-007", budget_s=120.0, routes=("turns", "writes", "tools"))
def recall_stays_within_the_limit(run: Run) -> None:
    route = run.route
    query = _alike(run, route, _MANY)
    wide = _length(run, query)
    if not wide:
        raise Lost("none of many stored texts came back for a question that all answer")
    if wide < _SHORT_CHARS:
        return
    # One character less than the whole: a heading, or what joins entries, counts as well.
    for limit in (wide // 2, wide - 1):
        _is_within(run, limit, wide, _length(run, query, limits={"recall_chars": limit}))
    # No text has room by itself: nothing may come back, and nothing is waited for. The same in a
    # store with one text.
    limits = {"recall_chars": _CHARS // 2}
    narrow = _length(run, query, waits=False, limits=limits)
    _is_within(run, _CHARS // 2, wide, narrow)
    home = run.own_home("single")
    single = _alike(run, route, 1, home)
    alone = _length(run, single, home)
    narrow = _length(run, single, home, waits=False, limits=limits)
    _is_within(run, _CHARS // 2, alone, narrow)


def _is_within(run: Run, limit: int, wide: int, narrow: int) -> None:
    if narrow > limit:
        run.violated(
            TooLong(
                wanted=f"at most {limit:,} characters with limits.recall_chars = {limit:,}",
                hook=run.hook("recall"),
                chars=narrow,
                limit=limit,
                tail=f"; {wide:,} without that limit",
            ),
        )


def _alike(run: Run, route: str, count: int, home: Path | None = None) -> str:
    """Store so many texts that answer one question equally well; the question."""
    first = run.facts.new()
    with run.session(home) as subject:
        for _ in range(count):
            text = first.text.replace(first.name, run.facts.name())
            # A store that is full, or bounded, has what it took.
            routes.accepts(subject, route, texts.padded(text, _CHARS))
    run.settle()
    return first.query


def _length(
    run: Run, query: str, home: Path | None = None, *, waits: bool = True, **extra: Any
) -> int:
    """
    Number of characters that a new session recalls, with more keys in its configuration.

    It waits for some only if it is told to.
    """
    lengths: list[int] = []

    def anything() -> bool:
        lengths.append(len(routes.recalled(again, query) or ""))
        return lengths[-1] > 0

    with run.session(home, **extra) as again:
        run.turn_before(again, query)
        prepares = again.has("prewarm")
        found = run.wait_until(anything, run.freshness_s if waits and not prepares else 0.0)
        if waits and prepares and not found:
            attempts = Attempts(PREWARM_S, run.freshness_s)
            routes.comes_prepared(again, [query], anything, attempts)
    return lengths[-1]


@check("MP-RECALL-008", declares=_IS_QUERY, routes=("turns", "writes", "tools"))
def an_unrelated_question_brings_nothing(run: Run) -> None:
    route = run.route
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        raise Lost("a stored fact did not come back for its own question")
    with run.session() as again:
        for question in _UNRELATED:
            _brings_nothing(run, again, fact, question)


def _brings_nothing(run: Run, again: Subject, fact: Fact, question: str) -> None:
    found = routes.recalled(again, question)
    if fact.is_in(found):
        run.violated(
            Recalled(
                wanted=f"nothing of {fact.text!r} for the question {question!r}",
                texts=(fact.text,),
                answer=show(found),
                question=question,
            )
        )
