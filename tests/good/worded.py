"""
Small good providers whose recall compares words, or parts of a text, with the whole message.

None finds anything for a whole question; each finds what it stored for one of the other ways in
which somebody asks.
"""

import re
from typing import Any

from tests.good.journal import Journal, within, words
from tests.good.tenants import Tenants

_WORDS = re.compile(r"\w+")


class Worded(Journal):
    """All words of the message have to stand in an entry, as in a search that joins them by AND."""

    name = "worded"

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            found = [self._shown(e) for e in self._entries if self._fits(user_message, e["text"])]
        return "\n".join(within(found, self._recall_chars)) or None

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        asked = [word.casefold() for word in _WORDS.findall(message)]
        return bool(asked) and set(asked) <= {word.casefold() for word in _WORDS.findall(text)}


class Phrased(Worded):
    """The message has to stand in an entry as it is, letter by letter."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        return bool(message.strip()) and message.strip() in text


class Prefixed(Worded):
    """An entry has to begin with the message."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        return bool(message.strip()) and text.startswith(message.strip())


class Lettered(Worded):
    """Stored text is looked for in small letters, and the message is not changed for it."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        asked = _WORDS.findall(message)
        return bool(asked) and set(asked) <= set(_WORDS.findall(text.lower()))


class Tagged(Worded):
    """A message of one word brings what is tagged with it: names, with their capital letters."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        return message.strip() in re.findall(r"\b[A-Z]\w{2,}", text)


class Named(Worded):
    """It knows entries by the names of two words in them, and brings what it has on such a name."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        return message.strip() in re.findall(r"\b[A-Z]\w+ [A-Z]\w+", text)


class Lengthy(Phrased):
    """A text that is shorter than twelve characters is not looked for."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        return len(message.strip()) >= 12 and message.strip().lower() in text.lower()


class Cased(Worded):
    """Two words of the message have to stand in an entry, letter by letter."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        return len(set(_WORDS.findall(message)) & set(_WORDS.findall(text))) >= 2


class Bare(Worded):
    """The message has to stand in an entry, both without punctuation and line ends."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        asked, told = (" ".join(_WORDS.findall(item.casefold())) for item in (message, text))
        return bool(asked) and asked in told


class Trigrams(Worded):
    """A third of the message's groups of three letters have to stand in an entry."""

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        asked, told = ({item[n : n + 3] for n in range(len(item) - 2)} for item in (message, text))
        return bool(asked) and len(asked & told) * 3 >= len(asked)


class Ranked(Worded):
    """Of the entries that have enough in common with the message, the best one is shown."""

    #: Number of entries that are shown, the best first.
    shown = 1

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            ranked = [(self._score(user_message, e["text"]), self._shown(e)) for e in self._entries]
        best = sorted((row for row in ranked if row[0] >= 0.4), key=lambda row: -row[0])
        found = [text for _, text in best[: self.shown]]
        return "\n".join(within(found, self._recall_chars)) or None

    @staticmethod
    def _score(message: str, text: str) -> float:
        asked, told = words(message), words(text)
        return len(asked & told) / max(len(asked), 1)


class Newest(Worded):
    """Of the entries that hold a word of the message, the newest one is shown."""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            found = [
                self._shown(entry)
                for entry in self._entries
                if words(user_message) & words(entry["text"])
            ]
        return "\n".join(within(found[-1:], self._recall_chars)) or None


class Shortened(Worded):
    """Of a long entry so much is shown as stands around the first word that was asked for."""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            texts = [e["text"] for e in self._entries if self._fits(user_message, e["text"])]
        found = [self._part(text, user_message) for text in texts]
        return "\n".join(within(found, self._recall_chars)) or None

    @staticmethod
    def _part(text: str, message: str) -> str:
        first = min(text.casefold().find(word) for word in words(message))
        begin = max(first - 80, 0)
        return text if len(text) <= 200 else f"{text[begin : begin + 200]} [...]"

    @staticmethod
    def _fits(message: str, text: str) -> bool:
        return bool(words(message)) and words(message) <= words(text)


class Previewed(Worded):
    """Of a long entry the beginning is shown."""

    @staticmethod
    def _shown(entry: dict[str, str]) -> str:
        text = entry["text"]
        return text if len(text) <= 100 else f"{text[:97]}..."


class Apart(Worded, Tenants):
    """It keeps users and sessions apart."""


class Undeclared(Worded):
    """It says nothing of what it stores."""

    def capabilities(self) -> dict[str, Any]:
        declared = super().capabilities()
        return {key: declared[key] for key in declared if key != "stores"}
