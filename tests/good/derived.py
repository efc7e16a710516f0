"""A small good provider that keeps what it was told in words of its own."""

import re
from typing import Any

from tests.good.journal import Journal

_OTHERS = {"I": "the user", "My": "The user's", "my": "the user's"} | {
    verb: f"{verb}s" for verb in ("keep", "meet")
}


class Derived(Journal):
    """A journal that speaks of its user in the third person; proper nouns stay as they are."""

    name = "derived"

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "retention": "derived"}

    @staticmethod
    def _shown(entry: dict[str, str]) -> str:
        return re.sub(r"\b(I|My|my|keep|meet)\b", lambda m: _OTHERS[m[0]], entry["text"])
