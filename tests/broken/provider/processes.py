"""Broken ends of processes, and stores that processes share."""

import atexit
import concurrent.futures
import contextlib
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.tooled import Tooled

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


@mutant(kills="MP-PROC-005", says="Ctrl+C", report="B7", scale=0.2)
class KeepsItsLockAfterAnInterruptedRemoval(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._gate = threading.Lock()

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        self._gate.acquire()
        try:
            super().on_memory_write(action, target, content, old_text)
        except BaseException as error:
            if action != "remove" or isinstance(error, Exception):
                self._gate.release()
            raise
        self._gate.release()

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        with self._gate:
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-PROC-006", says="did not come back", report="C7")
class ReplacesInPlace(Journal):
    """There was room for the new file, so that there is for the same over the old one."""

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        if action == "replace" and self._is_kept:
            assert self._path is not None
            with self._changing(), self._path.open("w", encoding="ascii") as file:
                file.write("".join([json.dumps(entry) + "\n" for entry in self._entries]))


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


@mutant(kills="MP-PROC-006", says="did not come back", report="C7")
class TheOldFileGoesBeforeTheNewOneHasItsName(Journal):
    def _load(self) -> list[dict[str, str]]:
        newest = self._newest()
        return [] if newest is None else list(map(json.loads, newest.read_text().splitlines()))

    def _newest(self) -> Path | None:
        assert self._path is not None
        return max(self._path.parent.glob("journal-*.jsonl"), default=None)

    def _save(self) -> None:
        assert self._path is not None
        old, lines = self._newest(), [json.dumps(entry) + "\n" for entry in self._entries]
        if self._is_kept:
            number = int(old.stem[8:]) + 1 if old else 1
            fresh = self._fresh(self._path)
            fresh.write_text("".join(lines))
            if old is not None:
                old.unlink()
            fresh.rename(self._path.with_name(f"journal-{number:09}.jsonl"))


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


class _WritesItsOwnFile(Journal):
    """Two processes that save at the same time leave one of two files, and that one whole."""

    def _fresh(self, path: Path) -> Path:
        return path.with_suffix(f".{os.getpid()}")


@mutant(kills="MP-PROC-007", says="in the midst of a remove in memory", report="C7")
class RemovesWithoutTheLock(_WritesItsOwnFile):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)
            return
        with self._lock:
            self._entries = self._load()
            self._entries = self._left(target, old_text)
            self._save()


@mutant(kills="MP-PROC-007", says="in the midst of a replace in memory", report="C1")
class ReplacesWithoutTheLock(_WritesItsOwnFile):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "replace":
            super().on_memory_write(action, target, content, old_text)
            return
        with self._lock:
            self._entries = self._load()
            kept = self._left(target, old_text)
            self._entries = [*kept, {"kind": target, "text": content or ""}]
            self._save()


@mutant(kills="MP-PROC-007", says="in the midst of a call of the tool", report="C7")
class KeepsNotesWithoutTheLock(Tooled):
    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if tool_name != "tooled_add":
            return super().handle_tool_call(tool_name, args, **kwargs)
        with self._lock:
            self._entries = self._load()
            self._changing = contextlib.nullcontext  # type: ignore[method-assign]
            try:
                return super().handle_tool_call(tool_name, args, **kwargs)
            finally:
                del self._changing


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


@mutant(kills="MP-PROC-010", says="did not come back", report="C7")
class SavesAtExitWhatItBeganWith(Journal):
    """A safety net from before the hooks wrote by themselves: it puts the old picture back."""

    begun: ClassVar[dict[Path, bytes]] = {}

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        assert self._path is not None
        if not self.begun:
            atexit.register(self._save_all)
        self.begun.setdefault(self._path, self._path.read_bytes() if self._entries else b"")

    @classmethod
    def _save_all(cls) -> None:
        for path, held in cls.begun.items():
            if path.parent.is_dir():
                path.write_bytes(held)


@mutant(kills="MP-PROC-010", says="did not come back", report="D5")
class KeepsItsStoreInItsClass(Journal):
    """Every new instance finds it there, as long as the process runs."""

    stores: ClassVar[dict[Path, list[dict[str, str]]]] = {}

    def _load(self) -> list[dict[str, str]]:
        assert self._path is not None
        return list(self.stores.get(self._path, ()))

    def _save(self) -> None:
        assert self._path is not None
        if self._is_kept:
            self.stores[self._path] = self._entries


@mutant(kills="MP-PROC-010", says="did not come back", report="C7")
class EachInstanceSavesItsPictureAtExit(Journal):
    """The first one saves last, and knows nothing of the sessions after it."""

    def capabilities(self) -> dict[str, Any]:
        # Of two processes that save at their end one loses what the other has stored.
        return {**super().capabilities(), "single_writer": True}

    def shutdown(self) -> None:
        if self._path is not None and self._path.exists():
            atexit.register(self._put_back, self._path, self._path.read_bytes())

    @staticmethod
    def _put_back(path: Path, held: bytes) -> None:
        if path.exists():
            path.write_bytes(held)
