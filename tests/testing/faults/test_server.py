"""The servers that stand in for a backend that fails, before a plain client."""

import contextlib
import http.client
import http.server
import json
import socket
import threading

import pytest

from memproto.testing.faults import modes, wires
from memproto.testing.faults.server import FaultServer

pytestmark = pytest.mark.once

#: Events happen at once; the time is for a machine that is busy.
SOON_S = 30.0


@pytest.fixture
def serving():
    """A function that starts a server, which is ended with its threads."""
    before = set(threading.enumerate())
    made = []

    def start(mode, upstream=None):
        made.append(FaultServer(mode, upstream))
        return made[-1]

    yield start
    for server in made:
        server.close()
    # A backend's own thread for a connection ends once it has seen that the connection is gone.
    for thread in set(threading.enumerate()) - before:
        thread.join(SOON_S)
        assert not thread.is_alive(), thread


class Backend(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.came.set()
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"true")

    def log_message(self, *_):
        pass


@pytest.fixture
def backend():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend) as server:
        server.bodies, server.came = [], threading.Event()
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def client(server, timeout=SOON_S):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    try:
        yield connection
    finally:
        connection.close()


def asked(connection, body=b"{}"):
    connection.request("POST", "/notes", body)
    response = connection.getresponse()
    return response, response.read()


STATUSES = {
    "401": (modes.status(401), 401, None),
    "402": (modes.status(402), 402, None),
    "404": (modes.status(404), 404, None),
    "422": (modes.invalid_list(), 422, None),
    "2": (modes.retry_after("2"), 429, "2"),
    "3600": (modes.retry_after("3600"), 429, "3600"),
    "-1": (modes.retry_after("-1"), 429, "-1"),
    "nan": (modes.retry_after("nan"), 429, "nan"),
    "500": (modes.status(500), 500, None),
    "503": (modes.status(503), 503, None),
}


@pytest.mark.parametrize("case", STATUSES)
def test_a_status_is_answered_with_json_on_one_connection(serving, case):
    mode, code, waits = STATUSES[case]
    server = serving(mode)
    with client(server) as connection:
        for _ in range(2):
            response, body = asked(connection)
            assert (response.status, response.headers["Retry-After"]) == (code, waits)
            assert json.loads(body)
    assert server.connections == 1
    assert [request.line for request in server.requests] == ["POST /notes HTTP/1.1"] * 2


def test_a_422_holds_a_list(serving):
    with client(serving(modes.invalid_list("no text"))) as connection:
        assert json.loads(asked(connection)[1])["detail"][0]["msg"] == "no text"


@pytest.mark.parametrize("mode", [modes.page("Portal"), modes.broken_json("Portal")])
def test_a_good_status_may_hold_no_json(serving, mode):
    with client(serving(mode)) as connection:
        response, body = asked(connection)
    assert response.status == 200
    assert b"Portal" in body
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(body)


def test_a_connection_ends_with_the_answer_where_the_client_says_so(serving):
    server = serving(modes.status(503))
    with wires.dialled(("127.0.0.1", server.port), SOON_S) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        told = b"".join(iter(lambda: connection.recv(4096), b""))
    assert told.startswith(b"HTTP/1.1 503")


def test_a_body_in_chunks_is_read_whole(serving):
    server = serving(modes.status(500))
    with client(server) as connection:
        connection.request("POST", "/", iter([b"one ", b"two"]), encode_chunked=True)
        connection.getresponse().read()
    assert [request.body for request in server.requests] == [b"one two"]


def test_a_silent_server_reads_and_says_nothing(serving):
    server = serving(modes.silent)
    with client(server, timeout=0.3) as connection, pytest.raises(TimeoutError):
        asked(connection)
    assert server.wait_for(lambda: server.pieces > 0, SOON_S)


def test_a_reset_is_one(serving):
    with client(serving(modes.reset)) as connection, pytest.raises(ConnectionResetError):
        asked(connection)


def test_a_truncated_answer_ends_early(serving):
    with client(serving(modes.truncate)) as connection, pytest.raises(http.client.IncompleteRead):
        asked(connection)


@pytest.mark.parametrize(
    ("mode", "says", "starts"),
    [
        (modes.drip, b"GET / HTTP/1.1\r\n\r\n", b"HTT"),
        (modes.slow_tls, b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x03"),
    ],
)
def test_bytes_come_one_at_a_time(serving, mode, says, starts):
    server = serving(mode)
    with wires.dialled(("127.0.0.1", server.port), SOON_S) as connection:
        connection.settimeout(SOON_S)
        connection.sendall(says)
        assert [connection.recv(4096) for _ in starts] == [bytes([code]) for code in starts]


def test_what_is_forwarded_comes_back(serving, backend):
    server = serving(modes.forward, backend.server_address)
    with client(server) as connection:
        assert asked(connection, b"one")[1] == b"true"
        assert asked(connection, b"two")[1] == b"true"
    assert backend.bodies == [b"one", b"two"]


def test_a_frozen_server_keeps_what_it_got_and_gives_it_on_when_it_thaws(serving, backend):
    server = serving(modes.forward, backend.server_address)
    server.freeze()
    with client(server, timeout=0.3) as connection, pytest.raises(TimeoutError):
        asked(connection, b"late")
    assert server.pieces > 0
    assert backend.bodies == []
    server.thaw()
    assert backend.came.wait(SOON_S)
    assert backend.bodies == [b"late"]


def test_a_client_that_waits_gets_its_answer_after_the_thaw(serving, backend):
    server = serving(modes.forward, backend.server_address)
    server.freeze()
    found = []
    with client(server) as connection:
        waiting = threading.Thread(target=lambda: found.append(asked(connection, b"x")[1]))
        waiting.start()
        assert server.wait_for(lambda: server.pieces > 0, SOON_S)
        server.thaw()
        waiting.join(SOON_S)
    assert found == [b"true"]


def test_a_turn_ends_the_open_connections_and_what_was_frozen_in_them(serving, backend):
    server = serving(modes.forward, backend.server_address)
    server.freeze()
    with client(server) as connection:
        connection.request("POST", "/notes", b"lost")
        assert server.wait_for(lambda: server.pieces > 0, SOON_S)
        server.turn(modes.status(503))
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            connection.getresponse()
    server.thaw()
    with client(server) as connection:
        assert asked(connection)[0].status == 503
    assert backend.bodies == []


def test_a_server_without_a_backend_ends_what_it_should_forward(serving):
    server = serving(modes.forward)
    with client(server) as connection, pytest.raises((http.client.HTTPException, OSError)):
        asked(connection)
    assert server.connections == 1


def test_a_server_works_where_the_modules_were_changed_after_it_was_imported(serving, monkeypatch):
    dial = wires.dialled
    for module, name in ((socket, "socket"), (threading, "Thread")):
        monkeypatch.setattr(module, name, None)
    server = serving(modes.status(503))
    with dial(("127.0.0.1", server.port), SOON_S) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 503"
    server.close()
    monkeypatch.undo()
