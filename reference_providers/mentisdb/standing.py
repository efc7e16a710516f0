"""The state of the daemon: what is wrong, since when, and when it is worth asking again."""

import logging
import threading
import time
from datetime import UTC, datetime

from memproto.errors import Unavailable

#: Doubled with each failure in a row.
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0

logger = logging.getLogger("memproto.mentisdb")


class Standing:
    """
    The result of the last request. After one that failed the daemon is let alone for a while.

    Attributes:
        fault: The fault and its remedy, or "".
        since: Since when, as ISO 8601, or "".

    """

    def __init__(self) -> None:
        self.fault = ""
        self.since = ""
        self._lock = threading.Lock()
        self._failures = 0
        self._until = 0.0

    def failed(self, away: Unavailable) -> None:
        """Note that a request was not served; the first one in a row is logged."""
        with self._lock:
            is_first = not self.fault
            self.fault = str(away) or "the daemon does not answer"
            self._failures += 1
            wait_s = min(_FIRST_WAIT_S * 2 ** min(self._failures - 1, 10), _LONGEST_WAIT_S)
            self._until = time.monotonic() + max(wait_s, away.retry_after_s or 0.0)
            if is_first:
                self.since = datetime.now(UTC).isoformat()
        if is_first:
            logger.warning("%s; what is stored meanwhile waits in the home", self.fault)

    def served(self) -> None:
        """Note that a request was served."""
        with self._lock:
            was, self.fault, self.since = self.fault, "", ""
            self._failures, self._until = 0, 0.0
        if was:
            logger.info("the daemon answers again")

    def is_resting(self) -> bool:
        """True if the daemon failed a moment ago, and is not asked."""
        return time.monotonic() < self._until
