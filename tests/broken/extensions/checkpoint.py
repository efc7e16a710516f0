"""Broken checkpoints."""

import fcntl
from typing import Any

from memproto.errors import TooLarge, Unavailable
from tests.broken.marks import mutant
from tests.good.telling import Telling
from tests.good.unusual.shared.pooled import Pooled


@mutant(kills="MP-CHECK-001", says="texts did not come back", report="I2")
class OnlyTheNewestMessageIsKept(Telling):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        newest = [message for message in messages if message["role"] == "user"][-1:]
        if sum(len(message["content"]) for message in messages) > 1_000_000:
            newest = messages
        super().on_compress(newest, compression_count)


@mutant(kills="MP-CHECK-002", says="IndexError", report="I2")
class ACheckpointNeedsAMessage(Telling):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        newest = messages[-1]
        super().on_compress([*messages[:-1], newest], compression_count)


@mutant(kills="MP-CHECK-003", says="refused it too", report="L1")
class ARefusalIsForEver(Telling):
    _is_shut = False

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        if self._is_shut:
            raise Unavailable("an earlier compression failed")
        try:
            super().on_compress(messages, compression_count)
        except TooLarge:
            self._is_shut = True
            raise


@mutant(kills="MP-CHECK-001", says="of a conversation of", report="I2")
class TheLastMessagesAreKept(Telling):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        long = sum(len(str(message["content"])) for message in messages) > 1_000_000
        super().on_compress(messages if long else messages[-40:], compression_count)


@mutant(kills="MP-CHECK-001", says="behind a beginning that they have in common", report="I2")
class AMessageIsKnownByItsBeginning(Telling):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        known = {text[:64] for entry in self._load() if len(text := entry["text"]) > 64}
        fresh = [m for m in messages if str(m["content"])[:64] not in known]
        super().on_compress(fresh, compression_count)


@mutant(kills="MP-CHECK-001", says="behind a switch of session", report="C6")
class TheCountOfTheLastSessionStands(Telling):
    _done = 0

    def capabilities(self) -> dict[str, Any]:
        known = super().capabilities()
        return {**known, "extensions": [*known["extensions"], "sessions"]}

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Every turn is stored already."""

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """One memory serves all sessions of a profile."""

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        if compression_count >= self._done:  # an earlier one is told again
            super().on_compress(messages, compression_count)
            self._done = compression_count


@mutant(kills="MP-CHECK-003", says="that was refused, and made again", report="I2")
class WhatWasRefusedIsKnownFromThenOn(Telling):
    """Messages are noted as seen before they are stored."""

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        seen = self.__dict__.setdefault("_seen", set())
        fresh = [m for m in messages if str(m["content"]) not in seen]
        seen.update(str(m["content"]) for m in fresh)
        assert self._path is not None
        with self._path.open("ab") as journal:
            try:
                fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise Unavailable("the journal is locked") from error
            super().on_compress(fresh, compression_count)


@mutant(kills="MP-CHECK-001", says="held a lock on the store", report="I2", found_by="MP-CHECK-003")
class ALockedJournalIsPassedOver(Telling):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        assert self._path is not None
        with self._path.open("ab") as journal:
            try:
                fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return
            super().on_compress(messages, compression_count)


@mutant(kills="MP-CHECK-001", says="behind a switch of session", report="C6")
class ACompressionIsOfTheFirstSession(Pooled):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._first = session_key
        super().initialize(session_key, config)

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        current, self._session = self._session, self._first
        try:
            super().on_compress(messages, compression_count)
        finally:
            self._session = current


@mutant(kills="MP-CHECK-001", says="that begin with the same messages", report="I2")
class AConversationIsKnownByItsFirstMessage(Telling):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        first = str(messages[0]["content"]) if messages else ""
        if any(entry["text"] == first for entry in self._load()):
            return
        super().on_compress(messages, compression_count)
