"""The registry for hosts on an event loop: the same one, whose methods are coroutines."""

import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from memproto.adapters.aio import from_async
from memproto.adapters.coroutines import is_async
from memproto.deadlines import Clock, Deadlines, Limits
from memproto.provider import AsyncMemoryProvider, MemoryProvider
from memproto.registry.aio.arrivals import Arrival, recall_on_loop
from memproto.registry.aio.crew import Crew
from memproto.registry.aio.timekeeper import Timekeeper
from memproto.registry.answers import Answer, CompressRefused
from memproto.registry.messages import plain_text
from memproto.registry.policy import Policy
from memproto.registry.registry import MemoryProviderRegistry
from memproto.types import Event, Message


class _Registry(MemoryProviderRegistry):
    """The one registry, with what an event loop may ask of it directly."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.timekeeper = Timekeeper(self._core.clock, "memproto-deadlines")

    def is_served(self, extension: str) -> bool:
        return bool(self._core.serving(extension))

    async def recall(self, user_message: str, messages: Sequence[Message]) -> list[tuple[str, str]]:
        """As `enrich_turn`; no thread waits."""
        lanes, session = self._core.lanes, self._core.session
        if not lanes or self._core.is_elsewhere():
            return []
        arrival = Arrival(self._core.clock, self._core.deadlines.enrich_s)
        try:
            arrival.alarm = self.timekeeper.at(arrival.until, arrival.ring)
        except RuntimeError:  # no thread can be started: the process is at its end
            return self.enrich_turn(user_message, messages)
        text = plain_text(user_message)
        found = await recall_on_loop(lanes, text, messages, arrival)
        return found if session is self._core.session else []


# Guarantees: no method blocks the loop, whatever the providers do; deadlines, order, isolation and
#   policies are those of `MemoryProviderRegistry`, which does the work; a recall that was cancelled
#   is seen by no later turn; what else was cancelled goes on unseen, so that a host that gives up
#   waiting changes nothing for the providers.
# Assumes: as `MemoryProviderRegistry`.
class AsyncMemoryProviderRegistry:
    """
    `MemoryProviderRegistry` as coroutines: the same methods, arguments, answers and deadlines.

    A property there is a property here. May be used from several event loops and threads.
    Providers may have coroutine hooks; these run on a loop of their own, never on the host's.
    `async with` ends it. `on_event` is called on any thread, the loop's included.

    Args:
        deadlines: As for `MemoryProviderRegistry`.
        limits: As for `MemoryProviderRegistry`.
        clock: As for `MemoryProviderRegistry`; deadlines do not depend on the loop's own time.
        policy: As for `MemoryProviderRegistry`.
        on_event: As for `MemoryProviderRegistry`.

    """

    def __init__(
        self,
        *,
        deadlines: Deadlines | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        policy: Policy | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._registry = _Registry(
            deadlines=deadlines, limits=limits, clock=clock, policy=policy, on_event=on_event
        )
        self._crew = Crew("memproto-waits")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.shutdown_all()

    # -- the providers ------------------------------------------------------------------------

    async def register(self, provider: MemoryProvider | AsyncMemoryProvider) -> None:
        """As `MemoryProviderRegistry.register`; coroutine hooks are taken, and driven."""
        native: Any = from_async(provider) if is_async(provider) else provider
        self._registry.register(native)

    async def register_program(
        self,
        command: Sequence[str] | str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """As `MemoryProviderRegistry.register_program`, on a thread that is not the loop's."""
        await self._crew.run(self._registry.register_program, command, cwd=cwd, env=env)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the active providers, the builtin first."""
        return self._registry.providers

    @property
    def capabilities(self) -> Mapping[str, Mapping[str, Any]]:
        """Each active provider's name to what it declared."""
        return self._registry.capabilities

    @property
    def dropped(self) -> Mapping[str, str]:
        """The providers that take no part, and why."""
        return self._registry.dropped

    @property
    def session_key(self) -> str:
        """The key of the session that the host is in."""
        return self._registry.session_key

    # -- the life of a session ----------------------------------------------------------------

    async def initialize_all(self, session_key: str, config: Mapping[str, Any]) -> None:
        """
        Open the providers one after the other, on one thread that is not the loop's.

        Cancelled, it goes on, since a provider cannot be half open; `shutdown_all` closes what it
        opens.
        """
        await self._crew.run(self._registry.initialize_all, session_key, config)

    async def shutdown_all(self) -> None:
        """
        Deliver what was accepted, shut each provider down, and wait; never raises.

        The end begins before the first await: cancelled, it goes on.
        """
        ending = self._registry.begin_end()
        self._crew.close()
        if ending is not None:
            await self._crew.run_end(self._registry.shutdown_all)
        await self._crew.ended(self._registry.timekeeper.tidy)

    async def on_session_end(self, messages: Sequence[Message]) -> None:
        """Queue the end of the session; returns at once."""
        self._registry.on_session_end(messages)

    async def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Queue the switch; returns at once."""
        keywords = {"parent_session_id": parent_session_id, "reset": reset, "rewound": rewound}
        self._registry.on_session_switch(new_session_id, **keywords, **kwargs)  # type: ignore[arg-type]

    # -- turns --------------------------------------------------------------------------------

    async def enrich_turn(
        self, user_message: str, messages: Sequence[Message]
    ) -> list[tuple[str, str]]:
        """
        Returns (label, text) of each provider that knows something about this turn, in order.

        Cancelled, what did not begin is not made, and what runs is not looked at.
        """
        return await self._registry.recall(user_message, messages)

    async def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Tell that a turn begins, and wait for it."""
        if self._registry.is_served("turns"):
            await self._crew.run(self._registry.on_turn_start, turn_number, message, **kwargs)

    async def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Queue a finished turn; returns at once."""
        self._registry.on_turn_complete(user_message, assistant_response)

    async def record(self, turn: Mapping[str, Any]) -> None:
        """
        Queue a finished turn with all that is known of it; returns at once.

        A host that was cancelled beside it does not know whether this was called. It calls it again
        with the same `turn_id`, and the turn is stored once.
        """
        self._registry.record(turn)

    async def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
        *,
        served_by: str | None = None,
    ) -> None:
        """Queue a write of the memory tool; returns at once."""
        self._registry.on_memory_write(action, target, content, old_text, served_by=served_by)

    async def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Queue what a subagent answered; returns at once."""
        self._registry.on_delegation(task, result, child_session_id=child_session_id, **kwargs)

    async def flush(self, timeout_s: float | None = None) -> bool:
        """True if all that was queued before this call was delivered, or told as lost."""
        answer: bool = await self._crew.run(self._registry.flush, timeout_s)
        return answer

    async def on_compress(
        self, messages: Sequence[Message], compression_count: int
    ) -> CompressRefused | None:
        """
        Show the messages that are about to go, and wait.

        Cancelled, it goes on; the host does not know then whether they are stored, and keeps them.
        """
        run = self._registry.on_compress
        answer: CompressRefused | None = await self._crew.run(run, messages, compression_count)
        return answer

    # -- questions ----------------------------------------------------------------------------

    async def system_prompt_block(self) -> str:
        """Returns the sections of the prompt, the same for the whole session."""
        answer: str = await self._crew.run(self._registry.system_prompt_block)
        return answer

    async def compress_notes(self, messages: Sequence[Message]) -> str:
        """Returns what a summary of `messages` should hold, framed as data."""
        answer: str = await self._crew.run(self._registry.compress_notes, messages)
        return answer

    async def recall_items(self, request: Mapping[str, Any]) -> list[Answer]:
        """Returns the items of each provider that serves `items`."""
        return await self._answers(self._registry.recall_items, request)

    async def export(self, scope: Mapping[str, Any]) -> list[Answer]:
        """Returns what each provider has stored in a scope."""
        return await self._answers(self._registry.export, scope)

    async def forget(self, scope: Mapping[str, Any]) -> list[Answer]:
        """
        Have each provider remove what is stored in a scope.

        Cancelled, it goes on; the host does not know what was removed, and asks again.
        """
        return await self._answers(self._registry.forget, scope)

    async def recall_status(self) -> list[Answer]:
        """Returns how recall fares, of each provider that serves `status`."""
        return await self._answers(self._registry.recall_status)

    async def backup_paths(self) -> list[Answer]:
        """Returns the absolute paths outside of the homes."""
        return await self._answers(self._registry.backup_paths)

    async def unavailable_reason(self) -> dict[str, str]:
        """Returns what is wrong with each provider with which something is."""
        answer: dict[str, str] = await self._crew.run(self._registry.unavailable_reason)
        return answer

    async def stats(self) -> dict[str, Any]:
        """Returns the counters of a status command."""
        return self._registry.stats()

    async def _answers(self, ask: Callable[..., list[Answer]], *args: Any) -> list[Answer]:
        answers: list[Answer] = await self._crew.run(ask, *args)
        return answers

    # -- tools --------------------------------------------------------------------------------

    async def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Returns the bare schemas of all tools that may be called."""
        return self._registry.get_tool_schemas()

    async def tool_provider(self, tool_name: str) -> str | None:
        """The provider that serves a tool, or None."""
        return self._registry.tool_provider(tool_name)

    async def handle_tool_call(self, tool_name: str, args: object, **kwargs: Any) -> str:
        """
        Returns the result of a tool call, which is one JSON document whatever happens.

        Cancelled, the call goes on; whether it takes effect is not known.
        """
        run = self._registry.handle_tool_call
        answer: str = await self._crew.run(run, tool_name, args, **kwargs)
        return answer

    async def suppresses_local_writes(self, target: str) -> bool:
        """True if the host leaves out its own write to `target`."""
        return self._registry.suppresses_local_writes(target)

    async def suppresses_memory_review(self) -> bool:
        """True if the host leaves out its review of the memory."""
        return self._registry.suppresses_memory_review()
