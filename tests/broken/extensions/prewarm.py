"""Prepared recall that raises, blocks, or comes to the wrong question or session."""

import threading
from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.plugged import Plugged
from tests.good.switching import Switching


@mutant(kills="MP-PREWARM-001", says="an empty text", report="D1")
class NothingToPrepareIsAnError(Switching):
    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        if not query:
            raise ValueError("query must not be empty")
        super().queue_prefetch(query, session_id=session_id)


@mutant(kills="MP-PREWARM-002", says="queue_prefetch", report="B2", scale=0.1)
class PreparingIsWaitedFor(Switching):
    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        super().queue_prefetch(query, session_id=session_id)
        threading.Event().wait(10)


@mutant(kills="MP-PREWARM-003", says="None", report="hermes#55535")
class APreparedNothingIsGivenToo(Switching):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            if self._prepared is not None and self._prepared[1] is None:
                return None
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-PREWARM-004", says="session key", report="hermes#64745")
class AWorkerOutlivesTheSwitch(Switching):
    _under_way: tuple[str, str | None] | None = None

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        with self._lock:
            self._under_way = (query, self._search(query))

    def _enter(self, session_key: str) -> None:
        super()._enter(session_key)
        # The worker is done just now, whatever was dropped before.
        self._prepared, self._under_way = self._under_way, None


@mutant(kills="MP-PREWARM-004", says="user_id", report="D3")
class OneSlotForAllUsers(Switching):
    slots: ClassVar[dict[str, str | None]] = {}

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        super().queue_prefetch(query, session_id=session_id)
        with self._lock:
            self.slots[query] = self._search(query)

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        known = self.slots.pop(user_message, None)
        return known or super().enrich_turn(user_message, messages)


@mutant(kills="MP-PREWARM-005", says="after a switch to a new conversation", report="D3")
class OneSlotForTheNextTurn(Plugged):
    _ready = ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        self._ready = super().prefetch(query, session_id=session_id)

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        ready, self._ready = self._ready, ""
        return ready or super().prefetch(query, session_id=session_id)


@mutant(kills="MP-PREWARM-005", says="in another session that is open", report="D3")
class OneSlotForAllSessions(Plugged):
    ready: ClassVar[str] = ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        type(self).ready = super().prefetch(query, session_id=session_id)

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        ready, type(self).ready = self.ready, ""
        return ready or super().prefetch(query, session_id=session_id)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        type(self).ready = ""


@mutant(kills="MP-PREWARM-004", says="user_id", report="D3")
class OneSlotForAllUsersOfASession(Switching):
    """As a table of the process by session and question."""

    slots: ClassVar[dict[tuple[str, str], str | None]] = {}

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._key = session_key
        super().initialize(session_key, config)

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        super().queue_prefetch(query, session_id=session_id)
        with self._lock:
            self.slots[self._key, query] = self._search(query)

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        known = self.slots.pop((self._key, user_message), None)
        return known or super().enrich_turn(user_message, messages)
