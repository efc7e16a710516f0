"""A good provider of a service elsewhere that keeps users apart, in its queue as well."""

import hashlib
from typing import Any

from tests.good.unusual.queued import Queued


class Waiting(Queued):
    """Each change that waits in the queue says whose it is; recall gives items too."""

    name = "waiting"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._user = config.get("user_id")
        super().initialize(session_key, config)

    @property
    def _space(self) -> str:
        return f"{self._home} of {self._user!r}"

    @_space.setter
    def _space(self, home: str) -> None:
        self._home = home

    def capabilities(self) -> dict[str, Any]:
        return {
            **super().capabilities(),
            "extensions": ["status", "items"],
            "isolates": ["profile", "user"],
        }

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        """The entries that fit best, as far as the budget goes."""
        items, left = [], request.get("budget_chars", 1_000_000_000)
        for text in self._ranked(request["query"]):
            if len(text) <= left:
                left -= len(text)
                items.append({"id": _digest(text), "text": text})
        return {"items": items, "status": "unavailable" if self._trouble else "ok"}

    def _entry(self, text: str) -> dict[str, Any]:
        return {**super()._entry(text), "space": self._space}

    def _waiting(self, base: Any) -> list[dict[str, Any]]:
        return [entry for entry in super()._waiting(base) if entry["space"] == self._space]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
