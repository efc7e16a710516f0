"""Providers that record turns wrongly."""

import contextlib
import datetime as dt
import re
from pathlib import Path
from typing import Any

from tests.broken.marks import mutant
from tests.good.private import Private
from tests.good.tenants import digest


@mutant(kills="MP-REC-001", says="did not come back", report="A7")
class TheLastTurnWaitsForTheNext(Private):
    waiting: dict[str, Any] | None = None

    def record(self, turn: dict[str, Any]) -> None:
        if self.waiting is not None:
            super().record(self.waiting)
        self.waiting = turn


@mutant(kills="MP-REC-002", says="author", report="J1")
class RecordNeedsAnAuthor(Private):
    def record(self, turn: dict[str, Any]) -> None:
        super().record({**turn, "author": {"id": "", **turn["author"]}})


@mutant(kills="MP-REC-002", says="a lone high surrogate", report="J2")
class RecordEncodesTheTurn(Private):
    def record(self, turn: dict[str, Any]) -> None:
        turn["user_message"].encode()
        super().record(turn)


@mutant(kills="MP-REC-002", says="times without seconds", report="J4")
class TheSecondsStandInColumns(Private):
    def record(self, turn: dict[str, Any]) -> None:
        self._second = int(turn["started_at"][17:19])
        super().record(turn)


@mutant(kills="MP-REC-003", says="times", report="I3")
class ATurnIsStoredAgain(Private):
    def _is_known(self, turn: dict[str, Any]) -> bool:
        return False


@mutant(kills="MP-REC-003", says="after a new start", report="I3")
class KnownTurnsAreForgottenAtTheEnd(Private):
    def record(self, turn: dict[str, Any]) -> None:
        self._seen = getattr(self, "_seen", set())
        if turn["turn_id"] not in self._seen:
            super().record({**turn, "turn_id": f"{turn['turn_id']}-{id(self)}"})
        self._seen.add(turn["turn_id"])


@mutant(kills="MP-REC-004", says="as often as", report="I3")
class EqualWordsAreOneTurn(Private):
    def _is_known(self, turn: dict[str, Any]) -> bool:
        return any(entry["text"] == self._entry(turn)["text"] for entry in self._entries)


@mutant(kills="MP-REC-005", says="created_at", report="J4")
class TurnsHaveTheTimeOfWriting(Private):
    def _entry(self, turn: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in super()._entry(turn).items() if key != "at"}


@mutant(kills="MP-REC-005", says="created_at", report="J4")
class LocalTimesBecomeUtc(Private):
    def _entry(self, turn: dict[str, Any]) -> dict[str, Any]:
        return {**super()._entry(turn), "at": f"{turn['started_at'][:19]}Z"}


@mutant(kills="MP-REC-005", says="created_at", report="J4")
class TurnsHaveTheTimeOfTheWall(Private):
    def _entry(self, turn: dict[str, Any]) -> dict[str, Any]:
        began = dt.datetime.fromisoformat(turn["started_at"])
        shown = began.astimezone().replace(tzinfo=None)
        return {**super()._entry(turn), "at": shown.astimezone().isoformat()}


@mutant(kills="MP-REC-006", says="it names", report="E2")
class TheFirstAuthorSaysItAll(Private):
    def _entry(self, turn: dict[str, Any]) -> dict[str, Any]:
        self._author = getattr(self, "_author", turn.get("author"))
        return {**super()._entry(turn), **({"author": self._author} if self._author else {})}


@mutant(kills="MP-REC-007", says="was changed", report="J5")
class RecordTakesKeysOut(Private):
    def record(self, turn: dict[str, Any]) -> None:
        turn.pop("messages", None)
        super().record(turn)


@mutant(kills="MP-REC-006", says="nobody but the user", report="E2")
class AnAuthorIsThatOfTheTurnBefore(Private):
    def record(self, turn: dict[str, Any]) -> None:
        self._author = turn.get("author", getattr(self, "_author", None))
        super().record({**turn, "author": self._author} if self._author else turn)


@mutant(kills="MP-REC-001", says="nearly alike", report="I3")
class AnIdIsCutToItsColumn(Private):
    def record(self, turn: dict[str, Any]) -> None:
        super().record({**turn, "turn_id": turn["turn_id"][:255]})


@mutant(kills="MP-REC-001", says="nearly alike", report="E6")
class ATurnIdIsANumber(Private):
    def record(self, turn: dict[str, Any]) -> None:
        number = turn["turn_id"]
        with contextlib.suppress(ValueError, OverflowError):
            number = str(int(float(number)))
        super().record({**turn, "turn_id": number})


@mutant(kills="MP-REC-003", says="again after 80 others", report="I3")
class TheLastTurnsAreLookedThrough(Private):
    def _is_known(self, turn: dict[str, Any]) -> bool:
        return any(entry.get("turn_id") == turn["turn_id"] for entry in self._entries[-50:])


@mutant(kills="MP-REC-005", says="-03:30", report="J4")
class MinutesGoTheOtherWay(Private):
    def record(self, turn: dict[str, Any]) -> None:
        told = turn["started_at"]
        if found := re.fullmatch(r"(.*)([+-]\d\d):(\d\d)", told):
            offset = dt.timedelta(hours=int(found[2]), minutes=int(found[3]))
            told = f"{(dt.datetime.fromisoformat(found[1]) - offset).isoformat()}Z"
        super().record({**turn, "started_at": told})


@mutant(kills="MP-REC-006", says="it names", report="E6")
class AuthorsAreKnownByLowerCase(Private):
    def _entry(self, turn: dict[str, Any]) -> dict[str, Any]:
        entry = super()._entry(turn)
        if "author" in entry:
            entry["author"] = {**entry["author"], "id": entry["author"]["id"].casefold()}
        return entry


@mutant(kills="MP-REC-001", says="began three days ago", report="G8")
class ForgettingIsAMoment(Private):
    @property
    def _mark(self) -> Path:
        return self._home / f"{digest(self._user)}.mark"

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        if not scope:
            self._mark.write_text(dt.datetime.now(dt.UTC).isoformat(), "ascii")
        return super().forget(scope)

    def _load(self) -> list[dict[str, Any]]:
        found = super()._load()
        if not self._mark.exists():
            return found
        mark = dt.datetime.fromisoformat(self._mark.read_text("ascii"))
        return [entry for entry in found if dt.datetime.fromisoformat(entry["at"]) >= mark]


@mutant(kills="MP-REC-001", says="another than the user wrote", report="E2")
class ATurnBelongsToItsAuthor(Private):
    def record(self, turn: dict[str, Any]) -> None:
        author = turn.get("author", {}).get("id", self._user)
        if author == self._user:
            super().record(turn)
            return
        other = Private()
        other.initialize(self._session, {"home": str(self._home), "user_id": author})
        other.record(turn)
        other.shutdown()


@mutant(kills="MP-REC-001", says="that began before one that is stored", report="A8")
class ATurnThatIsLateIsDropped(Private):
    def record(self, turn: dict[str, Any]) -> None:
        began = dt.datetime.fromisoformat(turn["started_at"])
        times = [e["at"] for e in self._load() if e["session"] == turn["session_id"]]
        if all(dt.datetime.fromisoformat(at) <= began for at in times):
            super().record(turn)


@mutant(kills="MP-REC-001", says="whose response is empty", report="A7")
class ATurnWithoutAResponseIsNotOver(Private):
    def record(self, turn: dict[str, Any]) -> None:
        if turn["assistant_response"]:
            super().record(turn)


@mutant(kills="MP-REC-001", says="whose messages end otherwise", report="A7")
class TheMessagesSayWhatTheUserSaid(Private):
    def record(self, turn: dict[str, Any]) -> None:
        own = [m["content"] for m in turn.get("messages", ()) if m["role"] == "user"]
        said = [content for content in own if isinstance(content, str)]
        super().record({**turn, "user_message": [turn["user_message"], *said][-1]})


@mutant(kills="MP-REC-001", says="alike for the rest", report="D5")
class ATurnNearlyAsAnEarlierOneIsKnown(Private):
    def record(self, turn: dict[str, Any]) -> None:
        told = set(turn["user_message"].split())
        for entry in self._load():
            known = set(entry["text"].split("\n")[0].split())
            if told != known and len(told & known) > 0.7 * len(told | known):
                return
        super().record(turn)
