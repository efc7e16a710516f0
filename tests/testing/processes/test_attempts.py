"""Attempts to connect, by the kernel's counts and by what the process itself was refused."""

import pytest

from memproto.testing.processes import attempts
from memproto.testing.processes.attempts import Attempts, Counts


@pytest.fixture
def counted(monkeypatch):
    """Sets the counts of the namespace."""
    now = [Counts(3, 5)]
    monkeypatch.setattr(Attempts, "_counts", lambda self: now[0])
    monkeypatch.setattr(attempts, "has_offspring", lambda pid: False)

    def found(failed, answered):
        now[0] = Counts(3 + failed, 5 + answered)

    return found


def confined(*notes):
    made = Attempts(is_confined=True)
    for outside in notes:
        made.note(outside=outside)
    return made


@pytest.mark.parametrize(
    ("notes", "failed", "answered", "expected"),
    [
        ((), 0, 0, False),
        ((False,), 1, 0, True),
        ((True,), 0, 0, True),
        ((True,), 0, 1, False),
        ((False,), 2, 1, False),
        # Somebody else in the namespace tried in vain.
        ((), 1, 0, False),
    ],
)
def test_none_was_answered_where_some_were_tried(counted, notes, failed, answered, expected):
    mine = confined(*notes)
    counted(failed, answered)
    assert mine.are_unanswered() is expected


def test_a_program_that_it_started_may_have_tried_in_its_stead(counted, monkeypatch):
    mine = confined()
    counted(1, 0)
    monkeypatch.setattr(attempts, "has_offspring", lambda pid: True)
    assert mine.are_unanswered()


def test_without_a_namespace_of_its_own_only_what_was_refused_counts():
    mine = Attempts(is_confined=False)
    assert not mine.are_unanswered()
    mine.note(outside=True)
    assert mine.are_unanswered()
    mine.note(outside=False)
    assert not mine.are_unanswered()


def test_the_counts_are_read_from_the_tables_of_the_kernel():
    text = "Ip: A OutNoRoutes\nIp: 1 4\nTcp: ActiveOpens AttemptFails MaxConn\nTcp: 9 2 -1\n"
    assert attempts._table(text)["Tcp"] == {"ActiveOpens": 9, "AttemptFails": 2, "MaxConn": -1}
    assert attempts._table(text)["Ip"]["OutNoRoutes"] == 4
