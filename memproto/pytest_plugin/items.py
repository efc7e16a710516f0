"""The items of the inner run: one for each requirement of each target, clients of a `Crew`."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memproto import spec
from memproto.errors import KitUsageError
from memproto.pytest_plugin.telling import ShownResult
from memproto.testing import untrusted_text
from memproto.testing.judging import attribution
from memproto.testing.judging.crew import Crew
from memproto.testing.outcomes import Result, merge
from memproto.testing.settings.order import Order

#: The property of a pytest report that carries everything that a check found.
PROPERTY = "memproto"

#: Property of an item that says why the run cannot go on as it was asked for.
USAGE = "memproto-usage"

#: The phase of a report that waits: its requirement may yet be found violated in another check.
HELD = "held"


@dataclasses.dataclass(frozen=True)
class Held:
    """A report that waits, and how long its check took."""

    report: pytest.TestReport
    took_s: float


#: The name of the package of checks.
SUITE = "conformance"


@dataclasses.dataclass
class Target:
    """
    One target of the run: its order, its judges, and the results that came in for it.

    Attributes:
        results: Everything that was found, in the order in which it came.
        told: The requirements that have a report in pytest.
        held: The reports that wait, by requirement.

    """

    order: Order
    judge: Crew
    wanted: list[spec.Requirement]
    results: list[Result] = dataclasses.field(default_factory=list)
    told: set[str] = dataclasses.field(default_factory=set)
    held: dict[str, Held] = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name of the target in node ids."""
        name = untrusted_text.one_line(self.order.target)
        return f"host {name}" if self.order.side == "host" else name

    def node_id(self, requirement: spec.Requirement) -> str:
        """The node id of the item for one requirement."""
        chapter = requirement.anchor.partition(".")[0]
        return f"{self.label}/{chapter}::{requirement.id}"

    def telling(
        self, requirement: spec.Requirement, *, strict: bool, follows: str = ""
    ) -> ShownResult:
        """The words for pytest on a requirement, from the one result that the report has too."""
        result = merge(self.results, [requirement.id])[requirement.id]
        return ShownResult(dataclasses.replace(result, follows=follows), self.order, strict)

    def red(self, *, strict: bool) -> set[str]:
        """The requirements for which a run is red, by what is known of the target so far."""
        merged = merge(self.results, dict.fromkeys(item.id for item in self.results))
        return {key for key, item in merged.items() if ShownResult(item, self.order, strict).is_red}


class SuiteDirectory(pytest.Directory):
    """Stands for the suite, and for the package above it: pytest walks down to the suite."""

    def __init__(self, *, targets: list[Target], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._targets = targets

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """One item for each requirement of each target, gates first as in the catalogue."""
        if self.path.name != SUITE:
            yield SuiteDirectory.from_parent(self, path=self.path / SUITE, targets=self._targets)
            return
        for target in self._targets:
            for requirement in target.wanted:
                yield ClauseItem.from_parent(
                    self,
                    name=requirement.id,
                    nodeid=target.node_id(requirement),
                    target=target,
                    requirement=requirement,
                )


class ClauseItem(pytest.Item):
    """
    One requirement of one target.

    Attributes:
        waits: True if checks of other requirements may find this one violated, so that nothing is
            said of it before the last of them.
        result: The result of the requirement, once its check has run.

    """

    def __init__(self, *, target: Target, requirement: spec.Requirement, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target = target
        self.requirement = requirement
        self.waits = requirement.id in attribution.found_elsewhere(requirement.side)
        self.result: Result | None = None
        # Under --dist=loadgroup a chapter stays in one worker, which can reuse its process.
        self.add_marker(pytest.mark.xdist_group(target.node_id(requirement).partition("::")[0]))

    def runtest(self) -> None:
        """Judge, and leave the results in the report; they are told by `ShownResult`."""
        try:
            results = self.target.judge.run(self.requirement)
        except KitUsageError as error:
            # A function of the user's does not work: the run ends after this item.
            said = untrusted_text.told(error, self.target.judge.hide)
            self.user_properties.append((USAGE, said))
            self.session.shouldstop = "a setting or the driver does not work"
            pytest.skip(said)
        self.user_properties.append((PROPERTY, json.dumps(rows(self.target.order, results))))
        self.result = merge(results, [self.requirement.id])[self.requirement.id]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show an error of the kit itself without a credential."""
        return self.target.judge.hide(str(super().repr_failure(excinfo, style)))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Place of the item, for pytest's own lines."""
        return self.path, None, f"{self.target.label} {self.requirement.id}"


def rows(order: Order, results: list[Result]) -> list[dict[str, Any]]:
    """Results as plain values, with their target."""
    return [
        {"target": order.target, "side": order.side, "result": result.as_dict()}
        for result in results
    ]
