"""Broken ends of processes, and stores that processes share."""

import atexit
import concurrent.futures
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.journal import Journal

_LOG = logging.getLogger(__name__)
_NEVER = threading.Event()


@mutant(kills="MP-PROC-001", says="it still ran after", report="B5", scale=0.1)
class WaitsForItsServerAtExit(Journal):
    is_registered = False

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        if not WaitsForItsServerAtExit.is_registered:
            WaitsForItsServerAtExit.is_registered = True
            atexit.register(_NEVER.wait)


@mutant(kills="MP-PROC-002", says="it still ran after", report="B5", scale=0.1)
class FlushesWhenItIsCollected(Journal):
    is_open = False

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self.is_open = True

    def shutdown(self) -> None:
        self.is_open = False

    def __del__(self) -> None:
        if self.is_open:
            _NEVER.wait()


@mutant(kills="MP-PROC-003", says="RuntimeError", report="B6")
class ShutsDownInAPool(Journal):
    def shutdown(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(super().shutdown).result()


@mutant(kills="MP-PROC-004", says="SIGABRT", report="B6")
class AbortsBesideItsCalls(Journal):
    callers: ClassVar[set[threading.Thread]] = set()

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        if not self.callers:
            atexit.register(self._goodbye)
        self.callers.add(threading.current_thread())
        return super().enrich_turn(user_message, messages)

    @classmethod
    def _goodbye(cls) -> None:
        """As a native library does whose lock a thread still holds."""
        if any(t.is_alive() for t in cls.callers - {threading.main_thread()}):
            os.abort()


@mutant(kills="MP-PROC-005", says="Ctrl+C", report="B7", scale=0.2)
class KeepsItsLockAfterAnInterrupt(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._gate = threading.Lock()

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._gate.acquire()
        try:
            super().on_turn_complete(user_message, assistant_response)
        except Exception:
            self._gate.release()
            raise
        self._gate.release()


@mutant(kills="MP-PROC-006", says="did not come back", report="C7")
class WritesItsFileInPlace(Journal):
    def _save(self) -> None:
        assert self._path is not None
        super()._save()
        if not self._is_kept:
            return
        with self._path.open("w", encoding="ascii") as file:
            for entry in reversed(self._entries):
                file.write(json.dumps(entry) + "\n")
                file.flush()


@mutant(kills="MP-PROC-007", says="did not come back", report="C7")
class KeepsItsOwnViewOfTheFile(Journal):
    """One list for all sessions of a process, read when the first of them opens."""

    views: ClassVar[dict[Path, list[Any]]] = {}
    opened: ClassVar[list[Path]] = []

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self.opened.append(Path(config["home"], "journal.jsonl"))

    def shutdown(self) -> None:
        self.opened[:] = [path for path in self.opened if path != self._path]

    def _load(self) -> list[dict[str, str]]:
        assert self._path is not None
        if self._path not in self.opened:
            self.views[self._path] = super()._load()
        return self.views[self._path]

    def _save(self) -> None:
        assert self._path is not None
        self.views[self._path] = self._entries
        super()._save()


@mutant(kills="MP-PROC-008", says="as if nothing had been", report="B7")
class LogsWhateverEndsItsTurn(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        try:
            super().on_turn_complete(user_message, assistant_response)
        except Exception:
            raise
        except BaseException as error:
            _LOG.warning("turn not stored: %r", error)


@mutant(kills="MP-PROC-009", says="RuntimeError", report="B6")
class RemovesItsMarkAtExit(Journal):
    """The copy's exit takes away the file by which the original knows that it is open."""

    is_registered = False

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._mark = Path(config["home"], f"open-{os.getpid()}")
        self._mark.touch()
        if not RemovesItsMarkAtExit.is_registered:
            RemovesItsMarkAtExit.is_registered = True
            atexit.register(self._mark.unlink, missing_ok=True)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not self._mark.exists():
            raise RuntimeError("the journal is closed")
        super().on_turn_complete(user_message, assistant_response)
