"""When a process that stores in the midst of another one's call is no longer waited for."""

import itertools

import pytest

from memproto.testing.lifetimes import races


class Host:
    """A host whose call is made at the n-th look, and that works in so much of each wait."""

    def __init__(self, made_at, worked):
        self.looks = 0
        self._made_at, self._worked_s = made_at, worked * races._AWAITED_S
        self._busy_s = itertools.count()

    def busy_s(self):
        # Asked before a wait and behind it.
        return next(self._busy_s) * self._worked_s

    def comes_to_one_of(self, sign, within_s):
        self.looks += 1
        return self.looks >= self._made_at


@pytest.mark.parametrize(
    ("made_at", "worked", "looks"),
    [(1, 0.0, 1), (4, 0.9, 4), (99, 0.9, races._MOST_WAITS), (99, 0.0, 1), (99, 0.1, 1)],
    ids=["made", "kept from a processor", "computes for ever", "waits", "looks for a lock"],
)
def test_a_host_is_waited_for_while_it_works(made_at, worked, looks):
    host = Host(made_at, worked)
    races._let_work(host, "made 0 ")
    assert host.looks == looks
