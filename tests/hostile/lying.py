"""Hostile providers that answer with what is not what it says."""

from collections.abc import Iterator
from typing import Any

from tests.good.journal import Journal
from tests.hostile.marks import hostile

_MEGABYTE = 1 << 20


@hostile("MP-NAME-001", says="no name today")
class RaisesForItsName(Journal):
    @property
    def name(self) -> str:  # type: ignore[override]
        raise OSError("no name today")


class _Unshown:
    def __repr__(self) -> str:
        raise OSError("not to be shown")

    __str__ = __repr__


@hostile("MP-RECALL-001")
class AnswersWhatCannotBeShown(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return _Unshown()  # type: ignore[return-value]


class _SaysItIsText:
    @property
    def __class__(self) -> type:  # type: ignore[override]
        return str


@hostile("MP-RECALL-001", says="claims another class")
class LiesAboutATypeInRecall(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return _SaysItIsText()  # type: ignore[return-value]


class _EqualToAll(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __contains__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


@hostile("MP-CAP-003", "MP-TURN-001", "MP-WRITE-001")
class SaysThatItHoldsEverything(Journal):
    """Without a store: the answer claims to hold whatever it is asked for."""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return _EqualToAll("yes")


@hostile("MP-RECALL-001", says="generator")
class AnswersAGenerator(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> Iterator[str]:  # type: ignore[override]
        yield "nothing"


async def _later() -> str:
    return "nothing"


@hostile("MP-RECALL-001", says="coroutine")
class AnswersACoroutine(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return _later()  # type: ignore[return-value]


@hostile("MP-RECALL-007", "MP-RECALL-008", says="characters")
class Recalls100Megabytes(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = super().enrich_turn(user_message, messages) or ""
        return found + " and" * (25 * _MEGABYTE)


class _Raises:
    def __getattribute__(self, name: str) -> Any:
        raise OSError(f"no {name} today")


@hostile("MP-RECALL-001", "MP-RECALL-006")
class AnswersWhatRaisesWhenTouched(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return _Raises()  # type: ignore[return-value]


@hostile("MP-CAP-001")
class DeclaresEndlessly(Journal):
    def capabilities(self) -> dict[str, Any]:
        inner: dict[str, Any] = {}
        inner["x_self"] = inner
        return {**super().capabilities(), "x_self": inner, "stores": inner}
