import pytest

from memproto.errors import SecondExternalProvider
from memproto.operations import CORE_HOOKS
from memproto.registry import MemoryProviderRegistry, Policy
from tests.extended import Extended, opened
from tests.virtual import FakeProvider

WRITES = ("on_turn_complete", "on_memory_write")


def handed(provider):
    ((_, config),) = provider.named("initialize")
    return config["protocol"]


def written(provider):
    return [call[0] for call in provider.calls if call[0] in WRITES]


def write(registry):
    registry.on_turn_complete("a", "b")
    registry.on_memory_write("add", "memory", "x")


def test_the_builtin_provider_stands_first_wherever_it_was_registered():
    names = ("b", "builtin", "a")
    with opened(*(FakeProvider(n, enrich_turn=lambda *_: "x") for n in names)) as (registry, _):
        assert registry.providers == ("builtin", "b", "a")
        assert [label for label, _ in registry.enrich_turn("hello", [])] == ["builtin", "b", "a"]


def test_the_name_of_the_builtin_provider_is_the_hosts_to_say():
    policy = Policy(builtin="files")
    with opened(*(FakeProvider(n) for n in ("builtin", "files")), policy=policy) as (registry, _):
        assert registry.providers == ("files", "builtin")


def test_several_external_providers_are_the_default():
    with opened(*(FakeProvider(n) for n in ("builtin", "a", "b"))) as (registry, _):
        assert len(registry.providers) == 3


def test_a_policy_of_one_external_provider_refuses_the_second_by_name():
    registry = MemoryProviderRegistry(policy=Policy(single_external=True))
    registry.register(FakeProvider("a"))
    second = FakeProvider("b")
    with pytest.raises(SecondExternalProvider, match="'b' came after 'a'"):
        registry.register(second)
    registry.register(FakeProvider("builtin"))
    registry.initialize_all("session", {})
    assert registry.providers == ("builtin", "a")
    assert second.calls == []
    registry.shutdown_all()


@pytest.mark.parametrize("context", [None, "primary", "subagent", "cron", "flush", "later"])
def test_write_hooks_are_called_in_primary_contexts_only(context):
    provider = FakeProvider(enrich_turn=lambda *_: "known")
    config = {} if context is None else {"agent_context": context}
    with opened(provider, config=config) as (registry, _):
        write(registry)
        assert registry.enrich_turn("hello", []) == [("fake", "known")]
    assert written(provider) == ([*WRITES] if context in (None, "primary") else [])


@pytest.mark.parametrize("by_policy", [True, False])
def test_the_operator_may_name_further_contexts(by_policy):
    provider, contexts = FakeProvider(), ["primary", "cron"]
    config = {"agent_context": "cron"}
    if not by_policy:
        config["protocol"] = {"contexts": contexts}
    policy = Policy(contexts=tuple(contexts)) if by_policy else None
    with opened(provider, config=config, policy=policy) as (registry, _):
        write(registry)
    assert written(provider) == [*WRITES]
    assert handed(provider)["contexts"] == contexts


def test_only_hooks_that_are_called_are_published():
    plain, driven = FakeProvider(), FakeProvider()
    with opened(plain), opened(driven, policy=Policy(drives=frozenset({"prompt", "turns"}))):
        pass
    always = [*CORE_HOOKS, "get_tool_schemas", "queue_prefetch", "on_session_end"]
    assert handed(plain)["hooks"] == always
    assert handed(driven)["hooks"] == [*always, "on_turn_start", "system_prompt_block"]


def test_a_policy_that_drives_what_there_is_not_is_refused():
    with pytest.raises(ValueError, match="names no extension: promt"):
        Policy(drives=frozenset({"promt"}))


def test_a_capability_that_names_extensions_as_text_serves_none():
    with opened(Extended("a", "tools", declares={"extensions": "tools"})) as (registry, _):
        assert registry.get_tool_schemas() == []
