"""The mcp provider with the official SDK, before servers that are well, and that are not."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from memproto.errors import Misconfigured, Rejected, WriteRefused
from memproto.reference_providers.mcp import McpMemoryProvider, journal, settings
from tests.mcp.servers import children, over_http, over_streams, session, stored, the_server

FERRY = "The ferry to Aldermoor is called Ondine."
ASKED = "What is the ferry to Aldermoor called?"


@pytest.fixture(params=["streams", "http"])
def config(request, tmp_path):
    if request.param == "streams":
        return over_streams(tmp_path)
    return over_http(tmp_path, request.getfixturevalue("url"))


def test_what_a_session_stored_another_one_recalls(config):
    with session(config) as memory:
        memory.on_turn_complete(FERRY, "Noted.")
    with session(config, "two") as memory:
        assert FERRY in memory.enrich_turn(ASKED, [])
        assert memory.recall_status() == {"state": "ok", "recalled": 1, "pending_writes": 0}


def test_users_and_profiles_are_kept_apart_on_one_server(url, tmp_path):
    ids = [None, "anna", "Anna", "../anna", "a" * 10_000, "\u0430nna", "x-\0"]
    for number, user in enumerate(ids):
        with session({**over_http(tmp_path, url), "user_id": user}) as memory:
            memory.on_turn_complete(f"The harbour pilot is called Imke{number}.", "")
            assert memory.capabilities()["isolates"] == ["profile", "user"]
            recalled = memory.enrich_turn("harbour pilot", [])
            assert recalled == f"The harbour pilot is called Imke{number}."
    with session(over_http(tmp_path / "other", url)) as memory:
        assert memory.enrich_turn("harbour pilot", []) is None


def test_the_tools_are_search_store_and_those_that_the_operator_exposes(config):
    with session(config) as memory:
        names = memory.capabilities()["tool_names"]
        assert names == ["mcp_search", "mcp_store", "mcp_count_memories"]
        assert [one["name"] for one in memory.get_tool_schemas()] == names
        assert json.loads(memory.handle_tool_call("mcp_store", {"content": FERRY}))["success"]
        hits = json.loads(memory.handle_tool_call("mcp_search", {"query": "ferry"}))["hits"]
        assert FERRY in hits
        counted = json.loads(memory.handle_tool_call("mcp_count_memories", {}))
        assert counted["result"]["count"] >= 1
        hidden = json.loads(memory.handle_tool_call("mcp_add_memory", {"content": "x"}))
        assert "there is no tool" in hidden["error"]


def test_a_host_that_read_the_tools_before_the_start_gets_no_more_after_it(tmp_path):
    memory = McpMemoryProvider()
    before = {schema["name"] for schema in memory.get_tool_schemas()}
    memory.initialize("one", over_streams(tmp_path))
    assert {schema["name"] for schema in memory.get_tool_schemas()} == before
    memory.shutdown()


def test_exposed_tools_are_offered_while_the_server_is_away_if_they_were_seen_once(url, tmp_path):
    with session(over_http(tmp_path, url)):
        pass
    with session(over_http(tmp_path, "http://127.0.0.1:9/mcp")) as memory:
        assert "mcp_count_memories" in memory.capabilities()["tool_names"]
        answer = json.loads(memory.handle_tool_call("mcp_count_memories", {}))
        assert "cannot be reached" in answer["error"]


def test_a_turn_is_stored_once_for_its_id_also_in_a_later_session(tmp_path):
    turn = {
        "turn_id": "t1",
        "session_id": "one",
        "user_message": FERRY,
        "assistant_response": "",
        "started_at": "2026-03-03T10:00:00+02:00",
        "ended_at": "2026-03-03T10:00:01+02:00",
    }
    for key in ("one", "two"):
        with session(over_streams(tmp_path), key) as memory:
            memory.record(turn)
            memory.record(turn)
    assert stored(tmp_path) == 1


def test_a_replaced_or_removed_entry_is_refused_and_not_stored_as_a_new_one(tmp_path):
    with session(over_streams(tmp_path)) as memory:
        for action in ("replace", "remove"):
            with pytest.raises(WriteRefused):
                memory.on_memory_write(action, "memory", "new", "old")
    assert stored(tmp_path) == 0


# -- servers that are away -------------------------------------------------------------------------


def test_what_is_accepted_while_the_server_is_away_is_recalled_and_delivered_later(url, tmp_path):
    with session(over_http(tmp_path, "http://127.0.0.1:9/mcp")) as memory:
        status = memory.recall_status()
        assert status["state"] == "down"
        assert "cannot be reached" in memory.unavailable_reason()
        memory.on_turn_complete(FERRY, "")
        assert memory.enrich_turn(ASKED, []) == FERRY
        assert memory.recall_items({"query": ASKED})["status"] == "unavailable"
        assert memory.recall_status()["pending_writes"] == 1
    with session(over_http(tmp_path, url)) as memory:
        _until(lambda: memory.recall_status()["pending_writes"] == 0)
        assert memory.enrich_turn(ASKED, []) == FERRY


def test_a_server_that_died_is_started_anew_by_the_next_recall(tmp_path):
    with session(over_streams(tmp_path)) as memory:
        memory.on_turn_complete(FERRY, "")
        the_server().kill()
        _until(lambda: memory.enrich_turn(ASKED, []) == FERRY)
        assert memory.recall_status()["state"] == "ok"


def test_a_write_that_was_carried_out_and_not_answered_is_not_doubled(tmp_path):
    with session(over_streams(tmp_path, "dies-after-storing")) as memory:
        memory.on_turn_complete(FERRY, "")
        _until(lambda: memory.recall_status()["pending_writes"] == 0)
        assert tmp_path.joinpath("texts.once").exists()
        lines = tmp_path.joinpath("texts.jsonl").read_text("utf-8").splitlines()
        assert len(lines) == 1


@pytest.mark.parametrize(("look_up", "content"), [("", "{text}"), ("{id}", "{text} ({id})")])
def test_a_write_without_an_answer_is_looked_up_before_it_is_sent_again(tmp_path, look_up, content):
    """The stand-in is not told its ids here, so that only the look-up is between it and two."""
    plain = {"content": content, "owner": "{owner}"}
    config = over_streams(tmp_path, "dies-after-storing", look_up=look_up, store_arguments=plain)
    with session(config) as memory:
        memory.on_turn_complete(FERRY, "")
        _until(lambda: memory.recall_status()["pending_writes"] == 0)
    assert stored(tmp_path) == 1


def test_a_text_that_only_holds_the_write_is_not_taken_for_it(tmp_path):
    plain = {"content": "{text}", "owner": "{owner}"}
    config = over_streams(tmp_path, "dies-before-storing", look_up="", store_arguments=plain)
    with session(config) as memory:
        for boat in ("Boat 10", "Boat 1"):
            memory.on_memory_write("add", "memory", boat)
        _until(lambda: memory.recall_status()["pending_writes"] == 0)
        assert tmp_path.joinpath("texts.once").exists()
    assert stored(tmp_path) == 2


def test_a_server_that_takes_its_time_to_start_is_not_ended_by_who_asks_meanwhile(
    tmp_path, impatient
):
    with session(over_streams(tmp_path)) as memory:
        memory.on_turn_complete(FERRY, "")
        tmp_path.joinpath("texts.held").touch()
        the_server().kill()
        starts = tmp_path.joinpath("texts.starts")
        _until(lambda: memory.enrich_turn(ASKED, []) or len(starts.read_text().split()) == 2)
        for _ in range(2):
            assert memory.recall_items({"query": ASKED})["status"] == "unavailable"
        tmp_path.joinpath("texts.held").unlink()
        _until(lambda: memory.enrich_turn(ASKED, []) == FERRY)
        assert starts.read_text("ascii").split() == ["started"] * 2


def test_a_write_that_a_killed_process_had_claimed_is_sent_when_the_claim_has_run_out(
    tmp_path, url, impatient, monkeypatch
):
    monkeypatch.setattr(journal, "_CLAIM_S", 1.0)
    config = over_http(tmp_path, url)
    killed = journal.Journal(tmp_path / journal.FILE, settings.Settings.of(config).owner)
    killed.add("a", {"text": FERRY, "id": "a", "source": "turns"})
    with session(config) as memory:
        assert memory.enrich_turn(ASKED, []) == FERRY
        _until(lambda: memory.recall_status()["pending_writes"] == 0)
    killed.close()


def test_a_blank_turn_is_no_text(tmp_path):
    with session(over_streams(tmp_path)) as memory:
        memory.on_turn_complete(" ", "")
        memory.on_memory_write("add", "memory", "")
    assert stored(tmp_path) == 0


def test_a_server_that_hangs_keeps_no_hook_and_is_there_again_when_it_goes_on(tmp_path, impatient):
    with session(over_streams(tmp_path)) as memory:
        memory.on_turn_complete(FERRY, "")
        server = the_server()
        server.suspend()
        began = time.monotonic()
        memory.enrich_turn(ASKED, [])
        assert time.monotonic() - began < 5
        assert memory.recall_items({"query": ASKED})["status"] == "unavailable"
        server.resume()
        _until(lambda: memory.recall_items({"query": ASKED})["status"] == "ok")
        assert the_server() == server, "one that only was slow is not started anew"


def test_a_text_that_the_server_refuses_is_told_and_stops_no_other(tmp_path):
    with session(over_streams(tmp_path, "picky")) as memory:
        with pytest.raises(Rejected, match="add_memory failed"):
            memory.on_memory_write("add", "memory", "poison")
        memory.on_memory_write("add", "memory", FERRY)
        assert memory.recall_status()["pending_writes"] == 0
    assert stored(tmp_path) == 1


def test_hooks_on_many_threads_store_each_text_once(tmp_path):
    with session(over_streams(tmp_path)) as memory:
        threads = [
            threading.Thread(target=memory.on_memory_write, args=("add", "memory", f"Boat {n}"))
            for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert stored(tmp_path) == 20


# -- processes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["none", "immortal"])
def test_nothing_of_a_server_is_left_when_a_session_ends(tmp_path, fault, impatient):
    with session(over_streams(tmp_path, fault)):
        started = children()
        assert started
        began = time.monotonic()
    assert time.monotonic() - began < 10
    _gone, alive = psutil.wait_procs(started, timeout=5)
    assert not alive, [one.cmdline() for one in alive]
    assert not [one for one in threading.enumerate() if one.name == "memproto-mcp"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a server is told by its input")
def test_nothing_of_a_server_is_left_when_its_host_is_killed(tmp_path):
    code = (
        "import json, sys\n"
        "from memproto.reference_providers.mcp import McpMemoryProvider\n"
        "McpMemoryProvider().initialize('one', json.loads(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "import signal; signal.pause()\n"
    )
    words = [sys.executable, "-P", "-c", code, json.dumps(over_streams(tmp_path, "immortal"))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout.readline() == "ready\n"
        started = psutil.Process(host.pid).children(recursive=True)
        host.kill()
    _gone, alive = psutil.wait_procs(started, timeout=5)
    assert started
    assert not alive, [one.cmdline() for one in alive]


def test_a_copy_of_the_process_has_a_connection_of_its_own(url, tmp_path):
    with session(over_http(tmp_path, url)) as memory:
        copy = os.fork()
        if not copy:
            signal.alarm(30)
            memory.on_memory_write("add", "memory", FERRY)
            found = memory.enrich_turn(ASKED, [])
            memory.shutdown()
            os._exit(0 if found == FERRY else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
        assert memory.enrich_turn(ASKED, []) == FERRY


# -- what is wrong with the configuration ----------------------------------------------------------


def test_a_server_without_the_named_tools_is_a_fault_that_says_what_there_is(tmp_path, url):
    with pytest.raises(Misconfigured, match="has no tool search_memory; it has none"):
        McpMemoryProvider().initialize("one", over_streams(tmp_path, "toolless"))
    assert not children()
    with pytest.raises(Misconfigured, match="add_memory, count_memories, search_memory"):
        McpMemoryProvider().initialize("one", over_http(tmp_path, url, store_tool="keep"))


def test_a_command_that_does_not_exist_is_a_state_that_is_told(tmp_path):
    with session(over_streams(tmp_path, command="no-such-server --now")) as memory:
        assert memory.recall_status()["state"] == "down"
        assert "no-such-server" in memory.unavailable_reason()
    log = tmp_path.joinpath("mcp-server.log").read_text("utf-8")
    assert "no-such-server cannot be started" in log


def _until(holds, within_s=60):
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
