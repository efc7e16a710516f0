"""
A stand-in of Mem0's platform.

The real one lets a model extract facts. The paths are those that `mem0ai` 3.0.7 asks for.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from memories import Memories, serving


def _answering(memories: Memories, verb: str, path: str, told: dict[str, Any]) -> Any:
    if verb == "GET":
        user = {"org_id": "o", "project_id": "p", "user_email": "ida@example.com"}
        return {"status": "ok", **user, "results": []}
    if verb == "DELETE":
        memories.remove(path.strip("/").rpartition("/")[2])
        return {"message": "deleted"}
    if verb != "POST":
        return told
    if path.endswith("/memories/add/"):
        scope = {key: told.get(key) for key in ("user_id", "run_id", "agent_id")}
        said = [item for item in told.get("messages", []) if item.get("role") == "user"]
        rows = [memories.add(str(item.get("content")), **scope) for item in said]
        return {"results": [{**row, "event": "ADD"} for row in rows if row]}
    if path.endswith("/search/"):
        limit = int(told.get("top_k") or 10)
        return {"results": memories.search(str(told.get("query", "")), limit, told.get("filters"))}
    return {"results": memories.of(told.get("filters"))}


@contextlib.contextmanager
def service() -> Iterator[dict[str, Any]]:
    """The setting `service`: the plugin's settings name the server, and a user for each home."""
    memories = Memories()
    with serving(lambda *call: _answering(memories, *call)) as address:
        settings = {"apiKey": "m0-key", "baseUrl": address, "userId": "{home}"}
        yield {"config": {"plugin": settings}, "env": {"MEM0_TELEMETRY": "false"}}
