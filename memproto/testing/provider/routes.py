"""
The routes by which a provider may store a fact, and the ways by which it may bring it back.

Used by the survey at first contact, which finds out what works, and by the checks afterwards.
"""

import contextlib
from collections.abc import Callable, Iterable
from time import monotonic, sleep
from typing import Any

from memproto import spec
from memproto.adapters import tool_results
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.evidence import Returned
from memproto.testing.facts import Fact
from memproto.testing.needs import NO_REFUSAL, Declaration, Setting
from memproto.testing.provider import store_call
from memproto.testing.provider.preparation import Attempts
from memproto.testing.provider.subject import HookRaised, HookUnpaid, HookWithdrawn, Subject
from memproto.testing.wire import hidden, show

#: Route to the operation that stores by it.
OPERATIONS = {"turns": "record", "writes": "mirror", "tools": "call_tool"}

ROUTES = tuple(OPERATIONS)

#: Route to the rules by which a text that is stored by it comes back.
RULES = {
    "turns": (spec.role("turns_stored"), spec.role("last_turn_stored")),
    "writes": (spec.role("writes_stored"),),
    "tools": (spec.role("tool_texts_stored"),),
}

#: Seconds that the first contact waits for a worker that stores in the background.
_SETTLE_S = 0.5


class ToolRefused(Untestable):
    """A tool that looks like one that stores answered a plain fact with an error."""


def plant(subject: Subject, fact: Fact, route: str) -> None:
    """Store `fact` by `route`, as a host would; raises what the hooks raise."""
    if route == "turns":
        subject.record(fact.text, reply_to(fact))
    elif route == "writes":
        subject.write(fact.text)
    else:
        plant_by_tool(subject, fact)


def reply_to(fact: Fact) -> str:
    """The assistant's answer in the turn by which a fact is stored."""
    return f"I will remember {fact.name}."


def accepts(subject: Subject, route: str, text: str, reply: str = "Done.") -> bool:
    """
    Store `text` by `route`; whether it was accepted.

    An exception other than a report is for the rule on any text, of the hook that raised it.
    """
    try:
        return _stores_text(subject, route, text, reply)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False


def _stores_text(subject: Subject, route: str, text: str, reply: str) -> bool:
    if route == "tools":
        call = storing_call(subject.tools(), text)
        return call is not None and not tool_results.refused(subject.call_tool(*call))
    if route == "turns":
        subject.record(text, reply)
    else:
        subject.write(text)
    return True


def core_calls(subject: Subject, text: str, query: str) -> dict[str, Callable[[], Any]]:
    """Operation to a call of it with `text`, for the hooks of the core that a turn may use."""
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    return {
        "recall": lambda: subject.recall(query),
        "mirror": lambda: subject.write(text),
        "record": lambda: subject.record(text, text),
        "compress": lambda: subject.compress(said),
    }


def live(subject: Subject, fact: Fact) -> None:
    """One turn of a session through every hook of the core; a refusal is no failure."""
    for call in core_calls(subject, fact.text, fact.query).values():
        in_passing(call)


def live_fully(subject: Subject, fact: Fact) -> None:
    """One turn through the hooks of the core, and the others that a turn and an end have."""
    live(subject, fact)
    for call in other_calls(subject, fact).values():
        in_passing(call)


def other_calls(subject: Subject, fact: Fact) -> dict[str, Callable[[], Any]]:
    """Operation to a call of it, for the extensions that it serves in a turn and at its end."""
    said = [
        {"role": "user", "content": fact.text},
        {"role": "assistant", "content": reply_to(fact)},
    ]
    calls: dict[str, Callable[[], Any]] = {
        "prompt": subject.prompt,
        "turn_start": lambda: subject.turn_start(1, fact.query),
        "prewarm": lambda: subject.prewarm(fact.query),
        "compress_notes": lambda: subject.compress_notes(said),
        "end": lambda: subject.end(said),
    }
    return {operation: call for operation, call in calls.items() if subject.has(operation)}


def in_passing(step: Callable[[], Any]) -> None:
    """As `tolerant`, for a hook that is not what is judged: one that hung before is left out."""
    with contextlib.suppress(HookWithdrawn):
        tolerant(step)


def tolerant(step: Callable[[], Any]) -> None:
    """Call `step`; what it raises to report a refusal is no failure."""
    try:
        step()
    except HookRaised as failure:
        if not failure.is_report:
            raise


def plant_by_tool(subject: Subject, fact: Fact) -> None:
    """
    Store `fact` by the tool that looks most like one that stores.

    Raises:
        Untestable: No tool looks like one that stores, or it answered with an error.

    """
    call = storing_call(subject.tools(), fact.text)
    if call is None:
        reason = "no tool has a storing name and an argument for a text"
        raise Untestable(
            reason, (Declaration("stores", "capabilities"), Setting("declares.stores"))
        )
    answer = subject.call_tool(*call)
    if tool_results.refused(answer):
        reason = f"the tool {call[0]} refused a plain fact: {hidden(str(answer))[:120]}"
        raise ToolRefused(reason, NO_REFUSAL)


def storing_call(schemas: Any, text: str) -> tuple[str, dict[str, Any]] | None:
    """The name and arguments of a tool call that asks to store `text`, or None."""
    return store_call.storing_call(schemas, text)


def brings(subject: Subject, fact: Fact, freshness_s: float = 0.0) -> bool:
    """True if recall brings `fact`; see `answer`."""
    return answer(subject, fact, freshness_s) is not None


def answer(subject: Subject, fact: Fact, freshness_s: float = 0.0) -> str | None:
    """
    The recall that brings `fact`, asked with a question about it; None where none does.

    A provider that prepares recall in advance is asked to, and waited for; a store that is fresh
    only after a while is asked again until then. Every one is asked twice: what the first recall of
    a session lacks is the subject of a rule of its own.
    """
    answers: list[Any] = []

    def is_back() -> bool:
        answers.append(recalled(subject, fact.query))
        return fact.is_in(answers[-1])

    if is_back():
        subject.preparation.note(0.0, found=True)
        return str(answers[-1])
    if subject.has("prewarm"):
        found = _prepared(subject, [fact.query], is_back, freshness_s)
    else:
        found = _comes_within(subject, is_back, freshness_s)
    return str(answers[-1]) if found or is_back() else None


def _comes_within(subject: Subject, is_back: Callable[[], bool], within_s: float) -> bool:
    end = monotonic() + within_s
    while monotonic() < end:
        sleep(min(subject.poll_s, within_s))
        if is_back():
            return True
    return False


def _prepared(
    subject: Subject, queries: list[str], is_back: Callable[[], bool], freshness_s: float = 0.0
) -> bool:
    """As `comes_prepared`, with the patience of a check, which learns from how long it took."""
    begin = monotonic()
    attempts = Attempts(subject.preparation.wait_s(), freshness_s)
    found = comes_prepared(subject, queries, is_back, attempts)
    subject.preparation.note(monotonic() - begin, found=found)
    return found


def comes_prepared(
    subject: Subject, queries: list[str], is_back: Callable[[], bool], attempts: Attempts
) -> bool:
    """
    Prepare the answers to questions, and wait until one `is_back`; False if none came in time.

    A provider with room for one answer keeps the last, which is another one at each attempt.
    """
    while not attempts.are_over():
        if attempts.begins():
            for query in queries:
                subject.prewarm(query)
            queries = queries[1:] + queries[:1]
        sleep(subject.poll_s)
        if is_back():
            return True
    return False


def bringing(subject: Subject, facts: Iterable[Fact]) -> list[Fact]:
    """
    Facts that recall brings for their queries; all are waited for together.

    Stored facts are fresh by now; answers that need preparing in advance are prepared for each.
    """
    asked = list(facts)
    found: list[Fact] = []

    def is_back() -> bool:
        found[:] = [fact for fact in asked if _answers(subject, fact)]
        return bool(found)

    prepares = subject.has("prewarm")
    if is_back():
        if prepares:
            subject.preparation.note(0.0, found=True)
    elif prepares:
        _prepared(subject, [fact.query for fact in asked], is_back)
    return found


def _answers(subject: Subject, fact: Fact) -> bool:
    """True if recall brings a fact; if it does not, no listener hears of it."""
    found = recalled(subject, fact.query)
    return fact.stands_in(found) and fact.is_in(found)


def recalled(subject: Subject, query: str) -> Any:
    """
    The answer of recall to a plain question.

    Raises:
        Violation: Of MP-RECALL-001: it is neither a str nor None, so that nothing else can be said.

    """
    answer = subject.recall(query)
    if answer is not None and not isinstance(answer, str):
        raise Violation(
            Returned(wanted="a str or None", hook=subject.hook("recall"), value=show(answer)),
            operation="recall",
            requirement=spec.role("recall_answers_text"),
        )
    return answer


def brings_its_words(subject: Subject, fact: Fact) -> bool:
    """True if recall brings a fact for its own words: it is stored, whatever a ranking prefers."""
    return fact.is_in(recalled(subject, fact.text))


def survey(
    opened: Callable[[str], contextlib.AbstractContextManager[Subject]],
    fact: Fact,
    route: str,
    later: tuple[str, ...],
    is_back: Callable[[Subject, Fact], bool] = brings,
) -> str:
    """
    The one of the `later` sessions in which a fact comes back that `route` stored in the first.

    `opened` opens an instance on one home, for a session; `is_back` asks it for the fact. Gives
    the session, or "" for none. A fact that is refused, or raises, does not come back: the rule on
    raising has a check of its own.
    """
    try:
        return _seen_again(opened, fact, route, later, is_back)
    except HookUnpaid:
        raise
    except (HookRaised, Untestable, Violation):
        return ""


def _seen_again(
    opened: Callable[[str], contextlib.AbstractContextManager[Subject]],
    fact: Fact,
    route: str,
    later: tuple[str, ...],
    is_back: Callable[[Subject, Fact], bool],
) -> str:
    # A worker in the background, or a batch that waits for more turns, is given its chance: what
    # shutdown cuts off has a rule of its own.
    for goes_on in (False, True) if route == "turns" else (False,):
        with opened("first") as subject:
            if route == "tools" and not subject.has("tools"):
                return ""
            plant(subject, fact, route)
            if goes_on:
                talk_on(subject)
            _settle(subject, fact)
        for session in later:
            with opened(session) as again:
                if is_back(again, fact):
                    return session
    return ""


def talk_on(subject: Subject) -> None:
    """Record as many turns as fill a batch, with nothing in them to remember."""
    subject.talk_on()


def _settle(subject: Subject, fact: Fact) -> None:
    """Wait a moment, or until recall brings the fact in the same session."""
    end = monotonic() + _SETTLE_S
    while not fact.is_in(recalled(subject, fact.query)) and monotonic() < end:
        sleep(subject.poll_s)
