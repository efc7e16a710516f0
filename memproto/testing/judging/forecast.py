"""
How long checks will take, by their costs with providers that come with memproto, and the pace of
this one at first contact.

`check_costs.json` holds the costs; `scripts/make_check_costs.py` writes it from reports.
"""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memproto import spec
from memproto.operations import OPERATIONS
from memproto.testing.provider.subject import MAY_NEED_A_BACKEND
from memproto.testing.settings.order import Pace

_FILE = Path(__file__).with_name("check_costs.json")

#: Operations of which one that was not called at first contact takes as long as the others did.
_WAITING = MAY_NEED_A_BACKEND | {"open", "close"}

#: A target of which a call takes longer on the average is a slow one.
SLOW_S = 0.02

#: Processor seconds of the kit for one call: of the child, and of the parent that watches it.
_CALL_S = 0.001

#: Processor seconds of the kit for a child, a copy of a template, beside loading the target.
_START_S = 0.05


@dataclasses.dataclass(frozen=True)
class Cost:
    """
    The cost of one check.

    Attributes:
        own_s: Seconds beside the calls.
        calls: Operation to the number of calls, one after the other.
        further: Further calls of any hook, in processes of which the check's own does not know.

    """

    own_s: float = 0.5
    calls: Mapping[str, float] = dataclasses.field(default_factory=dict)
    further: float = 10.0


#: Of a check that none of those providers was judged by.
UNKNOWN = Cost(calls={"open": 6.0, "close": 6.0, "recall": 6.0})


@functools.cache
def costs() -> dict[str, Cost]:
    """The cost of each check; those that concerned none of the providers are missing."""
    rows: dict[str, dict[str, Any]] = json.loads(_FILE.read_text("utf-8"))
    return {name: Cost(**row) for name, row in rows.items()}


class Forecast:
    """
    The time that checks of one target will take.

    Args:
        pace: The times of its hooks.
        extensions: Those that it declares; without them, all operations may be called.

    Attributes:
        wait_s: Seconds that a call takes, on the average of the calls of all checks.
        computes: Share of the time in hooks in which the process computes, from 0 to 1.

    """

    def __init__(self, pace: Pace, extensions: Iterable[str] | None = None) -> None:
        self._pace = pace
        #: Operations that no check calls, since the target does not serve them.
        self._absent = frozenset(
            name
            for name, row in OPERATIONS.items()
            if extensions is not None and row.extension and row.extension not in extensions
        )
        self._took_s = {
            operation: _usual_s(*row) for operation, row in pace.hooks.items() if row[0]
        }
        known = [took_s for operation, took_s in self._took_s.items() if operation in _WAITING]
        self._other_s = sum(known) / len(known) if known else 0.0
        self.wait_s = self._mean_s(costs().values())
        self.computes = min(1.0, pace.computed_s / pace.hooks_s) if pace.hooks_s else 0.0

    def call_s(self, operation: str) -> float:
        """Seconds that a call takes; none of an operation that is not served."""
        if operation in self._absent:
            return 0.0
        return self._took_s.get(operation, self._other_s if operation in _WAITING else 0.0)

    def check_s(self, requirement: spec.Requirement) -> float:
        """Seconds that a check takes, without the start of its process."""
        cost = costs().get(requirement.id, UNKNOWN)
        return cost.own_s + self._calls_s(cost)

    def computed_s(
        self, requirements: Iterable[spec.Requirement], children: int, slowdown: float
    ) -> float:
        """
        Seconds for which checks in so many children need one processor, beside the hooks.

        The kit's own are those of a quiet machine, by `slowdown` longer on this one; the loading of
        the target was measured here.
        """
        found = (costs().get(item.id, UNKNOWN) for item in requirements)
        calls = sum(cost.further + sum(cost.calls.values()) for cost in found)
        own_s = _START_S * children + _CALL_S * calls
        return own_s * slowdown + self._pace.loaded_s * children

    def calls(self, requirements: Iterable[spec.Requirement]) -> float:
        """Number of calls that the checks make of hooks that may cost money."""
        found = (costs().get(item.id, UNKNOWN) for item in requirements)
        return sum(
            cost.further
            + sum(n for name, n in cost.calls.items() if name in MAY_NEED_A_BACKEND - self._absent)
            for cost in found
        )

    def _calls_s(self, cost: Cost) -> float:
        made = sum(count * self.call_s(name) for name, count in cost.calls.items())
        return made + cost.further * self._other_s

    def _mean_s(self, found: Iterable[Cost]) -> float:
        made = calls = 0.0
        for cost in found:
            waiting = [
                (name, count)
                for name, count in cost.calls.items()
                if name in _WAITING - self._absent
            ]
            made += sum(count * self.call_s(name) for name, count in waiting)
            calls += sum(count for _, count in waiting)
        return made / calls if calls else 0.0


def _usual_s(calls: float, longest_s: float, all_s: float) -> float:
    """The time of a call, without the one that may have connected, or loaded a model."""
    return all_s / calls if calls < 2 else (all_s - longest_s) / (calls - 1)


def makespan_s(units_s: Iterable[float], lanes: int) -> float:
    """Seconds until units are done that are given to lanes in this order, each as one is free."""
    ends = [0.0] * lanes
    for unit_s in units_s:
        ends[ends.index(min(ends))] += unit_s
    return max(ends)
