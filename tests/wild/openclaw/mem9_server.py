"""A stand-in of mem9's server. The real one lets a model extract facts."""

import contextlib
import urllib.parse
from collections.abc import Iterator
from typing import Any

from memories import Memories, serving

_AT = {"created_at": "2026-11-28T00:00:00Z", "updated_at": "2026-11-28T00:00:00Z"}


def _answering(memories: Memories, verb: str, path: str, told: dict[str, Any]) -> Any:
    place, _, query = path.partition("?")
    name = place.rpartition("/")[2]
    # The space stands in the address, because a stand-in sees no headers.
    scope = {"space": place.partition("/v1alpha2/")[0]}
    if verb == "POST":
        said = [item for item in told.get("messages", []) if item.get("role") == "user"]
        texts = [item["content"] for item in said] or [told.get("content", "")]
        rows = [memories.add(str(text), **scope) for text in texts]
        first = next((row for row in rows if row), {"id": "m0", "memory": ""})
        return {"status": "complete", "memories_changed": len(rows), **_shown(first)}
    if verb == "DELETE":
        memories.remove(name)
        return {"status": "ok"}
    if name != "memories":
        return next((_shown(row) for row in memories.of({"id": name})), {})
    asked = dict(urllib.parse.parse_qsl(query))
    limit = int(asked.get("limit") or 20)
    found = memories.search(asked.get("q", ""), limit, scope)
    rest = {"total": len(found), "limit": limit, "offset": 0}
    return {"memories": [_shown(row) for row in found], **rest}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "content": row["memory"], **_AT}


@contextlib.contextmanager
def service() -> Iterator[dict[str, Any]]:
    """The setting `service`: the plugin's settings name the server, and a space for each home."""
    memories = Memories()
    with serving(lambda *call: _answering(memories, *call)) as address:
        yield {"config": {"plugin": {"apiUrl": f"{address}{{home}}", "apiKey": "key"}}}
