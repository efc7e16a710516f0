"""Measured rows about what is stored: frequency, retries, the life of a session, files, tools."""

import importlib.metadata
import json

import pytest

from memproto.errors import Rejected, WriteRefused
from tests.reference_providers.honcho.honcho_rows import row
from tests.reference_providers.honcho.honcho_views import idle

FACT = "My boat Kestrel is in Ostrava."
TURN = [FACT, "Noted."]


@row("measured: writeFrequency")
@row("seeds: unchanged: write frequency modes")
@row("measured: defect 3: writeFrequency and saveMessages without effect")
@pytest.mark.parametrize(
    ("frequency", "stored"),
    [("turn", [2, 4, 6]), ("session", [0, 0, 0]), ("3", [0, 0, 6]), (2, [0, 4, 4])],
)
def test_the_frequency_says_after_which_turns_the_server_has_them(view, opened, frequency, stored):
    provider, seen = opened(writeFrequency=frequency), []
    for number in range(3):
        provider.on_turn_complete(f"Turn {number}.", "Noted.")
        idle(provider)
        seen.append(len(view.said()))
    assert seen == stored
    provider.on_session_end([])
    assert len(view.texts("boats")) == 6


@row("measured: writeFrequency")
@row("seeds: unchanged: write frequency modes")
def test_asynchronously_a_turn_is_accepted_before_the_server_has_it(standin, view, opened):
    provider = opened(writeFrequency="async")
    idle(provider)
    standin.freeze()
    provider.on_turn_complete(FACT, "Noted.")
    assert standin.store.texts() == []
    standin.thaw()
    idle(provider)
    assert view.texts("boats") == TURN


@row("measured: writeFrequency")
def test_with_each_turn_what_the_server_refuses_is_told_at_once(standin, opened):
    provider = opened(writeFrequency="turn")
    standin.fail("add_messages", 422)
    with pytest.raises(Rejected):
        provider.on_turn_complete(FACT, "Noted.")


@row("measured: defect 3: writeFrequency and saveMessages without effect")
def test_no_turn_is_stored_where_messages_are_not_to_be_saved(view, opened):
    provider = opened(saveMessages=False)
    assert "turns" not in provider.capabilities()["stores"]
    provider.on_turn_complete(FACT, "Noted.")
    provider.on_memory_write("add", "user", "Ada has a boat.")
    provider.shutdown()
    assert view.said() == []
    assert len(view.conclusions()) == 1


@row("measured: retry of async writer")
def test_what_a_server_that_is_away_misses_it_gets_when_it_is_back(standin, view, opened):
    provider = opened()
    idle(provider)
    standin.refuse()
    for number in range(3):
        provider.on_turn_complete(f"Turn {number}.", "Noted.")
    assert provider.recall_status()["pending_writes"] == 3
    standin.listen()
    assert standin.wait(lambda: len(standin.store.texts()) == 6)
    assert view.texts("boats")[::2] == ["Turn 0.", "Turn 1.", "Turn 2."]


def test_turns_that_wait_for_the_end_make_room_when_there_is_none_left(view, opened):
    provider = opened(writeFrequency="session")
    provider._opened().outbox._most = 1
    provider.on_turn_complete(FACT, "Noted.")
    with pytest.raises(WriteRefused, match="1 texts wait"):
        provider.on_turn_complete("Turn 2.", "Noted.")
    idle(provider)
    provider.on_turn_complete("Turn 3.", "Noted.")
    provider.on_session_end([])
    assert view.texts("boats") == [*TURN, "Turn 3.", "Noted."]


@row("measured: lifecycle")
@pytest.mark.parametrize("context", ["cron", "flush", "subagent"])
def test_what_is_not_said_to_a_user_is_not_stored(view, opened, context):
    provider = opened(config={"agent_context": context})
    provider.on_turn_complete(FACT, "Noted.")
    provider.shutdown()
    assert view.said() == []


@row("measured: lifecycle")
def test_a_recorded_turn_is_stored_in_the_contexts_that_the_host_names(view, opened):
    config = {"protocol": {"contexts": ["primary", "subagent"]}}
    provider = opened(config=config)
    for number, context in enumerate(("primary", "subagent", "cron")):
        turn = {"turn_id": f"t-{number}", "session_id": "run-1", "context": context}
        turn |= {"user_message": f"Said in {context}.", "assistant_response": ""}
        turn |= dict.fromkeys(("started_at", "ended_at"), "2026-01-01T00:00:00+00:00")
        provider.record(turn)
    provider.shutdown()
    assert view.texts("boats") == ["Said in primary.", "Said in subagent."]


@row("measured: lifecycle")
@pytest.mark.parametrize(
    ("action", "target"), [("remove", "user"), ("replace", "user"), ("add", "memory")]
)
def test_only_what_is_added_about_the_user_is_mirrored(view, opened, action, target):
    provider = opened()
    assert provider.capabilities()["mirrors"] == {"user": ["add"]}
    with pytest.raises(WriteRefused):
        provider.on_memory_write(action, target, FACT, "old")
    provider.shutdown()
    assert view.conclusions() == []


@row("measured: lifecycle")
def test_the_end_of_a_session_sends_what_is_held_and_a_switch_does(view, opened):
    provider = opened("run-1", writeFrequency="session", sessionStrategy="per-session")
    provider.on_turn_complete(FACT, "Noted.")
    provider.on_session_switch("run-2")
    provider.on_turn_complete("The train leaves at nine.", "Noted.")
    provider.on_session_end([])
    assert view.texts("run-1") == TURN
    assert view.texts("run-2") == ["The train leaves at nine.", "Noted."]


FILES = {"MEMORY.md": "The build needs two cores.", "USER.md": "Ada sails.", "SOUL.md": "Be short."}


@pytest.fixture
def files(tmp_path):
    """The files of a bounded memory in a host's directory."""
    for name, content in FILES.items():
        path = tmp_path / "host" / "memories" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return {"host_home": str(tmp_path / "host")}


@row("measured: migration")
def test_the_memory_files_go_once_into_a_session_that_is_empty(view, opened, files):
    for _ in range(2):
        opened(config=files).shutdown()
    messages = view.messages("boats")
    assert [message["peer_id"] for message in messages] == ["ada", "ada", "hermes"]
    for message, (name, content) in zip(messages, FILES.items(), strict=True):
        assert name in message["content"]
        assert content in message["content"]


@row("measured: migration")
def test_a_session_in_which_something_was_said_gets_no_files(view, opened, files):
    first = opened()
    first.on_turn_complete(FACT, "Noted.")
    first.shutdown()
    opened(config=files).shutdown()
    assert view.texts("boats") == TURN


@row("measured: migration")
def test_sessions_that_are_new_each_time_get_no_files(view, opened, files):
    opened(config=files, sessionStrategy="per-session").shutdown()
    assert view.said() == []


@row("measured: migration")
@row("measured: lifecycle")
def test_a_session_that_stores_no_turns_sends_no_files(view, opened, files):
    opened(config={**files, "agent_context": "cron"}).shutdown()
    opened(config=files, saveMessages=False).shutdown()
    assert view.said() == []


@row("measured: tools")
def test_the_five_tools_have_the_arguments_that_they_had(opened):
    schemas = {schema["name"]: schema["parameters"] for schema in opened().get_tool_schemas()}
    assert {name: sorted(schema["properties"]) for name, schema in schemas.items()} == {
        "honcho_profile": ["card", "peer"],
        "honcho_search": ["max_tokens", "peer", "query"],
        "honcho_reasoning": ["peer", "query", "reasoning_level"],
        "honcho_context": ["peer"],
        "honcho_conclude": ["conclusion", "delete_id", "list", "peer", "query"],
    }
    needed = {name: schema.get("required", []) for name, schema in schemas.items()}
    assert [name for name in needed if needed[name]] == ["honcho_search", "honcho_reasoning"]


def use(provider, tool, **args):
    return json.loads(provider.handle_tool_call(tool, args))


@row("measured: tools")
def test_a_card_is_replaced_and_read(view, opened):
    provider = opened()
    assert use(provider, "honcho_profile") == {"card": []}
    assert use(provider, "honcho_profile", card=["Sails"])["card"] == ["Sails"]
    assert use(provider, "honcho_profile") == {"card": ["Sails"]}
    assert view.card("hermes", "ada") == ["Sails"]
    assert use(provider, "honcho_profile", peer="ai") == {"card": []}


@row("measured: tools")
def test_a_conclusion_is_stored_listed_found_and_removed(standin, view, opened):
    provider = opened()
    made = use(provider, "honcho_conclude", conclusion=FACT)
    assert view.conclusions() == [("hermes", "ada", FACT)]
    listed = use(provider, "honcho_conclude", list=True)["conclusions"]
    assert listed == [{"id": made["id"], "text": FACT}]
    assert use(provider, "honcho_conclude", list=True, query="boat")["conclusions"] == listed
    assert "Ostrava" in use(provider, "honcho_search", query="Where is Kestrel?")["result"]
    assert "Ostrava" in use(provider, "honcho_reasoning", query="Where is Kestrel?")["result"]
    assert "Ostrava" in use(provider, "honcho_context")["result"]["representation"]
    use(provider, "honcho_conclude", delete_id=made["id"])
    assert view.conclusions() == []


@row("measured: tools")
@row("measured: reasoning level")
def test_the_model_may_say_how_much_thought_an_answer_is_worth(standin, opened):
    provider = opened(recallMode="tools", dialecticReasoningLevel="minimal")
    for args in ({"reasoning_level": "max"}, {}):
        use(provider, "honcho_reasoning", query="Where is Kestrel?", **args)
    levels = [call.body["reasoning_level"] for call in standin.arrived("chat")]
    assert levels == ["max", "minimal"]


@row("measured: tools")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("honcho_conclude", {}),
        ("honcho_conclude", {"conclusion": "x", "list": True}),
        ("honcho_conclude", {"delete_id": "../peers"}),
        ("honcho_search", {}),
        ("honcho_search", {"query": "x", "max_tokens": -1}),
        ("honcho_reasoning", {"query": "x", "reasoning_level": "utmost"}),
        ("honcho_profile", {"card": "x"}),
        ("honcho_context", {"peer": 7}),
        ("honcho_everything", {}),
    ],
)
def test_a_wrong_call_is_an_error_as_json(opened, tool, args):
    assert list(use(opened(), tool, **args)) == ["error"]


@row("measured: tools")
def test_another_peer_may_be_named_where_the_memory_is_one_persons(view, opened):
    provider = opened()
    assert use(provider, "honcho_profile", peer="bea", card=["Rows"])["card"] == ["Rows"]
    assert use(provider, "honcho_profile", peer="bea") == {"card": ["Rows"]}
    assert view.card("hermes", "bea") == ["Rows"]
    assert use(provider, "honcho_context", peer="bea")["result"]["card"] == ["Rows"]
    assert list(use(provider, "honcho_conclude", peer="bea", conclusion=FACT)) == ["error"]
    of_many = opened(config={"user_id": "u1"})
    for tool, args in (("honcho_profile", {}), ("honcho_search", {"query": "Rows"})):
        assert list(use(of_many, tool, peer="bea", **args)) == ["error"]


@row("measured: tools")
def test_a_search_gives_no_more_than_it_is_asked_for(opened):
    provider = opened()
    for number in range(30):
        provider.on_turn_complete(f"Fact {number}: Kestrel is in harbour {number}.", "Noted.")
    idle(provider)
    assert len(use(provider, "honcho_search", query="Kestrel", max_tokens=50)["result"]) <= 200


@row("measured: defect 4: tool call while initialising")
def test_a_tool_that_is_called_at_once_is_served(opened):
    assert use(opened(recallMode="tools"), "honcho_conclude", conclusion=FACT)["result"] == "stored"


@row("measured: defect 5: another release of the SDK")
def test_only_what_both_releases_of_the_sdk_have_is_asked_for_and_none_is_installed(
    standin, opened
):
    before = importlib.metadata.version("honcho-ai")
    provider = opened(dialecticDepth=3)
    provider.enrich_turn("Where is Kestrel?", [])
    provider.on_turn_complete(FACT, "Noted.")
    use(provider, "honcho_reasoning", query="Where is Kestrel?")
    idle(provider)
    newer = {"scope", "scopes", "response_format", "include_evidence"}
    assert not [each for each in standin.requests if newer & set(each.body or ())]
    assert all(each.route for each in standin.requests)
    assert importlib.metadata.version("honcho-ai") == before
