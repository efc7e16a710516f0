"""Sessions that are recorded, for the tests of recordings."""

from pathlib import Path
from typing import Any

import pytest

from memproto import MemoryProviderRegistry
from memproto.tracing import Trace, read

SECRET = "Vossamir Tellendrake moors at berth 40417."


def lived(provider: Any, home: Path, words: str = SECRET, turns: int = 3) -> None:
    """A session of our own host with the provider."""
    registry = MemoryProviderRegistry()
    registry.register(provider)
    registry.initialize_all(f"session of {words}", {"home": str(home)})
    for number in range(turns):
        registry.enrich_turn(f"{words} {number}", [{"role": "user", "content": words}])
        registry.on_turn_complete(f"{words} {number}", words)
        registry.on_memory_write("add", "memory", f"{words} {number}")
    for schema in registry.get_tool_schemas():
        registry.handle_tool_call(schema["name"], {"action": "add", "content": words})
    registry.on_compress([{"role": "user", "content": words}], 1)
    registry.shutdown_all()


def trace_in(path: Path) -> Trace:
    (trace,), damages = read(path)
    assert damages == []
    return trace


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Place of the trace of a test."""
    return tmp_path / "trace.jsonl"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home for the provider of a test."""
    path = tmp_path / "home"
    path.mkdir()
    return path
