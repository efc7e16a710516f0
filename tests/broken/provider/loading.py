"""Broken load steps: what importing or building does that nobody asked for."""

import contextlib
import importlib
import logging
import os
import signal
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.plugged import Plugged


@mutant(kills="MP-LOAD-002", says="socket.connect ('127.0.0.1', 9)", report="K3")
class BuildingAsksTheBackend(Journal):
    def __init__(self) -> None:
        super().__init__()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", 9), timeout=0.5).close()


@mutant(kills="MP-LOAD-002", says="'telemetry.example'", report="mem0ai/mem0#3729")
class BuildingPhonesHome(Journal):
    def __init__(self) -> None:
        super().__init__()
        with contextlib.suppress(OSError):
            socket.getaddrinfo("telemetry.example", 443)


@mutant(kills="MP-LOAD-003", says="true --yes my-memory-server", report="K3")
class BuildingRunsAnInstaller(Journal):
    def __init__(self) -> None:
        super().__init__()
        with contextlib.suppress(OSError):
            subprocess.run(["true", "--yes", "my-memory-server"], check=False)


@mutant(kills="MP-LOAD-004", says="created ~/.journal", report="mem0ai/mem0#6812")
class BuildingMakesADirectory(Journal):
    def __init__(self) -> None:
        super().__init__()
        (Path.home() / ".journal").mkdir(exist_ok=True)


@mutant(kills="MP-LOAD-005", says="journal 1.0 is ready", report="MemPalace/mempalace#261")
class BuildingPrints(Journal):
    def __init__(self) -> None:
        super().__init__()
        print("journal 1.0 is ready")  # noqa: T201 - the fault


@mutant(kills="MP-LOAD-006", says="root logger", report="K3")
class BuildingSetsUpLogging(Journal):
    def __init__(self) -> None:
        super().__init__()
        logging.basicConfig(level=logging.DEBUG)


@mutant(kills="MP-LOAD-006", says="handler of signal 10", report="K3")
class BuildingTakesASignal(Journal):
    def __init__(self) -> None:
        super().__init__()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)


@mutant(kills="MP-LOAD-007", says="1 still run: journal-worker", report="K3")
class BuildingStartsAWorker(Journal):
    _worker: threading.Thread | None = None

    def __init__(self) -> None:
        super().__init__()
        if BuildingStartsAWorker._worker is None:
            wait = threading.Event().wait
            worker = threading.Thread(target=wait, name="journal-worker", daemon=True)
            BuildingStartsAWorker._worker = worker
            worker.start()


# -- plugin ----------------------------------------------------------------------------------------

# Broken plugins of the Hermes binding; those whose manifest is broken are packages beside this.


@mutant(kills="MP-LOAD-008", says="has no get_tool_schemas", report="K1")
class StandInLacksAHook(Plugged):
    get_tool_schemas = None


@mutant(kills="MP-LOAD-008", says="has no handle_tool_call, and offers tools", report="K1")
class OffersToolsWithoutAHandler(Plugged):
    handle_tool_call = None

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        parameters = {"type": "object", "properties": {}}
        return [{"name": "berths", "description": "Free berths.", "parameters": parameters}]


@mutant(kills="MP-PLUG-003", says="below the HERMES_HOME of the environment", report="E3")
class VariableBeforeArgument(Plugged):
    @staticmethod
    def _home(hermes_home: str = "", **_: Any) -> str:
        return os.environ["HERMES_HOME"] or hermes_home


@mutant(kills="MP-PLUG-004", says="journal.jsonl below the home of the process", report="E3")
class ThreadWithoutTheContext(Plugged):
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self._host = importlib.import_module("hermes_constants")
        self._is_of_many = self._host.get_hermes_home_override() is not None
        super().initialize(session_id, **kwargs)

    def sync_turn(self, user_content: str, assistant_content: str, **_: Any) -> None:
        # An executor gives its caller the error of the thread: a full disk is told.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self._late, user_content, assistant_content).result()

    def _late(self, user_content: str, assistant_content: str) -> None:
        if self._is_of_many:
            self._journal.initialize("late", {"home": str(self._host.get_hermes_home())})
        if self._stores:
            self._journal.on_turn_complete(user_content, assistant_content)


@mutant(kills="MP-PLUG-003", says="below the HERMES_HOME of the environment", report="E3")
class ItsWriterReadsTheVariable(Plugged):
    def sync_turn(self, user_content: str, assistant_content: str, **_: Any) -> None:
        self._late("on_turn_complete", user_content, assistant_content)

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        old_text = (metadata or {}).get("old_text")
        self._late("on_memory_write", action, target, content, old_text)

    def _late(self, hook: str, *args: Any) -> None:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self._write, hook, *args).result()

    def _write(self, hook: str, *args: Any) -> None:
        self._journal.initialize("late", {"home": os.environ["HERMES_HOME"]})
        if self._stores:
            getattr(self._journal, hook)(*args)
