"""A good provider that remembers what was removed, and takes it again if it is told again."""

from typing import Any

from tests.good.private import Private


class Forgiving(Private):
    """
    Takes a removed entry's text out of turns as well, and keeps it out of what only shows it again.

    A turn that holds the whole text of the entry goes; one that shares a word with it stays. A list
    of removed texts keeps a compression from bringing them back; a user who says them anew is
    heard. Words that stand in the other target stay there.
    """

    name = "forgiving"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._removed: set[str] = set()
        super().initialize(session_key, config)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        with self._changing():
            before = self._texts_of(target)
        super().on_memory_write(action, target, content, old_text)
        if action != "add":
            with self._changing():
                gone = before - self._texts_of(target)
                self._entries = [e for e in self._entries if not self._said(e, gone)]
                self._save()
            self._removed |= gone

    def _texts_of(self, target: str) -> set[str]:
        return {entry["text"] for entry in self._entries if entry["kind"] == target}

    @staticmethod
    def _said(entry: dict[str, Any], texts: set[str]) -> bool:
        return entry["kind"] == "turn" and any(text and text in entry["text"] for text in texts)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._removed.discard(user_message)
        shown = {"kind": "turn", "text": f"{user_message}\n", "session": self._session}
        with self._changing():
            # The turn stands in the place of what a compression brought of it.
            self._entries = [e for e in self._entries if not shown.items() <= e.items()]
            self._save()
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
