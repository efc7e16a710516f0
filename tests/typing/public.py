"""
The public types as an author and a host see them; checked by mypy and pyright, never run.

A provider conforms by its shape alone, and what the public functions return is known exactly.
"""

from pathlib import Path
from typing import Any, assert_type

import memproto
from memproto import (
    AsyncMemoryProvider,
    Deadlines,
    Event,
    MemoryProvider,
    MemoryProviderRegistry,
    TooLarge,
    Unavailable,
)
from memproto.adapters.aio import from_async
from memproto.adapters.hermes import from_hermes
from memproto.recording import Recording, record
from memproto.tracing import Call, Damage, Finding, Trace, judge, read


class Plain:
    """A provider that inherits nothing."""

    name = "plain"

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        raise Unavailable("later", retry_after_s=3.0)

    def shutdown(self) -> None: ...

    def capabilities(self) -> dict[str, Any]:
        return {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return None

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        raise TooLarge("over the limit")

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None: ...

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None: ...


def heard(event: Event) -> None:
    assert_type(event.lost, int)
    assert_type(event.took_s, float)


def host(coroutines: AsyncMemoryProvider, hermes: object) -> None:
    registry = MemoryProviderRegistry(deadlines=Deadlines(enrich_s=2.0), on_event=heard)
    provider: MemoryProvider = Plain()
    registry.register(provider)
    registry.register(from_async(coroutines))
    registry.register(from_hermes(hermes))
    registry.initialize_all("session", {"home": "."})
    contexts = assert_type(registry.enrich_turn("hello", []), list[tuple[str, str]])
    registry.on_memory_write("add", "memory", "text")
    registry.on_turn_complete("hello", "hi")
    registry.on_compress([{"role": "user", "content": "hello"}], 1)
    registry.shutdown_all()
    assert_type(memproto.sanitize_context("x"), str)
    assert_type(memproto.build_memory_context_block(contexts), str)
    assert_type(memproto.parse_memory_context("x"), list[tuple[str, str]])
    assert_type(memproto.inject_memory_context("x", contexts), str | list[dict[str, Any]])


def recorded(path: Path) -> list[Finding]:
    with Recording(path) as recording:
        assert_type(recording.around(Plain()), Plain)
    assert_type(record(Plain(), "trace.jsonl"), Plain)
    traces, damages = assert_type(read(path), tuple[list[Trace], list[Damage]])
    assert_type(traces[0].calls, list[Call])
    return judge(traces[0], still_running=bool(damages))
