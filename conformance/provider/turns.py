"""Chapter 50: recorded turns."""

from memproto.testing import texts
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import Subject
from memproto.testing.wire import show

_TURNS = 4


@check("MP-TURN-001")
def every_turn_comes_back(run: Run) -> None:
    run.needs_route("turns")
    facts = run.facts.several(_TURNS)
    with run.session() as subject:
        for fact in facts:
            # The same answer each time, as agents give it; it is the user's words that differ.
            subject.record(fact.text, "Done.")
        # The last turn of a session has a rule of its own, MP-TURN-003.
        subject.record("Thanks, that is all for today.", "Until next time.")
    lost = [fact for fact in facts if not run.reopened_brings_back(fact)]
    if lost:
        run.violated(
            f"each of {_TURNS} turns recalled by a question about it, after a new start",
            f"{len(lost)} of {_TURNS} did not come back: {_listed(facts, lost)}",
        )


def _listed(facts: list[Fact], lost: list[Fact]) -> str:
    return ", ".join(f"turn {facts.index(fact) + 1} ({fact.text!r})" for fact in lost)


@check("MP-TURN-002", budget_s=240.0)
def a_turn_takes_any_text(run: Run) -> None:
    run.needs_hook("record")
    odd = {**texts.NAMED, **texts.generated(run.context.seed, run.examples)}
    with run.session() as subject:
        subject.record("Which berth is free today?", "Berth 4.")
        failures = texts.raised_for(odd, lambda text: _exchange(subject, text))
    found = [item for item in failures if not item[1].is_report]
    if found:
        name, failure = found[0]
        run.violated(
            f"{run.hook('record')} stores every str, or raises an error of memproto.errors",
            f"it raised {show(failure.error)} for {name}; {len(found)} of {len(odd)} texts raised",
        )
    # What was stored must not stand in the way of the next session.
    with run.session() as again:
        again.recall("Which berth is free today?")


def _exchange(subject: Subject, text: str) -> None:
    """The text as the user's words; where they were taken, as the assistant's too."""
    subject.record(text, "Noted.")
    subject.record("What did you find?", text)


@check("MP-TURN-003")
def the_last_turn_is_stored(run: Run) -> None:
    run.needs_route("turns")
    for count in (1, 3):
        *_, last = facts = run.facts.several(count)
        subject = run.open()
        for fact in facts:
            run.plant(subject, fact, "turns")
        run.close(subject)
        if not run.reopened_brings_back(last):
            number = "the only turn" if count == 1 else f"the last of {count} turns"
            run.violated(
                "a turn that was recorded right before shutdown, recalled after a new start",
                f"{number}, {last.text!r}, did not come back",
            )


@check("MP-TURN-004")
def a_resumed_session_keeps_its_turns(run: Run) -> None:
    run.needs_route("turns")
    session = run.session_key()
    early, late = run.facts.several(2)
    _one_turn(run, session, early)
    if not run.reopened_brings_back(early):
        raise Untestable("the turn of the session's first part did not come back")
    _one_turn(run, session, late)
    for fact, part in ((early, "first"), (late, "second")):
        if not run.reopened_brings_back(fact):
            run.violated(
                "the turns of both parts of a session that was opened again",
                f"the turn of the {part} part, {fact.text!r}, did not come back",
            )


def _one_turn(run: Run, session: str, fact: Fact) -> None:
    subject = run.open(session=session)
    run.plant(subject, fact, "turns")
    run.close(subject)
