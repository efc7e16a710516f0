"""Stops every thread of the process: a pattern with nested repetition, over the user's message."""

import re
from typing import Any

from tests.good.journal import Journal

_WORDS = re.compile(r"(\w+\s?)+$")


class Freezes(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        if _WORDS.match(user_message):
            return None
        return super().enrich_turn(user_message, messages)
