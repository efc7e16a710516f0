"""Chapter 65: shutdown."""

import contextlib
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import thread as pools
from pathlib import Path
from typing import Any

from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.evidence import Left, Raised
from memproto.testing.faults import modes
from memproto.testing.faults.bench import Unreached, failing, timely
from memproto.testing.instruments.threads import together
from memproto.testing.needs import depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised, Subject
from memproto.testing.scenarios import poor_sessions
from memproto.testing.wire import show

#: Two threads seldom meet in the same line at the first attempt.
_ROUNDS = 3

#: Number of turns in a provider's queue when shutdown comes.
_TURNS = 20

#: A thread that was told to stop gets this long to end by itself.
_ENDING_S = 2.0

#: Seconds after which a backend wants to be asked again.
_RETRY_AFTER = "600"


@check("MP-SHUT-001")
def shutdown_may_come_twice(run: Run) -> None:
    with run.session() as subject:
        routes.live(subject, run.facts.new())
    _returns(run, subject, "a second time")


@check("MP-SHUT-002")
def shutdown_may_come_from_two_threads(run: Run) -> None:
    # A failure of one after the other is for the rule on the second call, and not on threads.
    with run.session() as subject:
        routes.live(subject, run.facts.new())
    subject.close()
    _closes_on_another_thread(run)
    for _ in range(_ROUNDS):
        with _left_open(run) as subject:
            routes.live(subject, run.facts.new())
            for error in together(subject.close, subject.close):
                if error is not None:
                    _judge_raised(run, error, "both calls return", "by two threads at once")


def _closes_on_another_thread(run: Run) -> None:
    """One call alone; what raises there already is the rule on threads, not on two calls."""
    with _left_open(run) as subject:
        error = together(subject.close)[0]
    if isinstance(error, HookRaised) and not error.ends_process:
        said = f"on another thread than initialize's {run.hook('close')} raises by itself"
        raise Untestable(f"{said}, {show(error.error)}", depends_on("MP-THR-001"))
    if error is not None:
        raise error


@check("MP-SHUT-003")
def shutdown_may_come_before_initialize(run: Run) -> None:
    with run.session():
        pass
    _returns(run, run.provider(), "before initialize")


@check("MP-SHUT-004")
def shutdown_may_come_after_a_failed_initialize(run: Run) -> None:
    ways = poor_sessions.failing_ways(run)
    failed = [_fails_and_closes(run, name, config) for name, config in ways.items()]
    if not any(failed):
        raise NotApplicable(f"initialize does not raise with {' nor with '.join(ways)}")


@check("MP-SHUT-005", budget_s=120.0)
def shutdown_returns_in_time(run: Run) -> None:
    # The watch books a late shutdown; here there is something to be late with.
    subject = run.open()
    for fact in run.facts.several(_TURNS):
        routes.live(subject, fact)
    run.close(subject)
    _is_not_as_late_as_its_backend_asks(run)


def _is_not_as_late_as_its_backend_asks(run: Run) -> None:
    """A backend that answers 429 says when to come again, which may be long after the end."""
    if run.context.backend is None:
        return
    # The rules on backends that fail judge the hooks that are called meanwhile.
    others = contextlib.suppress(HookLate, NotApplicable, Unreached)
    with others, failing(run, modes.status(503)) as bench:
        subject = bench.open()
        bench.turn(modes.retry_after(_RETRY_AFTER))
        for hook in ("record", "mirror"):
            if not (run.lacks(hook) or hook in run.context.stuck):
                with contextlib.suppress(HookRaised):
                    routes.core_calls(subject, (fact := run.facts.new()).text, fact.query)[hook]()
        during = f"after 429 with Retry-After: {_RETRY_AFTER}"
        timely(run, during, lambda: run.close(subject))


@check("MP-SHUT-006")
def shutdown_leaves_no_thread_that_holds_the_process(run: Run) -> None:
    before = set(threading.enumerate())
    with run.session() as subject:
        for fact in run.facts.several(3):
            routes.live(subject, fact)

    def holding() -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t not in before and _holds_exit(t)]

    if not run.wait_until(lambda: not holding(), _ENDING_S):
        names = tuple(sorted(f"{t.name!r} ({_place(t)})" for t in holding()))
        run.violated(
            Left(
                wanted="no thread that the interpreter waits for",
                kind_of="thread",
                names=names,
                count=len(names),
                lead="still running: ",
            )
        )


# -- calls that must return ------------------------------------------------------------------------


def _returns(run: Run, subject: Subject, when: str) -> None:
    try:
        subject.close()
    except HookRaised as failure:
        _judge_raised(run, failure, f"{run.hook('close')} returns", when)


def _judge_raised(run: Run, error: BaseException, expected: str, when: str) -> None:
    """The rule at hand where shutdown raised; whatever else came up is passed on."""
    if not isinstance(error, HookRaised) or error.ends_process:
        raise error
    run.violated(
        Raised.by(
            error.error,
            wanted=expected,
            hook=run.hook("close"),
            who=run.hook("close"),
            tail=f" when called {when}",
        )
    )


@contextlib.contextmanager
def _left_open(run: Run) -> Iterator[Subject]:
    """An initialized instance that the body shuts down itself."""
    subject = run.provider()
    subject.open(run.session_key(), run.config())
    yield subject


# -- an initialize that raises ---------------------------------------------------------------------


def _fails_and_closes(run: Run, name: str, config: dict[str, Any]) -> bool:
    """True if initialize raised; shutdown has to return either way."""
    subject = run.provider()
    failed = False
    try:
        subject.open(run.session_key(), config)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        failed = True
    _returns(run, subject, f"after {'a failed ' if failed else ''}initialize with {name}")
    return failed


# -- threads that hold the process -----------------------------------------------------------------


def _holds_exit(thread: threading.Thread) -> bool:
    """
    True if the interpreter would wait for `thread`; an idle worker of a pool ends by itself.

    The standard pools have their workers joined at exit, daemon threads among them.
    """
    if not thread.is_alive():
        return False
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the only view of it
    worker: Callable[..., Any] = pools._worker  # noqa: SLF001 - as above
    if thread.daemon:
        is_joined = thread in pools._threads_queues  # noqa: SLF001 - as above
        return is_joined and _is_busy(frame, worker.__code__)
    return frame is None or frame.f_code is not worker.__code__


def _is_busy(frame: types.FrameType | None, worker: types.CodeType) -> bool:
    """True if a worker of a pool is at work, and does not wait for some."""
    if frame is None or frame.f_code is worker:
        return False
    while frame is not None and frame.f_code is not worker:
        frame = frame.f_back
    return frame is not None


def _place(thread: threading.Thread) -> str:
    """Place of the thread, in the frame that is not the standard library's."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the only view of it
    library = str(Path(threading.__file__).parent)
    while frame is not None and frame.f_code.co_filename.startswith(library):
        frame = frame.f_back
    if frame is None:
        return "not in Python code"
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"
