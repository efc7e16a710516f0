"""Routes of conclusions."""

from . import limits, thinking
from .filters import filtered
from .limits import Refused
from .store import Json, Workspace
from .table import ASKED_S, RETRIED_S, Answer, ApiRequest, page, route
from .things import known_peer

_COLUMNS = ("id", "content", "observer_id", "observed_id", "session_id", "level", "created_at")

#: Other names of columns.
_NAMES = {"observer": "observer_id", "observed": "observed_id"}


_UNPAIRED = (
    "observer and observed must be specified for semantic search. Pass them inside the 'filters'"
    ' object, e.g. {"query": "...", "filters": {"observer": "alice", "observed": "bob"}}. Both'
    " 'observer'/'observer_id' and 'observed'/'observed_id' are accepted."
)


@route("POST", "/{workspace_id}/conclusions")
def add_conclusions(call: ApiRequest) -> Answer:
    """Store conclusions: all of them, or none."""
    parts = limits.listed(limits.body(call.body), "conclusions")
    for index, part in enumerate(parts):
        limits.text(limits.body(part), "content", ("conclusions", index), least=1)
    limits.no_special_tokens(parts, "conclusions")
    limits.embeddable(parts, "conclusions")
    for part in parts:
        _known(call.workspace, part)
    if not call.options.has_embeddings:
        raise Refused(422, "OpenAI API key is required")
    for part in parts:
        limits.no_embedded_token(part["content"])
    call.embed(RETRIED_S)
    call.write("conclusions")
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
def conclusions(call: ApiRequest) -> Answer:
    """List conclusions, the newest first."""
    made = _chosen(call)[::-1]
    return page(call, made[::-1] if call.query.get("reverse") == "true" else made)


@route("POST", "/{workspace_id}/conclusions/query")
def query_conclusions(call: ApiRequest) -> Answer:
    """Find conclusions of one peer about another."""
    given = limits.body(call.body)
    query = limits.text(given, "query")
    size = limits.count(given, "top_k", 10, limits.MAX_FOUND)
    if not {"observer_id", "observed_id"} <= set(_filters(call)):
        raise Refused(422, _UNPAIRED)
    limits.query(query)
    if not call.options.has_embeddings:
        raise limits.unembedded()
    call.embed(ASKED_S)
    return Answer(200, thinking.ranked(query, _chosen(call))[:size])


def _filters(call: ApiRequest) -> Json:
    given = (call.body or {}).get("filters") or {}
    return {_NAMES.get(key, key): value for key, value in given.items()}


def _chosen(call: ApiRequest) -> list[Json]:
    filters = _filters(call)
    made = call.workspace.conclusions
    return filtered(made, filters, "Document", _COLUMNS)


@route("DELETE", "/{workspace_id}/conclusions/{conclusion_id}")
def delete_conclusion(call: ApiRequest) -> Answer:
    """Delete a conclusion."""
    name, made = call.params["conclusion_id"], call.workspace.conclusions
    kept = [each for each in made if each["id"] != name]
    if len(kept) == len(made):
        says = f"not found or does not belong to workspace {call.workspace.id}"
        raise Refused(404, f"Document {name} {says}")
    call.write("conclusions")
    made[:] = [each for each in made if each["id"] != name]
    return Answer(204)
