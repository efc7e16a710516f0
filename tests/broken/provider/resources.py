"""Broken ends of sessions: something of each is left in the process."""

import atexit
import logging
import os
import subprocess
import threading
from pathlib import Path
from typing import Any, ClassVar

from memproto.errors import TooLarge, WriteRefused
from tests.broken.marks import mutant
from tests.good.journal import Journal

_NEVER = threading.Event()


@mutant(kills="MP-RES-001", says="more: a thread in", report="C4")
class LeavesItsWriterWaiting(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        threading.Thread(target=_NEVER.wait, name="summary", daemon=True).start()


@mutant(kills="MP-RES-002", says="where there are journal.lock", report="C4")
class LeavesItsFileOpen(Journal):
    opened: list[int] = []  # noqa: RUF012 - shared on purpose

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        assert self._path is not None
        self.opened.append(os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR))


@mutant(kills="MP-RES-003", says="sleep", report="C4")
class LeavesItsServerRunning(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        subprocess.Popen(["sleep", "600"])


@mutant(kills="MP-RES-004", says="bytes or more", report="C4")
class KeepsEveryConversation(Journal):
    conversations: list[Any] = []  # noqa: RUF012 - shared on purpose

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self.conversations.append([f"{m['role']}: {m['content']}" for m in messages])
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-RES-004", says="the very text that the hook was handed", report="C4")
class KeepsEveryQuestion(Journal):
    questions: list[str] = []  # noqa: RUF012 - shared on purpose

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self.questions.append(user_message)
        return super().enrich_turn(user_message, messages)


@mutant(kills="MP-RES-005", says="atexit", report="C4")
class RegistersEveryInstanceForExit(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        atexit.register(_goodbye, Path(config["home"]))


def _goodbye(home: Path) -> None:
    """Nothing is left to write."""


@mutant(kills="MP-RES-007", says="MB of memory", report="C4", scale=0.2)
class LoadsEverythingBeforeItSummarizes(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        pages = [b"-" * (64 << 20) for _ in range(40)]
        _NEVER.wait(0.5 if pages else 0)


@mutant(kills="MP-RES-006", says="thread in", report="C4")
class ForgetsItsFirstWorker(Journal):
    stop: threading.Event | None = None

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self.stop = threading.Event()
        self.worker = threading.Thread(target=self.stop.wait, daemon=True)
        self.worker.start()

    def shutdown(self) -> None:
        if self.stop is not None:
            self.stop.set()
            self.worker.join()


@mutant(kills="MP-RES-008", says="resources.py:_write_on", report="B6")
class KeepsOneWriterForEver(Journal):
    writer: ClassVar[threading.Thread | None] = None

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        if self.writer is None:
            type(self).writer = worker = threading.Thread(target=self._write_on, daemon=True)
            worker.start()

    @staticmethod
    def _write_on() -> None:
        while not _NEVER.wait(60):
            pass


@mutant(kills="MP-RES-001", says="more: a thread in threading.py:wait", report="C4")
class ItsWriterEndsBehindTheFirstTurn(Journal):
    """A session in which nothing is stored never tells its writer to end."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._written = threading.Event()
        threading.Thread(target=self._written.wait, name="writer", daemon=True).start()

    def _save(self) -> None:
        super()._save()
        self._written.set()


@mutant(kills="MP-RES-002", says="start.lock", report="B9")
class AFailedStartKeepsItsLock(Journal):
    held: ClassVar[list[int]] = []
    is_started = False

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        gate = Path(config["home"]).with_name("start.lock")
        self.held.append(os.open(gate, os.O_CREAT | os.O_RDWR))
        super().initialize(session_key, config)
        self.is_started = True

    def shutdown(self) -> None:
        if self.is_started:
            self.is_started = False
            os.close(self.held.pop())


@mutant(kills="MP-RES-005", says="a handler of the logger", report="C4")
class EachRefusalAddsAHandler(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if len(user_message) > 10_000:
            logging.getLogger("journal.refused").addHandler(logging.NullHandler())
            raise TooLarge("a turn has 10,000 characters at most")
        super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-RES-002", says="journal.lock", report="C4")
class ARefusedRemoveKeepsItsLock(Journal):
    held: ClassVar[list[int]] = []

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        assert self._path is not None
        if action == "remove" and not any(self._is_old(e, target, old_text) for e in self._load()):
            self.held.append(os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR))
            raise WriteRefused("no entry holds this text")
        super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-RES-002", says="journal.lock", report="C4")
class AThreadClosesItsOwnFileAlone(Journal):
    files = threading.local()

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        if not hasattr(self.files, "gate"):
            assert self._path is not None
            gate = self._path.with_suffix(".lock")
            self.files.gate = os.open(gate, os.O_CREAT | os.O_RDWR)

    def shutdown(self) -> None:
        if hasattr(self.files, "gate"):
            os.close(self.files.gate)
            del self.files.gate
