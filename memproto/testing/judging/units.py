"""The pieces into which the checks of one target are cut, and the results of one made ahead."""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Iterable

from memproto import spec
from memproto.testing import clauses, outcomes, spread
from memproto.testing.judging.forecast import Forecast
from memproto.testing.needs import Setting
from memproto.testing.outcomes import Outcome, Result

GREEN = (Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED, Outcome.WAIVED)


@dataclasses.dataclass(frozen=True)
class Unit:
    """
    Requirements that one process checks in this order, or a part of one.

    Attributes:
        requirements: In the order in which they are asked for.
        takes_s: Seconds that this will take.
        part: Number of the part, and of the parts.
        is_whole: True if these are all of the checks that share a process one after the other. They
            are believed together, or not at all.
        is_last: True if no process comes behind theirs one after the other.

    """

    requirements: tuple[spec.Requirement, ...]
    takes_s: float
    part: tuple[int, int] = (0, 1)
    is_whole: bool = False
    is_last: bool = False

    @property
    def chapter(self) -> str:
        """The chapter of the specification, by its file."""
        return self.requirements[0].anchor.partition("#")[0]

    @property
    def name(self) -> str:
        """The first requirement, which is in one whole unit alone."""
        return self.requirements[0].id

    @property
    def ids(self) -> set[str]:
        """The requirements by their ids."""
        return {item.id for item in self.requirements}


@dataclasses.dataclass
class Ahead:
    """
    Results of a check that was made ahead.

    Attributes:
        results: As `Judge.run` gave them.
        withdrawn: Operations that were not called any more in it.
        lost: Operation to the number of hangs and deaths that it added.
        is_limited: True if the backend asked for a pause in it each time.
        is_mixed: True if the requirement concerns the target by some of its parts alone.

    """

    results: list[Result]
    withdrawn: frozenset[str]
    lost: dict[str, int]
    is_limited: bool
    is_mixed: bool = False

    @property
    def called(self) -> set[str]:
        """The operations that were called."""
        return {operation for result in self.results for operation in result.hooks}

    @property
    def outcomes(self) -> set[tuple[str, Outcome]]:
        """The outcomes that are not green, by requirement."""
        return {(item.id, item.outcome) for item in self.results if item.outcome not in GREEN}

    @property
    def is_unpaid(self) -> bool:
        """True if calls were left out because the share of the allowed calls was used up."""
        return any(
            isinstance(need, Setting) and need.name == "max_hook_calls"
            for result in self.results
            for need in result.needs
        )


def by_check(wanted: list[spec.Requirement], forecast: Forecast) -> list[Unit]:
    """The longest first; checks of one observation together, in the order in which they came."""
    together: dict[str, list[spec.Requirement]] = {}
    for requirement in wanted:
        check = clauses.checks(requirement.side).get(requirement.id)
        name = check.observation if check and check.observation else requirement.id
        together.setdefault(name, []).append(requirement)
    units: list[Unit] = []
    for items in together.values():
        takes_s = sum(map(forecast.check_s, items))
        check = clauses.checks(items[0].side).get(items[0].id)
        parts = check.parts if check and len(items) == 1 else 1
        units += [Unit(tuple(items), takes_s / parts, (part, parts)) for part in range(parts)]
    return _longest_first(units)


def by_process(wanted: list[spec.Requirement], forecast: Forecast) -> list[Unit]:
    """The longest first; together those that share a process if they run one after the other."""
    parts = [tuple(items) for _, items in itertools.groupby(wanted, _process)]
    units = [
        Unit(
            items,
            sum(map(forecast.check_s, items)),
            is_whole=True,
            is_last=items is parts[-1],
        )
        for items in parts
    ]
    return _longest_first(units)


def _process(requirement: spec.Requirement) -> tuple[object, ...]:
    """The things that two checks in a row must have in common for one process, see `Judge`."""
    check = clauses.checks(requirement.side).get(requirement.id)
    chapter = requirement.anchor.partition("#")[0]
    return (chapter, check.apart, sorted(check.environment.items())) if check else (chapter,)


def _longest_first(units: Iterable[Unit]) -> list[Unit]:
    return sorted(units, key=lambda unit: -unit.takes_s)


def joined(requirement_id: str, parts: list[Ahead]) -> Ahead:
    """The parts of a check as one."""
    if len(parts) == 1:
        return parts[0]
    results = [item for part in parts for item in part.results]
    mine = [item for item in results if item.id == requirement_id]
    lost: collections.Counter[str] = collections.Counter()
    hooks: spread.Calls = {}
    times: dict[str, spread.Spread] = {}
    for part in parts:
        lost.update(part.lost)
    for item in mine:
        spread.add_calls(hooks, item.hooks)
        for operation, took in item.times.items():
            spread.add(times.setdefault(operation, {}), took)
    said = {item.outcome for item in mine}
    took_s = sum(item.duration_s for item in mine)
    worst = functools.reduce(outcomes.worse, mine)
    whole = dataclasses.replace(worst, hooks=hooks, times=times, duration_s=took_s)
    return Ahead(
        [whole, *(item for item in results if item.id != requirement_id)],
        frozenset[str]().union(*(part.withdrawn for part in parts)),
        dict(lost),
        is_limited=any(part.is_limited for part in parts),
        is_mixed=len(said) > 1 and Outcome.NOT_APPLICABLE in said,
    )
