"""When a process that stores in the midst of another one's call is no longer waited for."""

import pytest

from memproto.testing.lifetimes import races


class Host:
    """A host whose call is made at the n-th look, and that works in so much of each wait."""

    def __init__(self, made_at, worked, at_a_disk=0):
        self.looks = 0
        self._made_at, self._worked_s = made_at, worked * races._AWAITED_S
        self._at_a_disk = at_a_disk

    def work(self):
        return self

    def done_s(self):
        return self._worked_s

    def is_at_a_disk(self):
        return self.looks <= self._at_a_disk

    def comes_to_one_of(self, sign, within_s):
        self.looks += 1
        return self.looks >= self._made_at


HOSTS = {
    "made": (1, 0.0, 0, 1),
    "kept from a processor": (4, 0.9, 0, 4),
    "computes for ever": (99, 0.9, 0, races._MOST_WAITS),
    "waits": (99, 0.0, 0, 1),
    "looks for a lock": (99, 0.1, 0, 1),
    "waits for a disk": (3, 0.0, 9, 3),
    "waits for a lock behind a disk": (99, 0.0, 2, 3),
}


@pytest.mark.parametrize(("made_at", "worked", "at_a_disk", "looks"), HOSTS.values(), ids=HOSTS)
def test_a_host_is_waited_for_while_it_works(made_at, worked, at_a_disk, looks):
    host = Host(made_at, worked, at_a_disk)
    races._let_work(host, "made 0 ")
    assert host.looks == looks
