"""Sockets and threads for servers in a process whose modules a provider may have changed."""

import contextlib
from collections.abc import Callable

# By name, and so as they were before the provider was loaded.
from socket import (
    AF_INET,
    MSG_PEEK,
    SHUT_RDWR,
    SO_LINGER,
    SO_REUSEADDR,
    SOCK_STREAM,
    SOL_SOCKET,
    socket,
)
from struct import pack
from threading import Thread

#: A listening address that nobody outside of this machine can reach.
LOOPBACK = "127.0.0.1"

_BACKLOG = 64


def listening() -> socket:
    """A socket that listens on a free port of loopback."""
    listener = socket(AF_INET, SOCK_STREAM)
    listener.settimeout(None)
    listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    listener.bind((LOOPBACK, 0))
    listener.listen(_BACKLOG)
    return listener


def accepted(listener: socket) -> socket:
    """The next connection that comes in; blocks until then."""
    # `accept` would build one of whatever class the module `socket` names by now.
    descriptor, _ = listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    connection = socket(fileno=descriptor)
    connection.settimeout(None)
    return connection


def dialled(address: tuple[str, int], within_s: float) -> socket:
    """A connection to `address`; blocks, but no longer than `within_s` until it stands."""
    connection = socket(AF_INET, SOCK_STREAM)
    connection.settimeout(within_s)
    try:
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def started(function: Callable[[], None]) -> Thread:
    """A running daemon thread of the kit's."""
    thread = Thread(target=function, name="kit-faults", daemon=True)
    thread.start()
    return thread


def received(connection: socket) -> bytes:
    """The next bytes; empty once the other side is done, or the connection is gone."""
    try:
        return connection.recv(65_536)
    except OSError:
        return b""


def first(connection: socket) -> bytes:
    """The byte that comes next, which stays to be received; empty as with `received`."""
    try:
        return connection.recv(1, MSG_PEEK)
    except OSError:
        return b""


def sent(connection: socket, data: bytes) -> bool:
    """True if all of `data` could be sent."""
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


def cut(connection: socket) -> None:
    """End a connection; a thread that waits for it goes on."""
    with contextlib.suppress(OSError):
        connection.shutdown(SHUT_RDWR)


def reset(connection: socket) -> None:
    """End a connection so that the other side gets a reset and not an end."""
    with contextlib.suppress(OSError):
        connection.setsockopt(SOL_SOCKET, SO_LINGER, pack("ii", 1, 0))
    with contextlib.suppress(OSError):
        connection.close()
