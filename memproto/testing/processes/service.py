"""
The service that a provider needs, started by the user's own function in a process of its own.

The process that holds the verdict runs none of the user's code: it waits for a line that says what
the service yielded, and at the end lets go of the service's standard input.
"""

import contextlib
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil

from memproto.errors import InvalidSettings
from memproto.testing import os_names
from memproto.testing.processes import sandbox, vitals
from memproto.testing.settings.settings import Settings

_MODULE = "memproto.testing.processes.service_process"

#: Seconds that it may take to start, and to end by itself.
START_S, END_S = 60.0, 10.0

#: Characters of its output that are shown when it does not start.
_SHOWN_OUTPUT = 600

_FIX = 'have it yield {"env": {...}, "config": {...}} from a context manager'


class Service:
    """
    The service of one target.

    Guarantees:
        After `stop` neither its process nor one that it started runs.
    Assumes:
        `root` is a directory that the caller removes.
    """

    def __init__(self, settings: Settings, directory: Path, root: Path, scale: float) -> None:
        self._settings = settings
        self._directory = directory
        self._root = root / "service"
        self._scale = scale
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> dict[str, Any]:
        """
        Start it and wait until it yields; gives its env, its config and its pid.

        Raises:
            InvalidSettings: It raised, ended, yielded something else, or not within 60 s.

        """
        read, write = os.pipe()
        try:
            self._process = self._open(write)
        finally:
            os.close(write)
        try:
            said = self._said(read)
        finally:
            os.close(read)
        if "fault" in said:
            self.stop()
            raise self._settings.fault("service", f"{said['fault']}{self._printed()}", _FIX)
        return {**said, "env": os_names.heard(said["env"]), "pid": self._process.pid}

    def _open(self, write: int) -> subprocess.Popen[bytes]:
        environment = sandbox.environment(self._root, self._settings.env)
        # Not from a checkout beside which the operator's file lies: it runs outside of the sandbox.
        folder = Path(self._settings.folder) if self._settings.folder else self._directory
        path = os_names.told(sandbox.search_path(folder))
        named = [self._settings.service, self._settings.place("service"), path]
        words = ["-P", "-m", _MODULE, str(write), json.dumps(named)]
        with self._output.open("wb") as output:
            return subprocess.Popen(
                [sandbox.interpreter(), *words],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=sandbox.places(self._root)["work"],
                pass_fds=[write],
                start_new_session=True,
            )

    @property
    def _output(self) -> Path:
        return self._root / "output.txt"

    def _said(self, read: int) -> dict[str, Any]:
        """The value that it yielded, or the fault of a line that does not come, or not whole."""
        budget_s = START_S * self._scale
        end = time.monotonic() + budget_s
        data = b""
        while not data.endswith(b"\n"):
            if not select.select([read], [], [], max(0.0, end - time.monotonic()))[0]:
                return {"fault": f"{self._settings.service} yielded nothing within {budget_s:g} s"}
            piece = os.read(read, 1 << 16)
            if not piece:
                return {"fault": f"{self._settings.service} ended its process"}
            data += piece
        said: dict[str, Any] = json.loads(data)
        return said

    def _printed(self) -> str:
        text = self._output.read_text("utf-8", "replace").strip()[-_SHOWN_OUTPUT:]
        return f"\n  it printed: {text}" if text else ""

    def stop(self) -> None:
        """Let it leave by itself; what still runs then is killed, with its offspring."""
        process, self._process = self._process, None
        if process is None:
            return
        offspring = _offspring(process)
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S * self._scale)
        if process.poll() is None:
            vitals.end_group(psutil.Process(process.pid))
        process.wait()
        for started in offspring:
            with contextlib.suppress(psutil.Error):
                started.kill()


def _offspring(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(process.pid).children(recursive=True)
    return []


def assert_runs(service: dict[str, Any], settings: Settings) -> None:
    """
    See that the process of a service still runs, in whichever process it was started.

    Raises:
        InvalidSettings: It has ended.

    """
    if not service:
        return
    with contextlib.suppress(psutil.Error):
        if psutil.Process(service["pid"]).status() != psutil.STATUS_ZOMBIE:
            return
    fault = f"{settings.service} ended its process in the middle of the run"
    raise InvalidSettings(settings.place("service"), fault, "have it run until it is left")
