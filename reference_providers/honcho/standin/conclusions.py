"""Routes of conclusions."""

from . import limits, thinking
from .filters import filtered
from .limits import Refused
from .store import Json, Workspace
from .table import Answer, Call, page, route
from .things import known_peer

_COLUMNS = ("id", "content", "observer_id", "observed_id", "session_id", "level")


@route("POST", "/{workspace_id}/conclusions")
def add_conclusions(call: Call) -> Answer:
    """Store conclusions: all of them, or none."""
    parts = limits.listed(limits.body(call.body), "conclusions")
    for index, part in enumerate(parts):
        limits.text(limits.body(part), "content", ("conclusions", index), least=1)
    # Measured for messages; that conclusions are refused for the same is taken from there.
    limits.no_special_tokens(parts, "conclusions")
    limits.embeddable(parts, "conclusions")
    for part in parts:
        _known(call.workspace, part)
    if not call.options.has_embeddings:
        raise Refused(422, "The content could not be embedded")
    made = [_conclusion(part) for part in parts]
    call.workspace.conclusions.extend(made)
    return Answer(201, made)


def _known(workspace: Workspace, part: Json) -> None:
    known_peer(workspace, limits.name(part, "observer_id"))
    known_peer(workspace, limits.name(part, "observed_id"))
    session = part.get("session_id")
    if session is not None and session not in workspace.sessions:
        raise limits.absent("Session", session, workspace.id)


def _conclusion(part: Json) -> Json:
    pair, text = (part["observer_id"], part["observed_id"]), part["content"].replace("\x00", "")
    return thinking.conclusion(*pair, text, part.get("session_id"))


@route("POST", "/{workspace_id}/conclusions/list")
def conclusions(call: Call) -> Answer:
    """List conclusions, the newest first."""
    made = _chosen(call)[::-1]
    return page(call, made[::-1] if call.query.get("reverse") == "true" else made)


@route("POST", "/{workspace_id}/conclusions/query")
def query_conclusions(call: Call) -> Answer:
    """Find conclusions."""
    given = limits.body(call.body)
    query = limits.text(given, "query", least=1)
    limits.query_size(query)
    if not call.options.has_embeddings:
        raise Refused(422, f"Query exceeds maximum token limit of {limits.MAX_EMBEDDED_TOKENS}.")
    size = limits.count(given, "top_k", 10, limits.MAX_FOUND)
    return Answer(200, thinking.ranked(query, _chosen(call))[:size])


def _chosen(call: Call) -> list[Json]:
    filters = (call.body or {}).get("filters")
    made = call.workspace.conclusions
    return filtered(made, filters, "Document", _COLUMNS)


@route("DELETE", "/{workspace_id}/conclusions/{conclusion_id}")
def delete_conclusion(call: Call) -> Answer:
    """Delete a conclusion."""
    name, made = call.params["conclusion_id"], call.workspace.conclusions
    kept = [each for each in made if each["id"] != name]
    if len(kept) == len(made):
        says = f"not found or does not belong to workspace {call.workspace.id}"
        raise Refused(404, f"Document {name} {says}")
    made[:] = kept
    return Answer(204)
