"""Faults that the checks of time find, and behaviour that they allow."""

import dataclasses
import datetime as dt
import threading

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import time
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.instruments.walltime import KATHMANDU, time_zone
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from tests.good.dated import Dated, Due
from tests.good.journal import Journal

BEGAN = dt.datetime(2026, 11, 22, 4, 56, 7, tzinfo=dt.UTC)


class NoWire:
    """Stands for the connection to the parent, which hears nothing in these tests."""

    def hook(self, operation, budget_s, *_):
        return threading.Lock()


def run_of(factory, tmp_path):
    context = Context(capabilities=factory().capabilities(), routes={"tools": "absent"})
    declared = dict.fromkeys(context.capabilities["stores"], "declared")
    context.routes.update({"writes": "absent", **declared})
    return Run(factory, NATIVE, tmp_path / "memory", Watch(NoWire()), context)


# -- times that recall shows ----------------------------------------------------------------------

RIGHT = [
    "[2026-11-22T10:41:07+05:45] x",
    "[2026-11-22 10:41 +0545] x",
    "(2026-11-22 10:41:07.123456+05:45) x",
    "2026-11-22T04:56:07Z x",
    "2026-11-22 04:56 UTC: x",
    "2026-11-22 04:56 (UTC) x",
    "2026-11-22 10:41 UTC+05:45 x",
    "2026-11-22 10:41 [Asia/Kathmandu] x",
    "2026-11-21T20:56:07-08:00 x",
    "All times in UTC.\n- 2026-11-22 04:56 x\n- 2026-11-22 04:56 y",
]
NO_TIME = ["x", "2026-11-22: x", "stored at 1795323367", "10:41 x", "12026-11-22T10:41", ""]
OTHER = [
    "due 2027-03-01 09:00 x",
    "expires 2027-11-22T04:56:07Z x",
    "2026-13-45 10:41 x",
    "version 2019-01-01 00:00:00",
]
BARE = [
    "[2026-11-22 10:41] x",
    "[2026-11-22T04:56:07.123] x",
    "2026-11-21 20:56 x",
    "2026-11-22 04:56 - 12 boats",
    "2026-11-22 04:56 user/assistant: x",
]
OFF = ["2026-11-22T10:41:07Z x", "2026-11-22 10:41 UTC x", "2026-11-22T04:56:07+05:45 x"]


def judged(text, tmp_path):
    return time._judge_times(run_of(Journal, tmp_path), text, BEGAN)


@pytest.mark.parametrize("text", RIGHT)
def test_a_time_with_its_offset_is_right(text, tmp_path):
    assert judged(text, tmp_path) >= 1


@pytest.mark.parametrize("text", NO_TIME)
def test_what_is_no_time_of_day_is_not_counted(text, tmp_path):
    assert judged(text, tmp_path) == 0


@pytest.mark.parametrize("text", OTHER)
def test_a_time_that_is_not_that_of_the_check_is_left_alone(text, tmp_path):
    assert judged(text, tmp_path) == 1


@pytest.mark.parametrize("text", BARE)
def test_a_bare_time_that_is_now_in_some_zone_is_a_fault(text, tmp_path):
    with pytest.raises(Violation, match="without one"):
        judged(text, tmp_path)


@pytest.mark.parametrize("text", OFF)
def test_a_time_under_the_offset_of_the_other_zone_is_a_fault(text, tmp_path):
    with pytest.raises(Violation, match="5:45 h from it"):
        judged(text, tmp_path)


def test_a_provider_that_shows_no_time_is_not_concerned(tmp_path):
    with pytest.raises(NotApplicable, match="no time of day"):
        time.a_time_of_day_names_its_instant(run_of(Journal, tmp_path))


def test_a_time_in_the_stored_text_itself_is_not_looked_at(tmp_path, monkeypatch):
    run = run_of(Journal, tmp_path)
    fact = run.facts.new()
    said = f"{fact.text} It was {dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M}."
    dated = dataclasses.replace(fact, text=said)
    monkeypatch.setattr(run.facts, "new", lambda: dated)
    with pytest.raises(NotApplicable):
        time.a_time_of_day_names_its_instant(run)


def test_the_zone_is_set_where_the_environment_did_not(tmp_path):
    zones = set()

    class Stamped(Dated):
        def _stamp(self):
            zones.add(dt.datetime.now().astimezone().utcoffset())
            return super()._stamp()

    time.a_time_of_day_names_its_instant(run_of(Stamped, tmp_path))
    assert zones == {dt.timedelta(hours=5, minutes=45)}


def test_a_zone_that_holds_already_is_not_set_again(tmp_path, monkeypatch):
    with time_zone(KATHMANDU):
        monkeypatch.setattr(time, "time_zone", None)
        time.a_time_of_day_names_its_instant(run_of(Dated, tmp_path))


# -- journeys -------------------------------------------------------------------------------------


class LosesWhatIsNew(Journal):
    def _save(self):
        self._entries = self._entries[:1]
        super()._save()


@pytest.mark.parametrize(
    "check", [time.the_wall_clock_makes_no_difference, time.the_time_zone_makes_no_difference]
)
def test_what_is_lost_without_a_move_as_well_is_not_laid_on_time(check, tmp_path):
    with pytest.raises(Untestable, match="did not come back with"):
        check(run_of(LosesWhatIsNew, tmp_path))


@pytest.mark.parametrize(
    "check", [time.the_wall_clock_makes_no_difference, time.the_time_zone_makes_no_difference]
)
@pytest.mark.parametrize("factory", [Journal, Dated])
def test_a_good_provider_passes(check, factory, tmp_path):
    check(run_of(factory, tmp_path))


def test_a_provider_that_lets_go_of_what_is_old_passes(tmp_path):
    class Forgetful(Dated):
        def _load(self):
            oldest = dt.datetime.now(dt.UTC) - dt.timedelta(days=90)
            at = dt.datetime.fromisoformat
            return [entry for entry in super()._load() if at(entry["at"]) > oldest]

    time.the_wall_clock_makes_no_difference(run_of(Forgetful, tmp_path))


def test_what_lies_in_the_future_and_is_not_written_again_is_lost(tmp_path):
    class Past(Dated):
        def _load(self):
            now, at = dt.datetime.now(dt.UTC), dt.datetime.fromisoformat
            return [entry for entry in super()._load() if at(entry["at"]) <= now]

    with pytest.raises(Violation, match="back by 20 years, nor after it was set right again"):
        time.the_wall_clock_makes_no_difference(run_of(Past, tmp_path))


def test_a_comparison_that_raises_only_after_the_change_of_zone_is_a_fault(tmp_path):
    class Compares(Dated):
        def enrich_turn(self, user_message, messages):
            offsets = {entry["at"][-6:] for entry in self._entries}
            if len(offsets | {self._stamp()[-6:]}) > 1:
                raise TypeError("can't compare offset-naive and offset-aware datetimes")
            return super().enrich_turn(user_message, messages)

    with pytest.raises(Violation, match="in the zone of Los Angeles it raised TypeError"):
        time.the_time_zone_makes_no_difference(run_of(Compares, tmp_path))


# -- the wall clock -------------------------------------------------------------------------------


def test_what_lies_ahead_of_the_clock_may_wait_until_its_time_has_come(tmp_path):
    time.the_wall_clock_makes_no_difference(run_of(Due, tmp_path))
