"""The small parts of the kit: facts, the wire, tool routes, places, watchers."""

import json
import os
import signal
import socket
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.adapters import tool_results
from memproto.bindings import NATIVE
from memproto.operations import OPERATIONS
from memproto.testing import incidents, locate, wire
from memproto.testing.clauses import Violation
from memproto.testing.facts import Facts
from memproto.testing.instruments import watchers
from memproto.testing.messages import Beat, Opened
from memproto.testing.processes import sandbox
from memproto.testing.provider import routes
from memproto.testing.provider.subject import Subject, Watch
from memproto.testing.provider.survey import plain
from memproto.testing.wire import Wire
from tests.audit import AUDIT
from tests.good.journal import Journal

MEMORY_TOOL = {
    "name": "memory",
    "parameters": {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["read", "add", "remove"]},
            "target": {"type": "string", "enum": ["memory", "user"]},
            "content": {"type": "string"},
        },
        "required": ["action", "target"],
    },
}
SEARCH_TOOL = {
    "name": "memory_search",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def tool(name, **properties):
    return {"name": name, "parameters": {"type": "object", "properties": properties}}


@given(st.integers(0, 2**32))
def test_facts_of_one_source_never_share_a_word_of_their_names(seed):
    facts = Facts(seed).several(40)
    words = [word for fact in facts for word in fact.name.split()]
    assert len(set(words)) == len(words)
    assert all(fact.is_in(fact.text) and not fact.is_in(fact.query) for fact in facts)
    assert not any(one.is_in(two.text) for one in facts for two in facts if one is not two)


def test_the_same_seed_gives_the_same_facts():
    assert Facts(3).several(5) == Facts(3).several(5)
    assert Facts(3).new() != Facts(4).new()


def test_facts_never_run_out_and_stay_short():
    facts = Facts(1).several(5_000)
    words = [word for fact in facts for word in fact.name.split()]
    assert len(set(words)) == 2 * len(facts)
    assert max(len(fact.text) for fact in facts) <= 110


@given(st.text(st.characters()), st.integers(1, 7))
def test_the_wire_carries_any_text_in_any_pieces(text, size):
    read, write = os.pipe()
    try:
        wire.Wire(write).send(Opened({"text": text[:500]}))
        os.close(write)
        pending = bytearray()
        data = b""
        while chunk := os.read(read, 65536):
            data += chunk
        messages = []
        for start in range(0, len(data), size):
            pipe_read, pipe_write = os.pipe()
            os.write(pipe_write, data[start : start + size])
            messages += wire.lines(pipe_read, pending)
            os.close(pipe_read)
            os.close(pipe_write)
    finally:
        os.close(read)
    assert messages == [(os.getpid(), Opened({"text": text[:500]}))]


def test_what_is_no_message_is_passed_over():
    read, write = os.pipe()
    os.write(write, b'noise\n[1]\n{"kind": "beat"}\n{"torn')
    pending = bytearray()
    assert list(wire.lines(read, pending)) == [(None, Beat())]
    assert bytes(pending) == b'{"torn'
    os.close(read)
    os.close(write)


def test_a_value_whose_repr_raises_can_be_shown():
    class Rude:
        def __repr__(self):
            raise SystemExit(3)

    assert "Rude" in wire.show(Rude())
    assert len(wire.show("x" * 10**6)) < 300


def test_the_storing_tool_is_the_one_that_adds():
    call = routes.storing_call([SEARCH_TOOL, MEMORY_TOOL], "a fact")
    assert call == ("memory", {"content": "a fact", "action": "add", "target": "memory"})


@pytest.mark.parametrize(
    "schemas",
    [None, [], [None], [{}], [SEARCH_TOOL], [tool("memory_get", card={"type": "string"})]],
)
def test_tools_that_store_nothing_are_not_called(schemas):
    assert routes.storing_call(schemas, "a fact") is None


TEXT = {"type": "string"}
NOTE = {"type": "object", "properties": {"content": TEXT, "tags": {"type": "array"}}}
ROLE = {"type": "string", "enum": ["assistant", "user"]}
MESSAGE = {"type": "object", "properties": {"role": ROLE, "content": TEXT}, "required": ["content"]}


@pytest.mark.parametrize(
    ("arguments", "filled"),
    [
        ({"memory": NOTE}, {"memory": {"content": "a fact"}}),
        (
            {"memory": {**NOTE, "required": ["content", "tags"]}},
            {"memory": {"content": "a fact", "tags": []}},
        ),
        ({"facts": {"type": "array", "items": TEXT}}, {"facts": ["a fact"]}),
        (
            {"messages": {"type": "array", "items": MESSAGE}},
            {"messages": [{"content": "a fact", "role": "user"}]},
        ),
        ({"entry": {"anyOf": [NOTE, {"type": "null"}]}}, {"entry": {"content": "a fact"}}),
        (
            {"payload": {"type": "object", "properties": {"memory": NOTE}}},
            {"payload": {"memory": {"content": "a fact"}}},
        ),
        ({"content": {"type": ["null", "string"]}}, {"content": "a fact"}),
    ],
)
def test_a_text_is_stored_inside_of_what_the_schema_asks_for(arguments, filled):
    assert routes.storing_call([tool("save", **arguments)], "a fact") == ("save", filled)


def test_a_schema_that_is_referred_to_is_looked_up():
    one = tool("save", memory={"$ref": "#/$defs/Note"})
    one["parameters"]["$defs"] = {"Note": NOTE}
    assert routes.storing_call([one], "a fact") == ("save", {"memory": {"content": "a fact"}})


@pytest.mark.parametrize("name", ["memory_search", "memory", "update_memory", "forget_saved"])
def test_an_object_is_no_text_to_store_where_the_name_of_the_tool_does_not_say_so(name):
    assert routes.storing_call([tool(name, memory=NOTE)], "a fact") is None


@pytest.mark.parametrize("described", ["Stores a note.", "keep what was said", "Remember: a fact."])
def test_a_tool_whose_description_says_that_it_stores_is_recognised(described):
    one = {**tool("plain_note", text=TEXT), "description": described}
    assert routes.storing_call([one], "a fact") == ("plain_note", {"text": "a fact"})
    saving = tool("save", text=TEXT)
    assert routes.storing_call([one, saving], "a fact") == ("save", {"text": "a fact"})


@pytest.mark.parametrize(
    ("name", "described"),
    [
        ("plain_note", "Shows a note that was stored."),
        ("plain_note", "Stored notes, the newest first."),
        ("plain_note", None),
        ("note_search", "Keeps to the notes that fit."),
    ],
)
def test_a_tool_whose_description_says_something_else_stores_nothing(name, described):
    one = {**tool(name, text=TEXT), "description": described}
    assert routes.storing_call([one], "a fact") is None


def asking_for(name, described, argument, **item):
    one = {**tool(name, **{argument: {**TEXT, **item}}), "description": described}
    one["parameters"]["required"] = [argument]
    return one


@pytest.mark.parametrize("argument", ["sentence", "what", "information", "statement", "insight"])
def test_the_one_argument_that_a_storing_tool_asks_for_is_its_text_whatever_its_name(argument):
    one = asking_for("plain_keep", "Keeps a sentence for later.", argument)
    assert routes.storing_call([one], "a fact") == ("plain_keep", {argument: "a fact"})
    saving = tool("write", text=TEXT)
    assert routes.storing_call([one, saving], "a fact") == ("write", {"text": "a fact"})


@pytest.mark.parametrize(
    "schema",
    [
        asking_for("plain_keep", "Keeps a page.", "page_url"),
        asking_for("add_tag", "Adds a tag.", "tag"),
        asking_for("plain_ask", "Asks about a note.", "sentence"),
        asking_for("memory_ask", "Answers a message.", "message"),
        asking_for("save_search", "Saves nothing.", "sentence"),
        asking_for("create_key", "Creates a key.", "word", pattern="[a-z]+"),
        {**tool("plain_keep", sentence=TEXT), "description": "Keeps a sentence."},
    ],
)
def test_an_argument_that_may_be_something_else_is_no_text_to_store(schema):
    assert routes.storing_call([schema], "a fact") is None


def test_a_tool_that_takes_the_text_itself_is_preferred_to_one_that_takes_messages():
    many = tool("add", messages={"type": "array", "items": MESSAGE})
    tools = [many, tool("memory_write", text=TEXT)]
    assert routes.storing_call(tools, "a fact") == ("memory_write", {"text": "a fact"})


@pytest.mark.parametrize(
    ("argument", "is_own"),
    [
        *((name, True) for name in ("name", "title", "key", "memory_id", "fileName", "note_path")),
        *((name, False) for name in ("user_id", "session_name", "agent_name", "section")),
    ],
)
def test_a_name_under_which_a_text_may_be_kept_is_its_own(argument, is_own):
    schema = {"type": "object", "required": [argument, "content"]}
    schema["properties"] = {argument: {"type": "string"}, "content": {"type": "string"}}
    tool = {"name": "create_page", "parameters": schema}
    texts = ("a fact", "another fact", "a fact")
    given = [routes.storing_call([tool], text)[1][argument] for text in texts]
    assert (given[0] != given[1]) is is_own
    assert given[0] == given[2]
    assert all(name.isalpha() for name in given)


def test_a_tool_that_remembers_is_preferred_to_one_that_has_memory_in_its_name():
    text = {"type": "string"}
    tools = [tool("memory_link", content=text), tool("remember", text=text)]
    assert routes.storing_call(tools, "a fact") == ("remember", {"text": "a fact"})


@pytest.mark.parametrize(
    ("answer", "said_no"),
    [
        ('{"error": "full"}', True),
        ('{"success": false}', True),
        ('{"ok": false}', True),
        ('{"status": "error", "message": "full"}', True),
        ('{"status": "failed"}', True),
        ('{"isError": true}', True),
        ('{"status": ["error"]}', False),
        ('{"status": "stored"}', False),
        ('{"success": true, "error": null}', False),
        ("stored", False),
        (None, False),
        ("[1]", False),
    ],
)
def test_a_tools_refusal_is_told_from_its_success(answer, said_no):
    assert tool_results.refused(answer) is said_no


def test_nothing_of_the_operators_environment_goes_through(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "secret")
    monkeypatch.setenv("HERMES_HOME", "/home/operator/.hermes")
    found = sandbox.environment(tmp_path, {"MINE": "1"})
    assert "ACME_API_KEY" not in found
    assert found["MINE"] == "1"
    places = {found[name] for name in ("HOME", "TMPDIR", "HERMES_HOME", "XDG_CONFIG_HOME")}
    assert all(place.startswith(str(tmp_path)) for place in places)


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        (("127.0.0.1", 80), True),
        (("::1", 80, 0, 0), True),
        ("localhost", True),
        (b"localhost", True),
        ("/tmp/a.sock", True),
        (("192.0.2.1", 80), False),
        ("example.org", False),
    ],
)
def test_only_loopback_counts_as_inside(address, inside):
    assert watchers.is_loopback(address) is inside


def test_a_change_of_the_process_is_named():
    before = watchers.process_globals()
    socket.setdefaulttimeout(3)
    try:
        changed = watchers.differences(before, watchers.process_globals())
    finally:
        socket.setdefaulttimeout(None)
    assert changed == ["socket timeout: None became 3.0"]
    assert watchers.differences(before, watchers.process_globals()) == []


@given(st.recursive(st.sets(st.text()) | st.integers(), st.lists, max_leaves=5))
def test_declarations_become_plain_json(value):
    json.dumps(plain(value))


def test_a_hook_that_hung_is_waited_for_one_second():
    assert incidents.budget_s("compress", scale=1.0, deaths=0) == 120
    assert incidents.budget_s("compress", scale=2.0, deaths=1) == 2


def test_loading_and_every_operation_have_their_rules_and_their_time():
    assert set(incidents.BUDGETS_S) == {"load", *OPERATIONS}


DUMP = """Timeout (0:00:03)!
Thread 0x01 (most recent call first):
  File "/usr/lib/python3.11/time.py", line 9 in sleep

Thread 0x02 (most recent call first):
  File "/venv/lib/python3.11/site-packages/acme/store.py", line 12 in _match
  File "/venv/lib/python3.11/site-packages/acme/store.py", line 40 in prefetch
  File "{kit}/testing/subject.py", line 150 in call
"""


def test_the_authors_frames_are_found_in_a_stack_dump():
    dump = DUMP.format(kit=locate._KIT)
    assert locate.frames(dump) == ["acme/store.py:12 in _match", "acme/store.py:40 in prefetch"]


def test_a_signal_to_the_process_or_its_parent_is_named_and_no_other():
    started = 1 << 22
    for number in (os.getpid(), os.getppid(), 0, -1):
        assert "signalled the host" in watchers._describe("os.kill", (number, signal.SIGTERM))
    assert watchers._describe("os.kill", (started, signal.SIGTERM)) == ""
    # Asks if it runs: no signal is sent.
    assert watchers._describe("os.kill", (os.getppid(), 0)) == ""


def test_a_directory_that_is_there_and_a_file_that_is_not_are_not_changed(tmp_path):
    with AUDIT.recording() as events:
        tmp_path.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lock").unlink(missing_ok=True)
        with pytest.raises(sqlite3.OperationalError):
            sqlite3.connect(f"file:{tmp_path}/none?mode=ro", uri=True)
    assert events == []


def test_a_directory_and_a_database_that_are_made_and_a_file_that_goes_are_told(tmp_path):
    lock = tmp_path / "lock"
    lock.touch()
    with AUDIT.recording() as events:
        (tmp_path / "new").mkdir()
        lock.unlink()
        sqlite3.connect(f"file:{tmp_path}/made", uri=True).close()
    assert [line.partition(":")[0] for line in events] == [
        "changed the file system",
        "changed the file system",
        "opened the database 'file",
    ]


def test_a_recall_of_many_times_its_limit_is_met_before_it_is_searched(tmp_path):
    with (tmp_path / "wire").open("wb") as file:
        subject = Subject(Long(), NATIVE, Watch(Wire(file.fileno())))
        subject.open("session", {"home": str(tmp_path), "limits": {"recall_chars": 10}})
        assert len(subject.recall("a" * 160)) == 160
        with pytest.raises(Violation, match="161 characters") as found:
            subject.recall("a" * 161)
    assert found.value.requirement == "MP-RECALL-007"


class Long(Journal):
    def enrich_turn(self, user_message, messages):
        return user_message


def test_a_process_that_stands_where_it_stood_has_its_whole_environment_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SET_BEFORE", "1")
    monkeypatch.setenv("HOME", "/first")
    before = sandbox.Standing.now()
    monkeypatch.setenv("SET_LATER", "2")
    monkeypatch.delenv("SET_BEFORE")
    sandbox.enter(tmp_path / "other", {"MINE": "3"})
    assert sandbox.Standing.now().variables["MINE"] == "3"
    before.take()
    assert sandbox.Standing.now() == before
    with sandbox.entered(tmp_path / "other", {"MINE": "3"}):
        assert sandbox.Standing.now().folder == str(tmp_path / "other" / "work")
    assert sandbox.Standing.now() == before
