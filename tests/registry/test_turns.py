import threading

import pytest

from memproto.deadlines import Deadlines, MonotonicClock
from memproto.fence import inject_memory_context
from memproto.registry import MemoryProviderRegistry
from tests.virtual import FakeProvider, VirtualClock, eventually


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def events():
    return []


@pytest.fixture
def opened(clock, events):
    """A function that opens a registry with the given providers; each is closed at the end."""
    registries = []

    def make(*providers, **kwargs):
        registry = MemoryProviderRegistry(clock=clock, on_event=events.append, **kwargs)
        for provider in providers:
            registry.register(provider)
        registry.initialize_all("session", {"home": "/nowhere"})
        registries.append(registry)
        return registry

    yield make
    for registry in registries:
        registry.shutdown_all()


def outcomes(events, hook):
    return [(event.provider, event.outcome) for event in events if event.hook == hook]


def test_before_initialize_all_nothing_is_recalled_and_nothing_raises():
    registry = MemoryProviderRegistry()
    provider = FakeProvider()
    registry.register(provider)
    assert registry.enrich_turn("hello", []) == []
    registry.on_memory_write("add", "memory", "x")
    registry.on_turn_complete("a", "b")
    registry.on_compress([], 1)
    registry.shutdown_all()
    assert provider.calls == []


def test_texts_come_back_labelled_in_the_order_of_registration(opened):
    b_answered = threading.Event()

    def slow(*_):
        assert b_answered.wait(10)
        return "from a"

    def quick(*_):
        b_answered.set()
        return "from b"

    registry = opened(FakeProvider("a", enrich_turn=slow), FakeProvider("b", enrich_turn=quick))
    assert registry.enrich_turn("hello", []) == [("a", "from a"), ("b", "from b")]


def test_providers_are_asked_at_the_same_time(opened):
    meeting = threading.Barrier(3)
    providers = [
        FakeProvider(name, enrich_turn=lambda *_: str(meeting.wait(10))) for name in ("a", "b", "c")
    ]
    assert len(opened(*providers).enrich_turn("hello", [])) == 3


@pytest.mark.parametrize("answer", [None, "", "  \n"])
def test_a_provider_with_nothing_to_say_has_no_part(opened, events, answer):
    registry = opened(FakeProvider(enrich_turn=lambda *_: answer))
    assert registry.enrich_turn("hello", []) == []
    assert outcomes(events, "enrich_turn") == [("fake", "ok")]


@pytest.mark.parametrize("answer", [7, b"bytes", ["text"], {"text": "x"}, True])
def test_an_answer_that_is_no_text_is_left_out_and_named(opened, events, answer):
    neighbour = FakeProvider("b", enrich_turn=lambda *_: "fine")
    registry = opened(FakeProvider("a", enrich_turn=lambda *_: answer), neighbour)
    assert registry.enrich_turn("hello", []) == [("b", "fine")]
    (event,) = [e for e in events if e.outcome == "wrong_type"]
    assert (event.provider, event.detail) == ("a", type(answer).__name__)


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
def test_an_error_of_any_kind_stays_with_its_provider(opened, events, error, caplog):
    def broken(*_):
        raise error("secret text")

    neighbour = FakeProvider("b", enrich_turn=lambda *_: "fine")
    registry = opened(FakeProvider("a", enrich_turn=broken), neighbour)
    assert registry.enrich_turn("hello", []) == [("b", "fine")]
    assert registry.enrich_turn("hello", []) == [("b", "fine")]
    raised = [e for e in events if e.outcome == "raised"]
    assert [(e.provider, e.detail) for e in raised] == [("a", error.__name__)] * 2
    assert "secret" not in repr(events) + caplog.text
    assert f"enrich_turn of a: raised after 0.000 s ({error.__name__})" in caplog.messages


def test_an_error_whose_type_is_named_after_user_text_tells_nothing(opened, events):
    def broken(*_):
        raise type("my secret\nis", (Exception,), {})

    opened(FakeProvider(enrich_turn=broken)).enrich_turn("hello", [])
    assert "secret" not in repr(events)


def test_a_hang_is_cut_at_five_seconds_and_its_answer_never_shown(opened, clock, events):
    release = threading.Event()
    answers = iter(["late", "on time"])

    def hang_once(*_):
        if not release.is_set():
            eventually(
                lambda: neighbour.named("enrich_turn") and not registry._core.lanes[1]._flights
            )
            clock.advance(5.0)
            release.wait(10)
        return next(answers)

    stuck = FakeProvider("a", enrich_turn=hang_once)
    neighbour = FakeProvider("b", enrich_turn=lambda *_: "fine")
    registry = opened(stuck, neighbour)
    began = clock.now()
    assert registry.enrich_turn("one", []) == [("b", "fine")]
    assert clock.now() - began == 5.0
    assert registry.enrich_turn("two", []) == [("b", "fine")]
    assert [args[0] for args in stuck.named("enrich_turn")] == ["one"]
    release.set()
    eventually(lambda: ("a", "late_answer") in outcomes(events, "enrich_turn"))
    assert registry.enrich_turn("three", []) == [("a", "on time"), ("b", "fine")]
    mine = [outcome for name, outcome in outcomes(events, "enrich_turn") if name == "a"]
    assert mine == ["late", "stuck", "late_answer", "ok"]


def test_one_deadline_covers_all_providers_together(opened, clock):
    release = threading.Event()
    gathered = threading.Barrier(3)

    def hang(*_):
        if gathered.wait(10) == 0:
            clock.advance(5.0)
        release.wait(10)

    registry = opened(*(FakeProvider(name, enrich_turn=hang) for name in "abc"))
    began = clock.now()
    assert registry.enrich_turn("hello", []) == []
    assert clock.now() - began == 5.0
    release.set()


def test_the_deadline_is_the_injected_one(opened, clock):
    release = threading.Event()

    def hang(*_):
        clock.advance(0.25)
        release.wait(10)

    registry = opened(FakeProvider(enrich_turn=hang), deadlines=Deadlines(enrich_s=0.25))
    assert registry.enrich_turn("hello", []) == []
    release.set()


def test_two_turns_at_once_are_both_answered(opened):
    registry = opened(FakeProvider(enrich_turn=lambda text, _: f"about {text}"))
    found = {}
    threads = [
        threading.Thread(target=lambda t=t: found.update({t: registry.enrich_turn(t, [])}))
        for t in ("x", "y", "z")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == {t: [("fake", f"about {t}")] for t in ("x", "y", "z")}


def test_a_provider_that_changes_its_arguments_changes_nobody_elses(opened):
    def vandal(_, messages):
        messages[0]["content"][0]["text"] = "broken"
        messages[0]["tool_calls"].clear()
        messages.clear()

    seen = []
    neighbour = FakeProvider("b", enrich_turn=lambda _, messages: seen.append(messages))
    history = [{"role": "user", "content": [{"type": "text", "text": "x"}], "tool_calls": [1]}]
    opened(FakeProvider("a", enrich_turn=vandal), neighbour).enrich_turn("hello", history)
    pristine = [{"role": "user", "content": [{"type": "text", "text": "x"}], "tool_calls": [1]}]
    assert history == pristine
    assert seen == [pristine]


def test_a_message_that_holds_itself_does_not_stop_the_turn(opened):
    message = {"role": "user", "content": "x"}
    message["self"] = message
    registry = opened(FakeProvider(enrich_turn=lambda *_: "fine"))
    assert registry.enrich_turn("hello", [message]) == [("fake", "fine")]


def test_recall_does_not_wait_for_a_write_that_hangs(opened):
    release = threading.Event()
    registry = opened(
        FakeProvider(
            enrich_turn=lambda *_: "fine", on_turn_complete=lambda *_: release.wait(10) and None
        )
    )
    registry.on_turn_complete("a", "b")
    assert registry.enrich_turn("hello", []) == [("fake", "fine")]
    release.set()


def test_no_thread_is_started_for_a_turn(opened):
    provider = FakeProvider(enrich_turn=lambda *_: threading.current_thread().name)
    registry = opened(provider)
    before = set(threading.enumerate())
    for _ in range(3):
        registry.enrich_turn("hello", [])
    assert set(threading.enumerate()) <= before


def test_a_callback_that_raises_breaks_nothing(clock):
    def bad_callback(event):
        raise SystemExit(event.hook)

    registry = MemoryProviderRegistry(clock=clock, on_event=bad_callback)
    registry.register(FakeProvider(enrich_turn=lambda *_: "fine"))
    registry.initialize_all("session", {})
    assert registry.enrich_turn("hello", []) == [("fake", "fine")]
    registry.shutdown_all()


def test_the_users_interrupt_passes_and_the_next_turn_works(clock):
    class Interrupted(VirtualClock):
        armed = True

        def wait(self, condition, until):
            if self.armed:
                self.armed = False
                assert entered.wait(10)
                raise KeyboardInterrupt
            super().wait(condition, until)

    entered, release = threading.Event(), threading.Event()

    def recall(text, _):
        entered.set()
        if text == "one":
            assert release.wait(10)
        return text

    registry = MemoryProviderRegistry(clock=Interrupted())
    registry.register(FakeProvider(enrich_turn=recall))
    registry.initialize_all("session", {})
    with pytest.raises(KeyboardInterrupt):
        registry.enrich_turn("one", [])
    assert registry.enrich_turn("two", []) == []
    release.set()
    eventually(lambda: registry.enrich_turn("three", []) == [("fake", "three")])
    registry.shutdown_all()


def test_the_original_is_recorded_even_if_the_host_hands_over_the_enriched_message(opened):
    provider = FakeProvider(enrich_turn=lambda *_: "you like tea")
    registry = opened(provider)
    enriched = inject_memory_context("hello", registry.enrich_turn("hello", []))
    assert "tea" in enriched
    registry.on_turn_complete(enriched, "hi")
    registry.shutdown_all()
    assert provider.named("on_turn_complete") == [("hello", "hi")]


def test_an_endless_budget_waits_as_long_as_it_takes(events):
    answered = threading.Event()
    endless = float("inf")
    registry = MemoryProviderRegistry(
        deadlines=Deadlines(endless, endless, endless, endless), on_event=events.append
    )
    registry.register(FakeProvider(enrich_turn=lambda *_: str(answered.wait(0.01))))
    registry.initialize_all("session", {})
    assert registry.enrich_turn("a", []) == [("fake", "False")]
    registry.shutdown_all()


def test_a_moment_that_has_passed_is_not_waited_for():
    condition, clock = threading.Condition(), MonotonicClock()
    with condition:
        clock.wait(condition, clock.now() - 1)
