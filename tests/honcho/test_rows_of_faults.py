"""Measured rows about failures: what the integration was late with, lost, doubled or told."""

import contextlib
import logging
import time

import pytest

from memproto.errors import Rejected, Unavailable
from tests.reference_providers.honcho.honcho_rows import row
from tests.reference_providers.honcho.honcho_views import idle

FACT = "My boat Kestrel is in Ostrava."
TURN = [FACT, "Noted."]

#: Nothing is stored while the server fails so.
UNSTORED = ["reset", "retry_after", 401, 404, 500, 503, "not_json", "empty", "wrong_shape"]

#: The server stores, and the client does not learn of it.
STORED = ["lose", "truncate", "late"]


def took(step, *args):
    """Seconds that a hook took, whether it returned or raised."""
    began = time.monotonic()
    with contextlib.suppress(Unavailable, Rejected):
        step(*args)
    return time.monotonic() - began


def reopened(opened, view, server):
    """Content of a session after the server works again and a provider came back to its home."""
    server.heal()
    server.thaw()
    assert server.wait_idle()
    last = opened("run-9")
    assert last._live.sender.flush(20.0)
    last.shutdown()
    return view.texts("boats")


@row("measured: timeouts")
@pytest.mark.parametrize("mode", ["hang", "drip"])
def test_before_a_server_that_is_stuck_every_hook_keeps_its_time_and_nothing_is_lost(
    standin, view, opened, mode
):
    provider = opened(writeFrequency="turn")
    idle(provider)
    standin.fail("*", mode)
    assert took(provider.enrich_turn, "Where is Kestrel?", []) < 5.0
    assert took(provider.on_turn_complete, FACT, "Noted.") < 15.0
    end_s = took(provider.on_session_end, []) + took(provider.shutdown)
    assert end_s < 15.0
    assert reopened(opened, view, standin) == TURN


@row("measured: timeouts")
def test_a_question_to_the_servers_model_is_given_up_after_the_time_that_is_set(standin, opened):
    standin.fail("chat", "drip")
    provider = opened(timeout=1)
    provider.on_turn_complete(FACT, "Noted.")
    idle(provider)
    assert standin.arrived("chat")


@row("measured: timeouts")
def test_a_server_that_is_away_costs_no_time(standin, view, opened):
    provider = opened()
    idle(provider)
    standin.refuse()
    assert took(provider.on_turn_complete, FACT, "Noted.") < 2.0
    assert took(provider.on_session_end, []) + took(provider.shutdown) < 15.0
    standin.listen()
    assert reopened(opened, view, standin) == TURN


@row("measured: defect 2: duplicates")
def test_a_server_that_freezes_and_thaws_has_each_turn_once(standin, view, opened):
    provider = opened(writeFrequency="turn")
    idle(provider)
    standin.freeze()
    assert took(provider.on_turn_complete, FACT, "Noted.") < 15.0
    assert took(provider.on_session_end, []) + took(provider.shutdown) < 15.0
    assert standin.arrived("add_messages")
    assert reopened(opened, view, standin) == TURN


@row("measured: defect 2: duplicates")
def test_a_server_that_thaws_while_a_second_session_sends_has_each_turn_once(standin, view, opened):
    first = opened()
    idle(first)
    standin.freeze()
    for number in range(3):
        first.on_turn_complete(f"Turn {number}.", "Noted.")
    assert standin.wait(lambda: standin.arrived("add_messages"))
    first.shutdown()
    looked = len(standin.requests)
    second = opened("run-2")
    second.on_turn_complete("Turn 3.", "Noted.")
    assert standin.wait(lambda: len(standin.requests) > looked)
    standin.thaw()
    assert second._live.sender.flush(30.0)
    second.shutdown()
    assert standin.wait_idle()
    assert sorted(view.texts("boats")[::2]) == [f"Turn {number}." for number in range(4)]


@row("measured: defect 2: duplicates")
def test_a_conclusion_before_a_server_that_freezes_and_thaws_is_there_once(standin, view, opened):
    provider = opened()
    idle(provider)
    standin.freeze()
    assert took(provider.on_memory_write, "add", "user", FACT) < 15.0
    assert took(provider.shutdown) < 15.0
    assert standin.arrived("add_conclusions")
    reopened(opened, view, standin)
    assert view.conclusions() == [("hermes", "ada", FACT)]


@row("measured: defect 2: duplicates")
@pytest.mark.parametrize("mode", [*UNSTORED, *STORED])
def test_a_turn_is_stored_once_whatever_the_server_answers(standin, view, opened, mode):
    provider = opened(writeFrequency="turn")
    idle(provider)
    standin.fail("add_messages", mode, times=1)
    assert took(provider.on_turn_complete, FACT, "Noted.") < 15.0
    provider.shutdown()
    assert reopened(opened, view, standin) == TURN


@row("measured: defect 2: duplicates")
@pytest.mark.parametrize("mode", [*UNSTORED, *STORED])
def test_a_conclusion_is_stored_once_whatever_the_server_answers(standin, view, opened, mode):
    provider = opened()
    idle(provider)
    standin.fail("add_conclusions", mode, times=1)
    assert took(provider.on_memory_write, "add", "user", FACT) < 15.0
    provider.shutdown()
    reopened(opened, view, standin)
    assert view.conclusions() == [("hermes", "ada", FACT)]


@row("measured: defect 1: poisoned batch")
def test_one_poisoned_message_stops_no_other(standin, view, opened):
    provider = opened(writeFrequency="session")
    provider.on_turn_complete("What does <|endoftext|> mean?", "It ends a text.")
    provider.on_turn_complete(FACT, "Noted.")
    provider.shutdown()
    assert view.texts("boats")[2:] == TURN
    recalled = opened("run-2").enrich_turn("What did I ask of endoftext?", [])
    assert "What does <|endoftext|> mean?" in recalled


@row("measured: defect 1: poisoned batch")
def test_a_message_that_the_server_refuses_is_kept_and_stops_no_other(
    standin, view, opened, tmp_path
):
    provider = opened(writeFrequency="session")
    for text in ("Turn 1.", "Turn 2.", "Turn 3."):
        provider.on_turn_complete(text, "Noted.")
    # The batch, and then the first message alone.
    standin.fail("add_messages", "echo", times=3)
    provider.shutdown()
    assert [text for text in view.texts("boats") if text != "Noted."] == ["Turn 2.", "Turn 3."]
    kept = (tmp_path / "home" / "honcho-refused").glob("*.json")
    assert ["Turn 1." in path.read_text() for path in kept] == [True]


@row("measured: defect 1: poisoned batch")
def test_a_turn_whose_time_is_none_stops_no_other(view, opened):
    provider = opened()
    turn = {"turn_id": "t-1", "session_id": "run-1", "user_message": "Turn 1."}
    turn |= {"assistant_response": "Noted.", "started_at": "noon", "ended_at": "later"}
    provider.record(turn)
    provider.on_turn_complete(FACT, "Noted.")
    provider.shutdown()
    assert view.texts("boats") == TURN


@row("measured: defect 1: poisoned batch")
def test_more_messages_than_the_server_takes_at_once_are_all_stored_in_order(view, opened):
    provider = opened(writeFrequency="session")
    for number in range(130):
        provider.on_turn_complete(f"Turn {number}.", "Noted.")
    provider.shutdown()
    assert view.texts("boats")[::2] == [f"Turn {number}." for number in range(130)]


@row("measured: defect 1: poisoned batch")
@pytest.mark.parametrize("mode", ["echo", "not_json", "wrong_shape", 500, "reset"])
def test_no_text_of_the_user_is_in_a_log(standin, opened, caplog, mode):
    caplog.set_level(logging.DEBUG)
    provider = opened(writeFrequency="turn")
    idle(provider)
    standin.fail("*", mode)
    took(provider.on_turn_complete, FACT, "Noted.")
    took(provider.on_memory_write, "add", "user", FACT)
    took(provider.enrich_turn, FACT, [])
    answer = provider.handle_tool_call("honcho_search", {"query": FACT})
    provider.shutdown()
    assert caplog.records
    assert "Kestrel" not in caplog.text
    assert "Kestrel" not in str(provider.recall_status()) + answer
