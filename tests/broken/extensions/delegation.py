"""Broken delegations."""

import uuid
from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.private import Delegating
from tests.good.telling import Telling


@mutant(kills="MP-DELEG-001", says="unexpected keyword argument", report="H3")
class ADelegationHasNoMoreKeywords(Telling):
    def on_delegation(self, task: str, result: str, *, child_session_id: str = "") -> None:  # type: ignore[override]
        super().on_delegation(task, result, child_session_id=child_session_id)


@mutant(kills="MP-DELEG-001", says="a lone high surrogate", report="J2")
class ResultsAreEncoded(Telling):
    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        super().on_delegation(task, result.encode().decode(), child_session_id=child_session_id)


@mutant(kills="MP-DELEG-002", says="stored after on_delegation", report="A5")
class TheChildsSessionIsTheCurrentOne(Telling):
    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        super().on_delegation(task, result, child_session_id=child_session_id)
        if child_session_id and self._path is not None:
            self._path = self._path.with_name("child.jsonl")


@mutant(kills="MP-DELEG-003", says="of what a delegation brought", report="C6")
class ResultsAreOfTheProcess(Telling):
    _heard: ClassVar[dict[str, str]] = {}

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        self._heard[result] = task
        for earlier, asked in list(self._heard.items())[-2:]:
            super().on_delegation(asked, earlier)


@mutant(kills="MP-DELEG-003", says="of what a delegation brought", report="A4")
class ResultsAreWrittenAtTheEnd(Delegating):
    """They are kept until then, and belong to the session of that moment."""

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        self.__dict__.setdefault("_late", []).append((task, result))

    def shutdown(self) -> None:
        for task, result in self.__dict__.pop("_late", []):
            super().on_delegation(task, result)
        super().shutdown()


@mutant(kills="MP-DELEG-003", says="of what a delegation brought", report="A4")
class ResultsAreOfTheChild(Delegating):
    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        super().on_delegation(task, result)
        if child_session_id:
            with self._changing():
                found = {**self._entries[-1], "id": uuid.uuid4().hex, "session": child_session_id}
                self._entries.append(found)
                self._save()


@mutant(kills="MP-DELEG-003", says="of what a delegation brought", report="C6")
class ResultsStayWithTheFirstSession(Delegating):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._first = session_key
        super().initialize(session_key, config)

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        current, self._session = self._session, self._first
        super().on_delegation(task, result)
        self._session = current
