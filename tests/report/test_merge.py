"""memproto merge: the reports of shards are one, closed, and what they disagree on is named."""

import datetime as dt
import json

import pytest

from memproto import __version__, cli, spec
from memproto.report import merging, reading, verifying
from memproto.testing.evidence import Differs
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.waiver_entries import Waiver
from memproto.testing.settings.waivers import Book
from tests.made_reports import built, changed, judged, row, saved

pytestmark = pytest.mark.once

#: All areas of providers, in two halves as two jobs would run them.
AREAS = list(dict.fromkeys(f"MP-{item.area}" for item in spec.select([], "provider")))
HALF, OTHER_HALF = tuple(AREAS[::2]), tuple(AREAS[1::2])


def shard(only, **others):
    return built(judged(only=only, **others), narrowed=True)


def merged(*documents):
    return merging.merge((f"{place}.json", item) for place, item in enumerate(documents))


def test_shards_by_clause_are_one_report_that_is_as_whole_as_one_run():
    found = merged(shard(HALF), shard(OTHER_HALF))
    [report] = found.document["reports"]
    assert (report["verdict"], report["selected"]) == ("CONFORMANT", False)
    assert found.document["exit_code"] == 0
    assert found.conflicts == found.repeated == []
    whole = built(judged())
    assert [item["id"] for item in report["results"]] == [
        item["id"] for item in whole["reports"][0]["results"]
    ]
    assert report["counts"] == whole["reports"][0]["counts"]
    assert verifying.faults(found.document) == []


def test_a_shard_that_is_missing_leaves_the_report_incomplete():
    found = merged(shard(HALF)).document
    report = found["reports"][0]
    assert (report["verdict"], report["selected"], found["exit_code"]) == ("INCOMPLETE", False, 6)
    assert report["counts"]["not_run"] == len(spec.select(list(OTHER_HALF), "provider"))
    assert verifying.faults(found) == []


def test_a_failure_in_one_shard_is_that_of_the_whole():
    area = next(only for only in (HALF, OTHER_HALF) if "MP-TURN" in only)
    other = OTHER_HALF if area is HALF else HALF
    found = merged(shard(other), shard(area, MP_TURN_002="fail")).document
    assert (found["reports"][0]["verdict"], found["exit_code"]) == ("NON-CONFORMANT", 1)


def test_targets_stand_beside_each_other_in_the_order_given():
    found = merged(built(judged("b")), built(judged("a"), judged("a", side="host")))
    said = [(item["side"], item["target"]) for item in found.document["reports"]]
    assert said == [("provider", "b"), ("provider", "a"), ("host", "a")]


def test_reports_of_other_pythons_kits_and_settings_are_not_mixed():
    one = built(judged())
    environment = {**one["reports"][0]["environment"], "python": "3.99.1"}
    others = [
        changed(one, environment=environment),
        changed(one, kit="7.1"),
        changed(one, settings={"env": ["MODE"]}),
        changed(one, strict=True),
    ]
    found = merged(one, *others)
    assert len(found.document["reports"]) == 5
    assert [item["fingerprint"] for item in found.document["reports"]] == [
        item["reports"][0]["fingerprint"] for item in (one, *others)
    ]


def test_patch_releases_and_kernels_do_not_part_shards():
    one, other = shard(HALF), shard(OTHER_HALF)
    environment = other["reports"][0]["environment"]
    differs = {"python": environment["python"] + "1", "slowdown": 9.5, "processors": 64}
    differs["platform"] = environment["platform"] + "-other"
    found = merged(one, changed(other, environment={**environment, **differs}))
    [report] = found.document["reports"]
    assert report["environment"]["slowdown"] == 9.5
    assert " / " in report["environment"]["platform"]


def test_a_conflict_is_named_with_its_files_and_the_worse_outcome_stands():
    found = merged(built(judged(MP_TURN_002="fail")), built(judged()), shard(HALF))
    assert found.conflicts == ["MP-TURN-002 of mine: fail in 0.json, pass in 1.json"]
    assert row(found.document, "MP-TURN-002")["outcome"] == "fail"
    assert found.document["exit_code"] == 1


def test_a_waived_failure_is_worse_than_a_pass_elsewhere():
    first = built(judged(MP_TURN_002="fail"))
    row(first, "MP-TURN-002")["outcome"] = "waived"
    row(first, "MP-TURN-002")["waiver"] = {
        **dict.fromkeys(("reason", "issue", "owner"), "because it is"),
        "expires": "2027-01-01",
        "outcome": "fail",
    }
    first = changed(first, results=first["reports"][0]["results"])
    found = merged(built(judged()), first)
    assert row(found.document, "MP-TURN-002")["outcome"] == "waived"
    assert found.document["reports"][0]["verdict"] == "INCOMPLETE"


def test_a_waiver_that_one_shard_needs_is_not_stale_because_of_another():
    day = dt.date(2026, 11, 22)
    waiver = Waiver("MP-TURN-002", "because it is", "x", "y", day, "w.toml:1")
    book = Book(day, valid={"MP-TURN-002": waiver})
    passed = shard(("MP-TURN",), waivers=book)
    failed = built(judged(MP_TURN_002="fail", waivers=book))
    assert kinds(passed) == ["stale"]
    assert kinds(merged(passed).document) == ["stale"]
    assert kinds(merged(passed, failed).document) == []
    assert kinds(merged(failed, passed).document) == []


def test_a_stale_waiver_stays_stale_beside_shards_that_did_not_run_its_requirement():
    found = [shard(half, waivers=held()) for half in (HALF, OTHER_HALF)]
    told = [kinds(item) for item in found]
    assert sorted(told) == [[], ["stale"]]
    for shards in (found, found[::-1]):
        together = merged(*shards).document
        assert (kinds(together), together["exit_code"]) == (["stale"], 1)
        assert verifying.faults(together) == []


def test_a_waiver_whose_requirement_no_shard_ran_is_not_stale():
    other = next(half for half in (HALF, OTHER_HALF) if "MP-TURN" not in half)
    together = merged(shard(other, waivers=held())).document
    assert (kinds(together), together["exit_code"]) == ([], 6)


def test_a_waiver_that_is_needed_in_no_shard_but_stale_in_one_is_told_once():
    absent = shard(("MP-TURN",), waivers=held(), MP_TURN_002="not_applicable")
    assert kinds(absent, "notes") == ["not_needed"]
    assert kinds(merged(absent).document, "notes") == ["not_needed"]
    together = merged(absent, shard(("MP-TURN",), waivers=held())).document
    assert (kinds(together), kinds(together, "notes")) == (["stale"], [])


def held():
    day = dt.date(2026, 11, 22)
    end = day + dt.timedelta(days=90)
    waiver = Waiver("MP-TURN-002", "because it is", "x", "y", end, "w.toml:1")
    return Book(day, valid={"MP-TURN-002": waiver})


def kinds(found, name="faults"):
    return [item["kind"] for item in found["reports"][0]["waivers"][name]]


def test_a_file_that_comes_twice_counts_once():
    one = shard(HALF)
    found = merged(one, shard(OTHER_HALF), json.loads(json.dumps(one)))
    assert found.repeated == ["2.json"]
    assert len(found.document["reports"][0]["merged"]) == 2


def test_what_shards_found_of_waivers_and_costs_is_added_up():
    fault = {"id": "MP-X-001", "kind": "unknown", "text": "w.toml:1: x", "fix": "y"}
    table = {"date": "2026-11-22", "faults": [fault], "notes": []}
    cost = {"checks_s": 2.0, "hooks_s": 1.0, "hooks": {"record": [3, 0.5, 1.0]}}
    one, other = (changed(shard(half), waivers=table, cost=cost) for half in (HALF, OTHER_HALF))
    found = merged(one, changed(other, waivers={**table, "date": "2026-11-23"})).document
    report = found["reports"][0]
    assert report["waivers"] == {**table, "date": "2026-11-23"}
    assert report["cost"] == {"checks_s": 4.0, "hooks_s": 2.0, "hooks": {"record": [6, 0.5, 2.0]}}
    assert found["exit_code"] == 1


def test_an_extension_is_declared_where_one_shard_saw_it_and_judged_by_all_rows():
    said = {"tools": {"declared": True, "served": True, "verdict": "INCOMPLETE"}}
    one, other = changed(shard(HALF), extensions=said), shard(OTHER_HALF)
    [report] = merged(one, other).document["reports"]
    assert report["extensions"] == {
        "tools": {"declared": True, "served": True, "verdict": "CONFORMANT"}
    }


def test_what_a_target_declared_is_known_from_the_shard_that_it_told():
    said = {"isolates": ["user"], "retention": "derived"}
    for shards in ((HALF, OTHER_HALF), (OTHER_HALF, HALF)):
        one, other = map(shard, shards)
        [report] = merged(one, changed(other, **said)).document["reports"]
        assert {key: report.get(key) for key in said} == said


def test_merging_again_changes_nothing():
    once = merged(shard(HALF), shard(OTHER_HALF)).document
    assert merged(once).document == once


def test_nothing_is_made_of_nothing():
    found = merged({"format": 1, "exit_code": 4, "reports": []})
    assert found.document["reports"] == []
    assert verifying.faults(found.document) == []


def test_the_command_writes_what_can_be_read_and_gates_on_request(tmp_path, capsys):
    half = saved(tmp_path / "half.json", shard(HALF))
    other = saved(tmp_path / "other.json", shard(OTHER_HALF))
    output = tmp_path / "all.json"
    assert cli.main(["merge", str(half), str(other), "-o", str(output), "--gate"]) == 0
    said = capsys.readouterr().out
    assert f"memproto 1.0 · mine · native · kit {__version__} · CONFORMANT shared\n" in said
    assert verifying.faults(reading.read(output)) == []
    assert cli.main(["merge", str(half), "-o", str(output)]) == 0
    assert cli.main(["merge", str(half), "-o", str(output), "--gate"]) == 6
    left = len(spec.select([], "provider")) - len(spec.select(HALF, "provider"))
    printed = capsys.readouterr().out
    assert " · INCOMPLETE · core: " in printed
    assert f" open\n  {left} not run\n" in printed


def test_the_command_ends_with_1_for_a_conflict(tmp_path, capsys):
    red = Result("MP-TURN-002", Outcome.FAIL, Differs(wanted="x", seen="y"))
    first = saved(tmp_path / "a.json", built(judged(MP_TURN_002=red)))
    second = saved(tmp_path / "b.json", built(judged()))
    assert cli.main(["merge", str(first), str(second), "-o", str(tmp_path / "c.json")]) == 1
    said = capsys.readouterr().out
    assert f"conflict: MP-TURN-002 of mine: fail in {first}, pass in {second}; the worse" in said


def test_an_output_that_cannot_be_written_is_one_message(tmp_path, capsys):
    path = saved(tmp_path / "a.json", built(judged()))
    assert cli.main(["merge", str(path), "-o", str(tmp_path / "no" / "b.json")]) == 4
    assert "cannot be written (No such file" in capsys.readouterr().err
