"""
Plays the lines of an example on servers of the wire: `python -P scripts/wire_lines.py ID ...`.

The lines are those of a transcript (`85-wire.md`) and a few more that only examples need, as the
README of the examples says. The script plays the example on both of its servers and writes where
the broken one departs from the lines, and by what; tests hold that it departs there again.
"""

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[1]
for place in (str(ROOT), str(ROOT / "tests")):
    if place not in sys.path:
        sys.path.append(place)

from memproto import loading  # noqa: E402 - needs the path above
from scripts import example_files  # noqa: E402 - as above
from tests.spec.spec_files import errors_of  # noqa: E402 - as above
from tests.wire.transcripts import Differs, fits  # noqa: E402 - as above

Line = dict[str, Any]

#: Seconds for a message, for lines that the server has to read, and for the end of the process.
_ANSWER_S, _READ_S, _END_S = 20.0, 5.0, 15.0

#: Seconds that a process which was left may take to end.
_LEFT_S = 2.0


@dataclasses.dataclass(frozen=True)
class Departure:
    """The line, from 0, that a server does not fit, and the thing that it did in its place."""

    line: int
    observed: str


def play(lines: list[Line], target: str) -> Departure | None:
    """Play lines on a server of its own; gives the place where it departs from them."""
    provider = loading.load(target).build()
    with tempfile.TemporaryDirectory(prefix="memproto-example-") as home:
        server = _Server(provider, Path(home))
        with contextlib.closing(server):
            for number, line in enumerate(lines):
                try:
                    server.take(line)
                except Differs as fault:
                    return Departure(number, str(fault))
    return None


class _Server:
    """A process of the server; its output is read only while a message is waited for."""

    def __init__(self, provider: Any, home: Path) -> None:
        self._provider = provider
        self._home = home
        self._processes: list[subprocess.Popen[bytes]] = []
        self._family: list[psutil.Process] = []
        self._rest = b""

    @property
    def _process(self) -> subprocess.Popen[bytes]:
        return self._processes[-1]

    def take(self, line: Line) -> None:
        """Do what one line says; raises `Differs` if the server does something else."""
        within_s = line.get("within_s", _ANSWER_S)
        for key, value in line.items():
            match key:
                case "start":
                    self._start(value)
                case "send":
                    for _ in range(line.get("times", 1)):
                        self._send(value)
                case "send_text":
                    self._write(value.encode() + b"\n")
                case "send_long":
                    self._write(_long(value))
                case "expect":
                    self._expect(value, within_s)
                case "end_input":
                    self._end_input()
                case "exit":
                    self._ends(value, line.get("within_s", _END_S))
                case "note" | "times" | "within_s":
                    pass
                case _:
                    raise ValueError(f"no player knows the line {line}")

    def close(self) -> None:
        """End every process, with what it started."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    # -- lines -------------------------------------------------------------------------------------

    def _start(self, how: bool | str) -> None:
        read, write = os.pipe()
        is_mute = how == "without errors"
        os.close(read)
        try:
            process = subprocess.Popen(
                self._provider.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=write if is_mute else subprocess.DEVNULL,
                cwd=self._provider.directory,
                env=self._provider.environment,
                start_new_session=True,
                bufsize=0,
            )
        finally:
            os.close(write)
        self._processes.append(process)
        self._rest = b""
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)

    def _send(self, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False).replace("$HOME", str(self._home))
        self._write(text.encode() + b"\n")

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        rest = memoryview(data)
        try:
            while rest:
                if not select.select([], [descriptor], [], _READ_S)[1]:
                    raise Differs("the server does not read what it is sent")
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(descriptor, rest) :]
        except OSError:
            raise Differs("the server has closed its standard input") from None

    def _expect(self, value: Any, within_s: float) -> None:
        message = self._message(within_s)
        if not fits(value, message):
            raise Differs(f"the server wrote {json.dumps(message)[:300]}")

    def _message(self, within_s: float) -> Any:
        for line in self._lines(within_s):
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict):
                raise Differs(f"the server wrote {line[:200]!r}, which is no message")
            if faults := errors_of("wire-message", message):
                raise Differs(f"the server wrote {line[:200]!r}, which misses the schema {faults}")
            if message.get("method") != "log":
                return message
        raise Differs("the server has closed its standard output")

    def _lines(self, within_s: float) -> Iterator[bytes]:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        end = time.monotonic() + within_s
        while True:
            while b"\n" in self._rest:
                line, _, self._rest = self._rest.partition(b"\n")
                yield line
            left_s = max(0.0, end - time.monotonic())
            if not select.select([descriptor], [], [], left_s)[0]:
                raise Differs(f"the server wrote no message within {within_s:g} s")
            part = os.read(descriptor, 1 << 18)
            if not part:
                return
            self._rest += part

    def _end_input(self) -> None:
        first = psutil.Process(self._process.pid)
        with contextlib.suppress(psutil.Error):
            self._family = [first, *first.children(recursive=True)]
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _ends(self, wanted: int, within_s: float) -> None:
        """The process ends with a status, writes nothing more, and leaves no process behind."""
        try:
            status = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise Differs(f"the process has not ended within {within_s:g} s") from None
        if status != wanted:
            raise Differs(f"the exit status is {status}")
        _, alive = psutil.wait_procs(self._family, timeout=_LEFT_S)
        for one in alive:
            one.kill()
        if alive:
            raise Differs(f"{len(alive)} process that the server started is left")
        assert self._process.stdout is not None
        if rest := self._rest + (self._process.stdout.read() or b""):
            raise Differs(f"the server wrote {rest[:200]!r} besides")


def _long(size: int) -> bytes:
    params = {"user_message": "a" * size, "messages": []}
    message = {"jsonrpc": "2.0", "id": 900, "method": "recall", "params": params}
    return json.dumps(message).encode() + b"\n"


def main(names: list[str]) -> int:
    """Play examples, and write where the broken servers depart; 1 if one shows nothing."""
    is_good = True
    for name in names:
        example = example_files.read(name)
        good = play(example["lines"], example["conforms"]["provider"])
        broken = play(example["lines"], example["violates"]["provider"])
        sys.stdout.write(f"{name}: {good} | {broken}\n")
        if good is not None or broken is None:
            is_good = False
            continue
        example["violates"].update(line=broken.line, observed=broken.observed)
        example_files.write(example)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
