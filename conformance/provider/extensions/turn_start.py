"""Chapter 63: told when a turn begins."""

import functools
from collections.abc import Callable
from typing import Any

from memproto.testing.clauses import Lost, NotApplicable, check
from memproto.testing.conditions import RECALL_BY_QUERY
from memproto.testing.evidence import NotRecalled, Raised, Recalled
from memproto.testing.facts import Fact
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised, Subject
from memproto.testing.scenarios import texts

_EXTENSION = "turns"

_MESSAGE = "Which berth is free today?"

#: As hosts count: from 0 or 1, on in a resumed session, and back after a rewind.
_NUMBERS = (0, 1, 2, 3, 5, 10, 20, 57, 58, 3, 1, 1_000_000)

#: Values that a host may tell beside the number and the message.
_TOLD: tuple[dict[str, Any], ...] = (
    {},
    {"remaining_tokens": 12_000, "model": "m", "platform": "cli", "tool_count": 3},
    {"x_memproto_future": {"spare": None}},
)

#: Number of turns in which recall is asked for a fact.
_RECALLED_IN = (1, 2, 3, 250, 2)


@check("MP-TSTART-001", budget_s=120.0, extension=_EXTENSION)
def a_turn_may_have_any_number_and_text(run: Run) -> None:
    with run.session() as subject:
        for number in _NUMBERS:
            for told in _TOLD:
                named = f"turn {number}" + (f" with {', '.join(told)}" if told else "")
                _returns(
                    run, named, functools.partial(subject.turn_start, number, _MESSAGE, **told)
                )
        for number, (name, text) in enumerate(texts.odd(run).items(), start=1):
            _returns(run, name, functools.partial(subject.turn_start, number, text))


def _returns(run: Run, named: str, begin: Callable[[], Any]) -> None:
    try:
        begin()
    except HookRaised as failure:
        if failure.ends_process or isinstance(failure, BackendAway):
            raise
        run.violated(
            Raised.by(
                failure.error,
                wanted=f"{run.hook('turn_start')} returns for every number and every str",
                hook=run.hook("turn_start"),
                given=named,
            ),
        )


@check("MP-TSTART-002", extension=_EXTENSION)
def a_turn_begins_in_time(run: Run) -> None:
    # A hook that is late ends the check, wherever it happens: see `incidents.LATE`.
    with run.session() as subject:
        for number in _NUMBERS:
            subject.turn_start(number, _MESSAGE)


@check("MP-TSTART-003", extension=_EXTENSION)
def a_turn_that_only_began_is_not_stored(run: Run) -> None:
    if not run.serves("turns"):
        raise NotApplicable("no turn is stored")
    run.needs_route("turns")
    recorded, begun = run.facts.several(2)
    with run.session() as subject:
        subject.turn_start(1, recorded.text)
        run.plant(subject, recorded, "turns")
        subject.turn_start(2, begun.text)
    if not run.reopened_brings_back(recorded):
        raise Lost("a turn that was recorded did not come back")
    if run.reopened_brings_back(begun):
        run.violated(
            Recalled(
                wanted="nothing of a turn that began and was never recorded",
                texts=(begun.text,),
                question=begun.query,
                lead=f"{begun.query!r} brings ",
                tail=f", which {run.hook('turn_start')} was told",
            ),
        )


@check("MP-TSTART-004", extension=_EXTENSION, declares=RECALL_BY_QUERY, routes=routes.ROUTES)
def every_turn_gets_its_recall(run: Run) -> None:
    route = run.route
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        raise Lost("a stored fact did not come back without turns either")
    with run.session() as again:
        lacking = [number for number in _RECALLED_IN if not _recalls_in(run, again, number, fact)]
    if lacking:
        run.violated(
            NotRecalled(
                wanted=f"{fact.name!r} recalled in each of the turns {_listed(_RECALLED_IN)}",
                texts=(fact.text,),
                subject="it",
                tail=f" in turn {_listed(lacking)}",
            ),
            operation="recall",
        )


def _recalls_in(run: Run, subject: Subject, number: int, fact: Fact) -> bool:
    subject.turn_start(number, fact.query)
    return run.brings_back(subject, fact)


def _listed(numbers: Any) -> str:
    return ", ".join(str(number) for number in numbers)
