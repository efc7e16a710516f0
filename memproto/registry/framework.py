"""One session of one user of an agent that a framework runs: opened, told its turns, and ended."""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from memproto.adapters.homes import home_below
from memproto.deadlines import Deadlines
from memproto.fence import build_memory_context_block, sanitize_context
from memproto.fence.scrubber import StreamingContextScrubber
from memproto.provider import AsyncMemoryProvider, MemoryProvider
from memproto.registry.aio import AsyncMemoryProviderRegistry
from memproto.registry.policy import Policy
from memproto.types import Message

#: Seconds for `initialize`. A framework that waits for a memory has no other bound.
_INITIALIZE_S = 30.0

#: Characters that stand around a recall in a block, the longest label among them.
_FRAME_CHARS = 400

#: The extensions whose hooks such a session calls.
_DRIVES = frozenset({"tools", "prompt", "turns", "record", "sessions"})


class FrameworkSession:
    """
    A registry whose session is open, and the calls of a turn in the terms of a framework.

    For any event loop, one turn at a time. No method raises what a provider raised.

    Attributes:
        registry: The registry; what is not here is asked of it.
        prompt: The block for the system prompt, "" for none; the same for the whole session.
        tools: The schemas of the tools that may be called, as in tool-schema.schema.json.

    """

    def __init__(
        self, registry: AsyncMemoryProviderRegistry, most_chars: int | None = None
    ) -> None:
        self.registry = registry
        self._most_chars = most_chars
        self.prompt = ""
        self.tools: list[dict[str, Any]] = []
        self._turns = 0

    @classmethod
    async def opened(
        cls,
        factory: Callable[[], MemoryProvider | AsyncMemoryProvider],
        home: str | Path,
        session_id: str,
        *,
        platform: str,
        agent: str = "",
        user_id: str | None = None,
        deadlines: Deadlines | None = None,
        reserved_tools: Iterable[str] = (),
        most_chars: int | None = None,
    ) -> Self:
        """
        Build a provider and open its session.

        A provider that cannot start is left out, as `registry.dropped` says; it is no error. The
        factory is the application's: no deadline bounds it, and its exceptions pass through.

        Args:
            factory: Gives a new provider.
            home: A directory, which is made; a user has a folder of its own below it.
            session_id: The key of the session, not empty.
            platform: The framework's name.
            agent: The agent's name, "" for none.
            user_id: The user; None if there is one user.
            deadlines: Of the registry; 30 s for `initialize` and the registry's own if unset.
            reserved_tools: Names of the agent's own tools, which no tool of the provider takes.
            most_chars: Characters that a block may have; None if any number fits.

        Raises:
            OSError: The home cannot be made.
            RegistrationError: The factory gave no provider.

        """
        folder = home_below(home) if user_id is None else home_below(home, user_id)
        policy = Policy(reserved_tools=frozenset(reserved_tools), drives=_DRIVES)
        deadlines = deadlines or Deadlines(initialize_s=_INITIALIZE_S)
        registry = AsyncMemoryProviderRegistry(deadlines=deadlines, policy=policy)
        made = cls(registry, most_chars)
        config: dict[str, Any] = {"home": str(folder), "platform": platform}
        if most_chars is not None:
            config["limits"] = {"recall_chars": most_chars - _FRAME_CHARS}
        told = {"agent_identity": agent or None, "user_id": user_id}
        config.update({key: value for key, value in told.items() if value is not None})
        await made.registry.register(factory())
        await made.registry.initialize_all(session_id, config)
        made.prompt = await made.registry.system_prompt_block()
        made.tools = await made.registry.get_tool_schemas()
        return made

    async def block(self, user_message: str, messages: Sequence[Message]) -> str:
        """
        Begin a turn; returns the fenced recall, "" if there is none.

        Args:
            user_message: The text of the user; a blank one is no turn.
            messages: The conversation before it.

        """
        if not user_message.strip():
            return ""
        self._turns += 1
        await self.registry.on_turn_start(self._turns, user_message)
        recalled = await self.registry.enrich_turn(user_message, messages)
        block = build_memory_context_block(recalled)
        if self._most_chars is None or len(block) <= self._most_chars:
            return block
        # A text that was made harmless may be longer than before. No rest may lack the closing tag.
        room = self._most_chars - _FRAME_CHARS
        texts = [(label, sanitize_context(text)[:room]) for label, text in recalled[:1]]
        block = build_memory_context_block(texts)
        return block if len(block) <= self._most_chars else ""

    async def record(
        self, user_message: str, answer: str, started_at: datetime, turn_id: str = ""
    ) -> None:
        """
        Queue a finished turn; returns at once. A turn without a text or an answer is left out.

        The answer is recorded without what the model repeated of the fenced block.
        """
        scrubber = StreamingContextScrubber()
        said = scrubber.feed(answer) + scrubber.flush()
        if user_message.strip() and said.strip():
            await self.registry.record(
                {
                    "turn_id": turn_id or uuid.uuid4().hex,
                    "session_id": self.registry.session_key,
                    "started_at": started_at.isoformat(),
                    "ended_at": now().isoformat(),
                    "user_message": user_message,
                    "assistant_response": said,
                }
            )

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Returns the JSON document of a tool's answer, as in tool-result.schema.json."""
        return await self.registry.handle_tool_call(tool, dict(arguments))

    async def end(self, messages: Sequence[Message] = ()) -> None:
        """End the session, deliver what is queued, and shut the provider down; never raises."""
        await self.registry.on_session_end(messages)
        await self.registry.shutdown_all()

    async def shutdown_all(self) -> None:
        """As `end`, without messages."""
        await self.end()


def now() -> datetime:
    """The time of the wall clock, in UTC."""
    return datetime.now(UTC)
