import threading

import pytest

from memproto.fence import inject_memory_context
from tests.extended import Extended, opened, told
from tests.virtual import FakeProvider, VirtualClock, eventually


def turn(**changes):
    return {
        "turn_id": "t-1",
        "started_at": "2026-03-14T09:26:53+05:45",
        "ended_at": "2026-03-14T09:27:03+05:45",
        "user_message": "hello",
        "assistant_response": "hi",
    } | changes


# -- the beginning --------------------------------------------------------------------------------


def test_a_turn_begins_before_its_recall_with_what_the_host_tells():
    provider = Extended("a", "turns", enrich_turn=lambda *_: "known")
    with opened(provider, FakeProvider("b")) as (registry, _):
        registry.on_turn_start(7, [{"type": "text", "text": "hello"}], model="m")
        registry.enrich_turn("hello", [])
    hooks = [call for call in provider.calls if call[0] in ("on_turn_start", "enrich_turn")]
    assert hooks == [("on_turn_start", 7, "hello", {"model": "m"}), ("enrich_turn", "hello", [])]


def test_a_beginning_that_hangs_costs_five_seconds_once_and_no_recall():
    clock, release = VirtualClock(), threading.Event()

    def hang(*_):
        clock.advance(5.0)
        release.wait(10)

    provider = Extended("a", "turns", on_turn_start=hang, enrich_turn=lambda *_: "known")
    with opened(provider, clock=clock) as (registry, events):
        began = clock.now()
        registry.on_turn_start(1, "x")
        assert registry.enrich_turn("x", []) == [("a", "known")]
        registry.on_turn_start(2, "y")
        assert clock.now() - began == 5.0
        release.set()
        eventually(lambda: len(told(events, "on_turn_start")) == 3)
    assert [o for _, o, _ in told(events, "on_turn_start")] == ["late", "stuck", "late_answer"]


def test_a_beginning_that_raises_is_told_and_keeps_the_next_provider_from_nothing():
    def broken(*_):
        raise SystemExit("secret")

    a, b = Extended("a", "turns", on_turn_start=broken), Extended("b", "turns")
    with opened(a, b) as (registry, events):
        registry.on_turn_start(1, "mine")
    assert told(events, "on_turn_start") == [("a", "raised", "SystemExit"), ("b", "ok", "")]
    assert "secret" not in repr(events)
    assert "mine" not in repr(events)


# -- recorded turns -------------------------------------------------------------------------------


def test_a_turn_is_recorded_whole_where_that_is_served_and_as_two_texts_elsewhere():
    a, b = Extended("a", "record"), FakeProvider("b")
    with opened(a, b) as (registry, _):
        registry.record(turn(messages=[{"role": "user"}], x_more=1))
    whole = turn(messages=[{"role": "user"}], x_more=1, session_id="session")
    assert a.named("record") == [(whole,)]
    assert a.named("on_turn_complete") == b.named("record") == []
    assert b.named("on_turn_complete") == [("hello", "hi")]


def test_the_words_of_a_bot_are_handed_over_with_their_author_or_not_at_all():
    author = {"id": "rook", "is_bot": True}
    a, b = Extended("a", "record"), FakeProvider("b")
    with opened(a, b) as (registry, _):
        registry.record(turn(author=author))
        registry.record(turn(turn_id="t-2", author={"id": "ida", "is_bot": False}))
    recorded = [call[1]["author"] for call in a.calls if call[0] == "record"]
    assert recorded == [author, {"id": "ida", "is_bot": False}]
    assert [call for call in b.calls if call[0] == "on_turn_complete"] == [
        ("on_turn_complete", "hello", "hi")
    ]


def test_a_turn_of_which_two_texts_are_known_is_recorded_by_them():
    provider = Extended("a", "record")
    with opened(provider) as (registry, _):
        registry.on_turn_complete("hello", "hi")
    assert provider.named("record") == []
    assert provider.named("on_turn_complete") == [("hello", "hi")]


def test_the_original_message_of_a_turn_is_recorded_and_each_provider_has_its_copy():
    def vandal(given):
        given["messages"].clear()

    mine = turn(user_message=inject_memory_context("hello", [("a", "known")]), messages=[{}])
    a, b = Extended("a", "record", record=vandal), Extended("b", "record")
    with opened(a, b) as (registry, _):
        registry.record(mine)
    ((theirs,),) = b.named("record")
    assert (theirs["user_message"], theirs["messages"]) == ("hello", [{}])
    assert mine["messages"] == [{}]


def test_turns_are_recorded_in_order_with_the_other_writes():
    provider = Extended("a", "record")
    with opened(provider) as (registry, _):
        registry.record(turn(turn_id="1"))
        registry.on_memory_write("add", "memory", "x")
        registry.record(turn(turn_id="2"))
    writes = [c[0] for c in provider.calls if c[0] in ("record", "on_memory_write")]
    assert writes == ["record", "on_memory_write", "record"]


@pytest.mark.parametrize("key", sorted(turn()))
def test_a_turn_without_what_is_always_there_is_refused_by_name(key):
    short = turn()
    del short[key]
    with opened(Extended("a", "record")) as (registry, _), pytest.raises(ValueError, match=key):
        registry.record(short)


def test_a_turn_of_another_context_is_not_recorded():
    provider = Extended("a", "record")
    with opened(provider) as (registry, _):
        registry.record(turn(context="cron"))
    with opened(provider, config={"agent_context": "cron"}) as (registry, _):
        registry.record(turn())
    assert provider.named("record") == []


# -- preparation ----------------------------------------------------------------------------------


def test_recall_is_prepared_after_each_turn_that_was_recorded():
    a, b = Extended("a", "prewarm"), Extended("b", "prewarm", "record")
    with opened(a, b, FakeProvider("c")) as (registry, events):
        registry.on_turn_complete("one", "")
        eventually(lambda: len(told(events, "queue_prefetch")) == 2)
        registry.record(turn(user_message="two"))
        eventually(lambda: len(told(events, "queue_prefetch")) == 4)
    for provider in (a, b):
        prepared = [("one", {"session_id": "session"}), ("two", {"session_id": "session"})]
        assert provider.named("queue_prefetch") == prepared
    first = [call[0] for call in a.calls if call[0] in ("on_turn_complete", "queue_prefetch")]
    assert first[:2] == ["on_turn_complete", "queue_prefetch"]


def test_a_preparation_that_hangs_delays_neither_writes_nor_recall_and_is_not_doubled():
    entered, release = threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    provider = Extended("a", "prewarm", queue_prefetch=hang, enrich_turn=lambda *_: "known")
    with opened(provider) as (registry, events):
        registry.on_turn_complete("one", "")
        assert entered.wait(10)
        registry.on_turn_complete("two", "")
        assert registry.flush()
        assert registry.enrich_turn("x", []) == [("a", "known")]
        eventually(lambda: told(events, "queue_prefetch") == [("a", "stuck", "")])
        release.set()
        eventually(lambda: ("a", "ok", "") in told(events, "queue_prefetch"))
    assert len(provider.named("queue_prefetch")) == 1


def test_a_late_preparation_is_told_and_the_next_one_is_made():
    clock, entered, release = VirtualClock(), threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    with opened(Extended("a", "prewarm", queue_prefetch=hang), clock=clock) as (registry, events):
        registry.on_turn_complete("one", "")
        assert entered.wait(10)
        clock.advance(6.0, waits=0)
        release.set()
        eventually(lambda: told(events, "queue_prefetch") == [("a", "late_answer", "")])
        eventually(lambda: not registry._core.lanes[0].late["queue_prefetch"])
        registry.on_turn_complete("two", "")
        eventually(lambda: len(told(events, "queue_prefetch")) == 2)


def test_nothing_is_prepared_for_a_session_that_was_left():
    entered, release = threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    provider = Extended("a", "prewarm", "sessions", on_turn_complete=hang)
    with opened(provider) as (registry, _):
        registry.on_turn_complete("one", "")
        assert entered.wait(10)
        registry.on_session_switch("next")
        release.set()
        assert registry.flush()
    assert provider.named("queue_prefetch") == []


def test_a_preparation_that_raises_is_told_without_text():
    def broken(*_):
        raise ValueError("secret")

    with opened(Extended("a", "prewarm", queue_prefetch=broken)) as (registry, events):
        registry.on_turn_complete("mine", "")
        eventually(lambda: told(events, "queue_prefetch") == [("a", "raised", "ValueError")])
    assert "secret" not in repr(events)
    assert "mine" not in repr(events)


def test_a_preparation_whose_thread_cannot_be_started_costs_no_write(monkeypatch):
    def no_thread(*_):
        raise MemoryError

    monkeypatch.setattr("memproto.registry.parts.turns.started_worker", no_thread)
    provider = Extended("a", "prewarm")
    with opened(provider) as (registry, _):
        registry.on_turn_complete("one", "")
        registry.on_turn_complete("two", "")
        assert registry.flush()
    assert len(provider.named("on_turn_complete")) == 2


def test_a_preparation_leaves_no_thread_behind():
    provider = Extended("a", "prewarm")
    with opened(provider) as (registry, events):
        before = set(threading.enumerate())
        for number in range(1, 10):
            registry.on_turn_complete("x", "")
            eventually(lambda n=number: len(told(events, "queue_prefetch")) == n)
        eventually(lambda: set(threading.enumerate()) <= before)
