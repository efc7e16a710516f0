"""Broken in the face of a backend that fails; `memproto.toml` beside it starts one that works."""

import contextlib
import json
import time
import uuid
from http.client import HTTPException
from typing import Any

from memproto.errors import Rejected, Unavailable
from tests.broken.marks import mutant
from tests.good.remote import Remote, client, logger
from tests.good.remote.client import Refused
from tests.good.remote.serving import Serving
from tests.good.unusual import queued
from tests.good.waiting import Waiting

_AN_HOUR_S = 3_600.0


class Hasty(Remote):
    """The good one, which gives up earlier: each mutant meets every way to fail."""

    recall_s = 1.0
    write_s = 0.5


@mutant(kills="MP-FAULT-001", says="enrich_turn had not returned", report="B2", scale=0.6)
class RecallHasNoTimeout(Hasty):
    recall_s = _AN_HOUR_S


@mutant(kills="MP-FAULT-001", says="enrich_turn had not returned", report="B3", scale=0.6)
class RecallHasATimeoutForEachRead(Hasty):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        left_s = client._left_s
        client._left_s = lambda end: self.recall_s
        try:
            return super().enrich_turn(user_message, messages)
        finally:
            client._left_s = left_s


@mutant(kills="MP-FAULT-001", says="enrich_turn had not returned", report="B3", scale=0.6)
class APauseHidesTheTimeoutForEachRead(RecallHasATimeoutForEachRead):
    """It asks no more for a while when one recall has failed, as the first way to be stuck does."""

    _asks_again_at = 0.0

    def _entries(self) -> list[dict[str, str]]:
        if time.monotonic() < self._asks_again_at:
            raise Unavailable("paused")
        try:
            return super()._entries()
        except Unavailable:
            self._asks_again_at = time.monotonic() + 10.0
            raise


@mutant(kills="MP-FAULT-002", says="had not returned", report="B1", scale=0.3)
class WritesHaveNoTimeout(Hasty):
    write_s = _AN_HOUR_S


@mutant(kills="MP-FAULT-003", says="shutdown had not returned", report="B5", scale=0.3)
class ShutdownWaitsForTheServer(Hasty):
    def shutdown(self) -> None:
        with contextlib.suppress(Unavailable, AttributeError):
            self._ask("/entries", {"space": self._space}, _AN_HOUR_S)


@mutant(kills="MP-FAULT-004", says="it raised", report="B9")
class InitializeAsksTheServer(Hasty):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._entries()


@mutant(kills="MP-FAULT-005", says="enrich_turn had not returned", report="L1", scale=0.6)
class RecallSleepsAsLongAsTheServerAsks(Hasty):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            self._entries()
        except Refused as error:
            time.sleep(float(error.waits or 0))
        except Unavailable:
            return None
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-FAULT-006", says="did not come back", report="H4", scale=0.3)
class WhatIsRefusedIsDropped(Hasty):
    def _send(self, change: dict[str, Any]) -> None:
        try:
            super()._send(change)
        except Unavailable as error:
            logger.warning("not stored: %s", error)


@mutant(kills="MP-FAULT-007", says="stored 2 times", report="I3")
class TriesAgainUnderAnotherId(Hasty):
    def _ask(self, path: str, asked: dict[str, Any], within_s: float) -> dict[str, Any]:
        return super()._ask(path, {**asked, "id": uuid.uuid4().hex}, within_s)


@mutant(kills="MP-FAULT-008", says="it did not within", report="L2", scale=0.3)
class FailsOnceAndForEver(Hasty):
    _is_dead = False

    def _ask(self, path: str, asked: dict[str, Any], within_s: float) -> dict[str, Any]:
        if self._is_dead:
            raise Unavailable("the server was gone")
        try:
            return super()._ask(path, asked, within_s)
        except Unavailable:
            self._is_dead = True
            raise


@mutant(kills="MP-FAULT-009", says="requests", report="L1")
class ARefusedKeyIsTriedAgain(Hasty):
    def _ask(self, path: str, asked: dict[str, Any], within_s: float) -> dict[str, Any]:
        for _ in range(9):
            try:
                return super()._ask(path, asked, within_s)
            except Refused as error:
                if error.code != 401:
                    raise
        return super()._ask(path, asked, within_s)


@mutant(kills="MP-FAULT-010", says="nothing was said", report="H4")
class KeepsWhatIsRefusedAndSaysNothing(Waiting):
    def _send_one(self) -> bool:
        try:
            return super()._send_one()
        except (OSError, ValueError, HTTPException, queued.Refused):
            if not self._closing.wait(0.5):
                self._wake.set()
            return False


@mutant(kills="MP-FAULT-011", says="overflow", report="D7")
class TheErrorIsRecalled(Hasty):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            self._entries()
        except Refused as error:
            return error.body
        except Unavailable:
            return None
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-FAULT-011", says="an error with 200", report="D7")
class AnErrorWith200IsRecalled(Hasty):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        parsed, told = client._parsed, list[str]()

        def shown(data: bytes) -> dict[str, Any]:
            body = data.partition(b"\r\n\r\n")[2]
            told.append(body.decode() if b" 200 " in data[:20] and b'"error"' in body[:10] else "")
            return parsed(data)

        client._parsed = shown
        try:
            return super().enrich_turn(user_message, messages) or "".join(told) or None
        except Unavailable:
            return "".join(told) or None
        finally:
            client._parsed = parsed


@mutant(kills="MP-SHUT-005", says="shutdown had not returned", report="B5", scale=0.3)
class ShutdownTakesTheServerAtItsWord(Hasty):
    _waits_s = 0.0

    def _send(self, change: dict[str, Any]) -> None:
        self._waits_s = 0.0
        try:
            super()._send(change)
        except Refused as error:
            self._waits_s = float(error.waits) if error.waits.isdecimal() else 0.0
            raise

    def shutdown(self) -> None:
        time.sleep(self._waits_s)


@mutant(kills="MP-DATA-001", says="stored 2 times", report="I3", found_by="MP-FAULT-008", scale=0.3)
class TriesByItselfWhatItRefused(Hasty):
    _refused: tuple[dict[str, Any], ...] = ()

    def _send(self, change: dict[str, Any]) -> None:
        while self._refused:
            super()._send(self._refused[0])
            self._refused = self._refused[1:]
        try:
            super()._send(change)
        except Unavailable:
            self._refused = (*self._refused, change)
            raise


@mutant(kills="MP-TOOL-001", says="answered 503", report="H4", found_by="MP-FAULT-006", scale=0.3)
class ANoteIsTakenAndDropped(Hasty):
    def capabilities(self) -> dict[str, Any]:
        stores, named = ["turns", "writes", "tools"], ["remote_add"]
        return {**super().capabilities(), "extensions": ["tools"], "stores": stores} | {
            "tool_names": named
        }

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        text = {"text": {"type": "string"}}
        parameters = {"type": "object", "properties": text, "required": ["text"]}
        return [{"name": "remote_add", "description": "Keeps a note.", "parameters": parameters}]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name != "remote_add" or not isinstance(args.get("text"), str):
            return json.dumps({"error": "remote_add takes a text"})
        with contextlib.suppress(Unavailable):
            self._store("note", args["text"], None)
        return json.dumps({"success": True})


@mutant(kills="MP-TENANT-001", says="answered 503", report="E1", found_by="MP-FAULT-006", scale=0.3)
class WhatWaitsIsTheNextUsers(Waiting):
    """The queue that a session leaves behind does not say whose it is."""

    def shutdown(self) -> None:
        super().shutdown()
        # While the service takes what comes, what is left is on its way.
        if self._sender is None or not self._trouble:
            return
        with contextlib.suppress(Unavailable), self._outbox(1) as base:
            for number, entry in base.execute("SELECT n, entry FROM outbox").fetchall():
                left = {key: v for key, v in json.loads(entry).items() if key != "space"}
                base.execute("UPDATE outbox SET entry = ? WHERE n = ?", (json.dumps(left), number))

    def _waiting(self, base: Any) -> list[dict[str, Any]]:
        waiting = [json.loads(e) for (e,) in base.execute("SELECT entry FROM outbox")]
        return [entry for entry in waiting if entry.get("space", self._space) == self._space]


@mutant(
    kills="MP-RECALL-004", says="was the answer to", report="D4", found_by="MP-FAULT-008", scale=0.3
)
class TheLastAnswerServesAnOutage(Hasty):
    _last: str | None = None

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        try:
            self._entries()
        except Unavailable:
            return self._last
        self._last = super().enrich_turn(user_message, messages)
        return self._last


@mutant(kills="MP-ISO-001", says="answered 503", report="D4", found_by="MP-FAULT-008", scale=0.3)
class AnOutageIsServedFromEveryHome(Serving):
    """The answers that are kept for an outage are those of all homes of the process."""

    def _key(self, asked: str) -> tuple[str, ...]:
        return ("any home", asked)


@mutant(kills="MP-TENANT-001", says="answered 503", report="E1", found_by="MP-FAULT-008", scale=0.3)
class AnOutageIsServedFromEveryUser(Serving):
    """Each user has a space of its own, and the answers that are kept are the home's."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._space = json.dumps([config["home"], config.get("user_id")])
        self._home = config["home"]

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user"]}

    def _key(self, asked: str) -> tuple[str, ...]:
        return (self._home, asked)


class _Forgetting(Hasty):
    """Sane: it shows and forgets everything, and no part of it."""

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["privacy"]}

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        if scope:
            raise Rejected("everything is shown, or nothing")
        texts = [entry["text"] for entry in self._entries()]
        items = [{"id": str(n), "text": text, "created_at": None} for n, text in enumerate(texts)]
        return {"items": items}

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        if scope:
            raise Rejected("everything is forgotten, or nothing")
        entries = self._entries()
        for entry in entries:
            self._store(entry["kind"], None, entry["text"])
        return {"removed": len(entries), "pending": 0}


@mutant(kills="MP-PRIV-003", says="answered 503", report="G8", found_by="MP-FAULT-006", scale=0.3)
class AnExportIsWhatAnswers(_Forgetting):
    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(Unavailable):
            return super().export(scope)
        return {"items": []}


@mutant(kills="MP-PRIV-005", says="answered 503", report="G8", found_by="MP-FAULT-006", scale=0.3)
class ForgettingIsDoneIfNobodyAnswers(_Forgetting):
    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        with contextlib.suppress(Unavailable):
            return super().forget(scope)
        return {"removed": 0, "pending": 0}


@mutant(kills="MP-ISO-006", says="export wrote it into", report="F9", scale=0.3)
class AnExportTellsItsSettings(_Forgetting):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._config = config

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().export(scope)
        except Unavailable as error:
            raise Unavailable(f"{error} under {self._config}") from None


@mutant(kills="MP-FAULT-006", says="two sessions accepted", report="H4", scale=0.3)
class TheQueueHasTwentyPlaces(Waiting):
    def _asked(self, path: str, asked: dict[str, Any], seconds: float) -> dict[str, Any]:
        return super()._asked(path, asked, min(seconds, 1.0))

    def _keep(self, text: str) -> None:
        super()._keep(text)
        with self._outbox(8) as base:
            # While the service takes what comes, there are never so many.
            if self._trouble:
                base.execute("DELETE FROM outbox WHERE n <= (SELECT max(n) - 20 FROM outbox)")


class _Replacing(Waiting):
    """Sane: a replace waits in the queue as well."""

    _old: str | None = None

    def capabilities(self) -> dict[str, Any]:
        mirrors = {target: ["add", "replace"] for target in ("memory", "user")}
        return {**super().capabilities(), "mirrors": mirrors}

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action in ("add", "replace"):
            self._old = old_text if action == "replace" else None
            self._keep(content)
            self._old = None

    def _entry(self, text: str) -> dict[str, Any]:
        return {**super()._entry(text), "kind": "any", "old_text": self._old}


@mutant(
    kills="MP-DATA-002",
    says="which was replaced while the backend",
    report="D3",
    found_by="MP-FAULT-006",
    scale=0.3,
)
class WhatIsLeftIsSentNewestFirst(_Replacing):
    def shutdown(self) -> None:
        super().shutdown()
        if self._sender is not None:
            with contextlib.suppress(Unavailable), self._outbox(1) as base:
                base.execute("UPDATE outbox SET n = -n WHERE n > 0")


@mutant(
    kills="MP-TIME-001",
    says="set back by a day",
    report="J4",
    found_by="MP-FAULT-008",
    scale=0.3,
)
class ThePauseEndsByTheWallClock(Hasty):
    _until_s = 0.0

    def _ask(self, path: str, asked: dict[str, Any], within_s: float) -> dict[str, Any]:
        if time.time() < self._until_s:
            raise Unavailable("the server failed a moment ago")
        try:
            return super()._ask(path, asked, within_s)
        except Unavailable:
            self._until_s = time.time() + 2.0
            raise


@mutant(kills="MP-FAULT-006", says="under 429", report="H4", scale=0.3)
class WhatIsNoServerErrorIsASuccess(Waiting):
    def _asked(self, path: str, asked: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            return super()._asked(path, asked, min(seconds, 1.0))
        except queued.Refused as error:
            if path == "/changes" and error.status == 429:
                return {"entries": []}
            raise
