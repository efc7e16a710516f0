"""
Providers whose hooks are coroutines, as `MemoryProvider`.

Each adapter has one event loop on one daemon thread, from the first coroutine to `shutdown`, so
that what a provider binds to its loop (clients, locks, tasks) stays on it.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import inspect
import math
import threading
import weakref
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any

from memproto.adapters.coroutines import EXTENSIONS, is_async
from memproto.deadlines import Deadlines
from memproto.errors import Unavailable
from memproto.operations import CORE_HOOKS
from memproto.types import Capabilities, Message

__all__ = ["AsyncAdapter", "from_async", "is_async"]

#: Seconds that cancelled work gets to clean up at the end, before the loop is closed under it.
CANCEL_BUDGET_S = 1.0

#: The provider's own `shutdown` is cut only at this multiple of the host's budget: the host has
#: long given it up by then, and a judge has seen that it is late; only the threads are freed.
SHUTDOWN_PATIENCE = 2.0

_Key = tuple[str | int, ...]


def from_async(provider: Any) -> "AsyncAdapter":
    """
    Returns `provider`, whose hooks are coroutines, as a `MemoryProvider`.

    A hook blocks its caller until the coroutine is done, and has no deadline of its own. A hook
    that is not a coroutine is called directly, on the caller's thread.
    """
    return AsyncAdapter(provider)


class AsyncAdapter:
    """
    An `AsyncMemoryProvider` behind blocking hooks; safe from any thread but its loop's own.

    Errors come through unchanged. `Unavailable` is raised where a coroutine was cancelled, and
    for a coroutine hook after `shutdown`. Has those extension hooks that the provider has.
    """

    def __init__(self, provider: Any) -> None:
        self._bridge = _Bridge(provider)
        # Neither the bridge nor its thread refers back: an adapter that was dropped without
        # `shutdown` is collected, and its loop ends with it.
        weakref.finalize(self, self._bridge.abandon).atexit = False
        for hook in EXTENSIONS:
            if hook not in CORE_HOOKS and callable(getattr(provider, hook, None)):
                vars(self)[hook] = functools.partial(_call_extension, self, hook)

    def __repr__(self) -> str:
        return f"from_async({self.wrapped!r})"

    @property
    def wrapped(self) -> Any:
        """The provider itself."""
        return self._bridge.provider

    @property
    def name(self) -> str:
        """The provider's own name, unchanged."""
        name: str = self.wrapped.name
        return name

    def is_available(self) -> bool:
        """Returns the provider's own answer, unchanged."""
        answer: bool = self._bridge.call("is_available")
        return answer

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Opens the session on the loop, which starts here at the latest."""
        self._bridge.reopen(config)
        self._bridge.call("initialize", session_key, config)

    def shutdown(self) -> None:
        """
        Runs the provider's `shutdown`, then cancels what still runs, and ends loop and thread.

        Once: a second call waits for the first, and does nothing. Before `initialize` too. The
        callers of hooks that never returned get `Unavailable`. Returns within three times
        `CANCEL_BUDGET_S` after the provider's part.

        Raises:
            TimeoutError: The provider's part took `SHUTDOWN_PATIENCE` times the host's budget
                and was cancelled; or code that never yields holds the loop, which then ends
                when that code does.

        """
        self._bridge.close()

    def capabilities(self) -> Capabilities:
        """Returns the provider's own declaration, unchanged."""
        declared: Capabilities = self._bridge.call("capabilities")
        return declared

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """Recalls on the loop."""
        recalled: str | None = self._bridge.call("enrich_turn", user_message, messages)
        return recalled

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
    ) -> None:
        """Mirrors the write on the loop."""
        self._bridge.call("on_memory_write", action, target, content, old_text)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Records the turn on the loop."""
        self._bridge.call("on_turn_complete", user_message, assistant_response)

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Hands over the messages on the loop."""
        self._bridge.call("on_compress", messages, compression_count)

    def cancel_call(self, hook: str, *args: Any) -> None:
        """
        Cancels the coroutine of the call of `hook` that was made with these very objects.

        Returns at once. The caller of the hook is freed when the coroutine has ended, and not
        before, whatever it does about its cancellation.
        """
        self._bridge.cancel(hook, args)


def _call_extension(adapter: AsyncAdapter, hook: str, *args: Any, **kwargs: Any) -> Any:
    # Holds the adapter for as long as the hook is held, or its loop would end under the call.
    return adapter._bridge.call(hook, *args, **kwargs)  # noqa: SLF001 - one module, one thing


class _Bridge:
    """The provider and its loop thread, which exists between the first coroutine and `close`."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self._shutdown_s = Deadlines().shutdown_s
        self._lock = threading.Lock()
        self._closing = threading.Lock()
        self._loop: _LoopThread | None = None
        self._closed = False

    def call(self, hook: str, *args: Any, **kwargs: Any) -> Any:
        """Calls `hook`; what it returns is awaited on the loop where it can be awaited."""
        return self._finish(getattr(self.provider, hook)(*args, **kwargs), None, _key(hook, args))

    def cancel(self, hook: str, args: tuple[Any, ...]) -> None:
        """Cancels a coroutine that runs; there may be none."""
        loop = self._loop
        if loop is not None:
            loop.cancel(_key(hook, args))

    def reopen(self, config: Mapping[str, Any]) -> None:
        """Allows coroutines again after a `close`, and reads the host's budget."""
        deadlines = config.get("deadlines")
        budget_s = deadlines.get("shutdown_s") if isinstance(deadlines, Mapping) else None
        with self._closing, self._lock:
            self._closed = False
            if isinstance(budget_s, int | float) and 0 < budget_s < math.inf:
                self._shutdown_s = budget_s

    def close(self) -> None:
        """Runs the provider's `shutdown` once, and ends the loop whatever comes of it."""
        with self._closing:
            if self._closed:
                return
            try:
                limit_s = self._shutdown_s * SHUTDOWN_PATIENCE
                self._finish(self.provider.shutdown(), limit_s)
            finally:
                self._end_loop()

    def abandon(self) -> None:
        """Lets the loop end by itself; waits for nothing."""
        with self._lock:
            self._closed = True
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.stop()

    def _finish(self, result: Any, limit_s: float | None, key: _Key = ()) -> Any:
        if not inspect.isawaitable(result):
            return result
        try:
            loop = self._running_loop()
        except BaseException:
            _discard(result)
            raise
        return loop.run(result, limit_s, key)

    def _running_loop(self) -> "_LoopThread":
        with self._lock:
            if self._closed:
                raise Unavailable("the event loop of this provider ended with `shutdown`")
            # A thread does not survive a fork: the child gets a loop of its own.
            if self._loop is None or not self._loop.thread.is_alive():
                self._loop = _LoopThread()
            return self._loop

    def _end_loop(self) -> None:
        loop = self._loop
        self.abandon()
        if loop is None:
            return
        loop.thread.join(3 * CANCEL_BUDGET_S)
        if loop.thread.is_alive():
            raise TimeoutError(
                "work that does not yield holds the event loop's thread after `shutdown`"
            )


class _LoopThread:
    """An event loop on a daemon thread, which closes the loop itself as its last act."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # Its own, so that its threads can be waited for: closing a loop leaves the default one's.
        self._executor = concurrent.futures.ThreadPoolExecutor(thread_name_prefix="memproto-aio")
        self._loop.set_default_executor(self._executor)
        self._lock = threading.Lock()
        self._calls: set[concurrent.futures.Future[Any]] = set()
        self._tasks: dict[_Key, asyncio.Task[Any]] = {}
        self._stopping = False
        self._halted = False
        self.thread = threading.Thread(target=self._serve, name="memproto-aio", daemon=True)
        self.thread.start()

    def run(self, awaitable: Awaitable[Any], limit_s: float | None, key: _Key) -> Any:
        """Blocks until `awaitable` is done on the loop; after `limit_s` it is cancelled."""
        call = self._submit(self._awaited(awaitable, key), awaitable)
        try:
            return call.result(limit_s)
        except concurrent.futures.CancelledError:
            raise Unavailable("the coroutine was cancelled") from None
        except TimeoutError:
            if call.done():
                raise  # the provider's own
            raise TimeoutError(f"not done after {limit_s} s, and cancelled") from None
        finally:
            call.cancel()  # of no effect once it is done; else the caller was interrupted

    def stop(self) -> None:
        """Frees every caller, cancels every task, and lets the thread end. Waits for nothing."""
        with self._lock:
            if self._stopping:
                return
            self._stopping = True
        # First: a task may swallow its cancellation, and its caller must go free all the same.
        for call in tuple(self._calls):
            call.cancel()
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._halt)

    def cancel(self, key: _Key) -> None:
        """Asks the task of a call to end; its caller waits until it does."""
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            # Once around the loop first: there a call begins that was handed over before.
            self._loop.call_soon_threadsafe(self._loop.call_soon, self._cancel_task, key)

    def _cancel_task(self, key: _Key) -> None:
        task = self._tasks.get(key)
        if task is not None:
            task.cancel()

    async def _awaited(self, awaitable: Awaitable[Any], key: _Key) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._tasks[key] = task
        try:
            return await awaitable
        finally:
            self._tasks.pop(key, None)

    def _submit(
        self, work: Coroutine[Any, Any, Any], awaitable: Awaitable[Any]
    ) -> "concurrent.futures.Future[Any]":
        with self._lock:
            if self._stopping or threading.current_thread() is self.thread:
                _discard(work)
                _discard(awaitable)
                if self._stopping:
                    raise Unavailable("the event loop of this provider ended with `shutdown`")
                raise RuntimeError("a blocking hook was called on its own event loop")
            call = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    def _halt(self) -> None:
        self._halted = True
        self._loop.stop()

    def _serve(self) -> None:
        try:
            # Until the loop itself has taken the stop, which is then behind all that was submitted.
            while not self._halted:
                # asyncio lets an exit in a task end the loop, under everyone else, and before the
                # task's own caller has heard of it.
                with contextlib.suppress(KeyboardInterrupt, SystemExit):
                    self._loop.run_forever()
            with contextlib.suppress(Exception, KeyboardInterrupt, SystemExit):
                self._loop.run_until_complete(_cancel_rest())
        finally:
            self._loop.close()
            self._executor.shutdown(wait=True, cancel_futures=True)


async def _cancel_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        if not task.cancelling():  # a second cancellation would break off its clean-up
            task.cancel()
    if rest:
        await asyncio.wait(rest, timeout=CANCEL_BUDGET_S)
    generators = asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.wait_for(generators, CANCEL_BUDGET_S)


def _key(hook: str, args: tuple[Any, ...]) -> _Key:
    """Key that tells calls under way apart: their arguments live as long as they do."""
    return (hook, *map(id, args))


def _discard(awaitable: object) -> None:
    if inspect.iscoroutine(awaitable):
        awaitable.close()
