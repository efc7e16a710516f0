"""
Ctrl+C between any two lines of what takes a lock leaves the lock to the next one who wants it.

Lines that give back a lock of threads are let alone: nobody can guard the first of them. A lock on
a file is given back whatever becomes of them.
"""

import contextlib
import gc
import itertools
import linecache
import sys
import threading
import time
from pathlib import Path

import pytest

from memproto.reference_providers import outbox
from memproto.reference_providers.builtin import files
from memproto.reference_providers.honcho import outbox as honcho_outbox
from memproto.reference_providers.sqlite import database

#: More lines than any of these has.
_MOST = 400

#: Below it lies the code whose lines are interrupted.
_OURS = str(Path(files.__file__).parents[1])

#: A lock that nobody holds any more closes itself, and says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def garbage_is_collected():
    """Collected later, it would warn in a test that knows nothing of it."""
    yield
    gc.collect()


class _Presses:
    """Raises KeyboardInterrupt before the line of that number in the code of the providers."""

    def __init__(self, number):
        self.left = number
        self._entered = set()

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(_OURS):
            return None
        if event == "line" and not self._leaves(frame):
            self.left -= 1
            if self.left == 0:
                self.rest()
                raise KeyboardInterrupt
        return self

    def _leaves(self, frame):
        """
        True if the line is a `with` that is left: Python itself gives back what it holds.

        No signal comes between the end of its block and that.
        """
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        again = (frame, frame.f_lineno) in self._entered
        self._entered.add((frame, frame.f_lineno))
        return again and line.startswith("with ")

    def forget(self):
        """Hold no frame any more, and nothing that is in it."""
        self._entered.clear()

    @staticmethod
    def rest():
        """Nobody presses any more: what comes now gives back."""
        sys.settrace(None)
        frame = sys._getframe()
        while frame is not None:
            frame.f_trace = None
            frame = frame.f_back


def _interrupted_everywhere(act):
    """
    Run `act` with an interrupt before its first line, its second, ...; gives after each.

    `act` calls what it is given where no interrupt is to come any more.
    """
    for number in itertools.count(1):
        presses, kept = _Presses(number), sys.gettrace()
        sys.settrace(presses)
        try:
            with contextlib.suppress(KeyboardInterrupt):
                act(presses.rest)
        finally:
            sys.settrace(kept)
            presses.forget()
        assert number < _MOST
        if presses.left > 0:
            return
        yield number


def test_the_lock_of_the_builtin_provider_is_free_after_an_interrupt(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LOCK_TRIES", 1)

    def write(_):
        with files.locked(tmp_path / ".lock"):
            pass

    for number in _interrupted_everywhere(write):
        with files.locked(tmp_path / ".lock"):
            assert number


def test_a_file_of_the_builtin_provider_is_whole_after_an_interrupt(tmp_path):
    path = tmp_path / "MEMORY.md"
    path.write_bytes(b"old")

    def write(_):
        files.replace_if_unchanged(path, files.read(path), b"new" * 1000)

    for number in _interrupted_everywhere(write):
        assert path.read_bytes() in (b"old", b"new" * 1000), number
        path.write_bytes(b"old")


def test_a_claim_of_an_entry_is_free_after_an_interrupt(tmp_path):
    outbox.Outbox(tmp_path).put({"text": "one"}).release()

    def send(_):
        entry = outbox.Outbox(tmp_path).entries()[0]
        assert entry.claim()
        entry.release()

    for number in _interrupted_everywhere(send):
        again = outbox.Outbox(tmp_path).entries()[0]
        assert again.claim(), number
        again.release()


def test_a_write_that_was_interrupted_is_claimed_by_nobody(tmp_path):
    def put(taken):
        entry = outbox.Outbox(tmp_path).put({"text": "one"})
        taken()
        entry.release()

    for number in _interrupted_everywhere(put):
        for entry in outbox.Outbox(tmp_path).entries():
            assert entry.claim(), number
            entry.done()
        for part in tmp_path.iterdir():
            part.unlink()


def test_a_directory_of_the_honcho_provider_is_free_after_an_interrupt(tmp_path):
    def take(taken):
        held = honcho_outbox._locked(tmp_path)
        taken()
        held.close()

    for number in _interrupted_everywhere(take):
        honcho_outbox._locked(tmp_path).close()
        assert number


def test_a_database_can_be_written_after_an_interrupt(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "WRITING_S", 0.05)
    store = database.Database(tmp_path / "store.db", lambda _: None)
    with store.writing() as connection:
        connection.execute("CREATE TABLE one (number)")

    def write(taken):
        with store.writing() as connection:
            taken()
            connection.execute("INSERT INTO one VALUES (1)")

    for number in _interrupted_everywhere(write):
        with store.writing() as connection:
            assert connection.execute("SELECT count(*) FROM one").fetchone(), number
    store.close()


@pytest.mark.parametrize("by_another", [False, True])
def test_the_turn_to_send_is_free_after_an_interrupt(by_another):
    delivery = pytest.importorskip("memproto.reference_providers.mentisdb.delivery")
    mine = delivery.Delivery(None, None, None)

    def send(taken):
        with contextlib.suppress(delivery._OutOfTime), mine._turn(time.monotonic()):
            taken()

    with _held_elsewhere(mine) if by_another else contextlib.nullcontext():
        for number in _interrupted_everywhere(send):
            if not by_another:
                _is_free(mine, number)
    _is_free(mine, 0)


def _is_free(mine, number):
    free = []

    def take():
        with mine._turn(time.monotonic()):
            free.append(number)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert free == [number]


@contextlib.contextmanager
def _held_elsewhere(mine):
    inside, over = threading.Event(), threading.Event()

    def hold():
        with mine._turn(time.monotonic()):
            inside.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_request_that_was_interrupted_takes_no_room():
    calls = pytest.importorskip("memproto.reference_providers.mentisdb.calls")
    for number in _interrupted_everywhere(
        lambda _: calls.BoundedRequest().within(60.0, lambda: None)
    ):
        assert number
    while any(thread.name.endswith("(_run)") for thread in threading.enumerate()):
        time.sleep(0)
    assert calls.BoundedRequest._under_way == set()
