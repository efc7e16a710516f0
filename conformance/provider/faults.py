"""Chapter 82: backends that are silent, slow or wrong, and how long a hook then takes."""

import contextlib
from collections.abc import Callable
from typing import Any

from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.faults import modes
from memproto.testing.faults.bench import Bench, Unreached, accepts, failing, timely
from memproto.testing.faults.server import Mode
from memproto.testing.logged import Records
from memproto.testing.run import Run
from memproto.testing.subject import HookLate, HookRaised, Subject
from memproto.testing.wire import show

#: Several hooks, each with its whole time, and what the process needs around them.
_BUDGET_S = 300.0

#: A quick answer under which a session can be opened and closed without a working backend.
_AWAY = modes.status(503)

_STUCK: dict[str, Mode] = {
    "accepts connections and does not answer": modes.silent,
    "answers a byte at a time": modes.drip,
}

#: Times of the header: an hour, one that is over, and one that is no time.
_RETRIES = ("3600", "-1", "nan")

#: How often each hook is called with a dead credential, and how many requests a call may cost.
_CALLS, _REQUESTS = 3, 4

#: For the requests of a worker in the background.
_BEHIND_S = 2.0


@check("MP-FAULT-001", budget_s=_BUDGET_S)
def recall_is_in_time_while_the_backend_is_stuck(run: Run) -> None:
    with failing(run, _AWAY, stands_in=True) as bench:
        subject, fact = bench.open(), run.facts.new()
        for said, mode in _STUCK.items():
            bench.turn(mode)
            timely(run, f"while the backend {said}", lambda: subject.recall(fact.query))
        bench.turn(_AWAY)
        run.close(subject)
    _is_in_time_while_hands_are_shaken(run)


def _is_in_time_while_hands_are_shaken(run: Run) -> None:
    # One client for the whole process keeps the address that it had first.
    known = contextlib.suppress(HookRaised, Unreached)
    with known, failing(run, _AWAY, scheme="https", stands_in=True) as bench:
        subject = bench.open()
        bench.turn(modes.slow_tls)
        during = "while the backend shakes hands a byte at a time"
        timely(run, during, lambda: subject.recall(run.facts.new().query))
        bench.turn(_AWAY)
        run.close(subject)


@check("MP-FAULT-002", budget_s=_BUDGET_S)
def writes_are_in_time_while_the_backend_is_stuck(run: Run) -> None:
    with failing(run, _AWAY, stands_in=True) as bench:
        subject = bench.open()
        for said, mode in _STUCK.items():
            bench.turn(mode)
            for call in _writes(run, subject, run.facts.new()).values():
                timely(run, f"while the backend {said}", call)
        bench.turn(_AWAY)
        run.close(subject)


#: The calls that store, by operation.
_Calls = dict[str, Callable[[], Any]]


def _writes(run: Run, subject: Subject, fact: Fact) -> _Calls:
    """Operation to a call of each hook that stores; the end of a session is the last of them."""
    calls: _Calls = {
        "record": lambda: subject.record(fact.text, f"I will remember {fact.name}."),
        "mirror": lambda: subject.write(fact.text),
    }
    found = {name: call for name, call in calls.items() if not run.lacks(name)}
    if "sessions" in run.declared("extensions", []):
        found["end"] = lambda: subject.end([{"role": "user", "content": fact.text}])
    return found


def _calls(run: Run, subject: Subject, fact: Fact) -> list[Callable[[], Any]]:
    """Recall and the hooks that store, but those that hung by the backend: they had their rule."""
    calls = {"recall": lambda: subject.recall(fact.query), **_writes(run, subject, fact)}
    found = [call for name, call in calls.items() if name not in run.context.stuck]
    if not found:
        raise Untestable("every hook of a turn hung before while its backend failed")
    return found


@check("MP-FAULT-003", budget_s=_BUDGET_S)
def shutdown_is_in_time_while_the_backend_is_silent(run: Run) -> None:
    with failing(run, _AWAY, stands_in=True) as bench:
        subject = bench.open()
        bench.turn(modes.silent)
        for call in _calls(run, subject, run.facts.new()):
            _elsewhere(call)
        timely(run, "while the backend does not answer", lambda: run.close(subject))


def _elsewhere(call: Callable[[], Any]) -> None:
    """Make a call that another rule judges."""
    try:
        call()
    except HookLate as late:
        raise Untestable(f"{late}; see MP-FAULT-001 and MP-FAULT-002") from None
    except HookRaised as failure:
        if failure.ends_process:
            raise


@check("MP-FAULT-004", budget_s=_BUDGET_S)
def initialize_starts_without_its_backend(run: Run) -> None:
    ways = {
        "answers 503": _AWAY,
        "resets connections": modes.reset,
        "does not answer": modes.silent,
    }
    with failing(run, _AWAY, stands_in=True) as bench:
        if not bench.is_set:
            # A status is one only where HTTP is spoken, and not TLS.
            del ways["answers 503"]
        for said, mode in ways.items():
            bench.turn(mode)
            _opens(bench, said)
            bench.turn(_AWAY)
            run.finish()


def _opens(bench: Bench, said: str) -> None:
    run = bench.run
    try:
        timely(run, f"while the backend {said}", lambda: _open(bench))
    except _DidNotOpen as failure:
        run.violated(
            f"{run.hook('open')} starts a session while the backend {said}",
            f"it raised {failure}",
            operation="open",
        )


class _DidNotOpen(Exception):
    """What initialize raised, in words."""


def _open(bench: Bench) -> None:
    try:
        bench.open()
    except HookRaised as failure:
        if failure.operation != "open" or failure.ends_process:
            raise
        raise _DidNotOpen(show(failure.error)) from None


@check("MP-FAULT-005", budget_s=_BUDGET_S)
def a_backend_that_asks_for_time_does_not_stop_hooks(run: Run) -> None:
    with failing(run, _AWAY) as bench:
        subject = bench.open()
        for value in _RETRIES:
            bench.turn(modes.retry_after(value))
            for call in _calls(run, subject, run.facts.new()):
                timely(run, f"after 429 with Retry-After: {value}", call)
        bench.turn(_AWAY)
        run.close(subject)


@check("MP-FAULT-009", budget_s=_BUDGET_S)
def a_dead_credential_is_not_hammered(run: Run) -> None:
    with failing(run, _AWAY) as bench:
        subject, calls = bench.open(), 0
        bench.turn(modes.status(401, {"error": "invalid API key"}))
        before = len(bench.server.requests)
        for _ in range(_CALLS):
            for call in _calls(run, subject, run.facts.new()):
                _elsewhere(call)
                calls += 1
        # A worker that goes on by itself shows within a moment.
        run.stays_silent(lambda: len(bench.server.requests) - before > _REQUESTS * calls)
        _are_few(run, len(bench.server.requests) - before, calls)


def _are_few(run: Run, requests: int, calls: int) -> None:
    if requests > _REQUESTS * calls:
        run.violated(
            f"at most {_REQUESTS * calls} requests for {calls} hook calls, each answered with 401",
            f"{requests} requests, {requests / calls:.1f} for each call of recall or a write hook",
        )


@check("MP-FAULT-010", budget_s=_BUDGET_S)
def a_failing_backend_is_reported(run: Run) -> None:
    route, records = _route(run), Records()
    with failing(run, _AWAY) as bench, records.collected():
        subject = bench.open()
        seen = bench.server.pieces
        refused = not accepts(subject, run.facts.new(), route)
        if refused or records.found:
            return
        if not _is_tried(bench, subject, seen):
            bench.needs_reach()
            raise NotApplicable("nothing that was written was sent to the backend")
        if not run.wait_until(lambda: bool(records.found or _told(run, subject))):
            run.violated(
                "a write hook raises, a status or a reason says so, or a warning is logged, while"
                " the backend answers 503",
                f"{run.hook(_operation(route))} returned, and nothing was said within 5 s",
                operation=_operation(route),
            )


def _is_tried(bench: Bench, subject: Subject, seen: int) -> bool:
    """Whether what was written reached the backend, at the latest when the session ends."""
    if bench.server.wait_for(lambda: bench.server.pieces > seen, _BEHIND_S):
        return True
    bench.run.close(subject)
    return bench.server.pieces > seen


def _told(run: Run, subject: Subject) -> str:
    """What the extension `status` says is wrong; "" where it is not served or says nothing."""
    if "status" not in run.declared("extensions", []):
        return ""
    with contextlib.suppress(HookRaised):
        status = subject.status() if subject.has("status") else {}
        if isinstance(status, dict) and status.get("state", "ok") not in ("ok", "idle", None):
            return show(status)
        reason = subject.unavailable_reason() if subject.has("unavailable_reason") else ""
        return reason if isinstance(reason, str) else ""
    return ""


def _route(run: Run) -> str:
    return "writes" if run.lacks("record") else "turns"


def _operation(route: str) -> str:
    return "mirror" if route == "writes" else "record"


@check("MP-FAULT-011", budget_s=_BUDGET_S)
def an_error_is_no_memory(run: Run) -> None:
    sign = run.facts.name()
    ways = {
        "500": modes.status(500, {"error": f"{sign} overflow"}),
        "402": modes.status(402, {"error": f"{sign} is not paid"}),
        "404": modes.status(404, {"detail": f"{sign} not found"}),
        "422 with a list": modes.invalid_list(f"{sign} required"),
        "a page of HTML with 200": modes.page(f"{sign} portal"),
        "a page of HTML with 502": modes.page(f"{sign} gateway", 502),
        "JSON with 200 that is none": modes.broken_json(sign),
    }
    with failing(run, _AWAY) as bench:
        subject = bench.open()
        for said, mode in ways.items():
            bench.turn(mode)
            with contextlib.suppress(HookRaised):
                _holds_no_error(run, subject.recall(run.facts.new().query), sign, said)
        bench.turn(_AWAY)
        run.close(subject)


def _holds_no_error(run: Run, recalled: Any, sign: str, said: str) -> None:
    if isinstance(recalled, str) and sign.casefold() in recalled.casefold():
        run.violated(f"nothing recalled while the backend answers {said}", show(recalled))
