"""Broken handling of the wall clock, of time zones and of times that recall shows."""

import datetime as dt
import math
import time
from typing import Any

from tests.broken.marks import mutant
from tests.good.dated import Dated
from tests.good.journal import Journal


@mutant(kills="MP-TIME-001", says="stored while the wall clock stood still", report="J4")
class IdsAreMadeOfTheTime(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        with self._changing():
            number = str(int(time.time() * 1e6))
            text = f"{self._own_words(user_message)}\n{assistant_response}"
            self._entries = [entry for entry in self._entries if entry.get("id") != number]
            self._entries.append({"id": number, "kind": "turn", "text": text})
            self._save()


@mutant(kills="MP-TIME-001", says="OverflowError", report="J4")
class RecencyDecaysFromANegativeAge(Journal):
    def _save(self) -> None:
        for entry in self._entries:
            entry.setdefault("at", str(time.time()))
        super()._save()

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._lock:
            self._entries = sorted(self._entries, key=self._weight, reverse=True)
        return super().enrich_turn(user_message, messages)

    @staticmethod
    def _weight(entry: dict[str, str]) -> float:
        age_days = (time.time() - float(entry["at"])) / 86_400
        return math.exp(-age_days)


@mutant(kills="MP-TIME-001", says="after it was set right again", report="J4")
class DropsWhatLiesInTheFuture(Journal):
    def _load(self) -> list[dict[str, str]]:
        now = time.time()
        return [entry for entry in super()._load() if float(entry["at"]) <= now]

    def _save(self) -> None:
        for entry in self._entries:
            entry.setdefault("at", str(time.time()))
        super()._save()


@mutant(kills="MP-TIME-002", says="stored in the zone of Shanghai", report="J4")
class ZonesAreStoredByTheirNames(Journal):
    _FORM = "%Y-%m-%d %H:%M:%S %Z"

    def _load(self) -> list[dict[str, str]]:
        return [entry for entry in super()._load() if self._is_whole(entry)]

    def _save(self) -> None:
        for entry in self._entries:
            entry.setdefault("at", time.strftime(self._FORM))
        super()._save()

    def _is_whole(self, entry: dict[str, str]) -> bool:
        try:
            return bool(time.strptime(entry["at"], self._FORM))
        except ValueError:
            return False


@mutant(kills="MP-TIME-003", says="without one", report="J4")
class UtcIsShownWithoutAMark(Dated):
    def _stamp(self) -> str:
        return dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M")


@mutant(kills="MP-TIME-003", says="5:45 h from it", report="J4")
class LocalTimeIsSaidToBeUtc(Dated):
    def _stamp(self) -> str:
        return dt.datetime.now().isoformat(timespec="seconds") + "Z"  # noqa: DTZ005 - the fault
