"""Broken reports of the state."""

from typing import Any

from tests.broken.marks import mutant
from tests.good.ledger import Listing
from tests.good.telling import Telling
from tests.good.waiting import Waiting


@mutant(kills="MP-STATUS-001", says="'fine'", report="H4")
class TheStateIsAWordOfItsOwn(Telling):
    def recall_status(self) -> dict[str, Any]:
        return {**super().recall_status(), "state": "fine" if self._recalled else "ok"}


@mutant(kills="MP-STATUS-001", says="ZeroDivisionError", report="H4")
class TheStatusIsARate(Telling):
    def recall_status(self) -> dict[str, Any]:
        return {**super().recall_status(), "x_rate": self._recalled / len(self._entries)}


@mutant(kills="MP-STATUS-002", says="the value of config['x_access_token']", report="F9")
class TheStatusShowsTheConfiguration(Telling):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        status = {**self.recall_status(), "x_config": {**config}}
        self.recall_status = lambda: status  # type: ignore[method-assign]


@mutant(kills="MP-STATUS-002", says="after on_memory_write, recall_status gives", report="F9")
class TheStatusShowsTheNewestEntry(Telling):
    def recall_status(self) -> dict[str, Any]:
        newest = self._entries[-1]["text"] if self._entries else ""
        return {**super().recall_status(), "message": " ".join(newest.split())[:100]}


@mutant(kills="MP-STATUS-003", says="None", report="K2")
class NoReasonIsNone(Telling):
    def unavailable_reason(self) -> str:
        return super().unavailable_reason() or None  # type: ignore[return-value]


@mutant(kills="MP-STATUS-001", says="recall_status() holds 'backend_url'", report="H4")
class TheStatusHasAKeyOfItsOwn(Telling):
    def recall_status(self) -> dict[str, Any]:
        return {**super().recall_status(), "backend_url": ""}


@mutant(kills="MP-STATUS-004", says="''", report="K2")
class NotAvailableWithoutAWord(Telling):
    def is_available(self) -> bool:
        return False


@mutant(kills="MP-STATUS-005", says="could not read the store", report="H4")
class TheStatusIsAlwaysOk(Listing):
    def recall_status(self) -> dict[str, Any]:
        return {"state": "ok"}


@mutant(kills="MP-STATUS-001", says="'gone' is not one of", report="H4", found_by="MP-STATUS-005")
class AnUnreadableStoreHasAStateOfItsOwn(Listing):
    def recall_status(self) -> dict[str, Any]:
        status = super().recall_status()
        return status if status["state"] == "ok" else {**status, "state": "gone"}


@mutant(kills="MP-STATUS-005", says="that brought a stored text", report="L2")
class OnceDownIsDownForGood(Listing):
    _was: dict[str, Any] | None = None

    def recall_status(self) -> dict[str, Any]:
        status = self._was or super().recall_status()
        if status["state"] == "down":
            self._was = status
        return status


@mutant(kills="MP-STATUS-005", says="could not read the store", report="H4")
class TheStatusKnowsNoService(Waiting):
    def recall_status(self) -> dict[str, Any]:
        return {"state": "ok"}


@mutant(kills="MP-STATUS-002", says="the value of config['x_access_token']", report="F9")
class TheStatusTellsTheRequest(Waiting):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._token = config.get("x_access_token", "")
        super().initialize(session_key, config)

    def recall_status(self) -> dict[str, Any]:
        status = super().recall_status()
        message = f"{self._trouble}, with the key {self._token}"
        return {**status, "message": message} if self._trouble else status


@mutant(kills="MP-STATUS-005", says="after items that were `unavailable`", report="H4")
class ItemsLeaveNoTrouble(Listing):
    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = super().recall_items(request)
        self._fault = ""
        return answer


class _Refusing(Telling):
    """Keeps the error of the latest write, or None if that was made."""

    def __init__(self) -> None:
        super().__init__()
        self._error: OSError | None = None

    def _save(self) -> None:
        try:
            super()._save()
        except OSError as error:
            self._error = error
            raise
        self._error = None


@mutant(kills="MP-STATUS-001", says="'full' is not one of", report="H4", found_by="MP-STORE-004")
class AFullStoreHasAStateOfItsOwn(_Refusing):
    def recall_status(self) -> dict[str, Any]:
        return {**super().recall_status(), "state": "full" if self._error else "ok"}


@mutant(kills="MP-STATUS-001", says="of type 'string'", report="H4", found_by="MP-STORE-004")
class TheStatusHoldsTheErrorOfAWrite(_Refusing):
    def recall_status(self) -> dict[str, Any]:
        told = {"message": self._error} if self._error else {}
        return {**super().recall_status(), **told}


@mutant(kills="MP-STATUS-001", says="IndexError", report="H4", found_by="MP-STORE-004")
class TheStatusCountsWhatAFullStoreLeft(_Refusing):
    def recall_status(self) -> dict[str, Any]:
        kinds = [entry["kind"] for entry in self._entries if not self._error]
        return {**super().recall_status(), "x_newest": kinds[-1] if self._entries else ""}


@mutant(kills="MP-STATUS-003", says="{'OSError': ", report="K2", found_by="MP-STORE-004")
class TheReasonOfARefusedWriteIsTheError(_Refusing):
    def unavailable_reason(self) -> str:
        return self._error or ""  # type: ignore[return-value]


@mutant(kills="MP-STATUS-002", says="recall_status gives", report="F9", found_by="MP-STORE-004")
class AFullStoreTellsItsNewestEntry(_Refusing):
    def recall_status(self) -> dict[str, Any]:
        message = f"nothing stored since: {self._load()[-1]['text']}" if self._error else ""
        return {**super().recall_status(), "message": message}
