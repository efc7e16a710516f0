"""
A small host in a process of its own whose store fails: it is locked, has no room, or is damaged.

Started by `memproto.testing.lifetimes.store_faults` as the hosts of `ends_process` are, and
speaks as they do. An exception of a hook is told and goes no further, as with a host.
"""

import contextlib
import ctypes
import functools
import json
import os
import resource
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from memproto.adapters import tool_results
from memproto.operations import OPERATIONS
from memproto.testing import noise, patience
from memproto.testing.lifetimes import ends_process
from memproto.testing.lifetimes.ends_process import HostSession
from memproto.testing.processes import contents

#: The operations by which a provider reports on itself.
REPORTS = ("status", "unavailable_reason")

#: Another attempt is made after so long.
_PAUSE_S = 0.05

#: A thread that nobody lets go on stands still so long: longer than the end of a process.
_STANDING_S = 2.0

#: A worker that writes in the background meets the full disk in this time.
_WORKER_S = 0.3

#: A batch that is written together is filled while the store fails, unless that takes so long.
_FILLING_S = 5.0

#: Characters of a tool's answer that are told.
_ANSWER_CHARS = 3_000

#: The rights to write of everybody.
_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

#: The version of the kernel's sets of capabilities, and by which root writes to any file.
_VERSION, _OVERRIDE = 0x20080522, 1 << 1

#: Of a thread: effective, permitted and inheritable capabilities, each in two halves.
_Sets = ctypes.c_uint32 * 6


class _Refused(Exception):
    """A tool answered with an error."""


def _attempt(host: HostSession, what: str, act: Callable[[], Any]) -> bool:
    """True if `act` returned; says so, or what it raised, and how long it took."""
    starved_s, began = noise.starved_s(), perf_counter()
    try:
        act()
        outcome = "done"
    except Exception as error:
        outcome = f"raised {type(error).__name__}: {' '.join(str(error).split())[:4_000]}"
    took_s = max(0.0, perf_counter() - began - (noise.starved_s() - starved_s))
    host.say(f"{what} {took_s:.3f} {outcome}")
    host.say(f"{what} ended")
    return outcome == "done"


def _stores(host: HostSession, number: int) -> bool:
    host.say(f"storing {number}")
    return _attempt(host, f"store {number}", lambda: _store(host, host.told["texts"][number]))


def _store(host: HostSession, text: str) -> None:
    """Store a text by the route that the parent has chosen; raises what refuses it."""
    if host.told["route"] == "turns":
        # An answer that no other turn has: what becomes of repeated ones is another rule.
        host.record(text, f"I have noted it: {text}")
        return
    if host.told["route"] == "writes":
        host.store(text)
        return
    # It brings half of the kit, which most hosts have no use for.
    from memproto.testing.provider import routes

    call = routes.storing_call(host.provider.get_tool_schemas(), text)
    answer = host.provider.handle_tool_call(*call) if call else "no tool is offered"
    if call is None or tool_results.refused(answer):
        raise _Refused(str(answer))


def _changes(host: HostSession, name: str, calls: list[dict[str, Any]]) -> None:
    """Make calls that may change the store, one after the other, whatever becomes of each."""
    for number, call in enumerate(calls):
        _change(host, f"{name} {number}", call)


def _changes_again(
    host: HostSession, name: str, calls: list[dict[str, Any]], end: patience.Deadline
) -> None:
    """Make calls that may change the store, each until it works or the time is over."""
    for number, call in enumerate(calls):
        change = functools.partial(_change, host, f"{name} {number}", call)
        patience.happens_by(functools.partial(_after_all, change), end)


def _change(host: HostSession, what: str, call: dict[str, Any]) -> bool:
    """True if a call worked; says so, what a tool answered, and which file it has changed."""
    answers: list[Any] = []
    before = _watched(host)
    done = _attempt(host, what, lambda: answers.append(host.make(call)))
    if answers and isinstance(answers[0], str):
        host.say(f"{what} answered {json.dumps(answers[0][:_ANSWER_CHARS])}")
    after = _watched(host)
    for path in (path for path in before if before[path] != after[path]):
        host.say(f"{what} changed {path}")
    return done and not (answers and tool_results.refused(answers[0]))


def _watched(host: HostSession) -> dict[str, int]:
    """File to a sum of what it holds, for those that hold what an earlier session stored."""
    found = {}
    for name in host.told.get("watched", ()):
        found[name] = 0
        with contextlib.suppress(OSError):
            found[name] = zlib.crc32(contents.read(name)) + 1
    return found


def _fills_a_batch(host: HostSession, numbers: range) -> None:
    """Store the texts of these numbers, or as many as can be had in a while."""
    end = perf_counter() + _FILLING_S
    for number in numbers:
        _stores(host, number)
        if perf_counter() > end:
            break


def _recalls(host: HostSession, answers: list[Any]) -> bool:
    """True if recall returned; its answer is among those then."""
    host.say("recalling")
    return _attempt(host, "recall", lambda: answers.append(_recalled(host, host.provider)))


def _recalled(host: HostSession, provider: Any) -> Any:
    return provider.enrich_turn(host.told["query"], [])


def _reports(host: HostSession) -> None:
    """Tell the reports of the provider on itself, if the parent is to know them."""
    if not host.told["reports"]:
        return
    for operation in REPORTS:
        hook = OPERATIONS[operation].native
        try:
            answer = json.dumps(getattr(host.provider, hook)(), default=_named)
        except Exception as error:
            fault = f"{type(error).__name__}: {' '.join(str(error).split())[:_ANSWER_CHARS]}"
            host.say(f"{operation} raised {fault}")
        else:
            host.say(f"{operation} answered {answer}")


def _named(value: Any) -> dict[str, str]:
    """An object that JSON does not hold, by its type."""
    return {type(value).__name__: repr(value)}


def _works_again(host: HostSession, number: int) -> None:
    """Store and recall, more than once where a provider waits a while before it tries again."""
    for act in (lambda: _stores(host, number), lambda: _recalls(host, [])):
        if not patience.happens_by(functools.partial(_after_all, act), _again(host)):
            host.say("works not")
            return
    host.say("works again")


def _again(host: HostSession) -> patience.Deadline:
    """Until when a provider is tried again that waits a while by itself."""
    return patience.Deadline(host.told["again_s"], host.told["slowdown"])


def _after_all(act: Callable[[], bool]) -> bool:
    """True if `act` worked; where it did not, a moment later."""
    worked = act()
    if not worked:
        sleep(_PAUSE_S)
    return worked


# -- the store is locked ---------------------------------------------------------------------------


def locked(host: HostSession) -> None:
    """Recall and store while another process holds the store, and again when it is free."""
    host.open()
    _stores(host, 0)
    with _guest(host) as guest:
        if guest is not None:
            _shows(host, "guest before", guest)
            # An answer that is kept for a time without a store is the latest one: the owner's.
            with contextlib.suppress(Exception):
                _recalled(host, host.provider)
        host.say("ready")
        sys.stdin.readline()
        answers: list[Any] = []
        _recalls(host, answers)
        # An answer that is kept for such a time, or one that is read beside the lock.
        if guest is not None and any(answers):
            _shows(host, "guest", guest)
        host.say("asked")
        _stores(host, 1)
        _reports(host)
        sys.stdin.readline()
    _works_again(host, 2)
    host.close()


@contextlib.contextmanager
def _guest(host: HostSession) -> Iterator[Any]:
    """A session beside it, of somebody else; None if there is none."""
    told, guest = host.told.get("guest"), None
    if told:
        with contextlib.suppress(Exception):
            guest = host.beside(told["session_key"], told["config"])
    yield guest
    if guest is not None:
        with contextlib.suppress(Exception):
            guest.shutdown()


def _shows(host: HostSession, who: str, provider: Any) -> None:
    """Tell what a recall brings; nothing if it raises."""
    answer = None
    with contextlib.suppress(Exception):
        answer = _recalled(host, provider)
    if isinstance(answer, str):
        host.say(f"{who} answered {json.dumps(answer[:_ANSWER_CHARS])}")


def opens(host: HostSession) -> None:
    """Open the session while another process holds the store."""
    host.load()
    host.say("ready")
    sys.stdin.readline()
    _attempt(host, "open", host.start)
    with contextlib.suppress(Exception):
        host.close()


def changes_locked(host: HostSession) -> None:
    """Make one call while the store is free, while another process holds it, and afterwards."""
    host.open()
    (before,), (meanwhile,), (after,) = host.told["rounds"]
    _change(host, "change 0 0", before)
    host.say("ready")
    sys.stdin.readline()
    is_done = _change(host, "change 1 0", meanwhile)
    sys.stdin.readline()
    if not is_done:
        # As a host does that was told so.
        tells = functools.partial(_change, host, "again", meanwhile)
        patience.happens_by(functools.partial(_after_all, tells), _again(host))
    again = functools.partial(_change, host, "change 2 0", after)
    works = patience.happens_by(functools.partial(_after_all, again), _again(host))
    host.say("works again" if works else "works not")
    host.close()


# -- nothing fails ---------------------------------------------------------------------------------


def healthy(host: HostSession) -> None:
    """Make the same calls in a store that is well, by which a fault is told from the calls."""
    host.open()
    # In the order of `full`, which stores its last text between two rounds of calls.
    count, rounds = len(host.told["texts"]), host.told["rounds"]
    first = count - 1 if rounds[1:] else count
    for number in range(first):
        _stores(host, number)
    for number, calls in enumerate(rounds):
        _changes(host, f"change {number}", calls)
        if number == 0 and first < count:
            _stores(host, first)
    _changes(host, "last", host.told["last"])
    host.close()


# -- there is no room ------------------------------------------------------------------------------


def full(host: HostSession) -> None:
    """Store while no file takes a byte, and again when there is room; and end without room."""
    host.open()
    _stores(host, 0)
    last = len(host.told["texts"]) - 1
    with _no_room():
        _fills_a_batch(host, range(1, last))
        _changes(host, "change 0", host.told["rounds"][0])
        _let_workers_work()
        _reports(host)
    end = _again(host)
    _works_again(host, last)
    _changes_again(host, "change 1", host.told["rounds"][1], end)
    with _no_room():
        _changes(host, "last", host.told["last"])
        _let_workers_work()
    host.close()


def _let_workers_work() -> None:
    if threading.active_count() > 1:
        sleep(_WORKER_S)


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


# -- the store is read-only ------------------------------------------------------------------------


def read_only(host: HostSession) -> None:
    """Open and store while no file of the store may be written to; then end with slow workers."""
    workers = _Workers()
    threading.setprofile(workers)
    host.load()
    with _unwritable(host, [Path(name) for name in host.told["places"]]):
        if _attempt(host, "open", host.start):
            _recalls(host, [])
            _fills_a_batch(host, range(len(host.told["texts"])))
            _changes(host, "change 0", host.told["rounds"][0])
            _changes(host, "last", host.told["last"])
            _reports(host)
        workers.stand_still()
    with contextlib.suppress(Exception), workers.going_on():
        host.close()


class _Workers:
    """
    The threads of the provider: they stand still when they are told to, and go on one by one.

    A thread may get the processor late. The newest goes on first, and the next one only if nothing
    comes of that: a `shutdown` that waits for some of its threads returns without the others.
    """

    def __init__(self) -> None:
        self._stand = False
        self._gates: dict[int, threading.Event] = {}

    def __call__(self, *_: object) -> None:
        if self._stand:
            self._gate(threading.get_ident()).wait(_STANDING_S)

    def _gate(self, ident: int) -> threading.Event:
        return self._gates.setdefault(ident, threading.Event())

    def stand_still(self) -> None:
        """Have each thread but this one stop at its next call."""
        self._gate(threading.get_ident()).set()
        self._stand = True

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        """Let one more go on each time that the body has waited; at its end, those that hold it."""
        over = threading.Event()
        helper = threading.Thread(target=self._let_go, args=(over,), daemon=True)
        threading.setprofile(None)
        helper.start()
        try:
            yield
        finally:
            over.set()
            helper.join()
            for thread in threading.enumerate():
                if not thread.daemon:
                    self._gate(thread.ident or 0).set()

    def _let_go(self, over: threading.Event) -> None:
        while not over.wait(_PAUSE_S):
            mine = threading.get_ident()
            others = [t.ident or 0 for t in threading.enumerate() if t.ident != mine]
            standing = [ident for ident in others if not self._gate(ident).is_set()]
            if standing:
                self._gate(standing[-1]).set()


@contextlib.contextmanager
def _unwritable(host: HostSession, places: list[Path]) -> Iterator[None]:
    """Take the right to write from everything in directories; says so where that is in vain."""
    _obey_rights()
    found = [path for place in places for path in (place, *place.rglob("*"))]
    paths = [path for path in dict.fromkeys(found) if not path.is_symlink()]
    rights = {path: path.stat().st_mode for path in paths}
    for path, mode in rights.items():
        path.chmod(mode & ~_WRITE)
    if any(os.access(path, os.W_OK, effective_ids=True) for path in paths):
        host.say("may write")
    try:
        yield
    finally:
        for path, mode in rights.items():
            with contextlib.suppress(OSError):
                path.chmod(mode)


def _obey_rights() -> None:
    """Have this thread obey the rights of files as root does not; nothing where it cannot."""
    if os.geteuid() or sys.platform != "linux":
        return
    kernel, head, sets = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(_VERSION), _Sets()
    if kernel.capget(head, sets) == 0:
        sets[0] &= ~_OVERRIDE
        kernel.capset(head, sets)


# -- a file is damaged -----------------------------------------------------------------------------


def damaged(host: HostSession) -> None:
    """Open a damaged store, and live on where that is possible."""
    try:
        host.open()
    except Exception as error:
        host.say(f"refused {type(error).__name__}")
    else:
        _recalls(host, [])
        _stores(host, 0)
        _changes(host, "change 0", host.told["rounds"][0])
        _changes(host, "last", host.told["last"])
    with contextlib.suppress(Exception):
        host.close()
    host.say("over")


SCRIPTS: dict[str, Callable[[HostSession], None]] = {
    script.__name__: script
    for script in (locked, changes_locked, opens, healthy, full, read_only, damaged)
}


if __name__ == "__main__":
    ends_process.main(SCRIPTS)
