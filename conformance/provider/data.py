"""Chapter 55: data: stored once, in order, and not held up by what was asked before."""

import contextlib
import copy
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memproto.adapters import tool_results
from memproto.errors import WriteRefused
from memproto.testing import wording
from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.evidence import Differs, Evidence, NotRecalled, Raised, Recalled, Repeated
from memproto.testing.facts import Fact
from memproto.testing.lifetimes.ends import HostProcess
from memproto.testing.needs import BETTER_RECALL, KEEPING, READ_BACK, Setting, depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.provider.write_action import Writing
from memproto.testing.scenarios import mirrored_writes, smallest, tool_calls
from memproto.testing.wire import show

#: Times that a session is opened again: a text that is stored at each start shows in every one.
_STARTS = 4

#: Number of facts for which nobody asked that have to come back behind one that did not.
_CONTROLS = 3

_COUNTING = (Setting("read_back", that="that counts it"),)
_ROOM = (Setting("config", that="with more room"),)


# -- stored once -----------------------------------------------------------------------------------


@check("MP-DATA-001", budget_s=240.0, routes=("turns", "writes", "tools"))
def what_was_accepted_once_is_stored_once(run: Run) -> None:
    judge = _stays_one if _is_counted(run) else _grows_no_more
    owed: list[Untestable] = []
    for route in filter(run.serves, routes.ROUTES):
        try:
            judge(run, route)
        except Untestable as lack:
            owed.append(lack)
    if owed:
        raise owed[0]


def _is_counted(run: Run) -> bool:
    """True if the user gave a function that counts what is stored."""
    with run.session() as subject:
        return run.read_back_count(subject, "The lamps are lit.") is not None


def _stays_one(run: Run, route: str) -> None:
    if run.is_selective and run.manner.times > 1:
        reason = "retention is selective: what it keeps has to be told it more than once"
        raise Untestable(reason, KEEPING)
    fact, key = run.facts.new(), run.session_key()
    _planted(run, route, fact, key=key, closings=1)
    _is_one(run, fact, "after the session ended", operation=routes.OPERATIONS[route])
    _planted(run, route, twice := run.facts.new(), key=run.session_key(), closings=2)
    _is_one(run, twice, f"after {run.hook('close')} was called twice", operation="close")
    for _ in range(_STARTS):
        with run.session(session=key):
            pass
    _is_one(run, fact, f"after its session was opened {_STARTS} times more", operation="open")
    if route == "turns" and not run.lacks("compress"):
        _is_compressed_once(run, run.facts.new())


def _is_compressed_once(run: Run, fact: Fact) -> None:
    """The messages of a recorded turn, offered in the session that held it and in its next part."""
    key = run.session_key()
    with run.session(session=key) as subject:
        run.plant(subject, fact, "turns")
        _offered(subject, fact, 1)
    with run.session(session=key) as again:
        _offered(again, fact, 2)
    after = f"after {run.hook('compress')} was given the messages of the turn that held it"
    _is_one(run, fact, after, operation="compress")


def _messages_of(fact: Fact) -> list[dict[str, Any]]:
    said = {"user": fact.text, "assistant": routes.reply_to(fact)}
    return [{"role": role, "content": text} for role, text in said.items()]


def _is_one(run: Run, fact: Fact, after: str, *, operation: str) -> None:
    with run.session() as subject:
        count = run.read_back_count(subject, fact.text)
    if not count:
        raise Untestable(f"{fact.text!r} is not found {after}", _COUNTING)
    if count > 1:
        run.violated(
            Repeated(
                wanted=f"{fact.text!r} stored once {after}",
                text=fact.text,
                times=count,
                lead="stored ",
            ),
            operation=operation,
        )


def _planted(
    run: Run, route: str, fact: Fact, *, key: str, closings: int, home: Path | None = None
) -> None:
    subject = run.open(home, key)
    run.plant(subject, fact, route)
    run.close(subject)
    for _ in range(closings - 1):
        subject.close()


def _grows_no_more(run: Run, route: str) -> None:
    """
    Judge by how often recall shows a text.

    The number for a text that is stored once is the provider's own affair: it is compared
    with that of another text, and with what the same recall shows later.
    """
    _assert_shows_how_often(run)
    fact, key, home = run.facts.new(), run.session_key(), run.own_home(f"{route}-once")
    _planted(run, route, fact, key=key, closings=1, home=home)
    usual = _usual_times(run, fact, home)
    _shows_no_more_after_two_shutdowns(run, route, usual)
    _shows_no_more_with_each_start(run, fact, key, home, usual)
    if route == "turns" and _may_compress(run):
        _shows_no_more_with_each_compression(run, fact, key, home)


def _assert_shows_how_often(run: Run) -> None:
    if (retention := run.declared("retention", "verbatim")) != "verbatim":
        said = f"retention is {retention}: recall does not show how often a text is stored"
        raise NotApplicable(f"{said}; it is judged by `read_back`")


def _shows_no_more_after_two_shutdowns(run: Run, route: str, usual: int) -> None:
    fact, home = run.facts.new(), run.own_home(f"{route}-twice")
    _planted(run, route, fact, key=run.session_key(), closings=2, home=home)
    after = f"after {run.hook('close')} was called twice"
    _is_shown_as_others_are(run, fact, home, usual, after, operation="close")


def _is_shown_as_others_are(
    run: Run, fact: Fact, home: Path, usual: int, after: str, *, operation: str
) -> None:
    if (times := _times(run, fact, home)) > usual:
        run.violated(
            Repeated(
                wanted=(
                    f"{fact.text!r} stored once, and so shown {usual}-fold by recall as others are"
                ),
                text=fact.text,
                times=times,
                usual=usual,
                lead="shown ",
                unit="-fold",
                tail=f" {after}",
            ),
            operation=operation,
        )


def _shows_no_more_with_each_start(run: Run, fact: Fact, key: str, home: Path, usual: int) -> None:
    shown = [usual]
    for _ in range(_STARTS):
        with run.session(home, key):
            pass
        shown.append(_times(run, fact, home))
    _has_not_grown(run, fact, shown, "with every new start", operation="open")


def _may_compress(run: Run) -> bool:
    """True if the hook is there, and is not one that has to store what it is given."""
    return not run.lacks("compress") and "checkpoint" not in run.declared("extensions", [])


def _shows_no_more_with_each_compression(run: Run, fact: Fact, key: str, home: Path) -> None:
    # The beginning of a conversation is handed over by each of its compressions.
    shown = [_times(run, fact, home)]
    for count in range(1, _STARTS + 1):
        with run.session(home, key) as subject:
            _offered(subject, fact, count)
        shown.append(_times(run, fact, home))
    when = f"each time {run.hook('compress')} was given its messages"
    _has_not_grown(run, fact, shown, when, operation="compress")


def _offered(subject: Subject, fact: Fact, count: int) -> None:
    routes.tolerant(lambda: subject.compress(_messages_of(fact), count))


def _has_not_grown(run: Run, fact: Fact, shown: list[int], when: str, *, operation: str) -> None:
    # An index that is built late may show a text once more; one that is stored again and again
    # goes on.
    if sum(after > before for before, after in itertools.pairwise(shown)) > 1:
        run.violated(
            Repeated(
                wanted=f"{fact.text!r} stored once, and so shown as often by each later recall",
                text=fact.text,
                times=shown[-1],
                usual=shown[0],
                unit="-fold",
                lead=f"shown {''.join(f'{count}-fold, ' for count in shown[:-1])}",
                tail=f", {when}",
            ),
            operation=operation,
        )


def _usual_times(run: Run, fact: Fact, home: Path) -> int:
    """The same for a text that is stored once; raises Untestable if it is not shown at all."""
    if usual := _times(run, fact, home):
        return usual
    raise Untestable("recall does not show a stored text in its own words", READ_BACK)


def _times(run: Run, fact: Fact, home: Path) -> int:
    """Number of times that a recall that brings the fact holds its text."""
    with run.session(home) as again:
        return losses.shown_by(run, again, fact)


@check("MP-DATA-006", hook="compress", routes=("turns",))
def a_turn_that_compression_showed_is_stored_once(run: Run) -> None:
    if not _may_compress(run):
        why = "the provider serves `checkpoint`: it has to store what it is given"
        raise NotApplicable(why)
    fact, is_counted = run.facts.new(), _is_counted(run)
    after = f"after {run.hook('compress')} was given the message of its turn before that turn"
    if is_counted:
        _compressed_and_told(run, fact, None)
        _is_one(run, fact, after, operation="record")
        return
    _assert_shows_how_often(run)
    plain, home = run.facts.new(), run.own_home("plain")
    _planted(run, "turns", plain, key=run.session_key(), closings=1, home=home)
    usual = _usual_times(run, plain, home)
    home = run.own_home("compressed")
    _compressed_and_told(run, fact, home)
    _is_shown_as_others_are(run, fact, home, usual, after, operation="record")


def _compressed_and_told(run: Run, fact: Fact, home: Path | None) -> None:
    """The host compresses while the model works on the turn: its answer is not there yet."""
    with run.session(home) as subject:
        routes.tolerant(lambda: subject.compress(_messages_of(fact)[:1], 1))
        run.plant(subject, fact, "turns")


# -- in order --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Order:
    """
    Writes to one target, and what they leave.

    Attributes:
        action: The action that has to be declared, beside `add`.
        steps: Action, number of the new text, number of the old one.
        left: The number of the text that is there in the end, or None for none.

    """

    action: str
    steps: tuple[tuple[str, int | None, int | None], ...]
    left: int | None

    def __str__(self) -> str:
        return ", ".join(
            f"{action} {' by '.join('ABC'[n] for n in (old, new) if n is not None)}"
            for action, new, old in self.steps
        )


_ADD = ("add", 0, None)
_REMOVE = ("remove", None, 0)
_ORDERS = (
    _Order("replace", (_ADD, ("replace", 1, 0), ("replace", 2, 1)), 2),
    _Order("remove", (_ADD, _REMOVE, _ADD), 0),
    _Order("remove", (_ADD, _REMOVE), None),
)


@check("MP-DATA-002", budget_s=120.0, routes=("writes",))
def writes_take_effect_in_their_order(run: Run) -> None:
    targets = [
        target
        for target in mirrored_writes.needed_targets(run, "replace", "remove")
        if target in mirrored_writes.targets(run, "add")
    ]
    if not targets:
        raise NotApplicable("`mirrors` names no target to which a text is added and then changed")
    owed: list[str] = []
    for target, order in itertools.product(targets, _ORDERS):
        if target in mirrored_writes.targets(run, order.action):
            owed += _in_order(run, target, order)
    if owed:
        raise Untestable(owed[0], depends_on("MP-WRITE-001", "MP-WRITE-003"))


def _in_order(run: Run, target: str, order: _Order) -> list[str]:
    """Judge one order; why that was not possible, if it was not."""
    if fault := _fault(run, target, order, [[step] for step in order.steps]):
        told = f"with each write in a session of its own ({order}), {wording.observed(fault)}"
        return [told]
    with contextlib.suppress(mirrored_writes.Refused):
        if fault := _fault(run, target, order, [list(order.steps)]):
            run.violated(
                fault.told(
                    wanted=(
                        f"{order}, in this order in one session before shutdown, leave "
                        f"{'nothing' if order.left is None else 'ABC'[order.left]} in {target}"
                    ),
                ),
            )
    return []


def _fault(run: Run, target: str, order: _Order, sessions: list[list[Any]]) -> Evidence | None:
    """Do the writes in so many sessions; what is wrong with recall afterwards, or None."""
    versions = _versions(run)
    texts: dict[int | None, str | None] = dict(enumerate(fact.text for fact in versions))
    for steps in sessions:
        with run.session() as subject:
            for action, new, old in steps:
                mirrored_writes.write(subject, action, target, texts.get(new), texts.get(old))
    run.settle()
    with run.session() as again:
        if order.left is not None and not run.brings_back(again, versions[order.left]):
            text = versions[order.left].text
            called = f"{'ABC'[order.left]}, {text!r},"
            return NotRecalled(texts=(text,), subject=called, verb="does not come back")
        return _not_gone(run, again, versions, order.left)


def _versions(run: Run) -> list[Fact]:
    """Three answers to one question."""
    first = run.facts.new()
    names = [first.name, run.facts.name(), run.facts.name()]
    return [Fact(first.text.replace(first.name, name), first.query, name) for name in names]


def _not_gone(run: Run, again: Subject, versions: list[Fact], left: int | None) -> Recalled | None:
    answers: list[Any] = []

    def there() -> str:
        answers.append(routes.recalled(again, versions[0].query))
        found = [n for n, fact in enumerate(versions) if n != left and fact.is_in(answers[-1])]
        return "ABC"[found[0]] if found else ""

    if run.wait_until(lambda: not there(), run.freshness_s):
        return None
    asked = versions[0].query
    lead = f"{there()} is still there: {asked!r} brings "
    return Recalled(answer=show(answers[-1]), question=asked, lead=lead)


# -- not held up by an earlier answer --------------------------------------------------------------


@check("MP-DATA-005", routes=("writes", "turns", "tools"))
def an_earlier_answer_does_not_hide_a_write(run: Run) -> None:
    _is_not_hidden(run, run.route)
    for route in routes.ROUTES:
        if route != run.route and run.serves(route):
            # The first route alone has to be one on which it can be seen.
            with contextlib.suppress(Untestable):
                _is_not_hidden(run, route)
    if "session" not in run.declared("isolates", []):
        with contextlib.suppress(Untestable):
            _is_not_hidden_from_outside(run, run.route)


def _is_not_hidden_from_outside(run: Run, route: str) -> None:
    """Another process of the home stores what was asked for in this one: a gateway, a terminal."""
    known = run.facts.new()
    asked = run.facts.like(known)
    _ask(run, asked)
    if not _told_outside(run, asked, route) or run.reopened_brings_back(asked):
        return
    for _ in range(_CONTROLS):
        other = run.facts.like(known)
        if not _told_outside(run, other, route) or not run.reopened_brings_back(other):
            return
    run.violated(
        NotRecalled(
            wanted=(
                f"{asked.name!r} in the answer to {asked.query!r}, which another process stored "
                "after the same question had been asked in vain"
            ),
            texts=(asked.text,),
            subject="it",
            verb="does not come back",
            tail=", while facts for which nobody had asked before do",
        ),
        operation=routes.OPERATIONS[route],
    )


def _told_outside(run: Run, fact: Fact, route: str) -> bool:
    """True if a process of its own was told the fact, was shut down and has ended."""
    ended = HostProcess(run, "plain", [fact.text], route=route).end()
    run.settle()
    return "closed" in ended.marks


def _is_not_hidden(run: Run, route: str) -> None:
    known = run.facts.new()
    asked = run.facts.like(known)
    _ask(run, asked)
    _expect_unasked(run, known, route)
    _ask(run, asked)
    with run.session() as subject:
        routes.recalled(subject, asked.query)
        run.plant(subject, asked, route)
    if not run.reopened_brings_back(asked):
        for _ in range(_CONTROLS):
            # Not all over again: it may be the answer of the empty store that is kept.
            _expect_unasked(run, run.facts.like(known), route)
        run.violated(
            NotRecalled(
                wanted=(
                    f"{asked.name!r} in the answer to {asked.query!r}, stored after the same "
                    "question "
                    "had been asked in vain"
                ),
                texts=(asked.text,),
                subject="it",
                verb="does not come back",
                tail=", while facts for which nobody had asked before do",
            ),
            operation=routes.OPERATIONS[route],
        )


def _expect_unasked(run: Run, fact: Fact, route: str) -> None:
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        reason = "a stored fact for which nobody had asked before did not come back"
        raise Untestable(reason, BETTER_RECALL)


def _ask(run: Run, fact: Fact) -> None:
    """A session with the question, of which nothing is known yet."""
    with run.session() as subject:
        routes.recalled(subject, fact.query)
        if subject.has("prewarm"):
            subject.prewarm(fact.query)


# -- data texts ------------------------------------------------------------------------------------

# Chapter 55: data: texts that stores trip over.


# -- delimiters of stores --------------------------------------------------------------------------

#: Texts about two facts, by what stands between them; the name completes "a text with ...".
_DELIMITED = {
    "a line with a section sign": "%s\n§\n%s",
    "a line of dashes": "%s\n---\n%s",
    "a line of stars": "%s\n***\n%s",
    "front matter": "---\ntitle: Notes\n---\n%s\n%s",
    "a heading": "%s\n\n## Memory\n\n%s",
    "list marks": "- %s\n- %s",
    "a comment of HTML": "%s\n<!-- 2026-01-01 -->\n%s",
    "blank lines": "%s\n\n\n\n%s",
    "a line end of Windows": "%s\r\n%s",
    "a carriage return": "%s\r%s",
    "a form feed": "%s\x0c%s",
    "a line separator": "%s\u2028%s",
    "the control character NEL": "%s\x85%s",
    "a tab": "%s\t%s",
    "quotes and a comma": '%s","%s',
    "the end of a JSON line": '%s"}\n{"text": "%s',
    "bars": "%s|||%s",
    "a semicolon": "%s;%s",
    "a NUL": "%s\x00%s",
    "a record separator": "%s\x1e%s",
    "a unit separator": "%s\x1f%s",
}

#: Longer than the others: a recall that shows so much of a text shows all of theirs.
_PLAIN = (
    "%s I should add, since you asked me to be exact and to leave nothing out, this one too: %s"
)

#: A recall that brings any few of many may bring one of them by chance, and seldom all.
_AGAIN = ("one", "two", "three", "four")

#: Number of texts of two facts that are in a bounded store at a time.
_AT_A_TIME = 5


@check("MP-DATA-003", budget_s=240.0, routes=("turns", "writes", "tools"), parts=3)
def a_text_stays_whole(run: Run) -> None:
    for route in run.of_part(filter(run.serves, routes.ROUTES)):
        if _parts_lost(run, route, run.own_home(f"{route}-plain"), {"": _PLAIN}):
            raise Lost(f"two facts in one plain text, stored through {route}, did not return")
        for number, some in enumerate(_some_at_a_time()):
            _stay_whole(run, route, some, f"{route}-{number}")
        if route == "writes":
            _removed_stay_whole(run)


def _removed_stay_whole(run: Run) -> None:
    removed = [
        name for name in mirrored_writes.targets(run, "add") if "remove" in run.mirrors[name]
    ]
    if removed:
        _are_removed_whole(run, removed[0])


def _some_at_a_time() -> Iterator[dict[str, str]]:
    patterns = list(_DELIMITED.items())
    for start in range(0, len(patterns), _AT_A_TIME):
        yield dict(patterns[start : start + _AT_A_TIME])


def _stay_whole(run: Run, route: str, patterns: dict[str, str], name: str) -> None:
    for what in _parts_lost(run, route, run.own_home(name), patterns):
        # Alone as well: what one text costs the others is the matter of MP-FENCE-001.
        alone = {what: _DELIMITED[what]}
        place = run.own_home(f"{name}-alone")
        for lost in _parts_lost(run, route, place, alone).values():
            _needs_plain_ones(run, route, place)
            run.violated(
                NotRecalled(
                    wanted=(
                        f"both facts of a text with {what} between them, recalled after a new start"
                    ),
                    texts=(lost.text,),
                    lead="it was accepted, and ",
                ),
                operation=routes.OPERATIONS[route],
            )


def _needs_plain_ones(run: Run, route: str, home: Path) -> None:
    """Go on only where plain texts come back from a store that holds as much as it does by now."""
    if _parts_lost(run, route, home, dict.fromkeys(_AGAIN, _PLAIN)):
        reason = f"plain texts stored through {route} do not all come back either, beside others"
        raise Untestable(reason, BETTER_RECALL)


def _parts_lost(run: Run, route: str, home: Path, patterns: dict[str, str]) -> dict[str, Fact]:
    """Accepted texts that lack a fact after a new start, each with that fact."""
    with run.session(home) as subject:
        owed = _accepted(run, subject, route, patterns)
    with run.session(home) as again:
        return {
            what: fact
            for what, (_, facts) in owed.items()
            for fact in facts
            if not losses.is_shown(run, again, fact)
        }


def _accepted(
    run: Run, subject: Subject, route: str, patterns: dict[str, str]
) -> dict[str, tuple[str, list[Fact]]]:
    """Store a text of each pattern; those that were not refused, with their facts."""
    made = {what: (pattern, run.facts.several(2)) for what, pattern in patterns.items()}
    filled = {what: (p % tuple(f.text for f in facts), facts) for what, (p, facts) in made.items()}
    return {
        what: (text, [fact.within(text) for fact in facts])
        for what, (text, facts) in filled.items()
        if routes.accepts(subject, route, text)
    }


def _are_removed_whole(run: Run, target: str) -> None:
    if _parts_left(run, target, {"": _PLAIN}, "plain"):
        # Removing at all is the matter of MP-WRITE-004.
        return
    for number, some in enumerate(_some_at_a_time()):
        for what, found in _parts_left(run, target, some, str(number)).items():
            run.violated(
                found.told(
                    wanted=(
                        f"a text with {what} between two facts gone after a remove of the "
                        "whole text"
                    ),
                ),
                operation="mirror",
            )


def _parts_left(run: Run, target: str, patterns: dict[str, str], name: str) -> dict[str, Evidence]:
    """Store texts, remove each by its whole text, and say what of which is there afterwards."""
    home = run.own_home(f"removed-{name}")
    with run.session(home) as subject:
        subject.writing = Writing({target: ["add"]})
        owed = _accepted(run, subject, "writes", patterns)
    with run.session(home) as subject:
        faults = {what: _removed(run, subject, target, text) for what, (text, _) in owed.items()}
    run.settle()
    with run.session(home) as again:
        for what, (_, facts) in owed.items():
            accepted, _ = faults[what]
            if accepted:
                faults[what] = accepted, _still_there(run, again, facts)
    return {what: found for what, (_, found) in faults.items() if found}


def _removed(run: Run, subject: Subject, target: str, text: str) -> tuple[bool, Evidence | None]:
    """True if the removal was accepted; and the fault of a refusal, if it has one."""
    try:
        subject.mirror("remove", target, "", text)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        refused = isinstance(failure.error, WriteRefused)
        hook = run.hook("mirror")
        return False, Raised.by(failure.error, hook=hook, who=hook) if refused else None
    return True, None


def _still_there(run: Run, again: Subject, facts: list[Fact]) -> Recalled | None:
    found: list[Recalled] = []

    def gone() -> bool:
        answers = [(fact, routes.recalled(again, fact.query)) for fact in facts]
        found[:] = [_shown_by(fact, answer) for fact, answer in answers if fact.is_in(answer)]
        return not found

    run.wait_until(gone, run.freshness_s)
    return found[0] if found else None


def _shown_by(fact: Fact, answer: Any) -> Recalled:
    lead = f"{fact.query!r} still brings "
    return Recalled(texts=(fact.text,), answer=show(answer), question=fact.query, lead=lead)


# -- texts that are too much -----------------------------------------------------------------------

_HUGE_CHARS = 1_000_000

#: As much in texts that nobody refuses for their length.
_PORTIONS = 50

_LINE = "The lamps on the quay were lit at dusk. "

_HUGE = (_LINE * (_HUGE_CHARS // len(_LINE) + 1))[:_HUGE_CHARS]

#: A recalled text is not to be shortened for the sake of the host.
_WIDE = {"recall_chars": 10 * _HUGE_CHARS}

_BURDENS = {
    f"{_HUGE_CHARS:,} characters": _HUGE,
    "NUL and halves of surrogate pairs": (
        "half of a pair \ud83d, the other one \udc80, nothing \x00, the end \uffff \x1b[0m \u202e"
    ),
}


@check("MP-DATA-004", budget_s=240.0, routes=("turns", "writes", "tools"))
def a_text_that_is_too_much_costs_no_later_one(run: Run) -> None:
    for route in filter(run.serves, routes.ROUTES):
        for number, (what, burden) in enumerate(_BURDENS.items()):
            _later_one_stays(run, route, what, burden, f"{route}-burden-{number}")
    for target in mirrored_writes.targets(run, "replace")[:1] if run.serves("writes") else ():
        what = f"a replace in {target} whose old_text fits no entry"
        _is_taken_after(run, "writes", what, functools.partial(_replaces_nothing, run, target))
    if run.watch.calls_left is None:
        for route in filter(run.serves, routes.ROUTES):
            _is_taken_after_errors(run, route)


def _is_taken_after_errors(run: Run, route: str) -> None:
    """No lock is held behind a tool call that was answered with an error."""
    with run.session(run.own_home("erring")) as subject:
        tools = tool_calls.offered(run, subject.tools()) if subject.has("tools") else []
        calls = {
            f"a call of {tool.name} {how}": (tool.name, arguments)
            for tool in tools
            for how, arguments in (
                ("without arguments", {}),
                ("about what is not there", tool.typical(full=False)),
            )
        }
        refused = {what: call for what, call in calls.items() if _errs(*call, subject)}
        if not refused or _takes(run, subject, route):
            return
    for what, call in refused.items():
        _is_taken_after(run, route, what, functools.partial(_errs, *call))


def _errs(name: str, arguments: dict[str, Any], subject: Subject) -> bool:
    """True if a tool call is answered with an error, or refused by one that the kit knows."""
    try:
        return tool_results.refused(subject.call_tool(name, copy.deepcopy(arguments)))
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return failure.is_report


def _is_taken_after(run: Run, route: str, what: str, refused: Callable[[Subject], bool]) -> None:
    """No lock is held, and no connection broken, behind a text that was refused."""
    if losses.seen_again(lambda: _is_shut_by(run, route, refused)):
        run.violated(
            Differs(
                wanted=f"an ordinary text taken after {what} was refused",
                seen=(
                    f"{run.hook(routes.OPERATIONS[route])} refused each one in that session, "
                    "which had taken one before, and the next session took one"
                ),
            ),
            operation=routes.OPERATIONS[route],
        )


def _is_shut_by(run: Run, route: str, refused: Callable[[Subject], bool]) -> bool:
    """True if an instance takes nothing behind what it refused, where the next one does."""
    home = run.own_home(f"shut-{next(run.numbers)}")
    with run.session(home) as subject:
        takes = functools.partial(_takes, run, subject, route)
        if not (takes() and refused(subject)) or takes() or takes():
            return False
    with run.session(home) as again:
        if not _takes(run, again, route):
            # The store is full, or its backend is away.
            return False
    with run.session(run.own_home(f"open-{next(run.numbers)}")) as other:
        # A session has room for so many.
        return all(_takes(run, other, route) for _ in range(_TRIED))


#: Number of texts that are handed to an instance which refuses one of another kind among them.
_TRIED = 3


def _takes(run: Run, subject: Subject, route: str) -> bool:
    return routes.accepts(subject, route, run.facts.new().text)


def _is_refused(route: str, text: str, subject: Subject) -> bool:
    return not routes.accepts(subject, route, text)


def _replaces_nothing(run: Run, target: str, subject: Subject) -> bool:
    """True if a replace is refused whose old_text no entry ever held."""
    never, new = run.facts.several(2)
    try:
        subject.mirror("replace", target, new.text, never.text)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return True
    return False


def _later_one_stays(run: Run, route: str, what: str, burden: str, name: str) -> None:
    if _after(run, route, run.own_home(f"{name}-none"), [_LINE]).lost:
        raise Lost(f"an ordinary text stored through {route} did not come back")
    after = _after(run, route, run.own_home(name), [burden])
    if after.was == "refused" and not after.is_taken:
        refuses = functools.partial(_is_refused, route, burden)
        _is_taken_after(run, route, f"one of {what}", refuses)
    if not after.lost:
        return
    size = len(burden) // _PORTIONS
    portions = [burden[:size]] * _PORTIONS if burden is _HUGE else []
    if portions and _after(run, route, run.own_home(f"{name}-portions"), portions).lost:
        raise Untestable("the store is full", (*depends_on("MP-WRITE-005"), *_ROOM))
    seen = NotRecalled(
        wanted=f"a text that was accepted after one of {what}, recalled after a new start",
        texts=(after.lost.text,),
        lead=f"the one of {what} was {after.was}, and ",
        about="accepted after it",
    )

    def loses(chars: int) -> bool:
        home = run.own_home(f"{name}-of-{chars}-{next(run.numbers)}")
        return _after(run, route, home, [burden[:chars]]).lost is not None

    # In a home that all sessions share, the burden of before stands in the way of later ones.
    is_long = burden is _HUGE and run.binding.own_homes
    found = smallest.of_length(run, len(burden), len(_LINE), loses) if is_long else None
    run.violated(found.told(seen) if found else seen, operation=routes.OPERATIONS[route])


@dataclasses.dataclass(frozen=True, slots=True)
class _After:
    """The fate of some burdens, and of a fact that was handed over after them."""

    was: str
    is_taken: bool
    #: The fact, if it was taken and is lost.
    lost: Fact | None


def _after(run: Run, route: str, home: Path, burdens: list[str]) -> _After:
    """Hand the burdens over, then a fact, and look for it after a new start."""
    fact = run.facts.new()
    with run.session(home, limits=_WIDE) as subject:
        taken = [routes.accepts(subject, route, burden) for burden in burdens]
        owed = routes.accepts(subject, route, fact.text, routes.reply_to(fact))
        # The last turn of a session has a rule of its own, MP-TURN-003.
        routes.accepts(subject, route, run.facts.new().text)
    with run.session(home, limits=_WIDE) as again:
        lost = owed and not losses.is_shown(run, again, fact)
    was = "accepted" if all(taken) else "refused"
    return _After(was, owed, fact if lost else None)
