"""Chapter 59: the wall clock, the time zone, and times that recall shows."""

import contextlib
import datetime as dt
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memproto.testing.clauses import Lost, NotApplicable, check
from memproto.testing.evidence import Differs, NotRecalled, Raised, Recalled
from memproto.testing.facts import Fact
from memproto.testing.instruments.walltime import (
    KATHMANDU,
    LOS_ANGELES,
    SHANGHAI,
    YEARS,
    WallClock,
    time_zone,
    wall_clock,
)
from memproto.testing.needs import depends_on
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import mirrored_writes
from memproto.testing.wire import show

#: Called before each part of a journey; the argument says what happens to the clock or the zone.
_Move = Callable[[str], None]

_Journey = Callable[[Run, str, Path | None, _Move], None]


class _Lost(Exception):
    """
    A text that was accepted on a journey did not come back.

    Attributes:
        evidence: The text, and when it was stored and asked for.

    """

    def __init__(self, evidence: NotRecalled) -> None:
        super().__init__(evidence)
        self.evidence = evidence


class _IsBack(Exception):
    """
    A text that was removed on a journey is recalled again.

    Attributes:
        evidence: The text, and when it was removed and asked for.

    """

    def __init__(self, evidence: Recalled) -> None:
        super().__init__(evidence)
        self.evidence = evidence


# -- the wall clock --------------------------------------------------------------------------------

_STILL = "while the wall clock stood still"
_BACK = "after it was set back by 20 years"
_AHEAD = "after it was set ahead by 20 years"
_AGAIN = "after it was set right again"
_RIGHT = "after it was set right a second time"
_LATER = "once the clock had come to its time"


@check("MP-TIME-001", calls_alone=False, budget_s=240.0)
def the_wall_clock_makes_no_difference(run: Run) -> None:
    for route in _served(run):
        _goes_well(run, route, _through_years, "with a running clock")
        with wall_clock() as clock:
            _goes_as_well(run, route, _through_years, _years_by(clock))


def _years_by(clock: WallClock) -> _Move:
    began = clock.now()
    right = dict.fromkeys((_STILL, _AGAIN, _RIGHT), began)
    moments = {**right, _BACK: began - YEARS, _AHEAD: began + YEARS, _LATER: began + YEARS}
    return lambda when: clock.jump(moments[when])


def _through_years(run: Run, route: str, home: Path | None, move: _Move) -> None:
    """
    Store and recall through the states of the clock.

    No text is asked for at an age of years: to let go of old ones may be a provider's policy. Nor
    has one to be shown whose time lies ahead of the clock: it is kept until that has come.
    """
    first, second, past, future, last = run.facts.several(5)
    move(_STILL)
    _one_session(run, home, route, first, second)
    _all_come_back(run, home, {first: _STILL, second: _STILL}, _STILL)
    removed = _removed(run, home, route)
    move(_BACK)
    _stays_removed(run, home, removed, _STILL, _BACK)
    is_shown = _asked_for(run, home, first)
    _one_session(run, home, route, past)
    _all_come_back(run, home, {past: _BACK}, _BACK)
    move(_AGAIN)
    asked = _AGAIN if is_shown else f"{_BACK}, nor {_AGAIN}"
    _all_come_back(run, home, {first: _STILL, second: _STILL}, asked)
    move(_AHEAD)
    _one_session(run, home, route, future)
    _all_come_back(run, home, {future: _AHEAD}, _AHEAD)
    move(_RIGHT)
    _one_session(run, home, route, last)
    _all_come_back(run, home, {last: _RIGHT}, _RIGHT)
    if not _asked_for(run, home, future):
        move(_LATER)
        _all_come_back(run, home, {future: _AHEAD}, _LATER)


# -- the time zone ---------------------------------------------------------------------------------

_EAST = "in the zone of Shanghai"
_WEST = "in the zone of Los Angeles"


@check("MP-TIME-002", calls_alone=False, budget_s=240.0)
def the_time_zone_makes_no_difference(run: Run) -> None:
    zones = {_EAST: SHANGHAI, _WEST: LOS_ANGELES}
    for route in _served(run):
        with time_zone(SHANGHAI) as use:
            _goes_well(run, route, _through_zones, "with one zone throughout")
            _goes_as_well(run, route, _through_zones, lambda when: use(zones[when]))


def _through_zones(run: Run, route: str, home: Path | None, move: _Move) -> None:
    """Store in one zone and recall in another, and change the zone within a session."""
    before, early, late = run.facts.several(3)
    move(_EAST)
    _one_session(run, home, route, before)
    removed = _removed(run, home, route)
    move(_WEST)
    _all_come_back(run, home, {before: _EAST}, _WEST)
    _stays_removed(run, home, removed, _EAST, _WEST)
    move(_EAST)
    with run.session(home) as subject:
        _store(run, subject, early, route)
        move(_WEST)
        _store(run, subject, late, route)
    _all_come_back(run, home, {before: _EAST, early: _EAST, late: _WEST}, _WEST)


# -- journeys --------------------------------------------------------------------------------------


def _served(run: Run) -> list[str]:
    run.needs_route(*routes.ROUTES)
    return [route for route in routes.ROUTES if run.serves(route)]


def _goes_well(run: Run, route: str, journey: _Journey, when: str) -> None:
    """
    Make the journey while nothing happens to time.

    Raises:
        Untestable: A text that it stores does not come back even so: that is for another rule.

    """
    try:
        journey(run, route, _home(run, route, "before"), lambda when: None)
    except _Lost:
        raise Lost(f"text stored through {route} did not come back {when}") from None
    except _IsBack:
        reason = f"text that was removed comes back {when}"
        raise Lost(reason, depends_on("MP-WRITE-004")) from None


def _goes_as_well(run: Run, route: str, journey: _Journey, move: _Move) -> None:
    """Make the journey; what it loses or raises now has no other reason than the time."""
    stages: list[str] = []

    def moved(when: str) -> None:
        stages.append(when)
        move(when)

    try:
        journey(run, route, _home(run, route, "moved"), moved)
    except _Lost as loss:
        stored_by = routes.OPERATIONS[route]
        run.violated(
            loss.evidence.told(
                wanted=(
                    f"what {run.hook(stored_by)} accepted recalled, as it is when the time "
                    "is left alone"
                ),
            ),
            operation=stored_by,
        )
    except _IsBack as back:
        run.violated(
            back.evidence.told(
                wanted="text that was removed gone from recall, as when the time is left alone"
            ),
            operation="mirror",
        )
    except HookRaised as failure:
        if failure.is_report or failure.ends_process:
            raise
        run.violated(
            Raised.by(
                failure.error,
                wanted=(
                    f"{run.hook(failure.operation)} returns, as it does when the time is left alone"
                ),
                hook=run.hook(failure.operation),
                lead=f"{stages[-1]} ",
            ),
            operation=failure.operation,
        )


def _home(run: Run, route: str, name: str) -> Path:
    """A home of the journey's own, if the binding has more than one."""
    return run.own_home(f"{route}-{name}")


def _one_session(run: Run, home: Path | None, route: str, *facts: Fact) -> None:
    with run.session(home) as subject:
        for fact in facts:
            _store(run, subject, fact, route)


def _store(run: Run, subject: Subject, fact: Fact, route: str) -> None:
    """Store a fact as a turn of a session does, with all that belongs to it."""
    subject.recall(fact.query)
    run.plant(subject, fact, route)
    if not run.lacks("compress"):
        routes.in_passing(lambda: subject.compress([{"role": "user", "content": fact.text}]))


def _removed(run: Run, home: Path | None, route: str) -> Fact | None:
    """A text that was added and removed, and is gone; None if the provider removes none."""
    target = next(iter(mirrored_writes.targets(run, "remove")), "")
    if route != "writes" or target not in mirrored_writes.targets(run, "add"):
        return None
    fact = run.facts.new()
    try:
        for action, text, old in (("add", fact.text, None), ("remove", "", fact.text)):
            with run.session(home) as subject:
                mirrored_writes.write(subject, action, target, text, old)
    except mirrored_writes.Refused:
        return None
    run.settle()
    is_gone = run.wait_until(lambda: not _is_shown(run, home, fact), run.freshness_s)
    return fact if is_gone else None


def _is_shown(run: Run, home: Path | None, fact: Fact) -> bool:
    with run.session(home) as again:
        return fact.is_in(routes.recalled(again, fact.query))


def _stays_removed(run: Run, home: Path | None, fact: Fact | None, when: str, asked: str) -> None:
    if fact is not None and _is_shown(run, home, fact):
        lead, tail = f"{asked}, {fact.query!r} brings ", f", which was removed {when}"
        raise _IsBack(Recalled(texts=(fact.text,), lead=lead, tail=tail))


def _asked_for(run: Run, home: Path | None, fact: Fact) -> bool:
    """True if a new instance shows the fact; what it raises is no less a fault than elsewhere."""
    return run.reopened_brings_back(fact, home)


def _all_come_back(run: Run, home: Path | None, facts: dict[Fact, str], asked: str) -> None:
    for fact in losses.lost(run, list(facts), home):
        about = f"stored {facts[fact]}"
        raise _Lost(NotRecalled(texts=(fact.text,), about=about, tail=f" {asked}"))


# -- times that recall shows -----------------------------------------------------------------------

_REGIONS = "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific"

#: A zone as it may stand behind a time: an offset, Z, UTC or GMT, a name of the zone database.
_ZONE = (
    r"(?:UTC|GMT)? ?(?P<sign>[+-])(?P<hours>\d\d)(?::?(?P<minutes>\d\d))?\b"
    rf"|(?P<utc>[Zz]|UTC|GMT)\b|(?:{_REGIONS})/\w+"
)
_TIME = re.compile(
    rf"(?<!\d)(?P<day>\d{{4}}-\d\d-\d\d)[Tt ](?P<time>\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?"
    rf"(?: ?[(\[]?(?P<zone>{_ZONE}))?"
)

#: Said once for all times of a text.
_SAID_ONCE = re.compile(r"\b(?:UTC|GMT)\b|[+-]\d\d:\d\d\b")

#: A time without a zone is one of this check where it is now in some zone.
_ANY_ZONE = dt.timedelta(hours=15)

#: Offset of a local time that is shown as UTC, or the reverse.
_OFF = dt.timedelta(seconds=-KATHMANDU.west_s)

#: Times may be cut to minutes.
_SLACK = dt.timedelta(seconds=90)


@check("MP-TIME-003", calls_alone=False, environment={"TZ": KATHMANDU.name})
def a_time_of_day_names_its_instant(run: Run) -> None:
    began, shown = dt.datetime.now(dt.UTC), 0
    with _in_kathmandu():
        for route in _served(run):
            for text in _recalled_texts(run, route):
                shown += _judge_times(run, text, began)
    if not shown:
        raise NotApplicable("recall shows no time of day")


@contextlib.contextmanager
def _in_kathmandu() -> Iterator[None]:
    """See to it that the zone is the one that was asked for, where there is no database of them."""
    if time.timezone == KATHMANDU.west_s:
        yield
        return
    with time_zone(KATHMANDU):
        yield


def _recalled_texts(run: Run, route: str) -> list[str]:
    """Recalls that bring a fact of the route back, without the fact itself."""
    fact, home = run.facts.new(), _home(run, route, "times")
    with run.session(home) as subject:
        run.plant(subject, fact, route)
        # A text that is told again may be shown with the time of that.
        routes.accepts(subject, route, fact.text, routes.reply_to(fact))
    with run.session(home) as again:
        heard = _listen(again)
        if not run.brings_back(again, fact):
            raise Lost(f"text stored through {route} did not come back")
    return [text.replace(fact.text, "") for text in heard if isinstance(text, str)]


def _listen(subject: Subject) -> list[Any]:
    """A list to which every answer of recall is added from now on."""
    heard: list[Any] = []
    recall = subject.recall

    def listening(query: str, messages: Any = None) -> Any:
        heard.append(recall(query, messages))
        return heard[-1]

    subject.recall = listening  # type: ignore[method-assign]
    return heard


def _judge_times(run: Run, text: str, began: dt.datetime) -> int:
    """Number of times of day that a text shows; those that mislead are violations."""
    times = list(_TIME.finditer(text))
    for shown in times:
        with contextlib.suppress(ValueError):  # the thirtieth of February
            read = dt.datetime.fromisoformat(f"{shown['day']} {shown['time']}+00:00")
            _judge_time(run, text, shown, read - began)
    return len(times)


def _judge_time(run: Run, text: str, shown: re.Match[str], ahead: dt.timedelta) -> None:
    """Judge a time that is `ahead` of the begin of the check if it is meant in UTC."""
    if not shown["zone"] and not _SAID_ONCE.search(text):
        if abs(ahead) <= _ANY_ZONE:
            run.violated(
                Differs(
                    wanted="a time of day with its offset from UTC beside it",
                    seen=f"{shown.group()!r} without one, in {show(text)}",
                ),
            )
    elif shown["sign"] or shown["utc"]:
        late = ahead - _offset(shown)
        if any(abs(late - off) <= _SLACK for off in (_OFF, -_OFF)):
            run.violated(
                Differs(
                    wanted="the instant at which the text was stored",
                    seen=(
                        f"{shown.group()!r}, which is 5:45 h from it, in a process whose zone "
                        "is +05:45"
                    ),
                ),
            )


def _offset(shown: re.Match[str]) -> dt.timedelta:
    hours, minutes = int(shown["hours"] or 0), int(shown["minutes"] or 0)
    offset = dt.timedelta(hours=hours, minutes=minutes)
    return -offset if shown["sign"] == "-" else offset
