"""
The order of calls in a trace: what a host did that the life of an instance does not allow.

A trace is a list of events as in `trace-event.schema.json`: which hook of which instance ran from
when to when, on which thread, and how it ended. No text of a user is in it. `Recorder` writes one.
"""

import dataclasses
import functools
import hashlib
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from math import inf
from time import monotonic
from typing import Any

from memproto.operations import OPERATIONS, Binding
from memproto.testing.lifecycle import Life, life

#: How a call ends that the host gave up at its deadline.
_GIVEN_UP = ("late", "unfinished")


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """
    One call that was out of order.

    Attributes:
        index: Which event of the trace it is.
        operation: What was called.
        why: What was wrong with it, as a sentence.

    """

    index: int
    operation: str
    why: str


def faults(events: Sequence[Mapping[str, Any]], binding: Binding = "native") -> list[Fault]:
    """The calls of a trace that were out of order, in the order in which they began."""
    rows = sorted(enumerate(events), key=lambda row: float(row[1]["begin_s"]))
    found: list[Fault] = []
    for instance in dict.fromkeys(event["instance"] for _, event in rows):
        mine = [row for row in rows if row[1]["instance"] == instance]
        found += _Instance(binding).faults(mine)
    return sorted(found, key=lambda fault: float(events[fault.index]["begin_s"]))


class _Instance:
    """One instance on its way through the states, event by event."""

    def __init__(self, binding: Binding) -> None:
        self._life: Life = life()
        self._state = self._life.start
        self._declares = bool(getattr(OPERATIONS["declare"], binding))
        self._running: list[Mapping[str, Any]] = []
        self._called: set[str] = set()

    def faults(self, rows: list[tuple[int, Mapping[str, Any]]]) -> list[Fault]:
        found = []
        for index, event in rows:
            self._end_until(float(event["begin_s"]))
            why = self._out_of_place(event) or self._beside(event) or self._too_soon(event)
            if why:
                found.append(Fault(index, event["operation"], why))
            self._begin(event)
        return found

    def _end_until(self, now_s: float) -> None:
        for event in [one for one in self._running if _end_s(one) <= now_s]:
            self._running.remove(event)
            self._move(event["operation"], "ends")

    def _begin(self, event: Mapping[str, Any]) -> None:
        operation = event["operation"]
        self._running.append(event)
        self._called.add(operation)
        for outcome in ("begins", _outcome(event)):
            self._move(operation, outcome)
        if self._state == "open" and not self._declares:
            self._move("declare", "returns")

    def _move(self, operation: str, outcome: str) -> None:
        self._state = self._life.after(self._state, operation, outcome)

    # -- what is wrong with a call ----------------------------------------------------------------

    def _out_of_place(self, event: Mapping[str, Any]) -> str:
        operation = event["operation"]
        if operation in self._life.allows(self._state):
            return ""
        probe = self._life.probe(self._state)
        return f"{operation} is not in order when the instance is {self._state!r}: {probe.text}"

    def _beside(self, event: Mapping[str, Any]) -> str:
        operation = event["operation"]
        for other in self._running:
            if self._is_in_the_way(other, operation):
                return f"{operation} began while {other['operation']} was running"
        return ""

    def _is_in_the_way(self, other: Mapping[str, Any], operation: str) -> bool:
        ours, theirs = self._life.lane(operation), self._life.lane(other["operation"])
        same = operation == other["operation"]
        if ours is None or theirs is None:
            return False
        if theirs.alone or ours.alone:
            return not same and other["outcome"] not in _GIVEN_UP
        if ours is not theirs:
            return False
        return same or theirs.waits or other["outcome"] not in _GIVEN_UP

    def _too_soon(self, event: Mapping[str, Any]) -> str:
        needed = self._life.needs.get(event["operation"])
        if needed is None or needed in self._called:
            return ""
        return f"{event['operation']} came before any call of {needed}"


def _outcome(event: Mapping[str, Any]) -> str:
    returned = event["outcome"] == "returned"
    if event["operation"] == "available":
        return "yes" if returned and event.get("answer") is True else "no"
    return "returns" if returned else "raises"


def _end_s(event: Mapping[str, Any]) -> float:
    return inf if event["end_s"] is None else float(event["end_s"])


# -- recording -------------------------------------------------------------------------------------


class Recorder:
    """
    Stands in front of providers and notes each call of a hook; any thread.

    Attributes:
        deadlines_s: Operation to the seconds after which the host gives a call up.

    """

    def __init__(
        self,
        deadlines_s: Mapping[str, float] | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self.deadlines_s = dict(deadlines_s or {})
        self._now = now
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._events: list[dict[str, Any]] = []

    def events(self) -> list[dict[str, Any]]:
        """What was noted so far, in the order in which the calls began."""
        with self._lock:
            return [dict(event) for event in self._events]

    def around(self, provider: Any) -> Any:
        """An object with the provider's hooks, each call of which is noted."""
        return _Recorded(provider, self, f"instance-{next(self._numbers)}")

    def begin(self, instance: str, session: str, hook: str, args: tuple[Any, ...]) -> Any:
        """Note that a call begins; gives its event."""
        event = {
            "instance": instance,
            "session": session,
            "operation": _OPERATION_OF[hook],
            "hook": hook,
            "thread": threading.get_ident(),
            "begin_s": self._now(),
            "end_s": None,
            "outcome": "unfinished",
            "args": digest(args),
        }
        with self._lock:
            self._events.append(event)
        return event

    def end(self, event: dict[str, Any], error: BaseException | None, answer: Any) -> None:
        """Note that the call ended, and how."""
        end_s = self._now()
        limit_s = self.deadlines_s.get(event["operation"], inf)
        in_time = "raised" if error is not None else "returned"
        outcome = in_time if end_s - event["begin_s"] <= limit_s else "late"
        with self._lock:
            event.update(end_s=end_s, outcome=outcome)
            if error is not None:
                event["error"] = type(error).__name__
            if isinstance(answer, bool):
                event["answer"] = answer


_OPERATION_OF = {
    row.native: row.name for row in reversed(OPERATIONS.values()) if row.name != "name"
}


class _Recorded:
    """A provider behind a recorder; what is no hook is the provider's own."""

    def __init__(self, provider: Any, recorder: Recorder, instance: str) -> None:
        self._provider, self._recorder, self._instance = provider, recorder, instance
        self._session = ""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._provider, name)
        return functools.partial(self._call, name, found) if name in _OPERATION_OF else found

    def _call(self, name: str, hook: Callable[..., Any], *args: Any, **named: Any) -> Any:
        if name == "initialize":
            self._session = str(args[0])
        event = self._recorder.begin(self._instance, self._session, name, (args, named))
        error: BaseException | None = None
        answer: Any = None
        try:
            answer = hook(*args, **named)
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._recorder.end(event, error, answer)
        return answer


def digest(value: object) -> str:
    """A fingerprint of arguments, from which no text can be had."""
    text = repr(value).encode("utf-8", "backslashreplace")
    return f"sha256:{hashlib.sha256(text).hexdigest()}"
