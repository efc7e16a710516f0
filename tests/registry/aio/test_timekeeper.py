"""Alarms: each rings once at its moment, and those that were cancelled cost nothing."""

import gc
import threading
import weakref

from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.registry.aio.timekeeper import Timekeeper
from tests.virtual import VirtualClock, eventually


def own_threads():
    return [t for t in threading.enumerate() if t.name == "test-alarms"]


def keeper(clock):
    return Timekeeper(clock, "test-alarms")


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30))
@settings(deadline=None, max_examples=60, derandomize=True, database=None)
def test_what_was_not_cancelled_rings_once_in_the_order_of_moments(wanted):
    clock, rung = VirtualClock(), []
    time = keeper(clock)
    set_for = [
        (until, number, time.at(clock.now() + 1 + until, lambda number=number: rung.append(number)))
        for number, (until, _) in enumerate(wanted)
    ]
    for (_, is_cancelled), (_, _, alarm) in zip(wanted, set_for, strict=True):
        if is_cancelled:
            alarm.cancel()
    if wanted:
        clock.advance(30.0)
    eventually(lambda: not own_threads(), "the end of the thread")
    kept = [(u, n) for (u, n, _), (_, dropped) in zip(set_for, wanted, strict=True) if not dropped]
    assert rung == [number for _, number in sorted(kept)]


def test_an_alarm_for_an_earlier_moment_is_not_kept_waiting_by_a_later_one():
    clock, rung = VirtualClock(), []
    time = keeper(clock)
    late = time.at(clock.now() + 100.0, lambda: rung.append("late"))
    time.at(clock.now() + 1.0, lambda: rung.append("early"))
    eventually(lambda: any(until < clock.now() + 2 for until, _ in tuple(clock._waits)))
    clock.advance(2.0)
    eventually(lambda: rung == ["early"])
    late.cancel()
    eventually(time.tidy)
    assert own_threads() == []


def test_an_alarm_that_was_cancelled_keeps_nothing_alive():
    class Thing:
        def ring(self):
            raise AssertionError("it was cancelled")

    clock, thing = VirtualClock(), Thing()
    time, gone = keeper(clock), weakref.ref(thing)
    time.at(clock.now() + 1.0, thing.ring).cancel()
    del thing
    gc.collect()
    assert gone() is None
    clock.advance(2.0)
    eventually(lambda: not own_threads())


def test_many_cancelled_alarms_are_not_kept_until_their_moments():
    clock = VirtualClock()
    time = keeper(clock)
    for _ in range(10_000):
        time.at(clock.now() + 5.0, lambda: None).cancel()
    assert len(time._alarms) < 200
    eventually(time.tidy)


def test_after_its_thread_has_ended_a_new_alarm_has_a_new_one():
    clock, rung = VirtualClock(), []
    time = keeper(clock)
    for number in range(3):
        time.at(clock.now() + 1.0, lambda number=number: rung.append(number))
        clock.advance(1.0)
        eventually(lambda: not own_threads())
    assert rung == [0, 1, 2]
