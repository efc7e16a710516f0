"""A run goes on where one stopped, judges nothing of a subject that is not good, and is ended."""

import dataclasses
import itertools
import json
from typing import ClassVar

import pytest

from tests.mutation import __main__ as command
from tests.mutation import bench, figures, survivors
from tests.mutation.bench import Bench, NotGood
from tests.mutation.book import Book, Clock
from tests.mutation.changes import changes, distinct
from tests.mutation.judges import Lane, Verdict
from tests.mutation.relevance import order, reaching
from tests.mutation.sampling import sample
from tests.mutation.score import score
from tests.mutation.shards import shard
from tests.mutation.subjects import SUBJECTS
from tests.mutation.survivors import Survivor

COMPLETE = SUBJECTS["complete"]
SIX = list(itertools.islice(distinct(changes(COMPLETE)), 6))
GREEN = Verdict(took_s={"MP-NAME-001": 0.1, "MP-RECALL-001": 0.1, "MP-NOTES-001": 0.2})
DEAD = Verdict(red={"MP-RECALL-001": "fail"})


class Scripted(Lane):
    """A lane that judges by a table; it starts no process."""

    control = GREEN
    fails: ClassVar[set[str]]
    judged: ClassVar[list[str]]
    most = 1000

    def __init__(self, subject, limit_s):
        self.limit_s = limit_s

    def judge(self, change, first=()):
        if change is None:
            self.judged.append("")
            return self.control
        if len(self.judged) >= self.most:
            raise KeyboardInterrupt
        self.judged.append(change.key.digest)
        return DEAD if change.key.digest in self.fails else GREEN

    def close(self):
        pass


@pytest.fixture
def lane(monkeypatch):
    class Fresh(Scripted):
        fails: ClassVar[set[str]] = set()
        judged: ClassVar[list[str]] = []

    monkeypatch.setattr(bench, "Lane", Fresh)
    return Fresh


def run(folder, found, *, again=False, minutes_s=0.0):
    book = Book(folder, COMPLETE)
    try:
        Bench(COMPLETE, book, 1, lambda text: None).judge(found, Clock(minutes_s), again=again)
        return book.verdicts()
    finally:
        book.close()


def test_a_run_goes_on_where_one_stopped(lane, tmp_path):
    found = SIX[:6]
    digests = [change.key.digest for change in found]
    lane.most, lane.fails = 4, {digests[0]}
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, found)
    assert lane.judged == ["", *digests[:3]]
    lane.most = 1000
    verdicts = run(tmp_path, found)
    assert lane.judged == ["", *digests], "each once, and the subject as it is as well"
    assert [verdicts[name].is_killed for name in digests] == [True, *[False] * 5]


def test_survivors_alone_are_judged_again(lane, tmp_path):
    found = SIX[:3]
    digests = [change.key.digest for change in found]
    lane.fails = {digests[1]}
    run(tmp_path, found)
    lane.judged.clear()
    lane.fails = {*digests}
    verdicts = run(tmp_path, found, again=True)
    assert lane.judged == ["", digests[0], digests[2]]
    assert all(verdicts[name].is_killed for name in digests)


def test_a_run_whose_time_is_over_begins_no_change(lane, tmp_path):
    assert run(tmp_path, SIX[:3], minutes_s=1e-9) == {}


def test_the_books_of_shards_become_one(lane, tmp_path):
    found = SIX[:5]
    for number in (1, 2):
        run(tmp_path / f"shard-{number}", shard(found, number, 2))
    book = Book(tmp_path / "all", COMPLETE)
    book.take(tmp_path)
    assert set(book.verdicts()) == {change.key.digest for change in found}
    book.close()


@pytest.mark.parametrize(
    "control", [DEAD, Verdict(open={"MP-RECALL-001": "untestable"}), Verdict(kit={"x": "y"})]
)
def test_a_subject_that_is_not_good_as_it_is_is_not_changed(lane, tmp_path, control):
    lane.control = control
    with pytest.raises(NotGood, match="complete as it is"):
        run(tmp_path, SIX[:2])
    assert lane.judged == [""]


def test_the_command_is_red_until_each_survivor_has_a_row(lane, tmp_path, monkeypatch, capsys):
    found = sample(COMPLETE, 2, 7)
    words = ["complete", "--sample", "2", "--seed", "7", "--work", str(tmp_path)]
    rows = []
    monkeypatch.setattr(survivors, "read", lambda: rows)
    lane.fails = {found[0].key.digest}
    assert command.main(words) == 1
    assert "not read" in capsys.readouterr().out
    key = found[1].key
    rows.append(Survivor(key.subject, key.where, key.was, key.now, key.nth, "equivalent", "x"))
    assert command.main([*words, "--report"]) == 0
    assert "complete: 100.0 % (1 of 1" in capsys.readouterr().out


def test_an_error_of_the_kit_is_no_kill(lane, tmp_path, monkeypatch):
    monkeypatch.setattr(survivors, "read", list)
    lane.judge = lambda self, change, first=(): (
        GREEN if change is None else Verdict(kit={"MP-RECALL-001": "kit_error"})
    )
    words = ["complete", "--sample", "1", "--work", str(tmp_path)]
    assert command.main(words) == 3


def test_what_the_machine_could_not_decide_is_judged_by_the_next_run(lane, tmp_path):
    open_ = {"MP-LOAD-001": "inconclusive: a process had not come to the target"}
    lane.judge = lambda self, change, first=(): GREEN if change is None else Verdict(open=open_)
    assert run(tmp_path, SIX[:2]) == {}
    lane.judge = Scripted.judge
    assert len(run(tmp_path, SIX[:2])) == 2


def test_without_a_judged_change_there_is_no_score():
    counted = score("complete", 365, [], [])
    assert str(counted) == "complete: no score, since none of 365 changes was judged"


def test_the_score_counts_killed_of_those_that_are_not_equivalent():
    found = SIX[:5]
    late = Verdict(is_late=True)
    kinds = ["equivalent", "no promise"]
    rows = [
        Survivor(c.key.subject, c.key.where, c.key.was, c.key.now, c.key.nth, kind, "x")
        for c, kind in zip(found, kinds, strict=False)
    ]
    verdicts = [GREEN, GREEN, DEAD, late, GREEN]
    counted = score("complete", 365, zip(found, verdicts, strict=True), rows)
    assert (counted.killed, counted.counted, counted.late) == (2, 4, 1)
    assert counted.percent == 50
    assert counted.promised_percent == pytest.approx(100 * 2 / 3)
    assert counted.classes == {"equivalent": 1, "no promise": 1, "": 1}


def test_a_kept_score_replaces_the_one_before(tmp_path):
    file = tmp_path / "scores.json"
    counted = score("complete", 365, [(SIX[0], DEAD)], [])
    figures.keep(counted, {"date": "2026-01-01"}, file)
    figures.keep(dataclasses.replace(counted, made=366), {"date": "2026-01-02"}, file)
    (kept,) = json.loads(file.read_text("utf-8")).values()
    assert (kept["made"], kept["killed"], kept["date"]) == (366, 1, "2026-01-02")


# -- the order ------------------------------------------------------------------------------------


def one(definition):
    """A change of a definition; the text that it makes is put in by a test."""
    return next(c for c in changes(COMPLETE) if c.definition == definition)


def test_a_change_first_meets_the_requirements_on_hooks_that_reach_it():
    notes = one("Complete.compress_notes")
    assert reaching(notes) == {"compress_notes"}
    assert order(notes, GREEN.took_s, [])[0] == "MP-NOTES-001"
    assert {"recall", "items"} == reaching(one("_ranked"))


def test_what_has_killed_before_comes_earlier_and_nothing_is_left_out():
    change = one("_ranked")
    took_s = {"MP-RECALL-001": 0.1, "MP-RECALL-002": 0.1, "MP-NOTES-001": 0.1}
    kills = [("MP-RECALL-002", "examples/complete.py:_ranked")]
    assert order(change, took_s, kills) == ["MP-RECALL-002", "MP-RECALL-001", "MP-NOTES-001"]


# -- with the kit ---------------------------------------------------------------------------------


def judged(change, limit_s=120.0):
    lane = Lane(COMPLETE, limit_s)
    try:
        return lane.judge(change, ["MP-RECALL-001", "MP-NOTES-001"])
    finally:
        lane.close()


@pytest.mark.once
def test_the_kit_finds_a_change_and_stops_there():
    change = one("Complete")
    change.__dict__["after"] = change.before.replace('    name = "complete"', "    name = 7")
    verdict = judged(change)
    assert verdict.is_killed
    assert not verdict.took_s, "it is red at first contact"


@pytest.mark.once
def test_a_change_that_does_not_load_is_killed():
    change = one("_ranked")
    change.__dict__["after"] = "import nothing_of_that_name\n"
    verdict = judged(change)
    assert verdict.is_killed


@pytest.mark.once
def test_a_part_of_the_kit_that_does_not_load_is_killed_and_no_error_of_the_kit():
    fence = SUBJECTS["fence"]
    change = next(c for c in changes(fence) if c.source.name == "sanitize.py")
    change.__dict__["after"] = f"{change.before}\n_BAD = re.compile('[b-a]')\n"
    lane = Lane(fence, 120.0)
    try:
        verdict = lane.judge(change, ["MP-HOST-FENCE-009"])
    finally:
        lane.close()
    assert verdict.by == "load"
    assert "bad character range" in verdict.red["load"]
    assert not verdict.kit


@pytest.mark.once
def test_a_verdict_that_is_not_there_in_time_is_a_kill_and_says_so():
    change = one("_ranked")
    change.__dict__["after"] = change.before
    verdict = judged(change, limit_s=0.0)
    assert verdict.is_killed
    assert verdict.by == "time limit"
