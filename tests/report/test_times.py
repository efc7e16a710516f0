"""Times of operations in a report: what is counted, what is left out, and several runs together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.bindings import HERMES, NATIVE
from memproto.report import times
from memproto.testing import spread
from memproto.testing.judging import fates
from memproto.testing.judging.attribution import attribute
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes.answer import Answer
from memproto.testing.settings.order import Order


def passed(requirement_id, operation, *took_s):
    counted: spread.Spread = {}
    for one in took_s:
        spread.count(counted, one)
    hooks = {operation: [len(took_s), max(took_s), sum(took_s)]}
    return Result(requirement_id, Outcome.PASS, hooks=hooks, times={operation: counted})


def recalls(*results, **order):
    return times.of_run(results, Order("mine", **order), HERMES).get("recall")


@given(st.lists(st.floats(1e-5, 8000), min_size=1))
def test_half_of_the_calls_took_no_longer_than_the_median_and_one_in_its_step(took_s):
    counted: spread.Spread = {}
    for one in took_s:
        spread.count(counted, one)
    middle = sorted(took_s)[(len(took_s) - 1) // 2]
    assert middle <= spread.median_s(counted) <= middle * 1.28


def test_no_call_has_no_median():
    with pytest.raises(ValueError, match="no call"):
        spread.median_s({})


def test_a_call_longer_than_the_last_step_counts_there():
    counted: spread.Spread = {}
    spread.count(counted, 90_000.0)
    assert counted == {"8000.0": 1}


def test_calls_of_several_checks_are_counted_together_beside_the_budget():
    first = passed("MP-RECALL-001", "recall", 0.010, 0.012)
    row = recalls(first, passed("MP-RECALL-003", "recall", 0.3))
    assert row == {
        "hook": "prefetch",
        "budget_s": 5.0,
        "rule": "MP-RECALL-002",
        "calls": 3,
        "p50_s": 0.0125,
        "slowest_s": 0.3,
        "times": {"0.01": 1, "0.0125": 1, "0.315": 1},
    }


def test_the_budget_is_the_one_that_was_in_force():
    assert recalls(passed("MP-RECALL-001", "recall", 0.1), scale=2.0)["budget_s"] == 10.0


def test_the_median_is_never_longer_than_the_slowest_call():
    row = recalls(passed("MP-RECALL-001", "recall", 0.0101))
    assert row["p50_s"] == row["slowest_s"] == 0.0101


def test_calls_while_the_kit_slows_the_provider_are_left_out():
    assert recalls(passed("MP-RES-004", "recall", 3.0)) is None
    assert recalls(passed("MP-FAULT-003", "recall", 3.0)) is None
    assert recalls(passed("MP-FAULT-001", "recall", 3.0))["slowest_s"] == 3.0


def test_the_times_of_a_host_are_no_part_of_its_report():
    assert recalls(passed("MP-HOST-RECALL-001", "recall", 3.0), side="host") is None


def test_a_call_that_never_returned_counts_as_long_as_it_was_waited_for():
    answer = Answer("late", operation="recall", budget_s=5.0, took_s=5.5)
    _, hung = attribute(fates.lost(answer, "MP-TURN-001", NATIVE))
    row = recalls(passed("MP-RECALL-001", "recall", 0.01), hung)
    assert (row["calls"], row["slowest_s"]) == (2, 5.5)


def test_operations_stand_in_the_order_of_a_session():
    results = [passed("MP-SHUT-001", name, 0.1) for name in ("close", "recall", "load", "odd")]
    assert list(times.of_run(results, Order("mine"), None)) == ["load", "recall", "close", "odd"]


def test_two_runs_merged_are_as_one_run_of_all_the_calls():
    one = passed("MP-RECALL-001", "recall", 0.01, 0.2)
    two = passed("MP-RECALL-003", "recall", 0.4)
    order = Order("mine")
    apart = [times.of_run([item], order, NATIVE) for item in (one, two)]
    assert times.merged(apart) == times.of_run([one, two], order, NATIVE)
