"""Stores of Strands Agents, judged by their shape and called as its manager calls them."""

import asyncio
import json
import threading
import types
from typing import Any

import pytest

from memproto import bindings
from memproto.bindings import STRANDS, STRANDS_PER_USER, PerUser
from memproto.errors import Misconfigured, Rejected
from tests import places
from tests.bindings import strands_stores as stores
from tests.good.journal import Journal
from tests.kit_runs import ROOT, outcomes, reported, write

TARGET = "--memproto=tests.bindings.strands_stores:{}"

CONFIG = {"home": "unused", "user_id": "ines"}


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    adapters = []

    def start(store: Any, **config: Any) -> Any:
        adapter = bindings.recognised(store).adapt(store)
        adapters.append(adapter)
        adapter.initialize("s1", {**CONFIG, **config})
        return adapter

    yield start
    for adapter in adapters:
        adapter.shutdown()


# -- judged ----------------------------------------------------------------------------------------


@pytest.mark.once
def test_a_good_store_conforms_without_a_setting(tmp_path):
    (report,) = reported(tmp_path, TARGET.format("Ledger"))["reports"]
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "strands")
    assert report["operations"]["recall"]["hook"] == "search"
    found = outcomes(report)
    assert set(found.values()) == {"pass", "not_applicable"}
    passed = list(found.values()).count("pass")
    said = f"`{passed} passed, {len(found) - passed} not applicable`"
    assert said in (ROOT / "docs" / "strands.md").read_text("utf-8")


@pytest.mark.long
@pytest.mark.once
def test_good_stores_of_many_users_conform(tmp_path):
    declares = "[declares]\nisolates = ['user']\n"
    write(tmp_path, memproto__toml=declares)
    (report,) = reported(tmp_path, TARGET.format("apart"))["reports"]
    assert (report["verdict"], report["binding"]) == ("CONFORMANT", "strands-per-user")
    found = outcomes(report)
    tenancy = {name: outcome for name, outcome in found.items() if "-TENANT-" in name}
    assert {tenancy.pop(f"MP-TENANT-00{number}") for number in (2, 5)} == {"not_applicable"}
    assert set(tenancy.values()) == {"pass"}


@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "rule", "hook"),
    [
        ("LosesTheLast", "MP-TURN-003", "LosesTheLast.add_messages"),
        ("DropsEntries", "MP-WRITE-005", "DropsEntries.add"),
        places.nightly("Hangs", "MP-RECALL-002", "search"),
        ("SearchesBytes", "MP-RECALL-001", "SearchesBytes.search"),
        ("AddsAscii", "MP-TURN-002", "AddsAscii.add_messages"),
        ("together", "MP-TENANT-001", "Ledger.search"),
        ("near", "MP-TENANT-006", "Ledger.initialize"),
    ],
)
def test_a_broken_one_is_red_with_the_hook_that_its_author_wrote(tmp_path, kind, rule, hook):
    write(tmp_path, memproto__toml="[declares]\nisolates = ['user']\n")
    document = reported(tmp_path, TARGET.format(kind), f"--memproto-clause={rule}")
    (red,) = [row for row in document["reports"][0]["results"] if row["outcome"] == "fail"]
    assert red["id"] == rule
    assert red["where"].split(" in ")[-1] == hook


@pytest.mark.once
@pytest.mark.parametrize("kind", ["RefusesBlank", "Unwired"])
def test_a_store_that_may_be_as_it_is_conforms(tmp_path, kind):
    words = [f"--memproto-clause=MP-{area}" for area in ("WRITE", "TURN", "DATA", "RECALL")]
    (report,) = reported(tmp_path, TARGET.format(kind), *words)["reports"]
    assert set(outcomes(report).values()) == {"pass", "not_applicable", "not_run"}


@pytest.mark.once
def test_one_that_cannot_begin_is_incomplete_and_says_why(tmp_path):
    document = reported(tmp_path, TARGET.format("Needs"))
    assert document["reports"][0]["verdict"] == "INCOMPLETE"
    assert "LEDGER_KEY is not set" in document["run"].stdout


@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "note"),
    [("NotWritable", "it is not writable"), ("Unwired", "its extraction is off")],
)
def test_the_report_notes_why_a_turn_reaches_no_store(tmp_path, kind, note):
    document = reported(tmp_path, TARGET.format(kind), "--memproto-clause=MP-NAME-001")
    assert note in document["run"].stdout


# -- recognised ------------------------------------------------------------------------------------


def test_a_store_is_recognised_before_its_coroutine_is_taken_for_a_native_hook():
    assert bindings.recognised(stores.Ledger()) is STRANDS
    assert bindings.recognised(stores.apart()) is STRANDS_PER_USER
    assert bindings.defined(stores.Ledger)


@pytest.mark.parametrize("found", [Journal, Journal(), object(), types.SimpleNamespace(), None, 3])
def test_nothing_else_is_a_store(found):
    assert not STRANDS.recognises(found)
    assert not STRANDS_PER_USER.recognises(found)


def test_the_base_class_of_the_framework_is_no_store_and_its_subclass_is():
    base = type("MemoryStore", (), {"__module__": "strands.memory.types"})
    assert not STRANDS.recognises(base)
    assert STRANDS.recognises(type("Notes", (base,), {}))


def test_a_store_for_each_user_of_something_else_is_none():
    assert bindings.recognised(PerUser(lambda user: object())) is None


# -- called ----------------------------------------------------------------------------------------


def test_a_turn_is_told_as_two_messages_with_numbers_that_rise(opened):
    told = []

    class Listens(stores.Ledger):
        async def add_messages(self, messages, context=None):
            told.append((messages, context.sequence_numbers))

    adapter = opened(Listens())
    adapter.on_turn_complete("Where is my boat?", "In Vell.")
    adapter.on_turn_complete("And my car?", "At home.")
    assert told[0] == (
        [
            {"role": "user", "content": [{"text": "Where is my boat?"}]},
            {"role": "assistant", "content": [{"text": "In Vell."}]},
        ],
        [0, 1],
    )
    assert told[1][1] == [2, 3]


def test_a_message_without_text_is_not_searched_for_and_others_without_their_margins(opened):
    asked = []

    class Listens(stores.Ledger):
        async def search(self, query, options=None):
            asked.append((query, options))
            return [stores.Entry(str(number)) for number in range(9)]

    adapter = opened(Listens())
    assert adapter.enrich_turn(" \n", []) is None
    assert adapter.enrich_turn(" boat ", []) == "0\n1\n2\n3\n4"
    assert asked == [("boat", {"max_search_results": 5})]


def test_every_coroutine_of_a_store_runs_on_one_loop(opened):
    seen = set()

    class Looks(stores.Ledger):
        async def search(self, query, options=None):
            seen.add((asyncio.get_running_loop(), threading.current_thread()))
            return []

        async def add(self, content, metadata=None):
            await self.search(content)

    adapter = opened(Looks())
    adapter.enrich_turn("boat", [])
    adapter.on_memory_write("add", "memory", "a boat")
    caller = threading.Thread(target=adapter.enrich_turn, args=("boat", []))
    caller.start()
    caller.join()
    assert len(seen) == 1


def test_an_addition_that_raises_is_a_refusal_with_its_words(opened):
    adapter = opened(stores.RefusesBlank())
    with pytest.raises(Rejected, match="ValueError: content must not be empty"):
        adapter.on_memory_write("add", "memory", " ")


def test_a_search_that_raises_does_so_as_it_is(opened):
    class Fails(stores.Ledger):
        async def search(self, query, options=None):
            raise LookupError("no index")

    with pytest.raises(LookupError, match="no index"):
        opened(Fails()).enrich_turn("boat", [])


def test_an_agent_that_cannot_begin_says_that_its_operator_has_to_act(opened):
    with pytest.raises(Misconfigured, match="LEDGER_KEY"):
        opened(stores.Needs())


def test_a_store_without_a_field_that_a_manager_reads_does_not_begin(opened):
    class Bare:
        name, writable = "bare", True

        async def search(self, query, options=None):
            return []

        async def add(self, content, metadata=None):
            pass

    with pytest.raises(AttributeError, match="description"):
        opened(Bare())


@pytest.mark.parametrize(
    ("store", "missing"),
    [
        (stores.Ledger(), {"get_tools"}),
        (stores.NotWritable(), {"add", "add_messages", "get_tools"}),
        (stores.Unwired(), {"add_messages", "get_tools"}),
    ],
    ids=lambda item: type(item).__name__,
)
def test_hooks_that_nobody_calls_are_named(store, missing):
    adapter = STRANDS.adapt(store)
    assert missing == set(adapter.missing_hooks) & set(STRANDS.hooks.values())


def test_an_extractor_of_the_application_makes_entries_of_a_turn(opened):
    class Verbatim:
        async def extract(self, messages, context=None):
            return [stores.Entry(stores.text_of(message)) for message in messages]

    store = stores.Ledger()
    store.extraction = {"extractor": Verbatim()}
    adapter = opened(store)
    adapter.on_turn_complete("My boat is the Ondine.", "Noted.")
    assert "Ondine" in adapter.enrich_turn("boat", [])


def test_an_extractor_of_the_framework_would_ask_a_model(opened):
    store = stores.Ledger()
    store.extraction = {"extractor": type("M", (), {"__module__": "strands.memory.extraction"})()}
    assert "add_messages" in opened(store).missing_hooks
    assert "no turn is recorded: its extractor asks a model" in STRANDS.notes(store)


def test_the_user_of_the_session_gets_the_store_that_was_built_for_it(opened):
    built = []

    def build(user):
        built.append(user)
        return stores.Ledger(folder=str(user))

    made = PerUser(build)
    adapter = opened(made, user_id="otto")
    assert built == [None, "otto"]
    assert bindings.author_object(adapter)._folder == "otto"


# -- tools -----------------------------------------------------------------------------------------


class Tool:
    """A tool as the framework streams it."""

    def __init__(self, name, run):
        self.tool_name = name
        self.tool_spec = {
            "name": name,
            "description": "Saves.",
            "inputSchema": {"json": {"type": "object", "properties": {}}},
        }
        self.run = run

    async def stream(self, tool_use, invocation_state):
        yield {"tool_stream_event": {"data": "half way"}}
        yield {"tool_result": {"toolUseId": tool_use["toolUseId"], **self.run(tool_use["input"])}}


class Tooled(stores.Ledger):
    """Brings tools of its own, which it is asked for once."""

    asked = 0

    def get_tools(self):
        self.asked += 1
        said = {"status": "success", "content": [{"text": "Saved."}]}
        return [Tool("save", lambda given: said), Tool("fail", lambda given: given["missing"])]


def test_the_tools_of_a_store_are_asked_for_once_and_shown_bare(opened):
    store = Tooled()
    adapter = opened(store)
    (first, _) = adapter.get_tool_schemas()
    parameters = {"type": "object", "properties": {}}
    assert first == {"name": "save", "description": "Saves.", "parameters": parameters}
    assert adapter.capabilities()["tool_names"] == ["save", "fail"]
    assert store.asked == 1


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [("save", "success", "Saved."), ("fail", "error", "missing"), ("none", "error", "Unknown")],
)
def test_a_tool_is_answered_with_what_the_model_is_shown(opened, name, status, said):
    answer = json.loads(opened(Tooled()).handle_tool_call(name, {}))
    assert answer["status"] == status
    assert said in answer["content"][0]["text"]
