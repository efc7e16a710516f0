"""Deeds that count against a quiet hook, and what the kit's own adapters do for it."""

import socket

import pytest

from memproto.adapters.aio import from_async
from memproto.testing.instruments.watchers import AuditLog
from tests.coroutine_providers import Remembers

AUDIT = AuditLog()


class Asks(Remembers):
    async def is_available(self):
        return True


class AsksByASocket(Remembers):
    async def is_available(self):
        socket.socket().close()
        return True


@pytest.mark.parametrize(("provider", "number"), [(Asks, 0), (AsksByASocket, 1)])
def test_the_loop_that_a_coroutine_hook_is_given_is_no_socket_of_the_provider(provider, number):
    adapter = from_async(provider())
    with AUDIT.recording() as deeds:
        assert adapter.is_available()
    adapter.shutdown()
    assert len(deeds) == number
