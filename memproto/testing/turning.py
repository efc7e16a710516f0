"""
Telling a provider that a turn begins, which a host does for each turn that it then records.

A provider may tell turns apart by what it was told: without it, the turns of a session look like
one turn that is recorded again and again.
"""


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
    """Where one session is between two turns."""

    def __init__(self, count: TurnCount | None = None, session_key: str = "") -> None:
        self._count = count
        self._session_key = session_key
        self._has_begun = False

    def began(self, number: int) -> None:
        """Note that a turn began by the check's own call."""
        self._has_begun = True
        if self._count is not None:
            self._count.told(self._session_key, number)

    def begins(self) -> int | None:
        """The number of the turn that begins; None where it did, or nobody is told of turns."""
        if self._count is None or self._has_begun:
            return None
        self._has_begun = True
        return self._count.next(self._session_key)

    def ends(self) -> None:
        """Note that the turn is recorded now."""
        self._has_begun = False
