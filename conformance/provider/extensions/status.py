"""Chapter 71: how recall fares, and why a provider is not available."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from memproto.setup.hooks import is_own
from memproto.testing.clauses import NotApplicable, check
from memproto.testing.evidence import Returned
from memproto.testing.facts import Fact
from memproto.testing.faults import unanswered
from memproto.testing.faults.bench import told_of
from memproto.testing.lifetimes import store_faults, unreadable
from memproto.testing.provider import routes, self_reports
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import credentials
from memproto.testing.wire import show


@check("MP-STATUS-001", extension="status")
def the_status_has_its_shape(run: Run) -> None:
    with run.session() as subject:
        for _ in _moments(subject, run.facts.new()):
            status = subject.status()
            if not run.binding.free_status:
                self_reports.fits(run, status)


def _moments(subject: Subject, fact: Fact) -> Iterator[str]:
    """The start of a session, and after each call of a turn what was called."""
    yield "open"
    for operation, call in routes.core_calls(subject, fact.text, fact.query).items():
        routes.in_passing(call)
        yield operation
    routes.in_passing(lambda: subject.recall(fact.query))
    yield "recall"


@check("MP-STATUS-002", extension="status", budget_s=120.0)
def the_status_gives_nothing_away(run: Run) -> None:
    planted, fact = credentials.planted(run), run.facts.new()
    secrets, extra = planted | credentials.given(run), dict[str, Any](planted)
    with run.session(**extra) as subject:
        _gives_nothing_away(run, subject, secrets, fact)
    for _ in told_of(run):
        try:
            subject = run.open(**extra)
        except HookRaised as failure:
            # A start without its backend is for MP-FAULT-004.
            if failure.ends_process:
                raise
            continue
        _gives_nothing_away(run, subject, secrets, fact)
        run.close(subject)


def _gives_nothing_away(run: Run, subject: Subject, secrets: Mapping[str, str], fact: Fact) -> None:
    for moment in _moments(subject, fact):
        for operation in ("status", "unavailable_reason"):
            said = _said(subject, operation)
            keys = [key for key, value in secrets.items() if value in said]
            when = f"after {run.hook(moment)}"
            self_reports.gives_nothing_away(run, operation, said, keys, [fact], when=when)


def _said(subject: Subject, operation: str) -> str:
    """All that a status or a reason says; an object by what it holds."""
    said = subject.status() if operation == "status" else subject.unavailable_reason()
    if dataclasses.is_dataclass(said) and not isinstance(said, type):
        said = dataclasses.asdict(said)
    return repr(said if isinstance(said, dict | list | str) else getattr(said, "__dict__", said))


@check("MP-STATUS-005", budget_s=120.0, extension="status", routes=routes.ROUTES)
def the_status_of_a_store_that_cannot_be_read_is_not_ok(run: Run) -> None:
    if run.binding.free_status:
        raise NotApplicable("the binding leaves the shape of a status open")
    left_down: list[Any] = []
    unsaid: list[Any] = []

    def ask(subject: Subject, fact: Fact) -> tuple[Any, Any]:
        answers = [_recalled_and_said(subject, fact)]

        def agrees() -> bool:
            if not _is_down_all_the_same(answers[-1], fact):
                return True
            answers.append(_recalled_and_said(subject, fact))
            return False

        # The state may be that of a look at the store every few seconds.
        if not run.wait_until(agrees, store_faults.AGAIN_S):
            left_down.append(answers[-1][1])
        if "items" in run.declared("extensions", []) and not _brings(answers[-1], fact):
            unsaid.extend(_passed_over(subject, fact))
        return answers[-1]

    seen = unanswered.asked(run, ask, _brings, _tells) or unreadable.asked(run, ask, _brings)
    status = seen[1]
    self_reports.fits(run, status, "MP-STATUS-001")
    if _is_in_state(status, "ok"):
        run.violated(
            Returned(
                wanted="`degraded` or `down` after a recall that could not read the store",
                hook=run.hook("status"),
                value=show(status),
                tail=", and recall brings the text before and afterwards",
            )
        )
    if unsaid:
        run.violated(
            Returned(
                wanted="`degraded` or `down` after items that were `unavailable`",
                hook=run.hook("status"),
                value=show(unsaid[0]),
            )
        )
    if left_down:
        run.violated(
            Returned(
                wanted="`ok` or `degraded` after a recall that brought a stored text",
                hook=run.hook("status"),
                value=show(left_down[-1]),
            )
        )


def _passed_over(subject: Subject, fact: Fact) -> Iterator[Any]:
    """The status, if it is `ok` after items that say themselves that nothing could be searched."""
    answer = subject.items({"query": fact.query})
    status = subject.status()
    is_unread = isinstance(answer, dict) and answer.get("status") == "unavailable"
    if is_unread and _is_in_state(status, "ok"):
        yield status


def _tells(answer: tuple[Any, Any]) -> bool:
    return not _is_in_state(answer[1], "ok")


def _is_down_all_the_same(answer: tuple[Any, Any], fact: Fact) -> bool:
    return _brings(answer, fact) and _is_in_state(answer[1], "down")


def _is_in_state(status: Any, state: str) -> bool:
    return isinstance(status, dict) and status.get("state") == state


def _recalled_and_said(subject: Subject, fact: Fact) -> tuple[Any, Any]:
    return routes.recalled(subject, fact.query), subject.status()


def _brings(answer: tuple[Any, Any], fact: Fact) -> bool:
    return fact.is_in(answer[0])


@check("MP-STATUS-003", extension="status")
def the_reason_is_a_text(run: Run) -> None:
    with run.session() as subject:
        reason = subject.unavailable_reason()
    if not isinstance(reason, str):
        run.violated(
            Returned(wanted="a str", hook=run.hook("unavailable_reason"), value=show(reason))
        )


@check("MP-STATUS-004", session=False)
def the_reason_is_there_where_the_provider_is_not_available(run: Run) -> None:
    subject = run.provider()
    if not (subject.has("unavailable_reason") and is_own(subject.provider, "unavailable_reason")):
        raise NotApplicable("the provider has no unavailable_reason of its own")
    if subject.available() is not False:
        raise NotApplicable("the provider is available")
    reason = subject.unavailable_reason()
    if not (isinstance(reason, str) and reason.strip()):
        run.violated(
            Returned(
                wanted="the missing part, in words, if is_available() is False",
                hook=run.hook("unavailable_reason"),
                value=show(reason),
            )
        )
