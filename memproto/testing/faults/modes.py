"""Ways in which a backend fails, each a function of one connection."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from memproto.testing.faults.server import Link, Mode

#: Between two bytes of a slow answer: far below every timeout that is set for one read.
_PAUSE_S = 0.2

#: The begin of a TLS record with a long server hello, which never comes to its end.
_RECORD = b"\x16\x03\x03\x20\x00\x02\x00\x1f\xfc\x03\x03"


def silent(link: Link) -> None:
    """Accept everything and never answer."""
    while link.heard():
        pass


def drip(link: Link) -> None:
    """Answer a byte at a time, without an end, be it HTTP or TLS that is spoken."""
    if link.is_tls():
        slow_tls(link)
    for _ in link.requests():
        start = b"HTTP/1.1 200 OK\r\nX-Filler: "
        link.trickle(_bytes(start), _PAUSE_S)


def slow_tls(link: Link) -> None:
    """Answer whatever comes first, which is a ClientHello, a byte at a time."""
    if link.heard():
        link.trickle(_bytes(_RECORD), _PAUSE_S)


def _bytes(start: bytes) -> Iterator[bytes]:
    return itertools.chain((bytes([code]) for code in start), itertools.repeat(b"0"))


def reset(link: Link) -> None:
    """Read a request, or the begin of a TLS handshake, and reset the connection."""
    for _ in link.requests():
        break
    link.reset()


def truncate(link: Link) -> None:
    """Promise a long answer and end within it."""
    for _ in link.requests():
        link.send(_head(200, {"Content-Length": "1000"}) + b'{"results": [')
        return


def forward(link: Link) -> None:
    """Be the real backend."""
    link.forward()


def status(code: int, body: Any = None, **headers: str) -> Mode:
    """Answer each request with a status and JSON; `Retry_After` stands for that header."""
    shown = {"error": f"status {code}"} if body is None else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return _answer(code, json.dumps(shown).encode(), {"Content-Type": "application/json", **named})


def invalid_list(says: str = "field required") -> Mode:
    """Answer 422 as a validating server does: `detail` is a list."""
    fault = {"loc": ["body", "content"], "msg": says, "type": "value_error.missing"}
    return status(422, {"detail": [fault]})


def retry_after(value: str) -> Mode:
    """Answer 429 with a time, or what stands for one."""
    return status(429, Retry_After=value)


def page(says: str = "Please log in", code: int = 200) -> Mode:
    """Answer with a page of HTML, as a proxy in between does."""
    text = f"<html><head><title>{says}</title></head><body><p>{says}</p></body></html>"
    return _answer(code, text.encode(), {"Content-Type": "text/html"})


def broken_json(says: str = "results") -> Mode:
    """Answer 200 with what calls itself JSON and is not."""
    return _answer(200, f'{{"{says}": ['.encode(), {"Content-Type": "application/json"})


def _answer(code: int, body: bytes, headers: dict[str, str]) -> Mode:
    told = _head(code, {**headers, "Content-Length": str(len(body))}) + body

    def answer(link: Link) -> None:
        for request in link.requests():
            if not link.send(told) or request.is_last:
                return

    return answer


def _head(code: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} Kit", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
