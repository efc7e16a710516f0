"""Routes of messages, contexts, search and answers."""

import email.parser
import email.policy
from typing import Any

from . import limits, thinking
from .filters import filtered
from .limits import Refused
from .store import Json, Workspace, new_id, now
from .table import ASKED_S, KEYLESS_S, LOCK_S, THOUGHT_S, Answer, ApiRequest, page, route
from .things import known_peer, open_session

_MESSAGE_COLUMNS = ("id", "content", "peer_id", "session_id", "metadata", "created_at")
_STREAMED = 12


@route("POST", "/{workspace_id}/sessions/{session_id}/messages")
def add_messages(call: ApiRequest) -> Answer:
    """Store messages: all of them, or none."""
    parts = limits.listed(limits.body(call.body), "messages")
    for index, part in enumerate(parts):
        at = ("messages", index)
        limits.text(limits.body(part), "content", at, most=limits.MAX_CONTENT)
        limits.text(part, "peer_id", at)
        limits.moment(part, at)
    limits.no_special_tokens(parts, "messages")
    limits.peers([part["peer_id"] for part in parts])
    # They are embedded after the answer; that they can be is found out before it.
    is_fit = call.options.has_embeddings and not any(limits.is_special(p["content"]) for p in parts)
    if call.options.searches_by_meaning and not is_fit:
        raise limits.broken()
    call.write("messages", LOCK_S)
    return Answer(201, _stored(call, parts))


@route("POST", "/{workspace_id}/sessions/{session_id}/messages/upload")
def upload(call: ApiRequest) -> Answer:
    """Store a file as messages."""
    fields = call.body if isinstance(call.body, dict) else {}
    text, speaker = fields.get("file", ""), limits.name(fields, "peer_id")
    size = limits.MAX_CONTENT
    pieces = [text[at : at + size] for at in range(0, len(text), size)] or [""]
    return Answer(201, _stored(call, [{"content": t, "peer_id": speaker} for t in pieces]))


def form(data: bytes, kind: str) -> dict[str, str]:
    """The fields of a form, of which one may be a file of text."""
    head = f"Content-Type: {kind}\r\n\r\n".encode()
    parser = email.parser.BytesParser(policy=email.policy.HTTP)
    parts = parser.parsebytes(head + data).iter_parts()
    named = ((part.get_param("name", header="content-disposition"), part) for part in parts)
    return {str(name): _text(part.get_payload(decode=True)) for name, part in named}


def _text(payload: Any) -> str:
    return payload.decode("utf-8") if isinstance(payload, bytes) else ""


def _stored(call: ApiRequest, parts: list[Json]) -> list[Json]:
    held = open_session(call.workspace, call.session)
    made = [_message(call, part) for part in parts]
    for message in made:
        call.workspace.peer(message["peer_id"])
        held.peers.setdefault(message["peer_id"], {"observe_me": None, "observe_others": False})
    held.messages.extend(made)
    if call.options.derives:
        thinking.derive(call.workspace, held)
    return made


def _message(call: ApiRequest, part: Json) -> Json:
    content = part["content"].replace("\x00", "")
    made = {"id": new_id(), "content": content, "peer_id": part["peer_id"]}
    about = limits.without_nul(part.get("metadata") or {})
    made |= {"session_id": call.session, "metadata": about}
    made |= {"created_at": limits.moment(part, ()) or now(), "workspace_id": call.workspace.id}
    return {**made, "token_count": limits.tokens(content)}


@route("POST", "/{workspace_id}/sessions/{session_id}/messages/list")
def messages(call: ApiRequest) -> Answer:
    """List the messages of a session."""
    held = call.held()
    filters = (call.body or {}).get("filters")
    found = filtered(held.messages if held else [], filters, "Message", _MESSAGE_COLUMNS)
    return page(call, found[::-1] if call.query.get("reverse") == "true" else found)


@route("GET", "/{workspace_id}/sessions/{session_id}/messages/{message_id}")
def get_message(call: ApiRequest) -> Answer:
    """Read a message."""
    return Answer(200, _one(call))


@route("PUT", "/{workspace_id}/sessions/{session_id}/messages/{message_id}")
def update_message(call: ApiRequest) -> Answer:
    """Replace what a message is described by."""
    message = _one(call)
    message["metadata"] = limits.without_nul(limits.body(call.body).get("metadata") or {})
    return Answer(200, message)


def _one(call: ApiRequest) -> Json:
    held, name = call.held(), call.params["message_id"]
    for message in held.messages if held else ():
        if message["id"] == name:
            return message
    raise Refused(404, f"Message with ID {name} not found")


@route("GET", "/{workspace_id}/sessions/{session_id}/context")
def session_context(call: ApiRequest) -> Answer:
    """Summary, newest messages, and what is known of a peer, within a number of tokens."""
    most = limits.MAX_CONTEXT_TOKENS
    budget = limits.number(call.query, "tokens", most, most)
    held = call.held()
    kept, summary = held.messages if held else [], None
    if held and call.query.get("summary") != "false":
        summary = _fitting(held.summaries, budget)
        kept = _after(kept, summary)
        budget -= summary["token_count"] if summary else 0
    told = {"id": call.session, "messages": thinking.within(kept, budget)}
    shown = {"summary": thinking.shown_summary(summary)}
    return Answer(200, {**told, **shown, **_of_target(call)})


def _fitting(summaries: dict[str, Json], budget: int) -> Json | None:
    for name in ("long", "short"):
        summary = summaries.get(name)
        if summary and summary["token_count"] <= budget * 0.4:
            return summary
    return None


def _after(kept: list[Json], summary: Json | None) -> list[Json]:
    """The messages from the last that the summary covers on, as the server has it."""
    return kept[summary["at"] - 1 :] if summary else kept


def _of_target(call: ApiRequest) -> Json:
    target = call.query.get("peer_target")
    if target is None:
        return {"peer_representation": None, "peer_card": None}
    known_peer(call.workspace, target)
    observer = call.query.get("peer_perspective", target)
    known_peer(call.workspace, observer)
    session = call.session if call.query.get("limit_to_session") == "true" else None
    says = _represented(call.workspace, observer, target, session, call.query)
    card = call.workspace.cards.get((observer, target))
    return {"peer_representation": says, "peer_card": card}


@route("GET", "/{workspace_id}/sessions/{session_id}/summaries")
def summaries(call: ApiRequest) -> Answer:
    """Read the summaries of a session."""
    held = call.held()
    made = held.summaries if held else {}
    told = {f"{name}_summary": thinking.shown_summary(made.get(name)) for name in ("short", "long")}
    return Answer(200, {"id": call.session, **told})


@route("GET", "/{workspace_id}/peers/{peer_id}/context")
def peer_context(call: ApiRequest) -> Answer:
    """The knowledge that a peer has of another, or of itself."""
    known_peer(call.workspace, call.peer)
    target = call.query.get("target", call.peer)
    says = _represented(call.workspace, call.peer, target, None, call.query)
    told = {"peer_id": call.peer, "target_id": target, "representation": says}
    return Answer(200, {**told, "peer_card": call.workspace.cards.get((call.peer, target))})


@route("POST", "/{workspace_id}/peers/{peer_id}/representation")
def representation(call: ApiRequest) -> Answer:
    """The same as a text alone, also of a peer that nobody knows."""
    given = limits.body(call.body)
    target, session = given.get("target") or call.peer, given.get("session_id")
    says = _represented(call.workspace, call.peer, target, session, given)
    return Answer(200, {"representation": says})


def _represented(
    workspace: Workspace, observer: str, target: str, session: str | None, asked: Any
) -> str:
    made = thinking.about(workspace, observer, target, session)
    most = int(asked.get("max_conclusions") or thinking.REPRESENTED)
    top = int(asked.get("search_top_k") or most)
    return thinking.representation(made, asked.get("search_query"), top, most)


@route("POST", "/{workspace_id}/peers/{peer_id}/chat")
def chat(call: ApiRequest) -> Answer:
    """Answer a question about a peer from what is concluded."""
    given = limits.body(call.body)
    query = limits.text(given, "query", least=1, most=limits.MAX_QUERY)
    limits.level(given)
    target = given.get("target") or call.peer
    if given.get("target"):
        known_peer(call.workspace, target)
    streams = bool(given.get("stream"))
    if not call.options.has_model:
        call.pause(
            (THOUGHT_S if call.options.has_embeddings else KEYLESS_S) * call.options.patience
        )
        if streams:
            return Answer(200, [], stream=True)
        raise limits.broken()
    says = thinking.answer(thinking.about(call.workspace, call.peer, target, None), query)
    if streams:
        return Answer(200, _pieces(says or ""), stream=True)
    return Answer(200, {"content": says})


def _pieces(text: str) -> list[Json]:
    cut = (text[at : at + _STREAMED] for at in range(0, len(text), _STREAMED))
    return [*({"delta": {"content": piece}, "done": False} for piece in cut), {"done": True}]


@route("POST", "/{workspace_id}/search")
def search(call: ApiRequest) -> Answer:
    """Find messages in the workspace."""
    return _found(call, call.workspace.messages())


@route("POST", "/{workspace_id}/sessions/{session_id}/search")
def search_session(call: ApiRequest) -> Answer:
    """Find messages in a session."""
    held = call.held()
    return _found(call, held.messages if held else [])


@route("POST", "/{workspace_id}/peers/{peer_id}/search")
def search_peer(call: ApiRequest) -> Answer:
    """Find messages of a peer."""
    said = call.workspace.messages()
    return _found(call, [message for message in said if message["peer_id"] == call.peer])


def _found(call: ApiRequest, among: list[Json]) -> Answer:
    given = limits.body(call.body)
    query = limits.text(given, "query").replace("\x00", "")
    size = limits.count(given, "limit", 10, limits.MAX_FOUND)
    if call.options.searches_by_meaning:
        if not call.options.has_embeddings:
            raise limits.unembedded()
        limits.query(query)
        call.embed(ASKED_S)
    filters = dict(given.get("filters") or {})
    viewer = filters.pop("peer_perspective", None)
    if viewer is not None:
        held = call.workspace.sessions
        among = [each for each in among if viewer in held[each["session_id"]].peers]
    among = filtered(among, filters, "Message", _MESSAGE_COLUMNS)
    is_by_words = not call.options.searches_by_meaning
    return Answer(200, thinking.ranked(query, among, strict=is_by_words)[:size])


@route("GET", "/{workspace_id}/queue/status")
def queue(call: ApiRequest) -> Answer:
    """The amount of work that has come and was not looked at yet."""
    held, one = call.workspace.sessions.values(), call.query.get("session_id")
    waiting = {s.internal: _work(s.messages) - _work(s.messages[: s.derived]) for s in held}
    if one is not None:
        waiting = {s.internal: waiting[s.internal] for s in held if s.id == one}
    named = {name: {"session_id": name, **_units(size)} for name, size in waiting.items() if size}
    return Answer(200, {**_units(sum(waiting.values())), "sessions": None if one else named})


def _work(messages: list[Json]) -> int:
    return len(messages)


def _units(pending: int) -> Json:
    done = {"completed_work_units": 0, "in_progress_work_units": 0}
    return {"total_work_units": pending, **done, "pending_work_units": pending}
