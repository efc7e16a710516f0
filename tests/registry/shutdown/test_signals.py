"""A signal handler ends the registry in the middle of another call."""

import threading

from memproto.registry import MemoryProviderRegistry
from tests.virtual import FakeProvider, VirtualClock, eventually


def opened(*providers, **kwargs):
    events = []
    registry = MemoryProviderRegistry(on_event=events.append, **kwargs)
    for provider in providers:
        registry.register(provider)
    registry.initialize_all("session", {})
    return registry, events


def interrupted(registry, worker):
    """Let the end of the registry come right after the next `put` of a thread's queue."""
    put = worker.put

    def put_and_end(job):
        worker.put = put
        put(job)
        registry.shutdown_all()

    worker.put = put_and_end


def fates(events, hook):
    return [(event.outcome, event.lost) for event in events if event.hook == hook]


def test_an_end_in_the_middle_of_a_write_waits_for_that_write():
    provider = FakeProvider()
    registry, events = opened(provider, clock=VirtualClock())
    interrupted(registry, registry._core.lanes[0]._writes)
    registry.on_turn_complete("a", "b")
    assert [call[0] for call in provider.calls[-2:]] == ["on_turn_complete", "shutdown"]
    assert fates(events, "on_turn_complete") == [("ok", 0)]


def test_an_end_in_the_middle_of_a_recall_waits_for_that_recall():
    provider = FakeProvider(enrich_turn=lambda *_: "fine")
    registry, _ = opened(provider, clock=VirtualClock())
    interrupted(registry, registry._core.lanes[0]._recalls)
    assert registry.enrich_turn("a", []) == []
    assert [call[0] for call in provider.calls[-2:]] == ["enrich_turn", "shutdown"]


def test_an_end_in_the_middle_of_an_end_is_the_same_end():
    a, b = FakeProvider("a"), FakeProvider("b")
    registry, events = opened(a, b, clock=VirtualClock())
    interrupted(registry, registry._core.lanes[0].exit)
    registry.shutdown_all()
    assert [provider.named("shutdown") for provider in (a, b)] == [[()], [()]]
    assert fates(events, "shutdown") == [("ok", 0)] * 2


def test_a_write_that_comes_while_the_registry_is_cut_is_told_once():
    release, entered = threading.Event(), threading.Event()
    provider = FakeProvider(on_turn_complete=lambda *_: entered.set() or release.wait(10))
    clock = VirtualClock()
    registry, events = opened(provider, clock=clock)
    registry.on_turn_complete("first", "")
    assert entered.wait(10)
    lane = registry._core.lanes[0]
    put = lane._writes.put

    def put_late(job):
        lane._writes.put = put
        ending = threading.Thread(target=registry.shutdown_all)
        ending.start()
        clock.advance(13.5, waits=2)
        ending.join(10)
        put(job)

    lane._writes.put = put_late
    registry.on_turn_complete("second", "")
    release.set()
    eventually(lambda: len(fates(events, "on_turn_complete")) == 2)
    assert sorted(fates(events, "on_turn_complete")) == [("abandoned", 2), ("late_answer", 0)]


def test_a_compression_that_ends_its_own_registry_does_not_wait_for_itself():
    clock = VirtualClock()
    provider = FakeProvider(on_compress=lambda *_: registry.shutdown_all())
    registry, _ = opened(provider, clock=clock)
    registry.on_compress([], 1)
    registry.shutdown_all()
    assert provider.named("shutdown") == [()]
