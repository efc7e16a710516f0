"""Broken handling of the wall clock, of time zones and of times that recall shows."""

import datetime as dt
import math
import re
import time
from typing import Any

from tests.broken.marks import mutant
from tests.good.dated import Dated
from tests.good.journal import Journal
from tests.good.unusual.shared.deduping import Deduping


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


@mutant(kills="MP-TIME-003", says="without one", report="J4")
class TheTimeOfARepetitionHasNoZone(Deduping):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        shown = super().enrich_turn(user_message, messages)
        return shown and re.sub(r"(\(told [^)]*T[0-9:]{5})[^)]*", r"\1", shown)


class _Ending(Journal):
    """Sane: what is removed has an end, and is kept for a while."""

    @staticmethod
    def _now() -> str:
        return dt.datetime.now(dt.UTC).isoformat()

    def _left(self, target: str, old_text: str | None) -> list[dict[str, str]]:
        left = super()._left(target, old_text)
        over = [{**e, "until": self._now()} for e in self._entries if e not in left]
        return [*left, *over]

    def _load(self) -> list[dict[str, str]]:
        now, found = self._now(), super()._load()
        self._over = [entry for entry in found if entry.get("until", now + "~") <= now]
        return [entry for entry in found if entry not in self._over]

    def _save(self) -> None:
        shown, self._entries = self._entries, [*self._over, *self._entries]
        super()._save()
        self._entries = [entry for entry in shown if "until" not in entry]


@mutant(kills="MP-TIME-001", says="which was removed", report="J4")
class WhatWasRemovedHasItsEndAhead(_Ending):
    """The clock goes back behind the removal."""


@mutant(
    kills="MP-TIME-002",
    says="which was removed",
    report="J4",
    also={"MP-TIME-001": "a clock that goes back lies before the end in each zone"},
)
class TheEndIsATimeOfDay(_Ending):
    @staticmethod
    def _now() -> str:
        return dt.datetime.now().isoformat()  # noqa: DTZ005 - the fault
