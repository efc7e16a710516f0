"""
The network sockets that processes hold, looked up often enough to see short ones.

psutil reads the kernel's whole table as text, with every connection of the machine that ended
within a minute: on a busy one each look takes 60 ms. Linux gives the same by a socket of its own,
see sock_diag(7), without those; elsewhere, and where that is not allowed, psutil has to do.
"""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# By name, and so as they were before the provider was loaded.
from socket import (
    AF_INET,
    AF_INET6,
    IPPROTO_TCP,
    IPPROTO_UDP,
    SOCK_RAW,
    SOCK_STREAM,
    inet_ntop,
    socket,
)
from struct import error as StructError  # noqa: N812 - an error, whatever its module calls it
from struct import pack, unpack_from
from typing import Any, NamedTuple

import psutil

#: Of linux/netlink.h and linux/sock_diag.h: the family and the protocol of the socket that is
#: asked, a request for all sockets of a kind, and the answers that are no socket.
_NETLINK, _SOCK_DIAG, _BY_FAMILY, _DUMP = 16, 4, 20, 0x301
_ERROR, _DONE, _HEAD = 2, 3, 16

#: Of linux/inet_diag.h: where an answer has the ports, the two addresses and the inode.
_PORTS, _HERE, _THERE, _INODE = 4, 8, 24, 68

#: Every state but that of a connection which is over.
_TIME_WAIT = 6
_STATES = 0xFFFF & ~(1 << _TIME_WAIT)
_LISTEN = 1 << 10

_KINDS = tuple(
    (family, kind) for family in (AF_INET, AF_INET6) for kind in (IPPROTO_TCP, IPPROTO_UDP)
)

_INODE_OF = re.compile(r"socket:\[(\d+)\]")

#: Host and port.
Address = tuple[str, int]


class Held(NamedTuple):
    """
    One socket.

    Attributes:
        here: Its own address.
        there: The address that it is connected to; None for one that listens.

    """

    here: Address
    there: Address | None


class Sockets:
    """The sockets of processes. They are remembered: no socket becomes another one."""

    def __init__(self) -> None:
        self._known: dict[int, Held | None] = {}
        self._has_tables = sys.platform == "linux"

    def of(self, pid: int) -> list[Held]:
        """The sockets that a process holds now and that listen or are connected; none once gone."""
        if self._has_tables:
            try:
                return self._from_tables(pid)
            except (OSError, StructError):
                self._has_tables = False
        return _by_psutil(pid)

    def _from_tables(self, pid: int) -> list[Held]:
        inodes = _inodes(pid)
        if inodes - self._known.keys():
            self._learn()
            others = inodes - self._known.keys()
            if others:
                # The others are no socket of a network, or not used yet: only the first is final.
                self._known |= dict.fromkeys(others & _local(), None)
        return [held for inode in inodes if (held := self._known.get(inode)) is not None]

    def _learn(self) -> None:
        for family, protocol in _KINDS:
            self._known |= dict(_table(family, protocol))


def _inodes(pid: int) -> set[int]:
    """The numbers by which the kernel knows the sockets of a process."""
    found: set[int] = set()
    with contextlib.suppress(FileNotFoundError, PermissionError, ProcessLookupError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if match := _INODE_OF.fullmatch(str(Path(entry.path).readlink())):
                    found.add(int(match[1]))
    return found


def _local() -> set[int]:
    """The numbers of the sockets that are files of this machine."""
    rows = Path("/proc/net/unix").read_text("utf-8", "replace").splitlines()[1:]
    return {int(row.split()[6]) for row in rows}


def listening() -> list[Address]:
    """
    The addresses at which something listens in this process's network namespace, by TCP.

    Raises:
        OSError: The kernel does not tell.

    """
    rows = [row for family in (AF_INET, AF_INET6) for row in _table(family, IPPROTO_TCP, _LISTEN)]
    return [held.here for _, held in rows]


def connected() -> set[tuple[Address, Address]]:
    """
    The connections of this process's network namespace, with those that ended within a minute.

    A connection that was closed in order stays at one of its two ends for that long, whoever had
    opened it and however short it was. Empty if the kernel does not tell.
    """
    found: set[tuple[Address, Address]] = set()
    with contextlib.suppress(OSError, StructError):
        for family in (AF_INET, AF_INET6):
            rows = _table(family, IPPROTO_TCP, 0xFFFF & ~_LISTEN)
            found |= {(held.here, held.there) for _, held in rows if held.there is not None}
    return found


def _table(family: int, protocol: int, states: int = _STATES) -> Iterator[tuple[int, Held]]:
    """The sockets of one kind on this machine, by their numbers."""
    request = pack("=BBBBI48x", family, protocol, 0, 0, states)
    head = pack("=IHHII", _HEAD + len(request), _BY_FAMILY, _DUMP, 1, 0)
    with socket(_NETLINK, SOCK_RAW, _SOCK_DIAG) as asked:
        asked.settimeout(1.0)
        asked.send(head + request)
        while True:
            data = asked.recv(1 << 18)
            while data:
                length, kind = unpack_from("=IH", data)
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    raise OSError("the kernel does not tell of sockets")
                yield _row(family, data[_HEAD:length])
                data = data[(length + 3) & ~3 :]


def _row(family: int, said: bytes) -> tuple[int, Held]:
    port, to_port = unpack_from("!HH", said, _PORTS)
    size = 4 if family == AF_INET else 16
    here, there = (_host(family, said[at : at + size]) for at in (_HERE, _THERE))
    held = Held((here, port), (there, to_port) if to_port else None)
    return unpack_from("=I", said, _INODE)[0], held


def _host(family: int, data: bytes) -> str:
    # A socket of IPv6 that talks IPv4.
    return inet_ntop(family, data).removeprefix("::ffff:")


def _by_psutil(pid: int) -> list[Held]:
    try:
        process = psutil.Process(pid)
        # It was called `connections` before release 6.
        ask: Callable[..., list[Any]]
        ask = getattr(process, "net_connections", None) or process.connections
        rows = ask("inet")
    except (psutil.Error, OSError):
        return []
    return [
        Held(_pair(row.laddr), _pair(row.raddr) if row.raddr else None)
        for row in rows
        if row.laddr and (row.raddr or _listens(row))
    ]


def _listens(row: Any) -> bool:
    return bool(row.type != SOCK_STREAM or row.status == psutil.CONN_LISTEN)


def _pair(address: Any) -> Address:
    return str(address.ip).removeprefix("::ffff:"), int(address.port)
