"""Recall as it is told and asked, on a player that plays nothing: its courses are given."""

import math
import time
import types

import pytest

from memproto.measure import invented, recalling
from memproto.measure.player import OUT_OF_TIME, Course, Player, Unmeasurable
from memproto.testing.provider.visits import Played
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.settings import Settings


class Scripted:
    """Plays every visit in no time; `edit` changes the course of each script."""

    def __init__(self, edit=lambda course, visits: None, **capabilities):
        self.contact = Contact(capabilities=capabilities, routes={"turns": "declared"})
        self.order = Order("mine", settings=Settings())
        self._edit = edit
        self.scripts = []

    def store(self):
        return types.SimpleNamespace(mark=f"m{len(self.scripts)}")

    def hide(self, text):
        return text.replace("s3cret", "***")

    def play(self, store, visits, *, budget_s, limits):
        self.scripts.append(visits)
        course = Course(is_ended=True)
        for number, visit in enumerate(visits):
            recalls = [at for at, step in enumerate(visit.steps) if step[0] == "recall"]
            course.played[number] = Played(number, texts=dict.fromkeys(recalls))
        self._edit(course, visits)
        return course


@pytest.fixture
def naps(monkeypatch):
    """Seconds for which a store was waited for, which are not waited."""
    slept = []
    monkeypatch.setattr(recalling.time, "sleep", slept.append)
    return slept


def measured(player, repeats=1):
    return recalling.measured(player, [invented.corpus(0, people=1)] * repeats, 9.0)


def is_asking(visits):
    return visits[0].steps[0][0] == "recall"


def test_a_repeat_that_was_not_asked_to_its_end_in_time_is_left_out_as_a_whole(naps):
    def cut(course, visits):
        if is_asking(visits) and len(player.scripts) > cut.after:
            del course.played[len(visits) - 1]
            course.is_ended, course.is_late, course.why = False, True, OUT_OF_TIME

    player, cut.after = Scripted(cut), 0
    with pytest.raises(Unmeasurable, match=f"not asked to the end: {OUT_OF_TIME}"):
        measured(player)
    player, cut.after = Scripted(cut), 2
    found = measured(player, repeats=2)
    assert len(found.repeats) == 1
    assert found.notes == [f"1 of 2 repeats: it was not asked to the end: {OUT_OF_TIME}"]


def test_the_end_of_a_session_that_raised_refused_no_turn(naps):
    def raised(course, visits):
        course.played[0].faults[Played.END] = "close: OSError('s3cret')"

    found = measured(Scripted(raised))
    assert found.refused == 0
    assert found.notes == ["the first session that did not end well: close: OSError('***')"]


def test_the_first_turn_and_the_first_question_that_raised_are_told(naps):
    def raised(course, visits):
        for at in (1, 0):
            course.played[1].faults[at] = f"hook {at}"

    found = measured(Scripted(raised))
    assert (found.refused, found.faults) == (2, 2)
    assert found.notes == [
        "the first turn that it did not take: hook 0",
        "the first question that raised: hook 0",
    ]


@pytest.mark.parametrize(
    ("freshness_s", "slept"),
    [(2.5, [2.5]), (9_999, [60.0]), (-1, [0.0]), (math.nan, [0.0]), ("5", [0.0]), (None, [0.0])],
)
def test_a_store_that_is_fresh_later_is_waited_for_up_to_a_minute(naps, freshness_s, slept):
    measured(Scripted(consistency={"eventual": {"freshness_s": freshness_s}}))
    assert naps == slept


def test_a_store_with_a_settle_of_its_own_is_not_waited_for(naps):
    player = Scripted(consistency={"eventual": {"freshness_s": 2.5}})
    player.order = Order("mine", settings=Settings(settle="mine:settled"))
    measured(player)
    assert naps == [0.0]


def test_every_id_of_a_store_is_its_own(naps):
    player = Scripted(isolates=["profile", "user"])
    measured(player, repeats=2)
    told = [visits for visits in player.scripts if not is_asking(visits)]
    for ids in (
        [{visit.session for visit in visits} for visits in player.scripts],
        [{visit.user for visit in visits} for visits in told],
        [{step[3] for visit in visits for step in visit.steps} for visits in told],
    ):
        assert sum(map(len, ids)) == len(set.union(*ids))


def test_a_script_that_was_late_tells_the_losses_that_took_its_time():
    course = Course(lost=[3], why="a process was lost: it ended")
    Player.__new__(Player)._cut(course, end=time.monotonic())
    assert course.is_late
    assert course.why == (f"{OUT_OF_TIME}; sessions were lost before: a process was lost: it ended")
