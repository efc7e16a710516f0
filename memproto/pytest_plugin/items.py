"""The items of the inner run: one for each requirement of each target, clients of a `Judge`."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from memproto import spec
from memproto.errors import KitUsageError
from memproto.pytest_plugin import junit
from memproto.report import message
from memproto.testing import wire
from memproto.testing.contact import Order
from memproto.testing.judge import SCORED_AT_CONTACT, Judge
from memproto.testing.outcomes import Outcome, Result

#: The property of a pytest report that carries results.
PROPERTY = "memproto"

#: That of one which says why the run cannot go on as it was asked for.
USAGE = "memproto-usage"


#: The name of the package of checks.
SUITE = "conformance"


@dataclasses.dataclass
class Target:
    """
    One target of the run: its order, its judge, and the results that came in for it.

    Attributes:
        met: Those results that no item shows: of first contact, and of what came late.
        told: The rules whose violation an item of this process has shown.
        coming: The rules whose items were collected, and not run by this process.
        kept: What another item has met of a rule whose own item is coming, to be shown by that.

    """

    order: Order
    judge: Judge
    wanted: list[spec.Requirement]
    results: list[Result] = dataclasses.field(default_factory=list)
    met: list[Result] = dataclasses.field(default_factory=list)
    told: set[str] = dataclasses.field(default_factory=set)
    coming: set[str] = dataclasses.field(default_factory=set)
    kept: dict[str, Result] = dataclasses.field(default_factory=dict)

    @property
    def label(self) -> str:
        """How the target is called in node ids."""
        # pytest writes node ids to files; a path may hold what no file of text does.
        named = wire.in_one_line(self.order.target)
        return f"host {named}" if self.order.side == "host" else named

    def messages(self) -> list[str]:
        """What no item shows and what is red, one message for each requirement."""
        red = {item.id: item for item in reversed(self.met) if item.outcome in SCORED_AT_CONTACT}
        shown = {item.id for item in self.results if item.outcome in SCORED_AT_CONTACT}
        told = shown | {key for key, item in red.items() if self.order.waivers.covers(item)}
        return [message.render(item, self.order) for key, item in red.items() if key not in told]

    def node_id(self, requirement: spec.Requirement) -> str:
        """The node id of the item for one requirement."""
        chapter = requirement.anchor.partition(".")[0]
        return f"{self.label}/{chapter}::{requirement.id}"


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
    """One requirement of one target."""

    def __init__(self, *, target: Target, requirement: spec.Requirement, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target = target
        self.requirement = requirement
        # Under --dist=loadgroup a chapter stays in one worker, which can reuse its process.
        self.add_marker(pytest.mark.xdist_group(target.node_id(requirement).partition("::")[0]))

    def runtest(self) -> None:
        """Judge, leave the results in the report, and end as pytest expects it."""
        try:
            results = self.target.judge.run(self.requirement)
        except KitUsageError as error:
            self._stop(str(error))
        shown = self._to_be_shown(results)
        hidden = [item for item in results if item not in shown]
        found = rows(self.target.order, shown, hidden)
        self.user_properties.append((PROPERTY, json.dumps(found)))
        waivers = self.target.order.waivers
        self.user_properties += junit.properties(self.requirement, shown, waivers)
        bare = [item for item in shown if not waivers.covers(item)]
        red = [item for item in bare if item.outcome in (Outcome.FAIL, Outcome.KIT_ERROR)]
        warned = [item for item in bare if _counts_as_warning(item)]
        if red or (warned and self.config.option.memproto_strict):
            raise Red(red or warned, self.target)
        if waivers.covers(results[0]):
            pytest.skip(f"waived: {waivers.reason(results[0].id)}")
        if results[0].outcome not in (Outcome.PASS, Outcome.WARN):
            pytest.skip(f"{results[0].outcome.replace('_', ' ')}: {results[0].reason}")

    def _to_be_shown(self, results: list[Result]) -> list[Result]:
        """Its own result, what earlier ones met of its rule, and of others only what none shows."""
        own, target = self.requirement.id, self.target
        target.coming.discard(own)
        red = [item for item in results if item.outcome in SCORED_AT_CONTACT]
        target.kept.update((item.id, item) for item in red if item.id in target.coming)
        hidden = target.told | target.coming
        shown = [item for item in results if item.id == own or item.id not in hidden]
        if own in target.kept and not any(item.id == own for item in red):
            shown.append(target.kept[own])
        target.told.update(item.id for item in shown if item.outcome in SCORED_AT_CONTACT)
        return shown

    def _stop(self, usage: str) -> NoReturn:
        """Have the run end after this item: what the user set does not work."""
        self.user_properties.append((USAGE, usage))
        self.session.shouldstop = "the settings do not work"
        pytest.skip(usage)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the finding instead of the kit's own stack."""
        if isinstance(excinfo.value, Red):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the item stands, for pytest's own lines."""
        return self.path, None, f"{self.target.label} {self.requirement.id}"


def _counts_as_warning(result: Result) -> bool:
    """Whether a strict run is red for it: what only backs up a duty of the host never counts."""
    return result.outcome is Outcome.WARN and not spec.requirement(result.id).defensive


class Red(Exception):
    """The item is red; its text is the message that the author reads."""

    def __init__(self, results: list[Result], target: Target) -> None:
        order = target.order
        super().__init__("\n\n".join(message.render(item, order) for item in results))


def rows(
    order: Order, shown: list[Result], hidden: list[Result] | None = None
) -> list[dict[str, Any]]:
    """Results as plain values, with their target, and whether the item that has them shows them."""
    return [
        {
            "target": order.target,
            "side": order.side,
            "result": result.as_dict(),
            "shown": is_shown,
            "waived": order.waivers.covers(result),
        }
        for found, is_shown in ((shown, True), (hidden or [], False))
        for result in found
    ]
