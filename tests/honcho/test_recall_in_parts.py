"""A part of the recall that fails costs no other part, and a text of odd characters none."""

import json

import pytest

from tests.reference_providers.honcho.honcho_views import idle

FACT = "My boat Kestrel is in Ostrava."
CARD = "Sails a lot"

#: Routes that the recall asks, each with what is recalled without it.
ROUTES = {
    "session_context": FACT,
    "representation": CARD,
    "get_card": CARD,
    "query_conclusions": FACT,
    "search_peer": FACT,
}


def told(opened, view):
    first = opened()
    first.on_turn_complete(FACT, "Noted.")
    first.shutdown()
    view.ask("PUT", "/peers/hermes/card?target=ada", {"peer_card": [CARD]})


@pytest.mark.parametrize("mode", [500, 503, 422, 404, "hang", "reset", "not_json"])
@pytest.mark.parametrize("route", ROUTES)
def test_a_part_of_the_recall_that_fails_costs_no_other(standin, view, opened, route, mode):
    told(opened, view)
    standin.fail(route, mode)
    provider = opened("run-2")
    recalled = provider.enrich_turn("Where is Kestrel?", [])
    # Questions behind one without an answer are not asked in the time of the first turn.
    comes_after = route == "session_context" and mode in ("hang", "reset", "not_json")
    assert comes_after or ROUTES[route] in recalled
    idle(provider)
    assert (provider.recall_status()["state"] == "ok") == (mode in (422, 404))


def test_a_part_that_fails_is_told_and_forgotten_when_it_is_back(standin, view, opened):
    told(opened, view)
    standin.fail("search_peer", 500)
    provider = opened("run-2")
    provider.enrich_turn("Where is Kestrel?", [])
    idle(provider)
    assert provider.recall_status()["state"] == "degraded"
    standin.heal()
    provider.on_turn_complete("Kestrel has a new sail.", "Noted.")
    idle(provider)
    assert provider.recall_status()["state"] == "ok"


ODD = [
    "Where is Kestrel? \ud800",
    "Where is Kestrel? <|endoftext|>",
    "Where is Kestrel? <|fim_prefix|>",
    "Where is Kestrel? \0",
    "Where is Kestrel? " + "\U00012000" * 20_000,
    "<|x|>" * 5_000 + " Where is Kestrel?",
]


@pytest.mark.parametrize("message", ODD, ids=["half", "end", "fim", "nul", "long", "signs"])
def test_a_message_of_odd_characters_is_looked_for(standin, view, opened, message):
    told(opened, view)
    provider = opened("run-2")
    recalled = provider.enrich_turn(message, [])
    idle(provider)
    assert FACT in recalled
    assert provider.recall_status()["state"] == "ok"
    asked = [call for call in standin.requests if call.route in (*ROUTES, "chat")]
    assert all("\ud800" not in str(call.body) for call in asked)


@pytest.mark.parametrize("message", ODD, ids=["half", "end", "fim", "nul", "long", "signs"])
def test_a_tool_takes_a_query_of_odd_characters(standin, view, opened, message):
    told(opened, view)
    provider = opened("run-2")
    for tool in ("honcho_search", "honcho_reasoning"):
        assert "result" in json.loads(provider.handle_tool_call(tool, {"query": message}))
    listed = provider.handle_tool_call("honcho_conclude", {"list": True, "query": message})
    assert "conclusions" in json.loads(listed)


def test_an_author_of_odd_characters_is_stored(view, opened):
    provider = opened()
    turn = {"turn_id": "t-1", "session_id": "run-1", "author": "Ida \ud800\0"}
    turn |= {"user_message": FACT, "assistant_response": "Noted."}
    turn |= dict.fromkeys(("started_at", "ended_at"), "2026-01-01T00:00:00+00:00")
    provider.record(turn)
    provider.shutdown()
    assert view.texts("boats") == [FACT, "Noted."]
    assert view.messages("boats")[0]["metadata"]["author"] == "Ida \ufffd"
