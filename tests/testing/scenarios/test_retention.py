"""The kit's findings about a provider that takes texts and of which none comes back."""

import json
import logging
import os
import sqlite3
from pathlib import Path

import pytest

from memproto import loading
from memproto.conformance.provider import identity
from memproto.testing.clauses import NotApplicable, Violation
from memproto.testing.context import Context
from memproto.testing.instruments.load_step import LoadStep
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.scenarios import retention
from memproto.testing.wire import Wire

pytestmark = pytest.mark.once

ABSENT = {"turns": "absent", "writes": "absent", "tools": "absent"}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


class Audit:
    """Counts what would be connections."""

    connections = 0


AUDIT = Audit()


class Silent:
    """A Hermes provider that takes everything, keeps nothing and says nothing."""

    name = "silent"

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        self.home = Path(kwargs["hermes_home"])

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        pass

    def prefetch(self, query, *, session_id=""):
        return ""

    def get_tool_schemas(self):
        return []

    def shutdown(self):
        pass


class Raising(Silent):
    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        raise ConnectionError("no server")


class Warns(Silent):
    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        logging.getLogger("silent").warning("%s is not kept", "a turn")


class Reporting(Silent):
    def recall_status(self):
        return {"state": "down"}

    def unavailable_reason(self):
        return ""


class Refusing(Silent):
    """Its tool says that there is no server; its turns are nobody's."""

    def get_tool_schemas(self):
        return [{"name": "remember", "description": "d", "parameters": TEXT}]

    def handle_tool_call(self, tool_name, args, **kwargs):
        return json.dumps({"error": "no server"})


class Asking(Silent):
    """It says what it cannot do without."""

    def get_config_schema(self):
        return [{"key": "token", "description": "Token", "required": True}]


class Sending(Refusing):
    """Its turns are sent, too, and nobody learns that they did not arrive."""

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        AUDIT.connections += 1


class Queueing(Silent):
    """It keeps each turn in words of its own, for a server that is away."""

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        with sqlite3.connect(self.home / "queue.db") as database:
            database.execute("CREATE TABLE IF NOT EXISTS queue (size INTEGER)")
            database.execute("INSERT INTO queue VALUES (?)", [len(user_content)])
        database.close()


class Searched(Silent):
    """Its recall abstains; its tool finds what was said."""

    said: list[str] = []  # noqa: RUF012 - of the process on purpose

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        self.said.append(user_content)

    def get_tool_schemas(self):
        return [{"name": "memory_search", "description": "d", "parameters": QUERY}]

    def handle_tool_call(self, tool_name, args, **kwargs):
        return json.dumps({"found": self.said})


class Logging(Silent):
    """It counts its sessions in a file, and repeats in a log what was said."""

    log = "silent.log"

    def initialize(self, session_id, **kwargs):
        super().initialize(session_id, **kwargs)
        with (self.home / "sessions.txt").open("a", encoding="utf-8") as file:
            file.write("one more\n")

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        with (self.home / self.log).open("a", encoding="utf-8") as file:
            file.write(user_content)


class Debugging(Logging):
    log = "Debug-trace.jsonl"


@pytest.fixture
def run_of(tmp_path, monkeypatch):
    monkeypatch.setattr(retention, "_SETTLE_S", 0.05)
    read, write = os.pipe()

    def build(kind):
        loaded = loading.load(f"{__name__}:{kind.__name__}")
        context = Context(routes=ABSENT)
        run = Run(loaded.build, loaded.binding, tmp_path / "memory", Watch(Wire(write)), context)
        run.audit = AUDIT
        return run

    yield build
    os.close(read)
    os.close(write)


@pytest.fixture
def observed(run_of):
    return lambda kind: retention.observed(run_of(kind))


@pytest.mark.parametrize("kind", [Silent, Logging, Debugging])
def test_what_is_neither_kept_nor_reported_is_seen_as_such(observed, kind):
    kept = observed(kind)
    assert (list(kept.by), kept.place, kept.said) == (["sync_turn"], "", "")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Raising, "sync_turn raised ConnectionError"),
        (Warns, "it logged 'a turn is not kept'"),
        (Reporting, "recall_status said {'state': 'down'}"),
        (Refusing, "the tool remember refused a plain fact"),
    ],
)
def test_each_way_of_saying_that_nothing_is_kept_counts(observed, kind, said):
    assert said in observed(kind).said


def test_a_tool_that_refuses_does_not_speak_for_turns_that_were_sent(observed):
    kept = observed(Sending)
    assert (kept.said, kept.tried) == ("", ["sync_turn"])


@pytest.mark.parametrize(
    ("kind", "place"),
    [(Queueing, "the file memory/queue.db"), (Searched, "the tool memory_search")],
)
def test_each_place_where_a_text_may_be_kept_is_looked_into(observed, kind, place):
    assert observed(kind).place == place


def test_what_is_required_and_given_by_nobody_is_missing(run_of):
    with pytest.raises(Violation, match="False while token is missing"):
        identity.what_is_required_is_looked_for(run_of(Asking))


def test_what_a_factory_gives_is_not_known_and_so_nothing_is_missing(run_of):
    run = run_of(Asking)
    run.load_step = LoadStep(factory="mine:make")
    with pytest.raises(NotApplicable, match="`factory`"):
        identity.what_is_required_is_looked_for(run)
