"""Chapter 55: data: texts that stores trip over."""

from collections.abc import Iterator
from pathlib import Path

from memproto.errors import WriteRefused
from memproto.testing import losses, mirrored, routes
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show
from memproto.testing.writing import Writing

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

#: So many texts of two facts are in a bounded store at a time.
_AT_A_TIME = 5


@check("MP-DATA-003", budget_s=240.0)
def a_text_stays_whole(run: Run) -> None:
    run.needs_route("turns", "writes", "tools")
    for route in filter(run.serves, routes.ROUTES):
        if _parts_lost(run, route, run.own_home(f"{route}-plain"), {"": _PLAIN}):
            raise Untestable(f"two facts in one plain text, stored through {route}, did not return")
        for number, some in enumerate(_some_at_a_time()):
            _stay_whole(run, route, some, f"{route}-{number}")
    removed = [name for name in mirrored.targets(run, "add") if "remove" in run.mirrors[name]]
    if removed and run.serves("writes"):
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
                f"both facts of a text with {what} between them, recalled after a new start",
                f"it was accepted, and {lost.text!r} did not come back",
                operation=routes.OPERATIONS[route],
            )


def _needs_plain_ones(run: Run, route: str, home: Path) -> None:
    """Go on only where plain texts come back from a store that holds as much as it does by now."""
    if _parts_lost(run, route, home, dict.fromkeys(_AGAIN, _PLAIN)):
        reason = f"plain texts stored through {route} do not all come back either, beside others"
        raise Untestable(f"{reason}; needs: a `config` under which recall brings the best ones")


def _parts_lost(run: Run, route: str, home: Path, patterns: dict[str, str]) -> dict[str, Fact]:
    """Those of the texts that were accepted and lack a fact after a new start, with that fact."""
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
                f"a text with {what} between two facts gone after a remove of the whole text",
                found,
                operation="mirror",
            )


def _parts_left(run: Run, target: str, patterns: dict[str, str], name: str) -> dict[str, str]:
    """Store texts, remove each by its whole text, and say what of which is there afterwards."""
    home = run.own_home(f"removed-{name}")
    with run.session(home) as subject:
        subject.writing = Writing({target: ["add"]})
        owed = _accepted(run, subject, "writes", patterns)
    with run.session(home) as subject:
        left = {what: _removed(run, subject, target, text) for what, (text, _) in owed.items()}
    run.settle()
    with run.session(home) as again:
        for what, (_, facts) in owed.items():
            if left[what] is None:
                left[what] = _still_there(run, again, facts)
    return {what: said for what, said in left.items() if said}


def _removed(run: Run, subject: Subject, target: str, text: str) -> str | None:
    """None where the removal was accepted; what is wrong with a refusal, "" for nothing."""
    try:
        subject.mirror("remove", target, "", text)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        refused = isinstance(failure.error, WriteRefused)
        return f"{run.hook('mirror')} raised {show(failure.error)}" if refused else ""
    return None


def _still_there(run: Run, again: Subject, facts: list[Fact]) -> str:
    found: list[str] = []

    def gone() -> bool:
        answers = [(fact, routes.recalled(again, fact.query)) for fact in facts]
        found[:] = [f"{f.query!r} still brings {show(a)}" for f, a in answers if f.is_in(a)]
        return not found

    run.wait_until(gone, run.freshness_s)
    return found[0] if found else ""


# -- texts that are too much -----------------------------------------------------------------------

_HUGE_CHARS = 1_000_000

#: As much in texts that nobody refuses for their length.
_PORTIONS = 50

_LINE = "The lamps on the quay were lit at dusk. "

_HUGE = (_LINE * (_HUGE_CHARS // len(_LINE) + 1))[:_HUGE_CHARS]

#: What is recalled is not to be shortened for the sake of the host.
_WIDE = {"recall_chars": 10 * _HUGE_CHARS}

_BURDENS = {
    f"{_HUGE_CHARS:,} characters": _HUGE,
    "NUL and halves of surrogate pairs": (
        "half of a pair \ud83d, the other one \udc80, nothing \x00, the end \uffff \x1b[0m \u202e"
    ),
}


@check("MP-DATA-004", budget_s=240.0)
def a_text_that_is_too_much_costs_no_later_one(run: Run) -> None:
    run.needs_route("turns", "writes", "tools")
    for route in filter(run.serves, routes.ROUTES):
        for number, (what, burden) in enumerate(_BURDENS.items()):
            _later_one_stays(run, route, what, burden, f"{route}-burden-{number}")


def _later_one_stays(run: Run, route: str, what: str, burden: str, name: str) -> None:
    _, lost = _after(run, route, run.own_home(f"{name}-none"), [_LINE])
    if lost:
        raise Untestable(f"an ordinary text stored through {route} did not come back")
    was, lost = _after(run, route, run.own_home(name), [burden])
    if not lost:
        return
    size = len(burden) // _PORTIONS
    portions = [burden[:size]] * _PORTIONS if burden is _HUGE else []
    if portions and _after(run, route, run.own_home(f"{name}-portions"), portions)[1]:
        raise Untestable("the store is full: see MP-WRITE-005; needs: a `config` with more room")
    run.violated(
        f"a text that was accepted after one of {what}, recalled after a new start",
        f"the one of {what} was {was}, and {lost.text!r}, accepted after it, did not come back",
        operation=routes.OPERATIONS[route],
    )


def _after(run: Run, route: str, home: Path, burdens: list[str]) -> tuple[str, Fact | None]:
    """What became of the burdens, and the fact that was accepted after them if it is lost."""
    fact = run.facts.new()
    with run.session(home, limits=_WIDE) as subject:
        taken = [routes.accepts(subject, route, burden) for burden in burdens]
        owed = routes.accepts(subject, route, fact.text, routes.reply_to(fact))
        # The last turn of a session has a rule of its own, MP-TURN-003.
        routes.accepts(subject, route, run.facts.new().text)
    with run.session(home, limits=_WIDE) as again:
        lost = owed and not losses.is_shown(run, again, fact)
    return "accepted" if all(taken) else "refused", fact if lost else None
