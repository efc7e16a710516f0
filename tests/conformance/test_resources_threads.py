"""Threads that count as left behind when the last session was shut down."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import resources
from memproto.testing.clauses import NotApplicable, Violation
from memproto.testing.context import Context
from memproto.testing.instruments import threads
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire
from tests.good.journal import Journal


@pytest.fixture
def over():
    """Set at the end, so that no thread of a test goes on."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """Judge a provider of a class, without the time that a thread has to end."""
    monkeypatch.setattr(resources, "_LAST_S", 0.05)
    monkeypatch.setattr(resources, "_ENDING_S", 0.05)
    with (tmp_path / "wire").open("wb") as file:

        def judge(kind):
            home = tmp_path / "root" / "home"
            home.parent.mkdir()
            run = Run(kind, NATIVE, home, Watch(Wire(file.fileno())), Context())
            resources.the_last_shutdown_leaves_no_worker(run)

        yield judge


def test_a_worker_that_all_sessions_share_and_none_stops_is_named(judged, over):
    class Shares(Journal):
        worker = None

        def initialize(self, session_key, config):
            super().initialize(session_key, config)
            if Shares.worker is None:
                Shares.worker = threading.Thread(target=self._wait)
                Shares.worker.start()

        @staticmethod
        def _wait():
            over.wait()

    with pytest.raises(Violation, match="1 still there: test_resources_threads"):
        judged(Shares)


def test_a_worker_that_ends_with_its_session_is_not_left(judged):
    class Stops(Journal):
        def initialize(self, session_key, config):
            super().initialize(session_key, config)
            self._stop = threading.Event()
            self._worker = threading.Thread(target=self._wait)
            self._worker.start()

        def _wait(self):
            self._stop.wait()

        def shutdown(self):
            self._stop.set()
            self._worker.join()

    judged(Stops)


def test_a_worker_that_needs_a_while_to_end_is_not_left(judged, monkeypatch):
    looks = [["a worker"], ["a worker"], []]
    monkeypatch.setattr(resources, "_LAST_S", 10.0)
    monkeypatch.setattr(threads, "workers", lambda provider, known: looks.pop(0))
    judged(Journal)
    assert not looks


def test_the_idle_threads_of_a_pool_do_not_count(judged):
    with ThreadPoolExecutor(2) as pool:

        class Pools(Journal):
            def enrich_turn(self, user_message, messages):
                return pool.submit(super().enrich_turn, user_message, messages).result()

        judged(Pools)
        assert pool._threads


def test_what_each_session_leaves_is_the_matter_of_another_rule(judged, over):
    class Leaves(Journal):
        def initialize(self, session_key, config):
            super().initialize(session_key, config)
            threading.Thread(target=self._wait).start()

        @staticmethod
        def _wait():
            over.wait()

    with pytest.raises(NotApplicable, match="MP-RES-001"):
        judged(Leaves)
