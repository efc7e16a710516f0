"""memproto stability: the rule of governance, counted from reports."""

import dataclasses
import json

import pytest

from memproto import cli, spec
from memproto.report import stability
from memproto.report.stability import Ledger, Refuted
from tests.made_reports import built, changed, judged, saved

RULE = "MP-TURN-002"

pytestmark = pytest.mark.usefixtures("only_drafts")


def reports(*targets, **changes):
    return [report for name in targets for report in built(judged(name, **changes))["reports"]]


def standing(found, rule=RULE):
    return next(one for one in found if one.item.id == rule)


def ten(**changes):
    return reports(*(f"provider-{number}" for number in range(10)), **changes)


def test_ten_real_targets_make_a_requirement_ready():
    assert standing(stability.standings(ten(), Ledger())).state == "ready"
    nine = standing(stability.standings(ten()[1:], Ledger()))
    assert (nine.state, nine.reason) == ("short", "9 of 10")


def test_a_violation_counts_as_judged():
    found = standing(stability.standings(ten(MP_TURN_002="fail"), Ledger()))
    assert (found.state, len(found.red)) == ("ready", 10)


@pytest.mark.parametrize("outcome", ["untestable", "not_applicable", "inconclusive", "not_run"])
def test_an_outcome_that_decides_nothing_does_not_count(outcome):
    found = standing(stability.standings(ten(MP_TURN_002=outcome), Ledger()))
    assert (found.state, found.judged) == ("short", ())


def test_a_target_counts_once_whatever_the_number_of_its_reports():
    assert standing(stability.standings(reports(*["same"] * 12), Ledger())).judged == ("same",)


def test_forks_count_once_and_the_authors_own_not_at_all():
    forks = Ledger(fork={"provider-1": "provider-2", "provider-2": "provider-0"})
    assert len(standing(stability.standings(ten(), forks)).judged) == 8
    circle = Ledger(fork={"provider-1": "provider-2", "provider-2": "provider-1"})
    assert len(standing(stability.standings(ten(), circle)).judged) == 10
    own = Ledger(own=frozenset({"provider-*"}))
    assert standing(stability.standings(ten(), own)).judged == ()


def test_a_refuted_line_stands_in_the_way_until_it_is_mended_and_then_counts_from_there():
    line = Refuted(RULE, "provider-3", "https://x.example/7")
    found = standing(stability.standings(ten(), Ledger(refuted=(line,))))
    assert (found.state, found.reason) == ("refuted", "provider-3: https://x.example/7")
    mended = Refuted(RULE, "provider-3", "https://x.example/7", mended="99.0")
    later = standing(stability.standings(ten(), Ledger(refuted=(mended,))))
    assert (later.state, later.judged) == ("short", ())
    old = Refuted(RULE, "provider-3", "https://x.example/7", mended="0.0.1")
    assert standing(stability.standings(ten(), Ledger(refuted=(old,)))).state == "ready"


def test_every_requirement_has_a_standing():
    found = stability.standings([], Ledger())
    assert [one.item.id for one in found] == list(spec.requirements())
    assert f"{len(found)} were judged on fewer than 10 real targets" in stability.as_text(found)


@pytest.mark.once
def test_the_command_reads_reports_and_a_ledger(tmp_path, capsys):
    files = [str(saved(tmp_path / f"{n}.json", built(judged(f"provider-{n}")))) for n in range(10)]
    ledger = tmp_path / "ledger.toml"
    ledger.write_text(f'[[refuted]]\nid = "{RULE}"\ntarget = "provider-1"\nissue = "x"\n')
    assert cli.main(["stability", *files, "--ledger", str(ledger), "--json"]) == 0
    found = {row["id"]: row for row in json.loads(capsys.readouterr().out)}
    assert found[RULE]["state"] == "refuted"
    assert found["MP-TURN-001"]["state"] == "ready"
    assert cli.main(["stability", *files]) == 0
    assert "  MP-TURN-001 (MUST, 10 judged, 0 red)" in capsys.readouterr().out.splitlines()
    assert cli.main(["stability", *files, "--markdown"]) == 0
    assert "| MP-TURN-001 | MUST | 10 | 0 | ready |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("own = 3", "is no ledger of stability"),
        ("[[refuted]]\nid = 1", "is no ledger of stability"),
        ("[[refuted]]\nid = 'MP-X-001'\ntarget = 'a'\nissue = 'b'", "is no requirement"),
        ("own = [", "is no TOML"),
        ("forks = 1", "is no ledger of stability"),
    ],
)
def test_a_ledger_that_is_none_is_refused(tmp_path, capsys, text, fault):
    report = str(saved(tmp_path / "one.json", built(judged())))
    ledger = tmp_path / "ledger.toml"
    ledger.write_text(text)
    assert cli.main(["stability", report, "--ledger", str(ledger)]) == 4
    assert fault in capsys.readouterr().err


def test_a_report_that_denies_itself_is_no_evidence(tmp_path, capsys):
    found = changed(built(judged()), verdict="NON-CONFORMANT")
    assert cli.main(["stability", str(saved(tmp_path / "one.json", found))]) == 4
    assert "is no evidence" in capsys.readouterr().err


def test_the_ledger_of_the_project_is_one():
    from tests.kit_runs import ROOT

    own = stability.read_ledger(ROOT / "docs" / "stability.toml").own
    assert {"builtin", "sqlite", "honcho", "mentisdb", "mcp"} <= own


def test_a_stable_requirement_is_settled_whoever_was_judged(monkeypatch):
    stable = {k: dataclasses.replace(v, status="stable") for k, v in spec.requirements().items()}
    monkeypatch.setattr(spec, "requirements", lambda: stable)
    found = standing(stability.standings(ten(), Ledger()))
    assert (found.state, len(found.judged), found.reason) == ("settled", 10, "it is stable")
