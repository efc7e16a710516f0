"""Chapter 45: threads and deadlines."""

import contextlib
import functools
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, Self

from memproto.testing.clauses import Lost, Untestable, check
from memproto.testing.evidence import Differs, Froze, NotRecalled, Raised
from memproto.testing.facts import Fact
from memproto.testing.instruments.threads import together
from memproto.testing.needs import depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised, HookWithdrawn, Subject
from memproto.testing.scenarios import entries, poor_sessions, texts
from memproto.testing.wire import beginning, show

#: Seconds that another thread may have to wait for its turn.
_TURN_S = 1.0

#: Seconds between two runs of the thread that measures.
_TICK_S = 0.005

#: A tick that is later than this while nothing runs says that the machine is slow.
_USUAL_LATENESS_S = 0.1

#: As long as a long message; backtracking over it takes seconds where it is quadratic.
_LENGTH = 20_000

#: Of a store with such texts in it an ordinary question is asked.
_QUESTION = "Where do I keep my boat?"

#: A key that no provider knows, for which nothing may be exported or forgotten.
_UNKNOWN_SCOPE = {"said_before": "2001-01-01T00:00:00Z"}

#: The operation that serves each route.
_STORES = {"turns": "record", "writes": "mirror", "tools": "call_tool"}


# -- other threads than initialize's ---------------------------------------------------------------


@check("MP-THR-001", calls_alone=False)
def hooks_work_on_other_threads(run: Run) -> None:
    planted = _planted_elsewhere(run)
    for route, fact in planted.items():
        _comes_back_elsewhere(run, route, fact, list(planted))


def _planted_elsewhere(run: Run, *, rest_s: float = 0.0) -> dict[str, Fact]:
    """
    Live through a session on other threads; gives route to the fact that was stored by it.

    The session rests for `rest_s` before it is shut down.
    """
    subject = run.open()
    for operation, call in _calls(run, subject).items():
        _works_elsewhere(run, operation, call)
    _refuse_all(run, subject)
    _works_elsewhere(run, "recall", lambda: subject.recall(_QUESTION))
    planted = {route: run.facts.new() for route in _STORES if run.serves(route)}
    for route, fact in planted.items():
        _works_elsewhere(run, _STORES[route], _planting(run, subject, fact, route))
    time.sleep(rest_s)
    _works_elsewhere(run, "close", subject.close)
    return planted


def _calls(run: Run, subject: Subject) -> dict[str, Callable[[], Any]]:
    fact = run.facts.new()
    extras: dict[str, Callable[[], Any]] = {
        "tools": subject.tools,
        "prewarm": lambda: subject.prewarm(fact.query),
    }
    served = {name: call for name, call in extras.items() if subject.has(name)}
    return routes.core_calls(subject, fact.text, fact.query) | served


def _refuse_all(run: Run, subject: Subject) -> None:
    """
    Calls that are refused or fail, on this thread; whatever each says of it.

    A lock that one of them leaves held keeps out the other threads, and not this one.
    """
    odd = {"a NUL": texts.NAMED["a NUL"], "half a pair": texts.NAMED["a lone high surrogate"]}
    for text in ("", *odd.values()):
        for call in routes.core_calls(subject, text, text).values():
            poor_sessions.in_passing(call)
    poor_sessions.write_in_vain(subject)
    poor_sessions.call_all_badly(subject)
    for operation, asks in (("export", subject.export), ("forget", subject.forget)):
        if subject.has(operation):
            poor_sessions.in_passing(functools.partial(asks, dict(_UNKNOWN_SCOPE)))


def _planting(run: Run, subject: Subject, fact: Fact, route: str) -> Callable[[], None]:
    return lambda: run.plant(subject, fact, route)


def _works_elsewhere(run: Run, operation: str, call: Callable[[], Any]) -> None:
    """Call on a new thread; where that raises, call on initialize's thread to compare."""
    error = together(call)[0]
    if error is None:
        return
    if not isinstance(error, HookRaised) or error.ends_process:
        raise error
    try:
        call()
    except HookRaised as same:
        if same.is_report and error.is_report:
            return
        raise
    run.violated(
        Raised.by(
            error.error,
            wanted=f"{run.hook(error.operation)} works on every thread",
            hook=run.hook(error.operation),
            lead="on another thread than initialize's ",
        ),
        operation=error.operation or operation,
    )


def _comes_back_elsewhere(run: Run, route: str, fact: Fact, used: list[str]) -> None:
    """
    A fact that was stored on another thread is recalled on another thread, after a new start.

    `used` are the routes by which facts were stored there, in their order.
    """
    found: list[bool] = []
    with run.session() as again:
        _works_elsewhere(run, "recall", lambda: found.append(run.brings_back(again, fact)))
        if found[0]:
            return
        if run.brings_back(again, fact):
            run.violated(
                NotRecalled(
                    wanted=f"{run.hook('recall')} works on every thread",
                    texts=(fact.text,),
                    subject="text that it brings on initialize's thread",
                    verb="it does not bring on another",
                ),
                operation="recall",
            )
    if losses.is_stored(run, fact):
        # A ranking passes over it, on every thread.
        return
    if not _is_stored_without(run, route, used):
        raise Lost(f"text that was stored through {route} is lost on initialize's thread as well")
    if losses.is_stored(run, _planted_elsewhere(run, rest_s=run.rest_s)[route]):
        raise _lost_by_its_end(run, route)
    hook = run.hook(_STORES[route])
    run.violated(
        NotRecalled(
            wanted=f"{hook} works on every thread",
            texts=(fact.text,),
            lead="text that was stored on initialize's thread comes back, and on another ",
            subject="it",
            verb="was lost",
        ),
        operation=_STORES[route],
    )


def _lost_by_its_end(run: Run, route: str) -> Lost:
    """
    The reason of a loss that is none where the session rests before its end.

    A shutdown that waits for no writer loses texts by chance, whatever a check does to the session
    and in its control as well.
    """
    reason = (
        f"text that {run.hook(_STORES[route])} accepts is lost only if shutdown follows at once"
    )
    return Lost(reason, depends_on(*routes.RULES[route]))


def _is_stored_without(run: Run, route: str, used: list[str]) -> bool:
    """
    True if a fact comes back that is stored in the same order of routes, on this thread.

    A provider that keeps the last text alone loses one wherever two are stored.
    """
    planted = {one: run.facts.new() for one in used}
    with run.session() as subject:
        for one, fact in planted.items():
            run.plant(subject, fact, one)
    return losses.is_stored(run, planted[route])


# -- the interpreter lock --------------------------------------------------------------------------


class _Heart:
    """
    A thread that wants to run every few milliseconds, and keeps how long it was not let.

    Guarantees:
        `longest` includes the time since the last tick, so that it need not wait for the next.
    """

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._last = (time.monotonic(), time.process_time())
        self._longest = (0.0, 0.0)
        self._thread = threading.Thread(target=self._beat, name="kit-heart", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(_TICK_S):
            with self._lock:
                self._tick()

    def _tick(self) -> None:
        now = (time.monotonic(), time.process_time())
        gap = (now[0] - self._last[0], now[1] - self._last[1])
        self._longest = max(self._longest, gap)
        self._last = now

    def longest(self) -> tuple[float, float]:
        """The longest silence since the last call in seconds, and the processor time in it."""
        with self._lock:
            self._tick()
            found, self._longest = self._longest, (0.0, 0.0)
        return found


@check("MP-THR-002", calls_alone=False, budget_s=180.0, grows=True)
def hooks_let_other_threads_run(run: Run) -> None:
    with _Heart() as heart:
        watched = _Watched(run, heart, _TURN_S * run.context.scale * _slowness(heart))
        subject = watched.opens()
        for text in _shapes(*texts.lengths(run, _LENGTH)):
            watched.in_passing("turn_start", text, functools.partial(subject.begin, text))
            for operation, call in routes.core_calls(subject, text, text).items():
                watched(operation, text, functools.partial(routes.tolerant, call))
            for operation, call in _calls_with(subject, text).items():
                watched.in_passing(operation, text, call)
        for operation, call in _calls_without(run, subject).items():
            watched.in_passing(operation, "", call)
        watched("close", "", lambda: run.close(subject))
        # The store is read by now: it holds long texts.
        again = watched.opens()
        watched("recall", _QUESTION, lambda: again.recall(_QUESTION))
        for operation, call in _calls_at_the_end(run, again).items():
            watched.in_passing(operation, "", call)
        watched("close", "", lambda: run.close(again))


class _Watched:
    """Makes calls, and judges after each whether the other threads could run meanwhile."""

    def __init__(self, run: Run, heart: _Heart, limit_s: float) -> None:
        self._run = run
        self._heart = heart
        self._limit_s = limit_s

    def __call__(self, operation: str, text: str, call: Callable[[], Any]) -> Any:
        self._heart.longest()
        try:
            return call()
        finally:
            # Also of a hook that raises in the end: that it held the interpreter comes first.
            _judge_silence(self._run, operation, text, self._heart.longest(), self._limit_s)

    def opens(self) -> Subject:
        """A new instance, built and initialized."""
        subject: Subject = self("open", "", self._run.open)
        return subject

    def in_passing(self, operation: str, text: str, call: Callable[[], Any]) -> None:
        """Call a hook that has rules of its own for what it raises, and for what it refuses."""

        def calls() -> None:
            with contextlib.suppress(HookWithdrawn):
                try:
                    call()
                except HookRaised as failure:
                    if failure.ends_process:
                        raise

        self(operation, text, calls)


def _calls_with(subject: Subject, text: str) -> dict[str, Callable[[], Any]]:
    """Operation to a call of it with `text`, for the extensions that the provider serves."""
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": text}]
    calls: dict[str, Callable[[], Any]] = {
        "prewarm": lambda: subject.prewarm(text),
        "record_turn": lambda: subject.record_turn(entries.turn("session", text, text)),
        "items": lambda: subject.items({"query": text}),
        "compress_notes": lambda: subject.compress_notes(said),
        "delegation": lambda: subject.delegated(text, text),
        "call_tool": lambda: _tool(subject, text),
    }
    return {operation: call for operation, call in calls.items() if subject.has(operation)}


def _tool(subject: Subject, text: str) -> None:
    """Call the tool that looks most like one that stores."""
    call = routes.storing_call(subject.tools(), text)
    if call is not None:
        subject.call_tool(*call)


def _calls_without(run: Run, subject: Subject) -> dict[str, Callable[[], Any]]:
    """Operation to a call of it, for the hooks that come once, the last of a session last."""
    calls: dict[str, Callable[[], Any]] = {
        "tools": subject.tools,
        "prompt": subject.prompt,
        "status": subject.status,
        "unavailable_reason": subject.unavailable_reason,
        "config_schema": subject.config_schema,
        "backup": subject.backup_paths,
        "export": lambda: subject.export({}),
        "switch": lambda: subject.switch(run.session_key()),
        "end": lambda: subject.end(
            [{"role": "user", "content": text} for text in _shapes(_LENGTH)]
        ),
    }
    served = {operation: call for operation, call in calls.items() if subject.has(operation)}
    return {
        "name": subject.name,
        "available": subject.available,
        "declare": subject.declare,
    } | served


def _calls_at_the_end(run: Run, subject: Subject) -> dict[str, Callable[[], Any]]:
    """Operation to a call of it, for the hooks that change what was stored or set."""
    calls: dict[str, Callable[[], Any]] = {
        "save_config": lambda: subject.save_config({}, str(run.home)),
        "forget": lambda: subject.forget({}),
    }
    return {operation: call for operation, call in calls.items() if subject.has(operation)}


def _slowness(heart: _Heart) -> float:
    """The factor by which this machine is late while nothing runs; never below 1."""
    heart.longest()
    time.sleep(6 * _TICK_S)
    return max(1.0, heart.longest()[0] / _USUAL_LATENESS_S)


def _judge_silence(
    run: Run, operation: str, text: str, silence: tuple[float, float], limit_s: float
) -> None:
    # A machine that gives the process no time stops its threads as well. A freeze is known by the
    # processor time that went by without a turn for the others.
    silent_s, busy_s = silence
    if silent_s <= limit_s or busy_s < limit_s:
        return
    run.violated(
        Froze(
            wanted=f"other threads run at least once in {limit_s:g} s",
            hook=run.hook(operation),
            held_s=silent_s,
            given=beginning(text) if text else "",
            given_chars=len(text),
        ),
        operation=operation,
    )


def _shapes(*lengths: int) -> list[str]:
    """Texts over which patterns with nested or adjoining repetition backtrack, shortest first."""
    pieces = (
        ("a", "!"),
        ("7", "!"),
        (" ", "x"),
        ("\n", "x"),
        (".", "x"),
        ("word ", "!"),
        ("Anna Berg ", "!"),
        ("https://example.org/a?b=c&", " "),
        ("a@b.", "!"),
        ('"it\'s" ', "\\"),
        ("<b>*_`[(", "x"),
        ("- one, two; ", "x"),
    )
    return [piece * (most // len(piece)) + end for most in lengths for piece, end in pieces]


# -- accepting in time -----------------------------------------------------------------------------


@check("MP-THR-003", calls_alone=False)
def writes_are_accepted_in_time(run: Run) -> None:
    # The watch books a late write; what is written here is short, long, and many.
    subject = run.open()
    for fact in run.facts.several(3):
        routes.live(subject, fact)
    long = "\n".join(fact.text for fact in run.facts.several(200))
    routes.tolerant(lambda: subject.record(long, long))
    routes.tolerant(lambda: subject.write(long))
    run.close(subject)


# -- concurrency -----------------------------------------------------------------------------------

# Chapter 45: hooks beside a running event loop, and beside one another.


#: Times that a recall and a write begin together, in one session and as first calls of new ones.
_ROUNDS = 4


# -- an event loop ---------------------------------------------------------------------------------


@check("MP-THR-004", calls_alone=False, budget_s=120.0)
def hooks_work_where_a_loop_runs(run: Run) -> None:
    planted = _facts(run)
    raised: dict[str, Exception] = {}
    steps = _session(run, planted, raised)
    error = together(lambda: _amid_a_loop(steps))[0]
    if error is not None:
        raise error
    for operation, failure in raised.items():
        _judge_raised_in_a_loop(run, operation, failure)
    for route, fact in planted.items():
        if _STORES[route] not in raised and not losses.is_stored(run, fact):
            _judge_lost_in_a_loop(run, route, list(planted))


def _amid_a_loop(steps: Iterator[None]) -> None:
    """Take the steps on a thread on which a loop runs, which gets a turn after each."""
    import asyncio

    async def take() -> None:
        for _ in steps:
            await asyncio.sleep(0)

    asyncio.run(take())


def _facts(run: Run) -> dict[str, Fact]:
    """Route to a fact to store by it, for each route that is served."""
    return {route: run.facts.new() for route in routes.ROUTES if run.serves(route)}


def _session(run: Run, planted: dict[str, Fact], raised: dict[str, Exception]) -> Iterator[None]:
    """Live through a session; `raised` gets the first failure of each operation."""
    subject = yield from _life(run, planted, raised)
    if subject is not None:
        _noted(raised, "close", lambda: run.close(subject))


def _life(
    run: Run, planted: dict[str, Fact], raised: dict[str, Exception]
) -> Generator[None, None, Subject | None]:
    """The same without its end; gives the open session, or None if it did not open."""
    subject: Subject | None = _noted(raised, "open", run.open)
    yield
    if subject is None:
        return None
    for operation, call in _concurrency_calls(run, subject):
        _noted(raised, operation, call)
        yield
    for route, fact in planted.items():
        _noted(raised, _STORES[route], functools.partial(routes.plant, subject, fact, route))
        yield
    return subject


def _noted(raised: dict[str, Exception], operation: str, call: Callable[[], Any]) -> Any:
    """The result of the call; None if it failed, which is noted under its operation."""
    try:
        return call()
    except (HookRaised, Untestable) as failure:
        if isinstance(failure, BackendAway) or (
            isinstance(failure, HookRaised) and failure.ends_process
        ):
            raise
        raised.setdefault(operation, failure)
        return None


def _concurrency_calls(run: Run, subject: Subject) -> Iterator[tuple[str, Callable[[], Any]]]:
    fact = run.facts.new()
    yield "declare", subject.declare
    yield from routes.core_calls(subject, fact.text, fact.query).items()
    if subject.has("tools"):
        yield "tools", subject.tools
    if subject.has("prewarm"):
        yield "prewarm", lambda: subject.prewarm(fact.query)


def _judge_raised_in_a_loop(run: Run, operation: str, failure: Exception) -> None:
    """The same session without a loop, on such a thread, tells whether the loop is to blame."""
    alike: dict[str, Exception] = {}
    error = together(lambda: deque(_session(run, _facts(run), alike), maxlen=0))[0]
    if error is not None:
        raise error
    same = alike.get(operation)
    if same is None:
        hook = run.hook(operation)
        run.violated(
            (
                Raised.by(failure.error, hook=hook)
                if isinstance(failure, HookRaised)
                else Differs(seen=f"it gave {failure}")
            ).told(
                wanted=f"{hook} works on a thread on which an event loop is running",
                lead="there ",
                tail=", and on a thread without a loop it works",
            ),
            operation=operation,
        )
    if isinstance(same, HookRaised) and not same.is_report:
        hook = run.hook(operation)
        raise Untestable(f"{hook} raises on that thread without a loop as well: {show(same.error)}")


def _rests_between_two_loops(run: Run, planted: dict[str, Fact]) -> None:
    """A session whose first loop has ended while it rests: no task of that is done meanwhile."""
    opened: list[Subject | None] = []

    def lives() -> Iterator[None]:
        opened.append((yield from _life(run, planted, {})))

    def ends() -> Iterator[None]:
        for subject in filter(None, opened):
            _noted({}, "close", functools.partial(run.close, subject))
            yield

    _amid_a_loop(lives())
    time.sleep(run.rest_s)
    _amid_a_loop(ends())


def _judge_lost_in_a_loop(run: Run, route: str, used: list[str]) -> None:
    if not _is_stored_without(run, route, used):
        raise Lost(f"text that was stored through {route} is lost without a loop as well")
    planted = _facts(run)
    error = together(lambda: _rests_between_two_loops(run, planted))[0]
    if error is not None:
        raise error
    if losses.is_stored(run, planted[route]):
        raise _lost_by_its_end(run, route)
    operation = _STORES[route]
    run.violated(
        NotRecalled(
            wanted=f"{run.hook(operation)} works on a thread on which an event loop is running",
            texts=(),
            subject="text that it accepted there",
            tail=" after the loop had ended; what it accepted without a loop did",
        ),
        operation=operation,
    )


# -- a recall beside a write -----------------------------------------------------------------------


@check("MP-THR-005", calls_alone=False, budget_s=120.0)
def a_recall_and_a_write_work_side_by_side(run: Run) -> None:
    for route in ("turns", "writes"):
        if not run.lacks(_STORES[route]):
            # Of a question that was asked before there was an answer, another rule speaks.
            known = run.facts.new()
            with run.session() as first:
                routes.tolerant(functools.partial(routes.plant, first, known, route))
            both = functools.partial(_both, known.query)
            accepted = _written(run, route, both)
            if run.serves(route):
                _all_come_back(run, route, accepted, both)


#: Writes a fact in a session by a route; gives it where it was accepted.
_Write = Callable[[Run, Subject, Fact, str], list[Fact]]


def _written(run: Run, route: str, write: _Write, *, rest_s: float = 0.0) -> list[Fact]:
    """
    Facts that `write` had accepted: first by new instances, then by one that works on.

    Each session rests for `rest_s` before it is shut down.
    """
    facts = run.facts.several(2 * _ROUNDS)
    accepted: list[Fact] = []
    for fact in facts[:_ROUNDS]:
        with run.session() as new:
            accepted += write(run, new, fact, route)
            time.sleep(rest_s)
    with run.session() as subject:
        for fact in facts[_ROUNDS:]:
            accepted += write(run, subject, fact, route)
        time.sleep(rest_s)
    return accepted


def _alone(run: Run, subject: Subject, fact: Fact, route: str) -> list[Fact]:
    """Write a fact on a thread of its own, with nothing beside it."""
    error = together(lambda: run.plant(subject, fact, route))[0]
    if error:
        raise Untestable(f"{run.hook(_STORES[route])} raises on another thread alone") from error
    return [fact]


def _both(question: str, run: Run, subject: Subject, fact: Fact, route: str) -> list[Fact]:
    """Write a fact while a recall answers; gives the fact where it was accepted."""
    calls = {
        _STORES[route]: lambda: routes.plant(subject, fact, route),
        "recall": lambda: routes.recalled(subject, question),
    }
    if route == "turns":
        # Beside a recall no turn begins: a host says so before.
        subject.begin(fact.text)
    errors = together(*calls.values())
    for (operation, call), error in zip(calls.items(), errors, strict=True):
        if error is not None:
            other = next(name for name in calls if name != operation)
            _judge_raised_beside(run, error, call, other)
    return [] if errors[0] else [fact]


def _judge_raised_beside(
    run: Run, error: BaseException, call: Callable[[], Any], other: str
) -> None:
    """The same call by itself tells whether the one beside it is to blame."""
    if not isinstance(error, HookRaised) or error.ends_process or isinstance(error, BackendAway):
        raise error
    if error.is_report:
        return
    if together(call)[0]:
        call()
        hook = run.hook(error.operation)
        raise Untestable(f"{hook} raises on another thread alone as well", depends_on("MP-THR-001"))
    run.violated(
        Raised.by(
            error.error,
            wanted=f"{run.hook(error.operation)} works while {run.hook(other)} runs",
            hook=run.hook(error.operation),
            tail="; alone it does not",
        ),
        operation=error.operation,
    )


def _all_come_back(run: Run, route: str, accepted: list[Fact], both: _Write) -> None:
    if not losses.lost(run, accepted):
        return
    hook = run.hook(_STORES[route])
    if losses.lost(run, _written(run, route, _alone)):
        raise Lost(f"text {hook} accepts on another thread is lost without a recall as well")
    accepted = _written(run, route, both, rest_s=run.rest_s)
    lost = losses.lost(run, accepted)
    if not lost:
        raise _lost_by_its_end(run, route)
    run.violated(
        NotRecalled(
            wanted=(
                f"what {run.hook(_STORES[route])} accepts while {run.hook('recall')} runs, "
                "recalled later"
            ),
            texts=tuple(fact.text for fact in lost),
            subject=f"{len(lost)} of {len(accepted)}",
            tail=f", among them {lost[0].text!r}; what was written alone did",
        ),
        operation=_STORES[route],
    )
