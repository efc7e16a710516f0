"""On a busy machine nothing is decided by a wait that was cut, and what it left open is retried."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.testing import incidents, noise, patience
from memproto.testing.context import Context
from memproto.testing.judging.judge import Judge
from memproto.testing.lifetimes import ends
from memproto.testing.messages import Judged
from memproto.testing.outcomes import Outcome
from memproto.testing.processes import process, roots
from memproto.testing.processes.answer import Answer
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, Watch
from memproto.testing.settings import settings
from memproto.testing.settings.order import Contact, Order
from tests.good.journal import Journal
from tests.kit_runs import ROOT
from tests.scripted import judging, outcomes

RULE = spec.requirement("MP-TURN-001")
FAULT = spec.requirement("MP-FAULT-001")

BUSY = "this machine computes 4.0 times slower now than alone"


def an_answer(outcome, *others, **told):
    results = ({"id": RULE.id, "outcome": outcome}, *others)
    return Answer("answered", Judged(results, **told))


EXCUSED = an_answer("inconclusive", excused=("record",))


@pytest.mark.parametrize(
    "first",
    [
        EXCUSED,
        an_answer("untestable", excused=("record",)),
        Answer("late", operation="record", budget_s=15.0, took_s=70.0, excuse=BUSY),
        Answer("late", operation="record", budget_s=1.0, took_s=9.0, excuse=BUSY),
        Answer("overdue", took_s=300.0, excuse=BUSY),
    ],
)
def test_what_the_machine_left_open_is_tried_again(scripted, tmp_path, first):
    scripted(MP_TURN_001=[first])
    mine = judging(tmp_path)
    assert outcomes(mine.run(RULE)) == [(RULE.id, Outcome.PASS)]
    assert not mine.deaths


def test_it_is_tried_three_times_and_then_told(scripted, tmp_path):
    scripted(MP_TURN_001=[EXCUSED] * 3)
    assert outcomes(judging(tmp_path).run(RULE)) == [(RULE.id, Outcome.INCONCLUSIVE)]


@pytest.mark.parametrize(
    "first",
    [
        an_answer("untestable"),
        an_answer("fail", excused=("record",)),
        an_answer("untestable", {"id": "MP-THR-003", "outcome": "fail"}, excused=("record",)),
        Answer("late", operation="record", budget_s=15.0, took_s=16.0),
        Answer("died", operation="record", ending="exit code 3"),
    ],
)
def test_what_the_provider_did_is_not_tried_again(scripted, tmp_path, first):
    scripted(MP_TURN_001=[first])
    assert outcomes(judging(tmp_path).run(RULE)) != [(RULE.id, Outcome.PASS)]


def test_a_hook_that_hangs_on_a_busy_machine_too_is_tried_again_once(scripted, tmp_path):
    hangs = Answer("late", operation="record", budget_s=15.0, took_s=70.0, excuse=BUSY)
    scripted(MP_TURN_001=[hangs] * 2, MP_TURN_002=[hangs])
    mine = judging(tmp_path)
    own, finding = mine.run(RULE)
    assert (own.outcome, finding.id) == (Outcome.UNTESTABLE, "MP-THR-003")
    again = mine.run(spec.requirement("MP-TURN-002"))
    assert outcomes(again) == [("MP-TURN-002", Outcome.UNTESTABLE)]


def test_calls_that_cost_money_are_not_made_again(scripted, tmp_path):
    scripted(MP_TURN_001=[EXCUSED])
    paid = settings.Settings(max_hook_calls=100)
    mine = Judge(Order("a.b:C", directory=tmp_path, settings=paid), tmp_path)
    assert outcomes(mine.run(RULE)) == [(RULE.id, Outcome.INCONCLUSIVE)]


# -- the time of a hook that hung before -----------------------------------------------------------


class Wire:
    """Notes how long each hook is waited for."""

    def __init__(self):
        self.budgets_s = []

    def hook(self, _, budget_s, *given):
        self.budgets_s.append(budget_s)
        return contextlib.nullcontext(noise.starved_s())


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves."""
    now = [0.0]
    monkeypatch.setattr("memproto.testing.provider.subject.perf_counter", lambda: now[0])
    monkeypatch.setattr(noise, "slowdown", lambda: 1.0)
    return now


@pytest.mark.parametrize("took_s", [0.1, 2.0, 5.0])
def test_a_hook_that_returns_within_its_whole_time_is_in_time_though_it_hung_before(clock, took_s):
    watch = Watch(Wire(), deaths={"recall": 1})
    with watch.hook("recall"):
        clock[0] += took_s
    assert (watch.late, watch.wire.budgets_s) == ([], [incidents.AGAIN_S])


@pytest.mark.parametrize("host_s", [5.0, 15.0])
def test_a_deadline_of_its_own_that_is_as_long_as_the_time_of_the_host_is_in_time(clock, host_s):
    """Its clock is over a moment before the kit's is read."""
    watch = Watch(Wire(), budgets_s={"recall": host_s})
    with watch.hook("recall"):
        clock[0] += host_s + 0.03
    assert watch.late == []
    with pytest.raises(HookLate), watch.hook("recall"):
        clock[0] += host_s + 0.2


def test_one_that_takes_longer_is_late_as_before(clock):
    watch = Watch(Wire(), deaths={"recall": 1})
    with pytest.raises(HookLate, match=r"5\.50 s of 5 s"), watch.hook("recall"):
        clock[0] += 5.5
    assert (watch.late, watch.excused) == (["recall"], [])


def test_who_has_patience_waits_for_its_whole_time(clock):
    watch = Watch(Wire(), deaths={"recall": 1}, patient=True)
    with watch.hook("recall"):
        clock[0] += 0.1
    assert watch.wire.budgets_s == [incidents.BUDGETS_S["recall"]]


def test_a_hook_that_got_no_processor_is_waited_for_so_much_longer(monkeypatch):
    monkeypatch.setattr(process.noise, "slowdown", lambda: 1.0)
    monkeypatch.setattr(process.noise, "starved_s", lambda *_: 7.0)
    child = object.__new__(process.ChildProcess)
    child._scale, child._process = 1.0, type("Running", (), {"pid": 1})
    hook = process._OpenHook("recall", 5.0, since=0.0, thread=1, starved_s=4.0)
    assert [child._is_late(hook, now) for now in (6.5, 8.9, 9.5)] == [False, False, True]


@pytest.mark.parametrize(("patient", "waits_s"), [(False, 5.0), (True, 15.0)])
def test_who_has_patience_waits_for_the_whole_end_of_a_host_too(
    monkeypatch, tmp_path, patient, waits_s
):
    started = SimpleNamespace(process=None, stdin=None)
    monkeypatch.setattr(ends.host_copies, "start", lambda *_: started)
    watch = Watch(Wire(), deaths={ends.EXIT: 1}, patient=patient)
    run = Run(Journal, NATIVE, tmp_path / "memory", watch, Context())
    host = ends.HostProcess(run, "", [])
    assert host._exit_s == waits_s


@pytest.mark.parametrize(
    ("known", "measured", "ends_s"), [(1.0, 1.0, 5.0), (1.0, 3.0, 15.0), (2.0, 1.0, 10.0)]
)
def test_a_deadline_measures_the_machine_once_and_only_when_it_is_over(
    monkeypatch, known, measured, ends_s
):
    now, asked = [100.0], []
    monkeypatch.setattr(patience, "monotonic", lambda: now[0])
    monkeypatch.setattr(noise, "slowdown", lambda: asked.append(now[0]) or measured)
    deadline = patience.Deadline(5.0, known)
    now[0] += 5.0 * known - 0.5
    assert (deadline.left_s(), asked) == (pytest.approx(0.5), [])
    now[0] += 0.5
    assert deadline.left_s() == pytest.approx(ends_s - 5.0 * known)
    now[0] = 100.0 + ends_s
    assert deadline.left_s() == 0
    assert asked == [100.0 + 5.0 * known]


def judged(target, deaths):
    order = Order(target, settings=settings.read(target, ROOT), directory=ROOT)
    root = roots.new_root()
    mine = Judge(order, root)
    try:
        contact = mine.meet()
        assert isinstance(contact, Contact)
        mine.deaths.update(deaths)
        return {
            item.id: item
            for rule in spec.select(["MP-FAULT"], "provider")
            for item in mine.run(rule)
        }
    finally:
        mine.close()
        roots.remove(Path(root))


@pytest.mark.once
def test_each_hook_has_its_whole_time_before_a_backend_that_fails_though_it_hung_before():
    deaths = dict.fromkeys(("open", "recall", "record", "mirror", "close"), 1)
    results = judged("tests.good.remote:Remote", deaths)
    assert {item.id: item.reason for item in results.values() if item.outcome != "pass"} == {}


@pytest.mark.parametrize(
    ("within_s", "slowdown", "waits_s"),
    [(5.0, 1.0, 5.0), (5.0, 2.0, 10.0), (5.0, 8.0, 15.0), (60.0, 8.0, 60.0)],
)
def test_a_wait_is_longer_on_a_machine_that_became_busy_and_shorter_than_a_stuck_check(
    monkeypatch, tmp_path, within_s, slowdown, waits_s
):
    now = [100.0]

    def sleep(for_s):
        now[0] += for_s

    monkeypatch.setattr(noise, "slowdown", lambda: slowdown)
    monkeypatch.setattr(patience, "monotonic", lambda: now[0])
    monkeypatch.setattr(patience, "sleep", sleep)
    run = Run(Journal, NATIVE, tmp_path / "memory", Watch(Wire()), Context())
    assert not run.wait_until(lambda: False, within_s)
    waited_s = now[0] - 100.0
    assert waited_s == pytest.approx(waits_s, abs=0.01)
    assert waits_s <= max(within_s, process._STUCK_S)
