"""
A server that takes whatever it is sent, for where no real backend stands behind the kit's.

A request that it took was received and answered with success; any other is stored nowhere.
"""

from memproto.testing.facts import Fact
from memproto.testing.faults.server import Link

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Taking:
    """
    A mode that answers each request with 200 and an empty object.

    Attributes:
        taken: The requests that were answered so, in lower case.

    """

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    def __call__(self, link: Link) -> None:
        """Serve one connection."""
        for request in link.requests():
            if not link.send(_ANSWER):
                return
            self.taken.append(request.line.encode().lower() + b"\n" + request.body.lower())
            if request.is_last:
                return

    def times(self, fact: Fact) -> int:
        """Number of requests that held the fact, by its name."""
        name = fact.name.lower().encode()
        return sum(name in request for request in self.taken)
