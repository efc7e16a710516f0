"""A provider that searches in the background, and drops a search that a newer one replaces."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memproto.bindings import NATIVE
from memproto.conformance.provider import recall
from memproto.testing.context import Context
from memproto.testing.provider import losses
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.scenarios import retention
from memproto.testing.wire import Wire
from tests.good.journal import Journal

#: Recalls that find nothing while one search is under way.
_RECALLS = 2


class _Search:
    """One search: its end comes after so many recalls have found nothing of it."""

    def __init__(self, find: Callable[[], str | None]) -> None:
        self._go, self.found, self.recalls = threading.Event(), None, 0
        self._find = find
        self._worker = threading.Thread(target=self._work)
        self._worker.start()

    def _work(self) -> None:
        self._go.wait()
        self.found = self._find()

    def asked(self) -> str | None:
        self.recalls += 1
        if self.recalls <= _RECALLS:
            return None
        self.end()
        return self.found

    def end(self) -> None:
        self._go.set()
        self._worker.join()


class Searching(Journal):
    """Gives what the last search of its background found; a newer one takes its place."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._search: _Search | None = None

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["prewarm"]}

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        if self._search is not None:
            self._search.end()
        look = super().enrich_turn
        self._search = _Search(lambda: look(query, []))

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return None if self._search is None else self._search.asked()

    def shutdown(self) -> None:
        if self._search is not None:
            self._search.end()
        super().shutdown()


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with (tmp_path / "wire").open("wb") as file:
        yield Run(
            Searching, NATIVE, tmp_path / "homes" / "home", Watch(Wire(file.fileno())), Context()
        )


def planted(run: Run) -> Any:
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, "turns")
    return fact


def test_its_answer_comes_back(run):
    assert run.reopened_brings_back(planted(run))


def test_its_text_is_known_for_its_words(run):
    fact = planted(run)
    with run.session() as again:
        assert losses.is_known(run, again, fact)


def test_its_text_is_found_by_recall_where_none_seemed_to_come_back(run):
    fact = planted(run)
    with run.session() as again:
        assert retention._recalls_one(run, again, [fact])


def test_its_length_is_measured(run):
    fact = planted(run)
    assert recall._length(run, fact.query) >= len(fact.text)
