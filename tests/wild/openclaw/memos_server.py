"""A stand-in of MemOS Cloud. The real one lets a model extract facts, later than it answers."""

import contextlib
from collections.abc import Iterator
from typing import Any

from memories import Memories, serving


def _answering(memories: Memories, _verb: str, path: str, told: dict[str, Any]) -> Any:
    scope = {"user_id": told.get("user_id")}
    if path.endswith("/add/message"):
        for message in told.get("messages", []):
            if message.get("role") == "user":
                memories.add(str(message.get("content")), **scope)
        return {"code": 0, "message": "ok", "data": {"success": True}}
    limit = int(told.get("memory_limit_number") or 6)
    found = memories.search(str(told.get("query", "")), limit, scope)
    rows = [{"id": row["id"], "memory_value": row["memory"]} for row in found]
    return {"code": 0, "message": "ok", "data": {"memory_detail_list": rows}}


@contextlib.contextmanager
def service() -> Iterator[dict[str, Any]]:
    """The setting `service`: the plugin's settings name the server, and a user for each home."""
    memories = Memories()
    with serving(lambda *call: _answering(memories, *call)) as address:
        settings = {"apiKey": "mpg-key", "baseUrl": address, "userId": "{home}"}
        yield {"config": {"plugin": settings}}
