"""One session's view on the server: what it finds, what it takes, and how it fares."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from memproto.errors import Misconfigured, ProviderError, Rejected, Unavailable
from memproto.reference_providers import halves, reading

from . import courier, results, settings, templates
from .courier import Courier
from .journal import FILE, Journal
from .link import Link, Lost
from .settings import Settings

#: Seconds that a recall waits, and a call of a tool that the operator exposed.
_RECALL_S, _CALL_S = 4.0, 45.0

#: Seconds that the end waits for deliveries, and for the connection to close.
_FLUSH_S, _CLOSE_S = 3.0, 9.0

#: Of the time to open: a server that is started takes its own, and the SDK is imported first.
_IMPORT_S = 10.0


class Session:
    """
    The objects that `initialize` opened. Every method may be called on any thread.

    Args:
        chosen: The settings of the session.
        key: The session to which what comes belongs.

    """

    def __init__(self, chosen: Settings, key: str) -> None:
        self.chosen, self.key = chosen, key
        self.recalled = 0
        self.link = Link(chosen)
        self._journal = Journal(chosen.home / FILE, chosen.owner)
        self._courier = Courier(chosen, self.link, self._journal)

    def open(self) -> None:
        """
        Connect; a server that is away is used as soon as it is there.

        Raises:
            Misconfigured: The journal is damaged, or the server lacks the tools that were named.

        """
        self.link.start()
        with contextlib.suppress(Unavailable):
            self._journal.open()
        with contextlib.suppress(Unavailable):
            self.link.ask(self.link.connected, self.chosen.start_s + _IMPORT_S)
        if lacks := self.link.lacks():
            raise Misconfigured(lacks)
        self._note_tools()
        self._courier.start()

    def close(self) -> None:
        """Deliver what waits, as far as there is time, and end the connection. Never raises."""
        if not self.link.fault:
            self._courier.flush(_FLUSH_S)
        self.link.close(_CLOSE_S)
        self._journal.close()

    # -- tools of the server ----------------------------------------------------------------------

    def _note_tools(self) -> None:
        """Keep the list for sessions that begin while the server is away."""
        if self.link.tools and self.chosen.expose:
            shown = {name: self.link.tools.get(name) for name in self.chosen.expose}
            with contextlib.suppress(OSError):
                reading.save(shown, self.chosen.home / settings.TOOLS)

    def exposed(self) -> dict[str, dict[str, Any]]:
        """The tools that the operator exposes, as the server lists them or listed them last."""
        there = self.link.tools or {}
        if not there and self.chosen.expose:
            with contextlib.suppress(Misconfigured):
                there = reading.answers(self.chosen.home / settings.TOOLS)
        return {name: there[name] for name in self.chosen.expose if there.get(name)}

    def call(self, name: str, args: Mapping[str, Any]) -> Any:
        """
        The answer of a tool of the server.

        Raises:
            Unavailable: It does not.
            Rejected: It says that it failed.

        """
        arguments = json.loads(halves.joined(json.dumps(dict(args), ensure_ascii=False)))
        answer = self.link.ask(lambda: self.link.call(name, arguments, _CALL_S), _CALL_S + 5)
        if answer.get("isError"):
            raise Rejected(str(results.shown(answer))[:2_000] or f"{name} failed")
        return results.shown(answer)

    # -- recall -----------------------------------------------------------------------------------

    def recall(self, message: str, limit: int) -> list[str]:
        """
        Texts that the server finds for a message, the best first.

        Raises:
            Unavailable: The server does not answer.
            Rejected: It says that the search failed.

        """
        found = self.link.ask(lambda: self._searched(halves.joined(message), limit), _RECALL_S)
        self.recalled = len(found)
        return found

    def waiting(self, message: str) -> list[str]:
        """Accepted texts that fit a message and are not with the server yet."""
        words = results.telling(message)
        with contextlib.suppress(ProviderError):
            return [text for text in self._journal.waiting() if results.fits(text, words)]
        return []

    async def _searched(self, message: str, limit: int) -> list[str]:
        if not self.chosen.by_words:
            return (await self._found(message, limit))[:limit]
        words = results.telling(message)
        several = await asyncio.gather(*(self._found(word, limit) for word in words))
        found = dict.fromkeys(text for one in several for text in one)
        return sorted(found, key=lambda text: -results.fits(text, words))[:limit]

    async def _found(self, query: str, limit: int) -> list[str]:
        try:
            answer = await courier.search(self.chosen, self.link, query, limit)
        except Lost:
            answer = await courier.search(self.chosen, self.link, query, limit)
        return results.texts(answer, self.chosen.found)

    # -- writes -----------------------------------------------------------------------------------

    def keep(self, write_id: str, text: str, source: str, created_at: str = "") -> None:
        """
        Accept a text. It is in the journal when this returns, and with the server if it answered.

        A blank one is passed over.

        Raises:
            Rejected: The server will not have it.
            Unavailable: The journal cannot be written, and nothing was accepted.

        """
        if not text.strip():
            return
        places = {
            "text": halves.joined(text),
            "id": write_id,
            "source": source,
            "session": templates.identifier(self.key),
            "created_at": created_at or datetime.now(UTC).isoformat(),
        }
        self._courier.send(write_id, places)

    # -- how it fares -----------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """As `recall-status.schema.json`; asks nobody."""
        counts: dict[str, int] = {}
        with contextlib.suppress(ProviderError):
            counts = self._journal.counts()
        waiting, lost = counts.get("waiting", 0), counts.get("refused", 0)
        state = {"state": "ok", "recalled": self.recalled, "pending_writes": waiting}
        if self.link.fault:
            state |= {"state": "down", "message": self.link.fault, "since": self.link.since}
        elif waiting or lost:
            fault = f"{waiting} writes are waiting for the server"
            fault = f"the server refused {lost} writes, which are kept in {FILE}" if lost else fault
            state |= {"state": "degraded", "message": fault}
        return state | ({"lost_writes": lost} if lost else {})
