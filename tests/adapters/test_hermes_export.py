"""`to_hermes`: what a Hermes host's calls become for a native provider."""

from pathlib import Path

import pytest

from memproto.adapters.hermes import from_hermes, to_hermes
from memproto.errors import InvalidLabel, NotAProvider, Unavailable, WriteRefused
from memproto.fence import build_memory_context_block
from tests.hermes_shapes import Bare
from tests.native_shapes import EVERYTHING, Plain, Rich, hermes

__all__ = ["hermes"]  # a fixture


# -- what is taken ---------------------------------------------------------------------------------


def test_a_class_an_incomplete_object_and_a_bad_name_are_refused():
    class Unnamed(Plain):
        name = "No Label"

    for given, error in (
        (Plain, NotAProvider),
        (object(), NotAProvider),
        (Unnamed(), InvalidLabel),
    ):
        with pytest.raises(error):
            to_hermes(given)
    with pytest.raises(InvalidLabel):
        to_hermes(Plain(), name="../up")


def test_a_hermes_provider_that_went_through_from_hermes_comes_back_itself():
    provider = Bare()
    assert to_hermes(from_hermes(provider)) is provider


def test_the_host_knows_the_provider_by_the_name_that_it_was_given():
    assert (to_hermes(Plain()).name, to_hermes(Plain(), name="notes").name) == ("plain", "notes")


def test_every_hook_that_a_host_calls_is_there_without_a_host_installed():
    assert from_hermes(to_hermes(Plain())).missing_hooks == ()


def test_the_shape_shows_the_extensions_that_the_provider_has_and_no_others(hermes):
    plain = from_hermes(hermes(Plain())).capabilities()["extensions"]
    rich = from_hermes(hermes(Rich())).capabilities()["extensions"]
    assert plain == ["compress_notes"]  # on_pre_compress is one hook for two things
    assert set(EVERYTHING) - set(rich) == {"record", "items", "privacy"}


def test_a_provider_with_coroutine_hooks_is_driven_by_a_loop_of_its_own(hermes):
    class Coroutines(Plain):
        async def enrich_turn(self, user_message, messages):
            return "from a coroutine"

    adapter = hermes(Coroutines())
    assert adapter.prefetch("q") == "from a coroutine"
    adapter.shutdown()


# -- a session -------------------------------------------------------------------------------------


def test_the_keywords_of_a_hermes_host_become_a_native_config(hermes, tmp_path):
    provider = Plain()
    hermes(
        provider,
        user_id="7",
        agent_workspace="w",
        chat_id="c",
        warning_callback=print,
        platform="telegram",
    )
    config = provider.config
    assert config["home"] == str(tmp_path / "memproto" / "plain")
    assert Path(config["home"]).is_dir()
    assert (config["host_home"], config["workspace"]) == (str(tmp_path), "w")
    assert (config["user_id"], config["chat_id"]) == ("telegram:7", "c")
    assert config["protocol"]["contexts"] == ["primary"]
    assert {"enrich_turn", "record", "compress_notes"} <= set(config["protocol"]["hooks"])
    assert "recall_items" not in config["protocol"]["hooks"]
    assert "warning_callback" not in config
    assert {"deadlines", "limits", "platform"} <= set(config)


def test_a_host_that_names_no_home_means_that_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    provider = Plain()
    to_hermes(provider).initialize("s1")
    assert provider.config["host_home"] == str(tmp_path)


def test_a_provider_that_fails_to_start_is_shut_down_and_not_asked_again(hermes):
    class Fails(Rich):
        def initialize(self, session_key, config):
            raise WriteRefused("no")

    provider = Fails()
    with pytest.raises(WriteRefused):
        hermes(provider)
    adapter = to_hermes(provider)
    assert (adapter.prefetch("q"), adapter.on_pre_compress([])) == ("", "")
    with pytest.raises(Unavailable):
        adapter.sync_turn("u", "a")
    assert provider.calls == [("shutdown",)]


def test_a_session_that_fails_to_start_behind_another_leaves_none_open(hermes, tmp_path):
    class FailsAgain(Plain):
        def initialize(self, session_key, config):
            if session_key == "again":
                raise WriteRefused("no")
            super().initialize(session_key, config)

    adapter = hermes(FailsAgain())
    with pytest.raises(WriteRefused):
        adapter.initialize("again", hermes_home=str(tmp_path))
    with pytest.raises(Unavailable):
        adapter.sync_turn("u", "a")


def test_recall_gets_the_message_and_none_is_an_empty_text(hermes):
    provider = Plain()
    adapter = hermes(provider)
    assert adapter.prefetch("What?", session_id="s1") == ""
    told = [{"role": "user", "content": "What?"}]
    assert provider.calls == [("enrich_turn", "What?", told)]


def test_what_stands_in_the_system_prompt_is_not_recalled_as_well(hermes):
    provider = Rich()
    provider.recalled = "Static."
    adapter = hermes(provider)
    assert adapter.prefetch("q") == "Static."
    assert adapter.system_prompt_block() == "Static."
    assert adapter.prefetch("q") == ""


def test_a_turn_is_plain_text_without_the_block_of_the_host(hermes):
    provider = Plain()
    said = "Hi.\n\n" + build_memory_context_block([("plain", "Old.")])
    hermes(provider).sync_turn(said, [{"type": "text", "text": "Yes."}], session_id="s1")
    assert provider.calls == [("on_turn_complete", "Hi.", "Yes.")]


def test_a_provider_that_records_turns_gets_all_that_the_host_told(hermes):
    provider = Rich()
    adapter = hermes(provider)
    adapter.prefetch("Hi.")
    conversation = [
        {"role": "user", "content": "Before."},
        {"role": "assistant", "content": "Then."},
        {"role": "user", "content": "Hi."},
        {"role": "tool", "content": "{}"},
    ]
    author = {"id": "u7", "name": "Ada", "more": 1}
    adapter.sync_turn(
        "Hi.", "Yes.", session_id="s0", messages=conversation, turn_id="t1", turn_author=author
    )
    ((hook, turn),) = provider.calls[1:]
    assert hook == "record"
    assert (turn["turn_id"], turn["session_id"]) == ("t1", "s0")
    assert turn["messages"] == conversation[2:]
    assert turn["author"] == {"id": "u7", "name": "Ada"}
    assert turn["started_at"] < turn["ended_at"]


BOT = {"id": "b9", "name": "Rook", "is_bot": True}


@pytest.mark.parametrize(
    ("told", "author"),
    [
        (BOT, BOT),
        ({"id": None, "name": "Rook", "is_bot": True}, {**BOT, "id": "Rook"}),
        ({"id": None, "name": None, "is_bot": True}, {"id": "bot", "is_bot": True}),
        ({"id": "u7", "name": None, "is_bot": False}, {"id": "u7"}),
        ({"id": None, "name": "Ada", "is_bot": False}, None),
    ],
)
def test_a_recorded_turn_says_whether_a_bot_wrote_it(hermes, told, author):
    provider = Rich()
    hermes(provider).sync_turn("Hi.", "Yes.", turn_author=told)
    ((_, turn),) = provider.calls
    assert turn.get("author") == author


def test_the_words_of_a_bot_are_not_told_as_those_of_the_user(hermes):
    provider = Plain()
    adapter = hermes(provider)
    adapter.sync_turn("I am a bot.", "Hello.", turn_author=BOT)
    adapter.sync_turn("Hi.", "Yes.", turn_author={"id": "u7", "name": "Ada", "is_bot": False})
    assert provider.calls == [("on_turn_complete", "Hi.", "Yes.")]


def test_a_turn_of_empty_texts_has_all_that_a_turn_always_has(hermes):
    provider = Rich()
    hermes(provider).sync_turn("", "")
    ((_, turn),) = provider.calls
    always = {"turn_id", "session_id", "started_at", "ended_at"}
    assert set(turn) == always | {"user_message", "assistant_response"}


def test_the_replaced_text_comes_out_of_the_metadata(hermes):
    provider = Plain()
    adapter = hermes(provider)
    adapter.on_memory_write("replace", "user", "new", metadata={"old_text": "old"})
    adapter.on_memory_write("remove", "user", "", {"old_text": "old"})
    adapter.on_memory_write("add", "memory", "fact")
    assert [call[1:] for call in provider.calls] == [
        ("replace", "user", "new", "old"),
        ("remove", "user", None, "old"),
        ("add", "memory", "fact", None),
    ]


def test_a_job_writes_nothing_and_is_told_so(hermes):
    provider = Rich()
    adapter = hermes(provider, agent_context="cron")
    adapter.sync_turn("u", "a")
    adapter.on_memory_write("add", "memory", "fact")
    adapter.on_delegation("task", "result")
    adapter.on_session_end([])
    assert provider.calls == []
    assert provider.config["agent_context"] == "cron"


def test_a_refusal_reaches_the_host_which_logs_it(hermes):
    provider = Plain()
    provider.fails = WriteRefused("full")
    adapter = hermes(provider)
    with pytest.raises(WriteRefused):
        adapter.on_memory_write("add", "memory", "fact")


def test_an_exit_in_a_hook_does_not_end_the_host(hermes):
    provider = Plain()
    provider.fails = SystemExit(3)
    adapter = hermes(provider)
    for hook in (lambda: adapter.sync_turn("u", "a"), lambda: adapter.prefetch("q")):
        with pytest.raises(RuntimeError, match="SystemExit"):
            hook()


def test_a_compression_is_counted_flattened_and_its_notes_come_back(hermes):
    provider = Rich()
    adapter = hermes(provider)
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}, {"tool": 1}]
    assert [adapter.on_pre_compress(messages) for _ in range(2)] == ["2 told", "2 told"]
    plain = [{"role": "user", "content": "Hi."}, {"role": "", "content": ""}]
    assert provider.calls == [("on_compress", plain, 1), ("on_compress", plain, 2)]


def test_notes_that_fail_cost_neither_the_compression_nor_what_the_provider_sees_of_it(
    hermes, caplog
):
    class Fails(Rich):
        def compress_notes(self, messages):
            assert self.calls, "notes are asked for after the compression"
            raise LookupError

    provider = Fails()
    assert hermes(provider).on_pre_compress([]) == ""
    assert provider.calls == [("on_compress", [], 1)]
    assert "compress_notes failed: LookupError" in caplog.text


def test_a_checkpoint_is_declared_by_its_version_once_the_session_is_open(hermes):
    class Keeps(Plain):
        extensions = ("checkpoint",)

    assert to_hermes(Keeps()).pre_compress_checkpoint_api_version == 1
    adapter = hermes(Keeps())
    assert adapter.pre_compress_checkpoint_api_version == 2
    adapter.wrapped.fails = Unavailable("away")
    with pytest.raises(Unavailable):
        adapter.on_pre_compress([], require_checkpoint=True)


def test_outside_of_the_user_s_context_no_checkpoint_is_asked_for_and_notes_are(hermes):
    class Keeps(Rich):
        extensions = ("checkpoint", "compress_notes")

    adapter = hermes(Keeps(), agent_context="cron")
    assert adapter.pre_compress_checkpoint_api_version == 1
    assert adapter.on_pre_compress([{"role": "user", "content": "Hi."}]) == "1 told"
    assert adapter.wrapped.calls == []


def test_shutdown_reaches_the_provider_once_for_each_call_and_without_a_session(hermes):
    provider = Plain()
    to_hermes(provider).shutdown()
    adapter = hermes(provider)
    adapter.shutdown()
    adapter.shutdown()
    assert provider.calls == [("shutdown",)] * 3
