"""A stand-in of Graphiti's server. The real one makes facts of episodes by a model."""

import contextlib
from collections.abc import Iterator
from typing import Any

from memories import Memories, serving


def _answering(memories: Memories, _verb: str, path: str, told: dict[str, Any]) -> Any:
    if path == "/messages":
        for message in told.get("messages", []):
            memories.add(str(message.get("content")), group=told.get("group_id"))
        return {"success": True, "message": "queued"}
    if path == "/search":
        groups = [{"group": name} for name in told.get("group_ids", [])]
        limit = int(told.get("max_facts") or 10)
        found = memories.search(str(told.get("query", "")), limit, {"OR": groups})
        return {"facts": [_fact(row) for row in found]}
    return [] if path.startswith("/episodes/") else {"status": "healthy"}


def _fact(row: dict[str, Any]) -> dict[str, Any]:
    times = dict.fromkeys(("valid_at", "invalid_at", "expired_at"))
    said = {"fact": row["memory"], "created_at": "2026-11-28T00:00:00Z"}
    return {"uuid": row["id"], "name": "SAID", **said, **times}


@contextlib.contextmanager
def service() -> Iterator[dict[str, Any]]:
    """The setting `service`: the plugin's settings name the server, and a group for each home."""
    memories = Memories()
    with serving(lambda *call: _answering(memories, *call)) as address:
        settings = {"url": address, "groupId": "{home}", "autoRecall": True, "debug": False}
        yield {"config": {"plugin": {**settings, "recallMaxFacts": 5}}}
