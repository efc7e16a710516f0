"""
Bridges from servers that listen on this machine's loopback to processes that are confined.

A confined process has a loopback of its own, on which nothing of the machine listens: not the
database that the operator runs, nor what the setting `service` started. For each such server a
socket listens in the namespace at the same address. The judge accepts its connections and passes
the bytes on; a socket stays in the namespace that it was made in, whoever accepts on it.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterable

from memproto.testing.processes import sockets

#: A server's address: host and port.
Address = tuple[str, int]

#: Makes listening sockets inside; gives those that could be made, with their addresses.
Listen = Callable[[list[Address]], list[tuple[Address, socket.socket]]]

#: A machine with more servers on its loopback than this is served as far as this.
MOST = 200

_PIECE_BYTES = 1 << 16

#: Loopback addresses that stand for an address at which every interface is served.
_EVERYWHERE = {"0.0.0.0": ("127.0.0.1",), "::": ("::1", "127.0.0.1")}  # noqa: S104 - compared


class Relays:
    """
    The bridges into one network namespace.

    Guarantees:
        `refresh` returns once each server that listens by then can be reached from inside.
        A server that ends later is seen from inside as one that resets each connection.
    Assumes:
        One caller at a time. The thread is a daemon's: it ends with this process.
    """

    def __init__(self, listen: Listen) -> None:
        self._listen = listen
        self._tally = _Tally()
        self._known: set[Address] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        # The loop holds a server and a task weakly; so each stands here until it ends.
        self._held: set[object] = set()

    @property
    def exchanges(self) -> int:
        """Times that something was asked: on a connection, what goes out after an answer."""
        return self._tally.exchanges

    def refresh(self) -> None:
        """Bridge what listens on loopback now and did not before."""
        fresh = [address for address in servers() if address not in self._known]
        fresh = fresh[: max(0, MOST - len(self._known))]
        if not fresh:
            return
        self._known.update(fresh)
        for address, listener in self._listen(fresh):
            serving = _serve(listener, address, self._held, self._tally)
            asyncio.run_coroutine_threadsafe(serving, self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="kit-relay", daemon=True).start()
        return self._loop


def servers() -> list[Address]:
    """The loopback addresses at which something listens in this process's network namespace."""
    found: dict[Address, None] = {}
    with contextlib.suppress(OSError, struct.error):
        for host, port in sockets.listening():
            for loopback in _EVERYWHERE.get(host, (host,)):
                if loopback == "::1" or loopback.startswith("127."):
                    found[loopback, port] = None
    return list(found)


def listening(addresses: Iterable[Address]) -> list[tuple[Address, socket.socket]]:
    """Sockets of this process that listen at `addresses`, as far as those are free."""
    made = []
    for host, port in addresses:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((host, port))
            listener.listen(128)
        except OSError:
            listener.close()
            continue
        made.append(((host, port), listener))
    return made


class _Tally:
    """Counts the exchanges of all connections; the loop's thread alone adds to it."""

    def __init__(self) -> None:
        self.exchanges = 0


class _Talk:
    """One connection: whose turn it is, as of a protocol that asks and answers."""

    def __init__(self, tally: _Tally) -> None:
        self._tally = tally
        self._asks = False

    def asked(self) -> None:
        """Note that bytes went to the server."""
        self._tally.exchanges += not self._asks
        self._asks = True

    def answered(self) -> None:
        """Note that bytes came from it."""
        self._asks = False


async def _serve(
    listener: socket.socket, address: Address, held: set[object], tally: _Tally
) -> None:
    """
    Bridge the connections of `listener` to `address`; `held` keeps what serves them.

    A stream's protocol refers to its reader weakly, and drops its task when the connection is lost.
    If a caller goes while its server still has to answer, nothing but `held` refers to the bridge.
    """

    async def bridge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine = asyncio.current_task()
        held.add(mine)
        try:
            try:
                answers, asked = await asyncio.open_connection(*address)
            except OSError:
                _reset(writer)
                return
            talk = _Talk(tally)
            await asyncio.gather(
                _pass_on(reader, asked, writer, talk.asked),
                _pass_on(answers, writer, asked, talk.answered),
            )
            for end in (writer, asked):
                end.close()
        finally:
            held.discard(mine)

    held.add(await asyncio.start_server(bridge, sock=listener))


async def _pass_on(
    source: asyncio.StreamReader,
    sink: asyncio.StreamWriter,
    back: asyncio.StreamWriter,
    note: Callable[[], None],
) -> None:
    """Pass bytes on until their end, which is passed on as well; a reset resets both sides."""
    try:
        while piece := await source.read(_PIECE_BYTES):
            note()
            sink.write(piece)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
    except OSError:
        _reset(sink)
        _reset(back)


def _reset(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        given = writer.get_extra_info("socket")
        given.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
