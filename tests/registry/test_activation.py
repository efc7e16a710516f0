import logging
import threading

import pytest

from memproto.adapters.aio import from_async
from memproto.deadlines import Deadlines
from memproto.errors import (
    DuplicateProvider,
    InvalidLabel,
    Misconfigured,
    NotAProvider,
    RegistryClosed,
)
from memproto.registry import MemoryProviderRegistry
from tests.coroutine_providers import Remembers
from tests.virtual import FakeProvider, VirtualClock, eventually


def raising(error):
    def hook(*_):
        raise error

    return hook


def open_all(*providers, **kwargs):
    events = []
    registry = MemoryProviderRegistry(on_event=events.append, **kwargs)
    for provider in providers:
        registry.register(provider)
    registry.initialize_all("session", {"home": "/nowhere", "nested": {"list": [1]}})
    return registry, events


@pytest.mark.parametrize("name", ["", "Honcho", "a b", "x\n", "-x", None, 3, "a" * 65])
def test_a_name_that_cannot_label_a_section_is_refused(name):
    with pytest.raises(InvalidLabel):
        MemoryProviderRegistry().register(FakeProvider(name))


def test_two_providers_of_one_name_are_refused():
    registry = MemoryProviderRegistry()
    registry.register(FakeProvider("a"))
    with pytest.raises(DuplicateProvider, match="'a'"):
        registry.register(FakeProvider("a"))


def test_an_object_without_the_hooks_is_refused_by_the_names_that_it_lacks():
    class Half:
        name = "half"

        def is_available(self):
            return True

    with pytest.raises(NotAProvider, match=r"Half has no callable initialize, .*on_compress"):
        MemoryProviderRegistry().register(Half())


def test_coroutine_hooks_are_refused_with_the_way_out():
    class Async(FakeProvider):
        async def enrich_turn(self, user_message, messages):
            return None

    with pytest.raises(NotAProvider, match=r"adapters\.aio"):
        MemoryProviderRegistry().register(Async())


def test_a_name_that_raises_is_refused():
    class Nameless(FakeProvider):
        name = property(raising(OSError()), lambda *_: None)

    with pytest.raises(NotAProvider, match="OSError"):
        MemoryProviderRegistry().register(Nameless())


def test_registering_calls_nothing():
    provider = FakeProvider()
    MemoryProviderRegistry().register(provider)
    assert provider.calls == []


def test_after_initialize_all_the_registry_takes_nobody():
    registry, _ = open_all()
    with pytest.raises(RegistryClosed):
        registry.register(FakeProvider())
    with pytest.raises(RegistryClosed):
        registry.initialize_all("again", {})


def test_after_shutdown_all_the_registry_takes_nobody_and_opens_nothing():
    registry = MemoryProviderRegistry()
    registry.shutdown_all()
    with pytest.raises(RegistryClosed):
        registry.register(FakeProvider())
    with pytest.raises(RegistryClosed):
        registry.initialize_all("session", {})


def test_providers_are_opened_in_order_on_the_calling_thread():
    order = []
    providers = [
        FakeProvider(name, initialize=lambda *_, name=name: order.append(name)) for name in "abc"
    ]
    registry, _ = open_all(*providers)
    assert order == ["a", "b", "c"]
    assert registry.providers == ("a", "b", "c")
    assert [p.threads["initialize"] for p in providers] == [threading.main_thread()] * 3
    assert [call[0] for call in providers[0].calls] == [
        "is_available",
        "initialize",
        "capabilities",
    ]
    registry.shutdown_all()


@pytest.mark.parametrize("answer", [False, None, 0, 1, "yes"])
def test_an_unavailable_provider_is_dropped_and_said_so(answer, caplog):
    provider = FakeProvider("a", is_available=lambda: answer)
    with caplog.at_level(logging.WARNING, "memproto.registry"):
        registry, events = open_all(provider, FakeProvider("b"))
    assert registry.providers == ("b",)
    assert provider.calls == [("is_available",)]
    assert ("a", "is_available", "dropped") in [(e.provider, e.hook, e.outcome) for e in events]
    assert any("is_available of a: dropped" in message for message in caplog.messages)
    registry.shutdown_all()
    assert provider.calls == [("is_available",)]


@pytest.mark.parametrize("error", [RuntimeError("no"), SystemExit(3), GeneratorExit()])
def test_a_failed_initialize_drops_the_provider_and_shuts_it_down(error):
    provider = FakeProvider("a", initialize=raising(error))
    registry, events = open_all(provider, FakeProvider("b"))
    assert registry.providers == ("b",)
    assert [call[0] for call in provider.calls] == ["is_available", "initialize", "shutdown"]
    told = [(e.hook, e.outcome, e.detail) for e in events if e.provider == "a"]
    assert told[:2] == [
        ("initialize", "raised", type(error).__name__),
        ("initialize", "dropped", "failed"),
    ]
    registry.shutdown_all()
    assert len(provider.named("shutdown")) == 1


def test_what_the_operator_must_do_is_told():
    error = Misconfigured("set HONCHO_API_KEY")
    _, events = open_all(FakeProvider(initialize=raising(error)))
    assert "Misconfigured: set HONCHO_API_KEY" in [e.detail for e in events]


def test_the_users_interrupt_in_initialize_passes_and_what_was_opened_can_be_shut_down():
    a, b = FakeProvider("a"), FakeProvider("b", initialize=raising(KeyboardInterrupt()))
    registry = MemoryProviderRegistry()
    registry.register(a)
    registry.register(b)
    with pytest.raises(KeyboardInterrupt):
        registry.initialize_all("session", {})
    assert registry.providers == ("a",)
    registry.shutdown_all()
    assert len(a.named("shutdown")) == 1
    eventually(lambda: len(b.named("shutdown")) == 1)


def test_a_bounded_initialize_that_hangs_is_dropped_at_its_deadline():
    clock, release = VirtualClock(), threading.Event()

    def hang(*_):
        clock.advance(30.0)
        release.wait(10)

    provider = FakeProvider("a", initialize=hang)
    deadlines = Deadlines(initialize_s=30.0)
    registry, events = open_all(provider, FakeProvider("b"), clock=clock, deadlines=deadlines)
    assert registry.providers == ("b",)
    assert ("a", "initialize", "late") in [(e.provider, e.hook, e.outcome) for e in events]
    assert len(provider.named("shutdown")) == 1
    release.set()
    registry.shutdown_all()


def test_each_provider_gets_its_own_config_with_what_is_promised():
    def vandal(_, config):
        config["nested"]["list"].append(2)
        config["protocol"]["hooks"].clear()

    neighbour = FakeProvider("b")
    registry, _ = open_all(FakeProvider("a", initialize=vandal), neighbour)
    ((key, config),) = neighbour.named("initialize")
    assert key == "session"
    assert config["nested"] == {"list": [1]}
    assert config["home"] == "/nowhere"
    assert "enrich_turn" in config["protocol"]["hooks"]
    assert config["deadlines"]["enrich_s"] == 5.0
    assert {"limits", "platform"} <= set(config)
    registry.shutdown_all()


def test_capabilities_are_asked_once_and_cannot_be_changed():
    declared = {"tool_names": {"x"}, "stores": ["turns"], "suppresses_local_writes": {"user": True}}
    provider = FakeProvider(capabilities=lambda: declared)
    registry, _ = open_all(provider)
    declared["stores"].append("writes")
    assert registry.capabilities == {
        "fake": {
            "tool_names": frozenset({"x"}),
            "stores": ("turns",),
            "suppresses_local_writes": {"user": True},
        }
    }
    with pytest.raises(TypeError):
        registry.capabilities["fake"]["stores"] = ()
    with pytest.raises(TypeError):
        registry.capabilities["fake"]["suppresses_local_writes"]["user"] = False
    registry.enrich_turn("hello", [])
    assert len(provider.named("capabilities")) == 1
    registry.shutdown_all()


@pytest.mark.parametrize(
    "answer",
    [None, [], "x", {"tool_names": "abc"}, {"tool_names": [1]}, {"suppresses_local_writes": "no"}],
)
def test_capabilities_of_the_wrong_shape_count_as_none(answer):
    registry, events = open_all(FakeProvider(capabilities=lambda: answer))
    assert registry.capabilities == {"fake": {}}
    assert ("capabilities", "wrong_type") in [(e.hook, e.outcome) for e in events]
    registry.shutdown_all()


def test_capabilities_that_hold_themselves_count_as_none():
    endless = {}
    endless["self"] = endless
    registry, _ = open_all(FakeProvider(capabilities=lambda: endless))
    assert registry.capabilities == {"fake": {}}
    registry.shutdown_all()


def test_capabilities_that_raise_count_as_none():
    registry, events = open_all(FakeProvider(capabilities=raising(OSError())))
    assert registry.capabilities == {"fake": {}}
    assert registry.providers == ("fake",)
    assert ("capabilities", "raised", "OSError") in [(e.hook, e.outcome, e.detail) for e in events]
    registry.shutdown_all()


def test_a_coroutine_in_an_extension_alone_is_refused_as_well():
    class Half(FakeProvider):
        async def record(self, turn):
            """Would be called, and never awaited."""

    with pytest.raises(NotAProvider, match="coroutine hooks"):
        MemoryProviderRegistry().register(Half())


def test_below_an_adapter_of_coroutines_a_missing_hook_is_named():
    class Half(Remembers):
        on_compress = None

    with pytest.raises(NotAProvider, match="Half has no callable on_compress"):
        MemoryProviderRegistry().register(from_async(Half()))


@pytest.mark.parametrize("provider", [FakeProvider, from_async(Remembers)])
def test_a_class_is_refused_where_an_instance_of_it_is_expected(provider):
    with pytest.raises(NotAProvider, match="is a class; an instance of it is expected"):
        MemoryProviderRegistry().register(provider)


def test_what_another_adapter_holds_is_not_looked_at():
    class Client:
        async def shutdown(self):
            """The adapter's to drive."""

    adapter = FakeProvider("fake")
    adapter.wrapped = Client()
    registry = MemoryProviderRegistry()
    registry.register(adapter)
    registry.initialize_all("s", {})
    assert registry.providers == ("fake",)
    registry.shutdown_all()


def test_a_hermes_provider_is_refused_with_the_way_out():
    class Hermes:
        name = "hermes"

        def is_available(self):
            return True

        def initialize(self, session_id, **kwargs):
            pass

        def prefetch(self, query):
            return ""

    with pytest.raises(NotAProvider, match=r"enrich_turn.*from_hermes"):
        MemoryProviderRegistry().register(Hermes())


def test_a_provider_of_coroutines_takes_part_below_its_adapter():
    provider = Remembers()
    registry = MemoryProviderRegistry()
    registry.register(from_async(provider))
    registry.initialize_all("s", {"home": "/nowhere"})
    assert registry.enrich_turn("tea", []) == [("remembers", "recalled")]
    registry.shutdown_all()
    assert provider.calls[-1] == ("shutdown",)
