"""An event loop on a thread of its own, for hosts whose methods are coroutines."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from typing import Any


def is_async(host: Any) -> bool:
    """True if a host has a coroutine function among its public methods."""
    members = (getattr(type(host), name, None) for name in dir(type(host)) if name[:1] != "_")
    return any(inspect.iscoroutinefunction(member) for member in members)


def inside_a_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, called on a thread on which an event loop runs meanwhile."""

    def call(*args: Any) -> Any:
        async def main() -> Any:
            return function(*args)

        return asyncio.run(main())

    return call


class Loop:
    """Runs functions, and awaits what they return, on one event loop; any thread may ask."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="kit-loop", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The result of `function`, awaited if it can be; raises its exception."""

        async def call() -> Any:
            answer = function(*args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def submit(self, act: Callable[[], None]) -> None:
        """Have the loop call `act` when it next comes to it; waits for nothing."""
        self._loop.call_soon_threadsafe(act)

    def stop(self) -> None:
        """End the loop and its thread; what still runs on it is left."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(1.0)
