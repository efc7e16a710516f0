"""
A stand-in of Supermemory. The real one makes a profile and facts of documents by a model.

The paths are those that `supermemory` 4 asks for.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from memories import Memories, serving

#: Facts that a profile shows at most.
_PROFILE = 40


def _answering(memories: Memories, verb: str, path: str, told: dict[str, Any]) -> Any:
    scope = {"tag": told.get("containerTag")}
    path = path.partition("?")[0]
    if verb == "DELETE":
        return {"id": told.get("id"), "forgotten": memories.remove(str(told.get("id")))}
    if path == "/v3/documents":
        rows = [memories.add(line, **scope) for line in _facts(str(told.get("content", "")))]
        return {"id": next((row["id"] for row in rows if row), "m0"), "status": "queued"}
    limit = int(told.get("limit") or 10)
    query = str(told.get("q") or "")
    found = [{**row, "similarity": row["score"]} for row in memories.search(query, limit, scope)]
    if path == "/v4/profile":
        recent = [row["memory"] for row in memories.of(scope)][-_PROFILE:][::-1]
        profile = {"static": [], "dynamic": recent}
        return {"profile": profile, "searchResults": {"results": found, "total": len(found)}}
    return {"results": found, "total": len(found), "timing": 1}


def _facts(content: str) -> list[str]:
    """The lines of a document that somebody said, without the marks of the roles."""
    lines = [line.strip() for line in content.splitlines()]
    return [
        line for line in lines if line and not line.startswith("[role:") and line[-5:] != ":end]"
    ]


@contextlib.contextmanager
def service() -> Iterator[dict[str, Any]]:
    """The setting `service`: the plugin's settings name the server, and a tag for each home."""
    memories = Memories()
    with serving(lambda *call: _answering(memories, *call)) as address:
        settings = {"apiKey": "sm_" + "k" * 40, "baseUrl": address, "containerTag": "{home}"}
        yield {"config": {"plugin": settings}}
