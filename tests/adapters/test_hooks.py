"""`from_hooks`: a plugin that registers functions for hooks takes part as a provider."""

import asyncio
import threading

import pytest

from memproto import AsyncMemoryProviderRegistry
from memproto.adapters.hooks import HOOKS, from_hooks
from memproto.adapters.hooks_turns import RecordedTurns
from memproto.errors import NotAProvider
from memproto.provider import MemoryProvider
from tests import hooks_plugin
from tests.extended import opened, told
from tests.virtual import eventually

TURN = {
    "turn_id": "t-1",
    "started_at": "2026-03-14T09:26:53+05:45",
    "ended_at": "2026-03-14T09:27:03+05:45",
    "user_message": "where is Orida?",
    "assistant_response": "at sea",
}
CALLS = [
    {"role": "user", "content": "where is Orida?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "function": {"name": "look", "arguments": '{"at": "sea"}'}},
            {"id": "c2", "function": {"name": "memory", "arguments": "{}"}},
            {"id": "c3", "function": {"name": "torn", "arguments": "{"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"found": true}'},
    {"role": "assistant", "content": "at sea"},
]


class Noting:
    """A plugin that notes each call of each hook, with the keywords, and answers as told."""

    def __init__(self, *hooks, **answers):
        self.calls, self.hooks, self.answers = [], hooks or HOOKS, answers

    def register(self, ctx):
        for hook in self.hooks:
            ctx.register_hook(hook, self._function(hook))

    def _function(self, hook):
        def call(**keywords):
            self.calls.append((hook, keywords))
            answer = self.answers.get(hook)
            return answer(**keywords) if callable(answer) else answer

        return call

    def names(self):
        return [hook for hook, _ in self.calls]

    def of(self, hook):
        return [keywords for name, keywords in self.calls if name == hook]


def test_a_plugin_of_hooks_alone_remembers_across_two_sessions_of_a_registry(tmp_path):
    config = {"home": str(tmp_path)}
    with opened(from_hooks(hooks_plugin, "notebook"), config=config) as (registry, _):
        registry.on_turn_complete("The tug is called Orida .", "Noted")
        registry.on_memory_write("add", "user", "likes the tug Velda")
        assert registry.flush()
    later = {"session": "later", "config": config}
    with opened(from_hooks(hooks_plugin, "notebook"), **later) as (registry, events):
        ((label, text),) = registry.enrich_turn("What is the name of the tug Orida", [])
    assert label == "notebook"
    assert "called Orida" in text
    assert "likes the tug Velda" not in text
    assert told(events, "enrich_turn") == [("notebook", "ok", "")]


def test_it_runs_under_the_registry_of_an_event_loop_as_well(tmp_path):

    async def session():
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register(from_hooks(hooks_plugin, "notebook"))
            await registry.initialize_all("session", {"home": str(tmp_path)})
            await registry.on_turn_complete("The tug is called Orida .", "Noted")
            await registry.flush()
            return await registry.enrich_turn("Which tug is Orida", [])

    ((_, text),) = asyncio.run(session())
    assert "Orida" in text


def test_each_operation_reaches_its_hook_with_the_keywords_of_such_a_host():
    plugin = Noting(pre_llm_call={"context": "known"})
    config = {"platform": "cli", "user_id": "u-1"}
    with opened(from_hooks(plugin, "plugin"), config=config) as (registry, _):
        assert registry.enrich_turn("hello", []) == [("plugin", "known")]
        registry.on_turn_complete("hello", "hi")
        registry.on_memory_write("replace", "user", "tea", "coffee")
        registry.on_compress([{"role": "user", "content": "hello"}], 1)
    always = {"session_id": "session", "platform": "cli", "model": "", "sender_id": "u-1"}
    assert plugin.names() == [
        "on_session_start",
        "pre_llm_call",
        "post_llm_call",
        "on_session_end",
        "pre_tool_call",
        "post_tool_call",
        "on_session_finalize",
    ]
    assert all(always.items() <= keywords.items() for _, keywords in plugin.calls)
    (asked,), (said,), (called,) = map(plugin.of, ("pre_llm_call", "post_llm_call", HOOKS[3]))
    assert (asked["user_message"], asked["is_first_turn"]) == ("hello", True)
    assert (said["user_message"], said["assistant_response"]) == ("hello", "hi")
    assert [message["content"] for message in said["conversation_history"]] == ["hello", "hi"]
    args = {"action": "replace", "target": "user", "content": "tea", "old_text": "coffee"}
    assert (called["tool_name"], called["args"]) == ("memory", args)
    assert plugin.of("on_session_end") == [always | {"completed": True, "interrupted": False}]


def test_the_tool_calls_of_a_recorded_turn_are_told_before_it_with_their_results():
    plugin = Noting()
    with opened(from_hooks(plugin, "plugin")) as (registry, _):
        registry.record({**TURN, "messages": CALLS})
        registry.record({**TURN, "messages": CALLS})  # a host that does not know repeats it
    names = [name for name in plugin.names() if name not in ("on_session_start", HOOKS[-1])]
    pair = ["pre_tool_call", "post_tool_call"]
    assert names == [*pair, *pair, "post_llm_call", "on_session_end"]
    calls = [(c["tool_name"], c["args"], c["result"]) for c in plugin.of("post_tool_call")]
    assert calls == [("look", {"at": "sea"}, '{"found": true}'), ("torn", {}, "")]
    assert {c["tool_call_id"] for c in plugin.of("pre_tool_call")} == {"c1", "c3"}
    assert [c["turn_id"] for c in plugin.of("post_llm_call")] == ["t-1"]


def test_a_turn_that_a_bot_wrote_is_not_told_as_the_users():
    plugin = Noting()
    with opened(from_hooks(plugin, "plugin")) as (registry, _):
        registry.record({**TURN, "author": {"id": "b", "name": "Rook", "is_bot": True}})
        registry.record({**TURN, "turn_id": "t-2", "author": {"id": "u-1", "is_bot": False}})
    assert [c["turn_id"] for c in plugin.of("post_llm_call")] == ["t-2"]
    assert [c["turn_id"] for c in plugin.of("on_session_end")] == ["t-1", "t-2"]


def session_of(plugin, home, *turns):
    with opened(from_hooks(plugin, "plugin"), config={"home": str(home)}) as (registry, events):
        for turn in turns:
            registry.record({**TURN, **turn})
    return [outcome for _, outcome, _ in told(events, "record")]


def test_a_turn_that_comes_again_after_a_new_start_is_told_once(tmp_path):
    plugin = Noting("post_llm_call", "post_tool_call")
    odd = {"turn_id": "half \ud83d, a line\nand more"}
    session_of(plugin, tmp_path, {}, odd)
    session_of(plugin, tmp_path, {}, odd, {"turn_id": "t-2"})
    told_of = [keywords["turn_id"] for keywords in plugin.of("post_llm_call")]
    assert told_of == ["t-1", odd["turn_id"], "t-2"]


def test_a_torn_or_foreign_file_of_turns_loses_what_it_does_not_hold(tmp_path):
    file = tmp_path / "recorded-turns.jsonl"
    file.write_bytes(b'"t-1"\n{"a": 1}\n\xff\n"t-2')
    plugin = Noting("post_llm_call", "post_tool_call")
    for _ in range(2):  # what is kept behind a torn line is held
        session_of(plugin, tmp_path, {}, {"turn_id": "t-2"})
        assert [keywords["turn_id"] for keywords in plugin.of("post_llm_call")] == ["t-2"]


def test_where_ids_cannot_be_kept_the_turn_is_stored_and_it_is_logged(tmp_path, caplog):
    (tmp_path / "recorded-turns.jsonl").mkdir()
    plugin = Noting("post_llm_call", "post_tool_call")
    assert session_of(plugin, tmp_path, {}, {}) == ["ok", "ok"]
    assert len(plugin.of("post_llm_call")) == 1
    assert "ids of turns are not kept" in caplog.text


def test_the_ids_of_the_latest_turns_are_kept_and_no_more(tmp_path):
    turns = RecordedTurns()
    turns.open(str(tmp_path))
    for number in range(2_050):
        with turns.once(f"t-{number}") as is_new:
            assert is_new
    lines = (tmp_path / "recorded-turns.jsonl").read_text(encoding="ascii").splitlines()
    assert 1_000 <= len(lines) <= 2_000
    assert lines[-1] == '"t-2049"'
    with turns.once("t-2049") as is_new:
        assert not is_new


def test_where_no_id_can_be_kept_no_more_of_them_are_held_either(tmp_path):
    (tmp_path / "recorded-turns.jsonl").mkdir()
    turns = RecordedTurns()
    turns.open(str(tmp_path))
    for number in range(2_050):
        with turns.once(f"t-{number}"):
            pass
    assert len(turns._taken) <= 2_000


def test_without_functions_for_tool_calls_a_turn_comes_as_two_texts():
    plugin = Noting("post_llm_call")
    provider = from_hooks(plugin, "plugin")
    assert isinstance(provider, MemoryProvider)
    assert not hasattr(provider, "record")
    with opened(provider) as (registry, _):
        assert registry.capabilities["plugin"]["extensions"] == ("sessions",)
        registry.record(TURN)
    assert plugin.of("post_llm_call")[0]["user_message"] == "where is Orida?"


def test_a_recorded_turn_that_raised_may_come_again():
    answers = iter([OSError("disk"), None])

    def store(**_):
        if (error := next(answers)) is not None:
            raise error

    plugin = Noting("post_llm_call", "post_tool_call", post_llm_call=store)
    with opened(from_hooks(plugin, "plugin")) as (registry, events):
        registry.record(TURN)
        registry.flush()
        registry.record(TURN)
    assert [o for _, o, _ in told(events, "record")] == ["raised", "ok"]
    assert len(plugin.of("post_llm_call")) == 2


def test_switches_move_the_session_and_a_new_conversation_begins_and_ends_once():
    plugin = Noting("on_session_start", "post_llm_call", "on_session_finalize")
    with opened(from_hooks(plugin, "plugin")) as (registry, _):
        registry.on_turn_complete("1", "")
        registry.on_session_switch("second", reset=True)
        registry.on_turn_complete("2", "")
        registry.on_session_switch("resumed")
        registry.on_turn_complete("3", "")
        registry.on_session_end([])
    assert [(hook, keywords["session_id"]) for hook, keywords in plugin.calls] == [
        ("on_session_start", "session"),
        ("post_llm_call", "session"),
        ("on_session_finalize", "session"),
        ("on_session_start", "second"),
        ("post_llm_call", "second"),
        ("post_llm_call", "resumed"),
        ("on_session_finalize", "resumed"),
    ]


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([{"context": "a"}, "b"], "a\n\nb"),
        ([None, {"context": ""}, "  "], None),
        ([7, {"context": 7}, {"more": "x"}, ["x"]], None),
    ],
)
def test_the_contexts_of_all_functions_come_as_one_text(answers, text):
    def register(ctx):
        for answer in answers:
            ctx.register_hook("pre_llm_call", lambda answer=answer, **_: answer)

    assert from_hooks(register, "plugin").enrich_turn("hello", []) == text


@pytest.mark.parametrize(
    ("most", "text"),
    [(None, "one\ntwo\nthree"), (13, "one\ntwo\nthree"), (12, "one\ntwo"), (2, "on")],
)
def test_the_context_is_cut_at_a_line_to_what_the_host_takes(most, text):
    provider = from_hooks(Noting("pre_llm_call", pre_llm_call="one\ntwo\nthree"), "plugin")
    provider.initialize("s", {"home": "", "limits": {"recall_chars": most}})
    assert provider.enrich_turn("hello", []) == text


def test_a_function_that_raises_costs_the_others_nothing_and_is_told():
    def broken(**_):
        raise OSError("no disk")

    def register(ctx):
        ctx.register_hook("pre_llm_call", broken)
        ctx.register_hook("pre_llm_call", lambda **_: stored and "known")
        ctx.register_hook("post_llm_call", broken)
        ctx.register_hook("post_llm_call", lambda **kw: stored.append(kw["user_message"]))

    stored = []
    with opened(from_hooks(register, "plugin")) as (registry, events):
        assert registry.enrich_turn("hello", []) == []
        registry.on_turn_complete("hello", "hi")
        registry.flush()
        assert registry.enrich_turn("hello", []) == [("plugin", "known")]
    assert stored == ["hello"]
    assert [o for _, o, _ in told(events, "enrich_turn")] == ["raised", "ok"]
    assert told(events, "on_turn_complete") == [("plugin", "raised", "OSError")]


def test_a_function_gets_the_keywords_that_it_takes():
    seen = []

    def narrow(session_id, user_message):
        seen.append((session_id, user_message))

    with opened(from_hooks(lambda ctx: ctx.register_hook("post_llm_call", narrow), "p")) as parts:
        parts[0].on_turn_complete("hello", "hi")
    assert seen == [("session", "hello")]


def test_a_function_that_hangs_is_the_registrys_to_bear():
    may_go, entered = threading.Event(), threading.Event()

    def hang(**_):
        entered.set()
        assert may_go.wait(20)

    plugin = Noting("post_llm_call", "pre_llm_call", post_llm_call=hang, pre_llm_call="known")
    with opened(from_hooks(plugin, "plugin")) as (registry, events):
        registry.on_turn_complete("hello", "hi")
        assert entered.wait(10)
        assert registry.enrich_turn("hello", []) == [("plugin", "known")]
        may_go.set()
        eventually(lambda: told(events, "on_turn_complete"))


@pytest.mark.parametrize(
    ("plugin", "says"),
    [
        (object(), "no register"),
        (lambda ctx: None, "for: none"),
        (lambda ctx: ctx.register_hook("pre_verify", print), "for: pre_verify"),
        (lambda ctx: ctx.register_tool("x"), "for: none"),
        (lambda ctx: ctx.register_hook("pre_llm_call", 7), "cannot be called"),
        (lambda ctx: ctx.register_hook("pre_llm_call", asyncio.sleep), "coroutine"),
    ],
)
def test_a_plugin_that_takes_part_in_nothing_is_refused_with_the_reason(plugin, says):
    with pytest.raises(NotAProvider, match=says):
        from_hooks(plugin, "plugin")


def test_an_author_finds_the_function_that_serves_a_native_hook():
    plugin = Noting("pre_llm_call", pre_llm_call="known")
    wrapped = from_hooks(plugin, "plugin").wrapped
    assert wrapped.enrich_turn() == "known"
    assert not hasattr(wrapped, "on_turn_complete")
    assert wrapped is not from_hooks(plugin, "plugin").wrapped


def test_what_else_a_plugin_asked_of_its_context_is_named():
    assert from_hooks(hooks_plugin, "notebook").left_out == ("register_cli_command",)
