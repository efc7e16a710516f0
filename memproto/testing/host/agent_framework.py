"""
The driver of Microsoft Agent Framework: an `Agent` with context providers, and a client of the kit.

For agent-framework-core 1.23. A native provider stands behind a `ContextProvider` that adds
nothing. docs/agent-framework.md says what was seen.
"""

import asyncio
import contextlib
import importlib.metadata
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    AgentMiddleware,
    AgentResponse,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
)

from memproto.bindings.agent_framework import HOST_OUT_OF_REACH
from memproto.deadlines import Deadlines
from memproto.testing.driver import HostDriver, Start, Turn
from memproto.testing.host.framework_hooks import Hosted

#: Native hooks that a context provider stands for.
_HOOKS = ("enrich_turn", "on_turn_complete", "get_tool_schemas", "handle_tool_call")

_REFUSED = "I may not say that."

_WITHOUT: Mapping[str, str] = {
    "fence": "a context provider writes its own messages; the framework puts no block around them",
    "record_turn": "a context provider gets messages, without an id, an author and times of a turn",
    "write_memory": "the framework has no memory tool",
    "refuse_write": "the framework has no memory tool",
    "denied_tools": "the framework has no list of tools that are forbidden",
    "prompt": "instructions belong to one run, and a context provider writes them",
    "compress": "the framework does not tell a context provider that messages are discarded",
    "switch": "a run names its session, and no provider is told of another one",
    "end": "the framework does not tell a context provider that it is over",
    "delegate": "the framework tells a context provider of no delegation",
    "backup_paths": "the framework asks a context provider for no paths",
    "forget": "the framework has no call for it",
    **HOST_OUT_OF_REACH,
}


class Driver(HostDriver):
    """One agent and one session of it, on one event loop, as a small application has them."""

    without = _WITHOUT

    def __init__(self, *, deadlines: Deadlines | None = None) -> None:
        # The framework keeps no deadline at all, so that those stand which the kit asks for.
        self.deadlines = deadlines or Deadlines()
        self._providers: list[_Provider] = []
        self._client = _Client()
        self._guardrail = _Guardrail()
        self._runner = asyncio.Runner()
        self._agent: Any = None
        self._session: Any = None

    # -- the life of a session --------------------------------------------------------------------

    def register(self, provider: Any) -> None:
        """Take it if an agent does."""
        providers = [*self._providers, _Provider(provider)]
        Agent(client=self._client, context_providers=providers)
        self._providers = providers

    def start(self, session: Start) -> None:
        """Make the agent, with providers that an application has opened."""
        if session.denied_tools:
            raise NotImplementedError
        version = importlib.metadata.version("agent-framework-core")
        opened = []
        for provider in self._providers:
            # An application hands its agent those that could be opened: no work of the framework's.
            with contextlib.suppress(BaseException):
                provider.hosted.open(session, f"agent-framework-core {version}", _HOOKS)
                provider.hosted.schemas()
                opened.append(provider)
        self._client.answers = session.model
        self._agent = Agent(
            client=self._client,
            context_providers=opened,
            middleware=[self._guardrail],
        )
        self._session = AgentSession(session_id=session.session_id)
        self._session.state["user_id"] = session.config.get("user_id")

    def exit(self) -> None:
        """Nothing: an agent has no end of which its context providers hear."""

    def dismiss(self) -> None:
        """Let the loop go, unless a run still hangs on it."""
        with contextlib.suppress(RuntimeError):
            self._runner.close()

    # -- turns ------------------------------------------------------------------------------------

    def turn(self, user_message: str) -> Turn:
        """`agent.run(...)`; the user sees the text of the response."""
        return Turn(self._ran(user_message))

    def _ran(self, user_message: str) -> str:
        async def run() -> str:
            return str((await self._agent.run(user_message, session=self._session)).text)

        return self._runner.run(run())

    def stream(self, user_message: str) -> Turn:
        """The same with `stream=True`."""
        return Turn(self._runner.run(self._streamed(user_message, most=None)))

    def interrupt(self, user_message: str) -> Turn:
        """The application reads no further than the first update."""
        return Turn(self._runner.run(self._streamed(user_message, most=1)))

    async def _streamed(self, user_message: str, most: int | None) -> str:
        shown: list[str] = []
        async for update in self._agent.run(user_message, session=self._session, stream=True):
            shown.append(update.text)
            if most is not None and len(shown) >= most:
                break
        return "".join(shown)

    def reject(self, user_message: str) -> Turn:
        """A middleware of the agent puts another response in the place of the model's."""
        self._guardrail.refuses = True
        try:
            return self.turn(user_message)
        finally:
            self._guardrail.refuses = False

    # -- parts of a turn --------------------------------------------------------------------------

    def recall(
        self, user_message: str, messages: Sequence[dict[str, Any]]
    ) -> list[tuple[str, str]]:
        """Messages that the providers add by `before_run`, without the model."""
        asked = [Message("user", [user_message])]

        async def prepare() -> Any:
            prepare = self._agent._prepare_session_and_messages  # noqa: SLF001 - the seam before it
            return (await prepare(session=self._session, input_messages=asked, options={}))[0]

        added = self._runner.run(prepare()).context_messages
        names = {provider.source_id for provider in self._providers}
        found = [(name, "\n".join(one.text for one in said)) for name, said in added.items()]
        return [(name, text) for name, text in found if name in names]

    def record(self, user_message: str, answer: str) -> None:
        """A turn with this answer: there is no other way to a provider."""
        self._client.says = answer
        try:
            self._ran(user_message)
        finally:
            self._client.says = None

    # -- tools ------------------------------------------------------------------------------------

    def tools(self) -> list[dict[str, Any]]:
        """The tools that the client is offered in a run."""
        self.record("Which tools are there?", "Noted.")
        return [
            {"name": one.name, "description": one.description, "parameters": one.parameters()}
            for one in self._client.offered
        ]

    def call_tool(self, name: str, args: Any) -> str:
        """A run in which the model calls a tool; the result that it is sent, as JSON."""
        self._client.calls = (name, args)
        self._client.results.clear()
        self.record("Call the tool.", "Noted.")
        return json.dumps([str(result) for result in self._client.results])


class _Provider(ContextProvider):  # type: ignore[misc] # Any where the framework is missing
    """A provider as a context provider that adds one message."""

    def __init__(self, provider: Any) -> None:
        super().__init__(provider.name)
        self.hosted = Hosted(provider)

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        found = await self.hosted.recall(_said(context.input_messages, "user"))
        if found is not None:
            context.extend_messages(self, [Message("user", [found])])
        tools = [_tool(self.hosted, schema) for schema in self.hosted.schemas()]
        context.extend_tools(self.source_id, [one for one in tools if one is not None])

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        answers = context.response.messages if context.response else []
        asked = _said(context.input_messages, "user")
        await self.hosted.record(asked, _said(answers, "assistant"))


def _tool(hosted: Hosted, schema: Mapping[str, Any]) -> Any:
    """A tool of the framework; None where it can make none of this schema."""
    name = schema["name"]

    async def call(**arguments: Any) -> Any:
        return await hosted.call(name, arguments)

    with contextlib.suppress(TypeError, ValueError):
        return FunctionTool(
            name=name,
            description=schema.get("description"),
            func=call,
            input_model=schema.get("parameters"),
        )
    return None


class _Guardrail(AgentMiddleware):  # type: ignore[misc] # Any where the framework is missing
    """Looks at a response, and refuses it when it is told to."""

    refuses = False

    async def process(self, context: Any, call_next: Callable[[], Any]) -> None:
        await call_next()
        if self.refuses:
            context.result = AgentResponse(messages=[Message("assistant", [_REFUSED])])


class _Client(FunctionInvocationLayer, BaseChatClient):  # type: ignore[misc] # Any where missing
    """The kit's model behind the interface of a chat client."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: Any = None
        #: The answer of a turn that the kit asks for by its two texts.
        self.says: str | None = None
        #: The call that comes before the next answer.
        self.calls: tuple[str, Any] | None = None
        #: The results of calls that it was sent, and the tools that it was offered.
        self.results: list[Any] = []
        self.offered: list[Any] = []

    def _inner_get_response(
        self, *, messages: Any, stream: bool, options: Any, **kwargs: Any
    ) -> Any:
        self.offered = list(options.get("tools") or [])

        async def updates() -> Any:
            for content in self._contents(messages, options):
                yield ChatResponseUpdate(role="assistant", contents=[content])

        async def answer() -> Any:
            said = list(self._contents(messages, options))
            texts = [one.text for one in said if one.type == "text"]
            whole = [Content.from_text("".join(texts))] if texts else said
            return ChatResponse(messages=[Message("assistant", whole)])

        return self._build_response_stream(updates()) if stream else answer()

    def _contents(self, messages: Any, options: Any) -> Iterator[Any]:
        calls, self.calls = self.calls, None
        if calls:
            yield Content.from_function_call("kit", calls[0], arguments=calls[1])
            return
        for one in messages[-1].contents:
            if one.type == "function_result":
                self.results.append(one.result)
        yield from map(Content.from_text, self._pieces(messages, options))

    def _pieces(self, messages: Any, options: Any) -> Iterator[str]:
        if self.says is not None:
            return iter([self.says])
        prompt = options.get("instructions")
        asked = [{"role": "system", "content": prompt}] if prompt else []
        asked += [{"role": str(one.role), "content": one.text} for one in messages]
        pieces: Iterator[str] = self.answers(asked)
        return pieces


def _said(messages: Sequence[Any], role: str) -> str:
    return "\n".join(one.text for one in messages if str(one.role) == role and one.text)
