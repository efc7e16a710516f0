"""One thread that brings items of one kind to the server, and tries again until it has them."""

import abc
import logging
import threading
import time

from .manager import Fault
from .outbox import Item, Outbox

log = logging.getLogger("memproto.honcho")

#: A request that was given up may still be done after the server works again; so long is waited
#: between two looks before the same is sent again.
GRACE_S = 1.0

#: Between two attempts.
FIRST_S, LONGEST_S = 0.5, 30.0

#: Number of items that may fail one after the other before a pass ends: it is the server then.
MOST_FAILURES = 3


class UploadLane(abc.ABC):
    """
    Sends the ready items of its kind whenever it is kicked, and again until the server has them.

    Attributes:
        fault: Why the last attempt failed; None after one that did not.
        sent: Number of items that the server took.

    """

    #: `kind` of the items.
    kind: str

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._state = threading.Condition()
        self._is_kicked = self._was_kicked = False
        self._is_stopped = False
        self._is_waiting = False
        self._attempts = 0
        self._is_busy = False
        self._failures = 0
        self._answers_since: float | None = None
        self.fault: Fault | None = None
        self.sent = 0
        name = f"honcho-{self.kind}s"
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def kick(self) -> None:
        """Send what is ready, without a wait for it."""
        with self._state:
            self._is_kicked = True
            self._state.notify_all()

    def flush(self, until: float) -> bool:
        """Send what is ready and wait; False if some of it is not on the server yet."""
        with self._state:
            # An attempt that is under way may have begun before what is waited for was there.
            wanted = self._attempts + (2 if self._is_busy else 1)
            self._is_kicked = True
            self._state.notify_all()
            while self._attempts < wanted or self._is_busy or self._is_waiting:
                rest_s = until - time.monotonic()
                if rest_s <= 0 or self._is_stopped:
                    break
                self._state.wait(rest_s)
                if not self._is_busy and not self._ready():
                    break
        return not self._ready()

    def wait_idle(self, until: float) -> None:
        """Wait until everything that is ready was sent, or an attempt failed, or one has failed."""
        with self._state:
            before = self._failures
            while self._ready() and self._failures == before and not self._is_stopped:
                # The next attempt is later than whoever waits has time.
                rests = self.fault is not None and not (self._is_busy or self._is_kicked)
                rest_s = until - time.monotonic()
                if rest_s <= 0 or rests or self._is_waiting:
                    return
                self._state.wait(rest_s)

    def stop(self) -> None:
        """Make no further attempt."""
        with self._state:
            self._is_stopped = True
            self._state.notify_all()

    def join(self, until: float) -> None:
        """Wait for the thread."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, until - time.monotonic()))

    def _has_ended(self) -> bool:
        return self._is_stopped

    def _ready(self) -> list[Item]:
        return self._outbox.ready(self.kind)

    # -- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        while self._wait():
            try:
                fault = self._attempt()
            except Exception as error:
                # A thread that ends here would end the sending for good.
                log.warning("honcho: sending failed: %s", type(error).__name__)
                fault = Fault("unsure", f"sending failed ({type(error).__name__})")
            self._noted(fault)

    def _wait(self) -> bool:
        """Wait until there is something to do; False at the end."""
        with self._state:
            while not self._is_stopped:
                if self._is_kicked:
                    break
                pause_s = self._pause_s()
                if pause_s is not None and pause_s <= 0:
                    break
                # A notification comes with a kick, and early returns look again.
                if not self._state.wait(pause_s) and pause_s is not None:
                    break
            self._was_kicked, self._is_kicked = self._is_kicked, False
            self._is_busy = not self._is_stopped
            return self._is_busy

    def _noted(self, fault: Fault | None) -> None:
        if fault is not None and (self.fault is None or self.fault.kind != fault.kind):
            log.warning("honcho: %s; %d items wait", fault, self._outbox.count())
        with self._state:
            self.fault = fault
            self._failures = 0 if fault is None else self._failures + 1
            if fault is not None:
                self._answers_since = None
            self._attempts += 1
            self._is_busy = False
            self._state.notify_all()

    def _finished(self, items: list[Item], state: str = "sent") -> None:
        self._outbox.done(items, state)
        self.sent += len(items)
        with self._state:
            self._state.notify_all()

    @abc.abstractmethod
    def _pause_s(self) -> float | None:
        """Seconds until the next attempt; None if there is nothing to send."""

    @abc.abstractmethod
    def _attempt(self) -> Fault | None:
        """Send what is ready; gives the fault that stopped it."""


def backoff_s(failures: int, fault: Fault | None) -> float:
    """Seconds to wait after so many failures in a row, of which this is the last."""
    if fault is None:
        return 0.0
    if fault.retry_after_s is not None:
        return max(fault.retry_after_s, FIRST_S)
    return float(min(LONGEST_S, FIRST_S * 2 ** min(failures, 8)))
