"""The tool router: which tools the model is offered, and where a call of one goes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from memproto.registry.calls.gather import Gather, fly, not_stuck, started_worker
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.questions import Asked, UnfitAnswer, ask
from memproto.registry.core import Core
from memproto.registry.events import attempt
from memproto.registry.messages import copied
from memproto.registry.parts.tool_schemas import fault_of, is_tool_name
from memproto.registry.policy import Policy

_SCHEMAS = "get_tool_schemas"
_CALL = "handle_tool_call"
_UNKNOWN_FATE = "whether it took effect is not known"


class Tool(NamedTuple):
    """One tool that may be offered, and the provider that serves it."""

    lane: ProviderLane
    schema: dict[str, Any]


# -- the table, fixed when the session begins -----------------------------------------------------


def read_tools(lanes: Sequence[ProviderLane], policy: Policy, gather: Gather) -> Mapping[str, Tool]:
    """
    Returns the tools by name, in the order of the providers and of their schemas.

    A schema that does not fit, that its provider did not name in `tool_names`, or whose name is
    taken by the host or an earlier provider is left out, with an event; the others stay.
    """
    table: dict[str, Tool] = {}
    asked = [lane for lane in lanes if "tools" in lane.extensions]
    for call in ask(asked, _SCHEMAS, gather, _as_list) if asked else ():
        if call.outcome == "ok":
            for number, schema in enumerate(call.found, 1):
                _take(table, call.lane, number, schema, policy)
            _tell_missing(call)
    return MappingProxyType(table)


def _as_list(answer: Any) -> list[Any]:
    if type(answer) not in (list, tuple):
        raise TypeError("schemas come as a list")
    return list(copied(answer))


def _take(
    table: dict[str, Tool], lane: ProviderLane, number: int, schema: Any, policy: Policy
) -> None:
    fault, broken = attempt(fault_of, schema)
    if fault or broken:
        lane.tell(_SCHEMAS, "dropped", detail=f"schema {number} has {fault or broken}")
        return
    name = schema["name"]
    if name not in _declared(lane):
        lane.tell(_SCHEMAS, "dropped", detail=f"{name} is not in tool_names")
    elif name in policy.reserved_tools:
        lane.tell(_SCHEMAS, "dropped", detail=f"{name} is a tool of the host")
    elif name in table:
        lane.tell(_SCHEMAS, "dropped", detail=f"{name} is a tool of {table[name].lane.label}")
    else:
        table[name] = Tool(lane, schema)


def _declared(lane: ProviderLane) -> Sequence[str]:
    return tuple(lane.capabilities.get("tool_names", ()))


def _tell_missing(call: Asked) -> None:
    given = {schema.get("name") for schema in call.found if type(schema) is dict}
    for name in _declared(call.lane):
        if name not in given:
            shown = name if is_tool_name(name) else "a name"
            call.lane.tell(_SCHEMAS, "dropped", detail=f"{shown} in tool_names has no schema")


# -- calls ----------------------------------------------------------------------------------------


def refusal(reason: str) -> str:
    """A tool result that says why nothing was done."""
    return json.dumps({"success": False, "error": reason})


def _as_document(answer: Any) -> str:
    """The answer, if it is one JSON document; without characters that no request can hold."""
    if not issubclass(type(answer), str):
        raise TypeError("a tool result is text")
    text = str.__str__(answer)
    try:
        document = json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        raise UnfitAnswer("str that is no JSON") from None
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(document)
    return text


def _no_json(constant: str) -> None:
    raise ValueError(constant)


def _told(call: Asked, name: str) -> str:
    """The result as the model gets it."""
    if call.outcome == "ok":
        return str(call.found)
    if call.outcome == "raised":
        return refusal(f"`{name}` failed: {call.report or call.error}")
    if call.outcome == "wrong_type":
        return refusal(f"`{name}` did not answer with JSON; {_UNKNOWN_FATE}")
    if call.outcome == "late":
        waited = f"{call.gather.budget_s:g} s"
        return refusal(f"`{name}` has not answered within {waited}; {_UNKNOWN_FATE}")
    return refusal(f"`{name}` was not called; its provider is ending")


# `table` is set once, by `initialize_all`, and never changed: the model and the host see one
# table for the whole session, and a call from any thread needs no lock. Calls run side by side,
# each on a thread of its own. After one that is late its provider gets no further call until it
# returns, so that a tool that hangs does not gather threads.
class Tools:
    """
    The part of a registry that offers tools and routes their calls.

    Attributes:
        table: Name to tool, from `read_tools`; empty until the providers are open.

    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self.table: Mapping[str, Tool] = MappingProxyType({})

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """
        Returns the bare schemas of all tools that may be called, in order; the caller's own copies.

        They were read once, when the session began, within `Deadlines.ask_s` for all providers.
        """
        return [copied(tool.schema) for tool in self.offered()]

    def tool_provider(self, tool_name: str) -> str | None:
        """The provider that serves a tool, for `served_by` of a mirrored write; or None."""
        tool = self.table.get(tool_name)
        return None if tool is None else tool.lane.label

    def handle_tool_call(self, tool_name: str, args: object, **kwargs: Any) -> str:
        """Returns the result of a tool call, which is one JSON document whatever happens."""
        tool = self.table.get(tool_name) if type(tool_name) is str else None
        if tool is None or self._core.is_elsewhere() or not self._allows(tool_name, tool):
            return refusal("there is no such tool")
        if not isinstance(args, Mapping):
            return refusal(f"the arguments of `{tool_name}` are no object")
        return self._routed(tool.lane, tool_name, copied(args), copied(kwargs))

    def _routed(
        self, lane: ProviderLane, name: str, args: dict[str, Any], keywords: dict[str, Any]
    ) -> str:
        if not not_stuck([lane], _CALL):
            return refusal(f"`{name}` was not called; an earlier call has not returned")
        worker = started_worker(lane, _CALL)
        if worker is None:
            return refusal(f"`{name}` was not called; the process is ending")
        gather = self._core.gather(self._core.deadlines.tool_s)
        call = Asked(
            lane, _CALL, (name, args), gather, worker, fits=_as_document, keywords=keywords
        )
        fly([call], gather)
        if call.done:
            worker.join()
        return _told(call, name)

    def suppresses_local_writes(self, target: str) -> bool:
        """
        True if the host leaves out its own write to `target`, and only mirrors it.

        Not where writes are not mirrored: one that nobody takes would be lost.
        """
        return any(_suppresses(lane, target) for lane in self._mirrored())

    def suppresses_memory_review(self) -> bool:
        """True if the host leaves out its review of the memory: some target is suppressed."""
        declared = (lane.capabilities.get("suppresses_local_writes") for lane in self._mirrored())
        return any(
            any(value.values()) if isinstance(value, Mapping) else value is True
            for value in declared
        )

    def _mirrored(self) -> Sequence[ProviderLane]:
        """The providers that get the writes of the memory tool, in this context and process."""
        return (
            self._core.lanes
            if self._core.writes_are_called and not self._core.is_elsewhere()
            else ()
        )

    def offered(self) -> Iterator[Tool]:
        """The tools that may be called now, in order."""
        if not self._core.is_elsewhere():
            for name, tool in self.table.items():
                if self._allows(name, tool):
                    yield tool

    def _allows(self, name: str, tool: Tool) -> bool:
        """True if the operator lets the tool be called; a policy that raises does not."""
        allows = self._core.policy.allows_tool
        return allows is None or attempt(allows, tool.lane.label, name)[0] is True


def _suppresses(lane: ProviderLane, target: str) -> bool:
    value = lane.capabilities.get("suppresses_local_writes", False)
    return value.get(target, False) is True if isinstance(value, Mapping) else value is True
