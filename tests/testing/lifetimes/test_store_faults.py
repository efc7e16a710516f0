"""Calls of a host whose store fails: those that a tool answers with a refusal are not done."""

import json

import pytest

from memproto.testing import patience
from memproto.testing.lifetimes import store_process
from memproto.testing.lifetimes.ends import Ended
from memproto.testing.lifetimes.store_faults import Seen

BREAKER = json.dumps({"error": "temporarily unavailable (circuit breaker open)"})
REFUSALS = [BREAKER, '{"success": false}', '{"ok": false, "why": "full"}', '{"status": "failed"}']


def seen(*marks):
    return Seen(Ended(0, list(marks), "", ()), [])


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_call_that_a_tool_refused_is_told_by_its_answer(answer):
    told = seen("change 1 0 0.010 done", f"change 1 0 answered {json.dumps(answer)}")
    assert not told.is_done("change 1 0")
    assert told.said("change 1 0") == f"answered {answer}"


@pytest.mark.parametrize("answer", ['{"ok": true}', "stored", '["error"]'])
def test_one_that_it_did_is_done(answer):
    told = seen("change 1 0 0.010 done", f"change 1 0 answered {json.dumps(answer)}")
    assert told.is_done("change 1 0")


class Host:
    """A host whose tool answers so, one answer after the other."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.told = {}
        self.marks = []

    def say(self, mark):
        self.marks.append(mark)

    def make(self, _):
        return self.answers.pop(0) if self.answers[1:] else self.answers[0]


def test_a_tool_that_refuses_for_a_while_is_called_again():
    host = Host(BREAKER, BREAKER, '{"ok": true}')
    store_process._changes_again(host, "change 1", [{}], patience.Deadline(15.0, 1.0))
    assert seen(*host.marks).is_done("change 1 0")


def test_one_that_refuses_for_longer_is_not_waited_for_and_not_done():
    host = Host(BREAKER)
    store_process._changes_again(host, "change 1", [{}], patience.Deadline(0.0, 1.0))
    assert not seen(*host.marks).is_done("change 1 0")
    assert not store_process._change(host, "change 1 0", {})
