"""
A small good provider whose recall says when each entry was stored.

It gives the rule on times that recall shows something good to pass.
"""

import datetime as dt
from typing import Any

from tests.good.journal import Journal


class Dated(Journal):
    """Keeps the instant of every entry, and shows it before the text."""

    name = "dated"

    @staticmethod
    def _shown(entry: dict[str, str]) -> str:
        return f"[{entry['at']}] {entry['text']}"

    def _stamp(self) -> str:
        return dt.datetime.now(dt.UTC).astimezone().isoformat(timespec="seconds")

    def _save(self) -> None:
        for entry in self._entries:
            entry.setdefault("at", self._stamp())
        super()._save()


class Due(Dated):
    """Shows no entry before its time has come by the clock, and keeps it until then."""

    name = "due"

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        now = dt.datetime.now(dt.UTC)
        with self._lock:
            kept = self._entries
            self._entries = [e for e in kept if dt.datetime.fromisoformat(e["at"]) <= now]
            try:
                return super().enrich_turn(user_message, messages)
            finally:
                self._entries = kept
