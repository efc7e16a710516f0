"""The registry on the system's clocks while somebody sets the time of day."""

import datetime as dt
import threading
from time import perf_counter

import pytest

from memproto.deadlines import Deadlines
from memproto.registry import MemoryProviderRegistry
from memproto.testing.instruments.walltime import wall_clock
from tests.virtual import REAL_LIMIT_S, FakeProvider, eventually

pytestmark = pytest.mark.once

NOON = dt.datetime(2031, 7, 1, 12, tzinfo=dt.UTC)
YEARS = dt.timedelta(days=20 * 365)
JUMPS = pytest.mark.parametrize(
    "to", [NOON - YEARS, NOON, NOON + YEARS], ids=["back", "nowhere", "ahead"]
)

#: Short enough to be waited for, long enough to be told from nothing.
SHORT_S = 0.1


@pytest.fixture
def clock():
    with wall_clock(NOON) as held:
        yield held


@pytest.fixture
def released():
    """Set at the end, so that no provider stays stuck."""
    event = threading.Event()
    yield event
    event.set()


def opened(*providers, events=None, **deadlines_s):
    said = [] if events is None else events
    registry = MemoryProviderRegistry(deadlines=Deadlines(**deadlines_s), on_event=said.append)
    for provider in providers:
        registry.register(provider)
    registry.initialize_all("session", {"home": "/nowhere"})
    return registry


def took(call):
    """The result of the call, and the seconds that it took."""
    began = perf_counter()
    return call(), perf_counter() - began


@JUMPS
def test_a_recall_is_waited_for_across_a_jump(clock, to):
    def jumps_and_answers(*_):
        clock.jump(to)
        return "still here"

    events = []
    registry = opened(FakeProvider(enrich_turn=jumps_and_answers), events=events)
    assert registry.enrich_turn("hello", []) == [("fake", "still here")]
    registry.shutdown_all()
    assert all(0 <= event.took_s < REAL_LIMIT_S for event in events)


@JUMPS
def test_a_recall_that_hangs_is_left_after_its_budget_across_a_jump(clock, released, to):
    def jumps_and_hangs(*_):
        clock.jump(to)
        released.wait(REAL_LIMIT_S)

    good = FakeProvider("good", enrich_turn=lambda *_: "here")
    bad = FakeProvider("bad", enrich_turn=jumps_and_hangs)
    registry = opened(good, bad, enrich_s=SHORT_S, shutdown_s=SHORT_S)
    texts, took_s = took(lambda: registry.enrich_turn("hello", []))
    assert texts == [("good", "here")]
    assert SHORT_S <= took_s < REAL_LIMIT_S / 2
    released.set()
    registry.shutdown_all()


@JUMPS
def test_a_write_in_the_queue_is_delivered_by_a_shutdown_during_which_the_clock_jumps(
    clock, released, to
):
    working = threading.Event()

    def works(*_):
        working.set()
        assert released.wait(REAL_LIMIT_S)

    provider = FakeProvider(on_turn_complete=works)
    registry = opened(provider)
    for number in "12":
        registry.on_turn_complete(number, "")
    assert working.wait(REAL_LIMIT_S)
    ending = threading.Thread(target=registry.shutdown_all)
    ending.start()
    eventually(lambda: registry.providers == (), "the end of the session")
    clock.jump(to)
    released.set()
    ending.join(REAL_LIMIT_S)
    assert [args[0] for args in provider.named("on_turn_complete")] == ["1", "2"]
    assert provider.calls[-1] == ("shutdown",)


@JUMPS
def test_a_shutdown_that_hangs_is_left_after_its_budget_across_a_jump(clock, released, to):
    def jumps_and_hangs():
        clock.jump(to)
        released.wait(REAL_LIMIT_S)

    registry = opened(FakeProvider(shutdown=jumps_and_hangs), shutdown_s=SHORT_S)
    _, took_s = took(registry.shutdown_all)
    assert SHORT_S <= took_s < REAL_LIMIT_S / 2


@JUMPS
def test_a_compression_is_waited_for_across_a_jump(clock, to):
    provider = FakeProvider(on_compress=lambda *_: clock.jump(to))
    events = []
    registry = opened(provider, events=events, compress_s=REAL_LIMIT_S)
    registry.on_compress([{"role": "user", "content": "hello"}], 1)
    assert [event.outcome for event in events if event.hook == "on_compress"] == ["ok"]
    registry.shutdown_all()
