"""Waits for a server of the wire: a machine that is busy, and last words that stand in its pipe."""

import os
import queue
import sys
import threading
import types

import pytest

from memproto.testing.provider import server
from memproto.testing.provider.server import RawServer


@pytest.fixture
def clock(monkeypatch):
    """The time, and the part of it in which the server got no processor; a deadline is over."""
    at = types.SimpleNamespace(now=100.0, held_up=0.0)
    work = types.SimpleNamespace(held_up_s=lambda: at.held_up)
    over = types.SimpleNamespace(left_s=lambda: 0.0)
    monkeypatch.setattr(server, "Deadline", lambda *_: over)
    monkeypatch.setattr(server, "time", types.SimpleNamespace(monotonic=lambda: at.now))
    monkeypatch.setattr(server.noise, "Work", lambda _: work)
    return at


def test_time_without_a_processor_is_not_the_servers_own(clock):
    wait = server._Wait(1, 10.0, 1.0)
    clock.now, clock.held_up = 112.0, 4.0
    assert wait.left_s() == 2.0
    clock.now = 114.0
    assert wait.left_s() == 0.0


def test_a_server_that_has_a_processor_is_late_at_its_time(clock):
    wait = server._Wait(1, 10.0, 1.0)
    clock.now = 110.0
    assert wait.left_s() == 0.0


def test_a_server_that_never_gets_a_processor_is_not_waited_for_for_ever(clock):
    wait = server._Wait(1, 10.0, 1.0)
    clock.now, clock.held_up = 160.0, 60.0
    assert wait.left_s() == 0.0


class Speaks(queue.SimpleQueue):
    """The lines of a server, which come as soon as somebody waits for them."""

    def get(self, block=True, timeout=None):
        if not hasattr(self, "speaking"):
            self.speaking = threading.Thread(target=self._speak, daemon=True)
            self.speaking.start()
        return super().get(block, timeout)

    def _speak(self):
        self.put(b'{"jsonrpc":"2.0","id":1,"result":null}\n')
        self.put(b"")


def test_the_last_words_of_a_server_that_has_ended_are_waited_for():
    raw = object.__new__(RawServer)
    raw._heard, raw._kept = Speaks(), []
    raw._run = types.SimpleNamespace(context=types.SimpleNamespace(slowdown=1.0))
    raw.process = types.SimpleNamespace(poll=lambda: 0)
    assert [item["id"] for item in raw.rest(to_the_end=True)] == [1]


#: In one write: an unbuffered interpreter prints a line and its end one after the other.
SAYS = "import os, time; os.write(1, b'{}\\n'); time.sleep(3600)"


def test_a_reader_takes_nothing_from_the_pipe_of_the_next_server(monkeypatch, tmp_path):
    going_to_read, killed, reads = threading.Event(), threading.Event(), []
    system_read = os.read

    def read(number, size):
        # Threads of other servers read too.
        if number == output:
            if reads:
                going_to_read.set()
                assert killed.wait(60)
            reads.append(number)
        return system_read(number, size)

    provider = types.SimpleNamespace(
        command=[sys.executable, "-c", SAYS], directory=tmp_path, environment=dict(os.environ)
    )
    raw = RawServer(types.SimpleNamespace(build=lambda: provider), reads=False)
    output = raw.process.stdout.fileno()
    monkeypatch.setattr(server.os, "read", read)
    raw.listen()
    assert going_to_read.wait(60)
    raw.kill()
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(64)]
    try:
        killed.set()
        assert [raw._heard.get(timeout=60) for _ in range(2)] == [b"{}\n", b""]
        assert output not in opened
    finally:
        for descriptor in opened:
            os.close(descriptor)
