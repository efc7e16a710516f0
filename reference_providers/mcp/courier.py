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
from .link import Link, NotSent, Refused, Unanswered
from .settings import Settings

#: Seconds that a store may take, and that a hook waits for it: longer ones are kept and go on.
_STORE_S, _HOOK_S = 8.0, 10.0

#: Seconds of an attempt in all: less than a claim holds, or another process would begin one.
_ATTEMPT_S = 25.0

#: Times that a write is tried at which the server says that it failed.
_MOST = 8

#: The pause before a write is tried again: the first after no answer, and the longest.
_FIRST_S, _AGAIN_S = 0.5, 5.0

#: Of a long text, what it is looked up by.
_LOOKED_UP_CHARS = 200


class Courier:
    """
    The way of a session's writes to its server.

    Args:
        chosen: The settings of the session.
        link: The connection.
        journal: The file in which writes wait.

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
            if self._journal.add(write_id, places) is None:
                return
            self._waiting[write_id] = told
        self._link.soon(self._wake.set)
        concurrent.futures.wait([told], _HOOK_S)
        with self._lock:
            self._waiting.pop(write_id, None)
        if told.done():
            told.result()

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
                    break
                tried.add(write.number)
                try:
                    await self._attempt(write)
                except NotSent:
                    return self._link.pause_s
                except Unavailable:
                    # A text at which the server dies or fails is not to keep it busy.
                    pause_s: float = _FIRST_S * 2 ** min(write.attempts, 10)
                    return max(self._link.pause_s, min(pause_s, _AGAIN_S))
            # One that still waits may be claimed by a process that has died.
            return _AGAIN_S if self._journal.counts().get("waiting") else None

    async def _attempt(self, write: Write) -> None:
        try:
            await self._within(write)
        except Refused as refusal:
            self._set_aside(write, refusal)
        except BaseException as fault:
            self._journal.release(write, was_sent=not isinstance(fault, NotSent))
            self._tell_all()
            raise
        else:
            self._journal.stored(write)
            self._tell(write.id)

    async def _within(self, write: Write) -> None:
        try:
            async with asyncio.timeout(_ATTEMPT_S):
                await self._delivered(write)
        except TimeoutError:
            raise Unanswered(f"{self._link.place} took longer than {_ATTEMPT_S:g} s") from None

    async def _delivered(self, write: Write) -> None:
        if write.attempts and await self._is_there(write):
            return
        arguments = self._arguments(write)
        answer = await self._link.call(self._chosen.store_tool, arguments, _STORE_S)
        if answer.get("isError"):
            raise Refused(f"{self._link.place} answered that {self._chosen.store_tool} failed")

    def _arguments(self, write: Write) -> dict[str, Any]:
        places = {"user": self._chosen.user, "owner": self._chosen.owner, **write.places}
        filled: dict[str, Any] = templates.filled(self._chosen.store, places)
        return filled

    async def _is_there(self, write: Write) -> bool:
        """True if an earlier attempt was carried out after all."""
        text = str(write.places["text"])
        sought = templates.filled(self._chosen.look_up or "{text}", write.places)
        if not self._chosen.look_up:
            words = results.telling(text) if self._chosen.by_words else []
            sought = words[0] if words else text[:_LOOKED_UP_CHARS]
        answer = await search(self._chosen, self._link, sought, 50)
        if self._chosen.look_up:
            return sought in str(results.shown(answer))
        found = results.texts(answer, self._chosen.found)
        if not self._chosen.found:
            return any(text in one for one in found)
        # One that only holds the text, as "Boat 10" holds "Boat 1", is another.
        sent = set(templates.texts(self._arguments(write), text))
        return any(one.strip() in sent for one in found)

    def _set_aside(self, write: Write, refusal: Refused) -> None:
        """A refusal is the hook's where it waits; one of an accepted write may have passed."""
        with self._lock:
            # The lock is held until the hook is told: one that gives up now is to hear of it.
            told = None if write.attempts else self._waiting.get(write.id)
            if told is not None:
                self._journal.forget(write)
                told.set_exception(refusal)
                return
        if write.attempts >= _MOST:
            self._journal.refused(write)
        else:
            self._journal.release(write, was_sent=True)

    # -- who waits --------------------------------------------------------------------------------

    def _tell(self, write_id: str) -> None:
        with self._lock:
            told = self._waiting.pop(write_id, None)
        if told is not None and not told.done():
            told.set_result(None)

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


#: Seconds that a search may take; recall has 5 s in all.
SEARCH_S = 3.0
