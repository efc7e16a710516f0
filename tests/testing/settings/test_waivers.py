"""Waivers: what each rule of theirs says, the day injected, and what a verdict makes of them."""

import dataclasses
import datetime as dt
from pathlib import Path

import pytest

from memproto import spec
from memproto.errors import InvalidSettings
from memproto.report import verdicts
from memproto.report.verdict_line import waiver_lines
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings import settings, waivers
from tests.made_reports import built, judged, row

TODAY = dt.date(2026, 11, 22)
RULE = "MP-TURN-002"

ENTRY = """
[MP-TURN-002]
reason = "the index loses half surrogates until version 3"
issue = "https://example.org/12"
owner = "mara"
expires = 2027-03-31
"""


def booked(directory: Path, text: str, today: dt.date = TODAY, **kwargs) -> waivers.Book:
    (directory / "waivers.toml").write_text(text, encoding="utf-8")
    (directory / "memproto.toml").write_text('waivers = "waivers.toml"\n', encoding="utf-8")
    entries = settings.read("mine", directory).waivers
    return waivers.book(entries, today, side=kwargs.pop("side", "provider"), **kwargs)


def the_fault(directory: Path, text: str, today: dt.date = TODAY):
    [fault] = booked(directory, text, today).faults
    return fault


def holding(**changes) -> waivers.Book:
    entry = waivers.Waiver(RULE, "why it fails", "#1", "mara", dt.date(2027, 3, 31), "w.toml:1")
    waiver = dataclasses.replace(entry, **changes)
    return waivers.Book(TODAY, valid={waiver.id: waiver})


# -- entries ---------------------------------------------------------------------------------------


def test_a_valid_entry_is_a_waiver_with_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = booked(tmp_path, ENTRY)
    assert book.faults == ()
    waiver = book.valid[RULE]
    assert (waiver.owner, waiver.expires) == ("mara", dt.date(2027, 3, 31))
    assert (waiver.place, waiver.line) == ("waivers.toml:2", "[MP-TURN-002]")


def test_a_date_may_be_text(tmp_path):
    assert RULE in booked(tmp_path, ENTRY.replace("2027-03-31", '"2027-03-31"')).valid


def test_tables_in_pyproject_are_waivers_with_the_line_of_that_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "[project]\nname = 'x'\n" + ENTRY.replace("[MP", "[tool.memproto.waivers.MP")
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    found = settings.read("mine", tmp_path)
    book = waivers.book(found.waivers, TODAY, side="provider")
    assert book.valid[RULE].place == "pyproject.toml:4"
    assert found.for_report()["waivers"] == [RULE]


def test_a_table_of_the_target_adds_to_the_general_one_and_overrides_it(tmp_path):
    general = ENTRY.replace("[MP", "[waivers.MP")
    own = general.replace("[waivers.", '[target."mine".waivers.').replace("mara", "noor")
    other = own.replace("TURN-002", "TURN-003")
    (tmp_path / "memproto.toml").write_text(general + own + other, encoding="utf-8")
    found = settings.read("mine", tmp_path).waivers
    assert sorted(found) == ["MP-TURN-002", "MP-TURN-003"]
    assert found[RULE].value["owner"] == "noor"
    assert settings.read("elsewhere", tmp_path).waivers[RULE].value["owner"] == "mara"


def test_a_file_is_named_relative_to_the_settings_file(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "w.toml").write_text(ENTRY, encoding="utf-8")
    (tmp_path / "memproto.toml").write_text("waivers = 'w.toml'", encoding="utf-8")
    assert list(settings.read("mine", tmp_path / "below").waivers) == [RULE]


def test_a_file_that_is_not_there_is_a_fault_of_the_settings(tmp_path):
    (tmp_path / "memproto.toml").write_text("\nwaivers = 'no.toml'", encoding="utf-8")
    with pytest.raises(InvalidSettings, match=r"memproto.toml:2: waivers: names 'no.toml', which"):
        settings.read("mine", tmp_path)


WRONG = {
    "an unknown id": ("MP-TURN-002", "MP-TRUN-002", "unknown", "is no requirement", "-002]"),
    "an id in small letters": ("MP-TURN-002", "mp-turn-002", "unknown", ":2: mp", "[MP-TURN-002]"),
    "a whole area": ("MP-TURN-002", "MP-TURN", "unknown", "MP-TURN: is no", "[MP-TURN-00"),
    "a table above": ("[MP-", "[waivers.MP-", "unknown", ":2: waivers: is", "nothing stands"),
    "no id at all": ("MP-TURN-002", "zzz", "unknown", "zzz: is no", "memproto list"),
    "no reason": ("reason =", "# ", "incomplete", "has no reason", "reason = "),
    "an empty reason": ('"the index loses half surrogates until version 3"', '" "', "incomplete",
                        "has no reason", 'write reason = "why'),
    "a reason of a word": ('"the index loses half surrogates until version 3"', '"later"',
                           "incomplete", ":3: MP-TURN-002: the reason 'later' tells nothing",
                           'write reason = "why'),
    "no issue": ("issue =", "# ", "incomplete", "has no issue", "issue = "),
    "no owner": ("owner =", "# ", "incomplete", "has no owner", "owner = "),
    "an owner who is a number": ('"mara"', "3", "malformed", ":5: MP-TURN-002: owner must be",
                                 "owner = "),
    "no end": ("expires =", "# ", "incomplete", "never expires", "write expires = 2027-01-21"),
    "an end that is a moment": ("2027-03-31", "2027-03-31T10:00:00Z", "malformed", "is no date",
                                "write expires = 2027-01-21"),
    "an end that is no day": ("2027-03-31", '"2027-02-30"', "malformed", ":6: MP-TURN-002: exp",
                              "write expires = 2027-01-21"),
    "a week for an end": ("2027-03-31", '"2027-W10-1"', "malformed", "is no date", "2027-01-21"),
    "an end in the past": ("2027-03-31", "2026-11-21", "expired",
                           ":6: MP-TURN-002: expired on 2026-11-21; today is 2026-11-22 in UTC",
                           "mend the fault, or renew it: write expires = 2027-01-21"),
    "a misspelt key": ("owner =", "owner = 'noor'\nowners =", "malformed", "TURN-002: 'owners",
                       'write owner = "mara"'),
    "a profile that is none": ("owner =", "profile = 'depp'\nowner =", "malformed",
                               ":5: MP-TURN-002: profile 'depp' is none of quick, ci, deep",
                               'write profile = "deep"'),
    "a profile that is a list": ("owner =", "profile = ['ci']\nowner =", "malformed", "is none of",
                                 'write profile = "'),
    "a misspelt profile": ("owner =", "profil = 'deep'\nowner =", "malformed", "'profil' is no key",
                           "write profile = 'deep'"),
    "a strange key": ("owner =", "mood = 'x'\nowner =", "malformed", "'mood' is", "leave it out"),
    "no TOML": ("owner =", "owner", "malformed", "waivers.toml:5: is no TOML", "correct the line"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_an_entry_is_named_with_the_corrected_line(tmp_path, case, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before, after, kind, said, fix = WRONG[case]
    fault = the_fault(tmp_path, ENTRY.replace(before, after))
    assert fault.kind == kind
    assert fault.text.startswith("waivers.toml")
    assert said in fault.text
    assert fix in fault.fix


def test_an_entry_that_is_no_table_is_malformed(tmp_path):
    fault = the_fault(tmp_path, "MP-TURN-002 = 'later'")
    assert (fault.kind, fault.id) == ("malformed", RULE)
    assert "is no table" in fault.text


def test_all_faults_of_an_entry_are_told_at_once(tmp_path):
    faults = booked(tmp_path, "[MP-TURN-002]\nowner = ''").faults
    assert [fault.text.partition(RULE)[2] for fault in faults] == [
        ": has no reason",
        ": has no issue",
        ": has no owner",
        ": never expires",
    ]


def test_a_waiver_holds_through_the_whole_of_its_last_day(tmp_path):
    assert RULE in booked(tmp_path, ENTRY, dt.date(2027, 3, 31)).valid
    assert the_fault(tmp_path, ENTRY, dt.date(2027, 4, 1)).kind == "expired"


def test_a_waiver_of_the_other_side_is_no_concern_of_a_target(tmp_path):
    text = ENTRY.replace("MP-TURN-002", "MP-HOST-REC-001")
    assert booked(tmp_path, text).valid == {}
    assert booked(tmp_path, text).faults == ()
    assert list(booked(tmp_path, text, side="host").valid) == ["MP-HOST-REC-001"]


def test_an_expired_waiver_of_the_other_side_is_red_all_the_same(tmp_path):
    text = ENTRY.replace("MP-TURN-002", "MP-HOST-REC-001").replace("2027", "2025")
    assert the_fault(tmp_path, text).kind == "expired"


def test_today_is_the_date_in_utc():
    before = dt.datetime.now(dt.UTC).date()
    assert before <= waivers.today() <= dt.datetime.now(dt.UTC).date()


# -- notes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "said"),
    [(0, "ends today"), (1, "ends tomorrow"), (14, "ends in 14 days"), (15, None)],
)
def test_a_waiver_is_warned_of_for_its_last_fourteen_days(days, said):
    book = holding(expires=TODAY + dt.timedelta(days))
    notes = book.notes([Result(RULE, Outcome.FAIL)])
    assert [note.kind for note in notes] == (["ends_soon"] if said else [])
    assert said is None or said in notes[0].text


@pytest.mark.parametrize("outcome", [Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED])
def test_a_waiver_of_what_does_not_apply_is_told_and_not_red(outcome):
    found = built(judged(waivers=holding(), MP_TURN_002=outcome))
    assert found["exit_code"] == 0
    [note] = found["reports"][0]["waivers"]["notes"]
    assert note["kind"] == "not_needed"
    assert row(found, RULE)["outcome"] == outcome


# -- verdicts --------------------------------------------------------------------------------------


def test_a_waived_fail_is_incomplete_and_does_not_raise_the_exit_code():
    found = built(judged(waivers=holding(), MP_TURN_002=Outcome.FAIL))
    report = found["reports"][0]
    assert row(found, RULE)["outcome"] == "waived"
    assert (report["verdict"], found["exit_code"]) == ("INCOMPLETE", 0)
    assert (report["counts"]["waived"], report["counts"]["fail"]) == (1, 0)
    assert row(found, RULE)["waiver"] == {
        "reason": "why it fails",
        "issue": "#1",
        "owner": "mara",
        "expires": "2027-03-31",
        "outcome": "fail",
    }


def test_a_fail_that_is_not_waived_stays_red_beside_one_that_is():
    found = built(judged(waivers=holding(), MP_TURN_002="fail", MP_TURN_003="fail"))
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("NON-CONFORMANT", 1)


@pytest.mark.parametrize("outcome", [Outcome.UNTESTABLE, Outcome.INCONCLUSIVE, Outcome.NOT_RUN])
def test_what_was_not_decided_is_neither_waived_nor_stale(outcome):
    found = built(judged(waivers=holding(), MP_TURN_002=outcome))
    report = found["reports"][0]
    assert row(found, RULE)["outcome"] == outcome
    assert (report["verdict"], found["exit_code"]) == ("INCOMPLETE", 6)
    assert report["waivers"]["faults"] == report["waivers"]["notes"] == []


def test_an_error_of_the_kit_is_not_waived():
    found = built(judged(waivers=holding(), MP_TURN_002=Outcome.KIT_ERROR))
    assert (row(found, RULE)["outcome"], found["exit_code"]) == ("kit_error", 3)


def test_a_run_in_which_nothing_passed_is_not_made_good_by_a_waiver():
    ids = [item.id.replace("-", "_") for item in spec.select([], "provider")]
    others = dict.fromkeys(ids, "not_applicable")
    found = built(judged(waivers=holding(), **{**others, "MP_TURN_002": "fail"}))
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("INCOMPLETE", 6)


def test_a_waiver_of_a_rule_that_holds_is_stale_and_red():
    found = built(judged(waivers=holding(line="[MP-TURN-002]")))
    report = found["reports"][0]
    assert (report["verdict"], found["exit_code"]) == ("CONFORMANT", 1)
    assert row(found, RULE)["waiver"] is None
    [fault] = report["waivers"]["faults"]
    assert fault["kind"] == "stale"
    assert fault["fix"].startswith("remove [MP-TURN-002] and the keys below it")
    assert next(waiver_lines(report)) == (
        "waiver: w.toml:1: MP-TURN-002 holds, and its waiver is stale",
        True,
    )


def test_an_entry_of_a_baseline_whose_rule_holds_is_noted_and_not_red():
    waiver = dataclasses.replace(holding(line="[MP-TURN-002]").valid[RULE], is_baseline=True)
    book = dataclasses.replace(holding(), valid={RULE: waiver})
    found = built(judged(waivers=book))
    assert found["exit_code"] == 0
    [note] = found["reports"][0]["waivers"]["notes"]
    assert note["kind"] == "mended"
    assert note["text"] == "w.toml:1: MP-TURN-002 holds now; remove [MP-TURN-002]"
    assert built(judged(waivers=book, MP_TURN_002="fail"))["exit_code"] == 0


def test_a_baseline_that_is_no_true_is_malformed(tmp_path):
    book = booked(tmp_path, f'{ENTRY}baseline = "yes"\n')
    [fault] = book.faults
    assert (fault.kind, fault.fix) == ("malformed", "write baseline = true, or leave it out")


def test_a_fault_of_a_waiver_is_red_whatever_else_happened(tmp_path):
    book = booked(tmp_path, "[MP-NOPE-001]")
    assert built(judged(waivers=book))["exit_code"] == 1
    assert built(judged(waivers=book), allow_incomplete=True)["exit_code"] == 1
    assert built(judged(waivers=book, MP_TURN_002=Outcome.KIT_ERROR))["exit_code"] == 3


def test_a_narrowed_run_takes_no_waiver_of_what_it_left_out_for_stale():
    found = built(judged(waivers=holding(), only=("MP-TURN-003",)), narrowed=True)
    assert (found["exit_code"], found["reports"][0]["waivers"]["faults"]) == (0, [])


def test_a_narrowed_run_with_a_waived_fail_alone_is_incomplete():
    fails = {"waivers": holding(), "MP_TURN_002": "fail"}
    only = built(judged(only=(RULE,), **fails), narrowed=True)
    assert only["exit_code"] == 6
    beside = built(judged(only=(RULE, "MP-TURN-003"), **fails), narrowed=True)
    assert (beside["reports"][0]["verdict"], beside["exit_code"]) == ("INCOMPLETE", 0)


# -- what only warns -------------------------------------------------------------------------------


def a_should(*, defensive: bool) -> str:
    return next(
        item.id
        for item in spec.select([], "provider")
        if item.level == "SHOULD" and item.defensive is defensive and not item.unchecked
    )


def warned(*, defensive: bool, strict: bool) -> dict:
    requirement = a_should(defensive=defensive)
    book = dataclasses.replace(holding(id=requirement), strict=strict)
    changed = {requirement.replace("-", "_"): Outcome.WARN}
    found = built(judged(waivers=book, **changed), strict=strict)
    return {**found, "row": row(found, requirement)}


def test_a_waiver_makes_a_warning_no_worse():
    found = warned(defensive=False, strict=False)
    assert (found["row"]["outcome"], found["row"]["waiver"]["outcome"]) == ("warn", "warn")
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("CONFORMANT", 0)
    assert found["reports"][0]["waivers"]["faults"] == []


def test_in_a_strict_run_a_warning_is_waived_like_a_fail():
    found = warned(defensive=False, strict=True)
    assert (found["row"]["outcome"], found["row"]["waiver"]["outcome"]) == ("waived", "warn")
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("INCOMPLETE", 0)


def test_what_backs_up_a_duty_of_the_host_needs_no_waiver_in_a_strict_run():
    found = warned(defensive=True, strict=True)
    assert found["row"]["outcome"] == "warn"
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("CONFORMANT", 0)


def test_verdict_and_exit_code_follow_from_the_rows_alone():
    found = built(judged(waivers=holding(), MP_TURN_002=Outcome.FAIL))
    report = found["reports"][0]
    assert verdicts.verdict(report["results"], strict=False) == report["verdict"]
    assert verdicts.counts(report["results"]) == report["counts"]
    assert verdicts.exit_code([report], allow_incomplete=False) == 0
