"""Providers that depend on a thread, or do not let the others run."""

import re
import sqlite3
import threading
from pathlib import Path
from typing import Any

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
