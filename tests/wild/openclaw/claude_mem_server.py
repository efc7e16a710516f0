"""A stand-in of claude-mem's worker. The real one lets a model make observations of a turn."""

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from memories import Memories, serving


def _answering(memories: Memories, verb: str, path: str, told: dict[str, Any]) -> Any:
    if path == "/api/sessions/init":
        memories.add(str(told.get("prompt")), project=told.get("project"))
    if verb == "GET" and path.startswith("/api/context/inject"):
        # The plugin takes the body as a text: a list of JSON is one, and the newest stands last.
        return [row["memory"] for row in memories.of()][-20:]
    return {"status": "ok"}


@contextlib.contextmanager
def service() -> Iterator[dict[str, Any]]:
    """The setting `service`: the plugin's settings name the port of the worker."""
    memories = Memories()
    with serving(lambda *call: _answering(memories, *call)) as address:
        yield {"config": {"plugin": {"workerPort": urlsplit(address).port}}}
