"""
Host duties that Hermes does not give a provider: deadlines, and one write at a time, in order.

Nothing here knows a dialect; threads exist only while a call runs.
"""

import collections
import contextvars
import functools
import logging
import threading
from collections.abc import Callable
from typing import Any

from memproto.deadlines import Limits
from memproto.errors import Unavailable

#: Calls of one provider that run at once at most, with those that nobody waits for any more.
MOST_BESIDE = 32

#: A repeated write waits for so long at first, and twice as long each time up to the second.
_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 8.0

_log = logging.getLogger(__name__)


class Late(Exception):
    """A hook did not return in time, or an earlier call of it has not returned yet."""


class _Job:
    """One call, made on another thread than the one that waits for it."""

    def __init__(self, what: str, function: Callable[[], Any], *, is_switch: bool = False) -> None:
        self.what = what
        self.is_switch = is_switch
        self.is_left = False
        self.done = threading.Event()
        # With the context variables of the host, which may say there whom it serves now.
        function = functools.partial(contextvars.copy_context().run, function)
        self._function: Callable[[], Any] | None = function
        self._answer: Any = None
        self._error: Exception | None = None

    def run(self, *, is_kept: bool = False) -> None:
        """Make the call; if `is_kept`, it can be made again when its backend did not answer."""
        function, self._function, self._error = self._function, None, None
        try:
            self._answer = function() if function is not None else None
        except Exception as error:
            self._error = error
        except BaseException as error:  # a provider's exit is no exit of the host
            self._error = RuntimeError(f"{self.what} raised {type(error).__name__}")
        if is_kept and self.backend_is_away:
            self._function = function
        # The arguments of the call are not kept behind the answer.
        del function
        self.done.set()

    @property
    def backend_is_away(self) -> bool:
        """True if the provider said that nothing was stored, and that it would be later."""
        return isinstance(self._error, Unavailable)

    @property
    def retry_after_s(self) -> float | None:
        """When the provider wants to be asked again, if it said so."""
        return getattr(self._error, "retry_after_s", None)

    def outcome(self) -> Any:
        """Its answer; raises its exception."""
        if self._error is not None:
            raise self._error
        return self._answer

    def tell_error(self) -> None:
        """Say what nobody waited for. No text of the user's is in the line."""
        if self._error is not None:
            _log.warning("%s failed: %s", self.what, type(self._error).__name__)


class Asking:
    """Hooks that answer: each on a thread of its own, under a deadline, none beside itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, _Job] = {}
        self._beside: list[_Job] = []

    def ask(self, what: str, function: Callable[[], Any], within_s: float) -> Any:
        """
        Returns what `function` returns, or raises what it raises.

        Raises:
            Late: It did not return within `within_s`, or the call before it did not return yet.

        """
        with self._lock:
            earlier = self._running.get(what)
            if earlier is not None and not earlier.done.is_set():
                raise Late(f"{what} is still running")
            job = self._running[what] = _Job(what, function)
        return beside(job, within_s)

    def ask_beside(self, what: str, function: Callable[[], Any], within_s: float) -> Any:
        """
        As `ask`, for a hook that may run beside itself, `MOST_BESIDE` times at once.

        Raises:
            Late: It did not return within `within_s`, or so many calls have not returned yet.

        """
        with self._lock:
            self._beside = [job for job in self._beside if not job.done.is_set()]
            if len(self._beside) >= MOST_BESIDE:
                raise Late(f"{len(self._beside)} calls of {what} are still running")
            job = _Job(what, function)
            self._beside.append(job)
        return beside(job, within_s)


def beside(job: _Job, within_s: float) -> Any:
    """Run `job` on a thread of its own; raises `Late` where it is not done in time."""
    threading.Thread(target=job.run, name=f"memproto-{job.what}", daemon=True).start()
    if not job.done.wait(within_s):
        raise Late(f"{job.what} did not return within {within_s:g} s")
    return job.outcome()


class WriteLane:
    """
    Writes, one at a time and in order, on a thread that ends when there are none.

    A caller waits for its write, so that it hears of a failure, but for `patience_s` at most;
    behind a write that is late nobody waits at all. Nobody hears of the failure of a write that
    nobody waited for. So the lane makes that write again while the provider says that its backend
    does not answer, and the writes behind it wait for it; any other failure is logged.
    """

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._is_given_up = False
        self._most = Limits().queued_writes
        self._condition = threading.Condition()
        self._waiting: collections.deque[_Job] = collections.deque()
        self._switches = 0
        self._is_waited_for = False  # in vain, so far
        self._is_working = self._is_late = self._is_closed = False

    def write(self, what: str, function: Callable[[], Any], *, is_switch: bool = False) -> None:
        """
        Queue one write, and wait for it as long as that is short.

        Raises:
            Unavailable: The lane is closed, or too many writes wait.
            Exception: Any exception that the write raised in that time.

        """
        made = self._counted(function) if is_switch else function
        job = _Job(what, made, is_switch=is_switch)
        if self._queued(job, is_switch) or not job.done.wait(self._patience_s):
            with self._condition:
                job.is_left = not job.done.is_set()
                self._is_late |= job.is_left
        if not job.is_left:
            job.outcome()

    def _counted(self, function: Callable[[], Any]) -> Callable[[], Any]:
        def switch() -> None:
            try:
                function()
            finally:
                with self._condition:
                    self._switches -= 1
                    self._condition.notify_all()

        return switch

    def _queued(self, job: _Job, is_switch: bool) -> bool:
        """Queue `job`; gives whether it stands behind one that is late."""
        with self._condition:
            if self._is_closed:
                raise Unavailable("the session has ended")
            if len(self._waiting) >= self._most:
                raise Unavailable(f"{self._most} writes wait already")
            self._switches += is_switch
            self._waiting.append(job)
            if not self._is_working:
                self._is_working = True
                threading.Thread(target=self._work, name="memproto-writes", daemon=True).start()
            return self._is_late

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.run(is_kept=not job.is_switch)
            pause_s = _PAUSE_S
            # `run` sets `done` before `is_left` is read, and `write` reads `done` under the lock
            # before it sets `is_left`: a failure is told to the caller or met here, never both.
            while self._is_left(job) and job.backend_is_away and not job.is_switch:
                if not self._paused(job.retry_after_s or pause_s):
                    break
                job.run(is_kept=True)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            if self._is_left(job):
                job.tell_error()

    def _is_left(self, job: _Job) -> bool:
        with self._condition:
            return job.is_left

    def _paused(self, pause_s: float) -> bool:
        """Wait before a repetition, a short time once the lane closes; False if it is given up."""
        with self._condition:
            was_closed = self._is_closed
            self._condition.wait_for(
                lambda: self._is_given_up or self._is_closed != was_closed,
                min(pause_s, _PAUSE_S) if was_closed else pause_s,
            )
            return not self._is_given_up

    def _next(self) -> _Job | None:
        with self._condition:
            if self._waiting:
                return self._waiting.popleft()
            self._is_working = self._is_late = False
            self._condition.notify_all()
            return None

    def await_switches(self, within_s: float) -> bool:
        """
        True if every switch of session that was queued has been made, in time.

        Once somebody waited in vain, nobody waits until they are made.
        """
        with self._condition:
            rest_s = 0.0 if self._is_waited_for else within_s
            is_made = self._condition.wait_for(lambda: not self._switches, rest_s)
            self._is_waited_for = not is_made
            return is_made

    def close(self, within_s: float) -> None:
        """Take no more writes; what is not made `within_s` is given up, and logged as a number."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
            if self._condition.wait_for(lambda: not self._is_working, within_s):
                return
            lost = len(self._waiting)
            self._waiting.clear()
            self._is_given_up = True
            self._condition.notify_all()
        _log.warning("a write did not end in time; %d behind it are lost", lost)
