"""The stand-in of a Honcho server fails as it is told to, and does when it thaws what came."""

import http.client
import json
import socket
import threading

import pytest

from memproto.reference_providers.honcho.standin import serving
from memproto.reference_providers.honcho.standin.failures import MODES

pytestmark = pytest.mark.once

PATH = "/v3/workspaces/w/sessions/s/messages"
SHORT_S = 0.3


@pytest.fixture
def server():
    with serving() as running:
        yield running


def post(server, content="The boat is in Ostrava.", timeout_s=5.0):
    """Add a message; gives the connection's answer, read whole."""
    connection = http.client.HTTPConnection(server.url[7:], timeout=timeout_s)
    body = json.dumps({"messages": [{"content": content, "peer_id": "ada"}]})
    try:
        connection.request("POST", PATH, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("status", [401, 404, 422, 429, 500, 503])
def test_a_status_is_answered_and_nothing_stored(server, status):
    server.fail("add_messages", status)
    given, headers, body = post(server)
    assert (given, headers["Connection"]) == (status, "close")
    assert isinstance(json.loads(body)["detail"], list if status == 422 else str)
    assert server.store.texts() == []


def test_a_time_to_wait_is_told(server):
    server.fail("add_messages", "retry_after")
    status, headers, _ = post(server)
    assert (status, headers["Retry-After"]) == (429, "2")


def test_a_refusal_repeats_what_the_client_sent(server):
    server.fail("add_messages", "echo")
    status, _, body = post(server)
    assert status == 422
    assert "The boat is in Ostrava." in str(json.loads(body)["detail"])


def test_a_request_that_hangs_is_not_answered_and_stores_nothing(server):
    server.fail("add_messages", "hang")
    with pytest.raises(TimeoutError):
        post(server, timeout_s=SHORT_S)
    assert server.wait_idle()
    assert server.store.texts() == []


def test_an_answer_that_drips_comes_byte_by_byte_and_stores_nothing(server):
    server.fail("add_messages", "drip")
    connection = http.client.HTTPConnection(server.url[7:], timeout=5.0)
    connection.request("POST", PATH, "{}")
    answer = connection.getresponse()
    assert answer.read(2) == b"  "
    answer.close()
    connection.close()
    assert server.store.texts() == []


@pytest.mark.parametrize("mode", ["reset", "lose", "truncate"])
def test_a_connection_that_ends_early_shows_no_answer(server, mode):
    server.fail("add_messages", mode)
    with pytest.raises((OSError, http.client.HTTPException)):
        post(server)
    assert server.wait_idle()
    assert len(server.store.texts()) == (mode != "reset")


def test_a_late_answer_is_of_something_that_was_stored(server):
    server.fail("add_messages", "late")
    with pytest.raises(TimeoutError):
        post(server, timeout_s=SHORT_S)
    assert server.store.texts() == ["The boat is in Ostrava."]


@pytest.mark.parametrize(
    ("mode", "data"),
    [("empty", b""), ("not_json", b"<html>"), ("wrong_shape", b'{"unexpected"')],
)
def test_a_success_may_hold_what_no_client_expects(server, mode, data):
    server.fail("add_messages", mode)
    status, headers, body = post(server)
    assert (status, headers["Connection"]) == (200, "close")
    assert body.startswith(data)
    assert server.store.texts() == []


def test_every_mode_has_a_test():
    assert set(MODES) == {
        *("retry_after", "echo", "hang", "drip", "reset", "lose", "truncate", "late"),
        *("empty", "not_json", "wrong_shape"),
    }


def test_a_route_fails_so_many_times_and_then_serves(server):
    server.fail("add_messages", 503, times=2)
    assert [post(server)[0] for _ in range(3)] == [503, 503, 201]


def test_other_routes_serve_while_one_fails(server):
    server.fail("chat", 500)
    assert post(server)[0] == 201


def test_all_routes_fail_until_the_server_is_healed(server):
    server.fail("*", 503)
    assert post(server)[0] == 503
    server.heal()
    assert post(server)[0] == 201


def test_what_arrives_while_it_is_frozen_is_stored_when_it_thaws(server):
    server.freeze()
    with pytest.raises(TimeoutError):
        post(server, timeout_s=SHORT_S)
    assert server.wait(lambda: len(server.requests) == 1)
    assert server.store.texts() == []
    server.thaw()
    assert server.wait_idle()
    assert server.store.texts() == ["The boat is in Ostrava."]


def test_what_arrives_twice_while_it_is_frozen_is_stored_twice(server):
    server.freeze()
    for _ in range(2):
        with pytest.raises(TimeoutError):
            post(server, timeout_s=SHORT_S)
    server.thaw()
    assert server.wait(lambda: len(server.store.texts()) == 2)


def test_one_poisoned_message_costs_the_whole_batch(server):
    assert post(server, "a <|endoftext|> b")[0] == 422
    assert server.store.texts() == []


def test_a_server_that_refuses_comes_back_with_what_it_held(server):
    assert post(server)[0] == 201
    address = server.url
    server.refuse()
    with pytest.raises(ConnectionRefusedError):
        post(server)
    server.listen()
    assert post(server)[0] == 201
    assert (server.url, len(server.store.texts())) == (address, 2)


def test_no_thread_and_no_port_is_left(no_thread_is_left):
    before = set(threading.enumerate())
    with serving() as running:
        running.fail("add_messages", "hang")
        with pytest.raises(TimeoutError):
            post(running, timeout_s=SHORT_S)
        running.freeze()
        running.heal()
        with pytest.raises(TimeoutError):
            post(running, timeout_s=SHORT_S)
        threads = set(threading.enumerate()) - before
    for thread in threads:
        thread.join(5.0)
    with pytest.raises(ConnectionRefusedError), socket.socket() as probe:
        probe.connect(("127.0.0.1", int(running.url.rpartition(":")[2])))
