"""A wait that a clock of the provider's ends is late on a busy machine as well."""

from types import SimpleNamespace

import pytest

from memproto.bindings import NATIVE
from memproto.testing.clauses import Violation
from memproto.testing.context import Context
from memproto.testing.faults import bench
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, Watch
from tests.good.journal import Journal

BUSY = "this machine computes 3.6 times slower now than alone"


@pytest.fixture
def run(tmp_path):
    return Run(Journal, NATIVE, tmp_path / "memory", Watch(SimpleNamespace()), Context())


@pytest.fixture
def clock(monkeypatch):
    """The seconds of the processor that each call takes, a fifth of a second unless it is set."""
    now = SimpleNamespace(s=0.0, each_s=0.2)
    monkeypatch.setattr(bench, "process_time", lambda: now.s)
    monkeypatch.setattr(bench, "has_offspring", lambda: False)
    return now


def taking(clock, *times_s, excuse=BUSY):
    """A call of recall that takes so long each time."""
    left = list(times_s)

    def step():
        clock.s += clock.each_s
        took_s = left.pop(0)
        if took_s > 5.0:
            raise HookLate("recall", took_s, 5.0, excuse)

    return step


def test_a_call_that_takes_the_same_time_each_time_is_late(run, clock):
    with pytest.raises(Violation) as seen:
        bench.timely(run, "while it is stuck", taking(clock, 15.02, 15.0, 15.1))
    assert seen.value.evidence.took_s == 15.02


@pytest.mark.parametrize("times_s", [(15.0, 9.0), (15.0, 15.1, 17.0), (6.5, 0.1), (6.5, 6.5, 4.0)])
def test_one_whose_time_differs_is_excused(run, clock, times_s):
    with pytest.raises(HookLate):
        bench.timely(run, "while it is stuck", taking(clock, *times_s))


def test_one_that_computes_is_excused_though_the_machine_is_evenly_busy(run, clock):
    clock.each_s = 2.0
    with pytest.raises(HookLate):
        bench.timely(run, "while it is stuck", taking(clock, 15.0, 15.0, 15.0))


def test_one_whose_programs_may_compute_is_excused(run, clock, monkeypatch):
    monkeypatch.setattr(bench, "has_offspring", lambda: True)
    with pytest.raises(HookLate):
        bench.timely(run, "while it is stuck", taking(clock, 15.0, 15.0, 15.0))


def test_without_an_excuse_it_is_called_once(run, clock):
    with pytest.raises(Violation):
        bench.timely(run, "while it is stuck", taking(clock, 9.0, excuse=""))
