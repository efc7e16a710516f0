"""The table of attribution: a row for each event, and each row says what it is to say."""

import dataclasses

import pytest

from memproto import spec
from memproto.bindings import HERMES, NATIVE
from memproto.errors import Misconfigured, Unavailable
from memproto.testing import incidents, integrity
from memproto.testing.evidence import Acted, Died, Differs, Froze, Grew, Late
from memproto.testing.judging import attribution, events, fates
from memproto.testing.judging.attribution import (
    DEPENDS,
    NOTHING,
    TABLE,
    always,
    attribute,
    found_elsewhere,
    row,
)
from memproto.testing.needs import LESS_TO_DO, NO_REFUSAL, SET_UP, DependsOn
from memproto.testing.outcomes import Outcome

#: A check of a MUST, one under which the backend fails, one that counts memory, one of hosts.
OWN, FAILS, COUNTS, HOST = "MP-LIFE-001", "MP-FAULT-005", incidents.COUNTS, "MP-HOST-TURN-001"

PASS, FAIL, UNTESTABLE = Outcome.PASS, Outcome.FAIL, Outcome.UNTESTABLE
INCONCLUSIVE, KIT_ERROR = Outcome.INCONCLUSIVE, Outcome.KIT_ERROR
NOT_APPLICABLE, NOT_SCORED = Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED

SEEN = Differs(wanted="one thing", seen="another one")


def raised(error, operation="record", check=OWN, binding=NATIVE, **more):
    hook = binding.hook(operation)
    return events.HookRaised(
        check=check,
        operation=operation,
        hook=hook,
        where=f"mine.py:3 in Mine.{hook}",
        error=error,
        text=f"{operation}: {error!r}",
        binding=binding,
        **more,
    )


def late(check=OWN, operation="record", **more):
    hook = NATIVE.hook(operation)
    return events.HookLate(
        check=check,
        operation=operation,
        hook=hook,
        where=hook,
        text=f"{operation} took 9.00 s of 5 s",
        took_s=9.0,
        budget_s=5.0,
        **more,
    )


def lost(kind, seen, check=OWN, operation="record", side="provider", **more):
    return kind(
        check=check,
        side=side,
        operation=operation,
        hook=fates.hook_of(operation, NATIVE),
        took_s=9.0,
        seen=seen,
        stack=("mine.py:3 in record", "mine.py:9 in call"),
        **more,
    )


def hung(check=OWN, operation="record", **more):
    seen = Late(hook="record", took_s=9.0, budget_s=5.0, state="ended")
    return lost(events.HookHung, seen, check, operation, **more)


def died(**more):
    return lost(events.ProcessDied, Died(hook="record", ending="exit code 3"), **more)


def froze(**more):
    return lost(events.ProcessFroze, Froze(hook="record", held_s=9.0, ended=True), **more)


def grew(**more):
    return lost(events.ProcessGrew, Grew(hook="record", held="900 MB of memory"), **more)


def rewritten(side="provider", *, is_alone):
    return events.FilesRewritten(check="", side=side, names=("judge.py",), is_alone=is_alone)


def refused(deed):
    return events.LoadRefused(check="", seen=Acted(wanted="no", deed=deed, seen=("it",)))


#: Event to the results that it gives, each as its requirement and its outcome.
EXAMPLES = [
    (events.NotInRelease(check=OWN), [(OWN, NOT_SCORED)]),
    (events.Unchecked(check=OWN, reason="why"), [(OWN, NOT_SCORED)]),
    (events.OtherBinding(check=OWN, wanted="hermes", binding="native"), [(OWN, NOT_APPLICABLE)]),
    (events.GateClosed(check=OWN, reason="why"), [(OWN, UNTESTABLE)]),
    (events.LostTooOften(check=OWN), [(OWN, UNTESTABLE)]),
    (events.CheckReturned(check=OWN), [(OWN, PASS)]),
    (events.RuleViolated(check=OWN, rule=OWN, evidence=SEEN), [(OWN, FAIL)]),
    (
        events.RuleViolated(check=OWN, rule="MP-CAP-002", evidence=SEEN),
        [(OWN, UNTESTABLE), ("MP-CAP-002", FAIL)],
    ),
    (events.NotConcerned(check=OWN, reason="why"), [(OWN, NOT_APPLICABLE)]),
    (events.NotExercised(check=OWN, reason="why"), [(OWN, UNTESTABLE)]),
    (events.NotMeasured(check=OWN, reason="why"), [(OWN, INCONCLUSIVE)]),
    (raised(Unavailable("later")), [(OWN, UNTESTABLE)]),
    (
        raised(KeyError("x"), "compress", binding=HERMES, has_checkpoint=True),
        [(OWN, UNTESTABLE)],
    ),
    (raised(KeyError("x"), "open", check=FAILS), [(FAILS, UNTESTABLE)]),
    (
        raised(SystemExit(3), ends_process=True),
        [(OWN, UNTESTABLE), (incidents.DIED, FAIL)],
    ),
    (
        raised(KeyError("x"), "compress", has_checkpoint=True),
        [(OWN, UNTESTABLE), (incidents.CHECKPOINT, FAIL)],
    ),
    (raised(KeyError("x")), [(OWN, UNTESTABLE), (incidents.RAISED["record"], FAIL)]),
    (raised(KeyError("x"), check=incidents.RAISED["record"]), [(incidents.RAISED["record"], FAIL)]),
    (late(excuse="the machine was busy"), [(OWN, INCONCLUSIVE)]),
    (late(was_late=True), [(OWN, UNTESTABLE)]),
    (late(FAILS), [(FAILS, UNTESTABLE)]),
    (late(COUNTS), [(COUNTS, UNTESTABLE)]),
    (late(unanswered=True), [(OWN, UNTESTABLE)]),
    (
        late(operation="close", unanswered=True),
        [(OWN, UNTESTABLE), (incidents.LATE["close"], FAIL)],
    ),
    (late(), [(OWN, UNTESTABLE), (incidents.LATE["record"], FAIL)]),
    (events.CheckRaised(check=OWN, error=KeyError("x"), place="mine.py:3"), [(OWN, FAIL)]),
    (
        events.CheckRaised(check=OWN, error=KeyError("x"), replaced=("time.sleep",)),
        [(OWN, UNTESTABLE)],
    ),
    (events.CheckRaised(check=OWN, error=OSError(28, "full")), [(OWN, INCONCLUSIVE)]),
    (events.CheckRaised(check=OWN, error=KeyError("x")), [(OWN, KIT_ERROR)]),
    (events.LoadRaised(check=incidents.LOAD, error=KeyError("x")), [(incidents.LOAD, FAIL)]),
    (
        events.LoadLate(check=incidents.LOAD, took_s=30.0, budget_s=20.0, excuse="busy"),
        [(incidents.LOAD, INCONCLUSIVE)],
    ),
    (
        events.LoadLate(check=incidents.LOAD, took_s=30.0, budget_s=20.0),
        [(incidents.LOAD, FAIL)],
    ),
    (refused("program"), [(spec.role("load_starts_programs"), FAIL)]),
    (refused("connection"), [(spec.role("load_connects"), FAIL)]),
    (events.LoadFailedAgain(check=incidents.LOAD, fault="raises"), [(incidents.LOAD, FAIL)]),
    (events.LoadOverdue(check=incidents.LOAD, took_s=90.0), [(incidents.LOAD, INCONCLUSIVE)]),
    (events.Forked(check=incidents.LOAD), [(incidents.DIED, FAIL)]),
    (died(check=incidents.LOAD, operation="load", is_loading=True), [(incidents.LOAD, FAIL)]),
    (froze(is_known=True), [(OWN, UNTESTABLE)]),
    (hung(is_known=True), [(OWN, UNTESTABLE)]),
    (hung(COUNTS), [(COUNTS, UNTESTABLE)]),
    (hung(FAILS, "close"), [(FAILS, UNTESTABLE)]),
    (died(check=HOST, side="host"), [(HOST, FAIL)]),
    (died(is_known=True), [(OWN, UNTESTABLE), (incidents.DIED, FAIL)]),
    (died(is_afterwards=True), [(incidents.DIED, FAIL)]),
    (froze(), [(OWN, UNTESTABLE), (incidents.FROZE, FAIL)]),
    (grew(), [(OWN, UNTESTABLE), (incidents.GREW, FAIL)]),
    (hung(FAILS, "record"), [(FAILS, FAIL)]),
    (hung(unanswered=True), [(OWN, UNTESTABLE)]),
    (
        hung(operation="close", unanswered=True),
        [(OWN, UNTESTABLE), (incidents.LATE["close"], FAIL)],
    ),
    (hung(), [(OWN, UNTESTABLE), (incidents.LATE["record"], FAIL)]),
    (events.CheckOverdue(check=OWN, took_s=90.0), [(OWN, INCONCLUSIVE)]),
    (events.KitChanged(check=HOST, names=("judge",)), [(HOST, FAIL)]),
    (
        events.KitChanged(check=OWN, names=("judge",)),
        [(OWN, UNTESTABLE), (incidents.MEDDLED, FAIL)],
    ),
    (events.MessageForged(check=HOST), [(HOST, FAIL)]),
    (events.MessageForged(check=OWN), [(OWN, UNTESTABLE), (incidents.MEDDLED, FAIL)]),
    (rewritten(is_alone=False), [(incidents.MEDDLED, KIT_ERROR)]),
    (rewritten(is_alone=True), [(incidents.MEDDLED, FAIL)]),
    (rewritten("host", is_alone=True), [(incidents.load_rule("host"), FAIL)]),
    (events.KitFailed(check=OWN, text="a\nb", replaced=("time.sleep",)), [(OWN, UNTESTABLE)]),
    (events.KitFailed(check=OWN, text="a\nb"), [(OWN, KIT_ERROR)]),
]


def types_below(kind):
    """The types of events that happen: those that have no further kinds."""
    kinds = kind.__subclasses__()
    return {kind} if not kinds else set().union(*map(types_below, kinds))


def test_each_event_has_a_row_that_no_condition_closes():
    open_rows = {item.event for item in TABLE if item.when is always}
    assert types_below(events.Event) == open_rows


def test_each_row_is_reached_by_an_example():
    reached = {TABLE.index(row(event)) for event, _ in EXAMPLES}
    assert reached == set(range(len(TABLE)))


def test_no_row_stands_behind_one_that_takes_its_events():
    closed = set()
    for item in TABLE:
        assert item.event not in closed, item
        closed |= types_below(item.event) if item.when is always else set()


@pytest.mark.parametrize(("event", "results"), EXAMPLES)
def test_an_event_gives_these_results(event, results):
    assert [(item.id, item.outcome) for item in attribute(event)] == results


@pytest.mark.parametrize(("event", "results"), EXAMPLES)
def test_each_result_has_what_its_outcome_asks_for(event, results):
    for item in attribute(event):
        if item.outcome in (UNTESTABLE, INCONCLUSIVE, NOT_APPLICABLE):
            assert item.reason
            assert item.evidence is None
        if item.outcome in (FAIL, Outcome.WARN, KIT_ERROR):
            assert item.evidence is not None
            assert not item.reason


@pytest.mark.parametrize(("event", "results"), EXAMPLES)
def test_another_rule_is_told_with_the_check_that_met_it(event, results):
    *own, booked = attribute(event)
    assert booked.seen_in == ("" if booked.id == event.check else event.check)
    for item in own:
        assert item.needs[0] == DependsOn(booked.id, "violated")
        assert booked.observed in item.reason


@pytest.mark.parametrize(("event", "results"), EXAMPLES)
def test_an_event_is_frozen(event, results):
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.check = "MP-TURN-001"


def test_a_rule_that_any_check_may_book_waits_for_the_last_one():
    for event, results in EXAMPLES:
        booked = results[-1][0]
        if row(event).own == DEPENDS and booked != event.check:
            assert booked in found_elsewhere("provider")


def test_a_row_that_books_the_check_itself_leaves_nothing_open():
    assert {item.own for item in TABLE} == {DEPENDS, NOTHING}
    for event, results in EXAMPLES:
        if row(event).own == NOTHING:
            assert len(results) == 1


def test_a_should_that_does_not_hold_is_warned_of():
    rule = next(item.id for item in spec.select([], "provider") if item.level == "SHOULD")
    (found,) = attribute(events.RuleViolated(check=rule, rule=rule, evidence=SEEN))
    assert found.outcome is Outcome.WARN


def test_a_report_of_a_wrong_set_up_needs_settings():
    assert attribute(raised(Misconfigured("no key")))[0].needs == SET_UP
    assert attribute(raised(Unavailable("later")))[0].needs == NO_REFUSAL


def test_a_fate_carries_its_frames_its_call_and_its_circumstances():
    event = hung(is_afterwards=True)
    event = dataclasses.replace(event, tail=", by what was left", after=("MP-TURN-001",))
    (found,) = attribute(event)
    assert found.where == "mine.py:3 in record"
    assert found.stack == "mine.py:3 in record\nmine.py:9 in call"
    assert found.hooks == {"record": [1, 9.0, 9.0]}
    assert ", by what was left" in found.observed
    assert found.after == ("MP-TURN-001",)
    assert attribute(died())[1].hooks == {}


# -- integrity -------------------------------------------------------------------------------------


def test_no_target_changes_a_row_in_place():
    with pytest.raises(AttributeError):
        object.__setattr__(TABLE[0], "outcome", PASS)
    with pytest.raises(AttributeError):
        object.__setattr__(TABLE[0].rule, "of", "MP-TURN-001")


@pytest.mark.parametrize("name", ["TABLE", "row", "is_excused", "attribute"])
def test_a_target_that_puts_another_table_in_place_is_seen(monkeypatch, name):
    changed = integrity.watcher()
    assert f"{attribution.__name__}.{name}" not in changed()
    monkeypatch.setattr(attribution, name, ())
    assert f"{attribution.__name__}.{name}" in changed()


@pytest.mark.parametrize(
    "event",
    [
        events.LoadOverdue(check=incidents.LOAD, took_s=90.0),
        events.CheckOverdue(check=OWN, took_s=90.0),
    ],
)
def test_a_result_that_the_machine_left_open_says_that_it_wants_less_to_do(event):
    assert [result.needs for result in attribute(event)] == [LESS_TO_DO]
