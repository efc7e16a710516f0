"""
The life of a provider instance: `spec/v1/lifecycle.toml` as values, and the chapter's pictures.

`python -m memproto.lifecycle` prints what stands between the marks in
`spec/v1/25-lifecycle.md`.
"""

import dataclasses
import functools
import sys
from typing import Any

from memproto import spec


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """
    A stage in the life of an instance.

    Attributes:
        name: One word.
        text: The call that led here, as a sentence.
        calls: Operations that may be called here and leave the state as it is.

    """

    name: str
    text: str
    calls: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """
    A call that changes the state.

    Attributes:
        sources: The states from which it starts.
        operation: The operation that is called.
        outcome: The ending that the call must have: yes, no, returns, raises, begins or ends.
        to: The state afterwards.

    """

    sources: tuple[str, ...]
    operation: str
    outcome: str
    to: str


@dataclasses.dataclass(frozen=True, slots=True)
class Lane:
    """
    Operations of which one instance serves one at a time.

    Attributes:
        name: One word for all of them.
        operations: Their names.
        waits: True if the next one waits for a call that the host gave up.
        alone: True if nothing else runs beside them, of other lanes either.

    """

    name: str
    operations: tuple[str, ...]
    waits: bool
    alone: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Probe:
    """
    A call that no conforming host makes.

    Attributes:
        name: The fault, in short.
        text: The same as a sentence.
        states: In these, every call that is not allowed is one of these.

    """

    name: str
    text: str
    states: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Life:
    """The whole of it."""

    start: str
    end: str
    states: dict[str, State]
    moves: tuple[Move, ...]
    lanes: tuple[Lane, ...]
    needs: dict[str, str]
    probes: tuple[Probe, ...]

    def allows(self, state: str) -> tuple[str, ...]:
        """The operations that may be called in `state`, those that change it last."""
        moving = [move.operation for move in self.moves if state in move.sources]
        return tuple(dict.fromkeys([*self.states[state].calls, *moving]))

    def after(self, state: str, operation: str, outcome: str) -> str:
        """The state after a call of `operation` that began in `state` and came to `outcome`."""
        for move in self.moves:
            if state in move.sources and (move.operation, move.outcome) == (operation, outcome):
                return move.to
        return state

    def lane(self, operation: str) -> Lane | None:
        """The lane of `operation`, or None if it may run beside everything."""
        return next((lane for lane in self.lanes if operation in lane.operations), None)

    def probe(self, state: str) -> Probe:
        """The probe that a call is if `state` does not allow it."""
        return next(probe for probe in self.probes if state in probe.states)


@functools.cache
def life() -> Life:
    """The life of an instance in the release at hand."""
    data = spec.lifecycle()
    states = [State(row["name"], row["text"], tuple(row["calls"])) for row in data["state"]]
    return Life(
        start=data["lifecycle"]["start"],
        end=data["lifecycle"]["end"],
        states={state.name: state for state in states},
        moves=tuple(_move(row) for row in data["move"]),
        lanes=tuple(
            Lane(**{**row, "operations": tuple(row["operations"])}) for row in data["lane"]
        ),
        needs={row["operation"]: row["after"] for row in data["order"]},
        probes=tuple(Probe(**{**row, "states": tuple(row["states"])}) for row in data["probe"]),
    )


def _move(row: dict[str, Any]) -> Move:
    return Move(tuple(row["from"]), row["operation"], row["outcome"], row["to"])


# -- the chapter's pictures ------------------------------------------------------------------------


def mermaid() -> str:
    """The states and moves as a Mermaid state diagram."""
    found = life()
    lines = ["stateDiagram-v2", "    direction TB", f"    [*] --> {found.start}: load"]
    for move in found.moves:
        lines += [f"    {source} --> {move.to}: {_label(move)}" for source in move.sources]
    turns = ", ".join(name for name in found.states["session"].calls[1:5])
    lines += [f"    session --> session: {turns}, ...", f"    {found.end} --> [*]"]
    return "\n".join(lines)


def _label(move: Move) -> str:
    if move.outcome in ("returns", "begins"):
        return move.operation
    return f"{move.operation} {move.outcome}"


def states_table() -> str:
    """The states, and what may be called in each."""
    head = ["| state | what it means | what may be called |", "|---|---|---|"]
    rows = [
        f"| `{state.name}` | {state.text} | {_listed(life().allows(state.name))} |"
        for state in life().states.values()
    ]
    return "\n".join(head + rows)


def lanes_table() -> str:
    """The operations that run one at a time, as a table."""
    rows = ["| lane | operations | beside it | after a deadline |", "|---|---|---|---|"]
    for lane in life().lanes:
        beside = "nothing" if lane.alone else "the other lane"
        held = "the lane waits until it returned" if lane.waits else "only its own operation waits"
        rows.append(f"| {lane.name} | {_listed(lane.operations)} | {beside} | {held} |")
    return "\n".join(rows)


def probes_table() -> str:
    """The calls that are out of contract, and their states, as a table."""
    head = ["| probe | what it is | in the states |", "|---|---|---|"]
    rows = [
        f"| {probe.name} | {probe.text} | {_listed(probe.states) or 'any'} |"
        for probe in life().probes
    ]
    return "\n".join(head + rows)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


#: Mark in the chapter to what stands below it.
PICTURES = {
    "diagram": lambda: f"```mermaid\n{mermaid()}\n```",
    "states": states_table,
    "lanes": lanes_table,
    "probes": probes_table,
}


def marked(name: str) -> str:
    """One picture between its marks, as it stands in the chapter."""
    opening = f"<!-- {name}: made by scripts/generate.py -->"
    return f"{opening}\n\n{PICTURES[name]()}\n\n<!-- end of {name} -->"


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(map(marked, PICTURES)) + "\n")
