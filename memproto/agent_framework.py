"""
Microsoft Agent Framework: a memory provider as a context provider of an agent.

Needs the package agent-framework-core, 1.23 or newer: `pip install memproto[agent-framework]`.
docs/agent-framework.md says what is lost.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from agent_framework import AgentSession, ContextProvider, FunctionTool, Message, SessionContext

from memproto.deadlines import Deadlines
from memproto.provider import AsyncMemoryProvider, MemoryProvider
from memproto.registry.framework import FrameworkSession, now
from memproto.registry.pool import RegistryPool

#: The user, the session and the agent's name.
_Key = tuple[str | None, str, str]


class ProviderContext(ContextProvider):  # type: ignore[misc] # Any where the framework is missing
    """
    The memory of an agent: `Agent(..., context_providers=[memory])`.

    An agent serves many sessions of many users, a provider one session of one user; so there is an
    instance for each session of each user, opened at its first run. The user is
    `session.state["user_id"]`, which the application sets, and has a folder of their own below
    `home`. For one event loop. A run waits for the deadlines of the registry at
    most; a provider that cannot start is left out, and the log says why. The framework tells
    no provider that it is over: `async with` or `close` ends all of them.

    Args:
        factory: Gives a new provider, native or with coroutine hooks; no arguments.
        home: A directory, which is made if it is missing.
        source_id: The provider's id in the framework; two memories of an agent have two.
        deadlines: Of the registries; 30 s for `initialize` and the registry's own if unset.
        most_open: Number of sessions that stay open; beyond it the longest unused one is shut
            down, and opened again at its next run.

    """

    def __init__(
        self,
        factory: Callable[[], MemoryProvider | AsyncMemoryProvider],
        home: str | Path,
        *,
        source_id: str = "memproto",
        deadlines: Deadlines | None = None,
        most_open: int = 256,
    ) -> None:
        super().__init__(source_id)
        self._factory, self._home = factory, Path(home).absolute()
        self._deadlines = deadlines
        self._pool = RegistryPool(self._opened, most_open)

    async def _opened(self, key: _Key) -> FrameworkSession:
        user_id, session_id, agent = key
        return await FrameworkSession.opened(
            self._factory,
            self._home,
            session_id,
            platform="agent-framework",
            agent=agent,
            user_id=user_id,
            deadlines=self._deadlines,
        )

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add the prompt block, the fenced recall as a message, and the tools, to a run."""
        key = _key(agent, session)
        context.metadata[f"{self.source_id}.key"] = key
        context.metadata[f"{self.source_id}.began"] = now().isoformat()
        async with self._pool.lent(key) as opened:
            if opened.prompt:
                context.extend_instructions(self.source_id, opened.prompt)
            taken = set(_names_of_tools(agent, context))
            offered = [schema for schema in opened.tools if schema["name"] not in taken]
            context.extend_tools(self.source_id, [self._tool(key, one) for one in offered])
            earlier = context.get_messages(include_input=False)
            told = [{"role": str(one.role), "content": one.text} for one in earlier if one.text]
            block = await opened.block(_asked(context), told)
        if block:
            context.extend_messages(self, [Message("user", [block])])

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Queue the turn if it has its answer; the agent calls it."""
        # A run without a session has another one here than in `before_run`.
        key = context.metadata.get(f"{self.source_id}.key") or _key(agent, session)
        began = context.metadata.get(f"{self.source_id}.began") or now().isoformat()
        asked, began = (_asked(context), began) if _asked(context) else state.get("asked", ("", ""))
        answer = _answer(context)
        if asked and not answer:
            # It waits for an approval, which comes with a run of its own.
            state["asked"] = [asked, began]
        elif asked:
            state.pop("asked", None)
            async with self._pool.lent(key) as opened:
                await opened.record(asked, answer, datetime.fromisoformat(began))

    def _tool(self, key: _Key, schema: Mapping[str, Any]) -> FunctionTool:
        async def call(**arguments: Any) -> str:
            async with self._pool.lent(key) as opened:
                return await opened.call(schema["name"], arguments)

        return FunctionTool(
            name=schema["name"],
            description=schema.get("description", ""),
            func=call,
            input_model=schema["parameters"],
        )

    async def close(self) -> None:
        """
        End every session: what is queued is delivered within `shutdown_s` of each.

        The memory may be used again.
        """
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


def _key(agent: Any, session: AgentSession) -> _Key:
    user_id = session.state.get("user_id")
    return None if user_id is None else str(user_id), session.session_id, str(agent.name or "")


def _asked(context: SessionContext) -> str:
    said = [one.text for one in context.input_messages if str(one.role) == "user" and one.text]
    return "\n".join(said).strip()


def _answer(context: SessionContext) -> str:
    messages = context.response.messages if context.response else []
    said = [one.text for one in messages if str(one.role) == "assistant" and one.text]
    return "\n".join(said).strip()


def _names_of_tools(agent: Any, context: SessionContext) -> Iterator[str]:
    """The names of the tools that the run has already."""
    of_agent = getattr(agent, "default_options", {}).get("tools") or ()
    of_run = context.options.get("tools") or ()
    for tool in (*of_agent, *(of_run if isinstance(of_run, list | tuple) else (of_run,))):
        yield str(getattr(tool, "name", getattr(tool, "__name__", "")))
    for tool in context.tools:
        yield str(getattr(tool, "name", ""))
