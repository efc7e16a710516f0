"""The rows of `registry.py` that run on an event loop."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from memproto import AsyncMemoryProviderRegistry, MemoryProviderRegistry

Batch = Callable[[int], float]


@contextmanager
def on_loop(turn: Callable[[], Awaitable[object]]) -> Iterator[Batch]:
    """Gives what awaits `turn` a number of times on one loop, and returns the seconds of it."""

    async def turns(calls: int) -> float:
        began = time.perf_counter()
        for _ in range(calls):
            await turn()
        return time.perf_counter() - began

    with asyncio.Runner() as runner:
        yield lambda calls: runner.run(turns(calls))


def loop_hand_off() -> Callable[[], Awaitable[object]]:
    """A token to a waiting thread and back to the loop: the least that a loop can wait for."""
    there: SimpleQueue[Any] = SimpleQueue()

    def echo() -> None:
        while True:
            loop, future = there.get()
            loop.call_soon_threadsafe(future.set_result, 1)

    threading.Thread(target=echo, daemon=True).start()

    async def turn() -> object:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        there.put((loop, future))
        return await future

    return turn


def face(provider: Any) -> tuple[AsyncMemoryProviderRegistry, Callable[[], Awaitable[object]]]:
    """A turn of the asyncio face."""
    host = AsyncMemoryProviderRegistry()

    async def open_host() -> None:
        await host.register(provider)
        await host.initialize_all("benchmark", {"home": "."})

    asyncio.run(open_host())
    return host, lambda: host.enrich_turn("hello", [])


def in_thread(host: MemoryProviderRegistry) -> Callable[[], Awaitable[object]]:
    """A turn of the blocking registry, on a thread of the loop's own pool."""
    return lambda: asyncio.to_thread(host.enrich_turn, "hello", [])
