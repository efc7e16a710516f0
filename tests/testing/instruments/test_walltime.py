"""The wall clock in the kit's hand: it is held and moved, and nothing that waits is touched."""
# Providers read the time in every way there is, and so do these tests.
# ruff: noqa: DTZ001, DTZ005, DTZ007, DTZ011

import asyncio
import copy
import datetime as dt
import json
import pickle
import queue
import subprocess
import sys
import threading
import time
import types
import uuid
from datetime import date, datetime
from time import localtime, monotonic, perf_counter, sleep, strftime, time_ns
from time import time as now

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.testing.instruments import watchers
from memproto.testing.instruments.walltime import (
    KATHMANDU,
    LOS_ANGELES,
    SHANGHAI,
    ending_summer_time,
    time_zone,
    wall_clock,
)
from memproto.testing.provider import subject as watched
from memproto.testing.provider.subject import Watch

pytestmark = pytest.mark.once

NOON = datetime(2031, 7, 1, 12, 30, 0, 123456, tzinfo=dt.UTC)
YEARS = dt.timedelta(days=20 * 365)

#: Everything in this file that waits is over in far less.
LONG_S = 10.0


class NoWire:
    """Stands for the connection to the parent, which hears nothing in these tests."""

    def hook(self, operation, budget_s, *_):
        return threading.Lock()


def loop_for(duration_s):
    """The loop of a good provider: how often it ran, and how long by another clock."""
    began, turns = perf_counter(), 0
    end = monotonic() + duration_s
    while monotonic() < end:
        turns += 1
        sleep(0.001)
    return turns, perf_counter() - began


# -- what goes on ---------------------------------------------------------------------------------


def test_a_loop_with_a_monotonic_deadline_ends_while_the_wall_clock_stands_still():
    with wall_clock(NOON):
        turns, took_s = loop_for(0.03)
        assert now() == NOON.timestamp()
    assert turns >= 1
    assert 0.03 <= took_s < LONG_S


def test_a_loop_with_a_monotonic_deadline_ends_while_the_wall_clock_jumps_by_years():
    over = threading.Event()
    with wall_clock(NOON) as clock:

        def jump():
            while not over.is_set():
                clock.jump(NOON + YEARS)
                clock.jump(NOON - YEARS)

        jumping = threading.Thread(target=jump)
        jumping.start()
        turns, took_s = loop_for(0.05)
        over.set()
        jumping.join()
    assert turns >= 1
    assert 0.05 <= took_s < LONG_S


@pytest.mark.parametrize("years", [-20, 0, 20])
def test_a_jump_moves_no_monotonic_clock(years):
    names = ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
    with wall_clock(NOON) as clock:
        before = [getattr(time, name)() for name in names]
        clock.jump(NOON + years * dt.timedelta(days=365))
        passed = [getattr(time, name)() - was for name, was in zip(names, before, strict=True)]
    assert all(
        0 <= value < (LONG_S if i in (0, 2) else LONG_S * 1e9) for i, value in enumerate(passed)
    )


def test_an_event_that_is_never_set_is_waited_for_as_long_as_asked():
    with wall_clock(NOON) as clock:
        clock.jump(NOON - YEARS)
        began = perf_counter()
        assert not threading.Event().wait(0.02)
        assert 0.01 < perf_counter() - began < LONG_S


def test_an_empty_queue_is_waited_for_as_long_as_asked():
    with wall_clock(NOON) as clock:
        clock.jump(NOON + YEARS)
        with pytest.raises(queue.Empty):
            queue.Queue().get(timeout=0.02)


def test_asyncio_sleeps_and_times_out():
    async def nap():
        await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.01)
        return "awake"

    with wall_clock(NOON) as clock:
        clock.jump(NOON - YEARS)
        assert asyncio.run(nap()) == "awake"


def test_a_program_with_a_timeout_is_waited_for():
    with wall_clock(NOON):
        done = subprocess.run([sys.executable, "-c", "print(1)"], timeout=60, check=True)
    assert done.returncode == 0


def test_the_watch_on_hooks_counts_real_time():
    watch = Watch(NoWire())
    with wall_clock(NOON) as clock, watch.hook("recall"):
        clock.jump(NOON + YEARS)
        sleep(0.01)
    ((calls, longest_s, total_s),) = watch.hooks.values()
    assert calls == 1
    assert 0.01 <= longest_s == total_s < LONG_S
    assert watched.perf_counter is time.perf_counter


# -- what it shows --------------------------------------------------------------------------------


def test_every_way_to_read_the_wall_clock_shows_the_instant():
    with wall_clock(NOON) as clock, time_zone(KATHMANDU):
        assert time.time() == now() == NOON.timestamp()
        assert time.time_ns() == time_ns() == pytest.approx(NOON.timestamp() * 1e9, abs=1000)
        assert datetime.now(dt.UTC) == dt.datetime.now(dt.UTC) == NOON == clock.now()
        assert datetime.now().isoformat() == "2031-07-01T18:15:00.123456"
        assert datetime.now().astimezone() == datetime.today().astimezone() == NOON
        assert strftime("%F %T %z") == time.strftime("%F %T %z") == "2031-07-01 18:15:00 +0545"
        assert tuple(localtime())[:5] == (2031, 7, 1, 18, 15)
        assert tuple(time.gmtime())[:5] == (2031, 7, 1, 12, 30)
        assert date.today() == dt.date.today() == dt.date(2031, 7, 1)


def test_the_clock_is_held_for_other_threads_too():
    seen = []
    with wall_clock(NOON):
        thread = threading.Thread(target=lambda: seen.append(time.time()))
        thread.start()
        thread.join()
    assert seen == [NOON.timestamp()]


def test_the_clock_is_held_for_code_that_the_kit_calls():
    with wall_clock(NOON), Watch(NoWire()).hook("recall"):
        assert time.time() == NOON.timestamp()


def test_a_tick_goes_on_from_where_it_stands():
    with wall_clock(NOON) as clock:
        clock.tick()
        clock.tick(0.5)
        assert datetime.now(dt.UTC) - NOON == dt.timedelta(seconds=1.5)


def test_local_time_follows_summer_time_across_a_jump():
    with wall_clock(NOON) as clock, time_zone(LOS_ANGELES) as use:
        assert datetime.now().astimezone().utcoffset() == dt.timedelta(hours=-7)
        clock.jump(datetime(2031, 1, 1, tzinfo=dt.UTC))
        assert datetime.now().astimezone().utcoffset() == dt.timedelta(hours=-8)
        use(SHANGHAI)
        assert datetime.now().hour == 8


def test_any_instant_of_two_centuries_is_shown_to_the_microsecond():
    with wall_clock(NOON) as clock:

        @given(st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(2200, 1, 1)))
        def shows(instant):
            clock.jump(instant.replace(tzinfo=dt.UTC))
            off = datetime.now(dt.UTC) - instant.replace(tzinfo=dt.UTC)
            assert abs(off) <= dt.timedelta(microseconds=1)

        shows()


def test_uuids_of_the_time_are_of_the_instant():
    with wall_clock(NOON):
        ticks = uuid.uuid1().time
    since = dt.timedelta(microseconds=ticks / 10) + dt.datetime(1582, 10, 15, tzinfo=dt.UTC)
    assert abs(since - NOON) < dt.timedelta(seconds=1)


# -- what it gives out ----------------------------------------------------------------------------


def test_values_are_of_the_real_classes():
    real = dt.datetime, dt.date
    with wall_clock(NOON):
        values = datetime.now(), date.today(), datetime(2020, 1, 1), date(2020, 1, 1)
        assert [type(value) for value in values] == [*real, *real]
        assert isinstance(values[0], datetime)
        assert isinstance(values[0], date)
        assert not isinstance(values[1], datetime)
        assert issubclass(datetime, date)
        assert type(datetime.strptime("2020", "%Y")) is real[0]


def test_a_value_survives_pickle_and_copy():
    with wall_clock(NOON):
        value = datetime.now(dt.UTC)
        kept = pickle.dumps(value)
        assert pickle.loads(kept) == copy.deepcopy(value) == value
    assert b"memproto" not in kept
    assert b"freezegun" not in kept
    assert pickle.loads(kept) == value
    assert type(pickle.loads(kept)) is datetime


def test_a_class_derived_while_the_clock_is_held_keeps_its_own_values():
    with wall_clock(NOON):

        class Stamp(datetime):
            pass

        assert type(Stamp.now()) is Stamp
        assert not isinstance(datetime.now(), Stamp)
        assert issubclass(Stamp, datetime)


# -- how it is left -------------------------------------------------------------------------------


def shown():
    clocks = [getattr(time, name) for name in dir(time)]
    by_name = [date, datetime, localtime, now, strftime, time_ns, monotonic, perf_counter]
    return [*clocks, *by_name, dt.datetime, dt.date, watchers.replaced(), watchers.environment()]


def test_everything_is_afterwards_as_before_twice():
    before = shown()
    for _ in range(2):
        with wall_clock(NOON):
            assert shown() != before
        assert shown() == before
        assert abs(datetime.now().timestamp() - time.time()) < LONG_S


def test_everything_is_as_before_after_an_exception():
    before = shown()
    with pytest.raises(KeyError), wall_clock(NOON), time_zone(SHANGHAI):
        raise KeyError
    assert shown() == before


def test_what_was_taken_from_the_held_clock_goes_on_when_it_is_let_go():
    with wall_clock(NOON):
        taken = [time.time, datetime.now, strftime]
    assert abs(taken[0]() - time.time()) < LONG_S
    assert abs(taken[1]() - datetime.now()).total_seconds() < LONG_S
    assert taken[2]("%Y") == str(datetime.now().year)


def test_a_module_that_came_while_the_clock_was_held_is_given_the_real_one():
    late = types.ModuleType("a_late_module")
    with wall_clock(NOON):
        exec("from datetime import datetime\nfrom time import time", vars(late))
        sys.modules["a_late_module"] = late
        assert late.time() == NOON.timestamp()
    del sys.modules["a_late_module"]
    assert (late.time, late.datetime) == (time.time, datetime)


def test_modules_that_load_their_parts_when_asked_are_left_asleep():
    woken = []

    class Lazy(types.ModuleType):
        def __dir__(self):
            return ["heavy_part"]

        def __getattr__(self, name):
            woken.append(name)
            raise AttributeError(name)

    sys.modules["a_lazy_module"] = Lazy("a_lazy_module")
    try:
        with wall_clock(NOON):
            pass
    finally:
        del sys.modules["a_lazy_module"]
    assert "heavy_part" not in woken


# -- zones ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", [SHANGHAI, LOS_ANGELES, KATHMANDU], ids=lambda zone: zone.name)
@pytest.mark.parametrize("known", [True, False])
def test_a_zone_holds_with_or_without_a_database_of_zones(zone, known):
    asked = zone if known else zone._replace(name="Nowhere/Atlantis")
    before = time.tzname
    with time_zone(asked):
        winter = datetime(2026, 1, 15, 12, tzinfo=dt.UTC)
        assert winter.astimezone().utcoffset() == dt.timedelta(seconds=-zone.west_s)
    assert time.tzname == before


@pytest.mark.parametrize("days", [0, 1, 60, 100, 364, 365, 428, 429, 800])
def test_the_last_hour_of_summer_time_comes_twice(days):
    end = datetime(2026, 12, 31, 12, tzinfo=dt.UTC) + dt.timedelta(days=days)
    with time_zone(ending_summer_time(end)):
        half_an_hour = dt.timedelta(minutes=30)
        before, after = (at.astimezone() for at in (end - half_an_hour, end + half_an_hour))
    assert before.replace(tzinfo=None) == after.replace(tzinfo=None)
    assert before != after


def test_a_freeze_of_the_clock_takes_no_noticeable_time():
    # In a process of its own, as a kit child is one; its own time, whatever else the machine does.
    code = (
        "import json, time\n"
        "from memproto.testing.judging import child; from memproto.testing import clauses\n"
        "clauses.checks('provider')\n"
        "from memproto.testing.instruments.walltime import wall_clock\n"
        "began = time.process_time()\n"
        "for _ in range(2):\n"
        "    with wall_clock(): pass\n"
        "print(json.dumps(time.process_time() - began))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) < 0.5
