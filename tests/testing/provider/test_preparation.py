"""How long a check waits for answers that are prepared in advance."""

import itertools

import pytest

from memproto.testing.provider import preparation, routes
from memproto.testing.provider.preparation import PREWARM_S, Preparation


def in_vain(waits, times):
    for _ in range(times):
        waits.note(PREWARM_S, found=False)


def test_the_first_waits_of_a_check_are_whole():
    shared = {}
    Preparation(lambda: shared).note(0.001, found=True)
    waits = Preparation(lambda: shared)
    for _ in range(3):
        assert waits.wait_s() == PREWARM_S
        in_vain(waits, 1)
    assert waits.wait_s() == 0.25


def test_all_are_whole_if_none_ever_brought_anything():
    waits = Preparation()
    in_vain(waits, 50)
    assert waits.wait_s() == PREWARM_S


@pytest.mark.parametrize(("took_s", "wait_s"), [(0.0, 0.25), (0.05, 1.0), (0.5, PREWARM_S)])
def test_later_ones_go_by_the_longest_that_brought_something(took_s, wait_s):
    waits = Preparation(_kept())
    waits.note(took_s, found=True)
    waits.note(took_s / 2, found=True)
    in_vain(waits, 3)
    assert waits.wait_s() == wait_s


def _kept():
    shared = {}
    return lambda: shared


class _Subject:
    """Prepares, and answers at the question of a number."""

    poll_s = 0.0

    def __init__(self, preparation, answers_at):
        self.preparation, self._answers_at = preparation, answers_at
        self._asked = itertools.count(1)
        self.prepared = 0

    def has(self, operation):
        return operation == "prewarm"

    def prewarm(self, query):
        self.prepared += 1

    def recall(self, query, **_):
        return "The boat is in Ostrava." if next(self._asked) >= self._answers_at else ""


class _Fact:
    query = "Where is the boat?"

    def is_in(self, text):
        return "Ostrava" in (text or "")


@pytest.mark.parametrize("answers_at", [1, 4])
def test_an_answer_is_noted_with_the_time_that_it_took(monkeypatch, answers_at):
    monkeypatch.setattr(routes, "recalled", lambda subject, query: subject.recall(query))
    waits = Preparation(_kept())
    subject = _Subject(waits, answers_at)
    assert routes.brings(subject, _Fact())
    assert subject.prepared == answers_at - 1
    in_vain(waits, 3)
    assert waits.wait_s() < PREWARM_S


def test_a_loss_is_noted(monkeypatch):
    monkeypatch.setattr(routes, "recalled", lambda subject, query: "")
    monkeypatch.setattr(preparation, "PREWARM_S", 0.01)
    waits = Preparation(_kept())
    waits.note(0.0, found=True)
    for _ in range(3):
        assert waits.wait_s() == 0.01
        assert not routes.brings(_Subject(waits, 0), _Fact())
    monkeypatch.setattr(preparation, "PREWARM_S", 60.0)
    assert waits.wait_s() == 0.25
