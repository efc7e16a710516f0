"""
Small good providers that keep what they find worth keeping, in words of their own.

Each chooses in another way: what a sentence holds, what was chosen before, or when the choice is
made. They keep profiles, users and sessions apart.
"""

import re
import zlib
from typing import Any

from tests.good.tenants import Tenants

_NOUN = re.compile(r"\b[A-Z]\w+ [A-Z]\w+")
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y)\b")


class Choosy(Tenants):
    """It keeps sentences with a proper noun, of writes and of what the user says in a turn."""

    name = "choosy"

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "retention": "selective"}

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        for text in self._chosen(self._own_words(user_message)):
            self._keep("turn", text)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        # A note stays as the model wrote it, so that it is found when it is changed.
        if action == "remove" or self._chosen(content or ""):
            super().on_memory_write(action, target, content, old_text)
        elif action == "replace":
            super().on_memory_write("remove", target, None, old_text)

    def _keep(self, kind: str, text: str) -> None:
        entry = {"kind": kind, "text": text}
        with self._changing():
            if entry not in self._entries:
                self._entries.append(entry)
                self._save()

    def _chosen(self, text: str) -> list[str]:
        """Sentences of a text that are worth keeping."""
        sentences = re.split(r"(?<=[.?!])\s+", text)
        return [said for said in sentences if not said.endswith("?") and self._is_kept_text(said)]

    def _is_kept_text(self, said: str) -> bool:
        return bool(_NOUN.search(said))


class Personal(Choosy):
    """It keeps what the user says of himself."""

    def _is_kept_text(self, said: str) -> bool:
        return bool(_FIRST_PERSON.search(said))


class EverySecond(Choosy):
    """It keeps every second of the sentences that it finds worth keeping."""

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0

    def _is_kept_text(self, said: str) -> bool:
        found = super()._is_kept_text(said)
        self._seen += found
        return found and self._seen % 2 == 0


class Fickle(Choosy):
    """It keeps about a half of what it hears, by a rule that nobody knows."""

    def _is_kept_text(self, said: str) -> bool:
        return super()._is_kept_text(said) and zlib.crc32(said.encode("utf-8", "replace")) % 2 == 0


class Rewording(Choosy):
    """It keeps one relation of its user, in one form."""

    def _chosen(self, text: str) -> list[str]:
        found = re.findall(r"\bMy (\w+) is ([^.\n]+)\.", text)
        return [f"User's {role} is {name}." for role, name in found]


class Batched(Choosy):
    """It chooses when five turns are there, and what is left at shutdown it does not look at."""

    def __init__(self) -> None:
        super().__init__()
        self._batch: list[str] = []

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "stores": ["turns"], "mirrors": {}}

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """It stores turns alone."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._batch.append(self._own_words(user_message))
        if len(self._batch) == 5:
            for text in self._batch:
                super().on_turn_complete(text, "")
            self._batch = []


class AtTheEnd(Batched):
    """It chooses at the end of a session, out of its messages."""

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["sessions"]}

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """It waits for the end."""

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if message.get("role") == "user" and isinstance(message.get("content"), str):
                for text in self._chosen(self._own_words(message["content"])):
                    self._keep("turn", text)

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        self._session = self.name_of_session(new_session_id)
        place = self._home / self._user / self._session
        place.mkdir(parents=True, exist_ok=True)
        self._path = place / "journal.jsonl"
        self._entries = self._load()
