"""A good provider that starts much in each session, and leaves nothing of it, however it goes."""

import logging
import os
import queue
import threading
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, TooLarge
from tests.good.journal import Journal

_MOST_CHARS = 10_000
_LOG = logging.getLogger("working")


class Working(Journal):
    """Has a lock file, a thread and a handler of its log in each session; it refuses long turns."""

    name = "working"

    def __init__(self) -> None:
        super().__init__()
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._handler: logging.Handler | None = None
        self._gate: int | None = None

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self.shutdown()  # what an earlier call started
        self._handler = logging.NullHandler()
        _LOG.addHandler(self._handler)
        try:
            super().initialize(session_key, config)
            self._gate = os.open(Path(config["home"], "session.lock"), os.O_CREAT | os.O_RDWR)
        except OSError as error:
            self.shutdown()
            raise Misconfigured(f"the home cannot be used: {type(error).__name__}") from None
        self._worker = threading.Thread(target=self._work, name="working", daemon=True)
        self._worker.start()

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if len(user_message) > _MOST_CHARS:
            raise TooLarge(f"a turn has {_MOST_CHARS} characters at most")
        super().on_turn_complete(user_message, assistant_response)
        self._asked.put(True)

    def _work(self) -> None:
        while self._asked.get():
            _LOG.debug("a turn is stored")

    def shutdown(self) -> None:
        with self._lock:
            worker, self._worker = self._worker, None
            handler, self._handler = self._handler, None
            gate, self._gate = self._gate, None
        if worker is not None:
            self._asked.put(False)
            worker.join(5.0)
        if handler is not None:
            _LOG.removeHandler(handler)
        if gate is not None:
            os.close(gate)
