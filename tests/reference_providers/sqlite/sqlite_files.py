"""Sessions of the SQLite provider for its own tests."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memproto.reference_providers.sqlite import SqliteMemoryProvider


@contextlib.contextmanager
def session(home: Path, key: str = "one", **config: Any) -> Iterator[SqliteMemoryProvider]:
    """A session on a home; closed at the end of the block."""
    provider = SqliteMemoryProvider()
    provider.initialize(key, {"home": str(home), **config})
    try:
        yield provider
    finally:
        provider.shutdown()


def call(provider: SqliteMemoryProvider, name: str, **args: Any) -> dict[str, Any]:
    """The answer of a tool."""
    answer: dict[str, Any] = json.loads(provider.handle_tool_call(name, args))
    return answer


def found(provider: SqliteMemoryProvider, query: str, **filters: Any) -> list[str]:
    """The texts of the hits of a search."""
    answer = call(provider, "sqlite_search", query=query, **filters)
    assert answer["success"], answer
    return [hit["text"] for hit in answer["hits"]]


def rows(home: Path, query: str) -> list[tuple[Any, ...]]:
    """The answer of the file of a home to SQL."""
    with contextlib.closing(sqlite3.connect(home / "memory.db")) as connection:
        return connection.execute(query).fetchall()


def turn(number: int, said: str, **more: Any) -> dict[str, Any]:
    """A turn as `record` takes it, on the day of that number."""
    return {
        "turn_id": f"turn-{number}",
        "session_id": "one",
        "started_at": f"2026-03-{number:02d}T10:00:00+02:00",
        "ended_at": f"2026-03-{number:02d}T10:00:05+02:00",
        "user_message": said,
        "assistant_response": "Noted.",
        **more,
    }
