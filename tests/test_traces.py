"""What the checker of traces says of calls in order and out of it, by hand and of our registry."""

import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto import Deadlines, MemoryProviderRegistry, operations, spec
from memproto.testing import trace
from memproto.testing.lifecycle import life
from tests.good.journal import Journal

# -- traces by hand --------------------------------------------------------------------------------


def event(operation: str, begin_s: float, end_s: float | None = None, **more: Any) -> dict:
    shown = {
        "instance": "instance-1",
        "session": "session-7",
        "operation": operation,
        "hook": operations.OPERATIONS[operation].native,
        "thread": 1,
        "begin_s": begin_s,
        "end_s": begin_s + 0.5 if end_s is None else end_s,
        "outcome": "returned",
        "args": trace.digest(()),
    }
    answer = {"answer": True} if operation == "available" else {}
    return {**shown, **answer, **more}


START = [event("available", 0), event("open", 1), event("declare", 2)]

IN_ORDER: dict[str, list[dict]] = {
    "a recall beside a write": [*START, event("record", 3, 5), event("recall", 4)],
    "a compression beside a write": [*START, event("mirror", 3, 5), event("compress", 4)],
    "a shutdown beside a recall that the host gave up": [
        *START,
        event("recall", 3, 30, outcome="late"),
        event("close", 8),
    ],
    "a compression after a recall that the host gave up": [
        *START,
        event("recall", 3, 30, outcome="late"),
        event("compress", 8),
    ],
    "two shutdowns at the same time": [*START, event("close", 3, 5), event("close", 4)],
    "the end of one that failed to start": [
        event("available", 0),
        event("open", 1, outcome="raised", error="Misconfigured"),
        event("close", 2),
    ],
    "the reason of one that is not available": [
        event("available", 0, answer=False),
        event("unavailable_reason", 1),
        event("close", 2),
    ],
    "a tool after its schemas": [*START, event("tools", 3), event("call_tool", 4)],
    "an instance for each of two sessions": [
        *START,
        *(event(e["operation"], e["begin_s"], instance="instance-2") for e in START),
    ],
}

#: Name to the trace, the operation that is out of order, and a part of the reason.
OUT_OF_ORDER: dict[str, tuple[list[dict], str, str]] = {
    "a recall before the start": ([event("available", 0), event("recall", 1)], "recall", "before"),
    "a start that nobody asked for": ([event("open", 0)], "open", "'built'"),
    "a start of one that is not available": (
        [event("available", 0, answer=False), event("open", 1)],
        "open",
        "'unavailable'",
    ),
    "a recall before the declaration": ([*START[:2], event("recall", 2)], "recall", "'open'"),
    "a recall while it starts": (
        [event("available", 0), event("open", 1, 3), event("recall", 2)],
        "recall",
        "'open'",
    ),
    "a second start": ([*START, event("open", 3)], "open", "second time"),
    "a second declaration": ([*START, event("declare", 3)], "declare", "second time"),
    "a turn after a failed start": (
        [event("available", 0), event("open", 1, outcome="raised"), event("record", 2)],
        "record",
        "'failed'",
    ),
    "two writes at the same time": (
        [*START, event("record", 3, 5), event("mirror", 4)],
        "mirror",
        "while record was running",
    ),
    "a write beside one that the host gave up": (
        [*START, event("record", 3, 30, outcome="late"), event("record", 8)],
        "record",
        "while record was running",
    ),
    "a second recall of one that hangs": (
        [*START, event("recall", 3, 30, outcome="late"), event("recall", 9)],
        "recall",
        "while recall was running",
    ),
    "a compression beside a recall": (
        [*START, event("recall", 3, 5), event("compress", 4)],
        "compress",
        "while recall was running",
    ),
    "a tool that was never offered": ([*START, event("call_tool", 3)], "call_tool", "any call of"),
    "a shutdown before the last write ended": (
        [*START, event("record", 3, 5), event("close", 4)],
        "close",
        "while record was running",
    ),
    "a turn beside the shutdown": (
        [*START, event("close", 3, 5), event("record", 4)],
        "record",
        "'closing'",
    ),
    "a recall after the end": ([*START, event("close", 3), event("recall", 4)], "recall", "after"),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_trace_in_order_has_no_fault(name: str) -> None:
    assert trace.faults(IN_ORDER[name]) == []


@pytest.mark.parametrize("name", OUT_OF_ORDER)
def test_a_trace_that_is_out_of_order_names_the_call_and_the_reason(name: str) -> None:
    events, operation, reason = OUT_OF_ORDER[name]
    (fault,) = trace.faults(events)
    assert (fault.index, fault.operation) == (len(events) - 1, operation)
    assert reason in fault.why


def test_the_events_of_these_tests_fit_their_schema() -> None:
    events = [one for events in IN_ORDER.values() for one in events]
    jsonschema.validate(events, {"type": "array", "items": spec.schema("trace-event")})


def test_a_binding_without_a_declaration_goes_on_from_the_start() -> None:
    events = [event("available", 0), event("open", 1), event("recall", 2)]
    assert trace.faults(events, "hermes") == []
    assert len(trace.faults(events, "native")) == 1


ANY = sorted(operations.OPERATIONS)


@given(st.lists(st.sampled_from(ANY), max_size=12), st.sampled_from(["yes", "no"]))
def test_of_calls_in_a_row_those_are_out_of_order_that_the_state_does_not_allow(
    names: list[str], answer: str
) -> None:
    state, wrong, events = life().start, [], []
    for number, name in enumerate(names):
        fits = name in life().allows(state)
        too_soon = fits and name == "call_tool" and "tools" not in names[:number]
        wrong += [] if fits and not too_soon else [number]
        events.append(event(name, number, answer=answer == "yes"))
        for outcome in ("begins", answer if name == "available" else "returns", "ends"):
            state = life().after(state, name, outcome)
    assert [fault.index for fault in trace.faults(events)] == wrong


# -- traces of our own host ------------------------------------------------------------------------


@pytest.fixture
def recorder() -> trace.Recorder:
    return trace.Recorder({"recall": 5.0, "compress": 120.0})


def lived(recorder: trace.Recorder, home: Path, *providers: Any) -> MemoryProviderRegistry:
    registry = MemoryProviderRegistry(deadlines=Deadlines())
    for provider in providers:
        registry.register(recorder.around(provider))
    registry.initialize_all("session-7", {"home": str(home)})
    return registry


def test_the_registry_keeps_the_order(recorder: trace.Recorder, tmp_path: Path) -> None:
    registry = lived(recorder, tmp_path, Journal())
    for number in range(20):
        registry.enrich_turn(f"Where is berth {number}?", [])
        registry.on_turn_complete(f"Berth {number} is free.", "Noted.")
        registry.on_memory_write("add", "memory", f"Berth {number} is ours.")
    registry.on_compress([{"role": "user", "content": "Berth 3 is free."}], 1)
    registry.shutdown_all()
    events = recorder.events()
    assert trace.faults(events) == []
    assert {"open", "declare", "recall", "record", "mirror", "compress", "close"} <= {
        one["operation"] for one in events
    }
    assert len({one["thread"] for one in events}) > 1
    jsonschema.validate(events, {"type": "array", "items": spec.schema("trace-event")})
    assert "Berth" not in str(events)


class RefusesToStart(Journal):
    name = "refusing"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        raise RuntimeError("no disk")


class Away(Journal):
    name = "away"

    def is_available(self) -> bool:
        return False


def test_the_registry_leaves_alone_what_did_not_start(
    recorder: trace.Recorder, tmp_path: Path
) -> None:
    registry = lived(recorder, tmp_path, RefusesToStart(), Away(), Journal())
    registry.on_turn_complete("Berth 3 is free.", "Noted.")
    registry.shutdown_all()
    assert trace.faults(recorder.events()) == []


def test_a_host_that_writes_after_the_end_is_seen(recorder: trace.Recorder, tmp_path: Path) -> None:
    provider = recorder.around(Journal())
    assert provider.is_available()
    provider.initialize("session-7", {"home": str(tmp_path)})
    provider.capabilities()
    provider.shutdown()
    provider.on_turn_complete("Berth 3 is free.", "Noted.")
    (fault,) = trace.faults(recorder.events())
    assert fault.operation == "record"
    assert "after `shutdown`" in fault.why


class Waits(Journal):
    """Keeps a turn until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self.begun.set()
        self.go.wait(20)


def test_a_host_that_makes_two_writes_at_once_is_seen(
    recorder: trace.Recorder, tmp_path: Path
) -> None:
    waits = Waits()
    provider = recorder.around(waits)
    assert provider.is_available()
    provider.initialize("session-7", {"home": str(tmp_path)})
    provider.capabilities()
    turn = threading.Thread(target=provider.on_turn_complete, args=("Berth 3 is free.", "Noted."))
    turn.start()
    assert waits.begun.wait(20)
    provider.on_memory_write("add", "memory", "Berth 3 is ours.")
    waits.go.set()
    turn.join()
    (fault,) = trace.faults(recorder.events())
    assert fault.why == "mirror began while record was running"
