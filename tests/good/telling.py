"""
A small good provider that speaks up: in the prompt, about its state, and at a compression.

It stores turns, writes, results of delegations, and what a compression brings that it lacks.
"""

from typing import Any

from memproto.errors import TooLarge
from tests.good.journal import Journal, within

_BLOCK_CHARS = 2_000
_NOTES_CHARS = 2_000
_NOTE_CHARS = 200

#: More than this in one compression is refused.
_COMPRESSED_CHARS = 1_000_000

_HEADING = "You keep a journal. It held this when this session began, the newest first:"


class Telling(Journal):
    """A journal with the extensions prompt, status, compress_notes, checkpoint and delegation."""

    name = "telling"

    def __init__(self) -> None:
        super().__init__()
        self._block = ""
        self._recalled = 0

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._block = self._snapshot()

    def capabilities(self) -> dict[str, Any]:
        extensions = ["prompt", "status", "compress_notes", "checkpoint", "delegation"]
        return {**super().capabilities(), "extensions": extensions}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        recalled = super().enrich_turn(user_message, messages)
        self._recalled = 0 if recalled is None else 1
        return recalled

    def system_prompt_block(self) -> str:
        """The snapshot that `initialize` took."""
        return self._block

    def recall_status(self) -> dict[str, Any]:
        """Numbers alone."""
        return {"state": "ok", "recalled": self._recalled, "pending_writes": 0}

    def unavailable_reason(self) -> str:
        """Nothing is ever wrong with a list."""
        return ""

    def compress_notes(self, messages: list[dict[str, Any]]) -> str:
        """The beginnings of what the user said last."""
        said = [text for text in map(self._own_words, user_texts(messages)) if text.strip()]
        notes = [f"- {' '.join(text.split())[:_NOTE_CHARS]}" for text in reversed(said)]
        return "\n".join(within(notes, _NOTES_CHARS))

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Store the turn in the place of what a compression brought of it."""
        with self._changing():
            said = self._own_words(user_message)
            shown = {"kind": "turn", "text": said}
            self._entries = [entry for entry in self._entries if entry != shown]
            self._save()
        super().on_turn_complete(user_message, assistant_response)

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Store what the user said and no turn brought; raises TooLarge for far too much."""
        said = [text for text in map(self._own_words, user_texts(messages)) if text.strip()]
        if sum(map(len, said)) > _COMPRESSED_CHARS:
            raise TooLarge(f"more than {_COMPRESSED_CHARS:,} characters in one compression")
        with self._lock:
            self._entries = self._load()
            stored = [f"{entry['text']}\n" for entry in self._entries]
            fresh = [text for text in dict.fromkeys(said) if not begins(f"{text}\n", stored)]
            self._entries += [{"kind": "turn", "text": text} for text in fresh]
            self._save()

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Store the result under its task."""
        with self._lock:
            self._entries = [*self._load(), {"kind": "delegation", "text": f"{task}\n{result}"}]
            self._save()

    def _snapshot(self) -> str:
        entries = [" ".join(entry["text"].split()) for entry in reversed(self._entries)]
        return "\n".join([_HEADING, *within(entries, _BLOCK_CHARS)])


def user_texts(messages: list[dict[str, Any]]) -> list[str]:
    """The user's words in these messages."""
    return [message["content"] for message in messages if message["role"] == "user"]


def begins(text: str, stored: list[str]) -> bool:
    """True if an entry begins with the text: a turn begins with the user's words."""
    return any(entry.startswith(text) for entry in stored)


class Keeping(Telling):
    """As `Telling`; what a compression brought stays beside the turn that brings it later."""

    name = "keeping"

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Store the turn, as the journal does."""
        Journal.on_turn_complete(self, user_message, assistant_response)


class Absent(Telling):
    """As `Telling`, on a machine that lacks what it needs, which it says."""

    name = "absent"

    def is_available(self) -> bool:
        return False

    def unavailable_reason(self) -> str:
        """The thing that the operator has to do."""
        return "the journal has no disk: mount one"
