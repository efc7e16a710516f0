"""Providers that give items wrongly."""

import datetime as dt
import json
import os
from typing import Any

from tests.broken.marks import mutant
from tests.good.ledger import Listing
from tests.good.private import Private
from tests.good.tenants import digest
from tests.good.waiting import Waiting


@mutant(kills="MP-ITEMS-001", says="cannot be written as JSON", report="D6")
class ItemsHoldObjects(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        for item in answer["items"]:
            item["created_at"] = dt.datetime.fromisoformat(item["created_at"])
        return answer


@mutant(kills="MP-ITEMS-001", says="KeyError: 'budget_chars'", report="D6")
class ItemsNeedABudget(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        return super().recall_items({**request, "budget_chars": request["budget_chars"]})


@mutant(kills="MP-ITEMS-002", says="at most", report="D6")
class TheBudgetIsOfTokens(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        budget = request.get("budget_chars")
        return super().recall_items(
            {**request, "budget_chars": None if budget is None else 4 * budget}
        )


@mutant(kills="MP-ITEMS-002", says="each item whole", report="D6")
class TheLastItemIsCut(Private):
    @staticmethod
    def _affordable(items: list[dict[str, Any]], budget: int | None) -> list[dict[str, Any]]:
        kept, left = [], 10**9 if budget is None else budget
        for item in items:
            if left > 0:
                kept.append({**item, "text": item["text"][:left]})
            left -= len(item["text"])
        return kept


@mutant(kills="MP-ITEMS-002", says="is not among the items", report="D6")
class TheBudgetIsOfBytes(Private):
    @staticmethod
    def _affordable(items: list[dict[str, Any]], budget: int | None) -> list[dict[str, Any]]:
        kept: list[dict[str, Any]] = []
        for item in items:
            texts = [one["text"] for one in [*kept, item]]
            if budget is None or len("".join(texts).encode("utf-8", "replace")) <= budget:
                kept.append(item)
        return kept


@mutant(kills="MP-ITEMS-004", says="in an export", report="D5")
class AnExportCountsItsItems(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        items = super().export(scope)["items"]
        return {"items": [{**item, "id": f"{number}"} for number, item in enumerate(items)]}


@mutant(kills="MP-ITEMS-003", says="not this one", report="E7")
class MirroredWritesAreNoItems(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        kept = [item for item in answer["items"] if item["source"] == "turns"]
        return {**answer, "items": kept}


@mutant(kills="MP-ITEMS-004", says="under the same id", report="I3")
class AnIdIsAPlaceInTheList(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        for place, item in enumerate(answer["items"]):
            item["id"] = str(len(answer["items"]) - place)
        return answer


@mutant(kills="MP-ITEMS-004", says="stands twice", report="I3")
class AnIdIsThatOfTheSession(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        for item in answer["items"]:
            item["id"] = item["scope"]["session_id"]
        return answer


@mutant(kills="MP-ITEMS-005", says="from the highest", report="D7")
class ScoresAreDistances(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        for item in answer["items"]:
            item["score"] = 1 / (1 + item["score"])
        return answer


@mutant(kills="MP-ITEMS-006", says="+05:45", report="J4")
class ItemsShowLocalTimeAsUtc(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        for item in answer["items"]:
            local = dt.datetime.fromisoformat(item["created_at"]).astimezone()
            item["created_at"] = f"{local.replace(tzinfo=None).isoformat()}Z"
        return answer


@mutant(kills="MP-ITEMS-007", says="no item of", report="E4")
class ItemsForgetTheUser(Private):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            own, self._load = self._load, self._of_all  # type: ignore[method-assign]
            answer = super().recall_items(request)
            self._load = own  # type: ignore[method-assign]
            self._look_again()
        return answer

    def _of_all(self) -> list[dict[str, Any]]:
        files = self._home.glob("*/journal.jsonl")
        return [json.loads(line) for file in files for line in file.read_text("ascii").splitlines()]


@mutant(kills="MP-ITEMS-008", says="while another process holds the files", report="H4")
class ALockedStoreHoldsNothing(Listing):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        return {**super().recall_items(request), "status": "ok"}


@mutant(kills="MP-ITEMS-008", says="while its backend answers 503", report="H4")
class AServiceThatIsAwayHoldsNothing(Waiting):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        return {**super().recall_items(request), "status": "ok"}


@mutant(kills="MP-ITEMS-004", says="after the removal of another one", report="I3")
class AnIdIsAPlaceInTheStore(Private):
    def _item(self, entry: dict[str, Any]) -> dict[str, Any]:
        known = [one["id"] for one in self._load()]
        return {**super()._item(entry), "id": str(known.index(entry["id"]))}


@mutant(kills="MP-ITEMS-004", says="in another process", report="I3")
class AnIdIsOfItsProcess(Private):
    def _item(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {**super()._item(entry), "id": f"{os.getpid():x}-{entry['id']}"}


@mutant(kills="MP-ITEMS-004", says="more were stored", report="D5")
class AFullFileIsCountedAnew(Private):
    """A file of many lines is tidied up when it is read, and its entries get other ids."""

    def _load(self) -> list[dict[str, Any]]:
        entries = super()._load()
        if len(entries) > 60:
            return [{**entry, "id": str(number)} for number, entry in enumerate(entries)]
        return entries


@mutant(kills="MP-ITEMS-006", says="amid a session of six hours", report="J4")
class ItemsHaveTheTimeOfTheirSession(Private):
    began = ""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self.began = dt.datetime.now(dt.UTC).isoformat()
        super().initialize(session_key, config)

    def _save(self) -> None:
        for entry in self._entries:
            entry.setdefault("at", self.began)
        super()._save()


@mutant(kills="MP-ITEMS-006", says="amid a session of six hours", report="J4")
class AFewTurnsShareATime(Private):
    """The time of a block of eight entries is that of its first one."""

    def _save(self) -> None:
        for number, entry in enumerate(self._entries):
            first = self._entries[number - number % 8]
            entry.setdefault("at", first.get("at", dt.datetime.now(dt.UTC).isoformat()))
        super()._save()


@mutant(kills="MP-ITEMS-001", says="'gone' is not one of", report="H4", found_by="MP-ITEMS-008")
class AnUnreadableStoreIsGone(Listing):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        return answer if answer["status"] == "ok" else {**answer, "status": "gone"}


@mutant(kills="MP-ITEMS-006", says="amid a session", report="J4")
class AnExportHasTheTimeOfItself(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        now = dt.datetime.now(dt.UTC).isoformat()
        items = super().export(scope)["items"]
        return {"items": [i if "turn_id" in i else {**i, "created_at": now} for i in items]}


@mutant(kills="MP-ITEMS-009", says="session_id", report="E4")
class AScopeIsOfTheSessionThatAsks(Private):
    def _item(self, entry: dict[str, Any]) -> dict[str, Any]:
        scope = {"user_id": self._user, "session_id": self._session}
        return {**super()._item(entry), "scope": scope}


@mutant(kills="MP-ITEMS-009", says="user_id", report="E4")
class AScopeIsOfTheUserWhoAsks(Listing):
    user = ""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self.user = config.get("user_id", "")
        super().initialize(session_key, config)

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        items = [{**item, "scope": {"user_id": self.user}} for item in answer["items"]]
        return {**answer, "items": items}


@mutant(kills="MP-ITEMS-009", says="export", report="E4")
class AScopeOfAnExportIsOfTheSessionThatAsks(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        now = {"user_id": self._user, "session_id": self._session}
        items = super().export(scope)["items"]
        return {"items": [{**item, "scope": now} for item in items]}


@mutant(kills="MP-ITEMS-004", says="stands twice", report="D6")
class AnIdIsADigestOfTheText(Private):
    def _item(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {**super()._item(entry), "id": digest(entry["text"])}


@mutant(kills="MP-ITEMS-006", says="whose zone is +05:45 and changes", report="J4")
class TheOffsetIsThatOfTheStart(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._zone = dt.datetime.now().astimezone().tzinfo
        super().initialize(session_key, config)

    def _save(self) -> None:
        here = dt.datetime.now().replace(tzinfo=self._zone)  # noqa: DTZ005 - the fault
        for entry in self._entries:
            entry.setdefault("at", here.isoformat())
        super()._save()


@mutant(kills="MP-ITEMS-009", says="that of a late turn", report="E4")
class ALateTurnTakesTheInstanceAlong(Private):
    def record(self, turn: dict[str, Any]) -> None:
        self._session = turn["session_id"]
        super().record(turn)
