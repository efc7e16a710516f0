"""One daemon thread with a queue of calls."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

_JOIN_S = 1.0
_LOOKS = 100


class _Post:
    """The state that a thread and its owner share; the owner is not reachable from here."""

    __slots__ = ("busy", "jobs")

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.busy = False


def _serve(post: _Post) -> None:
    while (job := post.jobs.get()) is not None:
        post.busy = True
        job()
        # The name would keep the last job until the next one comes, and with it the provider and
        # the registry; their `__del__` is how a registry that nobody holds ends.
        job = None
        post.busy = False


# Guarantees: jobs run one after another, first in, first out; what was put before `stop` runs
#   before the thread ends; an idle thread refers to nothing but its queue; `put` and `stop` do not
#   block and take no lock of this package, so that a finalizer may call them.
# Assumes: a job never raises. The interpreter still starts threads when `start` is called.
#
# The thread holds the post and not the worker. A worker that nobody refers to is collected with its
# lane, and the end that its registry begins puts the jobs behind which the thread ends.
# `SimpleQueue.put` may interrupt itself: a signal handler or a finalizer that runs in the middle of
# a `put` on the same thread may put as well. `queue.Queue` has a lock, and would hang there.
class Worker:
    """A daemon thread that runs the jobs that are put, in order."""

    __slots__ = ("_post", "_thread", "put")

    def __init__(self, name: str) -> None:
        self._post = _Post()
        self.put = self._post.jobs.put
        self._thread = threading.Thread(target=_serve, args=(self._post,), name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; raises RuntimeError if none can be started."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after what was put so far."""
        self.put(None)

    def is_current(self) -> bool:
        """True if the caller runs on this thread."""
        return self._thread is threading.current_thread()

    def is_alive(self) -> bool:
        """True if the thread was started and has not ended."""
        return self._thread.is_alive()

    def join_idle(self) -> None:
        """Wait until a stopped thread has ended, unless it is inside a job."""
        for _ in range(_LOOKS):
            if self._post.busy or not self._thread.is_alive():
                return
            # In steps: `busy` is looked at without a lock, and the thread may be about to begin a
            # job. The next look sees that, and a provider's code is never waited for.
            self.join(_JOIN_S / _LOOKS)

    def join(self, most_s: float = _JOIN_S) -> None:
        """Wait until a stopped thread that runs no provider code any more has ended."""
        # Real time on purpose: only the interpreter's own clean-up is waited for, microseconds,
        # and on a clock that stands still the bound would never come.
        if self._thread.ident is not None and not self.is_current():
            self._thread.join(most_s)
