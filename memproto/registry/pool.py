"""Registries of several users, a bounded number of them open: the longest unused is ended."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar


class _Ends(Protocol):
    """A registry, or what stands for one."""

    async def shutdown_all(self) -> None: ...


_Key = TypeVar("_Key", bound=Hashable)
_Registry = TypeVar("_Registry", bound=_Ends)


@dataclasses.dataclass
class _Held(Generic[_Registry]):
    registry: _Registry
    uses: int = 0


# One event loop runs all of this, and nothing else between two `await`: a look and the change after
# it need no lock. `_changing` is held over the `await` of an opening and of an end: no key is
# opened twice, and none while its former registry ends.
class RegistryPool(Generic[_Key, _Registry]):
    """
    A registry for each key, opened at its first use. For one event loop.

    Args:
        opened: Gives a new registry for a key, with its session open.
        most: Number of registries that may be open while none of them is in use.

    """

    def __init__(self, opened: Callable[[_Key], Awaitable[_Registry]], most: int) -> None:
        self._opened, self._most = opened, most
        self._changing = asyncio.Lock()
        self._held: dict[_Key, _Held[_Registry]] = {}

    def __len__(self) -> int:
        return len(self._held)

    @contextlib.asynccontextmanager
    async def lent(self, key: _Key) -> AsyncIterator[_Registry]:
        """
        The registry of a key, which is not ended meanwhile.

        Raises whatever `opened` raises, each time.
        """
        # Outside of the lock: a user whose registry is open waits for nobody else's start. Between
        # the look and the count there is no `await`, so nobody ends the registry meanwhile.
        held = self._held.get(key)
        if held is None:
            async with self._changing:
                held = self._held.get(key)
                if held is None:
                    held = self._held[key] = _Held(await self._opened(key))
                held.uses += 1
        else:
            held.uses += 1
        self._held[key] = self._held.pop(key)  # the last one used stands last
        try:
            yield held.registry
        finally:
            held.uses -= 1
            await self._end_unused()

    async def _end_unused(self) -> None:
        """End the longest unused ones above the number; a new one of their key waits for that."""
        if len(self._held) <= self._most:
            return
        async with self._changing:
            # Looked for again after each end: meanwhile another one may be in use again.
            while len(self._held) > self._most and (unused := self._unused()):
                await self._held.pop(unused[0]).registry.shutdown_all()

    def _unused(self) -> list[_Key]:
        return [key for key, held in self._held.items() if not held.uses]

    async def close(self) -> None:
        """End every one; the pool may be used again."""
        async with self._changing:
            while self._held:
                _, held = self._held.popitem()
                await held.registry.shutdown_all()
