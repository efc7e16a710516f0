"""Remnants of checks: processes with threads of a provider in them, watched for a while."""

import dataclasses
import time

from memproto.testing.processes.answer import Answer
from memproto.testing.processes.commands import Nothing
from memproto.testing.processes.process import ChildProcess

#: A process in which a check left threads is watched for so long after that check.
LINGER_S = 3.0

#: So many of them at most; of more, the oldest are watched for less.
_MOST = 4

_ANSWER_S = 20.0


@dataclasses.dataclass
class _Left:
    process: ChildProcess
    check: str
    end: float


class Aftermath:
    """
    The processes that serve no check any more, because one left threads in them.

    Guarantees:
        At most four of them run. After `close` none does.
    """

    def __init__(self, scale: float) -> None:
        self._linger_s = LINGER_S * scale
        self._left: list[_Left] = []
        self._has_lost_one = False

    def add(self, process: ChildProcess, check: str) -> None:
        """Watch a process from now on."""
        self._left.append(_Left(process, check, time.monotonic() + self._linger_s))

    @property
    def checks(self) -> set[str]:
        """The checks behind which a process is watched."""
        return {item.check for item in self._left}

    def collect(self, *, wait: bool = False) -> list[tuple[str, Answer]]:
        """
        The processes that were lost since the last call: the check, and what became of it.

        `wait` blocks until the time of each is over, 3 s at most.
        """
        found: list[tuple[str, Answer]] = []
        newest = self._left[-_MOST:]
        for item in list(self._left):
            if wait:
                watch(item.process, item.end)
            if item.process.alive and time.monotonic() < item.end and item in newest:
                continue
            self._left.remove(item)
            answer = self._last_look(item.process)
            if answer is not None:
                found.append((item.check, answer))
            item.process.kill()
        return found

    def _last_look(self, process: ChildProcess) -> Answer | None:
        if self._has_lost_one and process.alive:
            # It is known already, and a frozen process answers after seconds only.
            return None
        answer = process.ask(Nothing(), _ANSWER_S)
        if answer.fate not in ("died", "froze"):
            return None
        self._has_lost_one = True
        return answer

    def close(self) -> None:
        """End every process."""
        for item in self._left:
            item.process.kill()
        self._left.clear()


def watch(process: ChildProcess, end: float) -> bool:
    """True if a process has ended by itself by `end`, a time of the monotonic clock."""
    while process.alive and time.monotonic() < end:
        time.sleep(0.02)
    return not process.alive
