import threading

import pytest

from memproto.adapters.hermes import from_hermes
from memproto.deadlines import Deadlines, Limits
from tests.extended import Extended, opened, told
from tests.virtual import FakeProvider, VirtualClock, eventually

HISTORY = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
SWITCHED = {"parent_session_id": "", "reset": False, "rewound": False}


def written(provider):
    """The write hooks in order, with what tells them apart."""
    hooks = ("on_turn_complete", "on_session_end", "on_session_switch", "on_delegation")
    return [call[:2] for call in provider.calls if call[0] in hooks]


# -- ends -----------------------------------------------------------------------------------------


def test_an_end_comes_behind_the_writes_with_plain_text():
    provider = Extended("a", "sessions")
    with opened(provider, FakeProvider("b")) as (registry, _):
        registry.on_turn_complete("one", "")
        registry.on_session_end(HISTORY)
        assert registry.flush()
    plain = [{"role": "user", "content": "x"}]
    assert written(provider) == [("on_turn_complete", "one"), ("on_session_end", plain)]


def test_a_session_ends_once_whoever_ends_it():
    provider = Extended("a", "sessions")
    with opened(provider) as (registry, _):
        registry.on_session_end(HISTORY)
        registry.on_session_end([])
        registry.on_session_switch("next", reset=True)
        registry.on_session_end([])
    ends = [hook for hook, _ in written(provider)]
    assert ends == ["on_session_end", "on_session_switch", "on_session_end"]


def test_of_threads_that_end_a_session_at_once_one_does():
    provider, start = Extended("a", "sessions"), threading.Barrier(8)

    def end(registry):
        start.wait(10)
        registry.on_session_end(HISTORY)

    with opened(provider) as (registry, _):
        threads = [threading.Thread(target=end, args=(registry,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert len(provider.named("on_session_end")) == 1


def test_a_shutdown_and_a_reset_end_what_nobody_ended():
    provider = Extended("a", "sessions")
    with opened(provider) as (registry, _):
        registry.on_turn_complete("one", "")
        registry.on_session_switch("next", reset=True)
        registry.on_turn_complete("two", "")
    assert written(provider) == [
        ("on_turn_complete", "one"),
        ("on_session_end", []),
        ("on_session_switch", "next"),
        ("on_turn_complete", "two"),
        ("on_session_end", []),
    ]


def test_a_switch_without_a_reset_ends_nothing_and_a_rewind_is_the_same_session():
    provider = Extended("a", "sessions")
    with opened(provider) as (registry, _):
        registry.on_session_end([])
        registry.on_session_switch("session", rewound=True)
        registry.on_session_end([])
        registry.on_session_switch("child", parent_session_id="session")
    hooks = [hook for hook, _ in written(provider)]
    assert hooks == ["on_session_end", "on_session_switch", "on_session_switch", "on_session_end"]


def test_a_job_ends_no_session():
    provider = Extended("a", "sessions", "delegation")
    with opened(provider, config={"agent_context": "cron"}) as (registry, _):
        registry.on_session_end(HISTORY)
        registry.on_delegation("a", "b")
        registry.on_session_switch("next", reset=True)
    assert written(provider) == [("on_session_switch", "next")]


def test_an_end_that_raises_or_hangs_keeps_the_host_from_nothing():
    entered, release = threading.Event(), threading.Event()

    def broken(*_):
        raise SystemExit

    def hang(*_):
        entered.set()
        release.wait(10)

    a = Extended("a", "sessions", on_session_end=broken)
    b = Extended("b", "sessions", on_session_end=hang)
    with opened(a, b) as (registry, events):
        registry.on_session_end([])
        registry.on_turn_complete("later", "")
        assert entered.wait(10)
        assert not b.named("on_turn_complete")
        release.set()
    assert a.named("on_turn_complete") == b.named("on_turn_complete") == [("later", "")]
    assert ("a", "raised", "SystemExit") in told(events, "on_session_end")


# -- switches -------------------------------------------------------------------------------------


def test_a_switch_stands_between_the_writes_of_two_sessions_with_all_its_arguments():
    provider = Extended("a", "sessions")
    with opened(provider) as (registry, _):
        registry.on_turn_complete("old", "")
        registry.on_session_switch("next", parent_session_id="session", platform="cli")
        registry.on_turn_complete("new", "")
        assert registry.session_key == "next"
        assert registry.flush()
        assert written(provider) == [
            ("on_turn_complete", "old"),
            ("on_session_switch", "next"),
            ("on_turn_complete", "new"),
        ]
    keywords = SWITCHED | {"parent_session_id": "session", "platform": "cli"}
    assert provider.named("on_session_switch") == [("next", keywords)]


@pytest.mark.parametrize("key", ["", None, 7])
def test_a_key_that_is_none_is_refused(key):
    with opened(Extended("a", "sessions")) as (registry, _), pytest.raises(ValueError):
        registry.on_session_switch(key)


def test_a_provider_that_cannot_switch_is_told_of_where_the_key_changes():
    with opened(FakeProvider("a")) as (registry, events):
        registry.on_session_switch("session", rewound=True)
        assert told(events, "on_session_switch") == []
        registry.on_session_switch("next")
    assert told(events, "on_session_switch") == [("a", "dropped", "not served")]


def test_a_hermes_provider_is_switched_though_it_declares_nothing():
    class MemoryProvider:
        def on_session_switch(self, new_session_id, **kwargs):
            pass

    class Hermes(MemoryProvider):
        name = "hermes"

        def is_available(self):
            return True

        def initialize(self, session_id, **kwargs):
            pass

        def prefetch(self, query, session_id=""):
            return session_id

    with opened(from_hermes(Hermes())) as (registry, _):
        assert registry.capabilities["hermes"]["extensions"] == ()
        registry.on_session_switch("next")
        assert registry.enrich_turn("hello", []) == [("hermes", "next")]


class Keyed(Extended):
    """Recalls the key of the session that it is in; a switch waits until it is let through."""

    def __init__(self, **hooks) -> None:
        super().__init__("a", "sessions", "prewarm", **hooks)
        self.key, self.through = "session", threading.Event()

    def on_session_switch(self, new_session_id, **keywords):
        assert self.through.wait(10)
        self.key = new_session_id

    def enrich_turn(self, user_message, messages):
        self._called("enrich_turn", user_message, messages)
        return self.key


def test_a_recall_waits_for_the_switch_and_is_of_the_new_session():
    provider = Keyed()
    with opened(provider, deadlines=Deadlines(enrich_s=30.0)) as (registry, _):
        registry.on_session_switch("next")
        found = []
        thread = threading.Thread(target=lambda: found.extend(registry.enrich_turn("x", [])))
        thread.start()
        eventually(lambda: registry._core.lanes[0]._waiting)
        assert provider.named("enrich_turn") == []
        provider.through.set()
        thread.join(10)
    assert found == [("a", "next")]


def test_a_switch_that_hangs_costs_one_turn_its_time_and_no_more():
    clock, provider = VirtualClock(), Keyed()
    good = FakeProvider("b", enrich_turn=lambda *_: "fine")
    with opened(provider, good, clock=clock) as (registry, events):
        registry.on_session_switch("next")
        began, found = clock.now(), []
        thread = threading.Thread(target=lambda: found.extend(registry.enrich_turn("x", [])))
        thread.start()
        eventually(lambda: registry._core.lanes[0]._waiting and good.named("enrich_turn"))
        eventually(lambda: not registry._core.lanes[1]._flights)  # its answer was handed in
        clock.advance(5.0, waits=2)
        thread.join(10)
        assert found == registry.enrich_turn("y", []) == [("b", "fine")]
        assert clock.now() - began == 5.0
        provider.through.set()
        eventually(lambda: not registry._core.lanes[0].late["enrich_turn"])
        assert registry.enrich_turn("z", []) == [("a", "next"), ("b", "fine")]
    mine = [outcome for name, outcome, _ in told(events, "enrich_turn") if name == "a"]
    assert mine == ["stuck", "stuck", "ok"]


def test_what_was_recalled_for_the_session_that_was_left_is_dropped():
    provider = Extended("a", "sessions")
    with opened(provider) as (registry, _):

        def leave(*_):
            registry.on_session_switch("next")
            return "old"

        provider._hooks["enrich_turn"] = leave
        assert registry.enrich_turn("x", []) == []
        provider._hooks["enrich_turn"] = lambda *_: "new"
        assert registry.enrich_turn("x", []) == [("a", "new")]


def test_a_switch_finds_room_in_a_full_queue():
    entered, release = threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    provider = Extended("a", "sessions", on_turn_complete=hang)
    with opened(provider, limits=Limits(queued_writes=1)) as (registry, events):
        registry.on_turn_complete("one", "")
        assert entered.wait(10)
        registry.on_turn_complete("two", "")
        registry.on_session_switch("next")
        release.set()
        assert registry.flush()
    assert written(provider)[:2] == [("on_turn_complete", "one"), ("on_session_switch", "next")]
    assert ("a", "dropped", "full") in told(events, "on_turn_complete")


# -- delegation and flush -------------------------------------------------------------------------


def test_a_delegation_is_a_write_with_its_keywords():
    provider = Extended("a", "delegation")
    with opened(provider, FakeProvider("b")) as (registry, _):
        registry.on_turn_complete("one", "")
        registry.on_delegation("task", "result", child_session_id="c", turns=3)
    assert provider.named("on_delegation") == [
        ("task", "result", {"child_session_id": "c", "turns": 3})
    ]
    assert [hook for hook, _ in written(provider)] == ["on_turn_complete", "on_delegation"]


def test_a_delegation_after_the_end_is_told_as_lost():
    with opened(Extended("a", "delegation")) as (registry, events):
        pass
    registry.on_delegation("task", "result")
    assert told(events, "on_delegation") == [("a", "dropped", "closed")]
    assert registry.stats()["providers"]["a"]["lost"] == 1


def test_a_flush_that_takes_too_long_says_so_and_ends():
    clock, entered, release = VirtualClock(), threading.Event(), threading.Event()

    def hang(*_):
        entered.set()
        release.wait(10)

    with opened(FakeProvider(on_turn_complete=hang), clock=clock) as (registry, _):
        registry.on_turn_complete("one", "")
        assert entered.wait(10)
        found = []
        thread = threading.Thread(target=lambda: found.append(registry.flush(2.0)))
        thread.start()
        clock.advance(2.0)
        thread.join(10)
        assert found == [False]
        release.set()
        assert registry.flush(2.0)


def test_a_flush_does_not_wait_for_what_comes_after_it():
    provider, release = FakeProvider(), threading.Event()
    with opened(provider, clock=VirtualClock()) as (registry, _):

        def write_more(*_):
            eventually(lambda: registry._core.lanes[0]._waiting)
            registry.on_memory_write("add", "m", "x")

        provider._hooks["on_turn_complete"] = write_more
        provider._hooks["on_memory_write"] = lambda *_: release.wait(10) and None
        registry.on_turn_complete("one", "")
        assert registry.flush()
        assert registry._core.lanes[0].queued == 1
        release.set()
        assert registry.flush()
    assert len(provider.named("on_memory_write")) == 1


def test_a_flush_by_a_hook_does_not_wait_for_the_write_that_the_hook_is():
    provider, found = FakeProvider(), []
    with opened(provider, clock=VirtualClock()) as (registry, _):
        provider._hooks["on_turn_complete"] = lambda *_: found.append(registry.flush())
        registry.on_turn_complete("one", "")
        assert registry.flush()
    assert found == [True]


def test_without_providers_and_after_the_end_nothing_happens():
    with opened() as (registry, _):
        registry.on_session_end([])
        registry.on_delegation("a", "b")
        registry.on_session_switch("next", reset=True)
        assert registry.flush()
    registry.on_session_end([])
    registry.on_session_switch("last")
    assert registry.flush()
