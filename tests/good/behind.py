"""A small good provider that recalls by the turn before: what it gives was ready at its end."""

from typing import Any

from tests.good.journal import Journal, within, words

#: A recall brings so many entries, the nearest first.
_MOST = 50


class Behind(Journal):
    """Looks up the message of each turn at its end, for the recall of the next one."""

    name = "behind"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._ready: str | None = None

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "recall_basis": "previous"}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return self._ready

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        wanted = words(user_message)
        ranked = sorted(
            ((len(wanted & words(entry["text"])), entry["text"]) for entry in self._load()),
            key=lambda row: row[0],
            reverse=True,
        )
        found = within([text for score, text in ranked if score][:_MOST], self._recall_chars)
        self._ready = "\n".join(found) or None
        super().on_turn_complete(user_message, assistant_response)
