"""Ends and switches of sessions, and delegations: queued behind the writes, off the user's path."""

from collections.abc import Sequence
from typing import Any

from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.core import Core, Session
from memproto.registry.events import attempt
from memproto.registry.messages import copied, copier, normalised, plain_text
from memproto.types import Message

_END = "on_session_end"
_SWITCH = "on_session_switch"
_DELEGATION = "on_delegation"


class Sessions:
    """The part of a registry that tells providers what session they are in."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def session_key(self) -> str:
        """The key of the session that the host is in; "" before `initialize_all`."""
        return self._core.session.key

    def on_session_end(self, messages: Sequence[Message]) -> None:
        """Tell each provider that serves `sessions` that the session is over; returns at once."""
        if self._core.is_elsewhere() or not self._core.writes_are_called or not self._core.lanes:
            return
        if self._core.session.claim_end():
            copy = copier(normalised(messages))
            for lane in self._core.serving("sessions"):
                lane.accept(_END, (copy(),))

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Go on in another session; returns at once."""
        if not _is_key(new_session_id):
            raise ValueError("a session key is text that is not empty")
        if self._core.is_elsewhere():
            return
        keywords = {"parent_session_id": parent_session_id, "reset": reset, "rewound": rewound}
        with self._core.lock:
            if reset:
                self.on_session_end([])
            for lane in self._core.lanes:
                self._switch(lane, new_session_id, keywords | kwargs)
            # Last. A recall that begins before this line belongs to the old session: its worker
            # waits for the switch, and its answer is dropped. Were the session replaced first, a
            # recall between the two steps would count for the new session, and could be answered
            # by a provider whose switch is not queued yet.
            left, self._core.session = (
                self._core.session,
                Session(new_session_id, self._core.session),
            )
            left.is_left = True

    def _switch(self, lane: ProviderLane, key: str, keywords: dict[str, Any]) -> None:
        if "sessions" in lane.extensions or _keeps_the_key(lane):
            lane.accept(_SWITCH, (key,), copied(keywords))
        elif key != self._core.session.key:
            lane.tell(_SWITCH, "dropped", detail="not served")

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Tell each provider that serves `delegation` what a subagent answered; returns at once."""
        told = plain_text(task), plain_text(result)
        keywords = {"child_session_id": child_session_id, **kwargs}
        for lane in self._core.writable():
            if "delegation" in lane.extensions:
                lane.accept(_DELEGATION, told, copied(keywords))

    def flush(self, timeout_s: float | None = None) -> bool:
        """True if all that was queued before this call was delivered, or told as lost."""
        if self._core.is_elsewhere():
            return True
        budget_s = self._core.deadlines.shutdown_s if timeout_s is None else timeout_s
        until = self._core.clock.now() + budget_s
        waited = [lane for lane in self._core.lanes if not lane.runs_this_thread()]
        return all(lane.await_writes(until) for lane in waited)


def _keeps_the_key(lane: ProviderLane) -> bool:
    """True if it hands the session's key to hooks of its own, and must hear of a switch for it."""
    if attempt(getattr, lane.provider, "keeps_session_key")[0] is not True:
        return False
    return callable(attempt(getattr, lane.provider, _SWITCH)[0])


def _is_key(value: object) -> bool:
    return isinstance(value, str) and value != ""
