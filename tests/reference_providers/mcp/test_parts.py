"""Parts of the mcp provider without the SDK: settings, templates, answers, tools and journal."""

import asyncio
import os
import subprocess
import sys
import threading
import types

import pytest

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused
from memproto.reference_providers.mcp import (
    McpMemoryProvider,
    link,
    results,
    sdk,
    settings,
    standin,
    templates,
    tool,
)
from memproto.reference_providers.mcp.courier import Courier
from memproto.reference_providers.mcp.journal import Journal
from memproto.reference_providers.mcp.link import Unanswered

URL = "http://127.0.0.1:9/mcp"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({}, "neither url nor command"),
        ({"url": URL, "command": "serve"}, "both url and command"),
        ({"url": "localhost:80"}, "does not begin with http"),
        ({"url": 3}, "url is int"),
        ({"command": 'serve "'}, "command cannot be read"),
        ({"command": ["serve", 1]}, "command holds something"),
        ({"url": URL, "search_tool": " "}, "search_tool is empty"),
        ({"url": URL, "search_arguments": "{"}, "search_arguments is no JSON object"),
        ({"url": URL, "search_arguments": '{"q": "x"}'}, r"lacks \{query\}"),
        ({"url": URL, "store_arguments": {"a": ["{text}", "{tex}"]}}, r"\{tex\}; there are"),
        ({"url": URL, "search_by": "soul"}, "message, words"),
        ({"url": URL, "start_s": 0}, "number from 1"),
        ({"url": URL, "env": {"A": 1}}, "env is no table of texts"),
        ({"url": URL, "headers": {"A": "{env:NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE"),
    ],
)
def test_an_answer_that_may_not_be_given_is_named(tmp_path, answer, told):
    with pytest.raises(Misconfigured, match=told):
        settings.Settings.of({"home": str(tmp_path), "mcp": answer})


@pytest.mark.parametrize("content", ["[1]", "{", '{"url": "http'])
def test_answers_that_were_written_by_half_are_named_with_their_file(tmp_path, content):
    tmp_path.joinpath("mcp.json").write_text(content, "utf-8")
    with pytest.raises(Misconfigured, match=r"mcp\.json"):
        settings.Settings.of({"home": str(tmp_path)})


def test_answers_of_set_up_are_checked_and_kept_with_those_beside_them(tmp_path):
    memory = McpMemoryProvider()
    memory.save_config({"url": URL, "expose": "a, b"}, str(tmp_path))
    memory.save_config({"recall_count": "3"}, str(tmp_path))
    with pytest.raises(Misconfigured):
        memory.save_config({"start_s": "soon"}, str(tmp_path))
    chosen = settings.Settings.of({"home": str(tmp_path)})
    assert (chosen.url, chosen.expose, chosen.recall_count) == (URL, ("a", "b"), 3)


def test_every_setting_that_is_asked_for_can_be_saved_as_its_default(tmp_path):
    fields = McpMemoryProvider().get_config_schema()
    settings.save({field["key"]: field["default"] for field in fields}, tmp_path)


def test_secrets_come_from_the_environment_and_are_in_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HARBOUR_KEY", "s3cret")
    settings.save({"url": URL, "headers": {"X-Key": "Bearer {env:HARBOUR_KEY}"}}, tmp_path)
    chosen = settings.Settings.of({"home": str(tmp_path)})
    assert chosen.headers == {"X-Key": "Bearer s3cret"}
    assert "s3cret" not in tmp_path.joinpath("mcp.json").read_text("utf-8")
    assert "s3cret" not in repr(chosen)


def test_a_template_is_filled_in_any_depth_and_a_place_that_stands_alone_keeps_its_type():
    template = {"a": [{"b": "{text}"}, "to {text}: {limit}"], "n": "{limit}", "other": "{brace"}
    filled = templates.filled(template, {"text": "{limit}", "limit": 3})
    assert filled == {"a": [{"b": "{limit}"}, "to {limit}: 3"], "n": 3, "other": "{brace"}


def test_users_get_names_that_any_server_takes_and_no_two_share():
    ids = [None, "", "nobody", "anna", "Anna", "u-anna", "../anna", "\u0430nna", "a" * 9_999, "a\0"]
    names = [templates.identifier(user) for user in ids]
    assert len(set(names)) == len(ids)
    assert all(len(name) <= 50 and name.replace("-", "").isalnum() for name in names)
    assert all(name.isascii() and name == name.lower() for name in names)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"url": URL}, ()),
        ({"url": URL, "search_arguments": {"query": "{query}", "u": "{owner}"}}, ()),
        ({"command": "serve", "env": {"FILE": "{home}/memory"}}, ("profile",)),
        ({"command": "serve {home}/{user}"}, ("profile", "user")),
    ],
)
def test_what_is_kept_apart_is_what_the_configuration_keeps_apart(tmp_path, given, kept):
    assert settings.Settings.of({"home": str(tmp_path), "mcp": given}).isolates == kept


@pytest.mark.parametrize(
    ("answer", "place", "found"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}, "", ["a"]),
        ({"structuredContent": {"r": [{"c": "a"}, {"d": 1}, {"c": 2}]}}, "r.c", ["a"]),
        ({"structuredContent": {"e": [{"o": ["a", "b"]}, {"o": ["c"]}]}}, "e.o", ["a", "b", "c"]),
        ({"content": [{"type": "text", "text": '{"r": ["a"]}'}]}, "r", ["a"]),
        (
            {
                "structuredContent": {"result": "{}"},
                "content": [{"type": "text", "text": '{"r": ["a"]}'}],
            },
            "r",
            ["a"],
        ),
        ({"content": [{"type": "text", "text": f'{{"c": "{x}"}}'} for x in "ab"]}, "c", ["a", "b"]),
        ({"content": [{"type": "text", "text": "no hits"}]}, "r.c", []),
        ({"content": []}, "r", []),
    ],
)
def test_texts_are_found_in_answers_of_any_shape(answer, place, found):
    assert results.texts(answer, place) == found


def test_a_schema_of_a_server_is_cut_down_to_what_every_model_takes():
    schema = {
        "type": "object",
        "$defs": {"Kind": {"type": "string", "enum": ["a", "b"]}},
        "properties": {
            "kind": {"$ref": "#/$defs/Kind", "description": "Which."},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "integer"}], "default": None},
            "list": {"type": ["array", "null"]},
            "odd name": {"type": "string"},
            "deep": {"type": "object", "properties": {"x": {}}, "required": ["x", "y"]},
            "loop": {"$ref": "#/properties/loop"},
        },
        "required": ["kind", "odd name"],
        "oneOf": [{"required": ["kind"]}],
    }
    there = {"look": {"description": " ", "inputSchema": schema}, "hidden": {}}
    (shown,) = tool.exposed(("look", "gone"), there)
    assert shown["name"] == "mcp_look"
    assert shown["description"] == "look"
    assert shown["parameters"] == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "description": "Which.", "enum": ["a", "b"]},
            "maybe": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "string"}},
            "deep": {
                "type": "object",
                "properties": {"x": {"type": "string"}},
                "required": ["x"],
            },
            "loop": {"type": "string"},
        },
        "required": ["kind"],
    }


# -- the journal -----------------------------------------------------------------------------------


@pytest.fixture
def journals(tmp_path):
    made = []

    def journal(owner="anna"):
        made.append(Journal(tmp_path / "journal.db", owner))
        return made[-1]

    yield journal
    for one in made:
        one.close()


def test_a_write_waits_until_it_is_stored_and_its_id_is_known_afterwards(journals, tmp_path):
    journal = journals()
    assert journal.add("a", {"text": "The boat"}) is not None
    assert journal.add("a", {"text": "The boat"}) is None
    assert journal.waiting() == ["The boat"]
    assert journals("ben").waiting() == []
    journal.stored(journal.claim())
    assert (journal.waiting(), journal.counts()) == ([], {"stored": 1})
    assert journal.add("a", {"text": "The boat"}) is None
    journal.close()
    assert b"The boat" not in tmp_path.joinpath("journal.db").read_bytes()
    assert tmp_path.joinpath("journal.db").stat().st_mode & 0o777 == 0o600


def test_a_write_that_another_process_sends_is_not_sent_beside_it(journals):
    mine, other = journals(), journals()
    mine.add("a", {"text": "x"})
    assert other.claim() is None, "the hook that waits for it hears from its own process alone"
    assert mine.claim() is not None
    assert other.claim() is None
    mine.close()
    assert other.claim().attempts == 1, "it may have been sent, and is to be looked up"


def test_a_write_without_an_answer_lets_the_others_go_first(journals):
    journal = journals()
    for name in "ab":
        journal.add(name, {"text": name})
    first = journal.claim()
    journal.release(first, was_sent=True)
    assert journal.claim().id == "b"
    journal.release(journal.claim(), was_sent=False)


def test_writes_of_many_threads_are_all_kept(journals):
    journal = journals()
    add = [threading.Thread(target=journal.add, args=(str(n), {"text": str(n)})) for n in range(20)]
    for thread in add:
        thread.start()
    for thread in add:
        thread.join()
    assert len(journal.waiting()) == 20


def test_a_full_journal_takes_nothing_more_until_something_was_stored(tmp_path):
    journal = Journal(tmp_path / "journal.db", "anna", most=1)
    journal.add("a", {"text": "The boat"})
    with pytest.raises(WriteRefused, match="1 writes wait"):
        journal.add("b", {"text": "The quay"})
    assert (journal.waiting(), journal.add("a", {"text": "The boat"})) == (["The boat"], None)
    journal.stored(journal.claim())
    assert journal.add("b", {"text": "The quay"}) is not None
    journal.close()


def test_a_journal_that_is_none_is_named(journals, tmp_path):
    tmp_path.joinpath("journal.db").write_text("not a database, but long enough for one " * 30)
    with pytest.raises(Misconfigured, match=r"journal\.db is damaged"):
        journals().open()


class NeverAnswering:
    place, pause_s = "the server", 0.1

    async def call(self, tool, arguments, budget_s):
        raise Unanswered("no answer")


def test_a_text_at_which_the_server_fails_is_tried_again_ever_more_rarely(journals, tmp_path):
    chosen = settings.Settings.of({"home": str(tmp_path), "mcp": {"url": URL}})
    journals().add("a", {"text": "poison"})
    other = journals()
    other.add("b", {"text": "poison"})

    async def pauses():
        sender = Courier(chosen, NeverAnswering(), other)
        return [await sender._deliver() for _ in range(6)]

    assert asyncio.run(pauses()) == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


# -- without the SDK, and without a session --------------------------------------------------------


def test_without_the_sdk_it_is_unavailable_and_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from memproto.reference_providers.mcp import McpMemoryProvider, sdk\n"
        "sdk.is_installed.__globals__['importlib'].util.find_spec = lambda name: None\n"
        "memory = McpMemoryProvider()\n"
        "assert not memory.is_available()\n"
        "print(memory.unavailable_reason())\n"
        "try: memory.initialize('one', {'home': sys.argv[1]})\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    words = [sys.executable, "-P", "-c", code, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    reason, raised = done.stdout.splitlines()
    assert "install memproto[mcp]" in reason
    assert raised == f"Misconfigured {reason}"


def test_importing_the_provider_imports_no_sdk():
    code = "import memproto.reference_providers.mcp, sys; print('mcp' in sys.modules)"
    words = [sys.executable, "-P", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_hooks_without_a_session_say_so():
    with pytest.raises(Unavailable, match="not initialized"):
        McpMemoryProvider().enrich_turn("boat", [])
    McpMemoryProvider().shutdown()


@pytest.mark.parametrize("limit", [True, "3", 1.5])
def test_a_limit_that_is_no_number_is_refused(limit):
    with pytest.raises(Rejected, match="limit is"):
        tool.limit({"limit": limit})


# -- the stand-in ----------------------------------------------------------------------------------


def test_the_stand_in_finds_words_of_an_owner_and_keeps_its_texts_in_a_file(tmp_path):
    memory = standin.Memory(tmp_path / "texts.jsonl")
    memory.add({"content": "The boat is blue", "owner": "anna", "id": "1"})
    memory.add({"content": "The boat is blue", "owner": "anna", "id": "1"})
    memory.add({"content": "The boat is red", "owner": "ben"})
    again = standin.Memory(tmp_path / "texts.jsonl")
    hits = again.search({"query": "boat?", "owner": "anna"})["results"]
    assert [hit["content"] for hit in hits] == ["The boat is blue"]
    assert again.count({}) == {"count": 2}


def test_the_stand_in_answers_what_it_does_not_know_with_an_error(tmp_path):
    memory = standin.Memory()
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fly"}}
    assert standin.answer(memory, asked)["error"]["code"] == -32601
    asked["params"] = {"name": "add_memory", "arguments": {}}
    assert standin.answer(memory, asked)["result"]["isError"]
    assert standin.answer(memory, {"jsonrpc": "2.0", "method": "notifications/initialized"}) is None


# -- the guard -------------------------------------------------------------------------------------


def test_the_guard_passes_the_streams_on_and_says_what_cannot_be_started(tmp_path):
    guard = settings.__file__.replace("settings.py", "guard.py")
    words = [sys.executable, "-I", "-S", guard, str(os.getpid())]
    echo = [*words, sys.executable, "-c", "import sys; print(sys.stdin.read()); sys.exit('bad')"]
    done = subprocess.run(
        echo, input="boat", capture_output=True, text=True, check=False, start_new_session=True
    )
    assert done.stdout == "boat\n"
    missing = [*words, "/no/such/server"]
    done = subprocess.run(
        missing, capture_output=True, text=True, check=False, start_new_session=True
    )
    assert done.stderr == "/no/such/server cannot be started: No such file or directory\n"
    assert done.stdout == ""


class Pages:
    """A server whose tools stand on pages that lead to others, by what `next_of` says."""

    def __init__(self, next_of, tools=1):
        self.next_of, self.tools, self.asked = next_of, tools, 0

    def page(self):
        self.asked += 1
        listed = [{"name": f"t{self.asked}-{at}"} for at in range(self.tools)]
        found = {"tools": listed, "nextCursor": self.next_of(self.asked)}
        return types.SimpleNamespace(model_dump=lambda **_: found)


@pytest.fixture
def listed(monkeypatch):
    async def page(opened, cursor):
        return opened.page()

    monkeypatch.setattr(sdk, "_page", page)
    return lambda server: asyncio.run(sdk.tools(server))


@pytest.mark.parametrize(
    ("server", "said", "most"),
    [
        (Pages(lambda at: f"c{at}", tools=0), "on more than 100 pages", 100),
        (Pages(lambda at: "same"), "pages that lead to themselves", 2),
        (Pages(lambda at: f"c{at}", tools=400), "more than 1,000 tools", 3),
    ],
)
def test_a_server_that_lists_tools_without_an_end_is_stopped_at_a_bound(listed, server, said, most):
    with pytest.raises(sdk.EndlessListError, match=said) as raised:
        listed(server)
    assert server.asked <= most
    chosen = types.SimpleNamespace(url="http://127.0.0.1:1", start_s=1)
    assert said in link.told(raised.value, "the server", chosen)


def test_all_pages_of_a_server_are_read(listed):
    assert len(listed(Pages(lambda at: f"c{at}" if at < 40 else None))) == 40
