"""From a file to the traces in it, and what is wrong with the file."""

import dataclasses
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, BinaryIO

from memproto.tracing.lines import LONGEST, NoLine, parsed

_MOST_DAMAGES = 20


@dataclasses.dataclass(frozen=True, slots=True)
class Damage:
    """
    Something wrong with the file, or with how a trace was written.

    Attributes:
        line: The line, counted from 1; 0 for the file as a whole.
        reason: The damage, as a sentence.

    """

    line: int
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """One instance of a provider; `name` is "" where it had none that is a label."""

    number: int
    name: str
    binding: str


@dataclasses.dataclass(slots=True)
class Call:
    """
    One call of a hook.

    Attributes:
        number: Its number in the trace.
        instance: The number of the provider's instance.
        operation: The operation that was called.
        hook: By which hook.
        session: A digest of the session key, "" before there is one.
        line: The line of the file on which it begins.
        began: The number of that line in the trace: the order of all lines is the order of time.
        began_s: On the trace's monotonic clock.
        args: Name of an argument to its type, size and digest.
        facts: Other facts that were written when it began.
        end_line: The line on which it ends, or 0.
        ended: The number of that line in the trace; infinity where the call has not returned.
        took_s: Seconds that the hook took; infinity if it has not returned.
        outcome: returned, raised or unfinished.
        error: The type of what was raised.
        result: Type, size and digest of what was returned.
        found: Other facts that were written when it ended.

    """

    number: int
    instance: int
    operation: str
    hook: str
    session: str
    line: int
    began: int
    began_s: float
    args: Mapping[str, Mapping[str, Any]]
    facts: Mapping[str, Any]
    end_line: int = 0
    ended: float = inf
    took_s: float = inf
    outcome: str = "unfinished"
    error: str = ""
    result: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    found: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(slots=True)
class Trace:
    """
    One recording, as far as it is whole.

    Attributes:
        id: The name that its lines have in common.
        line: The line of the file on which it begins.
        providers: Number of an instance to the instance.
        calls: In the order in which they began.
        began_s: When its first line was written.
        ended_s: When the last line that counts was written.
        is_ended: True if its last line is there.
        is_whole: True if no line is missing; what comes after a gap is left out.

    """

    id: str
    line: int
    providers: dict[int, Provider] = dataclasses.field(default_factory=dict)
    calls: list[Call] = dataclasses.field(default_factory=list)
    began_s: float = 0.0
    ended_s: float = 0.0
    is_ended: bool = False
    is_whole: bool = True


def read(path: Path) -> tuple[list[Trace], list[Damage]]:
    """
    The traces of a file, in the order of their first lines, and what is wrong with it.

    Raises:
        OSError: It cannot be read.

    """
    with path.open("rb") as file:
        return read_from(file)


def read_from(file: BinaryIO) -> tuple[list[Trace], list[Damage]]:
    """As `read`, of a file that is open."""
    rows, damages = _rows(file)
    traces = []
    for lines in rows.values():
        trace, found = _Building(lines).trace()
        damages += found
        if trace is not None:
            traces.append(trace)
    return traces, sorted(damages, key=lambda damage: damage.line)


#: A line of a trace: where it stands in the file, and its fields.
_Row = tuple[int, Mapping[str, Any]]


def _rows(file: BinaryIO) -> tuple[dict[str, list[_Row]], list[Damage]]:
    """Trace to its lines."""
    rows: dict[str, list[_Row]] = {}
    damages: list[Damage] = []
    for number, raw in _lines(file):
        try:
            row = parsed(raw.removesuffix(b"\n"))
        except NoLine as error:
            damages.append(Damage(number, _reason(error, raw, is_first=not rows)))
            if not rows or len(damages) == _MOST_DAMAGES:
                break  # a foreign file, or not worth reading on
        else:
            rows.setdefault(row["trace"], []).append((number, row))
            if not raw.endswith(b"\n"):
                damages.append(Damage(number, "the last line has no end; more may be missing"))
    if not rows and not damages:
        damages.append(Damage(0, "the file is empty: nothing was recorded"))
    return rows, damages


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while raw := file.readline(LONGEST):
        number += 1
        if raw.strip():
            yield number, raw


def _reason(error: NoLine, raw: bytes, *, is_first: bool) -> str:
    if len(raw) == LONGEST:
        return "no line of a trace is as long; this is no trace"
    if is_first:
        return f"{error}; this is no trace that can be read" if error.number < 0 else str(error)
    if not raw.endswith(b"\n"):
        return "the last line is torn: the process ended, or the disk was full, as it was written"
    return str(error)


class _Building:
    """The lines of one trace on their way to calls."""

    def __init__(self, rows: list[_Row]) -> None:
        self._rows = sorted(rows, key=lambda row: int(row[1]["seq"]))
        self._damages: list[Damage] = []
        self._calls: dict[int, Call] = {}

    def trace(self) -> tuple[Trace | None, list[Damage]]:
        line, first = self._rows[0]
        trace = Trace(first["trace"], line)
        trace.began_s = trace.ended_s = first["at_s"]
        if first["kind"] != "start" or first["seq"] != 0:
            reason = "the trace's first line, of kind 'start', is missing; it is not judged"
            return None, [Damage(line, reason)]
        for line, row in self._without_gaps(trace):
            self._take(trace, line, row)
            trace.ended_s = max(trace.ended_s, row["at_s"])
        trace.calls = list(self._calls.values())
        return trace, self._damages

    def _without_gaps(self, trace: Trace) -> Iterator[_Row]:
        expected = 0
        for line, row in self._rows:
            number = row["seq"]
            if number < expected:
                self._damages.append(Damage(line, f"line {number} of the trace stands there twice"))
                continue
            if number > expected or trace.is_ended:
                self._damages.append(Damage(line, _gap(expected, number, trace)))
                trace.is_whole = False
                return
            expected += 1
            yield line, row

    def _take(self, trace: Trace, line: int, row: Mapping[str, Any]) -> None:
        kind = row["kind"]
        if kind == "provider":
            provider = Provider(row["instance"], row["provider"], row["binding"])
            trace.providers[provider.number] = provider
        elif kind == "begin":
            self._begin(trace, line, row)
        elif kind == "end":
            self._end(line, row)
        elif kind == "stop":
            trace.is_ended = True
            if row["dropped"]:
                reason = f"{row['dropped']} lines could not be written, says the last one"
                self._damages.append(Damage(line, reason))

    def _begin(self, trace: Trace, line: int, row: Mapping[str, Any]) -> None:
        number = row["call"]
        if number in self._calls or row["instance"] not in trace.providers:
            what = "began already" if number in self._calls else "is of a provider never named"
            self._damages.append(Damage(line, f"call {number} {what}"))
            return
        self._calls[number] = Call(
            number=number,
            instance=row["instance"],
            operation=row["operation"],
            hook=row["hook"],
            session=row["session"],
            line=line,
            began=row["seq"],
            began_s=row["at_s"],
            args={name: shape for name, shape in row["args"].items() if isinstance(shape, dict)},
            facts=row["facts"],
        )

    def _end(self, line: int, row: Mapping[str, Any]) -> None:
        call = self._calls.get(row["call"])
        if call is None or call.end_line:
            what = "has not begun" if call is None else "ended already"
            self._damages.append(Damage(line, f"call {row['call']} {what}"))
            return
        call.end_line, call.ended, call.took_s = line, row["seq"], row["took_s"]
        call.outcome, call.found = row["outcome"], row["facts"]
        error, result = row.get("error", ""), row.get("result")
        call.error = error if isinstance(error, str) and error.isidentifier() else ""
        call.result = result if isinstance(result, dict) else {}


def _gap(expected: int, number: int, trace: Trace) -> str:
    if trace.is_ended:
        return f"line {number} of the trace comes after its last one"
    missing = f"line {expected}" if number == expected + 1 else f"lines {expected} to {number - 1}"
    verb = "is" if number == expected + 1 else "are"
    return f"{missing} of the trace {verb} missing before this one; what follows is not judged"
