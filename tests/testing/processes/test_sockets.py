"""Sockets that a process holds, as the kernel tells it and as psutil does."""

import os
import socket
import subprocess
import sys

import pytest

from memproto.testing.processes import sockets
from memproto.testing.processes.sockets import Sockets

PORT = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1])"


def by_psutil():
    looked = Sockets()
    looked._has_tables = False
    return looked


WAYS = [Sockets, by_psutil]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_a_listener_and_both_ends_of_a_connection_are_seen(way, family, host):
    with socket.create_server((host, 0), family=family) as listener:
        at = listener.getsockname()[:2]
        with socket.create_connection(at):
            accepted, there = listener.accept()
            with accepted:
                held = way().of(os.getpid())
    assert {(at, None), (at, there[:2]), (there[:2], at)} <= {(h.here, h.there) for h in held}


@pytest.mark.parametrize("way", WAYS)
def test_a_socket_of_both_families_shows_addresses_as_they_are_written(way):
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = listener.accept()
            with accepted:
                held = way().of(os.getpid())
            mine = client.getsockname()
    assert (("127.0.0.1", port), mine) in {(h.here, h.there) for h in held}


@pytest.mark.parametrize("way", WAYS)
def test_a_datagram_socket_listens_until_it_is_connected(way):
    with socket.socket(type=socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as two:
        one.bind(("127.0.0.1", 0))
        two.connect(one.getsockname())
        held = {(h.here, h.there) for h in way().of(os.getpid())}
        assert (one.getsockname(), None) in held
        assert (two.getsockname(), one.getsockname()) in held


@pytest.mark.parametrize("way", WAYS)
def test_another_process_is_seen_and_one_that_is_gone_has_none(way):
    program = f"{PORT}\nimport sys; sys.stdout.flush(); sys.stdin.read()"
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        port = int(other.stdout.readline())
        looked = way()
        assert [h.here[1] for h in looked.of(other.pid)] == [port]
        other.stdin.close()
        other.wait()
    assert looked.of(other.pid) == []


def test_a_socket_that_begins_to_listen_after_the_first_look_is_seen_then():
    looked = Sockets()
    with socket.socket() as late:
        before = len(looked.of(os.getpid()))
        late.bind(("127.0.0.1", 0))
        late.listen()
        assert (late.getsockname(), None) in looked.of(os.getpid())
        assert len(looked.of(os.getpid())) == before + 1


def test_where_the_kernel_does_not_tell_psutil_is_asked(monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(sockets, "_table", refused)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert (listener.getsockname(), None) in Sockets().of(os.getpid())
