"""
A good provider whose store is behind HTTP: every request has a deadline, every change an id.

It keeps nothing in its home and starts no thread; `memproto.toml` beside it starts the server.
"""

import logging
import uuid
from typing import Any

from memproto import fence
from memproto.errors import Unavailable
from tests.good.journal import within, words
from tests.good.remote.client import Refused, post

logger = logging.getLogger(__name__)


class Remote:
    """Stores turns and writes on a server; the home is the name of the space there."""

    name = "remote"

    #: For one request; a write that is not answered is sent once more, with the same id.
    recall_s = 2.0
    write_s = 1.0
    tries = 2

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._url = str(config["remote_url"])
        self._space = config["home"]
        self._recall_chars = config.get("limits", {}).get("recall_chars")
        kept = config.get("protocol", {}).get("contexts", ["primary"])
        self._is_kept = config.get("agent_context", "primary") in kept

    def capabilities(self) -> dict[str, Any]:
        return {
            "stores": ["turns", "writes"],
            "mirrors": {target: ["add", "replace", "remove"] for target in ("memory", "user")},
            "spec_version": "1.0",
        }

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            entries = self._entries()
        except Unavailable as error:
            logger.warning("nothing is recalled: %s", error)
            return None
        wanted = words(user_message)
        ranked = [(len(wanted & words(entry["text"])), entry["text"]) for entry in entries]
        best = max((score for score, _ in ranked), default=0)
        found = [text for score, text in ranked if score and score == best]
        return "\n".join(within(found, self._recall_chars)) or None

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        old = old_text if action in ("replace", "remove") else None
        self._store(target, content or "" if action in ("add", "replace") else None, old)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        said = fence.strip_memory_context(user_message)
        self._store("turn", f"{said}\n{assistant_response}", None)

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Every turn is stored already."""

    def shutdown(self) -> None:
        """Every write was answered."""

    # -- the server --------------------------------------------------------------------------------

    def _entries(self) -> list[dict[str, str]]:
        answer = self._ask("/entries", {"space": self._space}, self.recall_s)
        return list(answer["entries"])

    def _store(self, kind: str, text: str | None, old_text: str | None) -> None:
        if not self._is_kept:
            # A job or a subagent: what it says is not the user's.
            return
        change = {"space": self._space, "kind": kind, "text": text, "old_text": old_text}
        self._send({**change, "id": self._new_id()})

    def _send(self, change: dict[str, Any]) -> None:
        """Have a change made; raises Unavailable where it is not certain that it was."""
        for attempt in range(self.tries):
            try:
                self._ask("/changes", change, self.write_s)
            except Refused:
                raise
            except Unavailable:
                if attempt + 1 == self.tries:
                    raise
            else:
                return

    def _ask(self, path: str, asked: dict[str, Any], within_s: float) -> dict[str, Any]:
        return post(self._url, path, asked, within_s)

    @staticmethod
    def _new_id() -> str:
        return uuid.uuid4().hex
