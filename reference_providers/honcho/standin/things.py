"""Routes of workspaces, peers, sessions and cards."""

from typing import Any

from . import limits, thinking
from .limits import Refused
from .store import Json, Session, Workspace
from .table import Answer, ApiRequest, page, route


def change(known: Json, given: Any) -> None:
    """Replaces the values that come with a request; the others stay."""
    for key in ("metadata", "configuration"):
        if given.get(key) is not None:
            known[key] = limits.without_nul(given[key])


@route("POST", "")
def workspace(call: ApiRequest) -> Answer:
    """Get or make a workspace."""
    name = limits.name(call.body)
    is_new = name not in call.store.workspaces
    made = call.store.workspace(name)
    change(made.known, call.body)
    return Answer(201 if is_new else 200, made.known)


@route("POST", "/list")
def workspaces(call: ApiRequest) -> Answer:
    """List the workspaces."""
    return page(call, [each.known for each in call.store.workspaces.values()])


@route("PUT", "/{workspace_id}")
def update_workspace(call: ApiRequest) -> Answer:
    """Set what a workspace is described by."""
    change(call.workspace.known, limits.body(call.body))
    return Answer(200, call.workspace.known)


@route("DELETE", "/{workspace_id}")
def delete_workspace(call: ApiRequest) -> Answer:
    """Delete a workspace that has no sessions."""
    name = call.workspace.id
    if call.workspace.sessions:
        says = "active session(s) remain. Delete all sessions first."
        raise Refused(409, f"Cannot delete workspace '{name}': {says}")
    del call.store.workspaces[name]
    return Answer(202, {"message": "Workspace deletion accepted"})


@route("POST", "/{workspace_id}/peers")
def peer(call: ApiRequest) -> Answer:
    """Get or make a peer."""
    name = limits.name(call.body)
    is_new = name not in call.workspace.peers
    made = call.workspace.peer(name)
    change(made, call.body)
    return Answer(201 if is_new else 200, made)


@route("POST", "/{workspace_id}/peers/list")
def peers(call: ApiRequest) -> Answer:
    """List the peers."""
    return page(call, list(call.workspace.peers.values()))


@route("PUT", "/{workspace_id}/peers/{peer_id}")
def update_peer(call: ApiRequest) -> Answer:
    """Set what a peer is described by."""
    made = call.workspace.peer(call.peer)
    change(made, limits.body(call.body))
    return Answer(200, made)


@route("POST", "/{workspace_id}/peers/{peer_id}/sessions")
def sessions_of_peer(call: ApiRequest) -> Answer:
    """List the sessions that a peer is in."""
    return page(call, _shown(call.workspace, call.peer))


@route("GET", "/{workspace_id}/peers/{peer_id}/card")
def get_card(call: ApiRequest) -> Answer:
    """Read what one peer has written on the card of another."""
    known_peer(call.workspace, call.peer)
    target = call.query.get("target", call.peer)
    return Answer(200, {"peer_card": call.workspace.cards.get((call.peer, target))})


@route("PUT", "/{workspace_id}/peers/{peer_id}/card")
def set_card(call: ApiRequest) -> Answer:
    """Write it."""
    lines = limits.body(call.body).get("peer_card")
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        says = "Input should be a valid list"
        raise limits.invalid("list_type", ["body", "peer_card"], says, lines)
    target = call.query.get("target", call.peer)
    for name in (call.peer, target):
        call.workspace.peer(limits.name({"id": name}))
    lines = limits.without_nul(lines)
    call.workspace.cards[call.peer, target] = lines
    return Answer(200, {"peer_card": lines})


@route("POST", "/{workspace_id}/sessions")
def session(call: ApiRequest) -> Answer:
    """Get or make a session, and add peers to it."""
    name = limits.name(call.body)
    given = call.body.get("peers") or {}
    limits.observers(name, given)
    is_new = name not in call.workspace.sessions
    held = open_session(call.workspace, name)
    change(held.known, call.body)
    add_flags(call.workspace, held, given)
    return Answer(201 if is_new else 200, held.known)


@route("POST", "/{workspace_id}/sessions/list")
def sessions(call: ApiRequest) -> Answer:
    """List the sessions."""
    return page(call, _shown(call.workspace))


@route("PUT", "/{workspace_id}/sessions/{session_id}")
def update_session(call: ApiRequest) -> Answer:
    """Set what a session is described by."""
    held = open_session(call.workspace, call.session)
    change(held.known, limits.body(call.body))
    return Answer(200, held.known)


@route("DELETE", "/{workspace_id}/sessions/{session_id}")
def delete_session(call: ApiRequest) -> Answer:
    """Mark a session as deleted; what is in it is removed by and by."""
    held = call.held()
    if held is None or held.deleted:
        raise limits.absent("Session", call.session, call.workspace.id)
    held.deleted = True
    if call.options.derives:
        purge(call.workspace)
    return Answer(202, {"message": "Session deleted successfully"})


@route("GET", "/{workspace_id}/sessions/{session_id}/peers")
def session_peers(call: ApiRequest) -> Answer:
    """List the peers of a session."""
    held = call.held()
    return page(call, [call.workspace.peer(name) for name in (held.peers if held else ())])


@route("POST", "/{workspace_id}/sessions/{session_id}/peers")
def add_peers(call: ApiRequest) -> Answer:
    """Add peers to a session, or change their flags in it."""
    given = limits.body(call.body)
    held = open_session(call.workspace, call.session)
    limits.observers(held.id, {**held.peers, **given})
    add_flags(call.workspace, held, given)
    return Answer(200, held.known)


@route("PUT", "/{workspace_id}/sessions/{session_id}/peers")
def set_peers(call: ApiRequest) -> Answer:
    """Have these peers, and no others, in a session."""
    given = limits.body(call.body)
    limits.observers(call.session, given)
    held = open_session(call.workspace, call.session)
    held.peers.clear()
    add_flags(call.workspace, held, given)
    return Answer(200, held.known)


@route("DELETE", "/{workspace_id}/sessions/{session_id}/peers")
def remove_peers(call: ApiRequest) -> Answer:
    """Take peers out of a session."""
    held = open_session(call.workspace, call.session)
    for name in limits.body(call.body, list):
        held.peers.pop(name, None)
    return Answer(200, held.known)


@route("GET", "/{workspace_id}/sessions/{session_id}/peers/{peer_id}/config")
def get_peer_config(call: ApiRequest) -> Answer:
    """Read the flags of a peer in a session."""
    held = call.held()
    if held is None or call.peer not in held.peers:
        raise limits.absent("Session peer", call.peer, call.workspace.id)
    return Answer(200, dict(held.peers[call.peer]))


@route("PUT", "/{workspace_id}/sessions/{session_id}/peers/{peer_id}/config")
def set_peer_config(call: ApiRequest) -> Answer:
    """Set them."""
    held = open_session(call.workspace, call.session)
    add_flags(call.workspace, held, {call.peer: limits.body(call.body)})
    return Answer(204)


def open_session(workspace: Workspace, name: str) -> Session:
    """A session, which is made where there is none; a 404 where it is being deleted."""
    held = workspace.session(name)
    if held.deleted:
        raise limits.absent("Session", name, workspace.id)
    return held


def add_flags(workspace: Workspace, held: Session, given: Json) -> None:
    """Put peers into a session, with these flags."""
    for name, flags in given.items():
        workspace.peer(limits.name({"id": name}))
        before = held.peers.setdefault(name, {"observe_me": None, "observe_others": False})
        before.update({key: flag for key, flag in (flags or {}).items() if flag is not None})


def known_peer(workspace: Workspace, name: str) -> Json:
    """A peer that exists; a 404 where it does not."""
    if name not in workspace.peers:
        raise limits.absent("Peer", name, workspace.id)
    return workspace.peers[name]


def derive(workspace: Workspace) -> None:
    """Do what the server does in the background."""
    for held in workspace.sessions.values():
        thinking.derive(workspace, held)
    purge(workspace)


def purge(workspace: Workspace) -> None:
    """Remove the sessions that were deleted, with the conclusions drawn from them."""
    gone = {name for name, held in workspace.sessions.items() if held.deleted}
    for name in gone:
        del workspace.sessions[name]
    kept = [made for made in workspace.conclusions if made["session_id"] not in gone]
    workspace.conclusions[:] = kept


def _shown(workspace: Workspace, peer: str | None = None) -> list[Json]:
    held = (each for each in workspace.sessions.values() if not each.deleted)
    return [each.known for each in held if peer is None or peer in each.peers]
