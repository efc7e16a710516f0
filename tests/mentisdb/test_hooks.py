"""Thoughts that each hook of the mentisdb provider leaves on the chain, stand-in or live daemon."""

import json
import time

import pytest

from memproto.errors import Rejected, Unavailable, WriteRefused
from memproto.reference_providers.mentisdb import thoughts


def _recorded(memory, turn_id, said, **more):
    turn = {
        "turn_id": turn_id,
        "session_id": "one",
        "started_at": "2026-03-14T09:26:53+05:45",
        "ended_at": "2026-03-14T09:27:10+05:45",
        "user_message": said,
        "assistant_response": "Noted.",
    }
    memory.record({**turn, **more})


def _tags(thought, prefix):
    return [tag.removeprefix(prefix) for tag in thought["tags"] if tag.startswith(prefix)]


def test_both_sides_of_a_turn_are_thoughts_of_their_session(opened, chain, name):
    with opened("boats/7", platform="telegram") as memory:
        memory.on_turn_complete(f"The boat {name} is blue", "Nice")
        memory.on_turn_complete(" ", "")
        said, answer = chain(memory)
        assert name in memory.enrich_turn(f"What colour is {name}?", [])
    assert [said["content"], answer["content"]] == [f"The boat {name} is blue", "Nice"]
    assert [_tags(one, "role:") for one in (said, answer)] == [["user"], ["assistant"]]
    assert _tags(said, "session:")[0].startswith("sha256-")
    assert _tags(said, "platform:") == ["telegram"]


def test_a_recorded_turn_is_stored_once_for_its_id_with_its_author_and_time(opened, chain, name):
    with opened() as memory:
        _recorded(memory, "t1", name, author={"id": "anna"})
    with opened("two") as memory:
        _recorded(memory, "t1", name)
        _recorded(memory, "t2", name)
        said = [one for one in chain(memory) if one["content"] == name]
    assert [_tags(one, "turn:") for one in said] == [["t1"], ["t2"]]
    assert _tags(said[0], "author:") == ["anna"]
    assert _tags(said[0], "at:") == ["2026-03-14T09:26:53+05:45"]


def test_a_turn_of_a_job_is_not_stored_unless_the_host_asks_for_it(opened, chain, name):
    with opened(agent_context="cron") as memory:
        memory.on_turn_complete(name, "")
        _recorded(memory, "t1", name)
    asked = {"contexts": ["primary", "cron"]}
    with opened(agent_context="cron", protocol=asked) as memory:
        assert chain(memory) == []
        memory.on_turn_complete(name, "")
        assert len(chain(memory)) == 1


def _recalled(memory, name):
    shown = memory.enrich_turn(f"boat {name}", []) or ""
    return sorted(part.partition("] ")[2] for part in shown.split("\n\n") if part)


def test_writes_of_the_memory_tool_are_mirrored_with_their_target(opened, chain, name):
    with opened() as memory:
        memory.on_memory_write("add", "memory", f"boat {name} a")
        memory.on_memory_write("add", "user", f"boat {name} b")
        found = [(one["thought_type"], *_tags(one, "memory-file:")) for one in chain(memory)]
        assert _recalled(memory, name) == [f"boat {name} a", f"boat {name} b"]
    assert found == [("LessonLearned", "memory"), ("UserTrait", "user")]


def test_what_was_replaced_or_removed_is_on_the_chain_and_not_recalled(opened, chain, name):
    with opened() as memory:
        memory.on_memory_write("add", "memory", f"The boat {name} is blue")
        memory.on_memory_write("replace", "memory", f"The boat {name} is red", "blue")
        assert _recalled(memory, name) == [f"The boat {name} is red"]
        memory.on_memory_write("add", "memory", f"The boat {name} is blue")
        memory.on_memory_write("remove", "memory", None, f"{name} is red")
    with opened("two") as memory:
        assert _recalled(memory, name) == [f"The boat {name} is blue"]
        assert memory.times_stored(name) == 1
        answer = json.loads(memory.handle_tool_call("mentisdb_recall", {"query": name}))
        texts = [one["content"] for one in chain(memory)]
    assert [hit["text"] for hit in answer["results"]] == [f"The boat {name} is blue"]
    assert sum(name in text for text in texts) == 3
    assert texts.count("An entry of the memory is over.") == 2


def test_a_removal_takes_every_part_and_every_copy_and_nothing_else(opened, name, monkeypatch):
    monkeypatch.setattr(thoughts, "_LONGEST", 5_000)
    long = f"boat {name} " + "x" * 9_000
    with opened() as memory:
        for text in (f"boat {name}", f"boat {name}", long):
            memory.on_memory_write("add", "memory", text)
        memory.on_memory_write("add", "user", f"boat {name} of the user")
        memory.on_memory_write("remove", "memory", None, "x" * 100)
        assert len(_recalled(memory, name)) == 2
        memory.on_memory_write("remove", "memory", f"boat {name}")
        assert _recalled(memory, name) == [f"boat {name} of the user"]


@pytest.mark.parametrize("old", ["", None, "nothing like it", "boat"])
def test_a_write_whose_old_text_names_no_one_entry_is_refused(opened, chain, name, old):
    with opened() as memory:
        memory.on_memory_write("add", "memory", f"A blue boat {name}")
        memory.on_memory_write("add", "memory", f"A red boat {name}")
        memory.on_turn_complete("nothing like it", "")
        with pytest.raises(WriteRefused):
            memory.on_memory_write("replace", "memory", "A green boat", old)
        with pytest.raises(Rejected, match="action"):
            memory.on_memory_write("paint", "user", "x")
        with pytest.raises(Rejected, match="content"):
            memory.on_memory_write("add", "user", None)
        assert len(chain(memory)) == 3


def test_compression_stores_what_is_not_stored_yet_and_only_once(opened, chain, name):
    messages = [
        {"role": "user", "content": f"{name} known"},
        {"role": "assistant", "content": "Yes"},
        {"role": "user", "content": f"{name} new"},
        {"role": "user", "content": " "},
    ]
    with opened() as memory:
        memory.on_turn_complete(f"{name} known", "")
        memory.on_compress(messages, 1)
    with opened("two") as memory:
        memory.on_compress(messages, 1)
        found = chain(memory)
    assert [one["content"] for one in found] == [f"{name} known", f"{name} new"]
    assert "pre-compress" in found[1]["tags"]


def test_words_that_a_compression_brought_are_left_out_of_the_turn_that_brings_them(
    opened, chain, name
):
    said = [{"role": "user", "content": name}]
    with opened() as memory:
        memory.on_compress(said, 1)
        memory.on_turn_complete(name, name)
        assert [one["content"] for one in chain(memory)] == [name] * 2
        memory.on_turn_complete(name, "")
        assert len(chain(memory)) == 3


def test_words_of_another_conversation_are_stored_whatever_a_compression_brought(
    opened, chain, name
):
    with opened() as memory:
        memory.on_compress([{"role": "user", "content": name}], 1)
        memory.on_session_switch("two", reset=True)
        memory.on_turn_complete(name, "")
        assert len(chain(memory)) == 2


def test_the_end_of_a_session_is_one_summary_however_often_it_ends(opened, chain, name):
    messages = [{"role": "user", "content": f"{name}  {n} " + "x" * 100} for n in range(7)]
    with opened() as memory:
        memory.on_session_end([])
        memory.on_session_end(messages)
        memory.on_session_end(messages)
        (summary,) = chain(memory)
        assert memory.times_stored(name) == 0
    assert summary["thought_type"] == "Summary"
    assert summary["content"].startswith(f"Session one: 7 turns. Topics: {name} 0 xxx")
    assert summary["content"].count(";") == 4


def test_a_delegation_is_stored_with_bounds_in_the_session_of_the_parent(opened, chain, name):
    with opened() as memory:
        memory.on_delegation("t" * 100_000, f"r{name}" + "r" * 100_000, child_session_id="kid")
        memory.on_session_switch("other", reset=True)
        memory.on_turn_complete(name, "")
        told, said = chain(memory)
    assert len(told["content"]) < 21_000
    assert (_tags(told, "session:"), _tags(told, "child:")) == (["one"], ["kid"])
    assert _tags(said, "session:") == ["other"]


def test_what_a_tool_stored_another_session_finds_by_the_other_tool(opened, chain, name):
    kept = {"content": f"The lamp {name} is green", "thought_type": "Fact", "tags": ["pier"]}
    with opened() as memory:
        assert json.loads(memory.handle_tool_call("mentisdb_store", kept))["status"] == "stored"
    with opened("two") as memory:
        (thought,) = chain(memory)
        answer = json.loads(memory.handle_tool_call("mentisdb_recall", {"query": name}))
    assert (thought["thought_type"], "pier" in thought["tags"]) == ("FactLearned", True)
    assert [hit["text"] for hit in answer["results"]] == [kept["content"]]


def test_a_lesson_that_a_model_files_under_a_word_of_the_provider_is_found(opened, name):
    kept = {"content": f"The paper of {name} was withdrawn", "tags": ["retraction"]}
    with opened() as memory:
        memory.handle_tool_call("mentisdb_store", kept)
        assert name in memory.enrich_turn(f"paper {name}", [])


def test_users_homes_and_personas_do_not_see_each_other(opened, name):
    with opened(user_id="anna") as memory:
        memory.on_turn_complete(f"The boat {name} is blue", "")
    others = [
        {"user_id": "Anna"},
        {},
        {"user_id": "ann\u0430"},
        {"user_id": "anna", "agent_identity": "b"},
    ]
    for config in others:
        with opened(**config) as memory:
            assert memory.enrich_turn(f"boat {name}", []) is None
    with opened(home="other", user_id="anna") as memory:
        assert memory.enrich_turn(f"boat {name}", []) is None
    with opened(user_id="anna", user_name="A", platform="matrix") as memory:
        assert memory.enrich_turn(f"boat {name}", [])


def test_a_very_long_text_is_stored_in_parts_and_its_end_is_found(opened, chain, name, monkeypatch):
    monkeypatch.setattr(thoughts, "_LONGEST", 5_000)
    with opened() as memory:
        memory.on_turn_complete("sail \u20ac" * 2_000 + f" The boat {name} is blue", "")
        found = chain(memory)
        recalled = memory.enrich_turn(f"boat {name}", [])
    assert [_tags(one, "part:") for one in found] == [["1/3"], ["2/3"], ["3/3"]]
    assert f"The boat {name} is blue" in recalled
    assert len(recalled) < 2_000


@pytest.mark.parametrize("letter", ["\1", "\U0001f600", '"'])
def test_the_longest_part_is_one_that_a_daemon_takes(opened, chain, letter):
    with opened() as memory:
        memory.on_turn_complete(letter * (thoughts._LONGEST + 1), "")
        assert [len(one["content"]) for one in chain(memory)] == [thoughts._LONGEST, 1]


def test_half_characters_and_nul_are_stored_as_far_as_a_daemon_can_hold_them(opened, chain, name):
    with opened("\ud800\0") as memory:
        memory.on_turn_complete(f"{name} \ud800 \0 \ud83d\ude00", "\udfff")
        said, answer = chain(memory)
    assert said["content"] == f"{name} \ufffd \0 \U0001f600"
    assert answer["content"] == "\ufffd"


def test_a_prepared_answer_costs_no_request(opened, standin, name):
    with opened() as memory:
        memory.on_turn_complete(f"The boat {name} is blue", "")
        memory.queue_prefetch(f"boat {name}")
        assert name in memory.enrich_turn(f"boat {name}", [])
        searches = [path for _, path in standin.requests if path == "/v1/ranked-search"]
        assert len(searches) == 1


def test_a_hook_waits_for_another_one_no_longer_than_it_may_take(opened, chain, impatient):
    with opened() as memory:
        with memory._session.delivery._turn(time.monotonic() + 60):
            memory.on_turn_complete("one", "")
        assert memory.recall_status()["pending_writes"] == 1
        memory.on_turn_complete("two", "")
        assert [one["content"] for one in chain(memory)] == ["one", "two"]


def test_each_hook_makes_the_requests_that_its_page_names(opened, standin):
    """The table in docs/mentisdb.md, "What it costs"."""

    def cost(hook, *given):
        before = len(standin.requests)
        hook(*given)
        return len(standin.requests) - before

    with opened() as memory:
        assert cost(memory.enrich_turn, "Where is Quillen?", []) == 1
        assert cost(memory.on_turn_complete, "The boat Quillen is blue", "Nice") == 2
        assert cost(memory.on_memory_write, "add", "memory", "Quillen is a dog") == 1
        assert cost(memory.enrich_turn, "Who is Quillen?", []) == 2
        assert cost(_recorded, memory, "t1", "The ferry is Ondine") == 4
        assert cost(memory.on_memory_write, "replace", "memory", "Quillen is a cat", "dog") == 4
        assert cost(memory.on_memory_write, "remove", "memory", "", "cat") == 3
        fresh = [{"role": "user", "content": f"The pilot {at} is Marisol"} for at in range(25)]
        assert cost(memory.on_compress, fresh, 1) == 1 + 2 * 25
        assert cost(memory.on_compress, fresh, 2) == 1
        assert cost(memory.on_session_end, fresh) == 2
        assert cost(memory.shutdown) == 0


def test_a_blank_message_asks_nobody(opened, standin):
    with opened() as memory:
        before = len(standin.requests)
        assert memory.enrich_turn(" \n", []) is None
        memory.queue_prefetch("")
        assert len(standin.requests) == before


def test_nothing_is_asked_before_there_is_a_reason(opened, standin):
    with opened() as memory:
        assert memory.is_available()
        assert memory.unavailable_reason() == ""
        assert memory.recall_status()["state"] == "ok"
        memory.system_prompt_block()
        memory.get_tool_schemas()
    assert standin.requests == []


def test_after_its_end_a_session_takes_nothing(opened):
    with opened() as memory:
        memory.shutdown()
        memory.shutdown()
        with pytest.raises(Unavailable, match="no session"):
            memory.on_turn_complete("a", "b")
