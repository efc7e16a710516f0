"""SARIF of a report: valid by its schema, with rule pages, source lines and no text as a link."""

import json
import os
from pathlib import Path
from urllib.parse import quote

import jsonschema
import pytest

from memproto import cli, links, spec
from memproto.report.formats import places, sarif
from tests import kit_runs
from tests.reports import failed, report, row, whole

#: As Microsoft's `@microsoft/sarif-multitool` 5.7.0 ships it (MIT); the standard is of OASIS.
SCHEMA = json.loads(Path(__file__).with_name("sarif-2.1.0.schema.json").read_text("utf-8"))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / "mine.py").write_text("import x\n\n    raise  # here\n", "utf-8")
    return tmp_path


def log(place, *rows, **changed):
    found = sarif.build(whole(report(*rows, **changed)), place)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found["runs"][0]


def test_a_failure_is_an_error_at_its_line_with_the_source(place):
    run = log(place, failed(where="mine.py:3 in Memory.recall"), row("MP-TURN-001"))
    (result,) = run["results"]
    assert result["ruleId"] == "MP-RECALL-002"
    assert result["level"] == "error"
    (location,) = result["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "mine.py", "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": 3, "snippet": {"text": "    raise  # here"}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": "Memory.recall"}]
    for part in ("no answer after 5.2 s", "Expected: an answer", "Fix: Give", "Reproduce: pytest"):
        assert part in result["message"]["text"]


def test_the_page_of_a_rule_is_its_part_of_the_specification(place):
    run = log(place, failed("MP-TURN-003"), row("MP-TURN-004", "warn", level="SHOULD"))
    page, other = run["tool"]["driver"]["rules"]
    assert page["id"] == "MP-TURN-003"
    assert "Batches and background workers lose the end" in page["help"]["markdown"]
    assert "Batches and background workers lose the end" in page["help"]["text"]
    assert page["properties"]["tags"] == ["memory", "durable"]
    assert page["defaultConfiguration"] == {"level": "error"}
    assert other["defaultConfiguration"] == {"level": "warning"}
    assert [item["level"] for item in run["results"]] == ["error", "warning"]


def test_every_rule_has_a_page_without_links_that_lead_nowhere(place):
    run = log(place, *(failed(item) for item in spec.requirements()))
    for page in run["tool"]["driver"]["rules"]:
        assert page["id"] in page["help"]["markdown"]
        assert "](" not in page["help"]["markdown"]
        assert "<a id" not in page["help"]["markdown"]


def test_a_rule_leads_to_its_clause_where_the_specification_is_published(place, monkeypatch):
    published = {"Specification": "https://spec.example/v1/"}
    monkeypatch.setattr(links, "_addresses", lambda: published)
    run = log(place, failed("MP-TURN-003", chapter="50-turns"))
    (page,) = run["tool"]["driver"]["rules"]
    assert page["helpUri"] == "https://spec.example/v1/50-turns.md#mp-turn-003"


def test_a_waived_failure_is_suppressed_with_its_reason(place):
    waiver = {"reason": "the index loses them", "issue": "#12", "owner": "ines"}
    run = log(place, row("MP-RECALL-002", "waived", waiver=waiver, observed="x", expected="y"))
    (result,) = run["results"]
    (suppression,) = result["suppressions"]
    assert suppression["status"] == "accepted"
    assert "reason: the index loses them" in suppression["justification"]


def test_a_fault_of_the_kit_is_none_of_the_targets(place):
    run = log(place, row("MP-RECALL-002", "kit_error", observed="Traceback"))
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["level"] == "error"


def test_a_result_without_a_line_of_the_checkout_stands_at_the_settings(place):
    (result,) = log(place, failed(where="site/acme/x.py:3 in f"))["results"]
    assert "physicalLocation" not in result["locations"][0]
    (place / "pyproject.toml").write_text("[project]\n", "utf-8")
    (result,) = log(place, failed(where="site/acme/x.py:3 in f"))["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "pyproject.toml"


def test_a_line_is_named_from_the_root_of_the_checkout(place):
    (place / ".git").mkdir()
    inner = place / "my pkg"
    inner.mkdir()
    (inner / "m.py").write_text("x = 1\n", "utf-8")
    assert places.place("m.py:1 in f", inner, places.root_of(inner, {})) == ("my pkg/m.py", 1)
    found = sarif.build(whole(report(failed(where="m.py:1 in f"))), inner)
    physical = found["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "my%20pkg/m.py"
    assert physical["region"]["snippet"] == {"text": "x = 1"}


@pytest.mark.parametrize("name", [b"J\xfcrgen", b"a\nb", b"\\x41 \xfc"])
def test_a_file_whose_name_is_no_text_is_found_by_the_name_that_a_report_shows(place, name):
    (place / os.fsdecode(name)).mkdir()
    file = place / os.fsdecode(name) / "m.py"
    file.write_text("x = 1\n", "utf-8")
    where = f"{repr(str(file.relative_to(place)))[1:-1]}:1 in f".replace("\\\\", "\\")
    (result,) = log(place, failed(where=where))["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == f"{quote(name)}/m.py"
    assert physical["region"]["snippet"] == {"text": "x = 1"}


@pytest.mark.parametrize("name", ["\\U99999999", "\\ud800", "\\x00", "\\x", "a" * 5_000 + "\\xfc"])
def test_a_where_that_no_file_has_is_no_place(place, name):
    assert places.place(f"{name}.py:1 in f", place, place) is None


def test_no_text_of_a_stranger_is_a_link_or_a_control_character(place):
    said = "see [here](https://evil.example) \x1b[31m\u202e"
    run = log(place, failed(observed=said), target="mine\x1b")
    text = run["results"][0]["message"]["text"]
    assert "\\[here\\](https" in text
    assert not any(sign in json.dumps(run, ensure_ascii=False) for sign in "\x1b\u202e")
    assert "\\u001b" not in json.dumps(run)


def test_a_fault_keeps_its_fingerprint_when_its_line_moves(place):
    def prints(where):
        (result,) = log(place, failed(where=where))["results"]
        return result["partialFingerprints"]["memproto/v1"]

    assert prints("mine.py:3 in f") == prints("mine.py:30 in f")
    assert prints("mine.py:3 in f") != prints("other.py:3 in f")


@pytest.mark.once
def test_a_run_writes_it_and_so_does_the_command(tmp_path, monkeypatch):
    source = kit_runs.ROOT / "examples" / "batches.py"
    kit_runs.write(tmp_path, batches__py=source.read_text("utf-8"))
    done = kit_runs.reported(
        tmp_path,
        *("--memproto=batches", "--memproto-clause=MP-TURN-003", "--memproto-sarif=out.sarif"),
    )
    found = json.loads((tmp_path / "out.sarif").read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    (result,) = found["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    line = source.read_text("utf-8").splitlines()[region["startLine"] - 1]
    assert region["snippet"] == {"text": line}
    assert "def on_turn_complete" in line
    monkeypatch.chdir(tmp_path)
    assert done["exit_code"] == 1
    assert cli.main(["sarif", "report.json", "-o", "again.sarif"]) == 0
    assert json.loads((tmp_path / "again.sarif").read_text("utf-8")) == found
