"""Brings the writes of the journal to the server, one after the other, and tells who waits."""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Mapping
from typing import Any

from memproto.errors import Misconfigured, Unavailable

from . import results, templates
from .journal import Journal, Write
from .link import Link, NotSent, Refused
from .settings import Settings

#: How long a store may take, and how long a hook waits for it: longer ones are kept and go on.
_STORE_S, _HOOK_S = 8.0, 10.0

#: How often a write is tried that the server does not answer, or fails at, while it lives.
_MOST = 8

#: The pause before a write is tried again that the server failed at.
_AGAIN_S = 5.0

#: Of a long text, what it is looked up by.
_LOOKED_UP_CHARS = 200


class Courier:
    """
    The way of a session's writes to its server.

    Args:
        chosen: What the session was given.
        link: The connection.
        journal: Where writes wait.

    """

    def __init__(self, chosen: Settings, link: Link, journal: Journal) -> None:
        self._chosen, self._link, self._journal = chosen, link, journal
        self._wake, self._turn = asyncio.Event(), asyncio.Lock()
        self._waiting: dict[str, concurrent.futures.Future[None]] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begin to deliver; what an earlier session left comes first."""
        self._link.soon(lambda: self._link.keep(self._run()))

    # -- from any thread --------------------------------------------------------------------------

    def send(self, write_id: str, places: Mapping[str, Any]) -> None:
        """
        Accept a write: it is in the journal when this returns, and with the server if it answered.

        Raises:
            Refused: The server will not have it.
            Unavailable: The journal cannot be written, and nothing was accepted.

        """
        told: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            self._waiting[write_id] = told
        try:
            if self._journal.add(write_id, places) is None:
                return
            self._link.soon(self._wake.set)
            with contextlib.suppress(concurrent.futures.TimeoutError):
                told.result(_HOOK_S)
        finally:
            with self._lock:
                self._waiting.pop(write_id, None)

    def flush(self, budget_s: float) -> None:
        """Wait until nothing waits any more, or the server is away."""
        with contextlib.suppress(Unavailable, Misconfigured):
            if self._journal.counts().get("waiting"):
                self._link.ask(self._deliver, budget_s)

    # -- on the loop ------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            try:
                pause_s = await self._deliver()
            except (Unavailable, Misconfigured):  # Of the journal: the file is held, or broken.
                pause_s = self._link.pause_s
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
            self._wake.clear()

    async def _deliver(self) -> float | None:
        """Deliver what waits; the pause before it makes sense to try again, None for no need."""
        async with self._turn:
            tried: set[int] = set()
            while write := self._journal.claim():
                if write.number in tried:
                    self._journal.release(write, was_sent=False)
                    return _AGAIN_S
                tried.add(write.number)
                try:
                    await self._attempt(write)
                except Unavailable:
                    return self._link.pause_s
            return None

    async def _attempt(self, write: Write) -> None:
        try:
            await self._delivered(write)
        except Refused as refusal:
            self._set_aside(write, refusal)
        except BaseException as fault:
            self._journal.release(write, was_sent=not isinstance(fault, NotSent))
            self._tell_all()
            raise
        else:
            self._journal.stored(write)
            self._tell(write.id)

    async def _delivered(self, write: Write) -> None:
        if write.attempts and await self._is_there(write):
            return
        places = {"user": self._chosen.user, "owner": self._chosen.owner, **write.places}
        arguments = templates.filled(self._chosen.store, places)
        answer = await self._link.call(self._chosen.store_tool, arguments, _STORE_S)
        if answer.get("isError"):
            raise Refused(f"{self._link.place} answered that {self._chosen.store_tool} failed")

    async def _is_there(self, write: Write) -> bool:
        """Whether an earlier attempt was carried out after all."""
        text = str(write.places["text"])
        sought = templates.filled(self._chosen.look_up or "{text}", write.places)
        if not self._chosen.look_up:
            words = results.telling(text) if self._chosen.by_words else []
            sought = words[0] if words else text[:_LOOKED_UP_CHARS]
        answer = await search(self._chosen, self._link, sought, 50)
        if self._chosen.look_up:
            return sought in str(results.shown(answer))
        return any(text in found for found in results.texts(answer, self._chosen.found))

    def _set_aside(self, write: Write, refusal: Refused) -> None:
        """A refusal is the hook's where it waits; one of an accepted write may have passed."""
        with self._lock:
            is_awaited = write.id in self._waiting and not write.attempts
        if is_awaited:
            self._journal.forget(write)
            self._tell(write.id, refusal)
        elif write.attempts >= _MOST:
            self._journal.refused(write)
        else:
            self._journal.release(write, was_sent=True)

    # -- who waits --------------------------------------------------------------------------------

    def _tell(self, write_id: str, error: Exception | None = None) -> None:
        with self._lock:
            told = self._waiting.pop(write_id, None)
        if told is not None and not told.done():
            if error is None:
                told.set_result(None)
            else:
                told.set_exception(error)

    def _tell_all(self) -> None:
        for write_id in list(self._waiting):
            self._tell(write_id)


async def search(chosen: Settings, link: Link, query: str, limit: int) -> dict[str, Any]:
    """
    The answer of the search tool.

    Raises:
        Unavailable: There is none.
        Refused: The server says that it failed.

    """
    places = {"query": query, "limit": limit, "user": chosen.user, "owner": chosen.owner}
    arguments = templates.filled(chosen.search, places)
    answer = await link.call(chosen.search_tool, arguments, SEARCH_S)
    if answer.get("isError"):
        raise Refused(f"{link.place} answered that {chosen.search_tool} failed")
    return answer


#: How long a search may take; recall has 5 s in all.
SEARCH_S = 3.0
