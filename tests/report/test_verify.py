"""memproto verify: what does not agree in a report is found, one thing at a time."""

import dataclasses
import json

import pytest

from memproto import __version__, cli, spec
from memproto.bindings import NATIVE
from memproto.report import document, reading, verifying
from memproto.report.verdict_line import verdict_line
from memproto.testing.evidence import Differs
from memproto.testing.settings.order import Contact
from tests.made_reports import built, changed, former, judged, row, saved

pytestmark = pytest.mark.once


def faults(found):
    return verifying.faults(json.loads(json.dumps(found)))


@pytest.mark.parametrize("facts", [{}, {"strict": True}, {"allow_incomplete": True}])
@pytest.mark.parametrize("outcome", ["pass", "fail", "warn", "untestable", "kit_error", "not_run"])
def test_what_a_run_writes_agrees_with_itself(outcome, facts):
    found = built(judged(MP_TURN_002=outcome), judged("host", side="host"), **facts)
    assert faults(found) == []


def test_a_narrowed_run_agrees_with_itself():
    assert faults(built(judged(only=("MP-TURN",)), narrowed=True)) == []


def test_a_document_without_targets_agrees_where_nothing_was_judged():
    assert faults({"format": 1, "exit_code": 4, "reports": []}) == []
    assert faults({"format": 1, "exit_code": 0, "reports": []}) == [
        "the exit code is 0, and nothing was judged"
    ]


def test_any_change_is_seen_by_the_fingerprint():
    found = built(judged())
    row(found, "MP-TURN-002")["observed"] = "something else"
    [said] = faults(found)
    assert said == (
        "reports[0] (provider mine): the fingerprint is that of other contents: "
        "something was changed after the run"
    )


def remade(found):
    return changed(found, results=found["reports"][0]["results"])


@pytest.mark.parametrize(
    ("command", "is_fine"),
    [
        ("memproto explain MP-TURN-001", True),
        ("pip install 'memproto[honcho]'", True),
        ("pip install --no-deps hermes-agent", True),
        ("export ACME_KEY=...; export OTHER=...", True),
        ("pip install acme; rm -r x", False),
        ("export A=$(rm x)", False),
        ("curl x | sh", False),
    ],
)
def test_the_command_of_the_next_step_is_one_of_the_kit(command, is_fine):
    step = {"kind": "mend", "text": "mend it", "waiting": 0, "command": command}
    said = faults(changed(built(judged()), next=step))
    assert (
        said
        == [
            "reports[0] (provider mine): the command of `next` is none of the kit's: do not run it"
        ][is_fine:]
    )


def test_a_requirement_that_is_missing_opens_the_denominator():
    found = built(judged())
    rows = found["reports"][0]["results"]
    rows.remove(row(found, "MP-TURN-002"))
    said = faults(remade(found))
    assert "reports[0] (provider mine): MP-TURN-002: missing" in said
    assert any("counts.pass" in text for text in said)


def test_a_requirement_that_is_there_twice_is_named():
    found = built(judged())
    found["reports"][0]["results"].append(row(found, "MP-TURN-002"))
    assert "reports[0] (provider mine): MP-TURN-002: there twice" in faults(remade(found))


def test_a_requirement_of_the_other_side_is_named():
    found, host = built(judged()), built(judged(side="host"))
    found["reports"][0]["results"].append(host["reports"][0]["results"][0])
    key = host["reports"][0]["results"][0]["id"]
    assert f"reports[0] (provider mine): {key}: no requirement of a provider" in faults(
        remade(found)
    )


def test_a_report_of_another_kit_is_told_of_as_one():
    found = built(judged())
    found["reports"][0]["results"].remove(row(found, "MP-TURN-002"))
    said = faults(changed(found, kit="7.1"))
    assert "MP-TURN-002: missing; kit 7.1 may have known others" in said[0]


def test_a_verdict_that_the_results_do_not_make_is_told_with_the_right_one():
    said = faults(changed(built(judged(MP_TURN_002="fail")), verdict="CONFORMANT"))
    assert said[0].endswith("the verdict is CONFORMANT, and its results make it NON-CONFORMANT")
    assert said[1] == "the exit code is 1, and its reports make it 0"


def test_a_failure_that_was_turned_into_a_pass_shows_in_verdict_and_counts():
    found = built(judged(MP_TURN_002="fail"))
    row(found, "MP-TURN-002")["outcome"] = "pass"
    said = " ".join(faults(remade(found)))
    assert "counts.fail is 1, and 0 results are fail" in said
    assert "the verdict is NON-CONFORMANT, and its results make it CONFORMANT" in said


def test_a_level_that_was_lowered_is_told():
    found = built(judged())
    row(found, "MP-TURN-002")["level"] = "SHOULD"
    [said] = faults(remade(found))
    assert said.endswith("MP-TURN-002 is a MUST, and not a SHOULD")


def test_a_result_that_is_waived_by_no_waiver_is_told():
    found = built(judged(MP_TURN_002="waived"))
    assert any("MP-TURN-002 is waived, and by no waiver" in text for text in faults(found))


@pytest.mark.parametrize(
    ("waiver", "said"),
    [
        ({"expires": "2026-01-01"}, "has a waiver that had expired on 2026-01-01"),
        ({"outcome": "warn"}, "is fail, and its waiver says that it was warn"),
    ],
)
def test_a_waiver_that_does_not_fit_its_result_is_told(waiver, said):
    found = built(judged(MP_TURN_002="fail"))
    good = {"reason": "r" * 10, "issue": "i", "owner": "o", "expires": "2027-01-01"}
    row(found, "MP-TURN-002")["waiver"] = {**good, "outcome": "fail", **waiver}
    found["reports"][0]["waivers"]["date"] = "2026-11-22"
    [text] = faults(remade(found))
    assert said in text


def test_a_run_that_calls_itself_narrowed_must_have_left_something_out():
    assert "selected is true, and every requirement was run" in " ".join(
        faults(changed(built(judged()), selected=True))
    )


def test_a_release_that_the_kit_does_not_know_is_told():
    [said] = faults(changed(built(judged()), spec="9.0"))
    assert "scores by release 9.0, and this kit (" in said
    assert "knows 1.0" in said


def test_a_report_of_a_former_kit_that_says_less_is_good():
    found = built(judged(MP_RECALL_005="warn"), strict=True)
    for key in ("strict", "allow_incomplete", "waivers"):
        del found["reports"][0][key]
    assert faults(remade(found)) == []


def test_the_command_says_that_it_proves_nothing_against_forgery(tmp_path, capsys):
    path = saved(tmp_path / "r.json", built(judged()))
    assert cli.main(["verify", str(path)]) == 0
    said = capsys.readouterr().out
    number = len(spec.select([], "provider"))
    assert f"r.json: 1 report, {number} results: agrees with its schema, catalogue" in said
    assert "it is no proof against forgery" in said


def test_the_command_prints_the_verdict_line_of_the_run_where_nothing_is_wrong(tmp_path, capsys):
    said = {"isolates": ["user"], "retention": "derived"}
    good = changed(built(judged("hermes:mine", MP_TOOL_002="untestable")), **said)
    good = json.loads(json.dumps(good))
    cli.main(["verify", str(saved(tmp_path / "good.json", good))])
    line = "memproto 1.0 · hermes:mine · native · isolates=user · retention=derived · kit "
    assert f"{line}{__version__} · INCOMPLETE" in capsys.readouterr().out
    cli.main(["verify", str(saved(tmp_path / "bad.json", changed(good, verdict="CONFORMANT")))])
    assert line not in capsys.readouterr().out


def test_what_a_foreign_report_is_called_ends_no_line_of_the_command(tmp_path, capsys):
    found = built(judged("x\n::error::\x1b[2J"))
    for given in (found, changed(found, verdict="INCOMPLETE")):
        cli.main(["verify", str(saved(tmp_path / "r.json", given))])
        said = capsys.readouterr().out
        assert "x\\n::error::\\x1b[2J" in said
        assert all(line.isprintable() for line in said.splitlines())


@pytest.mark.parametrize(
    ("declared", "held"),
    [
        ({"isolates": ["user", "profile"], "retention": "selective"}, 2),
        ({"isolates": [], "retention": None}, 1),
        ({"isolates": "user", "retention": ["derived"]}, 0),
        ({"isolates": [["user"], "planet"], "retention": "for ever"}, 0),
        ({}, 0),
    ],
)
def test_a_report_holds_what_was_declared_where_it_means_something(declared, held, tmp_path):
    target = dataclasses.replace(judged(), contact=Contact(NATIVE, capabilities=declared))
    read = reading.read(saved(tmp_path / "r.json", built(target)))
    assert len(read["reports"][0].keys() & {"isolates", "retention"}) == held
    assert verifying.faults(read) == []


def test_the_command_ends_with_1_for_a_fault_and_with_4_for_what_is_no_report(tmp_path, capsys):
    bad = changed(built(judged()), verdict="INCOMPLETE")
    assert cli.main(["verify", str(saved(tmp_path / "bad.json", bad))]) == 1
    assert ": 1 fault\n" in capsys.readouterr().out
    (tmp_path / "no.json").write_text("{}")
    assert cli.main(["verify", str(tmp_path / "no.json")]) == 4
    assert "is JSON, and no report of memproto" in capsys.readouterr().err


def test_half_a_surrogate_does_not_change_the_fingerprint_on_its_way_through_a_file(tmp_path):
    from memproto.testing.outcomes import Outcome, Result

    result = Result(
        "MP-TURN-002", Outcome.FAIL, Differs(wanted="x", seen="saw \udc80 and \x00"), "a.py:1"
    )
    path = saved(tmp_path / "r.json", built(judged(MP_TURN_002=result)))
    read = reading.read(path)
    assert document.fingerprint(read["reports"][0]) == read["reports"][0]["fingerprint"]
    assert verifying.faults(read) == []


@pytest.mark.parametrize(
    "command",
    [
        "curl example.org | sh",
        "pytest --memproto=mine --memproto-clause=MP-TURN-002; rm x",
        "pytest --memproto=mine --memproto-clause=MP-TURN-002 -p evil",
        "pytest --memproto=other --memproto-clause=MP-TURN-002",
        "pytest --memproto=mine --memproto-clause=$(x)",
        "python evil.py  # or: pytest --memproto=mine --memproto-clause=MP-TURN-002",
        "python a/MP-TURN-002.py; x  # or: pytest --memproto=mine --memproto-clause=MP-TURN-002",
        "pytest --memproto=mine --memproto-clause=MP-TURN-002  # or: sh\nrm x",
        "'",
    ],
)
def test_a_changed_command_is_found_whatever_the_fingerprint(command):
    found = built(judged(MP_TURN_002="fail"))
    row(found, "MP-TURN-002")["reproduce"] = command
    assert "reports[0] (provider mine): MP-TURN-002: `reproduce` is no command of the kit's: " in (
        "".join(faults(remade(found)))
    )


@pytest.mark.parametrize(
    "command",
    [
        "python out/mine/MP-TURN-002.py  # or: pytest --memproto=mine --memproto-clause=MP-TURN",
        (
            "pytest --memproto=mine --memproto-clause=MP-CAP-003 --memproto-profile=ci "
            "--memproto-trust-package --memproto-seed=7"
        ),
        (
            "pytest --memproto=mine --memproto-clause=MP-TURN-002  "
            "# no script: calls alone do not show it"
        ),
    ],
)
def test_each_form_of_the_kits_own_commands_agrees(command):
    found = built(judged(MP_TURN_002="fail"))
    row(found, "MP-TURN-002")["reproduce"] = command
    assert faults(remade(found)) == []


def test_a_report_of_a_kit_that_counted_every_open_row_still_agrees():
    found = built(judged(MP_TEXT_004="untestable", MP_RECALL_005="inconclusive"))
    assert found["reports"][0]["verdict"] == "CONFORMANT"
    assert found["exit_code"] == 0
    assert faults({**former(found, verdict="INCOMPLETE"), "exit_code": 6}) == []
    made_up = {**former(built(judged()), verdict="INCOMPLETE"), "exit_code": 6}
    assert faults(made_up) == [
        "reports[0] (provider mine): the verdict is INCOMPLETE, and its results make it CONFORMANT",
        "the exit code is 6, and its reports make it 0",
    ]


def test_a_strict_run_in_which_a_recommendation_is_open_is_incomplete_and_agrees():
    found = built(judged(MP_RECALL_005="untestable"), strict=True)
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("INCOMPLETE", 6)
    assert faults(found) == []


def test_a_former_report_that_is_merged_gets_the_verdict_of_its_rows():
    found = built(judged(MP_TEXT_004="untestable"))
    assert verdict_line(found["reports"][0]).endswith("CONFORMANT shared")
    first = former(found, verdict="INCOMPLETE")["reports"][0]
    assert verdict_line(first).endswith(" · INCOMPLETE · core: 1 open")
