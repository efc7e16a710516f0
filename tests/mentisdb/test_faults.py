"""The mentisdb provider before a daemon that fails: nothing late, nothing twice, nothing lost."""

import contextlib
import json
import logging
import socket
import threading
import time

import pytest

from memproto.errors import Rejected, TooLarge, Unavailable, WriteRefused
from memproto.reference_providers.mentisdb import (
    MentisDbMemoryProvider,
    daemon,
    delivery,
    session,
)
from memproto.reference_providers.mentisdb.settings import OUTBOX
from memproto.reference_providers.mentisdb.standin_server import StandIn
from memproto.reference_providers.mentisdb.standing import Standing
from memproto.reference_providers.outbox import Outbox
from memproto.testing.faults import modes
from memproto.testing.faults.server import FaultServer

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture
def server(standin):
    """A server of the kit before the stand-in: passes everything on until it is told otherwise."""
    port = int(standin.url.rpartition(":")[2])
    server = FaultServer(modes.forward, ("127.0.0.1", port))
    yield server
    server.close()


@pytest.fixture
def behind(opened, server):
    """Opens sessions that reach the stand-in through the server."""

    def opening(key="one", **config):
        url = f"http://127.0.0.1:{server.port}"
        return opened(key, mentisdb={"url": url, **config.pop("mentisdb", {})}, **config)

    return opening


def _stored(standin):
    return [thought["content"] for thought in standin.all_thoughts()]


def _waiting(tmp_path):
    return sorted((tmp_path / "home" / OUTBOX).glob("*.json"))


_FAILING = {
    "silent": modes.silent,
    "drip": modes.drip,
    "reset": modes.reset,
    "truncate": modes.truncate,
    "401": modes.status(401),
    "403": modes.status(403),
    "404": modes.status(404),
    "429": modes.retry_after("3600"),
    "500": modes.status(500),
    "503": modes.status(503),
    "302": modes.status(302, Location="http://127.0.0.1:1/"),
    "page": modes.page(),
    "broken": modes.broken_json(),
    "list": modes.status(200, []),
    "empty": modes.status(200, {}),
}


@pytest.mark.parametrize("kind", _FAILING)
def test_every_hook_keeps_its_time_and_what_is_accepted_is_stored_once_later(
    behind, server, standin, tmp_path, kind
):
    server.turn(_FAILING[kind])
    with behind() as memory:
        began = time.monotonic()
        memory.on_turn_complete("The boat is blue", "Yes")
        assert memory.enrich_turn("boat", []) is None
        memory.on_compress([{"role": "user", "content": "The boat is blue"}], 1)
        assert time.monotonic() - began < 5 * session.WRITE_S
        status = memory.recall_status()
        assert (status["state"], status["pending_writes"]) == ("down", 3)
        assert memory.unavailable_reason() == status["message"]
        server.turn(modes.forward)
    with behind("two") as memory:
        assert "[Finding] The boat is blue" in memory.enrich_turn("boat", [])
        assert memory.recall_status()["state"] == "ok"
    assert _stored(standin) == ["The boat is blue", "Yes"]
    assert _waiting(tmp_path) == []


@pytest.mark.parametrize("thaws_within", [True, False])
def test_an_answer_that_comes_too_late_stores_nothing_twice(
    behind, server, standin, tmp_path, thaws_within
):
    server.freeze()
    with behind() as memory:
        memory.on_turn_complete("The boat is blue", "")
        assert _stored(standin) == []
        assert len(_waiting(tmp_path)) == 1
        if thaws_within:
            server.thaw()
    server.thaw()
    server.settle(5)
    assert _stored(standin) == ["The boat is blue"]
    with behind("two") as memory:
        assert memory.recall_status()["state"] == "ok"
    assert _stored(standin) == ["The boat is blue"]
    assert _waiting(tmp_path) == []


def test_what_was_not_answered_is_sent_again_once_the_daemon_has_answered_for_a_while(
    behind, server, standin, monkeypatch
):
    with behind() as memory:
        server.turn(modes.reset)
        memory.on_turn_complete("one", "")
        server.turn(modes.forward)
        memory._session.standing.served()
        kept = json.loads(memory.handle_tool_call("mentisdb_store", {"content": "two"}))
        assert kept["status"] == "queued until the daemon answers"
        assert _stored(standin) == []
        monkeypatch.setattr(delivery, "_CALM_S", 0.0)
        memory._session.delivery._calm_at = 0.0
        memory.on_turn_complete("three", "")
        assert _stored(standin) == ["one", "two", "three"]


def test_what_nobody_listened_to_is_sent_in_the_same_session(opened, standin):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with opened(mentisdb={"url": f"http://127.0.0.1:{port}"}) as memory:
            memory.on_turn_complete("one", "")
            assert "is the daemon running?" in memory.unavailable_reason()
            assert memory.recall_status()["pending_writes"] == 1
    with opened("two") as memory:
        memory.on_turn_complete("two", "")
        assert _stored(standin) == ["one", "two"]


def test_sessions_that_send_what_waits_together_send_each_once(behind, server, standin, tmp_path):
    server.turn(modes.status(503))
    with behind() as memory:
        for number in range(10):
            memory.on_turn_complete(f"boat {number}", "")
    server.turn(modes.forward)
    together = threading.Barrier(3)

    def send():
        together.wait(10)
        delivery.Delivery(client, Outbox(tmp_path / "home" / OUTBOX), Standing()).flush(20)

    with contextlib.closing(daemon.Daemon(memory._settings)) as client:
        threads = [threading.Thread(target=send) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(_stored(standin)) == [f"boat {number}" for number in range(10)]
    assert _waiting(tmp_path) == []


def test_what_waits_is_sent_in_its_order_before_what_comes(behind, server, standin):
    with behind() as memory:
        server.turn(modes.status(503))
        for said in ("one", "two", "three"):
            memory.on_turn_complete(said, "")
        server.turn(modes.forward)
        memory._session.standing.served()
        memory.on_turn_complete("four", "")
        assert _stored(standin) == ["one", "two", "three", "four"]


def test_a_daemon_that_is_away_is_asked_little(behind, server):
    server.turn(modes.status(401, {"error": "bad token"}))
    with behind() as memory:
        for number in range(20):
            memory.on_turn_complete(f"{number}", "")
            memory.enrich_turn(f"{number}", [])
        assert len(server.requests) <= 2
        assert "MENTISDB_TOKEN" in memory.unavailable_reason()


def test_a_daemon_that_works_again_is_asked_again(behind, server, standin, monkeypatch):
    now = time.monotonic()
    with behind() as memory:
        server.turn(modes.status(503))
        memory.on_turn_complete("one", "")
        server.turn(modes.forward)
        monkeypatch.setattr(
            "memproto.reference_providers.mentisdb.standing.time.monotonic", lambda: now + 3600
        )
        memory.on_turn_complete("two", "")
        assert _stored(standin) == ["one", "two"]
        assert memory.unavailable_reason() == ""


def test_what_is_refused_for_good_is_told_and_does_not_wait(behind, server, tmp_path):
    with behind() as memory:
        for mode, error in ((modes.status(413), TooLarge), (modes.invalid_list(), Rejected)):
            server.turn(mode)
            with pytest.raises(error):
                memory.on_turn_complete("one", "two")
            memory.on_compress([{"role": "user", "content": "three"}], 1)
        server.turn(modes.forward)
        assert memory.recall_status()["state"] == "ok"
    assert _waiting(tmp_path) == []


def test_a_thought_that_waited_and_is_refused_does_not_block_the_others(
    opened, standin, tmp_path, caplog
):
    with opened(mentisdb={"url": "http://127.0.0.1:1"}) as memory:
        memory.on_turn_complete("poison", "")
        memory.on_turn_complete("The boat is blue", "")
        poison = _waiting(tmp_path)[0]
        held = json.loads(poison.read_text("utf-8"))
        held["thought"]["thought_type"] = "Nonsense"
        poison.write_text(json.dumps(held), "utf-8")
    with caplog.at_level(logging.WARNING, "memproto.mentisdb"), opened("two") as memory:
        status = memory.recall_status()
        assert (status["state"], status["lost_writes"]) == ("degraded", 1)
    assert _stored(standin) == ["The boat is blue"]
    assert "poison" not in caplog.text
    assert [path.name for path in (tmp_path / "home" / OUTBOX / "refused").iterdir()] == [
        poison.name
    ]


def test_users_of_one_home_send_what_waits_to_their_own_chains(behind, server, standin):
    server.turn(modes.status(503))
    for user in ("anna", "otto"):
        with behind(user_id=user) as memory:
            memory.on_turn_complete(f"{user}'s boat", "")
    server.turn(modes.forward)
    with behind(user_id="otto") as memory:
        assert "anna" not in memory.enrich_turn("boat", [])
    with behind(user_id="anna") as memory:
        assert memory.enrich_turn("boat", []) == "[Finding] anna's boat"
    assert sorted(_stored(standin)) == ["anna's boat", "otto's boat"]


def test_a_home_that_keeps_nothing_accepts_only_what_the_daemon_confirms(behind, server, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / OUTBOX).write_text("in the way", "ascii")
    with behind() as memory:
        memory.on_turn_complete("one", "")
        server.turn(modes.status(503))
        for _ in range(2):
            with pytest.raises(Unavailable):
                memory.on_turn_complete("two", "")


def test_a_removal_is_refused_while_what_it_means_cannot_be_seen(behind, server, standin):
    with behind() as memory:
        server.turn(modes.status(503))
        memory.on_memory_write("add", "memory", "The boat is blue")
        with pytest.raises(Unavailable):
            memory.on_memory_write("remove", "memory", None, "boat")
        server.turn(modes.forward)
        memory._session.standing.served()
        memory.on_memory_write("remove", "memory", None, "boat")
        assert memory.enrich_turn("boat", []) is None
    assert len(_stored(standin)) == 2


def test_too_much_that_waits_is_refused(behind, server, monkeypatch):
    with behind() as memory:
        memory._session.delivery._outbox._most = 3
        server.turn(modes.status(503))
        memory.on_turn_complete("one", "two")
        with pytest.raises(WriteRefused, match="waits"):
            memory.on_turn_complete("three", "four")
        assert memory.recall_status()["pending_writes"] == 2


def test_a_tool_says_that_what_it_took_waits(behind, server):
    server.turn(modes.status(503))
    with behind() as memory:
        kept = json.loads(memory.handle_tool_call("mentisdb_store", {"content": "a"}))
        found = json.loads(memory.handle_tool_call("mentisdb_recall", {"query": "a"}))
    assert kept == {"success": True, "status": "queued until the daemon answers"}
    assert (found["success"], "503" in found["error"]) == (False, True)


def test_an_older_daemon_is_searched_by_words(opened):
    with StandIn(has_ranks=False) as older, opened(mentisdb={"url": older.url}) as memory:
        memory.on_turn_complete("I keep the boat in Zonkville", "")
        assert "Zonkville" in memory.enrich_turn("Where is Zonkville?", [])
        assert memory.recall_status()["state"] == "ok"


def test_a_newer_daemon_may_tell_more_and_leave_things_out(behind, server):
    thoughts = [
        {"content": "The boat is blue", "x": 1, "thought_type": None},
        {"content": ["no text"]},
        {"x": 2},
        "a text",
        None,
    ]
    hits = [{"thought": one, "y": 3} for one in thoughts]
    server.turn(modes.status(200, {"results": [*hits, 4], "z": 5}))
    with behind() as memory:
        assert memory.enrich_turn("boat", []) == "[Memory] The boat is blue"


def test_set_up_says_what_is_wrong_with_the_daemon(tmp_path, monkeypatch, server):
    monkeypatch.setenv("MENTISDB_URL", f"http://127.0.0.1:{server.port}")
    memory = MentisDbMemoryProvider()
    memory.post_setup(str(tmp_path), {})
    for code, says in ((401, "MENTISDB_TOKEN"), (404, "9472"), (503, "503"), (400, "400")):
        server.turn(modes.status(code))
        with pytest.raises(Unavailable, match=says):
            memory.post_setup(str(tmp_path), {})


def test_an_answer_without_an_end_is_given_up(behind, server, monkeypatch):
    monkeypatch.setattr(daemon, "_LONGEST_ANSWER", 1_000)
    server.turn(modes.status(200, {"results": ["x" * 5_000]}))
    with behind() as memory:
        assert memory.enrich_turn("boat", []) is None
        assert "broke off" in memory.unavailable_reason()


def test_time_that_is_over_says_nothing_about_the_daemon(behind, server, standin, monkeypatch):
    server.turn(modes.status(503))
    with behind() as memory:
        memory.on_turn_complete("one", "two")
    server.turn(modes.forward)
    monkeypatch.setattr(delivery, "_left_s", _over)
    with behind("two") as memory:
        assert memory.recall_status()["state"] == "degraded"
        assert memory.unavailable_reason() == ""
    assert _stored(standin) == []


def _over(ends):
    raise delivery._OutOfTime("over")
