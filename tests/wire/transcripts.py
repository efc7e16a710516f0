"""
The replayer of the golden transcripts, as 85-wire.md describes it.

`python -m tests.wire.transcripts [--without turns] COMMAND...` plays them all against a server,
which gets the environment of this process; the exit code is 1 if one does not fit.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "spec" / "v1" / "transcripts"
TRANSCRIPTS = sorted(FOLDER.glob("*.jsonl"))

#: Seconds that a replayer waits for a message, and for the end of a process.
ANSWER_S, END_S = 30.0, 15.0


class Differs(AssertionError):
    """A server did something else than the transcript."""


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a transcript, which line feeds end and nothing else."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def needs(path: Path) -> set[str]:
    """The things that a transcript needs of a server."""
    return {line["needs"] for line in lines_of(path) if "needs" in line}


class Replay:
    """One transcript against one command."""

    def __init__(self, command: Sequence[str], home: Path) -> None:
        self._command = list(command)
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._heard: queue.Queue[bytes] = queue.Queue()

    def play(self, path: Path) -> None:
        """Play all lines; raises `Differs` with the number of the line that does not fit."""
        try:
            for number, line in enumerate(lines_of(path), 1):
                (key, value), *more = line.items()
                assert not more, line
                try:
                    getattr(self, f"_{key}")(value)
                except Differs as fault:
                    raise Differs(f"{path.name}:{number}: {json.dumps(line)}: {fault}") from None
        finally:
            self.end()

    def end(self) -> None:
        """Kill the server's process group, if it is still there."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._listener.join()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()

    # -- the keys ----------------------------------------------------------------------------------

    def _note(self, value: str) -> None:
        """Nothing to do."""

    _needs = _note

    def _start(self, _: bool) -> None:
        self.end()
        self._heard = heard = queue.Queue()
        self._process = process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                heard.put(line)
            heard.put(b"")

        self._listener = threading.Thread(target=listen, daemon=True)
        self._listener.start()

    def _write(self, data: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Differs("the server has closed its standard input") from None

    def _send(self, value: dict[str, Any]) -> None:
        text = json.dumps(value, ensure_ascii=False)
        self._write(text.replace("$HOME", str(self._home)).encode("utf-8"))

    def _send_text(self, value: str) -> None:
        self._write(value.encode("utf-8"))

    def _send_hex(self, value: str) -> None:
        self._write(bytes.fromhex(value))

    def _send_long(self, value: int) -> None:
        params = {"user_message": "a" * value, "messages": []}
        message = {"jsonrpc": "2.0", "id": 900, "method": "recall", "params": params}
        self._write(json.dumps(message).encode())

    def _expect(self, value: Any) -> None:
        message = self._message()
        if not fits(value, message):
            raise Differs(f"the server wrote {json.dumps(message)[:400]}")

    def _expect_all(self, values: list[Any]) -> None:
        messages = [self._message() for _ in values]
        for value in values:
            found = next((item for item in messages if fits(value, item)), None)
            if found is None:
                raise Differs(f"nothing fits {json.dumps(value)} of {json.dumps(messages)[:400]}")
            messages.remove(found)

    def _end_input(self, _: bool) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _exit(self, value: int) -> None:
        assert self._process is not None
        try:
            status = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            raise Differs(f"the process has not ended within {END_S:g} s") from None
        if status != value:
            raise Differs(f"the exit status is {status}")
        if rest := self._heard.get(timeout=ANSWER_S):
            raise Differs(f"the server wrote {rest[:200]!r} besides")

    def _message(self) -> Any:
        while True:
            try:
                line = self._heard.get(timeout=ANSWER_S)
            except queue.Empty:
                raise Differs(f"no message within {ANSWER_S:g} s") from None
            if not line:
                raise Differs("the standard output has ended")
            try:
                message = json.loads(line)
            except ValueError:
                raise Differs(f"the server wrote {line[:200]!r}, which is no message") from None
            if message.get("method") != "log":
                return message


def fits(wanted: Any, found: Any) -> bool:
    """True if a value of a message fits the value of a transcript."""
    if isinstance(wanted, dict):
        keys = isinstance(found, dict) and all(key in found for key in wanted)
        return keys and all(fits(value, found[key]) for key, value in wanted.items())
    if not isinstance(wanted, str) or not wanted.startswith("$"):
        return type(wanted) is type(found) and bool(wanted == found)
    if wanted == "$ANY":
        return True
    name, _, text = wanted.partition(":")
    has = isinstance(found, str)
    return has and (name == "$TEXT" or (name == "$HOLDS" and text.casefold() in found.casefold()))


@contextlib.contextmanager
def replaying(command: Sequence[str]) -> Iterator[Replay]:
    """A replay with a home of its own."""
    with tempfile.TemporaryDirectory(prefix="memproto-transcript-") as home:
        yield Replay(command, Path(home))


def main(words: list[str]) -> int:
    """Play each transcript; prints a line for each."""
    lacks = set()
    while words[:1] == ["--without"]:
        lacks.add(words[1])
        words = words[2:]
    failed = 0
    for path in TRANSCRIPTS:
        if needs(path) & lacks:
            sys.stdout.write(f"left out  {path.name}\n")
            continue
        with replaying(words) as replay:
            try:
                replay.play(path)
            except Differs as fault:
                failed += 1
                sys.stdout.write(f"DIFFERS   {fault}\n")
            else:
                sys.stdout.write(f"fits      {path.name}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
