"""The trace of the reference registry's calls is in order, whatever is asked of it."""

import importlib.util
import random
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from memproto import Deadlines, MemoryProviderRegistry, Policy
from memproto.operations import EXTENSION_HOOKS
from memproto.recording import Recording
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.tracing import judge
from tests.good.journal import Journal
from tests.tracing.recorded import trace_in

pytestmark = pytest.mark.once

EXAMPLE = Path(__file__).parents[2] / "examples" / "complete.py"
TIMES = {"started_at": "2026-01-01T00:00:00+00:00", "ended_at": "2026-01-01T00:00:01+00:00"}
MESSAGES = [{"role": "user", "content": [{"type": "text", "text": "Berth 7 is ours."}]}]


@pytest.fixture(scope="module")
def complete() -> type:
    found = importlib.util.spec_from_file_location("complete", EXAMPLE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.Complete


def failing(complete: type) -> type:
    class Failing(complete):  # type: ignore[misc]
        name = "failing"

        def enrich_turn(self, user_message: str, messages: list) -> str:
            raise ValueError(user_message)

        def on_session_switch(self, *args: Any, **keywords: Any) -> None:
            raise KeyError(args)

    return Failing


class Session:
    """Steps of a host, each by its name."""

    def __init__(self, registry: MemoryProviderRegistry, source: random.Random) -> None:
        self.registry, self.source, self.turns = registry, source, 0

    def turn(self) -> None:
        self.turns += 1
        message = self.source.choice(["Yes.", "No.", f"Berth {self.turns} is free."])
        self.registry.on_turn_start(self.turns, message)
        self.registry.enrich_turn(message, [])
        if self.source.random() < 0.5:
            self.registry.on_turn_complete(message, "Noted.")
        else:
            texts = {"user_message": message, "assistant_response": "Noted."}
            self.registry.record({"turn_id": uuid.uuid4().hex, **TIMES, **texts})

    def write(self) -> None:
        self.registry.on_memory_write("add", "memory", f"Berth {self.source.random()} is ours.")

    def compress(self) -> None:
        self.registry.on_compress(MESSAGES, 1)
        self.registry.compress_notes(MESSAGES)

    def new(self) -> None:
        self.registry.on_session_switch(uuid.uuid4().hex, reset=True)

    def rewind(self) -> None:
        self.registry.on_session_switch(self.registry.session_key, rewound=True)

    def end(self) -> None:
        self.registry.on_session_end([])

    def look(self) -> None:
        self.registry.recall_status()
        self.registry.backup_paths()
        self.registry.system_prompt_block()

    def tools(self) -> None:
        for schema in self.registry.get_tool_schemas():
            self.registry.handle_tool_call(schema["name"], {})

    def delegate(self) -> None:
        self.registry.on_delegation("task", "result", child_session_id=uuid.uuid4().hex)

    def at_once(self) -> None:
        steps = (self.look, self.write, self.tools)
        threads = [threading.Thread(target=step) for step in steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


STEPS = ("write", "compress", "new", "rewind", "end", "look", "tools", "delegate", "at_once")


@pytest.mark.parametrize("seed", range(6))
def test_sessions_drawn_at_random_leave_a_trace_in_order(
    seed: int, tmp_path: Path, complete: type
) -> None:
    source = random.Random(seed)
    kinds = source.sample([Journal, complete, failing(complete), BuiltinMemoryProvider], 3)
    policy = Policy(drives=frozenset(EXTENSION_HOOKS) - {"config", "checkpoint"})
    with Recording(tmp_path / "trace.jsonl") as recording:
        registry = MemoryProviderRegistry(policy=policy, deadlines=Deadlines(enrich_s=60))
        for kind in kinds:
            registry.register(recording.around(kind()))
        registry.initialize_all("first", {"home": str(tmp_path)})
        session = Session(registry, source)
        for step in source.choices(("turn", "turn", "turn", *STEPS), k=25):
            getattr(session, step)()
        registry.shutdown_all()
    trace = trace_in(tmp_path / "trace.jsonl")
    found = [finding for finding in judge(trace) if finding.rule.side == "host"]
    assert [(finding.line, finding.rule.id, finding.seen) for finding in found] == []
    assert len(trace.calls) > 50
