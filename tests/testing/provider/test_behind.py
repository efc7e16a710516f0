"""Recall that goes by the turn before: the kit makes that turn, and waits for nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memproto.bindings import NATIVE
from memproto.errors import WriteRefused
from memproto.testing.context import Context
from memproto.testing.provider import routes
from memproto.testing.provider.preparation import PREWARM_S
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.scenarios.tenants import Reader
from memproto.testing.wire import Wire
from tests.good.behind import Behind


class Prewarming(Behind):
    """Has its answer ready at the end of a turn; there is nothing left to prepare."""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """The answer lies ready."""

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        texts = (self._ready or "").splitlines()
        return {"items": [{"id": text, "text": text} for text in texts], "status": "ok"}


class Refusing(Prewarming):
    """Takes no questions into the store, and looks them up all the same."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message, assistant_response)
        if user_message.endswith("?"):
            raise WriteRefused("a question is nothing to remember")


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that recall is waited for; a clock goes on by them, and nothing else."""
    now, found = [100.0], list[float]()

    def sleep(seconds: float) -> None:
        found.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(routes, "sleep", sleep)
    monkeypatch.setattr("memproto.testing.provider.preparation.monotonic", lambda: now[0])
    monkeypatch.setattr(routes.Attempts.__init__, "__defaults__", (0.0, lambda: now[0]))
    return found


@pytest.fixture
def run_of(tmp_path: Path) -> Iterator[Any]:
    with (tmp_path / "wire").open("wb") as file:
        declared = {
            "recall_basis": "previous",
            "extensions": ["prewarm", "items"],
            "stores": ["turns"],
        }
        context = Context(routes={"turns": "declared"}, capabilities=declared)
        watch = Watch(Wire(file.fileno()))
        yield lambda factory: Run(factory, NATIVE, tmp_path / "homes" / "home", watch, context)


def planted(run: Run) -> Any:
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, "turns")
    return fact


def test_no_wait_before_the_turn_once_it_was_the_turn_that_brought_a_text(run_of, slept):
    run = run_of(Prewarming)
    assert run.reopened_brings_back(planted(run))
    assert sum(slept) > PREWARM_S
    slept.clear()
    assert all(run.reopened_brings_back(planted(run)) for _ in range(5))
    assert slept == []


def test_what_is_to_stay_away_is_not_waited_for_as_long_as_a_loss(run_of, slept):
    run = run_of(Prewarming)
    fact, reader = planted(run), Reader(run)
    with run.session() as owner:
        assert reader.sees(owner, fact)
    slept.clear()
    with run.session() as guest:
        assert not any(reader.finds(guest, run.facts.new()) for _ in range(5))
    assert sum(slept) < 5 * PREWARM_S / 4
    slept.clear()
    with run.session() as owner:
        assert not run.brings_back(owner, run.facts.new())
    assert sum(slept) > PREWARM_S


def test_a_question_that_is_refused_is_looked_up_all_the_same(run_of, slept):
    run = run_of(Refusing)
    assert run.reopened_brings_back(planted(run))
