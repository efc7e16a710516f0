"""A good provider that says so if it could not look: by its items, and by its status."""

import contextlib
import json
import sqlite3
from typing import Any

from tests.good.journal import words
from tests.good.ledger import Ledger


class Listing(Ledger):
    """A ledger with the extensions items and status, whose readers wait for a writer."""

    name = "listing"

    def __init__(self) -> None:
        super().__init__()
        self._fault = ""

    def _create(self) -> None:
        with self._opened(self.writing_s) as database:
            database.execute(self.table)

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["items", "status"]}

    def _rows(self) -> list[tuple[int, str]]:
        """Every entry with its number; none if the database cannot be read, which is kept."""
        self._fault = "ledger.db cannot be read"
        with contextlib.suppress(sqlite3.Error), self._opened(self.reading_s) as database:
            rows = database.execute("SELECT number, text FROM entries ORDER BY number").fetchall()
            self._fault = ""
            return [(number, json.loads(text)) for number, text in rows]
        return []

    def _texts(self) -> list[str]:
        return [text for _, text in self._rows()]

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = words(request["query"])
        ranked = [(len(wanted & words(text)), number, text) for number, text in self._rows()]
        room, items = request.get("budget_chars", float("inf")), list[dict[str, Any]]()
        for score, number, text in sorted(ranked, reverse=True):
            if score and len(text) <= room:
                room -= len(text)
                items.append({"id": str(number), "text": text, "score": score})
        return {"items": items, "status": "unavailable" if self._fault else "ok"}

    def recall_status(self) -> dict[str, Any]:
        return {"state": "down", "message": self._fault} if self._fault else {"state": "ok"}

    def unavailable_reason(self) -> str:
        return self._fault
