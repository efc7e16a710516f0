"""
The binding of Strands Agents: memory stores, called as its `MemoryManager` calls them.

The framework need not be installed where a verdict is made: a store is known by the name of its
base class, or by its shape.
"""

import dataclasses
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any

from memproto.adapters.coroutines import is_coroutine_function
from memproto.adapters.members import found_without_running
from memproto.bindings.base import by_requirement
from memproto.bindings.coroutine_hooks import (
    Behind,
    CoroutineBinding,
    base_of,
    implements,
    is_of_another,
)
from memproto.bindings.per_user import PerUser
from memproto.errors import Misconfigured, Rejected
from memproto.types import SPEC_VERSION, Capabilities, Message

logger = logging.getLogger("memproto.bindings.strands")

#: Operation to the member of a store that serves it.
_HOOKS = {
    "name": "name",
    "open": "initialize",
    "recall": "search",
    "record": "add_messages",
    "mirror": "add",
    "tools": "get_tools",
    "call_tool": "get_tools",
}

#: The members that a manager reads of a store when it is made.
_FIELDS = ("name", "description", "max_search_results", "writable", "extraction")

#: Number of entries that are asked for to be put before the model, unless the user says another.
_MOST_ENTRIES = 5

#: The module and the name of the base class of stores.
_BASE = ("strands.memory.types", "MemoryStore")

#: Why a requirement cannot be decided, and the requirements. docs/strands.md says the same.
_REASONS: Mapping[str, tuple[str, ...]] = {
    "Strands does not ask a store whether it is available": (
        *("MP-AVAIL-001", "MP-AVAIL-002", "MP-AVAIL-003"),
    ),
    "Strands hands a store no configuration and no context": (
        *("MP-INIT-002", "MP-CTX-001", "MP-CTX-003"),
    ),
    "Strands names a store no home, so that it stores where its author or its operator says": (
        *("MP-ISO-005", "MP-ISO-009", "MP-TENANT-005"),
    ),
    "every coroutine of a store runs on one event loop": ("MP-THR-001", "MP-THR-004"),
    "Strands does not tell a store that it is over": (
        *("MP-SHUT-001", "MP-SHUT-002", "MP-SHUT-003", "MP-SHUT-004", "MP-SHUT-005"),
        *("MP-ISO-004", "MP-PROC-003", "MP-FAULT-003", "MP-RES-001", "MP-RES-002", "MP-RES-003"),
        *("MP-RES-005", "MP-RES-006", "MP-RES-008"),
    ),
    "Strands lets the `initialize` of a store fail while its backend is away": ("MP-FAULT-004",),
    "Strands takes whatever `add` raises for a refusal, and tells the model": ("MP-WRITE-002",),
    "Strands does not tell a store that messages are discarded": ("MP-COMP-001", "MP-COMP-003"),
    "Strands keeps recalled entries out of the messages that it hands over": ("MP-TEXT-004",),
}

#: The same for requirements on users, if one store serves all of them.
_OF_USERS: Mapping[str, tuple[str, ...]] = {
    "Strands tells a store no user and no session; an application builds a store for each": (
        *("MP-TENANT-001", "MP-TENANT-002", "MP-TENANT-003", "MP-TENANT-004", "MP-TENANT-006"),
        *("MP-TENANT-007", "MP-TENANT-008", "MP-TENANT-009"),
    ),
}


class _Strands(CoroutineBinding):
    """Memory stores of Strands Agents."""

    def recognises(self, found: Any) -> bool:
        return _is_store(found)

    def behind(self, made: Any) -> Behind:
        return _Store(made)

    def where(self, provider: Any, operation: str) -> str:
        store = self.author_object(provider)
        if operation == "record" and not _route(store) and _implements(store, "add"):
            return f"{type(store).__name__}.add"
        return ""

    def notes(self, provider: Any) -> tuple[str, ...]:
        return _notes(self.author_object(provider))

    def actions_told(self) -> tuple[str, ...]:
        return ("add",)


class _StrandsPerUser(_Strands):
    """A memory store for each user."""

    def recognises(self, found: Any) -> bool:
        return type(found) is PerUser and _is_store(found.first)


def _is_store(found: Any) -> bool:
    """True for a class or an instance that a manager takes; runs no property of it."""
    kind = found if isinstance(found, type) else type(found)
    if (kind.__module__, kind.__name__) == _BASE:
        return False
    return _base_of(kind) is not None or _has_shape(found)


def _base_of(kind: type) -> type | None:
    """The framework's base class of stores, among those of a class."""
    return base_of(kind, lambda base: (base.__module__, base.__name__) == _BASE)


def _has_shape(found: Any) -> bool:
    """True for a store that inherits from none of the framework's classes."""
    sinks = [found_without_running(found, hook) for hook in ("add", "add_messages")]
    search = found_without_running(found, "search")
    if not (is_coroutine_function(search) and any(map(is_coroutine_function, sinks))):
        return False
    if is_of_another(found):
        return False
    fields = () if isinstance(found, type) else ("name", "writable")
    return all(found_without_running(found, field) is not None for field in fields)


def _implements(store: Any, hook: str) -> bool:
    """True if a manager calls a hook of the store: its class has it, other than by inheritance."""
    return implements(store, hook, _base_of(type(store)))


def _extractor(store: Any) -> Any:
    """The extractor of the store's configuration; None if the manager chooses one."""
    chosen = getattr(store, "extraction", None)
    return chosen.get("extractor") if isinstance(chosen, Mapping) else None


def _route(store: Any) -> str:
    """
    The hook by which turns reach a store, as its manager would choose it; "" for none.

    An extractor of the framework asks a model for the facts, and there is none here.
    """
    if not (getattr(store, "writable", False) and getattr(store, "extraction", None)):
        return ""
    extractor = _extractor(store)
    if extractor is None:
        return "add_messages" if _implements(store, "add_messages") else ""
    is_own = not type(extractor).__module__.startswith("strands.")
    return "add" if is_own and _implements(store, "add") else ""


def _notes(store: Any) -> tuple[str, ...]:
    notes = []
    if _base_of(type(store)) is None:
        notes.append("judged by its shape: no subclass of the MemoryStore of strands-agents")
    if not getattr(store, "writable", False):
        notes.append("it is not writable, so that nothing is stored")
    elif not _route(store):
        is_on = getattr(store, "extraction", None)
        why = "its extractor asks a model" if is_on else "its extraction is off"
        notes.append(f"no turn is recorded: {why}")
    return tuple(notes)


class _Store(Behind):
    """A store behind the coroutine hooks of a provider."""

    def __init__(self, made: Any) -> None:
        super().__init__(made, STRANDS)
        self._numbered = 0
        self._tools: list[Any] | None = None
        if _implements(self.author, "get_tools"):
            vars(self)["get_tool_schemas"] = self._get_tool_schemas
            vars(self)["handle_tool_call"] = self._handle_tool_call

    @property
    def name(self) -> Any:
        """The store's own name, of whatever type."""
        return self.author.name

    def served(self) -> set[str]:
        """The operations of which the store has the hook; a manager calls none that is off."""
        served = {"recall"}
        if _route(self.author):
            served.add("record")
        if self._takes_entries():
            served.add("mirror")
        if _implements(self.author, "get_tools"):
            served |= {"tools", "call_tool"}
        return served

    def _takes_entries(self) -> bool:
        return bool(getattr(self.author, "writable", False)) and _implements(self.author, "add")

    def capabilities(self) -> Capabilities:
        """The tools of the store; it has no way to declare anything else."""
        names = [tool.tool_name for tool in self._found_tools()]
        extensions = ["tools"] if names else []
        return {"tool_names": names, "extensions": extensions, "spec_version": SPEC_VERSION}

    async def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Make the store known to an agent: its fields, its tools, then its `initialize`.

        Raises:
            Misconfigured: Its `initialize` raised anything, which ends an agent before it begins.

        """
        former = self.author
        self.build_for(config.get("user_id"))
        if self.author is not former:
            self._tools = None
        for field in _FIELDS:
            getattr(self.author, field)
        self._found_tools()
        if _implements(self.author, "initialize"):
            try:
                await self.author.initialize()
            except Exception as error:
                raise Misconfigured(f"{type(error).__name__}: {error}") from error

    def shutdown(self) -> None:
        """Nothing: the framework does not tell a store that it is over."""

    async def enrich_turn(self, user_message: str, messages: list[Message]) -> Any:
        """
        The contents of the entries that the manager would put before the model, one a line.

        A message without a text is not searched for. Contents that are no text come as they are.
        """
        query = user_message.strip()
        if not query:
            return None
        found = await self.author.search(query, {"max_search_results": _MOST_ENTRIES})
        contents = [entry.content for entry in found][:_MOST_ENTRIES]
        if not all(isinstance(content, str) for content in contents):
            return contents
        return "\n".join(contents) if contents else None

    async def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """The two messages, as the manager hands them over behind an invocation of an agent."""
        said = (("user", user_message), ("assistant", assistant_response))
        messages = [{"role": role, "content": [{"text": text}]} for role, text in said]
        route = _route(self.author)
        if route == "add_messages":
            first, self._numbered = self._numbered, self._numbered + len(messages)
            numbers = list(range(first, self._numbered))
            await self.author.add_messages(messages, _context(sequence_numbers=numbers))
        elif route == "add":
            context = _of_framework("strands.memory.extraction.types", "ExtractorContext")
            for entry in await _extractor(self.author).extract(messages, context and context()):
                await self.author.add(entry.content, entry.metadata)

    async def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """
        An addition, as the tool `add_memory` makes it; the framework tells no other action.

        Raises:
            Rejected: Its `add` raised anything, which the framework tells the model.

        """
        if action == "add" and content is not None and self._takes_entries():
            try:
                await self.author.add(content, None)
            except Exception as error:
                raise Rejected(f"{type(error).__name__}: {error}") from error

    # -- tools ------------------------------------------------------------------------------------

    def _found_tools(self) -> list[Any]:
        """The tools of the store, which is asked for them once, before its `initialize`."""
        if self._tools is None:
            has_tools = _implements(self.author, "get_tools")
            self._tools = list(self.author.get_tools()) if has_tools else []
        return self._tools

    def _get_tool_schemas(self) -> list[dict[str, Any]]:
        return [_schema(tool.tool_spec) for tool in self._found_tools()]

    async def _handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Stream a tool to its end; an exception becomes the error that the model is shown."""
        tool = next((tool for tool in self._found_tools() if tool.tool_name == tool_name), None)
        if tool is None:
            return _error(f"Unknown tool: {tool_name}")
        use = {"toolUseId": "memproto", "name": tool_name, "input": args}
        last: Any = None
        try:
            async for event in tool.stream(use, {}):
                last = event
        except Exception as error:
            logger.warning("the tool %s raised %s", tool_name, type(error).__name__)
            return _error(f"Error: {error}")
        result = last.get("tool_result", last) if isinstance(last, Mapping) else last
        if not isinstance(result, Mapping):
            return _error(f"Error: {type(result).__name__} is no result of a tool")
        return json.dumps({key: result.get(key) for key in ("status", "content")}, default=str)


def _schema(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's specification in the form of the specification of memproto."""
    parameters = spec.get("inputSchema")
    if isinstance(parameters, Mapping) and "json" in parameters:
        parameters = parameters["json"]
    named = {key: spec[key] for key in ("name", "description") if key in spec}
    return {**named, "parameters": parameters}


def _error(said: str) -> str:
    return json.dumps({"status": "error", "content": [{"text": said}]})


@dataclasses.dataclass
class _AddMessagesContext:
    """The framework's class of that name, where a store does without the framework."""

    sequence_numbers: list[int] | None = None


def _context(sequence_numbers: list[int]) -> Any:
    made = _of_framework(_BASE[0], "AddMessagesContext") or _AddMessagesContext
    return made(sequence_numbers=sequence_numbers)


def _of_framework(module: str, name: str) -> Any:
    """A class of the framework; None if the store did without its module."""
    return getattr(sys.modules.get(module), name, None)


STRANDS = _Strands(
    host_driver="memproto.testing.host.strands:Driver",
    name="strands",
    title="Strands",
    hooks=_HOOKS,
    can_declare=False,
    config_keys=(),
    own_homes=False,
    may_lack_hooks=True,
    out_of_reach=by_requirement(_REASONS, _OF_USERS),
)

STRANDS_PER_USER = _StrandsPerUser(
    **{
        **vars(STRANDS),
        "name": "strands-per-user",
        "out_of_reach": by_requirement(_REASONS),
        "host_driver": "",
    }
)

_NOT_OVER = "Strands does not tell a store that it is over"
_NO_CONFIG = "Strands hands a store no configuration; an application builds a store for each user"
_SAME_NAME = "an agent with two tools of one name is not made: MP-HOST-TOOL-002"

#: Requirements on hosts that no call of Strands could keep or break, and why.
HOST_OUT_OF_REACH: Mapping[str, str] = {
    "MP-HOST-REG-001": "the name of a store stands escaped in an attribute; any text may be one",
    "MP-HOST-REG-003": "most members of a store are optional, and the store here is the kit's",
    "MP-HOST-INIT-001": "Strands does not ask a store whether it is available",
    "MP-HOST-CAP-001": "Strands does not ask a store for capabilities",
    "MP-HOST-INIT-003": _NO_CONFIG,
    "MP-HOST-INIT-004": _NO_CONFIG,
    "MP-HOST-CTX-001": "Strands knows no contexts of a session",
    "MP-HOST-ISO-002": "a store is searched by a query alone, without messages",
    "MP-HOST-WRITE-001": "`add_memory` adds; it neither replaces nor removes, and names no target",
    "MP-HOST-TOOL-003": _SAME_NAME,
    "MP-HOST-PREWARM-001": "Strands has no recall prepared",
    "MP-HOST-PREWARM-002": "Strands has no recall prepared",
    "MP-HOST-SHUT-001": _NOT_OVER,
    "MP-HOST-SHUT-002": _NOT_OVER,
    "MP-HOST-SHUT-003": _NOT_OVER,
    "MP-HOST-SHUT-004": _NOT_OVER,
    "MP-HOST-SHUT-006": _NOT_OVER,
}
