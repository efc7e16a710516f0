"""Sequences of steps, drawn by Hypothesis: one that loses something, made short and tried again."""

import contextlib
import dataclasses
import itertools
import random
import sys
from collections.abc import Iterator
from time import monotonic
from typing import Any

from memproto.testing.clauses import Inconclusive, NotApplicable, Untestable, Violation
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookLate, HookRaised
from memproto.testing.scenarios import mirrored_writes
from memproto.testing.scenarios.machine import Loss, Machine, Step, serves, vocabulary

#: Number of steps that are drawn; a part of them finds nothing to act on.
STEPS = 18

#: Number of sequences that are lived through if each call may cost money.
_FEW = 2

#: Seconds for which a provider that is slow inside its bounds is tried.
PATIENCE_S = 60.0

#: Seconds for which a sequence that loses something is made shorter.
_SHORTEN_S = 15.0

Steps = tuple[Step, ...]

#: Exceptions that end the search at once: they would come again and belong to another rule.
_STOPS = (HookRaised, HookLate, Violation, Untestable, NotApplicable, Inconclusive)


@dataclasses.dataclass(frozen=True)
class Found:
    """A sequence of steps that loses something, and what."""

    steps: Steps
    loss: Loss


@dataclasses.dataclass(frozen=True)
class Order:
    """
    An order of calls in which providers of the field lost a text.

    Attributes:
        steps: The order.
        plain: The same calls with texts that have nothing to do with one another; if these lose
            one as well, other rules judge that.

    """

    steps: Steps
    plain: Steps


def known(run: Run) -> list[Order]:
    """The orders that the provider has hooks for, and routes by which their texts come back."""
    turn, again = Step("record"), Step("record", fact="again")
    orders: list[Order] = []
    if run.serves("turns"):
        orders.append(Order((turn, Step("close"), again), (turn, Step("close"), turn)))
        if not run.lacks("compress"):
            shown = Step("compress", fact="next")
            orders.append(Order((turn, shown, turn), (turn, Step("compress"), turn)))
    if run.serves("writes"):
        orders += _of_writes(run)
    if serves(run, "forget"):
        told = turn if run.serves("turns") else _add(mirrored_writes.targets(run, "add"))
        if told is not None:
            orders += [
                Order((told, Step("forget", fact=scope), told), (told, told))
                for scope in ("", "session")
            ]
    return orders


def _add(targets: list[str]) -> Step | None:
    return Step("mirror", "add", targets[0]) if targets else None


def _of_writes(run: Run) -> Iterator[Order]:
    added, removed, replaced = (
        mirrored_writes.targets(run, action) for action in ("add", "remove", "replace")
    )
    for target in added:
        add, equal = (Step("mirror", "add", target, fact=fact) for fact in ("", "again"))
        yield Order((add, Step("close"), equal), (add, Step("close"), add))
        remove, others = Step("mirror", "remove", target), [to for to in added if to != target]
        if target in removed and run.serves("turns"):
            turn, again = Step("record"), Step("record", fact="again")
            yield Order((turn, equal, remove, again), (turn, add, remove, turn))
        if target in removed:
            yield Order((Step("mirror", "remove", target, fact="both"),), (add, add))
        if target in removed and others:
            beside, there = (Step("mirror", "add", others[0], fact=fact) for fact in ("again", ""))
            yield Order((add, beside, remove), (add, there, remove))
        if target in replaced:
            yield Order((Step("mirror", "replace", target, fact="odd"),), (add, add, add, add))


class _Lost(Exception):
    """A sequence lost something."""


class Search:
    """
    Looks for a sequence after which something that was accepted does not come back.

    Attributes:
        accepted: Number of texts that were accepted, in all sequences.

    """

    def __init__(self, run: Run) -> None:
        self.accepted = 0
        self._run = run
        self._numbers = itertools.count(1)
        self._chance = _Chance()
        self._shortest: Found | None = None
        self._stopped: BaseException | None = None
        self._until = monotonic() + PATIENCE_S * run.context.scale

    def tried(self, steps: Steps) -> Loss | None:
        """
        Live one sequence through, and give what was lost.

        Raises:
            HookRaised: A hook raised what is no refusal.
            HookLate: A hook returned after its budget.

        """
        machine = Machine(self._run, self._home())
        loss = machine.live(steps)
        self.accepted += len(machine.owed)
        return loss

    def known(self) -> Found | None:
        """
        The first of the known orders that loses a text, twice, while its plain calls lose none.

        Raises what hooks raised, as `tried`. A provider whose calls cost money is not asked.
        """
        if self._run.watch.calls_left is not None:
            return None
        for order in known(self._run):
            if monotonic() > self._until:
                break
            loss = self.tried(order.steps)
            if loss and not self.tried(order.plain) and self.tried(order.steps):
                return Found(order.steps, loss)
        return None

    def _home(self) -> Any:
        return self._run.own_home(f"life-{next(self._numbers)}")

    def shortest(self) -> Found | None:
        """The shortest sequence found that lost something, or None; raises what hooks raised."""
        from hypothesis import errors, given
        from hypothesis import strategies as st

        steps = vocabulary(self._run)
        # Each kind of step comes as often as every other, to however many targets it applies.
        kinds = [
            st.sampled_from([step for step in steps if (step.operation, step.action) == kind])
            for kind in dict.fromkeys((step.operation, step.action) for step in steps)
        ]
        step = st.one_of(st.none(), *kinds)
        drawn = given(st.lists(step, min_size=STEPS, max_size=STEPS))(self._holds)
        with contextlib.suppress(_Lost, errors.Flaky):
            self._examples(drawn)
        if self._stopped is not None:
            raise self._stopped
        return self._shortest

    def _examples(self, test: Any) -> None:
        from hypothesis import HealthCheck, Phase, seed, settings

        is_deep = self._run.context.profile == "deep"
        is_metered = self._run.watch.calls_left is not None
        shape = settings(
            max_examples=_FEW if is_metered else self._run.examples,
            deadline=None,
            database=None,
            derandomize=not is_deep,
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )
        (seed(self._run.context.seed)(shape(test)) if is_deep else shape(test))()

    def _holds(self, drawn: list[Step | None]) -> None:
        if self._stopped is not None or monotonic() > self._until:
            return
        steps = tuple(step for step in drawn if step is not None)
        try:
            with self._chance.own():
                loss = self.tried(steps)
        except _STOPS as error:
            self._stopped = error
            return
        if loss is not None:
            self._keep(Found(steps, loss))
            raise _Lost

    def _keep(self, found: Found) -> None:
        if self._shortest is None:
            shorten_s = _SHORTEN_S * self._run.context.scale
            self._until = min(self._until, monotonic() + shorten_s)
        if self._shortest is None or len(found.steps) <= len(self._shortest.steps):
            self._shortest = found


class _Chance:
    """
    The global random numbers as a provider would see them without Hypothesis.

    Hypothesis begins each example with the same ones: ids that a provider draws would come twice.
    """

    def __init__(self) -> None:
        self._state = random.getstate()

    @contextlib.contextmanager
    def own(self) -> Iterator[None]:
        """Go on, in the body, where the last body ended."""
        numbers: Any = getattr(sys.modules.get("numpy"), "random", None)
        random.setstate(self._state)
        if numbers is not None:
            numbers.seed()
        try:
            yield
        finally:
            self._state = random.getstate()


def alone(found: Found, *beside: str) -> Steps:
    """The steps of the operation that accepted what was lost, those of `beside`, and the ends."""
    kept = {found.loss.operation, "close", *beside}
    return tuple(step for step in found.steps if step.operation in kept)
