"""
Waivers: requirements that may fail for now, each with a reason, an issue, an owner and an end.

A waiver is read from the settings, or from the file that they name, and judged by the UTC date of
the run. A fault of one is red: a waiver that nobody looks at hides what it was made for.
"""

import dataclasses
import datetime as dt
from collections.abc import Iterable
from typing import Any

from memproto import spec
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings import waiver_entries
from memproto.testing.settings.waiver_entries import Entry, Fault, Waiver

#: From so many days before its end a waiver is warned of.
WARNED_DAYS = 14

#: Outcomes that say nothing of whether the rule holds: a waiver is neither used nor stale then.
_UNDECIDED = frozenset(
    {Outcome.UNTESTABLE, Outcome.INCONCLUSIVE, Outcome.NOT_RUN, Outcome.KIT_ERROR}
)


@dataclasses.dataclass(frozen=True)
class Note:
    """Something about a waiver that its owner should know, and that is not red."""

    id: str
    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Book:
    """
    The waivers of one target on one day.

    Attributes:
        today: The UTC date that they are judged by.
        strict: True if a SHOULD that does not hold is red, and so in need of a waiver.
        profile: The profile of the run; it cannot say that a waiver of a greater one is stale.
        valid: Those that hold, by requirement.
        faults: The faults of the others.

    """

    today: dt.date = dt.date.min
    strict: bool = False
    valid: dict[str, Waiver] = dataclasses.field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    profile: str = waiver_entries.PROFILES[0]

    def covers(self, result: Result) -> bool:
        """True if the result would be red, and a waiver has it not be."""
        if result.id not in self.valid:
            return False
        if result.outcome is Outcome.FAIL:
            return True
        warned = self.strict and result.outcome is Outcome.WARN
        return warned and not spec.requirement(result.id).defensive

    def applied(self, results: Iterable[Result]) -> list[Result]:
        """The final results of a target, those that a waiver covers as `waived`."""
        return [
            dataclasses.replace(item, outcome=Outcome.WAIVED, reason=self.reason(item.id), needs=())
            if self.covers(item)
            else item
            for item in results
        ]

    def reason(self, requirement_id: str) -> str:
        """The reason of a waived requirement."""
        waiver = self.valid[requirement_id]
        return f"{waiver.reason} ({waiver.issue}; {waiver.owner}; until {waiver.expires})"

    def stale(self, results: Iterable[Result]) -> list[Fault]:
        """
        The waivers of rules that hold; `results` are final, before `applied`.

        One that fails only under a greater profile may hold under this one, and is not stale; one
        of a baseline is a note.
        """
        held = [item.id for item in results if item.outcome is Outcome.PASS]
        mine = [self.valid[key] for key in held if key in self.valid]
        return [
            waiver_entries.stale(waiver, self.profile)
            for waiver in mine
            if waiver.is_judged(self.profile) and not waiver.is_baseline
        ]

    def notes(self, results: Iterable[Result]) -> list[Note]:
        """Waivers that end soon, or that nothing needs here; `results` as for `stale`."""
        found = {item.id: item for item in results}
        mine = [waiver for key, waiver in self.valid.items() if key in found]
        notes = [self._note(waiver, found[waiver.id]) for waiver in mine]
        return [*filter(None, map(self._ending, mine)), *filter(None, notes)]

    def _ending(self, waiver: Waiver) -> Note | None:
        days = (waiver.expires - self.today).days
        if days > WARNED_DAYS:
            return None
        when = {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")
        text = f"{waiver.place}: the waiver of {waiver.id} ends {when}, on {waiver.expires}"
        return Note(waiver.id, "ends_soon", f"{text} ({waiver.owner}, {waiver.issue})")

    def _note(self, waiver: Waiver, result: Result) -> Note | None:
        outcome = result.outcome
        if outcome is Outcome.PASS and waiver.is_baseline and waiver.is_judged(self.profile):
            text = f"{waiver.place}: {waiver.id} holds now; remove {waiver.line or 'the entry'}"
            return Note(waiver.id, "mended", text)
        if outcome is Outcome.PASS or outcome in _UNDECIDED or self.covers(result):
            return None
        why = f"{waiver.id} is {outcome.replace('_', ' ')} here, which needs no waiver"
        return Note(waiver.id, "not_needed", f"{waiver.place}: {why}")


def book(
    entries: dict[str, Entry],
    today: dt.date,
    *,
    side: spec.Side,
    strict: bool = False,
    profile: str = waiver_entries.PROFILES[0],
) -> Book:
    """The entries of the settings as they hold for targets of `side` on the UTC date `today`."""
    valid: dict[str, Waiver] = {}
    faults: list[Fault] = []
    for entry in entries.values():
        waiver, wrong = waiver_entries.judged(entry, today)
        faults += wrong
        if waiver is not None and spec.requirement(waiver.id).side == side:
            valid[waiver.id] = waiver
    return Book(today, strict, valid, tuple(faults), profile)


def today() -> dt.date:
    """The date in UTC; asked for once in a run, so that none of it is on another day."""
    return dt.datetime.now(dt.UTC).date()


def as_row(book: Book, result: Result) -> dict[str, Any] | None:
    """The waiver of a result as the report has it; None for none. `result` is not yet waived."""
    waiver = book.valid.get(result.id)
    if waiver is None or result.outcome is Outcome.PASS:
        return None
    kept = {"reason": waiver.reason, "issue": waiver.issue, "owner": waiver.owner}
    return {**kept, "expires": str(waiver.expires), "outcome": str(result.outcome)}
