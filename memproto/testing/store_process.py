"""
A small host in a process of its own whose store fails: it is locked, has no room, or is damaged.

Started by `memproto.testing.storefaults` as the hosts of `ending_process` are, and speaks as they
do. What a hook raises is told and goes no further, as with a host.
"""

import contextlib
import functools
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from time import perf_counter, sleep
from typing import Any

from memproto.testing import ending_process, noise, patience
from memproto.testing.ending_process import Host

#: Another attempt is made after so long.
_PAUSE_S = 0.05

#: A worker that writes in the background meets the full disk in this time.
_WORKER_S = 0.3


class _Refused(Exception):
    """A tool answered with an error."""


def _attempt(host: Host, what: str, act: Callable[[], Any]) -> bool:
    """Whether `act` returned; says so, or what it raised, and how long it took."""
    starved_s, began = noise.starved_s(), perf_counter()
    try:
        act()
        outcome = "done"
    except Exception as error:
        outcome = f"raised {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    took_s = max(0.0, perf_counter() - began - (noise.starved_s() - starved_s))
    host.say(f"{what} {took_s:.3f} {outcome}")
    host.say(f"{what} ended")
    return outcome == "done"


def _stores(host: Host, number: int) -> bool:
    host.say(f"storing {number}")
    return _attempt(host, f"store {number}", lambda: _store(host, host.told["texts"][number]))


def _store(host: Host, text: str) -> None:
    """Store a text by the route that the parent has chosen; raises what refuses it."""
    if host.told["route"] == "turns":
        # An answer that no other turn has: what becomes of repeated ones is another rule.
        host.provider.on_turn_complete(text, f"I have noted it: {text}")
        return
    if host.told["route"] == "writes":
        host.store(text)
        return
    # It brings half of the kit, which most hosts have no use for.
    from memproto.testing import routes

    call = routes.storing_call(host.provider.get_tool_schemas(), text)
    answer = host.provider.handle_tool_call(*call) if call else "no tool is offered"
    if call is None or routes.refused(answer):
        raise _Refused(str(answer))


def _recalls(host: Host) -> bool:
    host.say("recalling")
    return _attempt(host, "recall", lambda: host.provider.enrich_turn(host.told["query"], []))


def _works_again(host: Host, number: int) -> None:
    """Store and recall, more than once where a provider waits a while before it tries again."""
    for act in (functools.partial(_stores, host, number), functools.partial(_recalls, host)):
        if not patience.happens(functools.partial(_after_all, act), host.told["again_s"]):
            host.say("works not")
            return
    host.say("works again")


def _after_all(act: Callable[[], bool]) -> bool:
    """Whether `act` worked; where it did not, a moment later."""
    worked = act()
    if not worked:
        sleep(_PAUSE_S)
    return worked


# -- the store is locked ---------------------------------------------------------------------------


def locked(host: Host) -> None:
    """Recall and store while another process holds the store, and again when it is free."""
    host.open()
    _stores(host, 0)
    host.say("ready")
    sys.stdin.readline()
    _recalls(host)
    _stores(host, 1)
    sys.stdin.readline()
    _works_again(host, 2)
    host.close()


# -- there is no room ------------------------------------------------------------------------------


def full(host: Host) -> None:
    """Store while no file takes a byte, and again when there is room."""
    host.open()
    _stores(host, 0)
    with _no_room():
        _stores(host, 1)
        if threading.active_count() > 1:
            sleep(_WORKER_S)
    _works_again(host, 2)
    host.close()


@contextlib.contextmanager
def _no_room() -> Iterator[None]:
    """As on a full disk, each write to a file fails; a log on standard error does not."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


# -- a file is damaged -----------------------------------------------------------------------------


def damaged(host: Host) -> None:
    """Open a damaged store, and live on where that is possible."""
    try:
        host.open()
    except Exception as error:
        host.say(f"refused {type(error).__name__}")
    else:
        _recalls(host)
        _stores(host, 0)
    with contextlib.suppress(Exception):
        host.close()
    host.say("over")


SCRIPTS: dict[str, Callable[[Host], None]] = {
    script.__name__: script for script in (locked, full, damaged)
}


if __name__ == "__main__":
    ending_process.main(SCRIPTS)
