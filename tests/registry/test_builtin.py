import json

import pytest

from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.registry import Policy
from tests.extended import Extended, opened
from tests.virtual import FakeProvider


def remember(registry, text):
    args = {"action": "add", "target": "memory", "content": text}
    return json.loads(registry.handle_tool_call("memory", args))


@pytest.fixture
def config(tmp_path):
    return {"home": str(tmp_path)}


def test_what_the_tool_stored_is_recalled_in_the_next_session(config):
    with opened(FakeProvider("a"), BuiltinMemoryProvider(), config=config) as (registry, _):
        assert registry.providers == ("builtin", "a")
        assert [schema["name"] for schema in registry.get_tool_schemas()] == ["memory"]
        assert remember(registry, "The tug is called Orida.")["success"] is True
        assert registry.tool_provider("memory") == "builtin"
    with opened(BuiltinMemoryProvider(), config=config) as (registry, _):
        ((label, text),) = registry.enrich_turn("Which tug?", [])
        assert (label, "Orida" in text) == ("builtin", True)


def test_a_host_that_shows_the_prompt_is_not_told_the_same_by_recall(config):
    with opened(BuiltinMemoryProvider(), config=config) as (registry, _):
        remember(registry, "The tug is called Orida.")
    policy = Policy(drives=frozenset({"prompt", "tools"}))
    with opened(BuiltinMemoryProvider(), config=config, policy=policy) as (registry, _):
        block = registry.system_prompt_block()
        assert block.startswith("### builtin memory\n")
        assert "Orida" in block
        assert registry.enrich_turn("Which tug?", []) == []


def test_a_host_that_keeps_the_name_of_the_tool_offers_none_and_still_shows_what_is_known(config):
    with opened(BuiltinMemoryProvider(), config=config) as (registry, _):
        remember(registry, "The tug is called Orida.")
    policy = Policy(reserved_tools=frozenset({"memory"}), drives=frozenset({"prompt"}))
    with opened(BuiltinMemoryProvider(), config=config, policy=policy) as (registry, _):
        assert registry.get_tool_schemas() == []
        assert "Orida" in registry.system_prompt_block()
        assert "None of the tools" in registry.system_prompt_block()
        assert remember(registry, "x")["success"] is False


def test_a_wish_to_be_forgotten_names_the_builtin_provider_as_one_that_cannot(config):
    other = Extended("a", "privacy", forget=lambda _: {"removed": 0, "pending": 0})
    with opened(BuiltinMemoryProvider(), other, config=config) as (registry, _):
        found = [(answer.provider, answer.outcome) for answer in registry.forget({})]
    assert found == [("builtin", "not_served"), ("a", "ok")]
