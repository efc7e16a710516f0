"""The kit's findings about providers that cannot say it themselves."""

import logging
import os
import threading

import pytest

from memproto import loading
from memproto.bindings import HERMES, NATIVE
from memproto.testing import needs
from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.context import Context
from memproto.testing.facts import Facts
from memproto.testing.provider import routes, survey
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject, Watch
from memproto.testing.wire import Wire

KEPT: dict[str, list[str]] = {}


class Scoped:
    """A Hermes provider that recalls what was said in the same session only."""

    name = "scoped"

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        self.place = f"{kwargs['hermes_home']}/{session_id if self.by_session else ''}"

    by_session = True

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        KEPT.setdefault(self.place, []).append(user_content)

    def prefetch(self, query, *, session_id=""):
        return "\n".join(KEPT.get(self.place, []))

    def get_tool_schemas(self):
        return []

    def shutdown(self):
        pass


class Shared(Scoped):
    """The same, with one memory for every session."""

    by_session = False


class Batching(Shared):
    """It writes every fifth turn, and forgets the rest at shutdown."""

    def initialize(self, session_id, **kwargs):
        super().initialize(session_id, **kwargs)
        self.batch = []

    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        self.batch.append(user_content)
        if len(self.batch) == 5:
            KEPT.setdefault(self.place, []).extend(self.batch)
            self.batch = []


class Unreached(Shared):
    """It has no backend, which only its log says."""

    def prefetch(self, query, *, session_id=""):
        logging.getLogger("unreached.client").error("search:\n  %s", "connection refused")
        return ""


def register(ctx):
    ctx.register_memory_provider(Scoped())


@pytest.fixture
def wire():
    read, write = os.pipe()
    yield Wire(write)
    os.close(read)
    os.close(write)


def run_of(kind, wire, folder, **context):
    loaded = loading.load(f"{__name__}:{kind.__name__}")
    return Run(loaded.build, loaded.binding, folder / "home", Watch(wire), Context(**context))


def test_a_register_function_named_as_an_attribute_registers():
    loaded = loading.load(f"{__name__}:register")
    assert loaded.binding is HERMES
    assert loaded.build().name == "scoped"


def test_a_memory_that_is_kept_for_its_session_alone_is_seen_as_such(wire, tmp_path):
    run = run_of(Scoped, wire, tmp_path)
    assert run.find_out("turns") == "observed"
    assert run.observed == {"isolates": ["session"]}
    assert run.session_key() == run.session_key()


def test_a_memory_of_all_sessions_is_not_taken_for_one_of_a_session(wire, tmp_path):
    run = run_of(Shared, wire, tmp_path)
    assert run.find_out("turns") == "observed"
    assert not run.observed
    assert run.session_key() != run.session_key()


def test_a_batch_that_waits_for_more_turns_does_not_hide_the_route(wire, tmp_path):
    assert run_of(Batching, wire, tmp_path).find_out("turns") == "observed"


def test_a_route_that_first_contact_did_not_get_to_is_tried_when_it_is_needed(wire, tmp_path):
    assert run_of(Shared, wire, tmp_path).needs_route("turns") == "turns"
    known = run_of(Shared, wire, tmp_path, routes={"turns": "absent"})
    assert not known.serves("turns")


def test_what_was_logged_is_said_where_nothing_came_back(wire, tmp_path, monkeypatch):
    # As in a child of the kit, where nobody listens.
    monkeypatch.setattr(logging.root, "handlers", [])
    found = survey.survey(run_of(Unreached, wire, tmp_path))
    assert found["routes"]["turns"] == "absent"
    told = run_of(Unreached, wire, tmp_path, routes=found["routes"], logged=found["logged"])
    said = r"came back at first contact, and it logged 'search: connection refused'$"
    with pytest.raises(Untestable, match=said) as left:
        told.needs_route("turns")
    assert needs.settings(left.value.needs) == ["service", "env", "settle", "declares.stores"]


def test_nothing_is_said_of_a_log_in_which_nothing_stands(wire, tmp_path):
    assert survey.survey(run_of(Shared, wire, tmp_path))["logged"] == ""


def test_a_hook_that_hung_too_often_is_left_out_of_a_session_that_is_not_about_it(wire):
    called = threading.Event()

    class Counts(Shared):
        def enrich_turn(self, user_message, messages):
            return None

        def on_memory_write(self, action, target, content, old_text=None):
            called.set()

        def on_turn_complete(self, user_message, assistant_response):
            pass

        def on_compress(self, messages, compression_count):
            pass

    subject = Subject(Counts(), NATIVE, Watch(wire, deaths={"mirror": 3}))
    routes.live(subject, Facts(0).new())
    assert not called.is_set()


# -- hooks that nobody serves ----------------------------------------------------------------------


class MemoryProvider(Shared):
    """As the base class of the host: a hook that does nothing."""

    def on_memory_write(self, action, target, content, metadata=None):
        pass


class Inheriting(MemoryProvider):
    """It has no hook of its own for what it does not serve."""


class Mirroring(MemoryProvider):
    """It has one."""

    def on_memory_write(self, action, target, content, metadata=None):
        KEPT.setdefault(self.place, []).append(content)


def test_a_hook_of_the_hosts_base_class_is_as_one_that_is_not_there(wire, tmp_path):
    run = run_of(Inheriting, wire, tmp_path)
    assert run.lacks("mirror")
    assert not run.lacks("record")
    # No setting can help: nothing is said of one.
    with pytest.raises(NotApplicable, match="no on_memory_write of its own"):
        run.needs_route("writes")
    assert not run_of(Mirroring, wire, tmp_path).lacks("mirror")
