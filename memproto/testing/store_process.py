"""
A small host in a process of its own whose store fails: it is locked, has no room, or is damaged.

Started by `memproto.testing.storefaults` as the hosts of `ending_process` are, and speaks as they
do. What a hook raises is told and goes no further, as with a host.
"""

import contextlib
import fcntl
import functools
import os
import resource
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from memproto.testing import ending_process, noise, patience, routes
from memproto.testing.ending_process import Host

#: What a database of SQLite begins with.
_MAGIC = b"SQLite format 3\0"

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
    if host.told["route"] != "tools":
        host.store(text)
        return
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


def hold(host: Host) -> None:
    """Hold a lock on each of the files, as far as it can be had, until told to let go."""
    with contextlib.ExitStack() as held:
        count = 0
        for name in host.told["files"]:
            with contextlib.suppress(OSError, sqlite3.Error):
                held.enter_context(_held(Path(name)))
                count += 1
        host.say(f"files {count}")
        host.say("held")
        sys.stdin.readline()


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    with path.open("rb+") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
            return
    # Behind the file above: closing one gives up every lock that the process has on it.
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        yield
        database.execute("ROLLBACK")


# -- there is no room ------------------------------------------------------------------------------


def full(host: Host) -> None:
    """Store while no file takes a byte, and again when there is room."""
    host.open()
    _stores(host, 0)
    with _no_room():
        for number in (1, 2, 3):
            _stores(host, number)
        if threading.active_count() > 1:
            sleep(_WORKER_S)
    _works_again(host, 4)
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
    script.__name__: script for script in (locked, hold, full, damaged)
}


if __name__ == "__main__":
    ending_process.main(SCRIPTS)
