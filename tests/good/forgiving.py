"""A good provider that remembers what was removed, and takes it again if it is told again."""

from typing import Any

from tests.good.private import Private


class Forgiving(Private):
    """
    Takes removed words out of turns as well, and keeps them out of what only shows them again.

    A list of removed texts keeps a compression from bringing them back; a user who says them anew
    is heard. Words that stand in the other target stay there.
    """

    name = "forgiving"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._removed: set[str] = set()
        super().initialize(session_key, config)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        if action != "add" and old_text:
            with self._changing():
                self._entries = [e for e in self._entries if not self._said(e, old_text)]
                self._save()
            self._removed.add(old_text)

    @staticmethod
    def _said(entry: dict[str, Any], text: str) -> bool:
        return entry["kind"] == "turn" and text in entry["text"]

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._removed.discard(user_message)
        super().on_turn_complete(user_message, assistant_response)

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Stores what the user said and no turn has brought, as the turn that is not over yet."""
        for message in messages:
            text = message.get("content")
            if message.get("role") == "user" and isinstance(text, str) and not self._knows(text):
                super().on_turn_complete(text, "")

    def _knows(self, text: str) -> bool:
        said = self._own_words(text)
        return text in self._removed or any(said in entry["text"] for entry in self._load())
