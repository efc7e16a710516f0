"""The builtin provider as a host and a model meet it: hooks, tool, prompt, settings, transfer."""

import contextlib
import importlib.resources
import json
import re
import tempfile
import threading

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memproto.errors import (
    Misconfigured,
    Rejected,
    TooLarge,
    Unavailable,
    WriteRefused,
)
from memproto.extensions import BackupProvider, PromptProvider, ToolProvider
from memproto.provider import MemoryProvider
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.reference_providers.builtin.builtin_sessions import call, opened, provider, stored

__all__ = ["provider"]  # a fixture


# -- identity and declarations


def test_it_has_the_nine_members_and_serves_tools_prompt_and_backup(provider):
    for protocol in (MemoryProvider, ToolProvider, PromptProvider, BackupProvider):
        assert isinstance(provider, protocol)


def test_its_name_is_builtin_and_it_is_available_before_initialize():
    assert (BuiltinMemoryProvider().name, BuiltinMemoryProvider().is_available()) == (
        "builtin",
        True,
    )


def test_it_declares_writes_and_tools_and_no_turns(provider):
    declared = provider.capabilities()
    assert declared["tool_names"] == {"memory"}
    assert declared["stores"] == ["writes", "tools"]
    assert declared["mirrors"] == {
        "memory": ["add", "replace", "remove"],
        "user": ["add", "replace", "remove"],
    }


@pytest.mark.parametrize(
    "off", [(), ("memory_enabled",), ("memory_enabled", "user_profile_enabled")]
)
def test_what_it_declares_is_valid_by_the_schema_of_the_specification(tmp_path, off):
    declared = opened(tmp_path, **dict.fromkeys(off, False)).capabilities()
    path = importlib.resources.files("memproto._spec") / "v1/schemas/capabilities.schema.json"
    schema = json.loads(path.read_text("utf-8"))
    jsonschema.validate(json.loads(json.dumps(declared, default=sorted)), schema)


def test_what_it_declared_cannot_be_changed_through_the_answer(provider):
    provider.capabilities()["tool_names"].clear()
    provider.get_tool_schemas()[0].clear()
    assert provider.capabilities()["tool_names"] == {"memory"}
    assert provider.get_tool_schemas()[0]["name"] == "memory"


def test_a_target_that_is_switched_off_is_not_declared_and_refuses(tmp_path):
    provider = opened(tmp_path, user_profile_enabled=False)
    assert list(provider.capabilities()["mirrors"]) == ["memory"]
    with pytest.raises(WriteRefused, match="switched off"):
        provider.on_memory_write("add", "user", "x")
    assert "switched off" in call(provider, "read", "user")["error"]


def test_with_both_targets_off_it_offers_no_tool_and_stores_nothing(tmp_path):
    provider = opened(tmp_path, user_profile_enabled=False, memory_enabled=False)
    assert provider.get_tool_schemas() == []
    assert provider.capabilities()["tool_names"] == set()
    assert provider.capabilities()["stores"] == []
    assert provider.enrich_turn("hello", []) is None


def test_everything_lies_in_the_home(provider):
    assert provider.backup_paths() == []


# -- writes and recall


def test_a_write_is_recalled_by_the_next_session_and_not_by_this_one(provider, tmp_path):
    provider.on_memory_write("add", "memory", "Deploys run from Trollhättan")
    assert provider.enrich_turn("where?", []) is None
    assert "Deploys run from Trollhättan" in opened(tmp_path).enrich_turn("where?", [])


def test_replace_and_remove_leave_nothing_of_the_old_text(provider, tmp_path):
    provider.on_memory_write("add", "user", "Lives in Oulu")
    provider.on_memory_write("replace", "user", "Lives in Turku", "Lives in Oulu")
    assert stored(provider, "user") == ["Lives in Turku"]
    provider.on_memory_write("remove", "user", None, "Turku")
    assert opened(tmp_path).enrich_turn("", []) is None


def test_a_removal_without_old_text_quotes_the_entry_in_content(provider):
    provider.on_memory_write("add", "memory", "stale")
    provider.on_memory_write("remove", "memory", "stale")
    assert stored(provider) == []


def test_the_same_write_twice_is_accepted_and_stored_once(provider):
    provider.on_memory_write("add", "memory", "once")
    provider.on_memory_write("add", "memory", "once")
    assert stored(provider) == ["once"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("append", "memory", "x"), Rejected),
        (("read", "memory", "x"), Rejected),
        (("add", "soul", "x"), Rejected),
        (("add", "memory", None), Rejected),
        (("add", "memory", b"x"), Rejected),
        (("replace", "memory", "x"), Rejected),
        (("remove", "memory", None, None), Rejected),
        (("remove", "memory", None, "absent"), WriteRefused),
        (("add", "memory", "x" * 2201), TooLarge),
        (("add", "user", "x" * 1376), TooLarge),
    ],
)
def test_a_write_that_cannot_be_done_raises_the_error_that_says_why(provider, arguments, error):
    with pytest.raises(error):
        provider.on_memory_write(*arguments)
    assert stored(provider) == stored(provider, "user") == []


@pytest.mark.parametrize(("target", "limit"), [("memory", 2200), ("user", 1375)])
def test_the_limits_are_2200_and_1375_characters_exactly(provider, target, limit):
    provider.on_memory_write("add", target, "x" * limit)
    assert call(provider, "read", target)["usage"] == f"100% — {limit:,}/{limit:,} chars"


def test_limits_from_the_configuration_hold(tmp_path):
    provider = opened(tmp_path, memory_char_limit=3, user_char_limit=4)
    provider.on_memory_write("add", "memory", "abc")
    provider.on_memory_write("add", "user", "abcd")
    with pytest.raises(WriteRefused):
        provider.on_memory_write("add", "memory", "d")


@settings(deadline=None)
@given(text=st.text(st.characters(), max_size=40) | st.sampled_from(["a\n§\nb", "§", "\r\n x\0"]))
@example(text="\ud83d\ude00")
def test_any_text_comes_back_equal_after_the_store_was_opened_again(text):
    with tempfile.TemporaryDirectory() as home:
        first = opened(home)
        first.on_memory_write("add", "memory", "before")
        if not text.strip():
            with pytest.raises(Rejected):
                first.on_memory_write("add", "memory", text)
            return
        first.on_memory_write("add", "memory", text)
        first.shutdown()
        again = opened(home)
        on_disk = [entry.content for entry in again._session.stores["memory"].read()]
        assert on_disk == list(dict.fromkeys(["before", text]))
        assert text in again.enrich_turn("", [])


def test_turns_and_compressions_leave_no_file(tmp_path):
    provider = opened(tmp_path / "home")
    provider.on_turn_complete("I live in Oulu", "Noted")
    provider.on_compress([{"role": "user", "content": "I live in Oulu"}], 1)
    assert list((tmp_path / "home").iterdir()) == []


# -- the prompt


def test_the_prompt_block_is_byte_equal_for_the_session(provider, tmp_path):
    provider.on_memory_write("add", "memory", "first")
    session = opened(tmp_path)
    before = session.system_prompt_block()
    session.on_memory_write("add", "memory", "second")
    assert session.system_prompt_block() == session.enrich_turn("x", []) == before


def test_the_prompt_block_shows_usage_and_entries_and_no_dates(provider, tmp_path):
    provider.on_memory_write("add", "memory", "one")
    provider.on_memory_write("add", "memory", "two")
    provider.on_memory_write("add", "user", "x" * 1000)
    rule = "═" * 46
    assert opened(tmp_path).system_prompt_block() == (
        f"{rule}\nMEMORY (your own notes) [0% — 9/2,200 chars]\n{rule}\none\n§\ntwo\n\n"
        f"{rule}\nUSER PROFILE (the person you work with) [72% — 1,000/1,375 chars]\n{rule}\n"
        + "x"
        * 1000
    )


def test_dates_are_on_disk(provider, tmp_path):
    provider.on_memory_write("add", "memory", "one")
    assert (tmp_path / "MEMORY.md").read_text("utf-8").startswith("<!-- 20")


def test_recall_is_none_where_the_host_takes_the_prompt_block(provider, tmp_path):
    provider.on_memory_write("add", "memory", "fact")
    hooks = {"hooks": ["enrich_turn", "system_prompt_block"]}
    session = opened(tmp_path, protocol=hooks)
    assert session.enrich_turn("x", []) is None
    assert "fact" in session.system_prompt_block()


@given(st.lists(st.text("ab \n", min_size=1, max_size=300), max_size=8), st.integers(0, 2600))
@settings(deadline=None, max_examples=50)
def test_recall_shows_whole_entries_within_the_hosts_limit(texts, limit):
    with tempfile.TemporaryDirectory() as home:
        writer = opened(home, user_char_limit=2600)
        for number, text in enumerate(texts):
            with contextlib.suppress(WriteRefused):
                writer.on_memory_write("add", ("memory", "user")[number % 2], f"<{text}>")
        bounded = opened(home, user_char_limit=2600, limits={"recall_chars": limit})
        recalled, whole = (
            p.enrich_turn("", []) or "" for p in (bounded, opened(home, user_char_limit=2600))
        )
        there = {*stored(bounded), *stored(bounded, "user")}
    shown = re.findall("<[^>]*>", recalled)
    assert len(recalled) <= limit
    assert set(shown) <= there
    assert len(shown) == recalled.count("<")
    assert recalled == whole or len(whole) > limit


@pytest.mark.parametrize("limits", [None, 3, {}, {"recall_chars": None}, {"recall_chars": True}])
def test_a_limit_that_is_no_number_is_none(provider, tmp_path, limits):
    provider.on_memory_write("add", "memory", "fact")
    assert "fact" in opened(tmp_path, limits=limits).enrich_turn("x", [])


@pytest.mark.parametrize("protocol", [None, 3, {}, {"hooks": None}, {"hooks": ["enrich_turn"]}])
def test_recall_is_the_snapshot_where_the_host_takes_no_prompt_block(provider, tmp_path, protocol):
    provider.on_memory_write("add", "memory", "fact")
    assert "fact" in opened(tmp_path, protocol=protocol).enrich_turn("x", [])


def test_a_file_made_too_long_by_hand_is_cut_at_an_entry_and_the_cut_is_said(tmp_path):
    (tmp_path / "MEMORY.md").write_text("aaaa\n§\nbbbb\n§\ncccc\n", "utf-8")
    block = opened(tmp_path, memory_char_limit=12).system_prompt_block()
    assert "[150% — 18/12 chars]" in block
    assert block.endswith("aaaa\n§\nbbbb\n§\n[1 more entry is over the limit and not shown; the "
                          "memory tool reads it]")  # fmt: skip


# -- the end


def test_shutdown_may_come_before_initialize_and_twice():
    provider = BuiltinMemoryProvider()
    provider.shutdown()
    provider.shutdown()


def test_shutdown_may_come_after_a_failed_initialize():
    provider = BuiltinMemoryProvider()
    with pytest.raises(Misconfigured):
        provider.initialize("s", {})
    provider.shutdown()


def test_shutdown_may_come_from_two_threads_at_once(provider):
    barrier, raised = threading.Barrier(2), []

    def end():
        barrier.wait(10)
        try:
            provider.shutdown()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=end) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert raised == []


def test_hooks_before_initialize_and_after_shutdown_say_that_there_is_no_session(provider):
    provider.shutdown()
    for closed in (provider, BuiltinMemoryProvider()):
        with pytest.raises(Unavailable, match="no session"):
            closed.enrich_turn("x", [])
        with pytest.raises(Unavailable, match="no session"):
            closed.on_memory_write("add", "memory", "x")
        assert "no session" in call(closed, "add", content="x")["error"]
