"""Stores of Strands Agents by their shape: a good one, and others with one fault each."""

import asyncio
import dataclasses
import hashlib
from typing import Any

from memproto.bindings import PerUser
from tests.good.journal import Journal


@dataclasses.dataclass
class Entry:
    """An entry as the framework's `MemoryEntry`."""

    content: Any
    metadata: dict[str, Any] | None = None


class Ledger:
    """Keeps turns and entries in a folder where it stands; a journal keeps them for it."""

    description = None
    max_search_results = None
    writable = True
    extraction = True

    def __init__(self, name: str = "ledger", folder: str = "ledger") -> None:
        self.name = name
        self._folder = folder
        self._journal = Journal()

    async def initialize(self) -> None:
        self._journal.initialize("any", {"home": self._folder})

    async def search(self, query: str, options: dict[str, Any] | None = None) -> list[Entry]:
        found = (self._journal.enrich_turn(query, []) or "").splitlines()
        return [Entry(text) for text in found[: (options or {})["max_search_results"]]]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> None:
        self._journal.on_memory_write("add", "memory", content)

    async def add_messages(self, messages: list[dict[str, Any]], context: Any = None) -> None:
        assert len(context.sequence_numbers) == len(messages)
        self._journal.on_turn_complete(*map(text_of, messages))


def text_of(message: dict[str, Any]) -> str:
    return "".join(block["text"] for block in message["content"])


# -- with one fault --------------------------------------------------------------------------------


class LosesTheLast(Ledger):
    """Writes a turn when the next one comes."""

    waiting: list[dict[str, Any]] | None = None

    async def add_messages(self, messages: list[dict[str, Any]], context: Any = None) -> None:
        if self.waiting is not None:
            await super().add_messages(self.waiting, context)
        self.waiting = messages


class DropsEntries(Ledger):
    """Takes an entry and keeps nothing of it, which a full index looks like."""

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> None:
        if len(content) < 200:
            await super().add(content, metadata)


class Hangs(Ledger):
    """Waits for a backend that never answers, without a deadline."""

    async def search(self, query: str, options: dict[str, Any] | None = None) -> list[Entry]:
        await asyncio.Event().wait()
        return []


class SearchesBytes(Ledger):
    """Gives what it read from the disk."""

    async def search(self, query: str, options: dict[str, Any] | None = None) -> list[Entry]:
        found = await super().search(query, options)
        return [Entry(b"known: "), *(Entry(entry.content.encode()) for entry in found)]


class AddsAscii(Ledger):
    """Raises for what an encoder of its own does not take."""

    async def add_messages(self, messages: list[dict[str, Any]], context: Any = None) -> None:
        text_of(messages[0]).encode("ascii")
        await super().add_messages(messages, context)


class RefusesBlank(Ledger):
    """Takes no empty entry, as it may."""

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> None:
        if not content.strip():
            raise ValueError("content must not be empty")
        await super().add(content, metadata)


class Needs(Ledger):
    """Finds when an agent begins that its key is missing."""

    async def initialize(self) -> None:
        raise ValueError("LEDGER_KEY is not set")


class NotWritable(Ledger):
    """Somebody else fills it."""

    writable = False


class Unwired(Ledger):
    """Its turns come by no route, since extraction is off."""

    extraction = False


# -- one for each user -----------------------------------------------------------------------------


def apart() -> PerUser:
    """Each user has a folder, whose name is a hash of the id."""
    return PerUser(lambda user: Ledger(folder=f"of-{_hash(user or '')}"))


def near() -> PerUser:
    """Each user has a folder, but for the letters that a file's name had better not have."""
    return PerUser(lambda user: Ledger(folder="of-" + "".join(filter(str.isalnum, user or ""))))


def together() -> PerUser:
    """Every user has the same folder."""
    return PerUser(lambda user: Ledger())


def _hash(user: str) -> str:
    return hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()
