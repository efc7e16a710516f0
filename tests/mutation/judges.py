"""Lanes that judge changes side by side, each in copies and processes of its own."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memproto.testing.outcomes import Outcome
from memproto.testing.processes import vitals
from tests.mutation import verdict_process
from tests.mutation.changes import Change
from tests.mutation.subjects import ROOT, Subject

#: Seconds that a process may take longer than its limit before it is ended from outside.
_GRACE_S = 60.0


@dataclasses.dataclass(frozen=True)
class Verdict:
    """
    The kit's verdict on a change.

    Attributes:
        red: The requirements that failed or warned, with what was seen; `load` if the target
            cannot be loaded at all.
        open: Those that could not be decided, with the reason.
        kit: Those with an error of the kit itself.
        is_late: True if the whole verdict was cut at its limit.
        took_s: The seconds of each check.

    """

    red: dict[str, str] = dataclasses.field(default_factory=dict)
    open: dict[str, str] = dataclasses.field(default_factory=dict)
    kit: dict[str, str] = dataclasses.field(default_factory=dict)
    is_late: bool = False
    took_s: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def is_killed(self) -> bool:
        """True if a requirement is red, or the verdict did not end in time."""
        return bool(self.red) or self.is_late

    @property
    def is_undecided(self) -> bool:
        """True if nothing killed it, and the machine left a requirement inconclusive."""
        left = any(seen.startswith(Outcome.INCONCLUSIVE) for seen in self.open.values())
        return left and not self.is_killed

    @property
    def by(self) -> str:
        """The thing that killed it, or the state of a survivor, in one word."""
        if self.red:
            return next(iter(self.red))
        if self.is_late:
            return "time limit"
        return "kit error" if self.kit else "INCOMPLETE" if self.open else "CONFORMANT"


class Lane:
    """
    Judges one change after the other.

    Assumes:
        One thread at a time. `close` is called in the end.
    """

    def __init__(self, subject: Subject, limit_s: float, root: Path = ROOT) -> None:
        self._subject, self._limit_s, self._root = subject, limit_s, root
        self._place = Path(tempfile.mkdtemp(prefix="mutation-"))
        self._process: subprocess.Popen[str] | None = None
        self._number = 0

    def judge(self, change: Change | None, first: Sequence[str] = ()) -> Verdict:
        """
        The verdict on a change, or on the subject as it is if it is None.

        Blocks until then. `first` are the requirements that are judged before the others. The whole
        of an unchanged subject is judged; a change only to the first that is red.
        """
        self._number += 1
        folder = self._place / f"copy-{self._number}"
        self._subject.lay(folder, self._root)
        if change is not None:
            (folder / self._subject.place(change.source)).write_text(change.after, "utf-8")
        asked = {
            "target": self._subject.target,
            "side": self._subject.side,
            "directory": str(folder),
            "first": [*first],
            "all": change is None,
            "loads": self._loads(change),
        }
        try:
            return self._answer(asked, folder)
        finally:
            if self._subject.is_kit:
                self.end()
            shutil.rmtree(folder, ignore_errors=True)

    def _loads(self, change: Change | None) -> list[str]:
        """
        The modules without which nothing can be judged.

        A changed module of the package is that of the kit as well, which imports it late: there an
        import that fails would be an error of the kit.
        """
        if change is None or not self._subject.is_kit:
            return []
        place = self._subject.place(change.source).with_suffix("")
        return [".".join(part for part in place.parts if part != "__init__")]

    def _answer(self, asked: dict[str, Any], folder: Path) -> Verdict:
        process = self._started(folder)
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(self._limit_s + _GRACE_S, self.end)
        timer.start()
        line = ""
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        timer.cancel()
        is_cut = timer.finished.is_set() and self._process is None
        if line.endswith("\n"):
            return Verdict(**json.loads(line))
        self.end()
        if is_cut:
            return Verdict(is_late=True)
        if self._subject.is_kit:
            # The changed package is that of this process: it does not import, or ends it.
            return Verdict(red={"load": "the judging process ended without an answer"})
        return Verdict(kit={"process": "the judging process ended without an answer"})

    def _started(self, folder: Path) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            environment = {
                **os.environ,
                "TMPDIR": str(self._place),
                "HOME": str(self._place),
                "PYTHONDONTWRITEBYTECODE": "1",
                verdict_process.LIMIT: str(self._limit_s),
            }
            if self._subject.is_kit:
                environment["PYTHONPATH"] = str(folder)
            self._process = subprocess.Popen(
                [sys.executable, "-P", verdict_process.__file__],
                cwd=self._place,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        return self._process

    def end(self) -> None:
        """End the process, and all that it has started below its place. From any thread."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            # A reader has its end of file by now.
            with contextlib.suppress(OSError, ValueError):
                assert pipe is not None
                pipe.close()
        vitals.end_strays(self._place)

    def close(self) -> None:
        """Leave nothing behind."""
        self.end()
        shutil.rmtree(self._place, ignore_errors=True)
