"""A verdict is earned: the denominator is closed, and an empty run proves nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto import spec
from memproto.testing.evidence import Differs
from memproto.testing.outcomes import (
    OPEN,
    ExitCode,
    Outcome,
    Result,
    Verdict,
    counts,
    exit_code,
    merge,
    verdict,
)

many = st.lists(st.sampled_from(Outcome), max_size=12)


def results(outcomes):
    return [Result(f"MP-X-{n:03}", outcome) for n, outcome in enumerate(outcomes)]


def test_no_result_at_all_is_incomplete():
    assert verdict([]) is Verdict.INCOMPLETE


def test_nothing_but_not_applicable_is_incomplete():
    assert verdict(results([Outcome.NOT_APPLICABLE] * 3)) is Verdict.INCOMPLETE


@given(many)
def test_conformant_needs_a_pass_and_nothing_open_or_red(outcomes):
    found = verdict(results(outcomes))
    earned = Outcome.PASS in outcomes and not set(outcomes) & (
        OPEN | {Outcome.FAIL, Outcome.KIT_ERROR}
    )
    assert (found is Verdict.CONFORMANT) == earned


@given(many)
def test_a_kit_error_gives_no_verdict_and_exit_code_3(outcomes):
    found = verdict(results([*outcomes, Outcome.KIT_ERROR]))
    assert found is None
    assert exit_code([found, Verdict.CONFORMANT]) is ExitCode.KIT_ERROR


def test_strict_makes_a_warning_red():
    warned = results([Outcome.PASS, Outcome.WARN])
    assert verdict(warned) is Verdict.CONFORMANT
    assert verdict(warned, strict=True) is Verdict.NON_CONFORMANT


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([Verdict.CONFORMANT], 0),
        ([Verdict.CONFORMANT, Verdict.INCOMPLETE], 6),
        ([Verdict.INCOMPLETE, Verdict.NON_CONFORMANT], 1),
        ([Verdict.NON_CONFORMANT, None], 3),
        ([], 3),
    ],
)
def test_the_exit_code_is_that_of_the_worst_target(verdicts, code):
    assert exit_code(verdicts) == code


@given(many)
def test_merging_gives_each_id_one_result_and_the_worse_one_stands(outcomes):
    twice = [Result("MP-X-000", outcome) for outcome in outcomes]
    merged = merge(twice, ["MP-X-000", "MP-X-001"])
    assert list(merged) == ["MP-X-000", "MP-X-001"]
    assert merged["MP-X-001"].outcome is Outcome.NOT_RUN
    if Outcome.FAIL in outcomes and Outcome.KIT_ERROR not in outcomes:
        assert merged["MP-X-000"].outcome is Outcome.FAIL


@given(many)
def test_the_counts_add_up_to_all_results(outcomes):
    assert sum(counts(results(outcomes)).values()) == len(outcomes)


@given(st.sampled_from(Outcome), st.text(), st.floats(0, 100))
def test_a_result_survives_the_wire(outcome, text, seconds):
    hooks = {"open": [1, 0.5, 0.5]}
    result = Result(
        "MP-X-001", outcome, Differs(wanted=text, seen=text), duration_s=seconds, hooks=hooks
    )
    assert Result.from_dict(result.as_dict()) == result


@pytest.mark.parametrize("outcome", [Outcome.UNTESTABLE, Outcome.INCONCLUSIVE])
@pytest.mark.parametrize(
    ("requirement", "plain", "strict"),
    [
        ("MP-TURN-002", Verdict.INCOMPLETE, Verdict.INCOMPLETE),
        ("MP-RECALL-005", Verdict.CONFORMANT, Verdict.INCOMPLETE),
        ("MP-TEXT-004", Verdict.CONFORMANT, Verdict.CONFORMANT),
    ],
    ids=["a MUST", "a SHOULD", "a defensive SHOULD"],
)
def test_an_open_rule_leaves_the_verdict_open_if_its_violation_would_change_it(
    requirement, plain, strict, outcome
):
    found = [Result("MP-NAME-001", Outcome.PASS), Result(requirement, outcome)]
    assert verdict(found) is plain
    assert verdict(found, strict=True) is strict


@pytest.mark.parametrize(
    "requirement", [item.id for item in spec.requirements().values() if item.defensive]
)
def test_no_defensive_rule_changes_a_verdict_whatever_became_of_it(requirement):
    held = verdict([Result("MP-NAME-001", Outcome.PASS)], strict=True)
    for outcome in (Outcome.UNTESTABLE, Outcome.INCONCLUSIVE, Outcome.NOT_APPLICABLE):
        assert (
            verdict(
                [Result("MP-NAME-001", Outcome.PASS), Result(requirement, outcome)], strict=True
            )
            is held
        )


def test_a_rule_that_did_not_run_leaves_the_verdict_open_whatever_it_is():
    for requirement in ("MP-TURN-002", "MP-RECALL-005", "MP-TEXT-004"):
        found = [Result("MP-NAME-001", Outcome.PASS), Result(requirement, Outcome.NOT_RUN)]
        assert verdict(found) is Verdict.INCOMPLETE


def test_a_run_in_which_only_recommendations_are_left_open_and_nothing_passed_proves_nothing():
    assert verdict([Result("MP-TEXT-004", Outcome.UNTESTABLE)]) is Verdict.INCOMPLETE
