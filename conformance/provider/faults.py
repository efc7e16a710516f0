"""Chapter 82: backends that are silent, slow or wrong, and how long a hook then takes."""

import contextlib
import datetime as dt
import functools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from memproto.testing import noise
from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.evidence import (
    Called,
    Differs,
    Evidence,
    NotRecalled,
    NotReported,
    Raised,
    Recalled,
    Repeated,
)
from memproto.testing.facts import Fact
from memproto.testing.faults import modes
from memproto.testing.faults.bench import (
    Bench,
    NothingBehind,
    Unreached,
    accepts,
    elapsed,
    failing,
    relaying,
    timely,
)
from memproto.testing.faults.server import Mode
from memproto.testing.faults.sink import Taking
from memproto.testing.instruments.logs import Records
from memproto.testing.instruments.walltime import wall_clock
from memproto.testing.needs import READ_BACK, depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import (
    HookLate,
    HookRaised,
    HookWithdrawn,
    Subject,
    is_unreachable,
)
from memproto.testing.scenarios import entries, mirrored_writes, tenants
from memproto.testing.scenarios.starts import needs_starts
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

#: Calls of each hook with a dead credential, and requests that a call may cost.
_CALLS, _REQUESTS = 3, 4

#: For the requests of a worker in the background.
_BEHIND_S = 2.0


@check("MP-FAULT-001", calls_alone=False, budget_s=_BUDGET_S)
def recall_is_in_time_while_the_backend_is_stuck(run: Run) -> None:
    with failing(run, _AWAY, stands_in=True) as bench:
        for said, subject in _stuck(bench):
            query = run.facts.new().query
            timely(run, f"while the backend {said}", lambda: subject.recall(query))  # noqa: B023 - called at once
    _is_in_time_while_hands_are_shaken(run)


def _stuck(bench: Bench) -> Iterator[tuple[str, Subject]]:
    """Each way to be stuck, met by an instance of its own: one that failed may pause."""
    for said, mode in _STUCK.items():
        subject = bench.open()
        bench.turn(mode)
        yield said, subject
        bench.turn(_AWAY)
        bench.run.close(subject)


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


@check("MP-FAULT-002", calls_alone=False, budget_s=_BUDGET_S)
def writes_are_in_time_while_the_backend_is_stuck(run: Run) -> None:
    with failing(run, _AWAY, stands_in=True) as bench:
        for said, subject in _stuck(bench):
            for call in _writes(run, subject, run.facts.new()).values():
                timely(run, f"while the backend {said}", call)


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


@check("MP-FAULT-003", calls_alone=False, budget_s=_BUDGET_S)
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
        raise Untestable(str(late), depends_on("MP-FAULT-001", "MP-FAULT-002")) from None
    except HookRaised as failure:
        if failure.ends_process:
            raise


@check("MP-FAULT-004", calls_alone=False, budget_s=_BUDGET_S)
def initialize_starts_without_its_backend(run: Run) -> None:
    ways = {
        "answers 503": _AWAY,
        "resets connections": modes.reset,
        "does not answer": modes.silent,
    }
    try:
        with failing(run, _AWAY, stands_in=True) as bench:
            if not bench.is_set:
                # A status is one only where HTTP is spoken, and not TLS.
                del ways["answers 503"]
            for said, mode in ways.items():
                bench.turn(mode)
                _opens(bench, said)
                bench.turn(_AWAY)
                run.finish()
    except _DidNotOpen as failure:
        # The backend is as it was before: one that opens a home once raises all the same. One that
        # was not there before either is what the session asked for.
        needs_starts(run, unless=is_unreachable)
        run.violated(
            failure.evidence.told(
                wanted=f"{run.hook('open')} starts a session while the backend {failure.said}",
            ),
            operation="open",
        )


def _opens(bench: Bench, said: str) -> None:
    try:
        timely(bench.run, f"while the backend {said}", lambda: _open(bench))
    except _DidNotOpen as failure:
        if bench.is_set:
            # It may refuse the address itself, as one without TLS, and ask nobody.
            bench.needs_reach()
        failure.said = said
        raise


class _DidNotOpen(Exception):
    """
    Initialize raised.

    Attributes:
        evidence: The exception that it raised.
        said: The deed of the backend meanwhile, in words.

    """

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self.evidence = evidence
        self.said = ""


def _open(bench: Bench) -> None:
    try:
        bench.open()
    except HookRaised as failure:
        if failure.operation != "open" or failure.ends_process:
            raise
        raise _DidNotOpen(Raised.by(failure.error, hook=bench.run.hook("open"))) from None


@check("MP-FAULT-005", calls_alone=False, budget_s=_BUDGET_S)
def a_backend_that_asks_for_time_does_not_stop_hooks(run: Run) -> None:
    with failing(run, _AWAY) as bench:
        subject = bench.open()
        for value in _RETRIES:
            bench.turn(modes.retry_after(value))
            for call in _calls(run, subject, run.facts.new()):
                timely(run, f"after 429 with Retry-After: {value}", call)
        bench.turn(_AWAY)
        run.close(subject)


@check("MP-FAULT-009", calls_alone=False, budget_s=_BUDGET_S)
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
            Called(
                wanted=(
                    f"at most {_REQUESTS * calls} requests for {calls} hook calls, each "
                    "answered with 401"
                ),
                hook="request",
                times=requests,
                due=_REQUESTS * calls,
                seen=(
                    f"{requests} requests, {requests / calls:.1f} for each call of recall or "
                    "a write hook"
                ),
            ),
        )


@check("MP-FAULT-010", calls_alone=False, budget_s=_BUDGET_S)
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
                NotReported(
                    wanted=(
                        "a write hook raises, a status or a reason says so, or a warning is "
                        "logged, while"
                        " the backend answers 503"
                    ),
                    about="text that was not stored",
                    seen=f"{run.hook(_operation(route))} returned, and nothing was said within 5 s",
                ),
                operation=_operation(route),
            )


def _is_tried(bench: Bench, subject: Subject, seen: int) -> bool:
    """True if what was written reached the backend, at the latest when the session ends."""
    if bench.server.wait_for(lambda: bench.server.pieces > seen, _BEHIND_S):
        return True
    bench.run.close(subject)
    return bench.server.pieces > seen


def _told(run: Run, subject: Subject) -> str:
    """The fault by the extension `status`; "" if it is not served or says nothing."""
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


@check("MP-FAULT-011", calls_alone=False, budget_s=_BUDGET_S)
def an_error_is_no_memory(run: Run) -> None:
    sign = run.facts.name()
    # A provider may pause behind a few failures, so that each half has an instance of its own.
    halves: list[dict[str, Mode]] = [
        {
            "an error with 200": modes.status(200, {"error": f"{sign} overflow"}),
            "a detail with 200": modes.status(200, {"ok": False, "detail": f"{sign} overflow"}),
            "a page of HTML with 200": modes.page(f"{sign} portal"),
            "JSON with 200 that is none": modes.broken_json(sign),
        },
        {
            "500": modes.status(500, {"error": f"{sign} overflow"}),
            "402": modes.status(402, {"error": f"{sign} is not paid"}),
            "404": modes.status(404, {"detail": f"{sign} not found"}),
            "422 with a list": modes.invalid_list(f"{sign} required"),
            "a page of HTML with 502": modes.page(f"{sign} gateway", 502),
        },
    ]
    with failing(run, _AWAY) as bench:
        for ways in halves:
            bench.turn(_AWAY)
            subject = bench.open()
            for said, mode in ways.items():
                bench.turn(mode)
                with contextlib.suppress(HookRaised):
                    _holds_no_error(run, subject.recall(run.facts.new().query), sign, said)
            bench.turn(_AWAY)
            run.close(subject)


def _holds_no_error(run: Run, recalled: Any, sign: str, said: str) -> None:
    if isinstance(recalled, str) and sign.casefold() in recalled.casefold():
        run.violated(
            Recalled(
                wanted=f"nothing recalled while the backend answers {said}", answer=show(recalled)
            )
        )


# -- faults data -----------------------------------------------------------------------------------

# Chapter 82: what becomes of writes while a backend fails, and when it works again.


_DATA_BUDGET_S = 600.0

#: Refusals that pass by their own words. A text that is refused with 4xx is refused for good: one
#: that a queue keeps makes it stand still.
_REFUSING: dict[str, Mode] = {
    "429": modes.retry_after("2"),
    "500": modes.status(500),
    "503": modes.status(503),
    "a reset": modes.reset,
}

#: Seconds that a provider may take to see that its backend works again, by the specification.
_AGAIN_S = 60.0

#: So far the wall clock is set back while a backend fails.
_A_DAY = dt.timedelta(days=1)


#: A hook that waits for its backend takes longer.
_AT_ONCE_S = 0.3

#: Beginning of a turn whose text is looked for in requests: a question about that is none. A
#: host may record other words than those with which the turn began, as for a command.
_BEGINNING = "There is something to note."

#: Number of texts that wait in a queue, and of those that are replaced meanwhile.
_WAITING = {"quick": 24, "ci": 130, "deep": 130}
_REPLACED = 2

#: Until the answer to a request that came in has reached its client.
_ANSWERED_S = 0.2

#: For the request of one that recalls behind the beginning of a turn.
_BEGUN_S = 0.5


def _stores(run: Run) -> str:
    return run.needs_route("turns", "writes", "tools")


def _known(bench: Bench, route: str) -> Fact:
    """A fact that was stored through the server, and that a new session brings back."""
    run, fact = bench.run, bench.run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    bench.needs_reach()
    if not run.reopened_brings_back(fact):
        raise Lost(f"{fact.text!r}, stored while the backend works, did not come back")
    return fact


@check("MP-FAULT-006", calls_alone=False, budget_s=_DATA_BUDGET_S)
def what_is_accepted_while_the_backend_fails_is_stored(run: Run) -> None:
    try:
        _comes_back(run)
    except NothingBehind as reason:
        _is_sent_again(run, reason)


def _comes_back(run: Run) -> None:
    with relaying(run) as bench:
        route = _stores(run)
        _known(bench, route)
        subject = bench.open()
        accepted = _written(bench, subject, route, modes.forward)
        run.close(subject)
        lost = losses.lost(run, list(accepted.values()))
        if lost:
            _given_time(run, lambda session: all(run.brings_back(session, fact) for fact in lost))
            lost = losses.lost(run, lost)
        if lost:
            ways = ", ".join(said for said, fact in accepted.items() if fact in lost)
            run.violated(
                NotRecalled(
                    wanted=(
                        "text that was accepted while the backend was away is recalled when it "
                        "works again"
                    ),
                    texts=tuple(fact.text for fact in lost),
                    of=len(accepted),
                    tail=f", under {ways}",
                ),
                operation=routes.OPERATIONS[route],
            )
        if route != "tools" and run.serves("tools"):
            _keeps_what_a_tool_took(bench)
        if "user" in run.declared("isolates", ["profile"]):
            with contextlib.suppress(tenants.Refused):
                _stays_with_its_user(bench, route)
        _keeps_all_that_waits(bench, route)
        _keeps_the_order_of_writes(bench)
        if entries.served(run, "privacy"):
            _shows_and_forgets_all_or_nothing(bench, route)


def _keeps_what_a_tool_took(bench: Bench) -> None:
    """The model was told that it is stored."""
    run, fact = bench.run, bench.run.facts.new()
    _known(bench, "tools")
    with run.session() as subject:
        bench.turn(_AWAY)
        is_taken = accepts(subject, fact, "tools")
        bench.turn(modes.forward)
    if is_taken and losses.lost(run, [fact]):
        _given_time(run, lambda session: run.brings_back(session, fact))
        if losses.lost(run, [fact]):
            run.violated(
                NotRecalled(
                    wanted=(
                        "text that a tool answered to have stored while the backend answered 503, "
                        "recalled when it works again"
                    ),
                    texts=(fact.text,),
                    about="stored by a call that reported no error",
                ),
                operation="call_tool",
                requirement="MP-TOOL-001",
            )


def _keeps_all_that_waits(bench: Bench, route: str) -> None:
    """Many texts wait in the queues of two sessions, which end before the backend works again."""
    run = bench.run
    if run.is_selective or run.watch.calls_left is not None:
        return
    is_one = "session" in run.declared("isolates", ["profile"])
    is_one |= run.declared("single_writer", default=False)
    key, taken = run.session_key(), list[Fact]()
    with contextlib.ExitStack() as sessions:
        one = sessions.enter_context(run.session(session=key))
        other = one if is_one else sessions.enter_context(run.session())
        bench.turn(_AWAY)
        for number in range(_WAITING[run.context.profile]):
            fact, subject = run.facts.new(), (one, other)[number % 2]
            took_s, is_taken = elapsed(functools.partial(accepts, subject, fact, route))
            if not is_taken:
                break
            taken.append(fact)
            if took_s > _AT_ONCE_S * noise.slowdown():
                break
    bench.turn(modes.forward)
    # The oldest ones make room where a queue has an end, and files of one name are one.
    _must_come_back(run, [*taken[:4], *taken[4:][-2:]], route, key)


def _must_come_back(run: Run, facts: list[Fact], route: str, key: str) -> None:
    def lost() -> list[Fact]:
        with run.session(session=key) as again:
            missing = [fact for fact in facts if not run.brings_back(again, fact)]
        return losses.lost(run, missing)

    if facts and lost():
        _given_time(run, lambda session: all(run.brings_back(session, fact) for fact in facts))
        if left := lost():
            run.violated(
                NotRecalled(
                    wanted=(
                        "each text recalled that two sessions accepted while the backend answered "
                        "503, when it works again"
                    ),
                    texts=tuple(fact.text for fact in left),
                    of=len(facts),
                ),
                operation=routes.OPERATIONS[route],
            )


def _keeps_the_order_of_writes(bench: Bench) -> None:
    """A later session sends the writes that waited in the order in which they were accepted."""
    run = bench.run
    added = mirrored_writes.targets(run, "add") if run.serves("writes") else []
    target = next((t for t in mirrored_writes.targets(run, "replace") if t in added), "")
    if not target or run.is_selective or run.watch.calls_left is not None:
        return
    owed: list[tuple[Fact, Fact]] = []
    with run.session() as subject:
        bench.turn(_AWAY)
        for _ in range(_REPLACED):
            old, new = run.facts.several(2)
            with contextlib.suppress(HookRaised):
                subject.mirror("add", target, old.text, None)
                subject.mirror("replace", target, new.text, old.text)
                owed.append((old, new))
    bench.turn(modes.forward)
    if not owed or losses.lost(run, [new for _, new in owed]):
        return
    with run.session() as again:
        back = [old for old, _ in owed if run.brings_absent(again, old)]
    if back:
        run.violated(
            Recalled(
                wanted="an add and a replace of it in their order, though the backend was away",
                texts=(back[0].text,),
                tail=", which was replaced while the backend answered 503",
            ),
            operation="mirror",
            requirement="MP-DATA-002",
        )


def _shows_and_forgets_all_or_nothing(bench: Bench, route: str) -> None:
    """An answer while the backend is away is one for all that is stored."""
    run, fact, key = bench.run, bench.run.facts.new(), bench.run.session_key()
    home = run.own_home("forgotten")
    with run.session(home, key) as subject:
        run.plant(subject, fact, route)
    with run.session(home, key) as subject:
        if not run.brings_back(subject, fact):
            return
        answers: dict[str, Any] = {}
        bench.turn(_AWAY)
        for name in ("export", "forget"):
            with contextlib.suppress(HookRaised):
                answers[name] = getattr(subject, name)({})
        bench.turn(modes.forward)
    shown = entries.fitting(answers["export"], "export")["items"] if "export" in answers else []
    if "export" in answers and not entries.of_fact(shown, fact):
        run.violated(
            NotRecalled(
                wanted="everything that recall can bring back exported, or an error",
                texts=(fact.text,),
                verb="is not among the items of an export while the backend answered 503",
            ),
            operation="export",
            requirement="MP-PRIV-003",
        )
    with run.session(home, key) as again:
        is_gone = run.wait_until(lambda: not run.brings_absent(again, fact), run.freshness_s)
        told = entries.fitting(answers["forget"], "forget-result") if "forget" in answers else {}
        if not is_gone and told.get("pending"):
            # It waits in a queue, as a write does, and is sent when the backend works again.
            is_gone = run.wait_until(lambda: not run.brings_absent(again, fact), _AGAIN_S)
    if "forget" in answers and not is_gone:
        run.violated(
            Recalled(
                wanted="text of a forgotten scope gone, or an error",
                texts=(fact.text,),
                tail=", which forget() took away while the backend answered 503",
            ),
            operation="forget",
            requirement="MP-PRIV-005",
        )


def _stays_with_its_user(bench: Bench, route: str) -> None:
    """A queue may wait below the home until the next session, which may be another user's."""
    run, fact = bench.run, bench.run.facts.new()
    owner, guest = tenants.pair(run, "user", "-away")
    with owner.opened(run) as subject:
        bench.turn(_AWAY)
        is_taken = accepts(subject, fact, route)
    bench.turn(modes.forward)
    if not is_taken:
        return
    seen: list[Any] = []

    def is_shown() -> bool:
        seen.append(routes.recalled(other, fact.query))
        return fact.is_in(seen[-1])

    with guest.opened(run) as other:
        is_crossed = run.wait_until(is_shown, _BEHIND_S)
    with guest.opened(run) as other:
        if is_crossed or is_shown():
            crossed = _crossed(owner, guest, fact, seen[-1], ", which was accepted")
            run.violated(
                crossed, operation=routes.OPERATIONS[route], requirement=tenants.RULES["user"]
            )


def _crossed(
    owner: tenants.Tenant, guest: tenants.Tenant, fact: Fact, answer: Any, how: str
) -> Recalled:
    """A text of one that another is shown; `how` comes before the failure of the backend."""
    return Recalled(
        wanted=f"nothing of {owner.called} recalled for {guest.called}",
        texts=(fact.text,),
        answer=show(answer),
        tail=f"{how} while the backend answered 503",
    )


def _is_sent_again(run: Run, nothing_behind: NothingBehind) -> None:
    """
    Judge by what is sent where nothing can come back.

    A provider that does not take the kit's answer for a success, and says or shows so, cannot be
    judged by it; nor can one whose requests do not show a text.
    """
    taking, records = Taking(), Records()
    # A provider that offers no tools is not asked for them.
    tried = [name for name in routes.ROUTES if name != "tools" or run.serves(name)]
    with failing(run, taking) as bench:
        with records.collected():
            route = next((name for name in tried if _is_taken(bench, taking, name)), "")
        if not route or records.found:
            raise nothing_behind
        subject = bench.open()
        accepted = _written(bench, subject, route, taking)
        run.close(subject)
        with records.collected():
            sends_still = _is_taken(bench, taking, route)
        if not sends_still or records.found:
            raise nothing_behind
        if not all(map(taking.times, accepted.values())):
            _given_time(run, lambda _: all(map(taking.times, accepted.values())))
            # One that sends what waits with the next text, or at a start and an end.
            _is_taken(bench, taking, route)
        _were_sent(run, {k: f for k, f in accepted.items() if not taking.times(f)}, route)


def _given_time(run: Run, is_there: Callable[[Subject], bool]) -> None:
    """Wait in an open session: a queue may try again after a pause, or at a later start only."""
    query = run.facts.new().query
    with run.session() as session:

        def looked() -> bool:
            # Some send at a hook; and a check that waits without one is taken for stuck.
            with contextlib.suppress(HookRaised, HookWithdrawn):
                session.recall(query)
            return is_there(session)

        run.wait_until(looked, _AGAIN_S)


def _is_taken(bench: Bench, taking: Taking, route: str) -> bool:
    """True if what a session stores by a route is accepted and sent, once."""
    run, fact = bench.run, bench.run.facts.new()
    if route != "tools" and run.lacks(routes.OPERATIONS[route]):
        return False
    try:
        with run.session() as subject:
            _begin(bench, subject, route)
            accepted = accepts(subject, fact, route)
            # One that stores in the background, or when the session ends.
            run.wait_until(lambda: taking.times(fact) > 0, _BEHIND_S)
    except (HookRaised, HookLate):
        return False
    return accepted and taking.times(fact) == 1


def _were_sent(run: Run, lost: dict[str, Fact], route: str) -> None:
    if lost:
        run.violated(
            NotRecalled(
                wanted=(
                    "text accepted while the backend was away is sent to it when it works again"
                ),
                texts=tuple(fact.text for fact in lost.values()),
                subject=f"{len(lost)} texts",
                verb="were not",
                tail=f", accepted under {', '.join(lost)}: {next(iter(lost.values())).text!r}",
            ),
            operation=routes.OPERATIONS[route],
        )


def _written(bench: Bench, subject: Subject, route: str, working: Mode) -> dict[str, Fact]:
    """Facts accepted while the backend failed in each of the ways; it works again after each."""
    accepted: dict[str, Fact] = {}
    for said, mode in _REFUSING.items():
        fact = bench.run.facts.new()
        _begin(bench, subject, route)
        bench.turn(mode)
        seen = bench.server.pieces
        if accepts(subject, fact, route):
            accepted[said] = fact
            if bench.server.wait_for(lambda: bench.server.pieces > seen, _BEHIND_S):  # noqa: B023 - called at once
                # A worker that is cut off now would not hear the answer.
                bench.run.stays_silent(lambda: False, _ANSWERED_S)
        bench.turn(working)
    return accepted


def _begin(bench: Bench, subject: Subject, route: str) -> None:
    """Begin a turn while the backend works, and let what is asked for it pass."""
    if route == "turns" and bench.run.watch.turns is not None:
        seen = bench.server.pieces
        subject.begin(_BEGINNING)
        bench.server.wait_for(lambda: bench.server.pieces > seen, _BEGUN_S)


@check("MP-FAULT-007", calls_alone=False, budget_s=_DATA_BUDGET_S)
def a_late_answer_stores_nothing_twice(run: Run) -> None:
    with relaying(run) as bench:
        route = _stores(run)
        usual = losses.count(run, _known(bench, route))
        if not usual:
            reason = "recall does not show a stored text in its own words"
            raise Untestable(reason, READ_BACK)
        fact, subject = run.facts.new(), bench.open()
        _frozen(bench, subject, fact, route)
        run.close(subject)
        # A request that the backend gets late is not at once in its store.
        bench.server.settle(_BEHIND_S)
        times = losses.count(run, fact)
        if times > usual:
            run.violated(
                Repeated(
                    wanted=f"{fact.text!r} stored once, though the answer to it came late",
                    text=fact.text,
                    times=times,
                    usual=usual,
                    lead="stored ",
                    tail=f", where another text is stored {usual} times",
                ),
                operation=routes.OPERATIONS[route],
            )


def _frozen(bench: Bench, subject: Subject, fact: Fact, route: str) -> None:
    """Store a fact while the backend keeps its answers for longer than the provider waits."""
    seen = bench.server.pieces
    bench.server.freeze()
    took_s, _ = elapsed(lambda: _stored(subject, fact, route))
    if took_s < _AT_ONCE_S * noise.slowdown():
        # It did not wait for the answer; a worker of its own may, and try again.
        bench.server.wait_for(lambda: bench.server.pieces > seen + 1, 2 * _BEHIND_S)
    bench.server.thaw()


def _stored(subject: Subject, fact: Fact, route: str) -> None:
    try:
        accepts(subject, fact, route)
    except HookLate as late:
        raise Untestable(str(late), depends_on("MP-FAULT-002")) from None


@check("MP-FAULT-008", calls_alone=False, budget_s=_DATA_BUDGET_S)
def a_backend_that_works_again_is_used_again(run: Run) -> None:
    with relaying(run) as bench:
        route = _stores(run)
        known = _known(bench, route)
        other = _known(bench, route)
        subject = bench.open()
        asks = run.declared("recall_basis", "query") != "session"
        if asks and not run.brings_back(subject, known):
            raise Lost(f"{known.text!r} did not come back before the backend failed")
        before = routes.recalled(subject, known.query)
        bench.turn(modes.status(503))
        with contextlib.suppress(HookRaised):
            _is_no_earlier_answer(run, subject.recall(other.query), before, known, other)
        refused = run.facts.new()
        is_refused = not accepts(subject, refused, route)
        bench.turn(modes.forward)
        if asks:
            _is_so_again(run, "recall", lambda: run.brings_back(subject, known))
        fact = run.facts.new()
        _is_so_again(run, routes.OPERATIONS[route], lambda: accepts(subject, fact, route))
        is_told_again = is_refused and accepts(subject, refused, route)
        run.close(subject)
        if not losses.is_stored(run, fact):
            gone = NotRecalled(texts=(fact.text,), subject="text that it accepted then")
            _is_not(run, routes.OPERATIONS[route], gone)
        if is_told_again:
            _is_stored_once_that_was_refused(run, refused, fact, route)
        if asks:
            with contextlib.suppress(tenants.Refused):
                _serves_nobody_elses_answer(bench, route)
            _is_used_again_by_no_wall_clock(bench, known, route)


def _serves_nobody_elses_answer(bench: Bench, route: str) -> None:
    """An answer that is kept for the time without a backend is that of the one who was given it."""
    run, fact = bench.run, bench.run.facts.new()
    boundary = tenants.finest(run)
    if boundary is None:
        return
    owner, guest = tenants.pair(run, boundary, "-served")
    with owner.opened(run) as subject:
        is_taken = accepts(subject, fact, route)
    with owner.opened(run) as subject:
        if not (is_taken and run.brings_back(subject, fact)):
            return
    with guest.opened(run) as other:
        bench.turn(_AWAY)
        with contextlib.suppress(HookRaised):
            answer = routes.recalled(other, fact.query)
            if fact.is_in(answer):
                crossed = _crossed(owner, guest, fact, answer, ",")
                run.violated(crossed, operation="recall", requirement=tenants.RULES[boundary])
        bench.turn(modes.forward)


def _is_used_again_by_no_wall_clock(bench: Bench, known: Fact, route: str) -> None:
    """A clock that is set back while the backend fails makes no pause a day long."""
    run = bench.run
    with wall_clock() as clock, run.session() as subject:
        bench.turn(modes.status(503))
        with contextlib.suppress(HookRaised):
            subject.recall(known.query)
        accepts(subject, run.facts.new(), route)
        clock.jump(clock.now() - _A_DAY)
        bench.turn(modes.forward)
        if not run.wait_until(lambda: run.brings_back(subject, known), _AGAIN_S):
            run.violated(
                NotRecalled(
                    wanted=f"{run.hook('recall')} works when the backend works again",
                    texts=(known.text,),
                    tail=f" within {_AGAIN_S:g} s, behind a clock that was set back by a day",
                ),
                operation="recall",
                requirement="MP-TIME-001",
            )


def _is_no_earlier_answer(run: Run, answer: Any, before: Any, known: Fact, other: Fact) -> None:
    """Nothing is an answer while the backend is away; that to another question is none."""
    by_query = run.declared("recall_basis", "query") == "query"
    if by_query and known.is_in(answer) and not other.is_in(answer) and answer == before:
        run.violated(
            Recalled(
                wanted=(
                    f"nothing recalled for {other.query!r} while the backend answers 503, or what "
                    "bears on it"
                ),
                answer=show(answer),
                tail=f", which was the answer to {known.query!r}",
            ),
            operation="recall",
            requirement="MP-RECALL-004",
        )


def _is_stored_once_that_was_refused(run: Run, refused: Fact, other: Fact, route: str) -> None:
    """A host hands a text over again of which it was told that it is not stored."""
    if run.declared("retention", "verbatim") != "verbatim":
        return  # Such a recall does not show how often a text is stored.
    usual = losses.count(run, other)
    if usual and (times := losses.count(run, refused)) > usual:
        run.violated(
            Repeated(
                wanted=(
                    f"{refused.text!r} stored once, refused while the backend answered 503 and "
                    "handed over again when it worked"
                ),
                text=refused.text,
                times=times,
                usual=usual,
                lead="stored ",
                tail=f", where another text is stored {usual} times",
            ),
            operation=routes.OPERATIONS[route],
            requirement="MP-DATA-001",
        )


def _is_so_again(run: Run, operation: str, works: Callable[[], bool]) -> None:
    if not run.wait_until(works, _AGAIN_S):
        _is_not(run, operation, Differs(seen=f"it did not within {_AGAIN_S:g} s"))


def _is_not(run: Run, operation: str, seen: Evidence) -> NoReturn:
    expected = f"{run.hook(operation)} works in the same session, once the backend works again"
    run.violated(seen.told(wanted=expected), operation=operation)
