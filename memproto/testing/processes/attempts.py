"""
Connections that a target tried, and whether any of them was answered.

In a network namespace of the target's own the kernel counts each of them: those that began, those
that nobody took, and packets for which there is no route. An attempt of this process to
leave the machine is refused before the kernel hears of it, and its `AuditLog` tells of it.
"""

import contextlib
import dataclasses
from pathlib import Path

from memproto.testing.processes import confinement


@dataclasses.dataclass(frozen=True)
class Counts:
    """
    Counts of a network namespace since it was made.

    Attributes:
        failed: Connections that nobody took, and packets without a route.
        answered: Connections that were taken, or whose end is not known yet.

    """

    failed: int = 0
    answered: int = 0


class Attempts:
    """
    The attempts of one process since this was made.

    Attributes:
        is_confined: True if the network namespace is the target's own, so that its counts tell.
        reached: True once this process began to connect to a host that may answer.
        refused: True once it asked for one outside of the machine, which was refused.

    """

    def __init__(self, pid: int | None = None, *, is_confined: bool) -> None:
        """`pid` is of a process in the namespace; None for this one."""
        self.is_confined = is_confined
        self.reached = self.refused = False
        self._pid = "self" if pid is None else str(pid)
        self._before = self._counts()

    def note(self, *, outside: bool) -> None:
        """Note that the process began to connect; `outside` of the machine it is refused."""
        self.refused |= outside
        self.reached |= not outside

    def are_unanswered(self) -> bool:
        """True if it is seen that the target tried to reach somebody, and that nobody answered."""
        if not self.is_confined:
            # The counts hold the doings of other programs of the machine as well.
            return self.refused and not self.reached
        now = self._counts()
        if now.answered > self._before.answered:
            return False
        has_failed = now.failed > self._before.failed
        # Others in its namespace may have tried too.
        return self.refused or (has_failed and (self.reached or has_offspring(self._pid)))

    def _counts(self) -> Counts:
        if not self.is_confined:
            return Counts()
        with contextlib.suppress(OSError, ValueError, KeyError):
            told = _table(Path(f"/proc/{self._pid}/net/snmp").read_text("ascii"))
            failed = told["Tcp"]["AttemptFails"]
            unrouted = confinement.unrouted(self._pid)
            return Counts(failed + unrouted, told["Tcp"]["ActiveOpens"] - failed)
        return Counts()


def has_offspring(pid: str = "self") -> bool:
    """True if a process, this one unless it is named, started another one that runs."""
    with contextlib.suppress(OSError):
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        return any(file.read_text("ascii").strip() for file in tasks)
    return False


def _table(text: str) -> dict[str, dict[str, int]]:
    """The kernel's counts: each protocol has a line of names and one of numbers."""
    lines = [line.split() for line in text.splitlines()]
    return {
        names[0].rstrip(":"): dict(zip(names[1:], map(int, values[1:]), strict=True))
        for names, values in zip(lines[::2], lines[1::2], strict=True)
    }
