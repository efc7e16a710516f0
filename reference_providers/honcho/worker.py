"""One thread that does the job that was asked for last."""

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("memproto.honcho")


class Worker:
    """
    Runs jobs on a thread of its own; a job that has not begun is replaced by a later one.

    An exception of a job is its own affair: it is logged by its type.
    """

    def __init__(self, name: str) -> None:
        self._state = threading.Condition()
        self._job: Callable[[], None] | None = None
        self._asked = 0
        self._done = 0
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        """True if no further job begins."""
        return self._is_stopped

    def ask(self, job: Callable[[], None]) -> int:
        """Have a job done; gives a number to wait for."""
        with self._state:
            self._job = job
            self._asked += 1
            self._state.notify_all()
            return self._asked

    def wait(self, number: int, until: float) -> bool:
        """Wait until the job of this number, or a later one, is done, or until the moment."""
        with self._state:
            while self._done < number and not self._is_stopped:
                rest_s = until - time.monotonic()
                if rest_s <= 0:
                    return False
                self._state.wait(rest_s)
            return self._done >= number

    def stop(self) -> None:
        """Begin no further job."""
        with self._state:
            self._is_stopped = True
            self._job = None
            self._state.notify_all()

    def join(self, budget_s: float) -> None:
        """Wait for the thread."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, budget_s))

    def _run(self) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._is_stopped or self._job is not None)
                if self._is_stopped:
                    return
                job, self._job, number = self._job, None, self._asked
            try:
                assert job is not None
                job()
            except Exception as error:
                log.debug("honcho: a recall failed: %s", type(error).__name__)
            with self._state:
                self._done = max(self._done, number)
                self._state.notify_all()
