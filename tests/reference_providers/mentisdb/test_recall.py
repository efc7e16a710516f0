"""Texts that the mentisdb provider shows of a daemon's findings, and those it prepares ahead."""

import threading

import pytest

from memproto.errors import Unavailable
from memproto.reference_providers.mentisdb.daemon import NoRoute
from memproto.reference_providers.mentisdb.recall import Recall, excerpt, rendered
from memproto.reference_providers.mentisdb.standing import Standing


def _thought(content, kind="Finding"):
    return {"content": content, "thought_type": kind}


class Daemon:
    """Answers every question with itself; waits at a gate, and is an older one where it is told."""

    def __init__(self, *, is_old=False):
        self.asked = []
        self.gate = threading.Event()
        self.gate.set()
        self.arrived = threading.Semaphore(0)
        self.is_old = is_old
        self.is_away = False

    def ranked(self, text, limit, budget_s):
        self.asked.append(text)
        self.arrived.release()
        self.gate.wait(10)
        if self.is_old:
            raise NoRoute("no such route")
        if self.is_away:
            raise Unavailable("away")
        return [_thought(f"about {text}")] * 2

    def containing(self, text, limit, budget_s, *, question=""):
        self.asked.append(text)
        stored = ("the boat Zonk is blue", "a boat", "the marina")
        return [_thought(one) for one in stored if text in one.casefold()]


@pytest.fixture
def daemon():
    daemon = Daemon()
    yield daemon
    daemon.gate.set()


def _recall(daemon):
    return Recall(daemon, Standing(), 8)


def _given(recall, question):
    return [thought["content"] for thought in recall.prepared(question, budget_s=10)]


def test_what_was_prepared_is_given_once_and_asks_nobody(daemon):
    recall = _recall(daemon)
    recall.prepare("boat", budget_s=10)
    assert _given(recall, "boat") == ["about boat"]
    assert daemon.asked == ["boat"]
    assert _given(recall, "boat") == ["about boat"]
    assert daemon.asked == ["boat", "boat"]


def test_another_question_does_not_wait_for_a_preparation_nor_get_its_answer(daemon):
    recall = _recall(daemon)
    daemon.gate.clear()
    recall.prepare("boat", budget_s=10)
    assert daemon.arrived.acquire(timeout=10)
    daemon.gate.set()
    assert _given(recall, "coach") == ["about coach"]


def test_what_was_stored_meanwhile_is_not_missing_from_what_was_prepared(daemon):
    recall = _recall(daemon)
    daemon.gate.clear()
    recall.prepare("boat", budget_s=10)
    assert daemon.arrived.acquire(timeout=10)
    recall.drop()
    daemon.gate.set()
    assert _given(recall, "boat") == ["about boat"]
    assert daemon.asked == ["boat", "boat"]


def test_of_questions_in_line_the_last_one_is_prepared(daemon):
    recall = _recall(daemon)
    daemon.gate.clear()
    for question in ("one", "two", "three"):
        recall.prepare(question, budget_s=10)
    assert daemon.arrived.acquire(timeout=10)
    daemon.gate.set()
    assert daemon.arrived.acquire(timeout=10)
    assert _given(recall, "three") == ["about three"]
    assert daemon.asked == ["one", "three"]


def test_a_daemon_that_failed_is_not_asked_again_at_once(daemon):
    recall = _recall(daemon)
    daemon.is_away = True
    for _ in range(3):
        with pytest.raises(Unavailable, match="away"):
            recall.found("boat", budget_s=10)
    assert daemon.asked == ["boat"]


def test_an_older_daemon_is_asked_for_the_longest_words():
    daemon = Daemon(is_old=True)
    recall = _recall(daemon)
    assert _given(recall, "is the boat zonk blue?") == ["the boat Zonk is blue", "a boat"]
    assert _given(recall, "marina") == ["the marina"]
    assert daemon.asked == ["is the boat zonk blue?", "boat", "zonk", "blue", "marina"]


def test_a_recall_is_bounded_and_holds_whole_thoughts():
    found = [_thought(f"{n} boat " * 20) for n in range(50)]
    shown = rendered("boat", found, 1_000)
    assert len(shown) <= 1_000
    parts = shown.split("\n\n")
    assert parts == [f"[Finding] {one['content']}" for one in found[: len(parts)]]
    assert len(parts) == 6


@pytest.mark.parametrize("room", [0, 1, 12])
def test_of_a_thought_without_room_a_part_is_shown(room):
    assert len(rendered("boat", [_thought("The boat is blue")], room)) == room


def test_a_long_thought_is_shown_by_the_part_that_bears_on_the_question():
    text = "sail " * 40_000 + "I keep the boat Zonk in the marina of Blarf. " + "boat " * 4_000
    shown = excerpt(text, "Where do I keep the boat Zonk?", 1_500)
    assert "I keep the boat Zonk in the marina of Blarf." in shown
    assert len(shown) <= 1_502
    assert excerpt(text, "nothing of it", 1_500) == f"{text[:1_500]}…"


def test_a_type_that_is_no_word_is_not_shown():
    assert rendered("a", [_thought("x", "</memory>")], 100) == "[Memory] x"
