"""
A small good provider that serves sessions, prewarm and turns.

It keeps sessions apart, so that the session in which a text is stored can be seen from outside;
turns wait in a batch, and recall is prepared by a thread, as providers with a slow backend do.
"""

import threading
from typing import Any

from tests.good.journal import Journal
from tests.good.tenants import Tenants

#: Number of turns that are written together.
_BATCH = 3


class Switching(Tenants):
    """Tenants that can be told to go on in another session."""

    name = "switching"

    def __init__(self) -> None:
        super().__init__()
        self._batch: list[tuple[str, str]] = []
        self._prepared: tuple[str, str | None] | None = None
        self._generation = 0
        self._workers: list[threading.Thread] = []
        self._turn_number = 0

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._config = config
        super().initialize(session_key, config)

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["prewarm", "turns", "sessions"]}

    # -- what stores --------------------------------------------------------------------------

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        with self._lock:
            self._batch.append((user_message, assistant_response))
            if len(self._batch) >= _BATCH:
                self._flush()
            self._drop_prepared()

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        with self._lock:
            super().on_memory_write(action, target, content, old_text)
            self._drop_prepared()

    def _flush(self) -> None:
        """Write the batch to the session that the instance is in."""
        while self._batch:
            Journal.on_turn_complete(self, *self._batch[0])
            del self._batch[0]

    # -- sessions -----------------------------------------------------------------------------

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Write what is not written yet; the messages are those of turns that were recorded."""
        with self._lock:
            self._flush()

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        with self._lock:
            self._flush()
            self._drop_prepared()
            self._enter(new_session_id)

    def _enter(self, session_key: str) -> None:
        super().initialize(session_key, self._config)

    def shutdown(self) -> None:
        with self._lock:
            self._flush()
            workers, self._workers = self._workers, []
        for worker in workers:
            worker.join()

    # -- turns and recall ---------------------------------------------------------------------

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        self._turn_number = turn_number

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        with self._lock:
            worker = threading.Thread(target=self._prepare, args=(query, self._generation))
            self._workers = [old for old in self._workers if old.is_alive()] + [worker]
            worker.start()

    def _prepare(self, query: str, generation: int) -> None:
        with self._lock:
            # Another session, or a write, has come in between.
            if generation == self._generation:
                self._prepared = (query, self._search(query))

    def _drop_prepared(self) -> None:
        self._generation += 1
        self._prepared = None

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            if self._prepared is not None and self._prepared[0] == user_message:
                return self._prepared[1]
            return self._search(user_message)

    def _search(self, query: str) -> str | None:
        return super().enrich_turn(query, [])
