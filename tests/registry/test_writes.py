import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.deadlines import Limits
from memproto.registry import MemoryProviderRegistry
from memproto.registry.messages import normalised, plain_text
from tests.virtual import FakeProvider, VirtualClock, eventually


def open_all(*providers, **kwargs):
    events = []
    registry = MemoryProviderRegistry(on_event=events.append, **kwargs)
    for provider in providers:
        registry.register(provider)
    registry.initialize_all("session", {})
    return registry, events


@given(st.lists(st.booleans(), max_size=30))
@settings(deadline=None, max_examples=30)
def test_writes_arrive_in_the_order_in_which_they_were_made(order):
    provider = FakeProvider()
    registry, _ = open_all(provider)
    for number, is_turn in enumerate(order):
        if is_turn:
            registry.on_turn_complete(str(number), "")
        else:
            registry.on_memory_write("add", "memory", str(number))
    registry.shutdown_all()
    arrived = [c for c in provider.calls if c[0] in ("on_turn_complete", "on_memory_write")]
    assert [int(c[1] if c[0] == "on_turn_complete" else c[3]) for c in arrived] == [
        *range(len(order))
    ]


def test_one_provider_is_never_in_two_writes_at_once():
    inside, most = [], []

    def write(*_):
        inside.append(1)
        most.append(len(inside))
        inside.pop()

    provider = FakeProvider(on_turn_complete=write, on_memory_write=write)
    registry, _ = open_all(provider)
    threads = [
        threading.Thread(target=lambda: [registry.on_turn_complete("a", "b") for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    registry.shutdown_all()
    assert most == [1] * 200


def test_a_write_that_hangs_delays_neither_the_host_nor_the_neighbour():
    release, arrived, entered = threading.Event(), threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    stuck = FakeProvider("a", on_turn_complete=hang)
    registry, _ = open_all(stuck, FakeProvider("b", on_turn_complete=lambda *_: arrived.set()))
    registry.on_turn_complete("a", "b")
    registry.on_turn_complete("a", "b")
    assert arrived.wait(10)
    assert entered.wait(10)
    assert len(stuck.named("on_turn_complete")) == 1
    release.set()
    registry.shutdown_all()
    assert len(stuck.named("on_turn_complete")) == 2


def test_writes_run_on_one_daemon_thread_of_the_provider():
    provider = FakeProvider()
    registry, _ = open_all(provider)
    registry.on_turn_complete("a", "b")
    registry.on_memory_write("add", "user", "x")
    registry.shutdown_all()
    assert provider.threads["on_turn_complete"] is provider.threads["on_memory_write"]
    assert provider.threads["on_turn_complete"].daemon


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_write_that_raises_is_told_and_the_next_one_is_made(error):
    def broken(action, *_):
        if action == "add":
            raise error("secret")

    provider = FakeProvider(on_memory_write=broken)
    registry, events = open_all(provider)
    registry.on_memory_write("add", "memory", "secret")
    registry.on_memory_write("remove", "memory", None, "secret")
    registry.shutdown_all()
    assert provider.named("on_memory_write") == [
        ("add", "memory", "secret", None),
        ("remove", "memory", None, "secret"),
    ]
    told = [(e.outcome, e.detail) for e in events if e.hook == "on_memory_write"]
    assert told == [("raised", error.__name__), ("ok", "")]
    assert "secret" not in repr(events)


def test_a_write_is_not_mirrored_to_the_provider_that_served_it():
    a, b = FakeProvider("a"), FakeProvider("b")
    registry, _ = open_all(a, b)
    registry.on_memory_write("add", "memory", "x", served_by="a")
    registry.shutdown_all()
    assert a.named("on_memory_write") == []
    assert b.named("on_memory_write") == [("add", "memory", "x", None)]


def test_text_in_parts_is_flattened_before_it_is_recorded():
    provider = FakeProvider()
    registry, _ = open_all(provider)
    registry.on_turn_complete([{"type": "text", "text": "a"}, {"type": "image"}], None)
    registry.shutdown_all()
    assert provider.named("on_turn_complete") == [("a", "")]


def test_a_write_after_the_end_is_dropped_and_said_so():
    provider = FakeProvider()
    registry, events = open_all(provider)
    registry.shutdown_all()
    registry.on_turn_complete("a", "b")
    assert provider.named("on_turn_complete") == []
    assert [(e.outcome, e.lost) for e in events if e.hook == "on_turn_complete"] == [("dropped", 1)]


def test_beyond_the_limit_a_write_is_dropped_and_said_so():
    release, entered = threading.Event(), threading.Event()
    stuck = FakeProvider("a", on_turn_complete=lambda *_: entered.set() or release.wait(10))
    neighbour = FakeProvider("b")
    registry, events = open_all(stuck, neighbour, limits=Limits(queued_writes=3))
    registry.on_turn_complete("0", "")
    assert entered.wait(10)
    for number in range(1, 5):
        eventually(lambda: not registry._core.lanes[1]._accepted)
        registry.on_turn_complete(str(number), "")
    dropped = [(e.provider, e.outcome, e.detail, e.lost) for e in events if e.lost]
    assert dropped == [("a", "dropped", "full", 1)] * 2
    release.set()
    registry.shutdown_all()
    assert [args[0] for args in stuck.named("on_turn_complete")] == ["0", "1", "2"]
    assert [args[0] for args in neighbour.named("on_turn_complete")] == list("01234")


@pytest.mark.parametrize("value", [0, -1, True, 1.5, None, "9"])
def test_a_limit_that_is_no_number_of_writes_is_refused(value):
    with pytest.raises(ValueError, match="queued_writes"):
        Limits(queued_writes=value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("x", "x"),
        ("nul \0 and \ud800", "nul \0 and \ud800"),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "b", None], "a\nb"),
        ([{"type": "text"}, {"type": "text", "text": None}, 7], ""),
        ({"type": "text"}, ""),
        (7, ""),
    ],
)
def test_plain_text_of_any_content(content, text):
    assert plain_text(content) == text


def test_messages_are_normalised_to_role_and_text():
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "a"}], "extra": 1},
        {"role": "assistant", "content": None, "tool_calls": [{}]},
        "no message",
        {"content": "x"},
    ]
    assert normalised(messages) == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": ""},
        {"role": "", "content": "x"},
    ]


def test_compression_asks_all_at_once_and_waits_for_all():
    meeting = threading.Barrier(3)
    providers = [
        FakeProvider(name, on_compress=lambda *_: meeting.wait(10) and None) for name in "abc"
    ]
    registry, _ = open_all(*providers)
    before = set(threading.enumerate())
    messages = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    registry.on_compress(messages, 2)
    for provider in providers:
        assert provider.named("on_compress") == [([{"role": "user", "content": "x"}], 2)]
    assert set(threading.enumerate()) <= before
    registry.shutdown_all()


def test_each_provider_compresses_its_own_copy():
    neighbour = FakeProvider("b")
    vandal = FakeProvider("a", on_compress=lambda messages, _: messages.pop().clear())
    registry, _ = open_all(vandal, neighbour)
    messages = [{"role": "user", "content": "x"}]
    registry.on_compress(messages, 1)
    assert messages == [{"role": "user", "content": "x"}]
    assert neighbour.named("on_compress") == [(messages, 1)]
    registry.shutdown_all()


def test_compression_is_cut_at_a_hundred_and_twenty_seconds():
    clock, release = VirtualClock(), threading.Event()

    def hang(*_):
        clock.advance(120.0)
        release.wait(10)

    stuck = FakeProvider("a", on_compress=hang)
    registry, events = open_all(stuck, FakeProvider("b"), clock=clock)
    began = clock.now()
    registry.on_compress([], 1)
    assert clock.now() - began == 120.0
    registry.on_compress([], 2)
    assert len(stuck.named("on_compress")) == 1
    told = [e.outcome for e in events if (e.hook, e.provider) == ("on_compress", "a")]
    assert told == ["late", "stuck"]
    release.set()
    eventually(lambda: "late_answer" in [e.outcome for e in events])
    registry.shutdown_all()


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_compression_that_raises_does_not_stop_the_host(error):
    def broken(*_):
        raise error

    registry, events = open_all(FakeProvider(on_compress=broken))
    registry.on_compress([], 1)
    assert [e.detail for e in events if e.outcome == "raised"] == [error.__name__]
    registry.shutdown_all()
