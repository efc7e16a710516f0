"""A condition for which one thread waits; it costs a fraction of one that many may wait for."""

import threading


# Why nobody sleeps through a notification: the lock `_bell` is held while there is none. A waiter
# sleeps in its `acquire`; `notify` releases it. It stays released until somebody waits, so that a
# notification which comes between the waiter's look and its sleep ends that sleep at once. One that
# nobody waited for makes the next wait return early, as every condition may.
#
# `notify` looks and then releases. Two threads cannot both see it held and both release it: each
# holds the condition. The waiter takes it without the condition, and only where it is released, so
# that what `notify` saw held is still held.
class OneWaiter(threading.Condition):
    """
    A `threading.Condition` for which at most one thread waits at a time, and holds it once then.

    Any thread may hold it, several times if it likes. A clock of the host may do with it what it
    may do with any condition.

    Attributes:
        lock: Held by whoever holds the condition, and the other way round.

    """

    def __init__(self) -> None:
        # Not the base's own: it makes a lock for each wait, and a queue of them.
        self.lock = self._lock = threading.RLock()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._waiters: tuple[bool, ...] = ()  # the base has a queue of that name

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As that of a lock; one thread may hold it several times."""
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        """As that of a lock."""
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Sleep until somebody notifies, or for `timeout` seconds; True if somebody did."""
        self._waiters = (True,) if self._bell.locked() else ()
        self._lock.release()
        try:
            return self._bell.acquire(timeout=-1 if timeout is None else max(0.0, timeout))
        finally:
            self._lock.acquire()
            self._waiters = ()

    def notify(self, n: int = 1) -> None:
        """Wake the one that waits, or the next that will."""
        self._waiters = ()
        if self._bell.locked():
            self._bell.release()

    def notify_all(self) -> None:
        """Wake the one that waits, or the next that will."""
        self.notify()
