"""Providers that do not end well."""

import queue
import threading
import time
import weakref
from concurrent.futures import Future
from concurrent.futures import thread as pools
from pathlib import Path
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal


@mutant(kills="MP-SHUT-001", says="ValueError", report="A8")
class SecondShutdownRaises(Journal):
    _file: Any = None

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._file = (Path(config["home"]) / "lock").open("w", encoding="ascii")

    def shutdown(self) -> None:
        if self._file is not None:
            self._file.write("done\n")
            self._file.close()


@mutant(kills="MP-SHUT-002", says="two threads at once", report="A8")
class TwoShutdownsMeet(Journal):
    _queue: list[str] | None = None

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._queue = []

    def shutdown(self) -> None:
        if self._queue is not None:
            time.sleep(0.05)  # the last request is on its way
            self._queue.clear()
            self._queue = None


@mutant(kills="MP-SHUT-003", says="before initialize", report="B9")
class ShutdownNeedsInitialize(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._stop = threading.Event()
        super().initialize(session_key, config)

    def shutdown(self) -> None:
        self._stop.set()


@mutant(kills="MP-SHUT-004", says="after a failed initialize", report="B9")
class ShutdownNeedsTheWholeStart(Journal):
    _started = False

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._started = True
        super().initialize(session_key, config)
        self._worker_stop = threading.Event()

    def shutdown(self) -> None:
        if self._started:
            self._worker_stop.set()


@mutant(kills="MP-SHUT-005", says="shutdown had not returned", report="B10", scale=0.2)
class ShutdownRetriesForEver(Journal):
    def shutdown(self) -> None:
        while self._entries:
            time.sleep(1.0)  # the backend does not answer


@mutant(kills="MP-SHUT-006", says="'journal-writer'", report="B6")
class WriterIsNeverStopped(Journal):
    _wake = threading.Event()
    _writer: threading.Thread | None = None  # one for the summaries of all sessions

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        super().on_compress(messages, compression_count)
        if self._writer is None:
            type(self)._writer = threading.Thread(target=self._wake.wait, name="journal-writer")
            self._writer.start()


@mutant(kills="MP-SHUT-006", says="'journal-summary'", report="B6")
class APoolOfDaemonsIsJoinedAtExit(Journal):
    """The pool's threads are daemons, and the module of the pool joins them all the same."""

    _done = threading.Event()
    _worker: threading.Thread | None = None

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        super().on_compress(messages, compression_count)
        if self._worker is None:
            jobs: Any = queue.SimpleQueue()
            jobs.put(pools._WorkItem(Future(), self._done.wait, (), {}))
            told = weakref.ref(self), jobs, None, ()
            type(self)._worker = worker = threading.Thread(
                target=pools._worker, args=told, name="journal-summary", daemon=True
            )
            pools._threads_queues[worker] = jobs
            worker.start()
