"""Chapter 69: the block of the system prompt."""

import contextlib
import datetime as dt
import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memproto.testing.clauses import NotApplicable, check
from memproto.testing.evidence import Recalled, Returned, TooLong, Unsteady
from memproto.testing.instruments.walltime import wall_clock
from memproto.testing.lifetimes.ends import HostProcess
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject
from memproto.testing.scenarios import mirrored_writes, tenants, texts
from memproto.testing.scenarios.tenants import Reader
from memproto.testing.wire import show

#: Characters that the specification allows.
_MOST_CHARS = 32_000

#: More than that, in texts that no store has to refuse for their length.
_TEXTS, _TEXT_CHARS = 40, 1_000

#: Characters of two blocks that are shown from the place where they differ.
_SHOWN_CHARS = 80

#: Step by which the clock is moved: to another hour and minute, of the same day if possible.
_ANOTHER_HOUR = (dt.timedelta(minutes=61), dt.timedelta(minutes=-61))


@contextlib.contextmanager
def _asked(run: Run, home: Path | None = None, session: str = "") -> Iterator[Subject]:
    """A session of a host that says that it asks for the block."""
    protocol = run.config(home)["protocol"]
    hooks = [*protocol["hooks"], "system_prompt_block"]
    with run.session(home, session, protocol={**protocol, "hooks": hooks}) as subject:
        yield subject


def _block(run: Run, subject: Subject) -> str:
    """
    The block.

    Raises:
        Violation: Of MP-PROMPT-001: it is no str, so that nothing else can be said.

    """
    block = subject.prompt()
    if not isinstance(block, str):
        run.violated(
            Returned(wanted="a str", hook=run.hook("prompt"), value=show(block)),
            requirement="MP-PROMPT-001",
        )
    return block


@check("MP-PROMPT-001", extension="prompt")
def the_block_is_a_text(run: Run) -> None:
    fact = run.facts.new()
    with _asked(run) as subject:
        _block(run, subject)
        for call in _turn(subject, fact.text, fact.query).values():
            routes.in_passing(call)
        _block(run, subject)
    with _asked(run) as again:
        _block(run, again)


def _turn(subject: Subject, text: str, query: str) -> dict[str, Callable[[], Any]]:
    """Operation to a call of it, for what a turn is made of; a compression is no part of it."""
    calls = routes.core_calls(subject, text, query)
    del calls["compress"]
    if subject.has("tools"):
        calls["call_tool"] = lambda: routes.accepts(subject, "tools", text)
    return calls


@check("MP-PROMPT-002", extension="prompt")
def the_block_stays_for_the_session(run: Run) -> None:
    _stays(run)


@check("MP-PROMPT-006", extension="prompt")
def the_block_of_a_hermes_provider_stays_for_the_session(run: Run) -> None:
    _stays(run)


def _stays(run: Run) -> None:
    with _asked(run) as subject:
        first = _block(run, subject)
        if moment := _another_hour(dt.datetime.now(dt.UTC)):
            with wall_clock(moment):
                later = _block(run, subject)
            _is_still(run, first, later, "at another hour of the day")
        for fact in run.facts.several(2):
            for operation, call in _turn(subject, fact.text, fact.query).items():
                routes.in_passing(call)
                _is_still(run, first, _block(run, subject), f"after {run.hook(operation)}")
        for target in mirrored_writes.targets(run, "add") if run.serves("writes") else ():
            add = ("add", target, run.facts.new().text)
            routes.in_passing(functools.partial(subject.mirror, *add))
            _is_still(run, first, _block(run, subject), f"after an add to {target}")


def _another_hour(now: dt.datetime) -> dt.datetime | None:
    """Another hour of the same day, in UTC and here; None where there is none."""
    near = (now + by for by in _ANOTHER_HOUR)
    return next((moment for moment in near if _days(moment) == _days(now)), None)


def _days(moment: dt.datetime) -> tuple[dt.date, dt.date]:
    return moment.date(), moment.astimezone().date()


def _is_still(run: Run, first: str, later: str, when: str) -> None:
    if later != first:
        run.violated(
            Unsteady(
                wanted="the block as it was at the start of the session, byte for byte",
                subject="block",
                difference=_difference(first, later),
                lead=f"{when} it is another one: ",
            ),
        )


def _difference(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    place = next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
    begin = max(0, place - _SHOWN_CHARS // 4)
    shown = (show(text[begin : begin + _SHOWN_CHARS]) for text in (one, other))
    return f"from character {place} on, {' became '.join(shown)}"


@check("MP-PROMPT-003", budget_s=120.0, extension="prompt")
def the_block_is_bounded(run: Run) -> None:
    for route in filter(run.serves, routes.ROUTES):
        facts = run.facts.several(_TEXTS)
        with _asked(run) as subject:
            for fact in facts:
                routes.accepts(subject, route, texts.padded(fact.text, _TEXT_CHARS))
    run.settle()
    with _asked(run) as again:
        size = len(_block(run, again))
    if size > _MOST_CHARS:
        run.violated(
            TooLong(
                wanted=f"at most {_MOST_CHARS:,} characters",
                hook=run.hook("prompt"),
                chars=size,
                limit=_MOST_CHARS,
                tail=f", once {_TEXTS} texts of {_TEXT_CHARS:,} characters were stored",
            ),
        )


@check("MP-PROMPT-004", extension="prompt")
def homes_do_not_meet_in_the_block(run: Run) -> None:
    planted = {route: run.facts.new() for route in filter(run.serves, routes.ROUTES)}
    with _asked(run) as subject:
        for route, fact in planted.items():
            run.plant(subject, fact, route)
    run.settle()
    with _asked(run) as again:
        block = _block(run, again)
        shown = [fact for fact in planted.values() if fact.is_in(block)]
        if not shown:
            raise NotApplicable("the block shows nothing of what was stored")
        with _asked(run, run.place("other")) as other:
            block = _block(run, other)
    for fact in shown:
        if fact.is_in(block):
            run.violated(
                Recalled(
                    wanted="a block with nothing of another home",
                    texts=(fact.text,),
                    by=run.hook("prompt"),
                    lead="it holds ",
                    tail=", which was stored below another one",
                )
            )


@check("MP-PROMPT-007", extension="prompt", routes=routes.ROUTES)
def users_do_not_meet_in_the_block(run: Run) -> None:
    owner, guest = tenants.pair(run, "user", "-prompt")
    planted = {route: run.facts.new() for route in filter(run.serves, routes.ROUTES)}
    with owner.opened(run) as subject:
        for route, fact in planted.items():
            run.plant(subject, fact, route)
    run.settle()
    reader = Reader(run)
    with owner.opened(run) as again:
        block = _block(run, again)
        shown = [fact for fact in planted.values() if fact.is_in(block)]
        shown = [fact for fact in shown if reader.sees(again, fact)]
    with guest.opened(run) as other:
        block = _block(run, other)
        # A memory of all users may be shown to each of them.
        kept = [fact for fact in shown if not reader.finds(other, fact)]
    if not kept:
        raise NotApplicable("the block shows nothing that recall keeps for one user")
    for fact in kept:
        if fact.is_in(block):
            run.violated(
                Recalled(
                    wanted=f"a block for {guest.called} with nothing of {owner.called}",
                    texts=(fact.text,),
                    by=run.hook("prompt"),
                    of_whom=owner.called,
                    to_whom=guest.called,
                    lead="it holds ",
                    tail=f", which {run.hook('recall')} brings for {owner.called} alone",
                )
            )


@check("MP-PROMPT-005", extension="prompt")
def the_same_store_gives_the_same_block(run: Run) -> None:
    session, fact = run.session_key(), run.facts.new()
    with _asked(run, session=session) as subject:
        for call in _turn(subject, fact.text, fact.query).values():
            routes.in_passing(call)
    run.settle()
    one, other = _two_blocks(run, session)
    if one != other and run.freshness_s:
        # Texts that are fresh later may have come in between.
        run.stays_silent(lambda: False, run.freshness_s)
        one, other = _two_blocks(run, session)
    if one != other:
        _are_unlike(run, one, other, "one after the other")
    elsewhere = _of_another_process(run, session)
    if elsewhere is not None and one != elsewhere:
        _are_unlike(run, one, elsewhere, "each in a process of its own")


def _are_unlike(run: Run, one: str, other: str, when: str) -> None:
    run.violated(
        Unsteady(
            wanted=f"the same block from two instances, {when}, of the same session",
            subject="block",
            difference=_difference(one, other),
            lead="they differ: ",
        ),
    )


def _of_another_process(run: Run, session: str) -> str | None:
    """The block that the same session has in another process; None if that said nothing."""
    calls = [{"hook": "system_prompt_block", "arguments": [], "keywords": {}}]
    protocol = run.config()["protocol"]
    hooks = [*protocol["hooks"], "system_prompt_block"]
    config = run.config(protocol={**protocol, "hooks": hooks})
    told = {"session_keys": [session], "config": config, "calls": calls}
    marks = HostProcess(run, "shows", [], **told).end().marks
    answers = [json.loads(mark.partition(" ")[2]) for mark in marks if mark.startswith("shown ")]
    return answers[0] if answers and isinstance(answers[0], str) else None


def _two_blocks(run: Run, session: str) -> list[str]:
    blocks = []
    for _ in range(2):
        with _asked(run, session=session) as again:
            blocks.append(_block(run, again))
    return blocks
