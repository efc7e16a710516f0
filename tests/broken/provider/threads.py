"""Providers that depend on a thread, do not let the others run, or cannot do two things at once."""

import asyncio
import re
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from memproto.errors import Rejected
from tests.broken.marks import mutant
from tests.good.journal import Journal


@mutant(kills="MP-THR-001", says="SQLite objects created in a thread", report="C1")
class ConnectionOfOneThread(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._index = sqlite3.connect(Path(config["home"]) / "index.db")
        self._index.execute("CREATE TABLE IF NOT EXISTS turns (length INTEGER)")

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message, assistant_response)
        with self._index:
            self._index.execute("INSERT INTO turns VALUES (?)", (len(user_message),))


@mutant(kills="MP-THR-001", says="on another it was lost", report="C1")
class LossOnOtherThreads(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._here = threading.local()
        self._here.session = session_key

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if hasattr(self._here, "session"):
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-THR-002", says="held the interpreter for", report="B1", scale=0.3)
class NestedRepetition(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not re.match(r"(\d+[ .-]?)+$", user_message):  # a bare phone number is no memory
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-THR-002", says="held the interpreter for", report="B1", scale=0.3)
class AdjoiningRepetition(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(re.sub(r"\s+$", "", user_message), assistant_response)


@mutant(kills="MP-THR-002", says="initialize held the interpreter for", report="B1", scale=0.3)
class BacktracksOverItsStore(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._index = {re.sub(r"\s+$", "", entry["text"]) for entry in self._entries}


@mutant(kills="MP-THR-003", says="on_turn_complete had not returned", report="B1", scale=0.2)
class RecordingNeverReturns(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        threading.Event().wait()


@mutant(kills="MP-THR-003", says="on_memory_write had not returned", report="A7", scale=0.2)
class MirroringNeverReturns(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        threading.Event().wait()


@mutant(kills="MP-THR-004", says="cannot be called from a running event loop", report="C3")
class ALoopForEachRecall(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        async def ask() -> str | None:
            return super(ALoopForEachRecall, self).enrich_turn(user_message, messages)

        return asyncio.run(ask())


@mutant(kills="MP-THR-004", says="did not come back after the loop had ended", report="C3")
class ATaskOfTheCallersLoop(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        store = super().on_turn_complete
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            store(user_message, assistant_response)
        else:
            # As long as the request takes that the turn is embedded with.
            loop.call_later(0.2, store, user_message, assistant_response)


@mutant(kills="MP-THR-005", says="another operation is in progress", report="C1")
class OneRequestAtATime(Journal):
    is_asking = False

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self.is_asking = True
        time.sleep(0.04)  # the answer travels
        self.is_asking = False
        return super().enrich_turn(user_message, messages)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        time.sleep(0.02)  # the turn is embedded
        if self.is_asking:
            raise RuntimeError("cannot send a request: another operation is in progress")
        super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-THR-005", says="did not come back, among them", report="C5")
class TwoBuffersAtFirstUse(Journal):
    _buffer: list[tuple[str, str]] | None = None

    def _opened(self, handshake_s: float) -> list[tuple[str, str]]:
        if self._buffer is None:
            time.sleep(handshake_s)
            self._buffer = []
        return self._buffer

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self._opened(0.06)
        return super().enrich_turn(user_message, messages)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._opened(0.02).append((user_message, assistant_response))

    def shutdown(self) -> None:
        for turn in self._buffer or ():
            super().on_turn_complete(*turn)
        self._buffer = []


@mutant(kills="MP-THR-001", says="the store is busy", report="C1")
class KeepsItsLockWhereItRefuses(Journal):
    """The lock is one that its own thread may take again: on that thread nobody sees it."""

    def __init__(self) -> None:
        super().__init__()
        self._gate = threading.RLock()

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        if not self._gate.acquire(timeout=0.2):
            raise RuntimeError("the store is busy")
        self._gate.release()
        return super().enrich_turn(user_message, messages)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._gate.acquire()
        if not user_message.strip("\0"):
            raise Rejected("the turn is empty")
        self._gate.release()
        super().on_turn_complete(user_message, assistant_response)
