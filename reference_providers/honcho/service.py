"""
Functions that the kit needs to judge the provider: a server, and the copies of a text on it.

The settings of `memproto.toml` beside this file name these functions.
"""

import contextlib
import json
import os
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import outbox, texts
from .provider import HonchoMemoryProvider
from .standin import serving

_TIMEOUT_S = 10.0

#: Seconds that sending accepted items may take, and the pause between looks. A conclusion is
#: not sent a second time while an earlier request for it may still be done.
_SETTLED_S, _LOOK_S = 45.0, 0.02

#: The most that the server lists in one answer.
_MOST = 100


@contextlib.contextmanager
def running() -> Iterator[dict[str, Any]]:
    """Run the stand-in, unless HONCHO_URL of the settings' `env` names a server."""
    if os.environ.get("HONCHO_URL"):
        yield {}
        return
    with serving() as server:
        yield {"env": {"HONCHO_URL": server.url}}


def settled(config: dict[str, Any]) -> None:
    """
    Wait until the server has all that was accepted.

    The items that a killed process left are sent by the next session, which may wait for this one.
    """
    until = time.monotonic() + _SETTLED_S
    home = Path(config["home"])
    while any(outbox.sending(home)) and time.monotonic() < until:
        time.sleep(_LOOK_S)


def stored(provider: HonchoMemoryProvider, text: str) -> int:
    """
    Copies of a text on the server: as a message, or as a conclusion by one peer of another.

    The server draws conclusions from messages, so that what is stored once may be found as both.
    Everything is read: a search of the server is one by meaning, and finds the nearest alone.
    """
    base = f"/v3/workspaces/{provider.workspace}"
    said = sum(
        text in texts.read(message["content"])
        for session in _all(f"{base}/sessions/list")
        for message in _all(f"{base}/sessions/{session['id']}/messages/list")
    )
    drawn: dict[tuple[str, str], int] = {}
    for made in _all(f"{base}/conclusions/list"):
        pair = (made["observer_id"], made["observed_id"])
        drawn[pair] = drawn.get(pair, 0) + (text in texts.read(made["content"]))
    return max(said, *drawn.values()) if drawn else said


def _all(path: str) -> Iterator[Any]:
    """Everything that the server lists, page by page."""
    number, pages = 0, 1
    while number < pages:
        number += 1
        page = _post(f"{path}?page={number}&size={_MOST}", {})
        pages = page["pages"]
        yield from page["items"]


def _post(path: str, body: Any) -> Any:
    """The server's answer; proxies of the environment are for other addresses."""
    headers = {"Content-Type": "application/json"}
    if os.environ.get("HONCHO_API_KEY"):
        headers["Authorization"] = f"Bearer {os.environ['HONCHO_API_KEY']}"
    address = os.environ["HONCHO_URL"].rstrip("/") + path
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - the operator's own server.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_TIMEOUT_S) as answer:
        return json.loads(answer.read())
