"""A write that the host was told is taken is made, also if the backend was away at first."""

import threading

import pytest

from memproto.adapters.hermes_lane import WriteLane
from memproto.errors import Rejected, Unavailable

LONG_S = 30.0


class Store:
    """It refuses so many writes, the first one after `goes_on` is set."""

    def __init__(self, refusals, error=None):
        self.goes_on = threading.Event()
        self.stored, self.asked = [], 0
        self._refusals, self._error = refusals, error or Unavailable("away", retry_after_s=0.01)

    def take(self, text):
        self.asked += 1
        assert self.goes_on.wait(LONG_S)
        if self.asked <= self._refusals:
            raise self._error
        self.stored.append(text)


@pytest.fixture
def lane():
    return WriteLane(0.0)


def test_a_write_that_nobody_waits_for_is_made_when_the_backend_is_back(lane, caplog):
    store = Store(refusals=3)
    lane.write("record", lambda: store.take("first"))
    lane.write("record", lambda: store.take("second"))
    store.goes_on.set()
    lane.close(LONG_S)
    assert store.stored == ["first", "second"]
    assert store.asked == 5
    assert not caplog.records


def test_a_failure_that_its_caller_hears_of_is_not_repeated():
    store, lane = Store(refusals=1), WriteLane(LONG_S)
    store.goes_on.set()
    with pytest.raises(Unavailable):
        lane.write("record", lambda: store.take("first"))
    lane.close(LONG_S)
    assert (store.stored, store.asked) == ([], 1)


def test_what_the_backend_refuses_for_good_is_logged_and_not_repeated(lane, caplog):
    store = Store(refusals=1, error=Rejected("never"))
    lane.write("record", lambda: store.take("first"))
    store.goes_on.set()
    lane.close(LONG_S)
    assert store.asked == 1
    assert [record.getMessage() for record in caplog.records] == ["record failed: Rejected"]


def test_a_backend_that_stays_away_does_not_keep_the_host(lane, caplog, no_thread_is_left):
    store = Store(refusals=10**9, error=Unavailable("away", retry_after_s=3600.0))
    lane.write("record", lambda: store.take("first"))
    lane.write("record", lambda: store.take("second"))
    store.goes_on.set()
    workers = [one for one in threading.enumerate() if one.name == "memproto-writes"]
    lane.close(0.05)
    for worker in workers:
        worker.join(LONG_S)
    told = sorted(record.getMessage() for record in caplog.records)
    assert told == [
        "a write did not end in time; 1 behind it are lost",
        "record failed: Unavailable",
    ]


def test_a_switch_of_session_is_made_once(lane):
    store = Store(refusals=1)
    lane.write("on_session_switch", lambda: store.take("other"), is_switch=True)
    store.goes_on.set()
    assert lane.await_switches(LONG_S)
    lane.close(LONG_S)
    assert store.asked == 1
