"""
Each row of the compatibility table that the interface was designed from.

A row is an existing piece of the integration and the hook that has its place now; `row(...)` names
it as the table does.
"""

import inspect
import json

import pytest

from memproto import MemoryProvider
from memproto.reference_providers.honcho import HonchoMemoryProvider
from memproto.reference_providers.honcho.manager import HonchoManager
from tests.reference_providers.honcho.honcho_rows import row
from tests.reference_providers.honcho.honcho_views import idle

FACT = "My boat Kestrel is in Ostrava."


@row("seeds: HonchoClientConfig.from_global_config() check")
def test_available_means_enabled_and_a_server_is_named(monkeypatch, tmp_path):
    provider = HonchoMemoryProvider()
    assert not provider.is_available()
    assert "HONCHO_URL" in provider.unavailable_reason()
    monkeypatch.setenv("HONCHO_URL", "http://127.0.0.1:9")
    assert provider.is_available()
    settings = tmp_path / "nobody" / ".honcho" / "config.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"enabled": False}))
    assert not provider.is_available()
    assert "enabled" in provider.unavailable_reason()


@row("seeds: HonchoClientConfig.from_global_config() check")
@pytest.mark.parametrize("content", ['{"environment": ["local"]}', "[" * 100_000, '{"half'])
def test_settings_that_cannot_be_read_make_it_unavailable_and_raise_nothing(
    monkeypatch, tmp_path, content
):
    monkeypatch.setenv("HERMES_HOME", "x" * 5_000)
    settings = tmp_path / "nobody" / ".honcho" / "config.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(content)
    provider = HonchoMemoryProvider()
    assert not provider.is_available()
    assert "fix: " in provider.unavailable_reason()


@row("seeds: _activate_honcho()")
def test_a_session_that_opens_has_its_peers_and_is_fetched_for_the_first_turn(view, opened):
    provider = opened()
    provider.enrich_turn("Where is my boat?", [])
    assert view.sessions() == ["boats"]
    assert view.peers() == ["ada", "hermes"]


@row("seeds: Honcho tool docs + CLI commands")
def test_the_model_reads_of_the_tools_in_their_schemas_alone(opened):
    provider = opened()
    assert not hasattr(provider, "system_prompt_block")
    assert all(schema["description"] for schema in provider.get_tool_schemas())


@row("seeds: Prefetched user representation + peer card baked into system prompt")
def test_the_first_turn_gets_representation_and_card(view, opened):
    first = opened()
    first.on_turn_complete(FACT, "Noted.")
    first.shutdown()
    view.ask("PUT", "/peers/hermes/card?target=ada", {"peer_card": ["Sails a lot"]})
    recalled = opened("run-2").enrich_turn("What do you know of me?", [])
    assert "Kestrel" in recalled
    assert "## User Peer Card\nSails a lot" in recalled


@row("seeds: Per-turn dialectic result consumed from cache")
def test_a_later_turn_gets_the_answer_that_was_fetched_before_it_once(standin, opened):
    provider = opened()
    provider.on_turn_complete(FACT, "Noted.")
    provider.enrich_turn("Tell me about Kestrel.", [])
    provider.on_turn_complete("Tell me about Kestrel.", "It is your boat.")
    idle(provider)
    assert "## Answer of the memory" in provider.enrich_turn("And where is Kestrel?", [])
    assert "## Answer of the memory" not in (provider.enrich_turn("And now?", []) or "")


@row("seeds: Tool visibility gated by recall_mode")
@pytest.mark.parametrize(("mode", "count"), [("hybrid", 5), ("tools", 5), ("context", 0)])
def test_the_recall_mode_decides_which_tools_there_are(opened, mode, count):
    provider = opened(recallMode=mode)
    assert len(provider.capabilities()["tool_names"]) == count
    assert len(provider.get_tool_schemas()) == count


@row("seeds: _honcho_save_user_observation()")
def test_what_is_added_about_the_user_is_a_conclusion(view, opened):
    opened().on_memory_write("add", "user", FACT)
    assert view.conclusions() == [("hermes", "ada", FACT)]


@row("seeds: _honcho_sync() + _queue_honcho_prefetch()")
def test_a_turn_is_stored_and_the_next_recall_is_fetched(standin, view, opened):
    provider = opened()
    provider.enrich_turn("Hello there, old friend.", [])
    fetched = len(standin.arrived("session_context"))
    provider.on_turn_complete(FACT, "Noted.")
    assert standin.wait(lambda: len(standin.arrived("session_context")) > fetched)
    provider.shutdown()
    assert view.texts("boats") == [FACT, "Noted."]


@row("seeds: _flush_honcho_on_exit() via atexit")
def test_shutdown_sends_what_was_held_back(view, opened):
    provider = opened(writeFrequency="session")
    provider.on_turn_complete(FACT, "Noted.")
    assert view.said() == []
    provider.shutdown()
    assert view.texts("boats") == [FACT, "Noted."]


@row("seeds: Per-peer memory mode gating")
@row("seeds: honcho-only mode skips flush_memories()")
@pytest.mark.parametrize(
    ("mode", "user", "memory"),
    [
        ("hybrid", False, False),
        ("honcho", True, True),
        ({"default": "hybrid", "ada": "honcho"}, True, False),
        ({"default": "honcho", "hermes": "hybrid"}, True, False),
        ({"hermes": "honcho"}, False, True),
    ],
)
def test_the_memory_mode_suppresses_local_writes_of_each_target(opened, mode, user, memory):
    suppressed = opened(memoryMode=mode).capabilities()["suppresses_local_writes"]
    assert suppressed == {"user": user, "memory": memory}


@row("seeds: honcho-only mode skips flush_memories()")
def test_what_is_not_written_locally_is_kept_here(view, opened):
    provider = opened(memoryMode="honcho")
    provider.on_memory_write("add", "memory", "The build needs two cores.")
    assert view.conclusions() == [("hermes", "hermes", "The build needs two cores.")]


@row("seeds: Gateway shared HonchoSessionManager")
@row("seeds: unchanged: gateway shared manager pattern")
def test_a_manager_from_outside_serves_several_and_is_never_shut_down(view, opened):
    shared = HonchoManager(view.url, view.key or "local", view.workspace)
    one, other = HonchoMemoryProvider(shared), HonchoMemoryProvider(shared)
    assert one.is_available()
    opened("run-1", {"cwd": "/srv/boats"}, one)
    opened("run-2", {"cwd": "/srv/trains"}, other)
    one.on_turn_complete(FACT, "Noted.")
    one.shutdown()
    other.on_turn_complete("The train leaves at nine.", "Noted.")
    other.shutdown()
    assert shared.parts("boats", "none") == set()
    shared.close()
    assert view.texts("boats") == [FACT, "Noted."]
    assert view.texts("trains") == ["The train leaves at nine.", "Noted."]


@row("seeds: run_agent.py honcho_manager param")
def test_a_provider_is_a_memory_provider_and_takes_a_manager_or_none():
    assert isinstance(HonchoMemoryProvider(), MemoryProvider)
    parameters = inspect.signature(HonchoMemoryProvider).parameters
    assert {name: each.default for name, each in parameters.items()} == {"manager": None}
