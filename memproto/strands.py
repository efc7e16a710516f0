"""
Strands Agents: a memory provider as the memory of an agent.

Needs the package strands-agents, 1.62 or newer: `pip install memproto[strands]`. docs/strands.md
says what is lost.
"""

import asyncio
import json
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from strands.agent import Agent
from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent
from strands.middleware import InvokeModelStage
from strands.plugins import Plugin
from strands.types.tools import AgentTool

from memproto.adapters.tool_results import is_refusal
from memproto.deadlines import Deadlines
from memproto.errors import MemprotoError
from memproto.provider import AsyncMemoryProvider, MemoryProvider
from memproto.registry.aio import AsyncMemoryProviderRegistry
from memproto.registry.framework import FrameworkSession, now
from memproto.types import Message

#: Reasons for which an invocation stops with an answer that is whole.
_ANSWERED = ("end_turn", "stop_sequence")


class ProviderMemory(Plugin):  # type: ignore[misc] # Any where Strands is missing
    """
    The memory of one agent of Strands: `Agent(..., plugins=[memory])`.

    One session of one user, so that each agent has its own. The provider starts when the agent is
    made; if it cannot, the agent does without it, and `dropped` says why. The agent waits
    for the deadlines of the registry at most. `close` ends the session; a
    process that ends without it delivers what is queued too.

    Args:
        factory: Gives a new provider, native or with coroutine hooks; no arguments.
        home: A directory, which is made if it is missing.
        session_id: The key of the session; the agent's own if unset.
        user_id: The user, who has a folder of their own below `home`; None if there is one user.
        deadlines: Of the registry; 30 s for `initialize` and the registry's own if unset.

    """

    def __init__(
        self,
        factory: Callable[[], MemoryProvider | AsyncMemoryProvider],
        home: str | Path,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        deadlines: Deadlines | None = None,
    ) -> None:
        super().__init__()
        self._factory, self._home = factory, home
        self._session_id, self._user_id = session_id, user_id
        self._deadlines = deadlines
        self._session: FrameworkSession | None = None
        self._agent: Callable[[], Any] = lambda: None
        self._asked: str | None = None
        self._asked_at: datetime = now()
        self._block = ""

    @property
    def name(self) -> str:
        """The plugin's name; an agent has one."""
        return "memproto"

    @property
    def registry(self) -> AsyncMemoryProviderRegistry:
        """
        The registry that drives the provider, for what an agent does not call.

        Raises:
            MemprotoError: No agent has this memory yet.

        """
        if self._session is None:
            raise MemprotoError("no agent has this memory yet: make one with it among its plugins")
        return self._session.registry

    @property
    def dropped(self) -> Mapping[str, str]:
        """The provider's name and why it takes no part; empty if it does."""
        return self.registry.dropped if self._session else {}

    async def init_agent(self, agent: Agent) -> None:
        """
        Open the session, and join the agent; Strands calls this.

        Raises:
            MemprotoError: Another agent has this memory.
            OSError: The home cannot be made.

        """
        if self._session is not None:
            raise MemprotoError("an agent has this memory already: a memory is of one agent")
        self._session = session = await FrameworkSession.opened(
            self._factory,
            self._home,
            self._session_id or agent.session_id,
            platform="strands",
            agent=agent.name,
            user_id=self._user_id,
            deadlines=self._deadlines,
            reserved_tools=agent.tool_names,
        )
        self._agent = weakref.ref(agent)
        agent.tool_registry.process_tools([_Tool(session, schema) for schema in session.tools])
        agent.add_hook(self._begun, BeforeInvocationEvent)
        agent.add_hook(self._ended, AfterInvocationEvent)
        agent.add_middleware(InvokeModelStage.Input, self._shown)

    async def _begun(self, event: BeforeInvocationEvent) -> None:
        """Forget the turn before; an invocation without a text goes on with it."""
        if any(_text(message) for message in event.messages or []):
            self._asked, self._block = None, ""

    async def _shown(self, context: Any) -> Any:
        """The request of one call of the model, with the prompt block and the fenced recall."""
        assert self._session is not None
        if self._session.prompt:
            prompt = _prompted(context.system_prompt, self._session.prompt)
            context = context.replace(system_prompt=prompt)
        messages = context.messages
        asked = next((n for n in reversed(range(len(messages))) if _is_asked(messages[n])), None)
        if asked is None:
            return context
        if self._asked is None:
            # Behind every hook that may have changed the message, and once for all calls of a turn.
            self._asked, self._asked_at = _text(messages[asked]), now()
            self._block = await self._session.block(self._asked, _plain(messages[:asked]))
        if not self._block:
            return context
        shown = [*messages[asked]["content"], {"text": f"\n\n{self._block}"}]
        folded = [*messages[:asked], {**messages[asked], "content": shown}, *messages[asked + 1 :]]
        # A model's cache is not to end behind what the next call no longer has.
        trailing = context.dynamic_trailing_blocks + (asked == len(messages) - 1)
        return context.replace(messages=folded, dynamic_trailing_blocks=trailing)

    async def _ended(self, event: AfterInvocationEvent) -> None:
        """Queue the turn if it has its answer; one that was interrupted goes on later."""
        result = event.result
        if self._session is None or self._asked is None or result is None:
            return
        if result.stop_reason in _ANSWERED:
            asked, self._asked, self._block = self._asked, None, ""
            await self._session.record(asked, _text(result.message), self._asked_at)

    async def aclose(self) -> None:
        """End the session: what is queued is delivered within `shutdown_s`; never raises."""
        if self._session is not None:
            agent = self._agent()
            await self._session.end(_plain(agent.messages) if agent is not None else ())

    def close(self) -> None:
        """As `aclose`, from any thread; blocks."""
        # The caller's thread may have a running event loop, on which nothing else can wait.
        ending = threading.Thread(target=asyncio.run, args=(self.aclose(),), daemon=True)
        ending.start()
        ending.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


class _Tool(AgentTool):  # type: ignore[misc] # Any where Strands is missing
    """A tool of a provider."""

    def __init__(self, session: FrameworkSession, schema: Mapping[str, Any]) -> None:
        super().__init__()
        self._session = session
        self._spec = {
            "name": schema["name"],
            "description": schema.get("description", ""),
            "inputSchema": {"json": schema["parameters"]},
        }

    @property
    def tool_name(self) -> str:
        """The name by which the model calls it."""
        return str(self._spec["name"])

    @property
    def tool_spec(self) -> Any:
        """The schema, in the form of Strands."""
        return self._spec

    @property
    def tool_type(self) -> str:
        """The kind of the tool, for displays."""
        return "memproto"

    async def stream(
        self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Call the tool, within `tool_s`; the answer is one JSON document."""
        answer = await self._session.call(self.tool_name, tool_use["input"])
        status = "error" if is_refusal(json.loads(answer)) else "success"
        content = [{"text": answer}]
        yield {"toolUseId": tool_use["toolUseId"], "status": status, "content": content}


def _text(message: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in message["content"] if "text" in block)


def _is_asked(message: Mapping[str, Any]) -> bool:
    """True if a message is one of the user, and no result of a tool."""
    is_result = any("toolResult" in block for block in message["content"])
    return bool(message["role"] == "user" and not is_result and _text(message).strip())


def _plain(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages as role and text; those of tools have none."""
    return [
        {"role": message["role"], "content": text}
        for message in messages
        if (text := _text(message))
    ]


def _prompted(prompt: Any, block: str) -> Any:
    if isinstance(prompt, list):
        return [*prompt, {"text": block}]
    return f"{prompt}\n\n{block}" if prompt else block
