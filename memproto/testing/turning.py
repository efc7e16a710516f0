"""
Telling a provider that a turn begins, which a host does for each turn that it then records.

A provider may tell turns apart by what it was told: without it, the turns of a session look like
one turn that is recorded again and again.
"""

import threading
from collections.abc import Callable


class TurnCount:
    """The numbers of the turns of each session key: one that is opened again counts on."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}

    def next(self, session_key: str) -> int:
        """The number of the turn that begins now."""
        self.told(session_key, self._latest.get(session_key, 0) + 1)
        return self._latest[session_key]

    def told(self, session_key: str, number: int) -> None:
        """Count on from a number that a check chose."""
        self._latest[session_key] = number


class Turning:
    """
    Where one session is between two turns.

    Turns begin on the thread that opened the session: those that a check records from other
    threads overlap with its recalls, and beside a recall a turn does not begin.
    """

    def __init__(self, count: TurnCount | None = None, session_key: str = "") -> None:
        self._count = count
        self._session_key = session_key
        self._thread = threading.get_ident()
        self._has_begun = False

    def began(self, number: int) -> None:
        """Note that a turn began by the check's own call."""
        self._has_begun = True
        if self._count is not None:
            self._count.told(self._session_key, number)

    def ends(self, begin: Callable[[int], object]) -> None:
        """Have the turn that is recorded now begin first, where nobody said that it began."""
        if self._count is None or threading.get_ident() != self._thread:
            return
        if not self._has_begun:
            begin(self._count.next(self._session_key))
        self._has_begun = False
