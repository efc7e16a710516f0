"""Broken notes for a summary."""

from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.telling import Telling, user_texts


@mutant(kills="MP-NOTES-001", says="None for an empty list", report="I1")
class NothingToNoteIsNone(Telling):
    def compress_notes(self, messages: list[dict[str, Any]]) -> str:
        return super().compress_notes(messages) or None  # type: ignore[return-value]


@mutant(kills="MP-NOTES-001", says="for messages without text", report="I1")
class NotesNeedAWord(Telling):
    def compress_notes(self, messages: list[dict[str, Any]]) -> str:
        first = [text.split()[0] for text in user_texts(messages)[:1]]
        return f"{super().compress_notes(messages)}\n- It began with {first}."


@mutant(kills="MP-NOTES-002", says="at most 32,000 characters", report="D6")
class NotesAreTheConversation(Telling):
    def compress_notes(self, messages: list[dict[str, Any]]) -> str:
        return "\n".join(f"- {text}" for text in user_texts(messages))


@mutant(kills="MP-NOTES-003", says="an ordinary conversation", report="J5")
class NotesCutTheMessages(Telling):
    def compress_notes(self, messages: list[dict[str, Any]]) -> str:
        notes = super().compress_notes(messages)
        messages[:] = [message for message in messages if message["role"] == "user"]
        return notes


@mutant(kills="MP-NOTES-004", says="with nothing of", report="C6")
class NotesAreOfTheProcess(Telling):
    _collected: ClassVar[list[dict[str, Any]]] = []

    def compress_notes(self, messages: list[dict[str, Any]]) -> str:
        self._collected.extend(messages)
        return super().compress_notes(self._collected)
