"""
Google ADK: a memory provider as its memory service, and a memory service as a memory provider.

Needs the package google-adk, 2.0 or newer: `pip install memproto[adk]`. docs/adk.md says what each
direction loses.
"""

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types

from memproto.adapters.aio import from_async
from memproto.adapters.homes import home_below
from memproto.deadlines import Deadlines
from memproto.errors import Unavailable, WriteRefused
from memproto.provider import AsyncMemoryProvider, MemoryProvider
from memproto.registry.aio import AsyncMemoryProviderRegistry
from memproto.registry.pool import RegistryPool
from memproto.types import SPEC_VERSION, Capabilities, Message

_USER = "user"

#: Number of added turns that are known, so that a session may be added again and again.
_MOST_KNOWN = 100_000


# -- a provider as a memory service ----------------------------------------------------------------


class ProviderMemoryService(BaseMemoryService):  # type: ignore[misc] # Any where ADK is missing
    """
    A memory service of ADK over a memory provider: `Runner(..., memory_service=...)`.

    ADK serves every user of every app with one service, a provider one session of one user; so
    there is an instance for each user of each app, with a home of its own below `home`, opened at
    the first use. For one event loop. `close` ends all of them. A provider that cannot start
    raises `Unavailable`, each time.

    Args:
        factory: Gives a new provider, native or with coroutine hooks; no arguments.
        home: A directory, which is made where it is missing.
        deadlines: Of the registry that drives the providers.
        most_open: Number of instances that stay open; beyond it the longest unused one is shut
            down, and opened again at its next use.

    """

    def __init__(
        self,
        factory: Callable[[], MemoryProvider | AsyncMemoryProvider],
        home: str | Path,
        *,
        deadlines: Deadlines | None = None,
        most_open: int = 256,
    ) -> None:
        self._factory = factory
        self._home = Path(home).absolute()
        self._deadlines = deadlines
        self._pool = RegistryPool(self._opened, most_open)
        self._added: dict[bytes, None] = {}

    async def add_session_to_memory(self, session: Session) -> None:
        """Record the turns of a session that were not recorded yet; returns once that is done."""
        await self._add(session.app_name, session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """As `add_session_to_memory`, for some events; a turn without an answer is left out."""
        await self._add(app_name, user_id, session_id or "", events)

    async def _add(
        self, app_name: str, user_id: str, session_id: str, events: Sequence[Event]
    ) -> None:
        async with self._pool.lent((app_name, user_id)) as registry:
            for turn in _turns(session_id, events):
                if self._is_new(app_name, user_id, turn["turn_id"]):
                    await registry.record(turn)
            await registry.flush()

    def _is_new(self, *key: str) -> bool:
        """True if a turn was not among the last that were added, and is from now on."""
        known = hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).digest()[:16]
        if known in self._added:
            return False
        self._added[known] = None
        if len(self._added) > _MOST_KNOWN:
            del self._added[next(iter(self._added))]
        return True

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Mirror each text as an addition to the target `memory`."""
        async with self._pool.lent((app_name, user_id)) as registry:
            for memory in memories:
                await registry.on_memory_write("add", "memory", _text(memory.content))
            await registry.flush()

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The provider's recall: item by item if it serves `items`, else in one piece."""
        async with self._pool.lent((app_name, user_id)) as registry:
            answers = await registry.recall_items({"query": query})
            if any(answer.outcome != "not_served" for answer in answers):
                items = [item for one in answers for item in (one.document or {}).get("items", [])]
                return SearchMemoryResponse(memories=[_entry(item) for item in items])
            recalled = await registry.enrich_turn(query, [{"role": _USER, "content": query}])
            return SearchMemoryResponse(memories=[_entry({"text": text}) for _, text in recalled])

    async def _opened(self, key: tuple[str, str]) -> AsyncMemoryProviderRegistry:
        app_name, user_id = key
        registry = AsyncMemoryProviderRegistry(deadlines=self._deadlines)
        await registry.register(self._factory())
        home = home_below(self._home, app_name, user_id)
        config = {"platform": "adk", "agent_identity": app_name, "user_id": user_id}
        await registry.initialize_all("adk", {"home": str(home), **config})
        for provider, reason in registry.dropped.items():
            await registry.shutdown_all()
            raise Unavailable(f"the memory provider {provider} did not start: {reason}")
        return registry

    async def close(self) -> None:
        """End every provider; the service may be used again."""
        await self._pool.close()


def _turns(session_id: str, events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """The finished turns among the events, as in recorded-turn.schema.json."""
    whole = [event for event in events if not event.partial and _text(event.content)]
    for invocation, group in itertools.groupby(whole, lambda event: event.invocation_id):
        said = list(group)
        asked = [event for event in said if event.author == _USER]
        answers = [event for event in said if event.author != _USER and event.is_final_response()]
        if asked and answers:
            yield {
                "turn_id": f"{session_id}/{invocation}",
                "session_id": session_id or "adk",
                "started_at": _iso(asked[0].timestamp),
                "ended_at": _iso(answers[-1].timestamp),
                "user_message": "\n".join(_text(event.content) for event in asked),
                "assistant_response": "\n".join(_text(event.content) for event in answers),
            }


def _text(content: types.Content | None) -> str:
    parts = (content.parts or []) if content else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _iso(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat()


def _entry(item: Mapping[str, Any]) -> MemoryEntry:
    content = types.Content(role=_USER, parts=[types.Part(text=item["text"])])
    return MemoryEntry(content=content, id=item.get("id"), timestamp=item.get("created_at"))


# -- a memory service as a provider ----------------------------------------------------------------


def as_provider(
    service: BaseMemoryService, *, app_name: str, name: str = "adk", **declares: Any
) -> MemoryProvider:
    """
    Returns a memory service of ADK as a native provider.

    The service stays the caller's: `shutdown` does not close it.

    Args:
        service: Any one; a method that it does not implement is refused or done without.
        app_name: The app whose memory it is.
        name: The provider's name.
        declares: Declarations about this service beside those that hold for every one, such as
            `consistency`.

    """
    return from_async(_ServiceProvider(service, app_name, name, declares))


class _ServiceProvider:
    """A memory service behind coroutine hooks."""

    def __init__(
        self, service: BaseMemoryService, app_name: str, name: str, declares: dict[str, Any]
    ) -> None:
        self._service = service
        self._app_name = app_name
        self._declares = declares
        self._events: dict[str, list[Event]] = {}
        self.name = name

    def is_available(self) -> bool:
        return True

    def capabilities(self) -> Capabilities:
        return {
            "spec_version": SPEC_VERSION,
            "stores": ["turns"],
            "recall_basis": "query",
            "isolates": ["user"],
            "extensions": ["record", "sessions"],
            **self._declares,
        }

    async def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._session = session_key
        self._user = str(config.get("user_id") or _USER)

    async def shutdown(self) -> None:
        self._events = {}

    async def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        found = await self._service.search_memory(
            app_name=self._app_name, user_id=self._user, query=user_message
        )
        texts = [_text(memory.content) for memory in found.memories]
        return "\n".join(f"- {text}" for text in texts if text) or None

    async def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        now = datetime.now(UTC).isoformat()
        said = {"user_message": user_message, "assistant_response": assistant_response}
        ids = {"turn_id": uuid.uuid4().hex, "session_id": self._session}
        await self.record({**ids, "started_at": now, "ended_at": now, **said})

    async def record(self, turn: dict[str, Any]) -> None:
        """The two messages as events, whose ids come from the turn's."""
        events = [
            self._event(turn, _USER, turn["user_message"], turn["started_at"]),
            self._event(turn, self._app_name, turn["assistant_response"], turn["ended_at"]),
        ]
        session_id = turn["session_id"]
        whose = {"app_name": self._app_name, "user_id": self._user}
        try:
            await self._service.add_events_to_memory(events=events, session_id=session_id, **whose)
        except NotImplementedError:
            known = self._events.setdefault(session_id, [])
            known += [event for event in events if event.id not in {one.id for one in known}]
            session = Session(id=session_id, events=known, **whose)
            await self._service.add_session_to_memory(session)

    def _event(self, turn: dict[str, Any], author: str, text: str, at: str) -> Event:
        role = _USER if author == _USER else "model"
        return Event(
            id=f"{turn['turn_id']}/{role}",
            invocation_id=turn["turn_id"],
            author=author,
            content=types.Content(role=role, parts=[types.Part(text=text)]),
            timestamp=datetime.fromisoformat(at).timestamp(),
        )

    async def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """An addition where the service takes one; ADK knows no replacing and no removing."""
        if action != "add" or not content:
            raise WriteRefused(f"a memory service of ADK takes no {action}")
        try:
            await self._service.add_memory(
                app_name=self._app_name, user_id=self._user, memories=[_entry({"text": content})]
            )
        except NotImplementedError:
            raise WriteRefused("this memory service takes no single memories") from None

    async def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Every turn was handed over when it was complete."""

    async def on_session_end(self, messages: list[Message]) -> None:
        """Nothing is left to hand over."""

    async def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        self._session = new_session_id
