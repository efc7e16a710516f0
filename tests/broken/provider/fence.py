"""Providers in which one stored text costs others."""

import json
import re
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal

_FENCED = re.compile(r"<memory-context>.*?</memory-context>", re.DOTALL)


@mutant(kills="MP-FENCE-001", says="did not come back", report="F3")
class StripsAcrossEntries(Journal):
    def _load(self) -> list[dict[str, str]]:
        assert self._path is not None
        if not self._path.exists():
            return []
        text = _FENCED.sub("", self._path.read_text("ascii"))
        return [json.loads(line) for line in text.splitlines()]


@mutant(kills="MP-FENCE-001", says="did not come back", report="F3")
class AnOpenFenceHidesTheRest(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        entries = self._entries
        texts = [entry["text"] for entry in entries]
        opened = (n for n, text in enumerate(texts, 1) if "<memory-context>" in text)
        cut = next(opened, len(texts))
        try:
            self._entries = entries[:cut]
            return super().enrich_turn(user_message, messages)
        finally:
            self._entries = entries
