"""Chapter 79: what sessions leave behind in the process."""

import contextlib
import dataclasses
import functools
import gc
import itertools
import logging
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import psutil

from memproto.testing import locate
from memproto.testing.clauses import NotApplicable, check
from memproto.testing.evidence import Grew, Left
from memproto.testing.instruments import threads
from memproto.testing.instruments.threads import ExitCalls
from memproto.testing.processes import vitals
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import poor_sessions

#: Sessions after which caches, pools and lazy imports are there.
_WARM = 2

#: Seconds that a session takes at most where the others are lived in the profile quick as well.
_QUICK_S = 1.0

#: Rounds of sessions that are counted: what grows in each of them grows for ever.
_CYCLES = 6

#: Each of these checks opens a provider up to thirty times, and to open one may take a while.
_BUDGET_S = 240.0

#: Seconds that a thread or a process has to end which was told to.
_ENDING_S = 2.0

#: Programs of Python's own, one of each for the whole process, which end with it.
_PYTHONS_OWN = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")

#: The thread by which the parent is told that the interpreter runs; see `child`.
_KITS_OWN = "kit-beat"

#: Characters shown to each session and not to be kept, in questions as long as in MP-RECALL-006;
#: the bytes of them that make a leak; and the characters of a conversation that makes none.
_SHOWN_CHARS, _ASKED = 400_000, 4
_LEAST_KEPT, _SHORT_CHARS = _SHOWN_CHARS // 2, 400

#: An entry of a bounded cache is out of it after so many questions more.
_CACHED = 1_100

#: A piece of the conversation that is so large is told apart from what those leave.
_LARGE_BYTES = 100_000


def _session(run: Run, said: str = "") -> None:
    """One whole session through the hooks of the core."""
    subject = run.open()
    with contextlib.suppress(HookRaised):
        routes.live(subject, run.facts.new())
    for part in range(_ASKED if said else 0):
        # The exception for a text of any length is for MP-RECALL-006.
        with contextlib.suppress(HookRaised):
            asked = f"{part}{said[: _SHOWN_CHARS // _ASKED]}"
            subject.recall(asked, [{"role": "user", "content": said}])
    run.close(subject)


@dataclasses.dataclass(frozen=True)
class _Remains:
    """Things of which there are more than before, and after how many sessions."""

    things: Counter[str]
    sessions: int

    def names(self, shown: Callable[[str], str] = lambda name: name) -> tuple[str, ...]:
        """The most frequent ones, for a message."""
        found = self.things.most_common(3)
        return tuple(f"{count} more: {shown(name)}" for name, count in found)


def _left(
    run: Run, seen: Callable[[], Counter[str]], live: Callable[[Run], None] = _session
) -> _Remains:
    """
    Things of which there are more by one, or several, for each session; waits for ending ones.

    Sessions in which little goes well are lived beside the one that is asked for.

    A thing that all sessions share grows too, up to its size: anything that seems left is counted
    once more, and a leak goes on.
    """
    began = monotonic()
    for _ in range(_WARM):
        live(run)
    is_quick = (monotonic() - began) / _WARM < _QUICK_S * run.context.slowdown
    if run.watch.calls_left is None and (is_quick or run.context.profile != "quick"):
        for session in poor_sessions.KINDS:
            session(run)
        return _left_twice(run, seen, (live, *poor_sessions.KINDS))
    return _left_twice(run, seen, (live,))


def _left_twice(
    run: Run, seen: Callable[[], Counter[str]], sessions: Sequence[Callable[[Run], None]]
) -> _Remains:
    things = _grown(run, seen, sessions) and _grown(run, seen, sessions)
    return _Remains(things, _CYCLES * len(sessions))


def _grown(
    run: Run, seen: Callable[[], Counter[str]], sessions: Sequence[Callable[[Run], None]]
) -> Counter[str]:
    gc.collect()
    before = seen()
    for _ in range(_CYCLES):
        for session in sessions:
            session(run)
    gc.collect()

    def grown() -> Counter[str]:
        return seen() - before

    run.wait_until(lambda: grown().total() < _CYCLES, _ENDING_S)
    more = grown()
    return more if more.total() >= _CYCLES else Counter()


def _judge(
    run: Run, what: str, left: _Remains, shown: Callable[[str], str] = lambda name: name
) -> None:
    if left.things:
        after = f"after {left.sessions} more sessions that were shut down"
        run.violated(
            Left(
                wanted=f"as many {what} as before, {after}",
                kind_of="resource",
                names=left.names(shown),
                count=left.things.total(),
            ),
            operation="close",
        )


def _whole(run: Run) -> None:
    """
    As `_session`, with the hooks of extensions that start something in the background too.

    Hosts call hooks on other threads than the one that starts and ends a session.
    """
    subject = run.open()
    with contextlib.suppress(HookRaised):
        if raised := threads.together(lambda: routes.live_fully(subject, run.facts.new()))[0]:
            raise raised
    run.close(subject)


@check("MP-RES-001", calls_alone=False, budget_s=_BUDGET_S)
def sessions_leave_no_threads(run: Run) -> None:
    _judge(run, "threads", _left(run, _threads, _whole))


def _threads() -> Counter[str]:
    """Threads by what they run; those that `threading` does not know by their frame."""
    known = {thread.ident: thread for thread in threading.enumerate()}
    found: Counter[str] = Counter()
    for ident, stack in threads.stacks().items():
        thread = known.get(ident)
        if thread is not None and thread.name == _KITS_OWN:
            # It is in another frame at each look.
            continue
        daemon = "" if thread is None else " (daemon)" if thread.daemon else " (no daemon)"
        found[f"a thread in {threads.shown(stack)}{daemon}"] += 1
    return found


@check("MP-RES-002", calls_alone=False, budget_s=_BUDGET_S)
def sessions_leave_no_open_files_and_sockets(run: Run) -> None:
    if not Path("/proc/self/fd").is_dir():
        raise NotApplicable("this system does not say what a process has open")
    _judge(run, "open files and sockets", _left(run, _descriptors, _whole), _open_now)


#: The kernel's name for things that have none, and the thing.
_NAMELESS = {"socket": "a socket", "pipe": "a pipe"}


def _descriptors() -> Counter[str]:
    """Open descriptors by their kind, or by the folder that they are in."""
    # Each socket has a number of its own, and each temporary file a name.
    return Counter(_kind(target) for target in _targets())


def _targets() -> list[str]:
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(str(entry.readlink()))
    return found


def _kind(target: str) -> str:
    if target.startswith("/"):
        return str(Path(target).parent)
    kind, _, number = target.partition(":")
    return _NAMELESS.get(kind, number if kind == "anon_inode" else kind)


def _open_now(kind: str) -> str:
    """The kind as a reader knows it, with the names of the open files that are in a folder."""
    if not kind.startswith("/"):
        return kind
    names = Counter(Path(target).name for target in _targets() if _kind(target) == kind)
    told = [f"{name} {count} times" for name, count in names.most_common(3)]
    return f"open files in {Path(kind).name}/, where there are {', '.join(told)}"


@check("MP-RES-003", calls_alone=False, budget_s=_BUDGET_S)
def sessions_leave_no_processes(run: Run) -> None:
    before = set(_processes(run))
    subject = run.open()
    with contextlib.suppress(HookRaised):
        routes.live(subject, run.facts.new())
    run.close(subject)
    run.wait_until(lambda: not set(_processes(run)) - before, _ENDING_S)
    left = [name for pid, name in _processes(run).items() if pid not in before]
    if left:
        run.violated(
            Left(
                wanted="no process of the session's runs after shutdown",
                kind_of="process",
                names=tuple(left[:3]),
                count=len(left),
                lead=f"{len(left)} run: ",
            ),
            operation="close",
        )


def _processes(run: Run) -> dict[int, str]:
    """Processes that this one has started; a disowned one is known by its home, this check's."""
    mine = psutil.Process()
    orphans = [one for one in psutil.process_iter() if vitals.belongs(one, run.root)]
    found: dict[int, str] = {}
    for process in {*mine.children(recursive=True), *orphans} - {mine}:
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            is_pythons = any(module in word for word in words for module in _PYTHONS_OWN)
            if process.status() != psutil.STATUS_ZOMBIE and not is_pythons:
                found[process.pid] = " ".join(words[:4]) or process.name()
    return found


@check("MP-RES-004", calls_alone=False, budget_s=_BUDGET_S)
def sessions_leave_no_conversation_in_memory(run: Run) -> None:
    for _ in range(_WARM):
        _session(run, _said(0))
    tracemalloc.start()
    try:
        kept = _kept_of_the_conversation(run)
        place = _place() if kept > _LEAST_KEPT and not _has_a_bound(run) else ""
    finally:
        tracemalloc.stop()
    if place:
        run.violated(
            Grew(
                wanted="the memory of a session is given back when it has ended",
                held_bytes=kept,
                lead=(
                    f"each of {_CYCLES} sessions was shown {_SHOWN_CHARS:,} characters at "
                    "recall, and kept "
                ),
                tail=f" or more, {place}",
            ),
            operation="recall",
        )


def _said(number: int, chars: int = _SHOWN_CHARS) -> str:
    return f"{number} and so on, ".ljust(chars, "-")


def _kept_of_the_conversation(run: Run) -> int:
    """
    Bytes that each session keeps more than one that is shown a short conversation; 0 for few.

    Modules that a thread imports, or a client for each session, are no conversation. They grow
    among short ones as well, or are over by the second time.
    """
    numbers = itertools.count()
    first = _kept_by_each(run, numbers, _SHOWN_CHARS)
    if first <= _LEAST_KEPT:
        return 0
    short = _kept_by_each(run, numbers, _SHORT_CHARS)
    again = _kept_by_each(run, numbers, _SHOWN_CHARS)
    return max(0, min(first, again) - max(0, short))


def _kept_by_each(run: Run, numbers: Iterator[int], chars: int) -> int:
    """Bytes by which each session grows; the first one may fill a cache."""
    said = (_said(number, chars) for number in itertools.islice(numbers, _CYCLES))
    return min([_kept_bytes(run, text) for text in said][1:])


def _kept_bytes(run: Run, said: str) -> int:
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    _session(run, said)
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


def _has_a_bound(run: Run) -> bool:
    """True if more than half of the large pieces are gone after many other questions: a cache."""
    before = _large_bytes()
    with run.session() as subject:
        for number in range(_CACHED):
            asked = f"Is lamp {number} on the quay lit?"
            routes.in_passing(functools.partial(subject.recall, asked))
    gc.collect()
    return _large_bytes() < before / 2


def _large_bytes() -> int:
    sizes = (trace.size for trace in tracemalloc.take_snapshot().traces)
    return sum(size for size in sizes if size >= _LARGE_BYTES)


def _place() -> str:
    top = tracemalloc.take_snapshot().statistics("lineno")[0].traceback[0]
    if top.filename == __file__:
        return "most of it the very text that the hook was handed"
    return f"most of it allocated at {locate.short(top.filename)}:{top.lineno}"


@check("MP-RES-005", calls_alone=False, budget_s=_BUDGET_S)
def sessions_leave_no_handlers(run: Run) -> None:
    calls = ExitCalls()
    with calls.watched():
        left = _left(run, lambda: _handlers(calls))
    _judge(run, "handlers at exit and of loggers", left)


def _handlers(calls: ExitCalls) -> Counter[str]:
    loggers: list[Any] = [logging.getLogger(), *logging.root.manager.loggerDict.values()]
    found: Counter[str] = Counter({"a function of atexit": calls.count()})
    for logger in loggers:
        if isinstance(logger, logging.Logger) and logger.handlers:
            found[f"a handler of the logger {logger.name}"] = len(logger.handlers)
    return found


@check("MP-RES-006", calls_alone=False, budget_s=_BUDGET_S)
def a_second_initialize_leaves_no_thread(run: Run) -> None:
    for _ in range(_WARM):
        _twice(run)
    left = _left_twice(run, _threads, (_twice,))
    if not left.things:
        return
    if _grown(run, _threads, (_once,)):
        raise NotApplicable("one initialize leaves a thread as well, which is for MP-RES-001")
    run.violated(
        Left(
            wanted=(
                f"as many threads as before, after {_CYCLES} times initialize, initialize, shutdown"
            ),
            kind_of="thread",
            names=left.names(),
            count=left.things.total(),
        ),
        operation="close",
    )


def _once(run: Run) -> None:
    """A session that is initialized and then shut down."""
    run.close(run.open())


def _twice(run: Run) -> None:
    """A session that is initialized twice and then shut down."""
    subject = run.open()
    try:
        subject.open(run.session_key(), run.config())
    except HookRaised as failure:
        raise NotApplicable(f"a second initialize is refused: {failure.error!r}") from None
    run.close(subject)


@check("MP-RES-007", calls_alone=False)
def a_session_takes_no_more_memory_than_is_allowed(run: Run) -> None:
    # The memory of the process is seen from outside, in this check as in every other.
    _session(run)


# -- workers ---------------------------------------------------------------------------------------

# Chapter 79: what is left in the process once for all of its sessions.


#: A thread goes on for so long after the last session: it may wait for an answer.
_LAST_S = 10.0


# In a process of its own: what is left once for each is there before any other check looks.
@check("MP-RES-008", calls_alone=False, apart="workers")
def the_last_shutdown_leaves_no_worker(run: Run) -> None:
    known = frozenset(threads.stacks())
    provider = _lived(run).provider

    def left() -> list[str]:
        return threads.workers(provider, known)

    if run.wait_until(lambda: not left(), _LAST_S):
        return
    found = left()
    _lived(run)
    if not run.wait_until(lambda: len(left()) <= len(found), _ENDING_S):
        raise NotApplicable("each session leaves a thread, which is for MP-RES-001")
    run.violated(
        Left(
            wanted=f"no thread in the provider's own code {_LAST_S:g} s after its only session",
            kind_of="thread",
            names=tuple(sorted(found)[:3]),
            count=len(found),
            lead=f"{len(found)} still there: ",
        ),
        operation="close",
    )


def _lived(run: Run) -> Subject:
    """The instance of one whole session that was shut down."""
    subject = run.open()
    with contextlib.suppress(HookRaised):
        routes.live_fully(subject, run.facts.new())
    run.close(subject)
    return subject
