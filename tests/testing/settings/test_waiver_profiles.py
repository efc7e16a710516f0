"""Waivers of what only many examples show: under which profile a pass makes them stale."""

import dataclasses

import pytest

from memproto.testing.outcomes import Outcome, Result
from tests.made_reports import built, judged, row
from tests.testing.settings.test_waivers import ENTRY, RULE, booked, holding


@pytest.mark.parametrize(
    ("named", "run", "is_stale"),
    [
        ("quick", "quick", True),
        ("ci", "quick", False),
        ("deep", "quick", False),
        ("deep", "ci", False),
        ("ci", "ci", True),
        ("ci", "deep", True),
        ("deep", "deep", True),
    ],
)
def test_a_waiver_is_stale_only_under_a_profile_that_runs_what_failed(named, run, is_stale):
    book = dataclasses.replace(holding(profile=named), profile=run)
    found = built(judged(waivers=book))
    faults = found["reports"][0]["waivers"]["faults"]
    assert [fault["kind"] for fault in faults] == ["stale"] * is_stale
    assert (found["exit_code"], row(found, RULE)["outcome"]) == (int(is_stale), "pass")


def test_a_waiver_of_a_greater_profile_covers_a_fail_under_a_lesser_one():
    found = built(judged(waivers=holding(profile="deep"), MP_TURN_002="fail"))
    assert (row(found, RULE)["outcome"], found["exit_code"]) == ("waived", 0)


def test_the_profile_is_read_and_a_stale_waiver_names_those_under_which_it_may_fail(tmp_path):
    book = booked(tmp_path, ENTRY + 'profile = "deep"\n', profile="ci")
    assert (book.valid[RULE].profile, book.profile) == ("deep", "ci")
    [fault] = booked(tmp_path, ENTRY, profile="ci").stale([Result(RULE, Outcome.PASS)])
    assert fault.fix.endswith('fails only under a greater profile, write profile = "deep"')
    [fault] = booked(tmp_path, ENTRY, profile="deep").stale([Result(RULE, Outcome.PASS)])
    assert "profile" not in fault.fix
