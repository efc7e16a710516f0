"""
Units that were checked ahead and are believed as a whole, or not at all.

A unit holds all checks that share a process one after the other, so the process has been through
the same. Its results are what they are one after the other if all are green, and if nothing that
it or an earlier check did bears on a later one. If not, the judge who leads makes all of it again.
"""

import dataclasses
from collections.abc import Iterable

from memproto.testing.judging.units import GREEN, Unit
from memproto.testing.outcomes import Result


@dataclasses.dataclass
class Made:
    """
    A unit that a judge has checked ahead.

    Attributes:
        unit: The unit.
        results: By requirement, as `Judge.run` gave them, as far as it came.
        elsewhere: Results of checks of other units, found late.
        outward: Addresses outside of the machine that were tried in it, and who asked.
        starters: The checks for which processes were started.
        limited_s: The longest time after which a hook asked to be called again, in its last check.
        is_clean: True if it came to its end, all is green, and nothing bears on a later check.
        is_lasting: True if something bears on a later check: no other unit is of use then.

    """

    unit: Unit
    results: dict[str, list[Result]] = dataclasses.field(default_factory=dict)
    elsewhere: list[Result] = dataclasses.field(default_factory=list)
    outward: dict[str, str] = dataclasses.field(default_factory=dict)
    starters: list[str] = dataclasses.field(default_factory=list)
    limited_s: float = 0.0
    is_clean: bool = False
    is_lasting: bool = False

    def note(self, results: Iterable[Result], requirement_id: str = "") -> bool:
        """Take in results; True if those of this unit are green."""
        mine: list[Result] = []
        for item in results:
            (mine if checked_in(item) in self.unit.ids else self.elsewhere).append(item)
        if requirement_id:
            self.results[requirement_id] = mine
        return all(item.outcome in GREEN for item in mine)


class Wholes:
    """
    The whole units of one target, and which of them are believed.

    Assumes:
        Callers hold one lock.
    """

    def __init__(self, units: Iterable[Unit] = ()) -> None:
        self._units = {item.id: unit for unit in units for item in unit.requirements}
        self._open = {unit.name for unit in self._units.values()}
        self._made: dict[str, Made] = {}
        self._decided: dict[str, bool] = {}
        #: Number of units that were checked ahead in vain.
        self.doubted = 0

    def of(self, requirement_id: str) -> Unit | None:
        """The whole unit of a requirement, if it has one."""
        return self._units.get(requirement_id)

    def is_open(self, unit: Unit) -> bool:
        """True if a unit may still be checked ahead."""
        return unit.name in self._open

    def give_up(self, units: Iterable[Unit]) -> None:
        """Units that nobody checks ahead any more."""
        self._open -= {unit.name for unit in units}

    def take(self, made: Made) -> None:
        """A unit that was checked ahead."""
        self._open.discard(made.unit.name)
        self._made[made.unit.name] = made
        self.doubted += not made.is_clean

    def is_believed(self, unit: Unit, *, is_unchanged: bool) -> bool:
        """
        True if the results ahead count; the same from the first call on.

        `is_unchanged` says that nothing bears on the checks of this unit one after the other.
        """
        if unit.name not in self._decided:
            made = self._made.get(unit.name)
            self._decided[unit.name] = is_unchanged and made is not None and made.is_clean
        return self._decided[unit.name]

    def made(self, unit: Unit) -> Made:
        """A unit as it was checked ahead."""
        return self._made[unit.name]


def checked_in(result: Result) -> str:
    """The requirement in whose check a result was found."""
    return result.seen_in or result.id
