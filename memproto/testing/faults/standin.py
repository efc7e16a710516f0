"""A server in the place of a backend that is not there, for a provider whose address is not set."""

import contextlib
import socket as module
from collections.abc import Callable, Iterator, Mapping
from socket import AF_INET, SOCK_STREAM, getaddrinfo, socket
from typing import Any

from memproto.testing.faults import wires
from memproto.testing.instruments.watchers import is_loopback

#: By name, and so as they were before the provider was loaded.
_CONNECT, _CONNECT_EX = socket.connect, socket.connect_ex

_DIAL_S = 1.0


class StandIn:
    """
    Every address at which nobody answers, in place of the one that the setting `backend` names.

    A connection that the kit or the machine would refuse reaches the kit's server instead; one to
    whatever listens on this machine, and one of another program, goes where it went before.

    Attributes:
        upstream: None: there is no backend behind the server.

    """

    upstream: tuple[str, int] | None = None

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config

    @staticmethod
    def address(port: int, scheme: str = "") -> str:
        """Address of the server; the provider chooses what it speaks there, and so `scheme`."""
        del scheme
        return f"{wires.LOOPBACK}:{port}"

    @contextlib.contextmanager
    def holding(self, address: str) -> Iterator[dict[str, Any]]:
        """Have connections reach `address` in the body, which is given the config as it is."""
        host, _, port = address.partition(":")
        replaced: list[tuple[Any, str, Callable[..., Any]]] = [
            (socket, "connect", _reaching(_CONNECT, (host, int(port)))),
            (socket, "connect_ex", _reaching(_CONNECT_EX, (host, int(port)))),
            (module, "getaddrinfo", _looked_up),
        ]
        with contextlib.ExitStack() as restored:
            for owner, name, function in replaced:
                restored.enter_context(_replaced(owner, name, function))
            yield dict(self._config)


@contextlib.contextmanager
def _replaced(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    own = vars(owner).get(name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


def _reaching(connect: Callable[..., Any], server: tuple[str, int]) -> Callable[..., Any]:
    """`connect`, which goes to `server` where nobody would answer."""

    def reach(self: socket, address: Any) -> Any:
        is_tcp = self.family == AF_INET and self.type == SOCK_STREAM
        return connect(self, server if is_tcp and _is_nobody(address) else address)

    return reach


def _is_nobody(address: Any) -> bool:
    """True if an address is not on this machine, or nobody listens there."""
    if not is_loopback(address):
        return True
    probe = socket(AF_INET, SOCK_STREAM)
    probe.settimeout(_DIAL_S)
    with contextlib.closing(probe):
        return bool(_CONNECT_EX(probe, address))


def _looked_up(host: Any, port: Any, *args: Any, **options: Any) -> Any:
    """The result of a lookup; a name of another machine is known, and leads nowhere else."""
    here = host if host is None or is_loopback(host) else wires.LOOPBACK
    if here is not host:
        # A service's name would be looked up as well; families other than IPv4 have no server.
        args, options = (AF_INET, SOCK_STREAM), {}
    return getaddrinfo(here, port, *args, **options)
