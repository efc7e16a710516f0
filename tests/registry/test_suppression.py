"""A host leaves out its own writes for some providers, and must make them itself for others."""

import pytest

from memproto.errors import Misconfigured
from memproto.registry import MemoryProviderRegistry
from tests.extended import Extended, opened

EVERYWHERE = {"suppresses_local_writes": True}


def raising(*_):
    raise Misconfigured("no key")


def asked(registry):
    return registry.suppresses_local_writes("memory"), registry.suppresses_memory_review()


@pytest.mark.parametrize("hooks", [{"is_available": lambda: False}, {"initialize": raising}])
def test_a_provider_that_was_dropped_suppresses_nothing(hooks):
    with opened(Extended("a", declares=EVERYWHERE, **hooks)) as (registry, _):
        assert asked(registry) == (False, False)


def test_nothing_is_suppressed_before_a_session_and_after_it():
    registry = MemoryProviderRegistry()
    registry.register(Extended("a", declares=EVERYWHERE))
    assert asked(registry) == (False, False)
    registry.initialize_all("session", {})
    assert asked(registry) == (True, True)
    registry.shutdown_all()
    assert asked(registry) == (False, False)


@pytest.mark.parametrize(("context", "is_mirrored"), [("primary", True), ("cron", False)])
def test_where_writes_are_not_mirrored_the_host_makes_its_own(context, is_mirrored):
    provider = Extended("a", declares=EVERYWHERE)
    with opened(provider, config={"agent_context": context}) as (registry, _):
        assert asked(registry) == (is_mirrored, is_mirrored)
        registry.on_memory_write("add", "memory", "x")
    assert bool(provider.named("on_memory_write")) is is_mirrored


def test_one_of_several_providers_is_enough():
    with opened(Extended("a"), Extended("b", declares=EVERYWHERE)) as (registry, _):
        assert asked(registry) == (True, True)


def test_a_write_that_its_provider_served_itself_is_told_to_the_others_only():
    a, b = Extended("a", declares=EVERYWHERE), Extended("b")
    with opened(a, b) as (registry, _):
        registry.on_memory_write("add", "memory", "x", served_by="a")
    assert a.named("on_memory_write") == []
    assert b.named("on_memory_write") == [("add", "memory", "x", None)]
