"""Threads that block in the place of an event loop, and tell the loop when they are done."""

import asyncio
import contextlib
import contextvars
import functools
import os
import threading
from collections.abc import Callable
from typing import Any

from memproto.registry.calls.workers import Worker
from memproto.registry.events import type_name

_MOST_IDLE = 4
_STEP_S = 0.001
_STEPS = 1000


def wake(
    loop: asyncio.AbstractEventLoop,
    future: "asyncio.Future[Any]",
    answer: Any = None,
    error: BaseException | None = None,
) -> None:
    """Settle a future from any thread; nothing happens if its loop was closed meanwhile."""
    # The loop may be closed at any moment, also between a look and the call: so there is no look,
    # and the error of a closed loop is the answer. A future belongs to its loop's thread, so it is
    # settled there.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, future, answer, error)


def _settle(future: "asyncio.Future[Any]", answer: Any, error: BaseException | None) -> None:
    if future.done():
        return  # its caller was cancelled, and nobody looks at it
    if error is None:
        future.set_result(answer)
    elif isinstance(error, Exception) and not isinstance(error, StopIteration):
        future.set_exception(error)
    else:
        # An exit would end the loop, and was of another thread. A StopIteration is taken by no
        # future: before Python 3.12 `set_exception` raises, and the caller would wait for ever.
        future.set_exception(RuntimeError(f"{type_name(error)} on a thread of the registry"))


# Guarantees: a function runs on a daemon thread and never on the loop's, unless no thread can be
#   started; if its caller is cancelled it runs on, and nobody sees its result; after `close` no
#   thread outlives its function; a crew that nobody holds leaves no idle thread.
# Assumes: the functions have deadlines of their own.
#
# Threads: `run`, `close` and `ended` on loops, of which there may be several; `_serve` on the
# workers. A worker is in one place at any time: in `_idle`, in `_ending`, or with the one function
# that it runs; one that runs the end itself is in `_at_the_end` as well. It changes its place with
# the lock held.
#
# Why no worker is left behind by `close`: a worker that finishes its function either enters `_idle`
# before `close` takes the list, or sees `_is_closed` with the lock held, and stops itself.
#
# Why `ended` looks at those that run the end: of two callers that wait for it, the one that was
# cancelled has left its worker behind. The other one goes on when its own worker is done, a moment
# before that one is. A worker with any other function may hang, and is not waited for.
class Crew:
    """Threads that wait for work, as many as functions run at once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = os.getpid()
        # Held for a step of a list only, so that a loop may take it. Reentrant, because a signal
        # handler on the same thread may call the registry between two of these steps.
        self._lock = threading.RLock()
        self._idle: list[Worker] = []
        self._ending: list[Worker] = []
        self._at_the_end: list[Worker] = []
        self._is_closed = False

    def __del__(self) -> None:
        for worker in self.__dict__.get("_idle", ()):
            worker.stop()

    async def run(self, function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Any:
        """Returns what `function` returns, or raises what it raises; the loop goes on meanwhile."""
        return await self._run([], function, *args, **keywords)

    async def run_end(self, function: Callable[[], Any]) -> None:
        """As `run`, for the function that is the end; `ended` waits for those that run it."""
        await self._run(self._at_the_end, function)

    async def _run(
        self, among: list[Worker], function: Callable[..., Any], /, *args: Any, **keywords: Any
    ) -> Any:
        """As `run`; the worker is in `among` as long as it runs the function."""
        loop = asyncio.get_running_loop()  # first: where there is none, no thread is taken
        # With the context variables of the task, as `asyncio.to_thread` has it.
        carried = contextvars.copy_context().run
        job = functools.partial(carried, function, *args, **keywords)
        worker = self._ready()
        if worker is None:
            return job()  # at the end of the process, or in a fork of it, there is no thread
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            among.append(worker)
        worker.put(functools.partial(self._serve, worker, among, job, loop, future))
        return await future

    def close(self) -> None:
        """Let the idle threads end now, and each other one after what it runs."""
        if self._is_elsewhere():
            return
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            self._ending += idle
        for worker in idle:
            worker.stop()

    async def ended(self, others: Callable[[], bool]) -> None:
        """
        Wait for the end of the threads that run nothing any more, and until `others` is True.

        For a second at most; a thread that runs the end itself is about to run nothing.
        """
        if self._is_elsewhere():
            return
        for _ in range(_STEPS):
            with self._lock:
                self._drop_ended()
                is_over = not self._ending and not self._at_the_end
            if others() and is_over:
                return
            await asyncio.sleep(_STEP_S)

    def _is_elsewhere(self) -> bool:
        """True if this is a copy in a forked process: a lock may have been held at that moment."""
        return self._process != os.getpid()

    def _ready(self) -> Worker | None:
        if self._is_elsewhere():
            return None
        with self._lock:
            if self._idle:
                return self._idle.pop()
        worker = Worker(self._name)
        try:
            worker.start()
        except RuntimeError:  # the interpreter is at its end, or out of threads
            return None
        return worker

    def _serve(
        self,
        worker: Worker,
        among: list[Worker],
        job: Callable[[], Any],
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[Any]",
    ) -> None:
        answer, error = _outcome(job)
        # Idle before the loop is woken: a caller that goes on at once finds this worker again, and
        # a host with one call at a time needs one thread.
        with self._lock:
            among.remove(worker)
            if self._is_closed or len(self._idle) >= _MOST_IDLE:
                worker.stop()
                self._drop_ended()  # here too: in a long session nobody waits for them
                self._ending.append(worker)
            else:
                self._idle.append(worker)
        wake(loop, future, answer, error)

    def _drop_ended(self) -> None:
        self._ending = [worker for worker in self._ending if worker.is_alive()]


def _outcome(job: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return job(), None
    except BaseException as error:
        return None, error
