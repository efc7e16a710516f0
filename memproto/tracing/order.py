"""The order of the calls of one instance, by `lifecycle.toml`."""

import dataclasses
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from memproto import bindings, lifecycle
from memproto.bindings import Binding
from memproto.operations import OPERATIONS
from memproto.tracing.lines import is_number
from memproto.tracing.reading import Call, Provider

#: A line of the file, the rule that is violated there, and what was seen.
Seen = tuple[int, str, str]

#: The rule on calls that no other one forbids.
_LIFE = "MP-HOST-LIFE-001"

#: Operation to the key of the configuration's `deadlines` that says when the host gives it up.
_DEADLINES = {
    "open": "initialize_s",
    "recall": "enrich_s",
    "items": "enrich_s",
    "compress": "compress_s",
    "compress_notes": "compress_s",
    "turn_start": "turn_start_s",
    "call_tool": "tool_s",
}

#: The part of the exit budget that a host has let pass before it closes beside a write.
_MOST_OF_THE_BUDGET = 0.5


@dataclasses.dataclass(frozen=True)
class Told:
    """
    The history of one instance, as a trace tells it.

    Attributes:
        provider: The instance.
        calls: Its calls, in the order in which they began.
        ended_s: When the last line of the trace was written.
        is_over: True if what did not happen will not happen any more.

    """

    provider: Provider
    calls: Sequence[Call]
    ended_s: float
    is_over: bool

    @property
    def binding(self) -> Binding:
        """The binding whose hooks they are; reading has let no other name through."""
        return bindings.named(self.provider.binding) or bindings.NATIVE

    def of(self, *operations: str) -> list[Call]:
        """The calls of some operations."""
        return [call for call in self.calls if call.operation in operations]

    def first(self, operation: str) -> Call | None:
        """The first call of an operation that returned, or None."""
        returned = (call for call in self.of(operation) if call.outcome == "returned")
        return next(returned, None)

    @property
    def served(self) -> tuple[str, ...]:
        """The declared extensions; none where the provider was not asked."""
        declared = self.first("declare")
        return tuple(words(declared.found.get("extensions"))) if declared else ()

    def opening(self, name: str) -> Any:
        """The value that the host told the provider when it opened it."""
        opened = self.first("open")
        return opened.facts.get(name) if opened else None

    def deadline_s(self, operation: str, default: float) -> float:
        """When the host gives a call up, as it told the provider, or the default."""
        opened = self.of("open")
        given = opened[0].facts.get("deadlines") if opened else None
        value = given.get(_DEADLINES.get(operation, operation)) if isinstance(given, dict) else None
        return float(value) if is_number(value) else default


def words(value: object) -> list[str]:
    """The texts in a list that somebody wrote."""
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def seen(told: Told) -> Iterator[Seen]:
    """The calls that were out of order."""
    return _Walk(told).seen()


class _Walk:
    """One instance on its way through the states, line by line."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._life = lifecycle.life()
        self._state = self._life.start
        self._running: list[Call] = []
        self._called: set[str] = set()
        self._undeclared = False
        self._served_s = -inf  # the last moment of which it is known that the host served turns

    def seen(self) -> Iterator[Seen]:
        steps: list[tuple[float, Call, bool]] = []
        for call in self._told.calls:
            steps += [(call.began, call, True), (call.ended, call, False)]
        for at, call, begins in sorted(steps, key=lambda step: step[0]):
            if begins:
                yield from self._begin(call)
            elif at < inf:
                self._end(call)

    def _begin(self, call: Call) -> Iterator[Seen]:
        found = self._out_of_place(call) or self._beside(call) or self._too_soon(call)
        if found:
            yield (call.line, *found)
            self._go_on_from(call)
        self._running.append(call)
        self._called.add(call.operation)
        if call.operation in ("recall", "turn_start", "items"):
            self._served_s = call.began_s
        self._move(call, "begins")

    def _end(self, call: Call) -> None:
        self._running.remove(call)
        if call.operation in ("open", "declare"):
            self._served_s = call.began_s + call.took_s
        self._move(call, "ends")
        self._move(call, _outcome(call))
        if self._state == "open" and not self._told.binding.can_declare:
            self._state = self._life.after(self._state, "declare", "returns")

    def _go_on_from(self, call: Call) -> None:
        """Take a step that was left out as made, so that it is told once."""
        if call.operation == "open" and self._state in ("built", "unavailable"):
            self._state = "available"
        elif self._state == "open" and call.operation in self._life.states["session"].calls:
            self._state, self._undeclared = "session", True

    def _move(self, call: Call, outcome: str) -> None:
        self._state = self._life.after(self._state, call.operation, outcome)

    # -- what is wrong with a call ----------------------------------------------------------------

    def _out_of_place(self, call: Call) -> tuple[str, str] | None:
        operation, state = call.operation, self._state
        if operation in self._life.allows(state) or _is_routing(operation, state):
            return None
        if operation == "declare" and self._undeclared:
            self._undeclared = False  # that it is late was told where it was missing
            return None
        name, where = _name_of_place(operation, state), self._life.states[state]
        return name, f"`{call.hook}` came where the instance is {where.name!r}: {where.text}"

    def _beside(self, call: Call) -> tuple[str, str] | None:
        for other in self._running:
            name = self._in_the_way(other, call)
            if name:
                return name, (
                    f"`{call.hook}` began while `{other.hook}` (line {other.line}) was running"
                )
        return None

    def _in_the_way(self, other: Call, call: Call) -> str:
        """The rule that keeps `call` from running beside `other`, or ""."""
        ours, theirs = self._life.lane(call.operation), self._life.lane(other.operation)
        if ours is None or theirs is None:
            return ""
        if call.operation == "close" and theirs.name == "writes":
            return "MP-HOST-SHUT-001" if self._is_early(call) else ""
        same = call.operation == other.operation
        if theirs.alone or ours.alone:
            return "" if same or ours.alone else _LIFE  # of `close` the state says so already
        if ours is not theirs:
            return ""
        if ours.waits:
            return "MP-HOST-TURN-001"
        if not same:
            return ""  # the host may have given the other one up: its time began before the hook's
        return "MP-HOST-RECALL-003" if call.operation == "recall" else _LIFE

    def _is_early(self, close: Call) -> bool:
        """
        True if the host cannot have let its exit budget pass before it closes beside a write.

        It was still serving turns when it began the last one.
        """
        budget_s = self._told.deadline_s("shutdown_s", 15.0)
        return close.began_s - self._served_s < budget_s * _MOST_OF_THE_BUDGET

    def _too_soon(self, call: Call) -> tuple[str, str] | None:
        needed = self._life.needs.get(call.operation)
        if needed is None or needed in self._called:
            return None
        return (
            _LIFE,
            f"`{call.hook}` came before any call of {OPERATIONS[needed].native}",
        )


def _outcome(call: Call) -> str:
    returned = call.outcome == "returned"
    if call.operation == "available":
        return "yes" if returned and call.found.get("answer") is True else "no"
    return "returns" if returned else "raises"


def _is_routing(operation: str, state: str) -> bool:
    """A host of the Hermes binding reads the schemas when it takes a provider in, to route."""
    return operation == "tools" and state in ("built", "available")


def _name_of_place(operation: str, state: str) -> str:
    if operation == "open" and state in ("built", "unavailable"):
        return "MP-HOST-INIT-001"
    if state == "failed":
        return "MP-HOST-INIT-002"
    if operation == "declare" and state == "session":
        return "MP-HOST-CAP-001"
    writes = lifecycle.life().lane("record")
    if writes and operation in writes.operations and state in ("closing", "closed"):
        return "MP-HOST-SHUT-001"
    return _LIFE
