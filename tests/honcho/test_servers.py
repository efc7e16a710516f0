"""Servers that lack something, are older or newer, want another key, or hold any hook up."""

import json
import time

import pytest

from memproto.errors import Rejected
from memproto.reference_providers.honcho import HonchoMemoryProvider
from memproto.reference_providers.honcho.standin import failures, serving
from tests.reference_providers.honcho.honcho_views import idle

FACT = "My boat Kestrel is in Ostrava."
TURN = [FACT, "Noted."]
RECORDED = {
    "turn_id": "t-1",
    "session_id": "run-1",
    "context": "primary",
    "started_at": "2026-01-01T00:00:00+00:00",
    "ended_at": "2026-01-01T00:00:01+00:00",
    "user_message": FACT,
    "assistant_response": "Noted.",
}


@pytest.fixture
def on(tmp_path):
    """Open a provider on a server that is not the usual one."""
    providers = []

    def open_one(server, home="home", **settings):
        provider = HonchoMemoryProvider()
        usual = {"baseUrl": server.url, "workspace": "w", "peerName": "ada", "aiPeer": "hermes"}
        config = {"home": str(tmp_path / home), "cwd": "/srv/boats"}
        provider.initialize("run-1", {**config, "honcho": {**usual, **settings}})
        providers.append(provider)
        return provider

    yield open_one
    for provider in providers:
        provider.shutdown()


def test_without_a_model_and_embeddings_turns_are_stored_and_recalled(on):
    with serving(has_model=False, has_embeddings=False) as bare:
        first = on(bare)
        first.on_turn_complete(FACT, "Noted.")
        with pytest.raises(Rejected):
            first.on_memory_write("add", "user", "Ada sails.")
        first.shutdown()
        second = on(bare)
        assert "Ostrava" in second.enrich_turn("Where is Kestrel?", [])
        answer = json.loads(second.handle_tool_call("honcho_reasoning", {"query": "Where?"}))
        assert list(answer) == ["error"]
        second.shutdown()


@pytest.mark.parametrize(
    "route", ["chat", "query_conclusions", "get_card", "representation", "search_peer"]
)
def test_a_server_that_lacks_a_route_still_stores_and_recalls(standin, on, route):
    standin.fail(route, 404)
    first = on(standin)
    first.on_turn_complete(FACT, "Noted.")
    first.shutdown()
    second = on(standin)
    assert "Ostrava" in second.enrich_turn("Where is Kestrel?", [])
    second.shutdown()
    assert standin.store.texts("boats") == TURN


NEWER = {"observe_me": True, "observe_others": True, "observe_the_weather": True}


@pytest.mark.parametrize("route", ["get_peer_config", "session_peers"])
def test_a_newer_server_may_say_what_the_sdk_does_not_know(standin, on, route):
    first = on(standin)
    first.on_turn_complete(FACT, "Noted.")
    first.shutdown()
    peer = {"workspace_id": "w", "created_at": "2026-01-01T00:00:00Z", "metadata": {}}
    page = {"items": [{**peer, "id": name, "configuration": NEWER} for name in ("ada", "hermes")]}
    page |= {"total": 2, "page": 1, "size": 50, "pages": 1}
    said = {"get_peer_config": NEWER, "session_peers": page}[route]
    standin.fail(route, failures.body(json.dumps(said).encode()))
    second = on(standin)
    second.on_turn_complete("Kestrel has a new sail.", "Noted.")
    second.shutdown()
    assert "Kestrel has a new sail." in standin.store.texts("boats")


def test_a_wrong_key_is_told_and_nothing_is_lost_until_the_right_one_comes(on):
    with serving(keys={"right": None}) as locked:
        first = on(locked, apiKey="wrong")
        first.on_turn_complete(FACT, "Noted.")
        first.shutdown()
        told = on(locked, apiKey="wrong")
        told.enrich_turn("Where is Kestrel?", [])
        assert told.recall_status()["state"] == "down"
        assert "key" in told.unavailable_reason()
        assert "wrong" not in told.unavailable_reason()
        told.shutdown()
        second = on(locked, apiKey="right")
        idle(second)
        second.shutdown()
        assert locked.store.texts("boats") == TURN


def test_every_other_hook_keeps_its_time_before_a_server_that_is_stuck(standin, on):
    provider = on(standin)
    idle(provider)
    standin.fail("*", "hang")
    steps = [
        (5.0, lambda: provider.queue_prefetch("Where is Kestrel?")),
        (5.0, provider.recall_status),
        (5.0, provider.unavailable_reason),
        (15.0, lambda: provider.record(RECORDED)),
        (15.0, lambda: provider.on_session_switch("run-2")),
        (15.0, lambda: provider.on_compress([], 1)),
        (15.0, lambda: provider.handle_tool_call("honcho_context", {})),
        (15.0, lambda: provider.handle_tool_call("honcho_conclude", {"conclusion": "Ada sails."})),
    ]
    for budget_s, step in steps:
        began = time.monotonic()
        step()
        assert time.monotonic() - began < budget_s
    provider.shutdown()
    standin.heal()
    last = on(standin)
    idle(last)
    last.shutdown()
    assert standin.store.texts() == TURN
    assert len(standin.store.conclusions("ada", "hermes")) == 2


def test_a_recorded_turn_that_comes_twice_is_stored_once(view, opened):
    for _ in range(2):
        provider = opened()
        provider.record(RECORDED)
        provider.record(RECORDED)
        provider.shutdown()
    assert view.texts("boats") == TURN
    assert view.messages("boats")[0]["created_at"].startswith("2026-01-01T00:00:00")


def test_a_workspace_is_the_homes_own_where_none_is_named(standin, on):
    for home in ("one", "other"):
        provider = on(standin, home, workspace=None)
        provider.on_turn_complete(f"The boat of {home} is here.", "Noted.")
        provider.shutdown()
    assert len(standin.store.workspaces) == 2
