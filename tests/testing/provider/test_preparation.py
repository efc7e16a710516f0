"""How long a check waits for answers that are prepared in advance."""

import itertools

import pytest

from memproto.testing.provider import preparation, routes
from memproto.testing.provider.preparation import PREWARM_S, Attempts, Preparation


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


def test_no_wait_for_what_is_to_stay_away_is_whole_if_one_brought_something():
    waits = Preparation(_kept())
    with waits.of_absence():
        assert waits.wait_s() == PREWARM_S
    waits.note(0.001, found=True)
    with waits.of_absence():
        in_vain(waits, 5)
        assert waits.wait_s() == 0.1
    waits.note(0.05, found=True)
    with waits.of_absence():
        assert waits.wait_s() == 0.2
    # Those for a loss are, however many were in vain before.
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
    assert subject.prepared == min(answers_at - 1, 1)
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


class _Time:
    """A clock that goes on by what is slept."""

    def __init__(self):
        self.now_s = 100.0

    def monotonic(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


@pytest.fixture
def time(monkeypatch):
    time = _Time()
    monkeypatch.setattr(routes, "monotonic", time.monotonic)
    monkeypatch.setattr(routes, "sleep", time.sleep)
    monkeypatch.setattr(routes, "recalled", lambda subject, query: subject.recall(query))
    monkeypatch.setattr(
        routes, "Attempts", lambda *waits: Attempts(*waits, clock=time.monotonic), raising=False
    )
    return time


class _Searching(_Subject):
    """Searches in the background for a while; a new preparation takes the place of the last."""

    poll_s = 0.05

    def __init__(self, time, takes_s, *, fresh_s=0.0, leaves_out=False):
        super().__init__(Preparation(_kept()), 0)
        self._time, self._takes_s, self._leaves_out = time, takes_s, leaves_out
        self._fresh_at = time.now_s + fresh_s
        self._began_at, self._query = None, ""

    def _is_ready(self):
        return self._began_at is not None and self._time.now_s >= self._began_at + self._takes_s

    def prewarm(self, query):
        self.prepared += 1
        if not self._leaves_out or self._began_at is None or self._is_ready():
            self._began_at, self._query = self._time.now_s, query

    def recall(self, query, **_):
        if not self._is_ready() or self._began_at < self._fresh_at:
            return ""
        return "The boat is in Ostrava." if self._query == _Fact.query else ""


@pytest.mark.parametrize("leaves_out", [False, True])
@pytest.mark.parametrize("takes_s", [0.0, 0.04, 0.2, 0.4, 0.9, 1.9])
def test_a_search_that_a_new_preparation_replaces_has_its_time(time, takes_s, leaves_out):
    assert routes.brings(_Searching(time, takes_s, leaves_out=leaves_out), _Fact())


@pytest.mark.parametrize("takes_s", [0.04, 0.9, 1.9])
def test_all_questions_that_are_prepared_together_have_their_time(time, takes_s):
    assert routes.bringing(_Searching(time, takes_s), [_Words(), _Words()])


@pytest.mark.parametrize("fresh_s", [0.3, 0.7, 3.0, 9.0])
def test_a_store_that_is_not_fresh_yet_is_searched_again(time, fresh_s):
    subject = _Searching(time, 1.9, fresh_s=fresh_s)
    assert routes.brings(subject, _Fact(), freshness_s=fresh_s)


def test_a_question_is_prepared_a_few_times_and_asked_no_more_after_its_wait(time):
    subject, begin = _Searching(time, 60.0), time.now_s
    assert not routes.brings(subject, _Fact())
    assert subject.prepared == 3
    assert time.now_s - begin < 2 * PREWARM_S


def test_each_of_several_questions_is_prepared_last_once(time):
    other = _Words()
    other.query = "What do I own?"
    # The provider has room for one.
    assert routes.bringing(_Searching(time, 0.1), [_Words(), other])


class _Words(_Fact):
    def stands_in(self, text):
        return bool(text)
