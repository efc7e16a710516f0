"""Chapter 50: recorded turns."""

from memproto.testing import losses, routes, texts
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show

_TURNS = 4

_LONG_CHARS = 100_000

_GOODBYE = ("Thanks, that is all for today.", "Until next time.")

#: How many turns a session has, each time: a worker that is behind loses the last of several.
_LAST_OF = (1, 3, 8, 8, 8)

#: As long as a background worker may need for a turn.
_MOMENT_S = 1.0


@check("MP-TURN-001", budget_s=240.0)
def every_turn_comes_back(run: Run) -> None:
    run.needs_route("turns")
    _all_of_a_session(run)
    _unusual_ones(run)
    _of_another_user(run)
    _of_sessions_side_by_side(run)


def _all_of_a_session(run: Run) -> None:
    facts, key = run.facts.several(_TURNS), run.session_key()
    with run.session(session=key) as subject:
        for fact in facts:
            # The same answer each time, as agents give it; it is the user's words that differ.
            subject.record(fact.text, "Done.")
        # The last turn of a session has a rule of its own, MP-TURN-003.
        subject.record(*_GOODBYE)
    lost = losses.lost(run, facts)
    if lost:
        run.violated(
            f"each of {_TURNS} turns recalled by a question about it, after a new start",
            f"{len(lost)} of {_TURNS} did not come back: {_listed(facts, lost)}"
            + _hint_on_sessions(run, key, lost[0]),
        )


def _hint_on_sessions(run: Run, key: str, lost: Fact) -> str:
    """Where the lost turn is there for a session of the same key, the words that say so."""
    with run.session(session=key) as same:
        found = run.brings_back(same, lost)
    said = (
        "; a session with the same key recalls it: if that is meant, declare session in `isolates`"
    )
    return said if found else ""


def _unusual_ones(run: Run) -> None:
    """Each is stored or refused; what was accepted is there, whatever else stands around it."""
    unusual = texts.around(run.facts.several(6), _LONG_CHARS)
    with run.session() as subject:
        accepted = [_taken(subject, text) for _, _, text in unusual]
        subject.record(*_GOODBYE)
    owed = {fact: what for (what, fact, _), kept in zip(unusual, accepted, strict=True) if kept}
    for fact in losses.lost(run, list(owed)):
        _plain_ones(run, len(unusual))
        run.violated(
            f"{run.hook('record')} stores a turn, or raises an error of memproto.errors",
            f"it returned for a turn {owed[fact]}, and {fact.text!r} did not come back from it",
        )


def _plain_ones(run: Run, count: int) -> None:
    """Where plain turns in the place of unusual ones are lost too, it is not for what they hold."""
    facts = run.facts.several(count)
    with run.session() as subject:
        accepted = [fact for fact in facts if _taken(subject, fact.text)]
        subject.record(*_GOODBYE)
    _all_come_back(run, accepted, f"from a session of {count + 1} plain turns")


def _taken(subject: Subject, text: str) -> bool:
    """Whether the turn was accepted; what else than a report was raised is for MP-TURN-002."""
    try:
        subject.record(text, "Done.")
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
    return True


def _of_another_user(run: Run) -> None:
    """What one user said is still there after another one used the same home."""
    facts = run.facts.several(2)
    with run.session() as subject:
        for fact in facts:
            run.plant(subject, fact, "turns")
        subject.record(*_GOODBYE)
    with run.session(user_id=f"{run.config()['user_id']}-guest") as guest:
        guest.record("What are your opening hours?", "From nine to five.")
        guest.record(*_GOODBYE)
    _all_come_back(run, facts, "after another user had a session on the same home")


def _of_sessions_side_by_side(run: Run) -> None:
    """A gateway has several sessions of a profile open at a time."""
    if "session" in run.declared("isolates", []) or run.declared("single_writer", default=False):
        return
    facts = run.facts.several(4)
    with run.session() as one, run.session() as other:
        for fact, subject in zip(facts, (one, other, one, other), strict=True):
            run.plant(subject, fact, "turns")
        for subject in (one, other):
            subject.record(*_GOODBYE)
    _all_come_back(run, facts, "that two sessions of one home recorded while both were open")


def _all_come_back(run: Run, facts: list[Fact], when: str) -> None:
    if lost := losses.lost(run, facts):
        run.violated(
            f"each of {len(facts)} turns recalled {when}",
            f"{len(lost)} of {len(facts)} did not come back: {_listed(facts, lost)}",
        )


def _listed(facts: list[Fact], lost: list[Fact]) -> str:
    return ", ".join(f"turn {facts.index(fact) + 1} ({fact.text!r})" for fact in lost)


@check("MP-TURN-002", budget_s=240.0)
def a_turn_takes_any_text(run: Run) -> None:
    run.needs_hook("record")
    odd = {**texts.NAMED, **texts.LONGEST, **texts.generated(run.context.seed, run.examples)}
    with run.session() as subject:
        subject.record("Which berth is free today?", "Berth 4.")
        failures = texts.raised_for(odd, lambda text: _exchange(subject, text))
        # Before shutdown, which may raise for the same text.
        _none_raised(run, failures, len(odd))
    # What was stored must not stand in the way of the next session.
    with run.session() as again:
        again.recall("Which berth is free today?")


def _none_raised(run: Run, failures: list[tuple[str, HookRaised]], count: int) -> None:
    found = [item for item in failures if not item[1].is_report]
    if found:
        name, failure = found[0]
        run.violated(
            f"{run.hook('record')} stores every str, or raises an error of memproto.errors",
            f"it raised {show(failure.error)} for {name}; {len(found)} of {count} texts raised",
        )


def _exchange(subject: Subject, text: str) -> None:
    """The text as the user's words; where they were taken, as the assistant's too."""
    subject.record(text, "Noted.")
    subject.record("What did you find?", text)


@check("MP-TURN-003", budget_s=120.0)
def the_last_turn_is_stored(run: Run) -> None:
    run.needs_route("turns")
    for count in _LAST_OF:
        *_, last = facts = run.facts.several(count)
        subject = run.open()
        for fact in facts:
            run.plant(subject, fact, "turns")
        run.close(subject)
        if not losses.is_stored(run, last):
            seen = _comes_back_from_the_middle(run, last)
            number = "the only turn" if count == 1 else f"the last of {count} turns"
            run.violated(
                "a turn that was recorded right before shutdown, recalled after a new start",
                f"{number}, {last.text!r}, did not come back{seen}",
            )


def _comes_back_from_the_middle(run: Run, fact: Fact) -> str:
    """See that the turn is not unfit for recall, where the provider did not say that it stores."""
    if "turns" in run.declared("stores", []):
        return ""
    with run.session() as subject:
        run.plant(subject, fact, "turns")
        routes.talk_on(subject)
        run.wait_until(lambda: False, _MOMENT_S)
    if not losses.is_stored(run, fact):
        raise Untestable("the last turn did not come back from the middle of a session either")
    return "; recorded again, with time and other turns before shutdown, it did"


@check("MP-TURN-004")
def a_resumed_session_keeps_its_turns(run: Run) -> None:
    run.needs_route("turns")
    session = run.session_key()
    early, late = run.facts.several(2)
    _one_turn(run, session, early)
    if not losses.is_stored(run, early):
        raise Untestable("the turn of the session's first part did not come back")
    _one_turn(run, session, late)
    for fact, part in ((early, "first"), (late, "second")):
        if not losses.is_stored(run, fact):
            run.violated(
                "the turns of both parts of a session that was opened again",
                f"the turn of the {part} part, {fact.text!r}, did not come back",
            )


def _one_turn(run: Run, session: str, fact: Fact) -> None:
    subject = run.open(session=session)
    run.plant(subject, fact, "turns")
    run.close(subject)
