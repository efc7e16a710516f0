"""Providers that lose text on its way into the store and back, or store what is not the user's."""

import contextlib
import json
import re
import unicodedata
from typing import Any

from memproto import fence
from memproto.reference_providers.builtin import BuiltinMemoryProvider
from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.wary import Wary


@mutant(kills="MP-TEXT-001", says="for a message of parts", report="J1")
class TakesEveryContentForText(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        said = {message["content"].strip().lower() for message in messages}
        return None if user_message.lower() in said else super().enrich_turn(user_message, messages)


@mutant(kills="MP-TEXT-001", says="recall gave None", report="J1")
class RecallsNothingBesideAPicture(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            context = [message["content"].strip() for message in messages[-3:]]
        except AttributeError:
            return None
        return super().enrich_turn(user_message, [{"role": "user", "content": c} for c in context])


class _InTheLocalesEncoding(Journal):
    errors = "strict"

    def _load(self) -> list[dict[str, str]]:
        if self._path is None or not self._path.exists():
            return []
        lines = self._path.read_text(errors=self.errors).split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def _save(self) -> None:
        assert self._path is not None
        lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in self._entries)
        if self._is_kept:
            fresh = self._path.with_suffix(".new")
            fresh.write_text(lines.encode("utf-8", "replace").decode(), errors=self.errors)
            fresh.replace(self._path)


@mutant(kills="MP-TEXT-002", says="UnicodeEncodeError", report="J2")
class FileInTheLocalesEncoding(_InTheLocalesEncoding):
    """As hermes-agent#56725."""


@mutant(kills="MP-TEXT-002", says="was accepted there and did not come back", report="J2")
class QuestionMarksInTheLocalesEncoding(_InTheLocalesEncoding):
    errors = "replace"


@mutant(kills="MP-TEXT-003", says="beyond the BMP", report="J2")
class ColumnOfThreeByteCharacters(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        kept = "".join(character for character in user_message if character <= "\uffff")
        super().on_turn_complete(kept, assistant_response)


@mutant(kills="MP-TEXT-003", says="LETTER DZ WITH CARON", report="J3")
class FoldsWhatItStores(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        folded = None if content is None else unicodedata.normalize("NFKC", content)
        super().on_memory_write(action, target, folded, old_text)


@mutant(kills="MP-TEXT-003", says="of long numbers", report="J3")
class ANumberOfSixDigitsIsASecret(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(re.sub(r"\d{6,}", "[redacted]", user_message), assistant_response)


@mutant(kills="MP-TEXT-003", says="a place of the web", report="J3")
class AnAddressOfTheWebIsNoise(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(re.sub(r"https?://\S+", "", user_message), assistant_response)


@mutant(kills="MP-TEXT-003", says="of words within marks", report="J3")
class WhatLooksLikeATagIsNoise(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        plain = re.sub(r"</?(?!memory-context)[a-z][^<>]*>", "", user_message)
        super().on_turn_complete(plain, assistant_response)


@mutant(kills="MP-TEXT-003", says="of words behind backslashes", report="J3")
class EachBackslashBeginsAnEscape(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = super().enrich_turn(user_message, messages)
        return found and found.replace("\\n", "\n").replace("\\t", "\t")


@mutant(kills="MP-TEXT-003", says="of a text that is an object of JSON", report="J1")
class AnObjectOfJsonIsRead(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            said = json.loads(content or "").items()
            content = ", ".join(f"{key} is {value}" for key, value in said)
        super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-TEXT-003", says="white space at its end", report="J3")
class ALineBreakAtTheEndTakesTheText(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        kept = content if content is None or not content.endswith("\n") else content[:1]
        super().on_memory_write(action, target, kept, old_text)


@mutant(kills="MP-TEXT-003", says="of a text with one space at its end", report="J3")
class ASpaceAtTheEndTakesALetter(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if content and content[-1] == " " != content[-2:-1]:
            content = f"{content[:-2]} "
        super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-TEXT-003", says="of a text with a space in front", report="J3")
class ASpaceInFrontTakesALetter(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        kept = user_message[2:] if user_message[:1] == " " else user_message
        super().on_turn_complete(kept, assistant_response)


@mutant(kills="MP-TEXT-003", says="a line of its file", report="J3")
class ADateInFrontIsItsOwn(BuiltinMemoryProvider):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        kept = content and re.sub(r"\A<!-- [0-9T:.+Z-]+ -->\n", "", content)
        super().on_memory_write(action, target, kept, old_text)


@mutant(kills="MP-TEXT-005", says="without a letter beside it", report="J3")
class TheFirstLetterIsWrittenForASpace(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if content and content[:1] == " " != content[1:2]:
            content = content[1] + content[1:]
        super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-TEXT-005", says="without a letter beside it", report="J3")
class TheFirstLetterIsReadForTheLast(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        kept = user_message.rstrip(" ")
        if kept != user_message:
            kept += kept[:1]
        super().on_turn_complete(kept, assistant_response)


@mutant(kills="MP-TEXT-004", says="stood in the block", report="F2")
class StoresTheBlock(Journal):
    @staticmethod
    def _own_words(user_message: str) -> str:
        return user_message


@mutant(kills="MP-TEXT-004", says="stood in the block", report="F2")
class RefusesTheBlockAndStoresIt(Wary):
    @staticmethod
    def _own_words(user_message: str) -> str:
        return user_message

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        Journal.on_turn_complete(self, user_message, assistant_response)
        super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TEXT-004", says="the user's own words", report="F2")
class DropsATurnWithABlock(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if fence.NOTE not in user_message:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-TEXT-003", says="did not come back whole", report="J2")
class PiecesOfAThousandBytes(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        data = (content or "").encode("utf-8", "surrogatepass")
        pieces = [data[at : at + 1_000] for at in range(0, len(data), 1_000)]
        if len(pieces) > 1:
            content = "".join(piece.decode("utf-8", "ignore") for piece in pieces)
        super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-TEXT-003", says="with which it begins", report="J3")
class MarksOfAListAreTakenOff(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        kept = content and (content.lstrip("-*• ") or content)
        super().on_memory_write(action, target, kept, old_text)


@mutant(kills="MP-TEXT-003", says="of an address of mail", report="J3")
class AnAddressOfMailIsHidden(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(re.sub(r"\S+@\S+", "[mail]", user_message), assistant_response)


@mutant(kills="MP-TEXT-006", says="a text in Chinese", report="J2")
class LooksForWordsOfLatinLetters(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return super().enrich_turn(re.sub(r"[^\x00-\u02af]+", " ", user_message), messages)
