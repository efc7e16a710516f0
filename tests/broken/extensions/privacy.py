"""Providers that export too little or too much, and forget too little or too much."""

import datetime as dt
import json
from typing import Any, ClassVar

from memproto.errors import Rejected, Unavailable
from tests.broken.marks import mutant
from tests.good.private import Private


@mutant(kills="MP-PRIV-001", says="cannot be written as JSON", report="J4")
class AnExportHoldsObjects(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        answer = super().export(scope)
        return {**answer, "x_exported_at": dt.datetime.now(dt.UTC)}


@mutant(kills="MP-PRIV-001", says="it was refused", report="J4")
class AnEmptyStoreIsNotExported(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        if not self._load():
            raise Rejected("nothing is stored")
        return super().export(scope)


@mutant(kills="MP-PRIV-002", says="KeyError", report="G8")
class WhatIsNotThereCannotBeForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        known = {entry["session"]: True for entry in self._load()}
        if "session_id" in scope:
            known[scope["session_id"]]
        return super().forget(scope)


@mutant(kills="MP-PRIV-002", says="is not of type 'integer'", report="G8")
class ForgetNamesWhatItRemoved(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        return {**super().forget(scope), "removed": "all"}


@mutant(kills="MP-PRIV-003", says="stored through writes", report="G8")
class MirroredWritesAreNotExported(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        answer = super().export(scope)
        is_whole = "session_id" in scope
        return {"items": [i for i in answer["items"] if is_whole or i["source"] == "turns"]}


@mutant(kills="MP-PRIV-003", says="in the export of the user", report="G8")
class AUserIsOnlyWhoIsAnAuthor(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        answer = super().export(scope)
        return {"items": [i for i in answer["items"] if "user_id" not in scope or "author" in i]}


@mutant(kills="MP-PRIV-004", says="which was stored in another session", report="E4")
class AnExportIsOfAllSessions(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        self._is_within({"session": ""}, scope)
        return super().export({key: scope[key] for key in scope if key != "session_id"})


@mutant(kills="MP-PRIV-004", says="which was stored for user_id", report="E5")
class AnExportAsksNotWhoAsks(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            own, self._load = self._load, self._of_all  # type: ignore[method-assign]
            answer = super().export({key: scope[key] for key in scope if key != "user_id"})
            self._load = own  # type: ignore[method-assign]
        return answer

    def _of_all(self) -> list[dict[str, Any]]:
        files = self._home.glob("*/journal.jsonl")
        return [json.loads(line) for file in files for line in file.read_text("ascii").splitlines()]


@mutant(kills="MP-PRIV-005", says="in the same session enrich_turn", report="D4")
class RecallRemembersWhatIsForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        cached = list(self._entries)
        answer = super().forget(scope)
        self._entries = cached
        return answer

    def _look_again(self) -> None:
        """Keep what this instance has in memory."""


@mutant(kills="MP-PRIV-005", says="stored through writes", report="G8")
class MirroredWritesAreNotForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        with self._changing():
            before = self._entries
            self._entries = [
                entry
                for entry in before
                if entry["source"] == "writes" or not self._is_within(entry, scope)
            ]
            self._save()
        return {"removed": len(before) - len(self._entries), "pending": 0}


@mutant(kills="MP-PRIV-006", says="stored in another session", report="E5")
class AllSessionsAreForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        known = any(self._is_within(entry, scope) for entry in self._load())
        return super().forget({} if known else scope)


@mutant(kills="MP-PRIV-006", says="stored for user_id", report="E5")
class EverybodyIsForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        answer = super().forget(scope)
        if not scope:
            for file in self._home.glob("*/journal.jsonl"):
                file.unlink()
        return answer


@mutant(kills="MP-PRIV-006", says="which was resumed after it", report="G8")
class ASessionIsASpanOfTime(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        if "session_id" not in scope:
            return super().forget(scope)
        with self._changing():
            within = [e["at"] for e in self._entries if self._is_within(e, scope)] or ["?"]
            kept = [e for e in self._entries if not min(within) <= e["at"] <= max(within)]
            removed, self._entries = len(self._entries) - len(kept), kept
            self._save()
        return {"removed": removed, "pending": 0}


@mutant(kills="MP-PRIV-006", says="which was resumed after it", report="E6")
class IdsOfSessionsLoseTheirPictures(Private):
    """A column holds no characters beyond the basic plane, and drops them."""

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        asked = _without_pictures(scope.get("session_id", ""))
        known = {e["session"] for e in self._load() if "session_id" in scope}
        same = [one for one in known if _without_pictures(one) == asked]
        if not same:
            return super().forget(scope)
        answers = [Private.forget(self, {**scope, "session_id": one}) for one in same]
        return {"removed": sum(answer["removed"] for answer in answers), "pending": 0}


def _without_pictures(text: str) -> str:
    return "".join(character for character in text if ord(character) < 0x10000)


@mutant(kills="MP-PRIV-007", says="more than 0", report="G8")
class ForgettingCountsNothing(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        return {**super().forget(scope), "removed": 0}


@mutant(kills="MP-PRIV-007", says="an empty store", report="G8")
class ForgettingCountsTheCalls(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        return {**super().forget(scope), "removed": 1}


@mutant(kills="MP-PRIV-008", says="of which one key is unknown", report="G8")
class UnknownKeysAreDropped(Private):
    def _is_within(self, entry: dict[str, Any], scope: dict[str, Any]) -> bool:
        known = {key: scope[key] for key in ("user_id", "session_id") if key in scope}
        return super()._is_within(entry, known)


@mutant(kills="MP-PRIV-003", says="in the export of everything", report="G8")
class OnePageIsExported(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        return {"items": super().export(scope)["items"][:50]}


@mutant(kills="MP-PRIV-005", says="items are left", report="G8")
class OnePageIsForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, int]:
        with self._changing():
            gone = [entry for entry in self._entries if self._is_within(entry, scope)][:50]
            self._entries = [entry for entry in self._entries if entry not in gone]
            self._save()
        return {"removed": len(gone), "pending": 0}


@mutant(kills="MP-PRIV-006", says="after forget() of one session", report="G8")
class ASessionIsKnownByItsBeginning(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, int]:
        asked = scope.get("session_id", "")
        begun = {e["session"] for e in self._load() if e["session"].startswith(asked)}
        answers = [Private.forget(self, {**scope, "session_id": one}) for one in begun]
        return {"removed": sum(answer["removed"] for answer in answers), "pending": 0}


@mutant(kills="MP-PRIV-006", says="a text that two sessions stored", report="G8")
class EqualWordsAreOneEntry(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, int]:
        within = [e["text"] for e in self._load() if self._is_within(e, scope)]
        with self._changing():
            before = len(self._entries)
            self._entries = [e for e in self._entries if e["text"] not in within]
            self._save()
        return {"removed": before - len(self._entries), "pending": 0}


@mutant(kills="MP-PRIV-003", says="the end of a text", report="G8")
class AnExportCutsTexts(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        items = super().export(scope)["items"]
        return {"items": [{**item, "text": item["text"][:1_000]} for item in items]}


@mutant(kills="MP-PRIV-005", says="stored through delegation", report="G8")
class WhatSubagentsSaidIsNotForgotten(Private):
    def capabilities(self) -> dict[str, Any]:
        answer = super().capabilities()
        return {**answer, "extensions": [*answer["extensions"], "delegation"]}

    def on_delegation(self, task: str, result: str, **kwargs: Any) -> None:
        with self._changing():
            self._entries.append({"kind": "delegation", "text": f"{task}\n{result}"})
            self._save()

    def forget(self, scope: dict[str, Any]) -> dict[str, int]:
        with self._changing():
            gone = [entry for entry in self._entries if self._is_within(entry, scope)]
            gone = [entry for entry in gone if entry["kind"] != "delegation"]
            self._entries = [entry for entry in self._entries if entry not in gone]
            self._save()
        return {"removed": len(gone), "pending": 0}


@mutant(kills="MP-PRIV-005", says="was open meanwhile", report="G8")
class AnOpenSessionKeepsItsPicture(Private):
    def _look_again(self) -> None:
        """All that was there when it began."""


@mutant(kills="MP-PRIV-005", says="record for another author", report="E2")
class OnlyOwnWordsAreForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        with self._changing():
            gone = [entry for entry in self._entries if self._is_within(entry, scope)]
            gone = [e for e in gone if e.get("author", {}).get("id", self._user) == self._user]
            self._entries = [entry for entry in self._entries if entry not in gone]
            self._save()
        return {"removed": len(gone), "pending": 0}


@mutant(
    kills="MP-PRIV-003",
    says="record in a later session",
    report="E5",
    also={"MP-PRIV-005": "forget looks for the session of a late turn where the export does"},
)
class ALateTurnIsOfTheSessionThatBroughtIt(Private):
    def record(self, turn: dict[str, Any]) -> None:
        super().record({**turn, "session_id": self._session})


@mutant(
    kills="MP-PRIV-003",
    says="stored through delegation and recalled, in the export of the session",
    report="G8",
    also={"MP-PRIV-005": "forget looks for the session of a result where the export does"},
)
class AResultIsOfTheSessionOfItsSubagent(Private):
    def capabilities(self) -> dict[str, Any]:
        answer = super().capabilities()
        return {**answer, "extensions": [*answer["extensions"], "delegation"]}

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        with self._changing():
            said = {"kind": "delegation", "text": f"{task}\n{result}", "source": "delegation"}
            self._entries.append({**said, "session": child_session_id or self._session})
            self._save()


@mutant(kills="MP-PRIV-005", says="right before", report="G8")
class WhatWaitsIsNotForgotten(Private):
    """Turns wait until recall, an export or the end; to forget empties the store alone."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[str, str]] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._waiting.append((user_message, assistant_response))

    def _look_again(self) -> None:
        while self._waiting:
            super().on_turn_complete(*self._waiting.pop(0))
        super()._look_again()

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        self._look_again()
        return super().export(scope)

    def shutdown(self) -> None:
        self._look_again()


class _Compressing(Private):
    """Keeps what the user said in the messages of a compression, too."""

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        with self._changing():
            known = "\n".join(entry["text"] for entry in self._entries)
            for said in {m["content"]: m for m in messages if m["role"] == "user"}:
                if said not in known:
                    self._entries.append({"kind": "turn", "text": said, "source": "compression"})
            self._save()


@mutant(kills="MP-PRIV-003", says="stored through compression", report="G8")
class CompressionsAreNotExported(_Compressing):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        items = super().export(scope)["items"]
        return {"items": [item for item in items if item["source"] != "compression"]}


@mutant(kills="MP-PRIV-005", says="stored through compression", report="G8")
class CompressionsAreNotForgotten(_Compressing):
    def _is_within(self, entry: dict[str, Any], scope: dict[str, Any]) -> bool:
        return super()._is_within(entry, scope) and entry["source"] != "compression"

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        within = [e for e in self._load() if Private._is_within(self, e, scope)]
        return {"items": [{**self._item(entry), **self._told_of(entry)} for entry in within]}


@mutant(kills="MP-PRIV-005", says="in the same session enrich_turn", report="D3")
class WhatWasPreparedIsShown(Private):
    ready: tuple[str, str | None] = ("", None)

    def capabilities(self) -> dict[str, Any]:
        answer = super().capabilities()
        return {**answer, "extensions": [*answer["extensions"], "prewarm"]}

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        self.ready = query, super().enrich_turn(query, [])

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        (query, answer), self.ready = self.ready, ("", None)
        return answer if query == user_message else super().enrich_turn(user_message, messages)


@mutant(kills="MP-PRIV-005", says="system_prompt_block still shows", report="D4")
class ABlockIsKeptForItsSession(Private):
    """For a model server, which keeps the beginning of a prompt as long as it is the same."""

    blocks: ClassVar[dict[tuple[str, str], str]] = {}

    def capabilities(self) -> dict[str, Any]:
        answer = super().capabilities()
        return {**answer, "extensions": [*answer["extensions"], "prompt"]}

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        newest = "\n".join(entry["text"][:400] for entry in self._load()[-20:])
        self.blocks.setdefault((str(self._path), session_key), newest)

    def system_prompt_block(self) -> str:
        return self.blocks[str(self._path), self._session]


@mutant(kills="MP-PRIV-004", says="in the export of another user", report="E5")
class WhoeverIsNamedIsTheUser(Private):
    """The file is that of the user, so the user_id of a scope is not looked at when it exports."""

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        return super().export({**scope, "user_id": self._user} if "user_id" in scope else scope)


@mutant(kills="MP-PRIV-006", says="after forget() of another user", report="E5")
class WhoeverIsNamedIsForgotten(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        return super().forget({**scope, "user_id": self._user} if "user_id" in scope else scope)


@mutant(kills="MP-PRIV-003", says="in the export of everything", report="G8")
class TheLastPageIsLeftOut(Private):
    """A page is shown when it is full, and the first one in any case."""

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        items = super().export(scope)["items"]
        full = len(items) - len(items) % 20
        return {"items": items[: full or 20]}


@mutant(kills="MP-PRIV-002", says="after a scope that it refused", report="B9")
class ARefusedScopeHoldsTheGate(Private):
    """The gate of an instance is opened again where nothing was raised."""

    _is_shut = False

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        if self._is_shut:
            raise Unavailable("another forget() is under way")
        self._is_shut = True
        answer = super().forget(scope)
        self._is_shut = False
        return answer


@mutant(kills="MP-PRIV-008", says="of which one key is unknown", report="G8")
class AnUnknownKeyThatIsFalseIsNone(Private):
    def _is_within(self, entry: dict[str, Any], scope: dict[str, Any]) -> bool:
        return super()._is_within(entry, {key: value for key, value in scope.items() if value})


@mutant(kills="MP-PRIV-004", says="from which another one was started", report="E4")
class AParentIsExportedWithItsChild(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._parent = config.get("parent_session_id")

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        found = super().export(scope)["items"]
        if self._parent and scope.get("session_id") == self._session:
            found += super().export({**scope, "session_id": self._parent})["items"]
        return {"items": found}


@mutant(kills="MP-PRIV-006", says="from which another one was started", report="E4")
class AParentIsForgottenWithItsChild(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._parent = config.get("parent_session_id")

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        if self._parent and scope.get("session_id") == self._session:
            super().forget({**scope, "session_id": self._parent})
        return super().forget(scope)


@mutant(kills="MP-PRIV-004", says="in the export of a user", report="E5")
class NobodyIsEachUserInAnExport(Private):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        if self._user is None:
            scope = {key: value for key, value in scope.items() if key != "user_id"}
        return super().export(scope)


@mutant(kills="MP-PRIV-006", says="after forget() of a user", report="E5")
class NobodyIsEachUserToForget(Private):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        if self._user is None:
            scope = {key: value for key, value in scope.items() if key != "user_id"}
        return super().forget(scope)


@mutant(kills="MP-PRIV-003", says="in the export of the session", report="C6")
class EverySessionIsTheNewest(Private):
    """The key that was told last stands on the class."""

    newest = ""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        type(self).newest = session_key

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        type(self).newest = new_session_id

    def _save(self) -> None:
        self._session = type(self).newest
        super()._save()


class _Resumed(Private):
    """Knows which entries were there when its session was started."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._known = {entry["id"] for entry in self._entries}

    def _is_new(self, entry: dict[str, Any], scope: dict[str, Any]) -> bool:
        is_own = scope.get("session_id") == self._session
        return not is_own or entry["id"] not in self._known


@mutant(kills="MP-PRIV-003", says="in the export of the session", report="G8")
class AResumedSessionExportsWhatIsNew(_Resumed):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        items = super().export(scope)["items"]
        return {"items": [item for item in items if self._is_new(item, scope)]}


@mutant(kills="MP-PRIV-005", says="after forget() of the session", report="G8")
class AResumedSessionForgetsWhatIsNew(_Resumed):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        kept = [e for e in self._load() if not self._is_new(e, scope)]
        answer = super().forget(scope)
        with self._changing():
            left = {entry["id"] for entry in self._entries}
            self._entries += [entry for entry in kept if entry["id"] not in left]
            self._save()
        return answer


@mutant(kills="MP-PRIV-005", says="was open meanwhile recall_items", report="D4")
class ItemsThatWereAskedForStay(Private):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._asked: dict[str, dict[str, Any]] = {}
        super().initialize(session_key, config)

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        asked = json.dumps(request)
        if not self._asked.get(asked, {}).get("items"):
            self._asked[asked] = super().recall_items(request)
        return self._asked[asked]

    def _save(self) -> None:
        self._asked.clear()
        super()._save()
