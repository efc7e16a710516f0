"""
A small good provider with a poor ranking: it brings few, and often others than the best.

It gives the rules on what is lost something good to pass: recall is weak, and nothing is missing.
"""

import math
import zlib
from typing import Any

from tests.good.journal import Journal, within, words

_DIMENSIONS = 24


class Hashed(Journal):
    """Ranks by the angle between vectors of hashed words, and brings the nearest three."""

    name = "hashed"
    most = 3

    def capabilities(self) -> dict[str, Any]:
        """No basis of recall: there is always a nearest text, for an unrelated question too."""
        declared = super().capabilities()
        return {key: value for key, value in declared.items() if key != "recall_basis"}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        asked = _vector(user_message)
        with self._lock:
            near = [(_product(asked, _vector(e["text"])), e["text"]) for e in self._entries]
        near.sort(key=lambda row: row[0], reverse=True)
        found = [text for score, text in near[: self.most] if score > 0]
        return "\n".join(within(found, self._recall_chars)) or None


def _vector(text: str) -> list[float]:
    """One number for each remainder that a hash of a word may have; of length one."""
    counts = [0.0] * _DIMENSIONS
    for word in words(text):
        counts[zlib.crc32(word.encode("utf-8", "replace")) % _DIMENSIONS] += 1
    length = math.hypot(*counts) or 1.0
    return [count / length for count in counts]


def _product(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
