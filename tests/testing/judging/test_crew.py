"""Checks side by side: when, how many, and that the results are those of one after the other."""

import dataclasses
import threading
import time

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.errors import KitUsageError
from memproto.testing import clauses, incidents, noise
from memproto.testing.judging import crew as crews
from memproto.testing.judging.crew import Crew
from memproto.testing.judging.judge import Judge
from memproto.testing.messages import Judged
from memproto.testing.outcomes import Outcome
from memproto.testing.processes import room
from memproto.testing.processes.answer import Answer
from memproto.testing.settings.order import Contact, Order, Pace
from memproto.testing.settings.settings import Settings
from tests.scripted import outcomes

pytestmark = pytest.mark.once

SLOW = Pace(hooks={name: [2, 0.2, 0.4] for name in ("open", "close", "recall", "mirror")})

#: A test that waits longer hangs.
PATIENCE_S = 30.0

#: Rules of three chapters, none of which has parts or shares what it observes.
IDS = ("MP-SHUT-001", "MP-SHUT-002", "MP-INIT-003", "MP-RECALL-002")
FIRST, SECOND, THIRD, FOURTH = (spec.requirement(item) for item in IDS)


FAST = Pace(hooks={"recall": [2, 0.01, 0.02]})


def known(pace=SLOW):
    """The findings of first contact: a provider that declares nothing out of the ordinary."""
    return Contact(binding=NATIVE, pace=pace, routes={"writes": "declared"})


def crew(tmp_path, *, pace=SLOW, **settings):
    order = Order("mine", directory=tmp_path, settings=Settings(**settings))
    return Crew(order, tmp_path, known(pace))


def answer(key, outcome="pass", **told):
    return Answer("answered", Judged(({"id": key, "outcome": outcome, **told},)))


def called(key, outcome):
    """The answer of a check that called a hook."""
    return answer(key, outcome, hooks={"recall": [1, 0.1, 0.1]})


@pytest.fixture(autouse=True)
def a_roomy_machine(monkeypatch):
    monkeypatch.setattr(room, "lanes", lambda held_mb: 100)


@pytest.fixture
def ended():
    """A function that has a crew closed behind the test, whatever becomes of it."""
    made = []

    def take(one):
        made.append(one)
        return one

    yield take
    for one in made:
        one.close()


# -- when ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cores", "lanes"), [(1, None), (2, 3), (8, 3)])
def test_a_fast_provider_gets_a_lane_more_than_two_processors(tmp_path, monkeypatch, cores, lanes):
    monkeypatch.setattr(noise, "cores", lambda: cores)
    plan = crew(tmp_path, pace=FAST).prepare([FIRST, THIRD, FOURTH])
    assert (plan and plan.lanes) == lanes


def test_a_fast_provider_has_no_lane_on_a_machine_that_is_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "cores", lambda: 2)
    order = Order("mine", directory=tmp_path, slowdown=3.0)
    assert Crew(order, tmp_path, known(FAST)).prepare([FIRST, THIRD]) is None


def test_a_slow_provider_is_checked_side_by_side(tmp_path):
    plan = crew(tmp_path).prepare([FIRST, SECOND, THIRD])
    assert plan.lanes == plan.checks == 3
    assert plan.wait_s == pytest.approx(0.2)


def test_no_more_lanes_are_planned_than_there_are_of_use(tmp_path):
    assert crew(tmp_path).prepare(spec.select([], "provider")).lanes == crews.MOST


def test_a_provider_that_computes_gets_no_more_lanes_than_processors(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "cores", lambda: 2)
    computing = dataclasses.replace(SLOW, hooks_s=1.0, computed_s=0.9)
    assert crew(tmp_path, pace=computing).prepare(spec.select([], "provider")).lanes == 2


def test_a_busy_machine_does_not_pass_for_a_provider_that_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "cores", lambda: 2)
    computing = dataclasses.replace(SLOW, hooks_s=1.0, computed_s=0.2)
    busy = crew(tmp_path, pace=computing)
    busy.lead.order = dataclasses.replace(busy.order, slowdown=5.0)
    assert busy.prepare(spec.select([], "provider")).lanes == 2


@pytest.mark.parametrize(("parallel", "lanes"), [(2, 2), (3, 3)])
def test_the_settings_say_how_many_callers_a_backend_takes(tmp_path, parallel, lanes):
    assert crew(tmp_path, parallel=parallel).prepare([FIRST, SECOND, THIRD]).lanes == lanes


def test_one_caller_means_one_after_the_other(tmp_path):
    assert crew(tmp_path, parallel=1).prepare([FIRST, SECOND]) is None


def test_the_settings_can_ask_for_it_where_hooks_are_fast(tmp_path):
    assert crew(tmp_path, pace=Pace(), parallel=2).prepare([FIRST, THIRD]).lanes == 2


def test_a_small_machine_is_not_filled(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "lanes", lambda held_mb: 1)
    assert crew(tmp_path).prepare([FIRST, SECOND]) is None


@pytest.mark.parametrize(("limit", "is_parallel"), [(20, False), (100_000, True)])
def test_calls_that_cost_money_are_made_in_order_unless_there_are_plenty(
    tmp_path, limit, is_parallel
):
    asked = crew(tmp_path, max_hook_calls=limit, parallel=2)
    assert bool(asked.prepare([FIRST, SECOND])) is is_parallel


def test_calls_that_cost_money_are_made_in_order_if_hooks_are_fast(tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "cores", lambda: 2)
    assert crew(tmp_path, pace=FAST, max_hook_calls=100_000).prepare([FIRST, THIRD]) is None


def test_workers_of_xdist_have_no_lanes_of_their_own(tmp_path):
    order = Order("mine", directory=tmp_path, workers=2)
    assert Crew(order, tmp_path, known()).prepare([FIRST, SECOND]) is None


# -- side by side ----------------------------------------------------------------------------------


def test_checks_run_at_the_same_time(scripted, tmp_path, ended, monkeypatch):
    both = threading.Barrier(2)
    started = scripted()
    monkeypatch.setattr(
        scripted.kind, "meets", lambda self, key: key in IDS and both.wait(PATIENCE_S)
    )
    mine = ended(crew(tmp_path))
    mine.prepare([FIRST, SECOND])
    assert outcomes(mine.run(FIRST) + mine.run(SECOND)) == [(item, "pass") for item in IDS[:2]]
    assert len(started) == 2
    assert not mine.finish()
    assert not any(one.alive for one in started)


def test_results_come_in_the_order_in_which_they_are_asked_for(
    scripted, tmp_path, ended, monkeypatch
):
    others = threading.Event()
    scripted()

    def meets(self, key):
        if key == FIRST.id:
            assert others.wait(PATIENCE_S)
        elif key == FOURTH.id:
            others.set()

    monkeypatch.setattr(scripted.kind, "meets", meets)
    mine = ended(crew(tmp_path))
    wanted = [FIRST, SECOND, THIRD, FOURTH]
    mine.prepare(wanted)
    assert [mine.run(item)[0].id for item in wanted] == list(IDS)


def test_a_child_that_dies_takes_its_own_check_alone(scripted, tmp_path, ended):
    died = Answer("died", operation="close", ending="exit code 3")
    script = {"MP_SHUT_001": [died, died], "MP_SHUT_002": []}
    scripted(**script)
    mine = ended(crew(tmp_path))
    mine.prepare([FIRST, SECOND, THIRD])
    found = [mine.run(item) for item in (FIRST, SECOND, THIRD)]
    scripted(MP_SHUT_001=[died])
    alone = Judge(Order("mine", directory=tmp_path), tmp_path, known())
    assert [outcomes(some) for some in found] == [
        outcomes(alone.run(item)) for item in (FIRST, SECOND, THIRD)
    ]
    assert mine.lead.deaths == alone.deaths == {"close": 1}


def test_what_company_has_caused_is_no_result(scripted, tmp_path, ended):
    scripted(MP_SHUT_001=[called("MP-SHUT-001", "fail")])
    mine = ended(crew(tmp_path))
    mine.prepare([FIRST, SECOND])
    assert outcomes(mine.run(FIRST)) == [(FIRST.id, Outcome.PASS)]


def test_a_violation_is_seen_again_alone(scripted, tmp_path, ended):
    scripted(MP_SHUT_001=[called("MP-SHUT-001", "fail") for _ in range(3)])
    mine = ended(crew(tmp_path))
    mine.prepare([FIRST, SECOND])
    assert outcomes(mine.run(FIRST)) == [(FIRST.id, Outcome.FAIL)]


def test_a_check_in_which_the_backend_asked_for_a_pause_is_made_again(scripted, tmp_path, ended):
    row = {"id": FIRST.id, "outcome": "untestable", "reason": "its backend does not answer"}
    scripted(MP_SHUT_001=[Answer("answered", Judged((row,), limited_s=0.01))])
    mine = ended(crew(tmp_path, parallel=2))
    mine.prepare([FIRST, SECOND])
    assert outcomes(mine.run(FIRST)) == [(FIRST.id, Outcome.PASS)]


def test_a_hook_that_was_withdrawn_in_between_makes_a_check_stale(scripted, tmp_path, ended):
    scripted(MP_SHUT_002=[called("MP-SHUT-002", "pass"), called("MP-SHUT-002", "untestable")])
    mine = ended(crew(tmp_path))
    mine.prepare([FIRST, SECOND])
    mine.run(FIRST)
    mine.lead.deaths["recall"] = incidents.MOST_DEATHS
    assert outcomes(mine.run(SECOND)) == [(SECOND.id, Outcome.UNTESTABLE)]


def test_the_parts_of_a_check_are_one_result(scripted, tmp_path, ended, monkeypatch):
    check = dataclasses.replace(clauses.checks("provider")[FIRST.id], parts=3)
    monkeypatch.setitem(clauses.checks("provider"), FIRST.id, check)
    started = scripted(MP_SHUT_001=[called(FIRST.id, "pass") for _ in range(3)])
    mine = ended(crew(tmp_path))
    assert mine.prepare([FIRST]).lanes == 3
    (result,) = mine.run(FIRST)
    assert result.outcome is Outcome.PASS
    assert result.hooks == {"recall": [3, 0.1, pytest.approx(0.3)]}
    parts = [command.place.context.part for one in started for command in one.checks]
    assert sorted(parts) == [(0, 3), (1, 3), (2, 3)]
    salts = {command.place.salt for one in started for command in one.checks}
    assert len(salts) == 3


def test_checks_of_one_observation_run_in_one_process(scripted, tmp_path, ended):
    started = scripted()
    wanted = [spec.requirement(f"MP-STORE-00{number}") for number in (1, 2, 3)]
    mine = ended(crew(tmp_path))
    mine.prepare([*wanted, FIRST])
    for item in wanted:
        mine.run(item)
    served = [{command.id for command in one.checks} for one in started]
    assert {item.id for item in wanted} in served


# -- ends ------------------------------------------------------------------------------------------


def test_what_was_not_asked_for_is_dropped_at_the_end(scripted, tmp_path, ended, monkeypatch):
    scripted(MP_SHUT_002=[called("MP-SHUT-002", "fail") for _ in range(3)])
    mine = ended(crew(tmp_path))
    mine.prepare([FIRST, SECOND])
    assert outcomes(mine.run(FIRST)) == [(FIRST.id, Outcome.PASS)]
    assert mine.finish() == []


def test_settings_that_do_not_work_end_the_run(scripted, tmp_path, ended):
    scripted(MP_SHUT_001=[KitUsageError("memproto.toml:1: settle", "raised", "mend it")])
    mine = ended(crew(tmp_path))
    mine.prepare([FIRST, SECOND])
    with pytest.raises(KitUsageError):
        mine.run(FIRST)


def test_a_run_that_is_interrupted_waits_for_no_hook(scripted, tmp_path, monkeypatch):
    began, over = threading.Event(), threading.Event()
    started = scripted()

    def hangs(self, key):
        if key in IDS:
            began.set()
            assert over.wait(PATIENCE_S)

    def interrupt(self):
        self.alive = False
        over.set()

    monkeypatch.setattr(scripted.kind, "meets", hangs)
    monkeypatch.setattr(scripted.kind, "interrupt", interrupt)
    mine = crew(tmp_path)
    mine.prepare([FIRST, SECOND])
    waiting = threading.Thread(target=lambda: mine.run(FIRST), daemon=True)
    waiting.start()
    assert began.wait(PATIENCE_S)
    begin = time.monotonic()
    mine.close()
    assert time.monotonic() - begin < PATIENCE_S
    assert not any(lane.thread.is_alive() for lane in mine._lanes)
    assert not any(one.alive for one in started)
