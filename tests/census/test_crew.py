"""All targets side by side: what is kept is not judged again, and no fault stops the rest."""

import dataclasses
import json
import os
import signal
import threading

import pytest

from census import commands, crew, judging, outcomes, shards, table
from census.entries import Entry, Unusable
from census.judging import Limits, Record
from census.kept import Kept
from census.kit import Kit
from tests.made_reports import built, judged

pytestmark = pytest.mark.once

ENTRIES = [Entry(name, name, "1", "native", name) for name in ("a", "b", "c", "d")]


@pytest.fixture
def kit(tmp_path):
    return Kit(tmp_path / "memproto.whl", "one kit")


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path / "kept")


class Judge:
    """Stands for a run of the kit; `fates` says how those of some targets end."""

    def __init__(self, **fates):
        self.fates = fates
        self.seen = []

    def __call__(self, entry, kit, report, limits):
        self.seen.append(entry.name)
        fate = self.fates.get(entry.name, "judged")
        if isinstance(fate, Exception):
            raise fate
        if fate == "judged":
            report.write_text(json.dumps(built(judged("builtin", MP_RECALL_002="fail"))))
        inputs = judging.inputs_of(entry, kit, limits)
        reason = "" if fate == "judged" else "as it was told"
        return Record(entry.name, inputs, kit.digest, fate, 0, reason, 1.0, "2026-01-01"), "said"


def ran(kit, kept, judge, *, limits=None, entries=ENTRIES):
    records = crew.judge_all(entries, kit, kept, limits or Limits(), workers=2, judge=judge)
    return {record.name: record.state for record in records}


def test_a_crash_and_a_hang_are_recorded_and_the_rest_is_judged(kit, kept):
    judge = Judge(a=RuntimeError("it broke"), b="hung")
    expected = {"a": "crashed", "b": "hung", "c": "judged", "d": "judged"}
    assert ran(kit, kept, judge) == expected
    assert {name: one.state for name, one in kept.records().items()} == expected
    assert kept.records()["a"].reason == "RuntimeError: it broke"


def test_a_second_run_judges_only_that_without_a_verdict(kit, kept):
    ran(kit, kept, Judge(b="hung"))
    again = Judge()
    assert ran(kit, kept, again) == {"b": "judged"}
    assert again.seen == ["b"]
    assert ran(kit, kept, Judge()) == {}


def test_sigterm_ends_the_runs_and_keeps_nothing_of_them(monkeypatch, kit, tmp_path):
    kit.path.write_bytes(b"a wheel")
    former = signal.getsignal(signal.SIGTERM)
    told = []

    def judge(entry, kit, report, limits, ending):
        os.kill(os.getpid(), signal.SIGTERM)
        told.append(ending.wait(10))
        raise judging.Ended

    monkeypatch.setattr(judging, "judge", judge)
    monkeypatch.setattr(commands.kits, "of", lambda _: kit)
    words = ["--kit", str(kit.path), "--output", str(tmp_path / "o"), "--workers", "1"]
    assert commands.main(["judge", "reference-builtin", "reference-sqlite", *words]) == 143
    # The one that waited is called off, or begins no run.
    assert set(told) == {True}
    assert Kept(tmp_path / "o").records() == {}
    assert signal.getsignal(signal.SIGTERM) is former


@pytest.mark.parametrize("change", ["kit", "profile", "version", "report"])
def test_a_changed_input_is_judged_again(kit, kept, change):
    ran(kit, kept, Judge())
    entries, limits = ENTRIES, Limits()
    if change == "kit":
        kit = Kit(kit.path, "another kit")
    elif change == "profile":
        limits = Limits("ci")
    elif change == "version":
        entries = [Entry("a", "a", "2", "native", "a"), *ENTRIES[1:]]
    else:
        kept.report("a").unlink()
    due = {"kit": "abcd", "profile": "abcd"}.get(change, "a")
    assert set(ran(kit, kept, Judge(), limits=limits, entries=entries)) == set(due)


def test_so_many_are_judged_at_a_time(kit, kept):
    both = threading.Barrier(2, timeout=60)

    def judge(entry, *rest):
        # Broken unless two are here at once.
        both.wait()
        return Judge()(entry, *rest)

    assert set(ran(kit, kept, judge).values()) == {"judged"}


def test_a_record_that_cannot_be_read_is_judged_again(kit, kept, tmp_path):
    ran(kit, kept, Judge())
    (tmp_path / "kept/records/c.json").write_text("{")
    assert set(ran(kit, kept, Judge())) == {"c"}


# -- shards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3, 8, 100])
def test_the_shards_are_a_partition(count):
    items = list(range(61))
    parts = [shards.part(items, row["shard"]) for row in shards.matrix(count)["include"]]
    assert len(parts) == count
    assert sorted(item for part in parts for item in part) == items
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "1/0", "a/b", "1/3 "])
def test_a_shard_that_is_none_is_refused(shard):
    with pytest.raises(Unusable, match="is no K/N"):
        shards.part([1], shard)


def test_the_matrix_is_json_on_one_line(capsys):
    assert commands.main(["shards", "2"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert [row["shard"] for row in json.loads(line)["include"]] == ["1/2", "2/2"]


def test_bad_usage_ends_with_four(capsys, tmp_path):
    assert commands.main(["judge", "nobody"]) == 4
    assert "no entry is named nobody" in capsys.readouterr().err
    assert commands.main(["all", "--kit", str(tmp_path / "none.whl")]) == 4
    assert commands.main(["all", "--shard", "9/8"]) == 4


# -- outcomes and tables ---------------------------------------------------------------------------


def test_an_outcome_holds_the_red_lines_and_survives_its_file(kit, kept, tmp_path):
    ran(kit, kept, Judge(b="hung"))
    known = {entry.name: entry for entry in ENTRIES}
    found = outcomes.found_in(kept, known)
    assert found["a"].verdict == "NON-CONFORMANT"
    assert [row.id for row in found["a"].red_musts] == ["MP-RECALL-002"]
    assert (found["b"].state, found["b"].reason) == ("hung", "as it was told")
    outcomes.write(found, tmp_path / "outcomes.json")
    assert outcomes.read(tmp_path / "outcomes.json") == found
    assert outcomes.read(tmp_path / "none.json") == {}


def test_the_tables_tell_every_target_and_rank_none(kit, kept):
    ran(kit, kept, Judge(b="hung"), entries=ENTRIES[:3])
    known = {entry.name: entry for entry in ENTRIES}
    found = outcomes.found_in(kept, known)
    rows = table.targets(known, found).splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == ["| a", "| b", "| c", "| d"]
    assert "| hung |" in rows[1]
    assert "not judged yet" in rows[3]
    told = table.numbers(known, found, {})
    assert "| with a verdict | 2 |" in told
    assert "| hung | 1 |" in told
    assert "| not judged yet | 1 |" in told
    assert "| of these not read yet | 2 |" in told
    assert "| b | `as it was told` |" in table.without(known, found)
    assert "| MP-RECALL-002 | 2 |" in table.rules(known, found)


def test_a_requirement_is_counted_over_the_real_targets(kit, kept):
    ran(kit, kept, Judge())
    own = Entry("d", "d", "checkout", "native", "d")
    known = {**{entry.name: entry for entry in ENTRIES}, "d": own}
    rows = table.requirements(known, outcomes.found_in(kept, known)).splitlines()
    assert "| MP-RECALL-002 | MUST | 0 | 3 | 0 |" in rows
    assert "| MP-TURN-002 | MUST | 3 | 0 | 0 |" in rows


def test_the_difference_of_two_censuses_is_told(kit, kept):
    ran(kit, kept, Judge())
    known = {entry.name: entry for entry in ENTRIES}
    before = outcomes.found_in(kept, known)
    assert table.changes(before, before) == "nothing changed"
    mended = dataclasses.replace(before["a"], red=(), verdict="CONFORMANT", version="2")
    red = (outcomes.Red("MP-TURN-002", "MUST", "", ""),)
    worse = dataclasses.replace(before["b"], red=(*before["b"].red, *red))
    now = {"a": mended, "b": worse, "c": before["c"], "e": before["c"]}
    assert table.changes(before, now).splitlines() == [
        "e: new",
        "d: gone",
        "a: version 1 is 2",
        "a: verdict NON-CONFORMANT is CONFORMANT",
        "a: MP-RECALL-002 is violated no longer",
        "b: MP-TURN-002 is violated now",
    ]


def test_the_words_of_a_stranger_make_no_markup(kit, kept):
    ran(kit, kept, Judge(b="hung"))
    known = {entry.name: entry for entry in ENTRIES}
    found = outcomes.found_in(kept, known)
    bad = outcomes.Found("b", "1", "hung", "a | b `c` <img>\u202e", "", 0.0, "", "", "")
    row = table.without(known, {**found, "b": bad}).splitlines()[-1]
    assert row == "| b | `a / b 'c' (img)?` |"
