"""Servers of the wire that follow a script, for checks of hosts; and what they heard."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import psutil

from memproto.testing.host import scripted_server


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    """
    One thing that a server noted.

    Attributes:
        event: "started", "helper", "heard", "answered", "exits", "terminated" or "input ended".
        at_s: When, on the system's monotonic clock.
        pid: The process.
        more: The things that belong to the event: `variables`, `helper`, `line` and `length`, `id`.

    """

    event: str
    at_s: float
    pid: int
    more: dict[str, Any]


class Program:
    """
    A provider that is a program of the kit's.

    A script says all that it does. `moves` is, by method, a list of moves: one for each request,
    the last one for all further ones. A move may have `answer`, the result; `before`, lines that
    are written ahead of it; `errors`, KiB on the standard error ahead of it; `until`, a file that
    is waited for (`let_go`); `exits`, an exit status in place of an answer; `is_late`, an answer
    that is written ahead of the next one; `is_silent`, no answer; `is_deaf`, nothing is read from
    then on. `stubborn` servers end neither with their input nor by SIGTERM, and a `helper` is a
    program that they start.

    Attributes:
        name: The provider's name.
        command: The program and its arguments.

    """

    def __init__(self, name: str, folder: Path, **script: Any) -> None:
        self.name = name
        self._folder = folder
        written = json.dumps({"name": name, **script})
        (folder / "script.json").write_text(written, encoding="utf-8")
        self.command = (sys.executable, "-I", "-S", scripted_server.__file__, str(folder))

    def let_go(self, name: str) -> None:
        """Let the move go on that waits for the file of that name."""
        (self._folder / name).touch()

    def notes(self, *events: str) -> list[Note]:
        """Its notes so far, or those of some events only, in order."""
        path = self._folder / "notes.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        rows = [json.loads(line) for line in lines[:-1]]
        found = [Note(row.pop("event"), row.pop("at_s"), row.pop("pid"), row) for row in rows]
        return [note for note in found if not events or note.event in events]

    def heard(self, *methods: str) -> list[dict[str, Any]]:
        """The messages that it heard, as far as they are objects; or those of some methods only."""
        found = []
        for line in self.lines():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and (not methods or message.get("method") in methods):
                found.append(message)
        return found

    def lines(self) -> list[bytes]:
        """The lines that it heard; the beginning of a very long one."""
        texts = [note.more["line"] for note in self.notes("heard")]
        return [text.encode("utf-8", "surrogateescape") for text in texts]

    def alive(self) -> list[psutil.Process]:
        """Its processes that still run, and those that it started."""
        notes = self.notes("started", "helper")
        pids = {note.more.get("helper", note.pid) for note in notes}
        return [process for pid in pids if (process := _running(pid, str(self._folder)))]

    def kill(self) -> None:
        """End its processes, if some still run."""
        for process in self.alive():
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue


def _running(pid: int, mark: str) -> psutil.Process | None:
    """The process of that number, if it runs and has the mark among its arguments."""
    try:
        process = psutil.Process(pid)
        is_ours = mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return None
    return process if is_ours else None
