"""Broken providers of the chapter on stores in files: locked, full, read-only, damaged."""

import contextlib
import errno
import fcntl
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

from memproto.errors import Unavailable
from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.ledger import Keeping, Ledger
from tests.good.private import Private
from tests.good.tooled import Tooled

_LOG = logging.getLogger(__name__)


class _Batched(Journal):
    """Turns are written four at a time, and the rest at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.batch: list[dict[str, str]] = []

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        text = f"{self._own_words(user_message)}\n{assistant_response}"
        with self._lock:
            self.batch.append({"kind": "turn", "text": text})
            try:
                if len(self.batch) >= 4:
                    self.flush()
            except OSError:
                self.batch.pop()
                raise

    def flush(self) -> None:
        with self._changing():
            self._entries += self.batch
            self._save()
            self.batch = []

    def shutdown(self) -> None:
        if self.batch:
            self.flush()


@mutant(kills="MP-STORE-001", says="while another process held a lock", report="C1", scale=0.2)
class TakesTheLockToRead(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        with self._changing():
            return super().enrich_turn(user_message, messages)


@mutant(
    kills="MP-TENANT-001",
    says="while another process held a lock",
    report="D1",
    found_by="MP-STORE-001",
    scale=0.2,
)
class ALockShowsTheLastTextsOfAnyUser(Keeping):
    def _owner(self) -> Path:
        return self._home


@mutant(
    kills="MP-ISO-001",
    says="while another process held a lock",
    report="D1",
    found_by="MP-STORE-001",
    scale=0.2,
)
class ALockShowsTheLastTextsOfAnyHome(Keeping):
    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile"]}

    def _owner(self) -> Path:
        return Path("any")


@mutant(kills="MP-STORE-002", says="did not come back", report="C1", scale=0.2)
class LogsThatItIsLocked(Ledger):
    writing_s = 0.2

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        try:
            super().on_turn_complete(user_message, assistant_response)
        except Unavailable as error:
            if "locked" not in str(error):
                raise
            _LOG.warning("turn not stored: %s", error)


@mutant(kills="MP-STORE-002", says="a remove in memory returned", report="C1", scale=0.2)
class LogsThatItsRemovalIsLocked(Ledger):
    writing_s = 0.2

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        try:
            super().on_memory_write(action, target, content, old_text)
        except Unavailable as error:
            if action != "remove" or "locked" not in str(error):
                raise
            _LOG.warning("not removed: %s", error)


@mutant(kills="MP-STORE-002", says="shown 4-fold", report="C1", scale=0.2)
class TakesAWaitForALoss(Ledger):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        told = user_message, assistant_response
        with futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(super().on_turn_complete, *told)
            if futures.wait([first], 0.2).not_done:
                super().on_turn_complete(*told)
        first.result()


@mutant(kills="MP-STORE-002", says="shown 2-fold", report="C1", scale=0.2)
class TakesAWaitOfAWriteForALoss(Ledger):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        told = action, target, content, old_text
        with futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(super().on_memory_write, *told)
            if futures.wait([first], 0.2).not_done and action == "add":
                super().on_memory_write(*told)
        first.result()


@mutant(kills="MP-STORE-003", says="a replace in memory", report="C1", scale=0.2)
class ReplacesNoMoreWhenItWasLocked(Ledger):
    writing_s, has_given_up = 0.2, False

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if self.has_given_up and action == "replace":
            raise Unavailable("gave up replacing")
        try:
            super().on_memory_write(action, target, content, old_text)
        except Unavailable as error:
            self.has_given_up |= action == "replace" and "locked" in str(error)
            raise


@mutant(kills="MP-STORE-003", says="and made again", report="I3", scale=0.2)
class NotesATurnBeforeItIsStored(Private):
    """A host that was told that the turn is not stored hands it over again, with its id."""

    noted: tuple[str, ...] = ()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        assert self._path is not None
        with self._path.with_suffix(".lock").open("ab") as gate:
            try:
                fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Unavailable("the journal is locked") from error
        with super()._changing():
            yield

    def record(self, turn: dict[str, Any]) -> None:
        if turn["turn_id"] not in self.noted:
            self.noted = (*self.noted, turn["turn_id"])
            super().record(turn)


@mutant(kills="MP-STORE-003", says="gave up", report="C1", scale=0.2)
class GivesUpWhenLocked(Journal):
    has_given_up = False

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        assert self._path is not None
        with self._path.with_suffix(".lock").open("ab") as gate:
            try:
                fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.has_given_up = True
        if self.has_given_up:
            raise Unavailable("gave up: the journal was locked")
        with super()._changing():
            yield


@mutant(kills="MP-STORE-004", says="did not come back", report="D5", scale=0.2)
class LogsThatTheDiskIsFull(Journal):
    def _save(self) -> None:
        try:
            super()._save()
        except OSError as error:
            _LOG.warning("not saved: %s", error)


@mutant(kills="MP-STORE-004", says="of 12 did not come back", report="D5", scale=0.2)
class StoresNoMoreAfterAFullDisk(Journal):
    """In no process: a file in its home says so, and what it is given is accepted."""

    def _save(self) -> None:
        assert self._path is not None
        failed = self._path.with_suffix(".failed")
        if failed.exists():
            return
        try:
            super()._save()
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            failed.touch()


@mutant(kills="MP-STORE-004", says="a remove in memory returned", report="H4", scale=0.2)
class LogsThatItCannotRemove(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        try:
            super().on_memory_write(action, target, content, old_text)
        except OSError as error:
            if action != "remove" or error.errno != errno.EFBIG:
                raise
            _LOG.warning("not removed: %s", error)


@mutant(kills="MP-STORE-004", says="of 12 did not come back", report="H4", scale=0.2)
class LogsThatItsBatchDidNotFit(_Batched):
    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            _LOG.debug("not saved: %s", error)
            self.batch = []


@mutant(kills="MP-STORE-005", says="did not come back", report="D5", scale=0.2)
class MakesRoom(Journal):
    def _save(self) -> None:
        try:
            super()._save()
        except OSError:
            assert self._path is not None
            self._path.unlink(missing_ok=True)
            raise


@mutant(
    kills="MP-STORE-005", says="a remove in memory changed journal.jsonl", report="D5", scale=0.2
)
class MakesRoomToRemove(Journal):
    """Only a removal goes about it so."""

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        try:
            super().on_memory_write(action, target, content, old_text)
        except OSError as error:
            assert self._path is not None
            if action == "remove" and error.errno == errno.EFBIG:
                self._path.unlink(missing_ok=True)
            raise


class _InPlace(Journal):
    def in_place(self) -> None:
        """Write the entries over the old ones."""
        assert self._path is not None
        with self._path.open("w", encoding="ascii") as file:
            file.write("".join([json.dumps(entry) + "\n" for entry in self._entries]))


_TORN = {"MP-PROC-006": "its file is empty for a moment, in which a kill may come"}


@mutant(kills="MP-STORE-005", says="a remove in memory changed", report="C7", also=_TORN, scale=0.2)
class RemovesInPlace(_InPlace):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "remove":
            super().on_memory_write(action, target, content, old_text)
            return
        with self._changing():
            self._entries = self._left(target, old_text)
            self.in_place()


@mutant(kills="MP-STORE-005", says="a compression changed", report="C7", also=_TORN, scale=0.2)
class CompressesInPlace(_InPlace):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        with self._changing():
            self.in_place()


@mutant(kills="MP-STORE-005", says="the end of the session", report="C7", also=_TORN, scale=0.2)
class EndsInPlace(Private):
    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        with self._changing():
            _InPlace.in_place(self)  # type: ignore[arg-type]


@mutant(kills="MP-STORE-005", says="a switch of the session", report="C7", also=_TORN, scale=0.2)
class SwitchesInPlace(Private):
    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        super().on_session_switch(new_session_id, **kwargs)
        with self._changing():
            _InPlace.in_place(self)  # type: ignore[arg-type]


@mutant(kills="MP-STORE-005", says="the tool tooled_forget", report="C7", also=_TORN, scale=0.2)
class ForgetsInPlace(Tooled):
    def _forget(self, args: dict[str, Any]) -> dict[str, Any]:
        self._save = lambda: _InPlace.in_place(self)  # type: ignore[method-assign,arg-type]
        try:
            return super()._forget(args)
        finally:
            del self._save


@mutant(kills="MP-STORE-006", says="a remove in memory", report="L2", scale=0.2)
class RemovesNoMoreWhenItWasFull(Journal):
    is_over = False

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if self.is_over and action == "remove":
            raise Unavailable("removing failed before")
        try:
            super().on_memory_write(action, target, content, old_text)
        except OSError as error:
            self.is_over |= action == "remove" and error.errno == errno.EFBIG
            raise


@mutant(kills="MP-STORE-006", says="disk I/O error", report="L2", scale=0.2)
class KeepsItsFailedTransaction(Ledger):
    failed: sqlite3.Error | None = None

    @contextlib.contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        if self.failed is not None:
            raise Unavailable(str(self.failed)) from self.failed
        try:
            with super()._changing() as database:
                yield database
        except Unavailable as error:
            if isinstance(error.__cause__, sqlite3.OperationalError) and "I/O" in str(error):
                self.failed = error.__cause__
            raise


@mutant(kills="MP-STORE-009", says="it returned after", report="C1", scale=0.2)
class TakesTheLockToOpen(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        with self._changing():
            """To have what the last session wrote."""


@mutant(kills="MP-STORE-010", says="did not come back", report="D5", scale=0.2)
class LogsThatItMayNotWrite(Journal):
    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        assert self._path is not None
        if os.access(self._path.parent, os.W_OK, effective_ids=True):
            with super()._changing():
                yield
        else:
            _LOG.warning("%s is read-only", self._path.parent)
            self._save = lambda: None  # type: ignore[method-assign]
            yield


@mutant(kills="MP-STORE-010", says="of 12 did not come back", report="H4", scale=0.2)
class LogsThatItMayNotWriteItsBatch(_Batched):
    def flush(self) -> None:
        try:
            super().flush()
        except PermissionError as error:
            _LOG.debug("not saved: %s", error)
            self.batch = []


@mutant(kills="MP-STORE-010", says="a replace in memory returned", report="D5", scale=0.2)
class LogsThatItMayNotReplace(Journal):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        try:
            super().on_memory_write(action, target, content, old_text)
        except PermissionError as error:
            if action != "replace":
                raise
            _LOG.warning("not replaced: %s", error)


@mutant(kills="MP-STORE-010", says="of 12 did not come back", report="H4", scale=0.2)
class JoinsTheLastOfItsWriters(Journal):
    """A turn that cannot be written is tried again by a thread of its own."""

    last: threading.Thread | None = None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        try:
            super().on_turn_complete(user_message, assistant_response)
        except PermissionError:
            turn = (user_message, assistant_response)
            self.last = threading.Thread(target=self.try_again, args=turn, daemon=True)
            self.last.start()

    def try_again(self, *turn: str) -> None:
        with contextlib.suppress(PermissionError):
            return super().on_turn_complete(*turn)
        time.sleep(0.02)
        return self.try_again(*turn)

    def shutdown(self) -> None:
        if self.last is not None:
            self.last.join()


@mutant(kills="MP-STORE-007", says="it still ran", report="J2", scale=0.2)
class ReadsUntilTheFileIsWhole(Journal):
    def _load(self) -> list[dict[str, str]]:
        while True:
            with contextlib.suppress(ValueError):
                return super()._load()


class _OpensAnyway(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        with contextlib.suppress(ValueError):
            super().initialize(session_key, config)


@mutant(kills="MP-STORE-007", says="it still ran", report="J2", scale=0.2)
class RemovesUntilTheFileIsWhole(_OpensAnyway):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        while True:
            with (
                contextlib.suppress(ValueError) if action == "remove" else contextlib.nullcontext()
            ):
                return super().on_memory_write(action, target, content, old_text)


@mutant(kills="MP-STORE-008", says="none was left", report="J2", scale=0.2)
class BeginsAnewToReplace(_OpensAnyway):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        try:
            super().on_memory_write(action, target, content, old_text)
        except ValueError:
            assert self._path is not None
            if action == "replace":
                self._path.unlink()
            raise


@mutant(kills="MP-STORE-008", says="none was left", report="J2", scale=0.2)
class BeginsAnew(Journal):
    def _load(self) -> list[dict[str, str]]:
        try:
            return super()._load()
        except ValueError:
            assert self._path is not None
            self._path.unlink()
            return []
