"""The machine's effect on times is measured, and is not booked on a provider."""

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.errors import Unavailable
from memproto.testing import noise, patience
from memproto.testing.judging.judge import Order, judge
from memproto.testing.outcomes import Outcome
from memproto.testing.processes import process
from memproto.testing.provider.subject import HookLate, HookRaised, Subject, Watch
from memproto.testing.wire import Wire
from tests.kit_runs import ROOT

pytestmark = pytest.mark.once

RECALL = "MP-RECALL-002"


@contextlib.contextmanager
def one_core_shared_with(hogs):
    """Run on a single processor, beside processes that use all of it."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(mine)})
    # Each in a session of its own: Linux shares a processor among sessions first.
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command, start_new_session=True) for _ in range(hogs)]
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
        for hog in busy:
            hog.kill()
            hog.wait()


def recall_result(scale):
    order = Order("tests.hostile.computes:Computes", directory=ROOT, scale=scale)
    found = judge(order, [spec.requirement(RECALL)])
    return [result for result in found if result.id == RECALL]


def test_a_measurement_names_what_was_measured():
    found = noise.measure()
    assert found.slowdown >= 1
    assert found.cores >= 1
    assert f"{found.late_ms:.1f} ms late" in str(found)


def test_a_busy_machine_shows_in_the_slowdown():
    with one_core_shared_with(3):
        # The first sample may fall into the hogs' own start.
        assert max(noise.slowdown() for _ in range(5)) >= 1.5


def test_a_thread_that_gets_no_processor_is_known_to_starve():
    with one_core_shared_with(3):
        before = noise.starved_s()
        noise.slowdown()
        assert noise.starved_s() > before


@pytest.mark.parametrize(
    ("took_s", "starved_s", "slowdown", "is_excused"),
    [
        (6.0, 0.0, 1.0, False),
        (6.0, 0.9, 1.0, False),
        (6.0, 1.1, 1.0, True),
        (6.0, 0.0, 1.3, True),
        (6.6, 0.0, 1.3, False),
    ],
)
def test_a_late_hook_is_excused_as_far_as_the_machine_explains_it(
    monkeypatch, took_s, starved_s, slowdown, is_excused
):
    monkeypatch.setattr(noise, "slowdown", lambda: slowdown)
    assert bool(noise.excuse(took_s, 5.0, starved_s)) is is_excused


def test_a_provider_that_is_late_for_want_of_a_processor_is_not_blamed():
    # It has 0.5 s, computes for 0.3 s, and gets an eighth of one processor.
    with one_core_shared_with(7):
        (found,) = recall_result(scale=0.1)
    assert found.outcome is Outcome.INCONCLUSIVE
    assert "got no processor" in found.reason or "times slower" in found.reason


def test_the_same_provider_is_late_by_its_own_doing_on_a_quiet_machine(monkeypatch):
    # It has 0.05 s: no slowdown that the parent could measure explains six times as much.
    monkeypatch.setattr(process.noise, "slowdown", lambda: 1.0)
    (found,) = recall_result(scale=0.01)
    assert found.outcome is not Outcome.PASS


def test_what_is_to_happen_ends_the_wait_and_what_is_not_is_waited_out():
    seen = iter([False, False, True])
    assert patience.happens(lambda: next(seen), 60.0)
    assert not patience.happens(lambda: False, 0.01)
    assert patience.stays_silent(lambda: False, 0.01)
    assert not patience.stays_silent(lambda: True, 60.0)


class RaisesAtStart:
    def __init__(self, error):
        self.error = error

    def initialize(self, session_key, config):
        raise self.error


@pytest.mark.parametrize("error", [RuntimeError(), Unavailable("no server"), TimeoutError()])
def test_a_hook_that_is_late_and_raises_is_late_whatever_it_raised(tmp_path, error):
    with (tmp_path / "wire").open("wb") as file:
        # With no time at all every call is late.
        for scale, expected in ((0.0, HookLate), (1.0, HookRaised)):
            watch = Watch(Wire(file.fileno()), scale=scale)
            with pytest.raises(expected) as failure:
                Subject(RaisesAtStart(error), NATIVE, watch).open("a session", {})
            assert failure.value.operation == "open"
            assert watch.hooks["open"][0] == 1


def test_the_pauses_between_two_questions_grow_with_the_time(monkeypatch):
    now, asked = [100.0], []

    def pause(seconds):
        now[0] += seconds

    monkeypatch.setattr(patience, "monotonic", lambda: now[0])
    monkeypatch.setattr(patience, "sleep", pause)
    assert not patience.happens(lambda: bool(asked.append(now[0])), 60.0)
    # A backend is asked some hundred times in a minute, and not for each tick.
    assert len(asked) < 500
    pauses = [later - sooner for sooner, later in itertools.pairwise(asked)]
    assert pauses[0] == pytest.approx(0.002)
    assert max(pauses) == pytest.approx(0.2)
    assert asked[-1] == pytest.approx(160.0)


@pytest.mark.skipif(sys.platform != "linux", reason="the scheduler's figures of Linux")
def test_a_process_that_computes_works_and_one_that_is_gone_does_not():
    work = noise.Work(os.getpid())
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
    assert work.done_s() >= 0.04
    assert 0.0 <= work.held_up_s() <= work.done_s()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    gone = noise.Work(ended.pid)
    assert (gone.done_s(), gone.held_up_s(), gone.is_at_a_disk()) == (0.0, 0.0, False)
    assert noise.held_up_s(ended.pid) == 0.0


@pytest.mark.skipif(sys.platform != "linux", reason="the scheduler's figures of Linux")
def test_the_work_of_a_thread_that_ended_takes_nothing_from_that_of_the_others():
    computed, looked = threading.Event(), threading.Event()

    def compute(seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    def worker():
        compute(0.3)
        computed.set()
        looked.wait()

    thread = threading.Thread(target=worker)
    thread.start()
    computed.wait()
    work = noise.Work(os.getpid())
    looked.set()
    thread.join()
    compute(0.05)
    assert work.done_s() >= 0.04


@pytest.mark.parametrize(
    ("line", "state"),
    [(b"7 (python) D 1 7 7", b"D"), (b"7 (a) D (b) S 1 7", b"S"), (None, b"")],
    ids=["at a disk", "a name with parentheses", "gone"],
)
def test_the_state_of_a_thread_stands_behind_its_name(monkeypatch, line, state):
    def read_bytes(path):
        if line is None:
            raise FileNotFoundError(path)
        return line

    monkeypatch.setattr(noise.Path, "read_bytes", read_bytes)
    assert noise._state("7/task/7") == state
