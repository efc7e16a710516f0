"""A session that shows what was known at its start begins when what was stored is fresh."""

import types

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import turns
from memproto.testing.context import Context
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests.good.journal import Journal

FRESHNESS_S = 0.2


class Replica(Journal):
    """Shows in a session what had been stored for the declared time when it began."""

    clock = types.SimpleNamespace(s=0.0)
    stored = ()

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        fresh = [text for at, text in Replica.stored if self.clock.s >= at + FRESHNESS_S]
        self.snapshot = "\n".join(fresh)

    def enrich_turn(self, user_message, messages):
        return self.snapshot or None

    def on_turn_complete(self, user_message, assistant_response):
        Replica.stored = (*Replica.stored, (self.clock.s, user_message))


@pytest.fixture
def waits(monkeypatch):
    """The waits before a session, in which nothing but the clock goes on."""
    clock, found = types.SimpleNamespace(s=100.0), []

    def sleep(seconds):
        found.append(seconds)
        clock.s += seconds

    monkeypatch.setattr(Replica, "clock", clock)
    monkeypatch.setattr(Replica, "stored", ())
    for module in ("freshness", "subject"):
        monkeypatch.setattr(f"memproto.testing.provider.{module}.monotonic", lambda: clock.s)
    monkeypatch.setattr("memproto.testing.provider.run.sleep", sleep)
    return found


@pytest.fixture
def run_of(tmp_path):
    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()))

        def made(factory, **declared):
            known = {"stores": ["turns"], "consistency": {"eventual": {"freshness_s": FRESHNESS_S}}}
            context = Context(routes={"turns": "declared"}, capabilities={**known, **declared})
            return Run(factory, NATIVE, tmp_path / "home", watch, context)

        yield made


def test_a_session_that_shows_what_was_known_at_its_start_begins_late_enough(run_of, waits):
    turns.the_last_turn_is_stored(run_of(Replica, recall_basis="session"))
    assert max(waits) == pytest.approx(FRESHNESS_S)


def test_a_recall_by_query_is_asked_again_and_its_session_begins_at_once(run_of, waits):
    turns.the_last_turn_is_stored(run_of(Journal, recall_basis="query"))
    assert waits == []
