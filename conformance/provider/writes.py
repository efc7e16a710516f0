"""Chapter 50: mirrored writes, and storing through tools."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from memproto.testing import losses, mirrored, routes, texts
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.repeating import BETTER_RECALL
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show
from memproto.testing.writing import USUAL

_LONG_CHARS = 100_000

_SHORT_CHARS = 1_000

#: For some hundred calls of a provider that asks a service each time.
_ANY_TEXT_S = 240.0

#: So many entries of about 400 characters fill every bounded store that a prompt can show.
_MANY = 30


def _added(run: Run, targets: list[str]) -> Iterator[tuple[str, Fact]]:
    """Add one fact for each target, and see every one come back before something is asserted."""
    facts = _brought(run, targets)
    for target, fact in facts.items():
        found = losses.found(run, fact)
        if found is None:
            raise Untestable(f"what was added to {target} did not come back; see MP-WRITE-001")
        # It is asked for afterwards in the way that brought it.
        facts[target] = found
    yield from facts.items()


def _brought(run: Run, targets: list[str]) -> dict[str, Fact]:
    """
    A fact for each of the targets, brought in by one session.

    A policy of the store may be against one of them; it was said, and no text is lost.

    Raises:
        Refused: It is against all of them.

    """
    facts: dict[str, Fact] = {}
    refused: list[mirrored.Refused] = []
    with run.session() as subject:
        for target in targets:
            fact = run.facts.new()
            try:
                mirrored.bring(run, subject, target, fact.text)
            except mirrored.Refused as reason:
                refused.append(reason)
            else:
                facts[target] = fact
    if not facts:
        raise refused[0]
    return facts


@check("MP-WRITE-001")
def an_added_text_comes_back(run: Run) -> None:
    facts = _brought(run, mirrored.needed_targets(run, "add"))
    for target, fact in facts.items():
        if not losses.is_stored(run, fact):
            run.violated(
                f"what was added to {target}, recalled after a new start",
                f"{fact.text!r} was accepted and did not come back",
            )
    _side_by_side(run, next(iter(facts)))


def _side_by_side(run: Run, target: str) -> None:
    """A gateway has several sessions of a profile open at a time."""
    if "session" in run.declared("isolates", []) or run.declared("single_writer", default=False):
        return
    facts = run.facts.several(4)
    with run.session() as one, run.session() as other:
        pairs = zip(facts, (one, other, one, other), strict=True)
        accepted = [fact for fact, subject in pairs if _accepts(subject, target, fact.text)]
    if lost := losses.lost(run, accepted):
        run.violated(
            "what was added by two sessions of one home while both were open, recalled later",
            f"{len(lost)} of {len(accepted)} did not come back: {lost[0].text!r}",
        )


@check("MP-WRITE-002", budget_s=_ANY_TEXT_S)
def a_write_takes_any_text(run: Run) -> None:
    run.needs_hook("mirror")
    odd = {**texts.NAMED, **texts.LONGEST, **texts.generated(run.context.seed, run.examples)}
    failures: list[tuple[str, HookRaised]] = []
    with run.session() as subject:
        for number, arguments in enumerate(_shapes(run)):
            # The long ones once are enough: they cost time in every store.
            chosen = {k: v for k, v in odd.items() if not number or len(v) < _SHORT_CHARS}
            failures += texts.raised_for(chosen, functools.partial(_fill, run, subject, arguments))
        # Before shutdown, which may raise for the same text.
        _none_raised(run, failures, len(odd))
    # What was stored must not stand in the way of the next session.
    with run.session() as again:
        again.recall("What did I ask you to keep?")


def _none_raised(run: Run, failures: list[tuple[str, HookRaised]], count: int) -> None:
    found = [item for item in failures if not item[1].is_report]
    if found:
        name, failure = found[0]
        raised = len({name for name, _ in found})
        run.violated(
            f"{run.hook('mirror')} stores every str, or raises an error of memproto.errors",
            f"it raised {show(failure.error)} for {name}; {raised} of {count} texts raised",
        )


#: Stands for the odd text in the arguments of a write.
_ODD = object()

#: What an odd text replaces, or is replaced by.
_PLAIN = "The lamps are lit."


def _shapes(run: Run) -> Iterator[tuple[Any, ...]]:
    """The arguments of every declared kind of write; each odd text is put at its marks."""
    if not any(run.mirrors.values()):
        # A host mirrors what it writes all the same.
        yield (*USUAL, _ODD)
    for target in mirrored.targets(run, "add"):
        yield ("add", target, _ODD)
    for target in mirrored.targets(run, "replace")[:1]:
        yield ("replace", target, _PLAIN, _ODD)
        yield ("replace", target, _ODD, _PLAIN)
    for target in mirrored.targets(run, "remove")[:1]:
        yield ("remove", target, "", _ODD)


def _fill(run: Run, subject: Subject, arguments: tuple[Any, ...], text: str) -> None:
    if arguments[-1] is _PLAIN and arguments[1] in mirrored.targets(run, "add"):
        # An odd text takes its place each time: it has to be there.
        routes.tolerant(lambda: subject.mirror("add", arguments[1], _PLAIN))
    subject.mirror(*(text if item is _ODD else item for item in arguments))


@check("MP-WRITE-003", budget_s=120.0)
def a_replaced_text_is_gone(run: Run) -> None:
    _named_both_ways(run, "replace", _replaced)


def _named_both_ways(run: Run, action: str, judge: Callable[[Run, str, Fact, str], None]) -> None:
    """Judge the action with the whole text as `old_text`; then with words of it, and beside one."""
    targets = mirrored.needed_targets(run, action)
    for target, old in _added(run, targets):
        judge(run, target, old, old.text)
    with contextlib.suppress(mirrored.Refused):
        for target, old in _added(run, targets):
            near = _added_beside(run, target)
            judge(run, target, old, old.name)
            _stays(run, near, f"a {action} of another text in {target}")


def _replaced(run: Run, target: str, old: Fact, old_text: str) -> None:
    name = run.facts.name()
    new = old.renamed(name)
    with run.session() as subject:
        mirrored.write(subject, "replace", target, new.text, old_text)
    after = f"a replace in {target} with old_text={old_text!r}"
    if not losses.is_stored(run, new):
        run.violated(
            f"the new text, {new.text!r}, after {after}", "it did not come back after a new start"
        )
    _is_gone(run, old, after)


@check("MP-WRITE-004", budget_s=120.0)
def a_removed_text_is_gone(run: Run) -> None:
    _named_both_ways(run, "remove", _removed)


def _removed(run: Run, target: str, fact: Fact, old_text: str) -> None:
    with run.session() as subject:
        mirrored.write(subject, "remove", target, "", old_text)
    _is_gone(run, fact, f"a remove in {target} with old_text={old_text!r}")


def _added_beside(run: Run, target: str) -> Fact:
    """
    One more fact in the same target.

    A model names an entry by some words of it that occur in no other; those that have nothing to
    do with it stay.
    """
    near = run.facts.new()
    with run.session() as subject:
        mirrored.bring(run, subject, target, near.text)
    return near


def _stays(run: Run, near: Fact, after: str) -> None:
    if not losses.is_stored(run, near):
        run.violated(
            f"{near.text!r}, which was added, recalled after {after}",
            "it did not come back",
            requirement="MP-WRITE-001",
        )


def _is_gone(run: Run, fact: Fact, after: str) -> None:
    answers: list[Any] = []

    def gone() -> bool:
        answers.append(routes.recalled(again, fact.query))
        return not fact.is_in(answers[-1])

    with run.session() as again:
        if run.wait_until(gone, run.freshness_s):
            return
    run.violated(
        f"{fact.text!r} gone from recall after {after}",
        f"{fact.query!r} still brings {show(answers[-1])}",
    )


@check("MP-WRITE-005", budget_s=120.0)
def what_is_not_stored_is_reported(run: Run) -> None:
    target, _ = next(_added(run, mirrored.needed_targets(run, "add")))
    _unmatched_replace(run, target)
    long = run.facts.new()
    if _accepted(run, target, [long], _LONG_CHARS):
        _must_come_back(run, long, f"a text of {_LONG_CHARS:,} characters")
    many = run.facts.several(_MANY)
    if accepted := _accepted(run, target, many, 400):
        number = many.index(accepted[-1]) + 1
        _must_come_back(run, accepted[-1], f"write {number} of {_MANY}, each of 400 characters,")
    _unusual_ones(run, target)


def _unmatched_replace(run: Run, target: str) -> None:
    """A mirror that began after the memory that it mirrors is told to replace what it never had."""
    if target not in mirrored.targets(run, "replace"):
        return
    never, new = run.facts.several(2)
    with run.session() as subject:
        accepted = _accepts(subject, target, new.text, "replace", never.text)
    if accepted:
        _must_come_back(run, new, f"a replace in {target} whose old_text fits no entry")


def _unusual_ones(run: Run, target: str) -> None:
    # Below a home of their own where that is possible: the first one may be full by now.
    home = run.own_home("unusual")
    unusual = texts.around(run.facts.several(6), _SHORT_CHARS)
    with run.session(home) as subject:
        accepted = [_accepts(subject, target, text) for _, _, text in unusual]
    for (what, fact, _), kept in zip(unusual, accepted, strict=True):
        if kept and not losses.is_stored(run, fact, home):
            _expect_a_plain_one(run, target, home)
            _say_lost(run, fact, f"a text {what}")


def _expect_a_plain_one(run: Run, target: str, home: Path) -> None:
    """A short text behind all the long ones: recall may bring nothing but those."""
    plain = run.facts.new()
    with run.session(home) as subject:
        kept = _accepts(subject, target, plain.text)
    if not kept or not run.reopened_brings_back(plain, home):
        reason = "behind texts of many characters a short one does not come back either"
        raise Untestable(f"{reason}; {BETTER_RECALL}")


def _accepts(
    subject: Subject, target: str, text: str, action: str = "add", old_text: str | None = None
) -> bool:
    """Whether the write was accepted; what else than a report was raised is for MP-WRITE-002."""
    try:
        subject.mirror(action, target, text, old_text)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
    return True


def _accepted(run: Run, target: str, facts: list[Fact], chars: int) -> list[Fact]:
    """Write the facts in one session, each made that long; those that were not refused."""
    kept: list[Fact] = []
    with run.session() as subject:
        for fact in facts:
            try:
                subject.mirror("add", target, texts.padded(fact.text, chars))
            except HookRaised as failure:
                if not failure.is_report:
                    raise
            else:
                kept.append(fact)
    return kept


def _must_come_back(run: Run, fact: Fact, what: str, home: Path | None = None) -> None:
    if not losses.is_stored(run, fact, home):
        _say_lost(run, fact, what)


def _say_lost(run: Run, fact: Fact, what: str) -> NoReturn:
    run.violated(
        f"{run.hook('mirror')} raises where it does not store",
        f"it returned for {what} and neither {fact.query!r} nor its own words bring it back, "
        "while a single short text does come back",
    )


@check("MP-TOOL-001")
def what_a_tool_stored_comes_back(run: Run) -> None:
    with run.session() as subject:
        if not subject.has("tools") or not subject.tools():
            raise NotApplicable("the provider serves no tools")
    run.needs_route("tools")
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, "tools")
    if not losses.is_stored(run, fact):
        run.violated(
            "what a tool answered to have stored, recalled after a new start",
            f"{fact.text!r}, stored by a call that reported no error, did not come back",
        )
