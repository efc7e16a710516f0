"""Conclusions are stored once, whatever time the server takes, and hold up nothing else."""

import json
import threading
import time

import pytest

from memproto.reference_providers.honcho import conclusions, texts
from memproto.reference_providers.honcho.standin import failures
from tests.reference_providers.honcho.honcho_views import idle

FACT = "My boat Kestrel is in Ostrava."
TURN = [FACT, "Noted."]
LOCKED_S, EMBEDDING_S = 16.0, 8.0


def use(provider, tool, **args):
    return json.loads(provider.handle_tool_call(tool, args))


def settled(opened, view, server):
    """The conclusions, after all that arrived was done and a further session had its time."""
    last = opened("run-9")
    assert last._live.sender.flush(40.0)
    assert server.wait_idle(40.0)
    last.shutdown()
    return view.conclusions()


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_conclusion_whose_embedding_takes_8_s_is_stored_once(standin, view, opened, is_closed):
    provider = opened()
    idle(provider)
    standin.embed_in(EMBEDDING_S)
    began = time.monotonic()
    provider.on_memory_write("add", "user", FACT)
    assert time.monotonic() - began < 10.0
    if is_closed:
        provider.shutdown()
    assert settled(opened, view, standin) == [("hermes", "ada", FACT)]


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_conclusion_before_a_table_that_is_locked_for_16_s_is_stored_once(
    standin, view, opened, is_closed
):
    provider = opened()
    idle(provider)
    standin.lock("conclusions")
    opens = threading.Timer(LOCKED_S, standin.unlock, ["conclusions"])
    opens.start()
    provider.on_memory_write("add", "user", FACT)
    assert view.conclusions() == []
    if is_closed:
        provider.shutdown()
        opened("run-2")
    opens.join()
    assert settled(opened, view, standin) == [("hermes", "ada", FACT)]


def test_a_request_that_ends_after_its_repeat_leaves_no_copy(standin, view, opened, monkeypatch):
    for name, seconds in {
        "LATE_S": 1.0,
        "WATCH_S": (*(0.1 * n for n in range(1, 200)), 60.0),
    }.items():
        monkeypatch.setattr(conclusions, name, seconds)
    monkeypatch.setattr("memproto.reference_providers.honcho.manager.CONCLUDE_S", 0.5)
    provider = opened()
    idle(provider)
    release = threading.Event()

    def stuck(exchange):
        release.wait(20.0)
        exchange.serve()

    standin.fail("add_conclusions", stuck, times=1)
    provider.on_memory_write("add", "user", FACT)
    assert standin.wait(lambda: len(standin.arrived("add_conclusions")) == 2)
    assert standin.wait(lambda: len(standin.store.conclusions("ada", "hermes")) == 1)
    release.set()
    assert standin.wait(lambda: standin.arrived("delete_conclusion"))
    assert standin.wait_idle()
    assert view.conclusions() == [("hermes", "ada", FACT)]


def test_a_copy_that_comes_after_the_session_is_removed_by_the_next(
    standin, view, opened, monkeypatch
):
    monkeypatch.setattr(conclusions, "LATE_S", 0.5)
    monkeypatch.setattr("memproto.reference_providers.honcho.manager.CONCLUDE_S", 0.5)
    provider = opened()
    idle(provider)
    release = threading.Event()

    def stuck(exchange):
        release.wait(20.0)
        exchange.serve()

    standin.fail("add_conclusions", stuck, times=1)
    provider.on_memory_write("add", "user", FACT)
    assert standin.wait(lambda: len(standin.store.conclusions("ada", "hermes")) == 1)
    provider.shutdown()
    release.set()
    assert standin.wait(lambda: len(standin.store.conclusions("ada", "hermes")) == 2)
    opened("run-2")
    assert standin.wait(lambda: len(standin.store.conclusions("ada", "hermes")) == 1)


def test_what_is_said_twice_is_stored_twice(standin, view, opened):
    provider = opened()
    provider.on_memory_write("add", "user", FACT)
    # The one that is there is not taken for the one that is not.
    standin.fail("add_conclusions", "reset", times=1)
    provider.on_memory_write("add", "user", FACT)
    provider.shutdown()
    assert len(settled(opened, view, standin)) == 2


@pytest.mark.parametrize("mode", [500, 503, 404, "hang", "reset"])
def test_a_conclusion_that_keeps_failing_stops_no_turn(standin, view, opened, mode):
    provider = opened()
    idle(provider)
    standin.fail("add_conclusions", mode)
    provider.on_memory_write("add", "user", "Ada likes tea.")
    for number in range(3):
        provider.on_turn_complete(f"Turn {number}.", "Noted.")
        assert standin.wait(lambda: f"Turn {number}." in standin.store.texts("boats"), 3.0)  # noqa: B023
    provider.shutdown()
    standin.heal()
    later = opened("run-2")
    later.on_turn_complete(FACT, "Noted.")
    later.shutdown()
    assert settled(opened, view, standin).count(("hermes", "ada", "Ada likes tea.")) == 1
    assert view.texts("boats")[-2:] == TURN


def test_a_conclusion_that_keeps_failing_stops_no_other(standin, view, opened):
    provider = opened()
    idle(provider)

    def fails_at_tea(exchange):
        if "tea" in exchange.given["conclusions"][0]["content"]:
            failures.status(500)(exchange)
        else:
            exchange.send(exchange.serve())

    standin.fail("add_conclusions", fails_at_tea)
    provider.on_memory_write("add", "user", "Ada likes tea.")
    provider.on_memory_write("add", "user", FACT)
    assert standin.wait(lambda: len(standin.store.conclusions("ada", "hermes")) == 1)
    assert provider.recall_status()["pending_writes"] == 1
    assert view.conclusions() == [("hermes", "ada", FACT)]


def test_a_turn_that_keeps_failing_stops_no_later_one(standin, view, opened):
    provider = opened()
    idle(provider)

    def fails_at_tea(exchange):
        if any("tea" in message["content"] for message in exchange.given["messages"]):
            failures.status(500)(exchange)
        else:
            exchange.send(exchange.serve())

    standin.fail("add_messages", fails_at_tea)
    provider.on_turn_complete("Ada likes tea.", "Noted.")
    provider.on_turn_complete(FACT, "Noted.")
    assert standin.wait(lambda: standin.store.texts("boats") == TURN)
    standin.heal()
    assert provider._live.sender.flush(10.0)
    assert view.texts("boats") == [*TURN, "Ada likes tea.", "Noted."]


CUNEIFORM = "\U00012000"


@pytest.mark.parametrize(
    "text",
    [
        CUNEIFORM * 7_000,
        "tea " * 1_990 + CUNEIFORM * 3_000,
        "\U0001f375" * 2_049,
        "漢字" * 3_000,
        "ab " * 5_000,
        "<|endoftext|>" * 700,
    ],
)
def test_a_long_conclusion_is_stored_whole_and_once(standin, view, opened, tmp_path, text):
    provider = opened()
    idle(provider)
    standin.fail("add_conclusions", 503, times=1)
    provider.on_memory_write("add", "user", text)
    provider.shutdown()
    held = [made for _, _, made in settled(opened, view, standin)]
    assert all(len(part.encode()) <= 8_192 for part in held)
    # The order of those that are made together is not the server's to keep.
    assert sorted(held) == sorted(texts.conclusions(texts.sent(text)))
    assert not (tmp_path / "home" / "honcho-refused").exists()


def watched(view, flags):
    """Have a session in which the peers watch by these flags, before any provider comes."""
    for peer in ("ada", "hermes"):
        view.ask("POST", "/peers", {"id": peer})
    view.ask("POST", "/sessions", {"id": "boats"})
    view.ask("POST", "/sessions/boats/peers", flags)


@pytest.mark.parametrize("others", [False, None])
def test_what_is_mirrored_is_recalled_where_the_assistant_does_not_watch(view, opened, others):
    flags = {} if others is None else {"observe_others": others}
    watched(view, {"ada": {"observe_me": True}, "hermes": flags})
    first = opened()
    first.on_memory_write("add", "user", FACT)
    assert [each["text"] for each in use(first, "honcho_conclude", list=True)["conclusions"]] == [
        FACT
    ]
    first.shutdown()
    assert "Ostrava" in opened("run-2").enrich_turn("Where is Kestrel?", [])
    # The server treats a flag that it has no value for as one that is not set.
    assert view.conclusions() == [("ada", "ada", FACT)]


def test_what_was_mirrored_while_the_assistant_watched_is_recalled_later(view, opened):
    first = opened()
    first.on_memory_write("add", "user", FACT)
    first.shutdown()
    view.ask("PUT", "/sessions/boats/peers/hermes/config", {"observe_others": False})
    assert "Ostrava" in opened("run-2").enrich_turn("Where is Kestrel?", [])


def test_a_card_comes_back_as_it_was_written(opened):
    provider = opened()
    use(provider, "honcho_profile", card=["Asks what <|endoftext|> is"])
    assert use(provider, "honcho_profile") == {"card": ["Asks what <|endoftext|> is"]}
    assert use(provider, "honcho_context")["result"]["card"] == ["Asks what <|endoftext|> is"]
    provider.shutdown()
    assert "what <|endoftext|> is" in opened("run-2").enrich_turn("Who am I?", [])


def test_an_id_of_no_conclusion_is_told_as_such(opened):
    told = use(opened(), "honcho_conclude", delete_id="nosuchid")["error"]
    assert "nosuchid" in told
    assert "older" not in told


def test_all_conclusions_are_listed_also_beyond_a_page(view, opened):
    provider = opened()
    idle(provider)
    for start in range(0, 250, 50):
        rows = [
            {"observer_id": "hermes", "observed_id": "ada", "content": f"Fact {start + number}."}
            for number in range(50)
        ]
        view.ask("POST", "/conclusions", {"conclusions": rows})
    listed = use(provider, "honcho_conclude", list=True)
    assert len({each["text"] for each in listed["conclusions"]}) == 250
    assert "left_out" not in listed


def test_a_list_that_stops_says_how_many_are_left_out(standin, opened, monkeypatch):
    monkeypatch.setattr("memproto.reference_providers.honcho.manager._PAGES", 1)
    provider = opened()
    idle(provider)
    rows = [{"observer_id": "hermes", "observed_id": "ada", "content": f"{n}"} for n in range(100)]
    for _ in range(2):
        provider._live.manager.conclude("hermes", "ada", [row["content"] for row in rows], "boats")
    listed = use(provider, "honcho_conclude", list=True)
    assert (len(listed["conclusions"]), listed["left_out"]) == (100, 100)


def test_the_base_fetches_no_more_messages_than_a_summary_needs(standin, opened):
    provider = opened()
    idle(provider)
    asked = standin.arrived("session_context")
    assert asked
    assert all(int(call.query["tokens"]) <= 20_000 for call in asked)
