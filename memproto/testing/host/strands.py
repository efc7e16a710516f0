"""
The driver of Strands Agents: an `Agent` with its `MemoryManager`, and a model of the kit's.

For strands-agents 1.62. A native provider stands behind a `MemoryStore` that adds nothing; the
blocking `Agent(...)` is driven, as in the framework's own examples. docs/strands.md says what was
seen.
"""

import asyncio
import importlib.metadata
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from strands import Agent
from strands.memory import MemoryEntry, MemoryManager, MemoryStore
from strands.memory.extraction.triggers import InvocationTrigger
from strands.models.model import Model
from strands.types.tools import AgentTool

from memproto.bindings.strands import HOST_OUT_OF_REACH
from memproto.deadlines import Deadlines
from memproto.testing.driver import HostDriver, Start, Turn
from memproto.testing.host.framework_hooks import Hosted, apart

#: Entries that are put before the model: more than a check has providers. Left alone it is 5.
_MOST_ENTRIES = 64

#: The manager's own tools.
_OWN_TOOLS = ("search_memory", "add_memory")

#: Native hooks that a store's members stand for.
_HOOKS = (
    *("enrich_turn", "on_turn_complete", "on_memory_write"),
    *("get_tool_schemas", "handle_tool_call"),
)

_WITHOUT: Mapping[str, str] = {
    "fence": "the block of Strands is `<memory>`, with escaped entries",
    "record_turn": "a store gets messages, without an id, an author and times of a turn",
    "refuse_write": "the tool `add_memory` has no store of its own that could refuse",
    "denied_tools": "Strands has no list of tools that are forbidden",
    "prompt": "a store adds nothing to the system prompt",
    "compress": "Strands does not tell a store that messages are discarded",
    "switch": "an agent has one conversation, and its stores are told of no other",
    "end": "Strands does not tell a store that it is over",
    "delegate": "Strands tells a store of no delegation",
    "backup_paths": "Strands asks a store for no paths",
    "forget": "Strands has no call for it",
    **HOST_OUT_OF_REACH,
}


class Driver(HostDriver):
    """One agent, which the user speaks with by `agent("...")`."""

    without = _WITHOUT

    def __init__(self, *, deadlines: Deadlines | None = None) -> None:
        # Strands keeps no deadline at all, so that those stand which the kit asks for.
        self.deadlines = deadlines or Deadlines()
        self._stores: list[_Store] = []
        self._heard: list[str] = []
        self._cancels = False
        self._model = _Model()
        self._agent: Any = None

    # -- the life of a session --------------------------------------------------------------------

    def register(self, provider: Any) -> None:
        """Take it if a manager does, which looks at all of its stores."""
        stores = [*self._stores, _Store(provider)]
        MemoryManager(stores=stores)
        self._stores = stores

    def start(self, session: Start) -> None:
        """Make the agent, which initializes its stores."""
        if session.denied_tools:
            raise NotImplementedError
        for store in self._stores:
            store.session = session
        self._model.answers = session.model
        manager = None
        if self._stores:
            manager = MemoryManager(
                stores=list(self._stores),
                add_tool_config=True,
                injection={"max_entries": _MOST_ENTRIES},
            )
        self._agent = Agent(model=self._model, memory_manager=manager, callback_handler=self._hear)

    def exit(self) -> None:
        """Nothing: the blocking call has flushed, and a manager has no end."""

    # -- turns ------------------------------------------------------------------------------------

    def turn(self, user_message: str) -> Turn:
        """`agent(...)`; the user sees the result's message."""
        result = self._agent(user_message)
        return Turn(_text(result.message))

    def stream(self, user_message: str) -> Turn:
        """The same, seen by a `callback_handler`."""
        self._heard.clear()
        self._agent(user_message)
        return Turn("".join(self._heard))

    def interrupt(self, user_message: str) -> Turn:
        """`agent.cancel()` behind the first piece."""
        self._heard.clear()
        self._cancels = True
        try:
            self._agent(user_message)
        finally:
            self._cancels = False
        return Turn("".join(self._heard))

    def _hear(self, **event: Any) -> None:
        if "data" in event:
            self._heard.append(event["data"])
            if self._cancels:
                self._agent.cancel()

    def reject(self, user_message: str) -> Turn:
        """A guardrail is one of the model's service, which redacts what the agent keeps."""
        raise NotImplementedError("a guardrail of Strands is one of the model's service")

    # -- parts of a turn --------------------------------------------------------------------------

    def recall(self, user_message: str, messages: Sequence[dict[str, Any]]) -> str:
        """As the injection of `_message_injection.py` does it, without the model."""
        manager = self._agent.memory_manager
        asked = [{"role": "user", "content": [{"text": user_message}]}]
        try:
            config = manager._injection_config  # noqa: SLF001 - the seam before a model call
            found = asyncio.run(manager._provide_memory_context(asked, config))  # noqa: SLF001
        except Exception:
            return ""
        return str(found or "")

    def record(self, user_message: str, answer: str) -> None:
        """A turn with this answer: there is no other way to a store."""
        self._model.says = answer
        try:
            self._agent(user_message)
        finally:
            self._model.says = None

    # -- tools ------------------------------------------------------------------------------------

    def write_memory(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """`add_memory`, called by the application, so that no message is added."""
        if action != "add":
            raise NotImplementedError("the memory tool of Strands adds, and does nothing else")
        self._agent.tool.add_memory(entries=[content], record_direct_tool_call=False)

    def tools(self) -> list[dict[str, Any]]:
        """The specifications that the model is offered, without those of the manager's own."""
        found = self._agent.tool_registry.get_all_tool_specs()
        return [_schema(spec) for spec in found if _is_of_a_store(self._agent, spec["name"])]

    def call_tool(self, name: str, args: Any) -> str:
        """A turn in which the model calls a tool; the result that it is sent, as JSON."""
        self._model.calls = (name, args)
        self._model.results.clear()
        self._agent("Call the tool.")
        return json.dumps(self._model.results)


class _Store(MemoryStore):  # type: ignore[misc] # Any where Strands is missing
    """A provider as a store that is writable, and extracts by `add_messages` after each turn."""

    description = None
    max_search_results = None
    writable = True

    def __init__(self, provider: Any) -> None:
        self.name = provider.name
        self.extraction: Any = {"trigger": InvocationTrigger()}
        self.session: Start | None = None
        self._hosted = Hosted(provider)
        self._tools: list[Any] | None = None

    async def initialize(self) -> None:
        assert self.session is not None
        host = f"strands-agents {importlib.metadata.version('strands-agents')}"
        await apart(self._hosted.open, self.session, host, _HOOKS)

    async def search(self, query: str, options: Any = None) -> list[Any]:
        found = await self._hosted.recall(query)
        return [] if found is None else [MemoryEntry(content=found)]

    async def add(self, content: str, metadata: Any = None) -> None:
        write = self._hosted.provider.on_memory_write
        await apart(write, "add", "memory", content, None)

    async def add_messages(self, messages: Any, context: Any = None) -> None:
        for user, answer in _turns(messages):
            await self._hosted.record(user, answer)

    def get_tools(self) -> list[Any]:
        if self._tools is None:
            self._tools = [_Tool(self._hosted, schema) for schema in self._hosted.schemas()]
        return self._tools


class _Tool(AgentTool):  # type: ignore[misc] # Any where Strands is missing
    """A tool of a provider; its answer becomes a result as that of a decorated function does."""

    def __init__(self, hosted: Hosted, schema: Mapping[str, Any]) -> None:
        super().__init__()
        self._hosted = hosted
        self._spec = {
            "name": schema["name"],
            "description": schema.get("description"),
            "inputSchema": {"json": schema.get("parameters")},
        }

    @property
    def tool_name(self) -> str:
        return str(self._spec["name"])

    @property
    def tool_spec(self) -> Any:
        return self._spec

    @property
    def tool_type(self) -> str:
        return "memproto"

    async def stream(
        self, tool_use: Any, invocation_state: dict[str, Any], **kwargs: Any
    ) -> AsyncIterator[Any]:
        answer = await self._hosted.call(self.tool_name, tool_use["input"])
        content = [{"text": str(answer)}]
        yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": content}


class _Model(Model):  # type: ignore[misc] # Any where Strands is missing
    """The kit's model behind the interface of a model of Strands."""

    def __init__(self) -> None:
        self.answers: Any = None
        #: The answer of a turn that the kit asks for by its two texts.
        self.says: str | None = None
        #: The call that comes before the next answer.
        self.calls: tuple[str, Any] | None = None
        #: The results of calls that it was sent.
        self.results: list[Any] = []

    def update_config(self, **model_config: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    async def stream(
        self,
        messages: Any,
        tool_specs: Any = None,
        system_prompt: str | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        calls, self.calls = self.calls, None
        yield {"messageStart": {"role": "assistant"}}
        if calls:
            name, args = calls
            use = {"toolUseId": "kit", "name": name}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args)}}}}
        else:
            self.results += _results(messages[-1])
            yield {"contentBlockStart": {"start": {}}}
            for piece in self._pieces(messages, system_prompt):
                yield {"contentBlockDelta": {"delta": {"text": piece}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}

    def _pieces(self, messages: Any, system_prompt: str | None) -> Iterator[str]:
        if self.says is not None:
            return iter([self.says])
        asked = [{"role": "system", "content": system_prompt}] if system_prompt else []
        asked += [{"role": one["role"], "content": _text(one)} for one in messages]
        pieces: Iterator[str] = self.answers(asked)
        return pieces


def _is_of_a_store(agent: Any, name: str) -> bool:
    tool = agent.tool_registry.registry.get(name)
    return isinstance(tool, _Tool) or name not in _OWN_TOOLS


def _schema(spec: Mapping[str, Any]) -> dict[str, Any]:
    parameters = spec["inputSchema"]["json"]
    return {"name": spec["name"], "description": spec["description"], "parameters": parameters}


def _text(message: Mapping[str, Any]) -> str:
    return "".join(block["text"] for block in message["content"] if "text" in block)


def _results(message: Mapping[str, Any]) -> list[Any]:
    found = [block["toolResult"] for block in message["content"] if "toolResult" in block]
    return [{"status": one["status"], "content": one["content"]} for one in found]


def _turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Pairs of what the user said and the answer to it; "" for one that is missing."""
    asked: str | None = None
    for message in messages:
        text = _text(message)
        if not text:
            continue  # A call of a tool, or its result.
        if message["role"] == "user":
            if asked is not None:
                yield asked, ""
            asked = text
        else:
            yield asked or "", text
            asked = None
    if asked is not None:
        yield asked, ""
