"""The stand-in's content: workspaces, and in each its peers, sessions, messages, conclusions."""

import dataclasses
import datetime as dt
import secrets
import threading
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]


def new_id() -> str:
    """An id as the server gives to messages and conclusions."""
    return secrets.token_urlsafe(16)[:21]


def now() -> str:
    """The time as the server writes it."""
    stamp = dt.datetime.now(dt.UTC).isoformat(timespec="microseconds")
    return stamp.replace("+00:00", "Z")


@dataclasses.dataclass
class Session:
    """
    A session.

    Attributes:
        peers: Name of each peer in it, to its flags here.
        messages: In the order in which they were stored.
        known: Values that `GET`, `POST` and `PUT` show of it.
        summaries: `short` and `long`, where there are any.
        derived: So many of its messages have been looked at.
        deleted: True if it was deleted and is still to be removed.

    """

    id: str
    known: Json
    peers: dict[str, Json] = dataclasses.field(default_factory=dict)
    messages: list[Json] = dataclasses.field(default_factory=list)
    summaries: dict[str, Json] = dataclasses.field(default_factory=dict)
    derived: int = 0
    deleted: bool = False
    internal: str = dataclasses.field(default_factory=new_id)


@dataclasses.dataclass
class Workspace:
    """A workspace; cards are kept by observer and observed."""

    id: str
    known: Json
    peers: dict[str, Json] = dataclasses.field(default_factory=dict)
    sessions: dict[str, Session] = dataclasses.field(default_factory=dict)
    conclusions: list[Json] = dataclasses.field(default_factory=list)
    cards: dict[tuple[str, str], list[str]] = dataclasses.field(default_factory=dict)

    def messages(self) -> list[Json]:
        """The messages of all sessions that are not deleted."""
        kept = (session for session in self.sessions.values() if not session.deleted)
        return [message for session in kept for message in session.messages]

    def peer(self, name: str) -> Json:
        """A peer, which is made where there is none."""
        return self.peers.setdefault(name, self._new(name))

    def session(self, name: str) -> Session:
        """A session, which is made where there is none."""
        if name not in self.sessions:
            made = self._new(name)
            known = {"id": made["id"], "is_active": True, "workspace_id": self.id}
            known |= {key: made[key] for key in ("metadata", "configuration", "created_at")}
            self.sessions[name] = Session(name, known)
        return self.sessions[name]

    def _new(self, name: str) -> Json:
        made = {"id": name, "workspace_id": self.id, "created_at": now()}
        return {**made, "metadata": {}, "configuration": {}}


class Store:
    """
    All of it, in memory. Hold `lock` for what reads or changes more than one thing.

    The methods are views for tests: of one workspace, or of all where none is named.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.workspaces: dict[str, Workspace] = {}

    def workspace(self, name: str) -> Workspace:
        """A workspace, which is made where there is none."""
        known = {"id": name, "metadata": {}, "configuration": {}, "created_at": now()}
        return self.workspaces.setdefault(name, Workspace(name, known))

    def messages(self, session: str | None = None, workspace: str | None = None) -> list[Json]:
        """The messages of a session, or of all, in order."""
        with self.lock:
            found = [message for each in self._some(workspace) for message in each.messages()]
        return [m for m in found if session in (None, m["session_id"])]

    def texts(self, session: str | None = None, workspace: str | None = None) -> list[str]:
        """The texts of those messages."""
        return [message["content"] for message in self.messages(session, workspace)]

    def sessions(self, workspace: str | None = None) -> list[str]:
        """The names of the sessions."""
        with self.lock:
            return [name for each in self._some(workspace) for name in each.sessions]

    def peers(self, session: str | None = None, workspace: str | None = None) -> dict[str, Json]:
        """The peers by name; of a session: with their flags in it."""
        with self.lock:
            if session is None:
                return {name: dict(p) for w in self._some(workspace) for name, p in w.peers.items()}
            held = [w.sessions[session] for w in self._some(workspace) if session in w.sessions]
            return {name: dict(flags) for each in held for name, flags in each.peers.items()}

    def conclusions(
        self, observed: str | None = None, observer: str | None = None, workspace: str | None = None
    ) -> list[Json]:
        """The conclusions about a peer, by a peer, or all."""
        with self.lock:
            found = [made for each in self._some(workspace) for made in each.conclusions]
        about = [made for made in found if observed in (None, made["observed_id"])]
        return [made for made in about if observer in (None, made["observer_id"])]

    def cards(self, workspace: str | None = None) -> dict[tuple[str, str], list[str]]:
        """The cards by observer and observed."""
        with self.lock:
            return {pair: list(c) for w in self._some(workspace) for pair, c in w.cards.items()}

    def _some(self, workspace: str | None) -> Iterable[Workspace]:
        if workspace is None:
            return list(self.workspaces.values())
        return [self.workspaces[workspace]] if workspace in self.workspaces else []
