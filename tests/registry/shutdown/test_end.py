import gc
import threading
import weakref
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.deadlines import Limits, MonotonicClock
from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.gather import Gather, HookCall
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.events import EventSink
from tests.virtual import REAL_LIMIT_S, FakeProvider, VirtualClock, eventually, own_threads


def open_all(*providers, **kwargs):
    events = []
    registry = MemoryProviderRegistry(on_event=events.append, **kwargs)
    for provider in providers:
        registry.register(provider)
    registry.initialize_all("session", {})
    return registry, events


def test_accepted_writes_are_delivered_before_shutdown():
    gate = threading.Event()
    provider = FakeProvider(on_turn_complete=lambda *_: gate.wait(10) and None)
    registry, _ = open_all(provider)
    for number in range(5):
        registry.on_turn_complete(str(number), "")
    gate.set()
    registry.shutdown_all()
    assert [args[0] for args in provider.named("on_turn_complete")] == list("01234")
    assert provider.calls[-1] == ("shutdown",)


def test_providers_are_shut_down_at_the_same_time():
    meeting = threading.Barrier(3)
    providers = [FakeProvider(n, shutdown=lambda: meeting.wait(10) and None) for n in "abc"]
    registry, events = open_all(*providers)
    registry.shutdown_all()
    assert [e.outcome for e in events if e.hook == "shutdown"] == ["ok"] * 3


def test_no_thread_is_left_by_a_registry_that_was_shut_down():
    registry, _ = open_all(FakeProvider("a"), FakeProvider("b"))
    registry.enrich_turn("hello", [])
    registry.on_turn_complete("a", "b")
    registry.on_compress([], 1)
    registry.shutdown_all()
    eventually(lambda: not own_threads())


def test_shutting_down_twice_and_from_many_threads_calls_each_provider_once():
    provider = FakeProvider()
    registry, _ = open_all(provider)
    threads = [threading.Thread(target=registry.shutdown_all) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    registry.shutdown_all()
    assert provider.named("shutdown") == [()]
    assert registry.providers == ()
    assert registry.enrich_turn("hello", []) == []


def test_every_caller_waits_for_the_same_end():
    entered, release = threading.Event(), threading.Event()
    second_done = threading.Event()

    def shutdown():
        entered.set()
        release.wait(10)

    registry, _ = open_all(FakeProvider(shutdown=shutdown))
    first = threading.Thread(target=registry.shutdown_all)
    first.start()
    assert entered.wait(10)
    second = threading.Thread(target=lambda: (registry.shutdown_all(), second_done.set()))
    second.start()
    assert not second_done.is_set()
    release.set()
    first.join(10)
    assert second_done.wait(10)
    second.join(10)


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_shutdown_that_raises_is_told_and_reaches_nobody(error):
    def broken():
        raise error

    neighbour = FakeProvider("b")
    registry, events = open_all(FakeProvider("a", shutdown=broken), neighbour)
    registry.shutdown_all()
    assert ("a", "raised", error.__name__) in [(e.provider, e.outcome, e.detail) for e in events]
    assert neighbour.named("shutdown") == [()]


def test_a_shutdown_that_hangs_is_left_at_fifteen_seconds():
    clock, release = VirtualClock(), threading.Event()

    def hang():
        clock.advance(15.0)
        release.wait(10)

    registry, events = open_all(FakeProvider("a", shutdown=hang), FakeProvider("b"), clock=clock)
    began = clock.now()
    registry.shutdown_all()
    assert clock.now() - began == 15.0
    registry.shutdown_all()
    assert [(e.provider, e.outcome) for e in events].count(("a", "late")) == 1
    release.set()
    eventually(lambda: not own_threads())


def test_a_stuck_write_costs_the_rest_of_the_queue_but_not_the_shutdown():
    clock, release, entered = VirtualClock(), threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    provider = FakeProvider("a", on_turn_complete=hang)
    registry, events = open_all(provider, clock=clock)
    for number in range(3):
        registry.on_turn_complete(str(number), "")
    registry.on_memory_write("add", "memory", "x")
    assert entered.wait(10)
    ending = threading.Thread(target=registry.shutdown_all)
    began = clock.now()
    ending.start()
    clock.advance(13.5, waits=2)
    ending.join(10)
    assert not ending.is_alive()
    assert clock.now() - began == 13.5
    assert provider.named("shutdown") == [()]
    lost = {e.hook: e.lost for e in events if e.outcome == "abandoned"}
    assert lost == {"on_turn_complete": 3, "on_memory_write": 1}
    release.set()
    eventually(lambda: not own_threads())
    assert len(provider.named("on_turn_complete")) == 1
    assert provider.named("on_memory_write") == []


def test_everything_stuck_still_ends_at_fifteen_seconds():
    clock, release, entered = VirtualClock(), threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    shut = threading.Event()

    def hang_at_the_end():
        shut.set()
        release.wait(10)

    registry, events = open_all(
        FakeProvider(on_turn_complete=hang, shutdown=hang_at_the_end), clock=clock
    )
    registry.on_turn_complete("a", "b")
    assert entered.wait(10)
    ending = threading.Thread(target=registry.shutdown_all)
    ending.start()
    clock.advance(13.5, waits=2)
    assert shut.wait(10)
    clock.advance(1.5)
    ending.join(10)
    assert not ending.is_alive()
    told = [(e.hook, e.outcome, e.lost) for e in events if e.outcome in ("late", "abandoned")]
    assert told == [("shutdown", "late", 0), ("on_turn_complete", "abandoned", 1)]
    release.set()
    eventually(lambda: not own_threads())


def test_a_compression_under_way_may_finish_before_its_provider_is_shut_down():
    clock = VirtualClock()
    entered, release = threading.Event(), threading.Event()

    def compress(*_):
        entered.set()
        release.wait(10)
        provider.calls.append(("compressed",))

    provider = FakeProvider(on_compress=compress)
    registry, _ = open_all(provider, clock=clock)
    compressing = threading.Thread(target=registry.on_compress, args=([], 1))
    compressing.start()
    assert entered.wait(10)
    ending = threading.Thread(target=registry.shutdown_all)
    ending.start()
    clock.advance(13.0, waits=3)  # the compression, the caller of the end, the end of the provider
    assert provider.named("shutdown") == []
    release.set()
    ending.join(10)
    compressing.join(10)
    assert [call[0] for call in provider.calls[-2:]] == ["compressed", "shutdown"]


def test_a_compression_that_hangs_cannot_hold_the_end():
    clock, entered, release = VirtualClock(), threading.Event(), threading.Event()
    provider = FakeProvider(on_compress=lambda *_: entered.set() or (release.wait(10) and None))
    registry, _ = open_all(provider, clock=clock)
    compressing = threading.Thread(target=registry.on_compress, args=([], 1))
    compressing.start()
    assert entered.wait(10)
    ending = threading.Thread(target=registry.shutdown_all)
    ending.start()
    clock.advance(13.5, waits=3)
    ending.join(10)
    assert not ending.is_alive()
    assert provider.named("shutdown") == [()]
    release.set()
    compressing.join(10)
    eventually(lambda: not own_threads())


def test_a_stuck_recall_is_not_waited_for_again_at_the_end():
    clock, release = VirtualClock(), threading.Event()

    def hang(*_):
        clock.advance(5.0)
        release.wait(10)

    provider = FakeProvider(enrich_turn=hang)
    registry, _ = open_all(provider, clock=clock)
    registry.enrich_turn("hello", [])
    began = clock.now()
    registry.shutdown_all()
    assert clock.now() == began
    assert provider.named("shutdown") == [()]
    release.set()
    eventually(lambda: not own_threads())


def test_a_provider_that_ends_its_own_registry_does_not_wait_for_itself():
    clock = VirtualClock()
    provider = FakeProvider(enrich_turn=lambda *_: registry.shutdown_all() or "done")
    registry, _ = open_all(provider, clock=clock)
    assert registry.enrich_turn("hello", []) == [("fake", "done")]
    registry.shutdown_all()
    assert provider.named("shutdown") == [()]


def test_shutting_down_while_providers_open_closes_them():
    provider = FakeProvider(initialize=lambda *_: registry.shutdown_all())
    registry = MemoryProviderRegistry()
    registry.register(provider)
    registry.initialize_all("session", {})
    assert registry.providers == ()
    assert provider.named("shutdown") == [()]
    eventually(lambda: not own_threads())


def test_a_registry_that_nobody_holds_ends_itself():
    provider = FakeProvider()
    registry, _ = open_all(provider)
    provider.registry = registry  # a cycle, as a provider that knows its host makes one
    registry.on_turn_complete("a", "b")
    gone = weakref.ref(registry)
    del registry, provider.registry
    gc.collect()
    assert gone() is None
    eventually(lambda: not own_threads())
    assert [call[0] for call in provider.calls[-2:]] == ["on_turn_complete", "shutdown"]


def test_a_cycle_through_the_provider_does_not_keep_a_registry_alive():
    provider = FakeProvider()
    registry, _ = open_all(provider)
    provider.registry = registry
    registry.enrich_turn("hello", [])
    gone = weakref.ref(registry)
    del registry, provider
    gc.collect()
    eventually(lambda: not own_threads())
    eventually(lambda: gc.collect() is not None and gone() is None)


def test_a_hundred_registries_leave_nothing_behind():
    threads, files = set(threading.enumerate()), len([*Path("/proc/self/fd").iterdir()])
    for _ in range(100):
        registry, _ = open_all(FakeProvider())
        registry.enrich_turn("hello", [])
        registry.shutdown_all()
    assert set(threading.enumerate()) <= threads
    assert len([*Path("/proc/self/fd").iterdir()]) == files


OPERATIONS = {
    "turn": lambda registry: registry.enrich_turn("hello", [{"role": "user", "content": "x"}]),
    "record": lambda registry: registry.on_turn_complete("a", "b"),
    "mirror": lambda registry: registry.on_memory_write("add", "memory", "x"),
    "compress": lambda registry: registry.on_compress([], 1),
    "end": lambda registry: registry.shutdown_all(),
}


def raise_now(*_):
    raise ValueError


@given(
    st.lists(st.sampled_from(sorted(OPERATIONS)), max_size=12),
    st.sets(st.sampled_from(["enrich_turn", "on_turn_complete", "on_compress", "shutdown"])),
)
@settings(deadline=None, max_examples=60)
def test_any_order_of_calls_leads_each_provider_through_one_life(order, broken):
    provider = FakeProvider(**dict.fromkeys(broken, raise_now))
    registry, events = open_all(provider)
    for operation in order:
        OPERATIONS[operation](registry)
    registry.shutdown_all()
    hooks = [call[0] for call in provider.calls]
    assert hooks[:3] == ["is_available", "initialize", "capabilities"]
    assert hooks[-1] == "shutdown"
    assert [hooks.count(hook) for hook in (*hooks[:3], "shutdown")] == [1, 1, 1, 1]
    alive = order[: order.index("end")] if "end" in order else order
    assert hooks.count("on_turn_complete") == alive.count("record")
    assert hooks.count("on_memory_write") == alive.count("mirror")
    assert hooks.count("enrich_turn") == alive.count("turn")
    assert {e.hook for e in events if e.outcome == "raised"} <= broken
    eventually(lambda: not own_threads())


class HeldCall(HookCall):
    """A recall that stands still where a lane takes it in, until `goes_on` is set."""

    __slots__ = ("goes_on", "is_there")

    def __hash__(self):
        if threading.current_thread().name == "host" and not self.is_there.is_set():
            self.is_there.set()
            assert self.goes_on.wait(REAL_LIMIT_S)
        return id(self)


def test_a_recall_that_took_off_while_the_end_began_is_over_before_the_shutdown():
    entered, leaves, order = threading.Event(), threading.Event(), []

    class Slow(FakeProvider):
        def enrich_turn(self, user_message, messages):
            entered.set()
            leaves.wait(REAL_LIMIT_S)
            order.append("recall")

        def shutdown(self):
            order.append("shutdown")

    class Between(MonotonicClock):
        """Lets the recall begin when the end has seen that nothing is under way."""

        def now(self):
            if threading.current_thread() is closer and not call.goes_on.is_set():
                call.goes_on.set()
                entered.wait(REAL_LIMIT_S)
                threading.Timer(0.2, leaves.set).start()
            return super().now()

    closer, clock = None, Between()
    lane = ProviderLane("slow", Slow("slow"), clock, EventSink(None), Limits())
    call = HeldCall(lane, "enrich_turn", ("", []), Gather(clock, REAL_LIMIT_S))
    call.goes_on, call.is_there = threading.Event(), threading.Event()
    lane.start()
    host = threading.Thread(target=lane.takes_off, args=(call,), name="host")
    host.start()
    assert call.is_there.wait(REAL_LIMIT_S)
    until = clock.now() + REAL_LIMIT_S
    closer = threading.Thread(target=lane.run_close, args=(until, until))
    closer.start()
    for thread in (host, closer):
        thread.join(REAL_LIMIT_S)
    lane.exit.stop()
    assert order == ["recall", "shutdown"]
