"""The time that recall is waited for, of a provider that prepares its answers in advance."""

from collections.abc import Callable
from typing import Any

#: Seconds that an answer is waited for, if nothing is known of how long it takes.
PREWARM_S = 2.0

#: Waits of a check that are whole, although each of them was in vain.
_WHOLE = 3

#: A shortened wait is so many times as long as the longest one that brought something.
_TIMES = 20

#: The shortest wait, in seconds.
_LEAST_S = 0.25

#: The checks of a process leave this for those after them: seconds after which an answer came.
_KEY = "prepared within s"


class Preparation:
    """
    How long one check waits for answers that are prepared.

    A text that is lost, and one of another user, are waited for in vain, often many in one check.
    The first few waits are whole, so that one loss is never told after a short wait. Later ones
    go by the longest that ever brought something, in whatever check of the process; if none did,
    all are whole. Not safe for several threads: a check asks from one.
    """

    def __init__(self, shared: Callable[[], dict[str, Any]] = dict) -> None:
        self._shared = shared
        self._in_vain = 0

    def wait_s(self) -> float:
        """Seconds to wait for the next answer."""
        longest_s: float | None = self._shared().get(_KEY)
        if longest_s is None or self._in_vain < _WHOLE:
            return PREWARM_S
        return min(PREWARM_S, max(_LEAST_S, _TIMES * longest_s))

    def note(self, took_s: float, *, found: bool) -> None:
        """Note that an answer came after so many seconds, or that none came."""
        if not found:
            self._in_vain += 1
            return
        shared = self._shared()
        shared[_KEY] = max(took_s, shared.get(_KEY, 0.0))
