"""The bridges to servers of this machine carry both directions until both have ended."""

import asyncio
import gc
import socket

import pytest

from memproto.testing.processes import relay


@pytest.fixture
def relays():
    """Bridges into no namespace: the place of a listener is given to `_listen` later."""
    return relay.Relays(lambda _: [])


@pytest.fixture
def bridged(relays):
    """A server's socket, and the address of a bridge to it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_server(("127.0.0.1", 0)) as at,
    ):
        address, place = server.getsockname(), at.getsockname()
        relays._listen = lambda _: [(address, at)]
        relays._known = set(relay.servers()) - {address}
        relays.refresh()
        yield server, place, relays._running()


async def turns_of_the_loop(count):
    """Let what is ready run, so that each task waits for something outside."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_an_answer_comes_back_to_a_caller_that_has_ended_its_own_side(bridged):
    server, place, loop = bridged
    with socket.create_connection(place) as caller:
        caller.sendall(b"asked")
        caller.shutdown(socket.SHUT_WR)
        asked, _ = server.accept()
        with asked:
            assert asked.recv(100) == b"asked"
            assert asked.recv(100) == b""
            # The collector takes what nothing but a weak reference holds.
            asyncio.run_coroutine_threadsafe(turns_of_the_loop(20), loop).result()
            gc.collect()
            asked.sendall(b"answered")
        assert caller.recv(100) == b"answered"
        assert caller.recv(100) == b""


def test_a_caller_is_reset_if_its_server_resets(bridged):
    server, place, _ = bridged
    with socket.create_connection(place) as caller:
        caller.sendall(b"asked")
        asked, _ = server.accept()
        assert asked.recv(100) == b"asked"
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        asked.close()
        with pytest.raises(ConnectionResetError):
            caller.recv(100)


def test_each_question_on_a_connection_is_counted_once_however_it_is_cut(bridged, relays):
    server, place, _ = bridged
    with socket.create_connection(place) as caller:
        asked, _ = server.accept()
        with asked:
            for number in range(1, 4):
                for piece in (b"a long", b" question"):
                    caller.sendall(piece)
                    assert asked.recv(100) == piece
                assert relays.exchanges == number
                asked.sendall(b"answered")
                assert caller.recv(100) == b"answered"
    assert relays.exchanges == 3
