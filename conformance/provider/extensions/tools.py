"""Chapter 61: calls of tools."""

import contextlib
import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from memproto.adapters import tool_results
from memproto.adapters.hermes_base import RESERVED_TOOLS
from memproto.adapters.hermes_hooks import bare_schemas
from memproto.bindings import author_object
from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.conditions import ExtensionOrHook
from memproto.testing.evidence import (
    Evidence,
    NotRecalled,
    Raised,
    Recalled,
    Returned,
    Surplus,
    Unfit,
    Unsteady,
)
from memproto.testing.facts import Fact
from memproto.testing.needs import NO_REFUSAL
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised, Subject
from memproto.testing.scenarios import tenants, tool_calls, tool_memory
from memproto.testing.scenarios.tenants import Reader
from memproto.testing.scenarios.tool_calls import Draw, Tool
from memproto.testing.wire import show

#: For tools that ask a service each time, and one that hangs.
_CALLS_S = 300.0

#: Number of calls of all tools together: some providers have forty of them.
_MOST_CALLS = 600

#: Half of them are odd texts: all of the fixed list, and some more.
_MOST_OF_ONE = 100

#: The draws left after so many seconds are let be; every tool has had its first by then.
_PATIENCE_S = 12.0

#: More choices than this of one tool are not gone through one by one.
_MOST_CHOICES = 8


def _tools(run: Run, subject: Subject) -> list[Tool]:
    tools = tool_calls.offered(run, subject.tools())
    if not tools:
        raise NotApplicable("the provider offers no tool that can be called")
    return tools


class _Caller:
    """Calls tools and keeps what was wrong: the first fault of each tool."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.calls = 0
        self.faults: dict[str, Evidence] = {}
        self.away: BackendAway | None = None
        self._end = monotonic() + _PATIENCE_S

    def try_each(self, tool: Tool, draws: Iterator[Draw]) -> None:
        """Make the calls until one is answered wrongly, or there is no time left."""
        for number, (told, arguments) in enumerate(draws):
            if tool.name in self.faults or (number and monotonic() > self._end):
                return
            self._try(tool, told, arguments)

    def _try(self, tool: Tool, told: str, arguments: dict[str, Any]) -> None:
        self.calls += 1
        try:
            wrong = tool_calls.fault(self.subject.call_tool(tool.name, copy.deepcopy(arguments)))
        except BackendAway as failure:
            self.away = failure
        except HookRaised as failure:
            if tool_calls.is_raised(failure):
                shown = show(failure.error, 120)
                raised = Raised.by(failure.error, shown=shown, who=tool.name)
                self._note(tool, raised, told, arguments)
        else:
            if wrong:
                seen = Returned(value=wrong, lead=f"{tool.name} answered ", tail=",")
                self._note(tool, seen, told, arguments)

    def _note(self, tool: Tool, seen: Evidence, told: str, arguments: dict[str, Any]) -> None:
        self.faults[tool.name] = seen.told(tail=f" to {told}: {show(arguments, 200)}")

    def judge(self, run: Run, expected: str, tools: int) -> None:
        """Report the first fault; without one, a backend that never answered leaves all open."""
        if self.faults:
            found = next(iter(self.faults.values()))
            run.violated(
                found.told(wanted=expected, tail=f"; {len(self.faults)} of {tools} tools do so")
            )
        if self.away:
            raise self.away


# -- answers ---------------------------------------------------------------------------------------


@check("MP-TOOL-008", budget_s=_CALLS_S, extension="tools", hook="call_tool")
def a_call_that_the_schema_allows_is_answered_in_json(run: Run) -> None:
    with run.session() as subject:
        tools = _tools(run, subject)
        caller = _Caller(subject)
        each = min(_MOST_OF_ONE, _MOST_CALLS // len(tools)) + 2
        for tool in tools:
            draws = tool_calls.allowed(tool, run.context.seed, each, run.examples)
            caller.try_each(tool, draws)
        caller.judge(run, "a str that holds one JSON document, whatever is allowed", len(tools))


@check("MP-TOOL-009", budget_s=_CALLS_S, extension="tools", hook="call_tool")
def a_call_that_does_not_fit_is_answered_too(run: Run) -> None:
    with run.session() as subject:
        tools = _tools(run, subject)
        caller, plain = _Caller(subject), _Caller(subject)
        for tool in tools:
            # One that does not answer a plain call as it is to is for MP-TOOL-008.
            plain.try_each(tool, tool_calls.allowed(tool, run.context.seed, 2))
            if tool.name not in plain.faults:
                caller.try_each(tool, _some(tool_calls.unfit(tool), _MOST_CALLS // len(tools)))
        caller.judge(run, "an error as a JSON document, and no exception", len(tools))


def _some(draws: Iterator[Draw], count: int) -> Iterator[Draw]:
    return itertools.islice(draws, max(8, count))


@check("MP-TOOL-013", budget_s=_CALLS_S, extension="tools", hook="call_tool")
def a_call_returns_in_time(run: Run) -> None:
    # The watch of the hooks sees one that did not.
    with run.session() as subject:
        tools = _tools(run, subject)
        caller = _Caller(subject)
        for tool in tools:
            caller.try_each(tool, tool_calls.allowed(tool, run.context.seed, 1))


@check("MP-TOOL-014", extension="tools", hook="call_tool")
def an_unknown_tool_is_answered_with_an_error(run: Run) -> None:
    expected = "a JSON document with an error in it, for a tool that the provider does not have"
    with run.session() as subject:
        _tools(run, subject)
        try:
            answer = subject.call_tool("harbour_lamp_light", {"lamp": "the green one"})
        except BackendAway:
            raise
        except HookRaised as failure:
            if tool_calls.is_raised(failure):
                run.violated(Raised.by(failure.error, wanted=expected, hook=run.hook("call_tool")))
            return
    if tool_calls.fault(answer) or not tool_results.refused(answer):
        run.violated(
            Returned(
                wanted=expected,
                hook=run.hook("call_tool"),
                value=show(answer, 200),
                lead="it answered ",
            )
        )


# -- what is required ------------------------------------------------------------------------------


@check("MP-TOOL-010", budget_s=_CALLS_S, extension="tools", hook="call_tool")
def what_every_call_needs_is_required(run: Run) -> None:
    with run.session() as subject:
        tools = _tools(run, subject)
        end = monotonic() + _PATIENCE_S
        for tool in tools:
            for name in set(tool.properties) - set(tool.required):
                if monotonic() < end and (told := _is_always_needed(subject, tool, name)):
                    run.violated(
                        Unfit(
                            wanted=f"{name!r} in the `required` of {tool.name}",
                            schema="tool-schema",
                            fault=told,
                        )
                    )


def _is_always_needed(subject: Subject, tool: Tool, name: str) -> str:
    """A tool's answer to every call without the argument, if it takes one with it; or ""."""
    without = [_left_out(arguments, name) for arguments in _variants(tool)]
    said = [_complaint(subject, tool, arguments) for arguments in without]
    named = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    if not all(words and named.search(words) for words in said):
        return ""
    # One of two that go together is needed only beside the other one.
    if _complaint(subject, tool, _left_out(tool.typical(full=False), name)) == "":
        return ""
    taken = [a for a in _variants(tool) if _complaint(subject, tool, a) == ""]
    # Once more: what was refused is refused still, so that it was the argument.
    if not taken or not _complaint(subject, tool, _left_out(taken[0], name)):
        return ""
    return f"every call without it is refused, as with {(said[0] or '')[:160]}; with it one is not"


def _left_out(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in arguments.items() if key != name}


def _variants(tool: Tool) -> list[dict[str, Any]]:
    """All arguments, with each value of those that have choices."""
    plain = tool.typical()
    found = [plain]
    for name, item in tool.properties.items():
        found += [{**plain, name: value} for value in tool_calls.choices(item)[:_MOST_CHOICES]]
    return found


def _complaint(subject: Subject, tool: Tool, arguments: dict[str, Any]) -> str | None:
    """The words of a refusing answer; "" if the call was served, None if it was not answered."""
    try:
        answer = subject.call_tool(tool.name, copy.deepcopy(arguments))
    except HookRaised as failure:
        tool_calls.is_raised(failure)
        return None
    return tool_calls.complaint(answer) if not tool_calls.fault(answer) else None


# -- forgetting ------------------------------------------------------------------------------------


#: Keys of the configuration by which a host names whom a session is for; None leaves it out.
_Who = dict[str, Any]


@check("MP-TOOL-011", budget_s=120.0, extension="tools", hook="call_tool")
def what_a_tool_forgot_is_gone(run: Run) -> None:
    _is_gone(run, {}, "")
    try:
        _is_gone(run, {"user_id": None}, ", in sessions without a user_id")
    except (NotApplicable, Untestable):
        # A provider of users may refuse to serve nobody, or to store for nobody.
        return
    except HookRaised as failure:
        if failure.ends_process:
            raise


def _is_gone(run: Run, who: _Who, where: str) -> None:
    fact = run.facts.new()
    with run.session(**who) as subject:
        tools = _tools(run, subject)
        finding = tool_memory.finding(tools, fact)
        stored_by, answer = _stored(subject, fact)
        told = [answer, *tool_memory.shown_by_tools(subject, finding).values()]
    call = tool_memory.forgetting(tools, stored_by, fact, told)
    if call is None:
        raise NotApplicable("no tool was recognised that forgets what another one stored")
    shown = _shown(run, fact, finding, who)
    if not shown:
        raise Lost("text that a tool stored came back neither by recall nor by a tool")
    _forget(run, call, who)
    finding = [one for one in finding if one[0] in shown]
    if by := _still_shown(run, fact, finding, shown, who):
        run.violated(
            Recalled(
                wanted=f"{fact.text!r} gone after {call[0]} answered that it was forgotten{where}",
                texts=(fact.text,),
                answer="it",
                by=by[0],
                lead=f"after a new start {' and '.join(by)} still brings ",
            ),
        )


def _stored(subject: Subject, fact: Fact) -> tuple[str, Any]:
    """The tool that stored the fact, and its answer."""
    call = routes.storing_call(subject.tools(), fact.text)
    if call is None:
        raise NotApplicable("no tool was recognised that stores a text")
    answer = subject.call_tool(*call)
    if tool_results.refused(answer):
        reason = f"the tool {call[0]} refused a plain fact: {show(answer, 120)}"
        raise Untestable(reason, NO_REFUSAL)
    return call[0], answer


@check("MP-TOOL-016", extension="tools", routes=("tools",))
def tools_reach_no_other_user(run: Run) -> None:
    _needs_users_apart(run)
    owner, guest = tenants.pair(run, "user", "-tools")
    fact, reader = run.facts.new(), Reader(run)
    with owner.opened(run) as subject:
        tools = _tools(run, subject)
        finding = tool_memory.finding(tools, fact)
        stored_by, answer = _stored(subject, fact)
        told = [answer, *tool_memory.shown_by_tools(subject, finding).values()]
    if reader.lacks(owner, [fact]):
        raise Lost("text that a tool stored did not come back for its user")
    expected = f"nothing of what is stored for {owner.called} reached for {guest.called}"
    # The owner's next session begins meanwhile: a gateway has several users.
    is_alone = run.declared("single_writer", default=False)
    beside = contextlib.nullcontext() if is_alone else owner.opened(run)
    with guest.opened(run) as other, beside:
        for name, seen in tool_memory.shown_by_tools(other, finding).items():
            if fact.is_in(seen):
                run.violated(
                    Recalled(
                        wanted=expected,
                        texts=(fact.text,),
                        by=name,
                        of_whom=owner.called,
                        to_whom=guest.called,
                        lead=f"{name} shows ",
                    ),
                )
        asked = tool_memory.forgetting(tools, stored_by, fact, told)
        changed = tool_memory.changing(tools, stored_by, fact, run.facts.new().text, told)
        calls = [*([changed] if changed else ()), *([asked[:2]] if asked else ())]
        tool_memory.shown_by_tools(other, calls)
    if calls and reader.lacks(owner, [fact]):
        run.violated(
            NotRecalled(
                wanted=expected,
                texts=(fact.text,),
                tail=(
                    f" for {owner.called} behind a call of {' and of '.join(dict(calls))} for "
                    f"{guest.called}"
                ),
            ),
        )


def _needs_users_apart(run: Run) -> None:
    """A provider that cannot declare is watched: two users get a memory each, or they do not."""
    if "user" in run.declared("isolates", ["profile"]):
        return
    if run.binding.can_declare:
        raise NotApplicable("`isolates` does not name user")
    try:
        apart = tenants.are_apart(run, tenants.pair(run, "user", "-told"), "tools")
    except Untestable:
        apart = False
    if not apart:
        raise NotApplicable("no two users are seen to be kept apart")


def _shown(run: Run, fact: Fact, finding: list[Any], who: _Who) -> set[str]:
    """Ways in which a new instance shows the fact: tools by their names, recall as ""."""
    with run.session(**who) as again:
        shown = _in_answers(again, fact, finding)
        return shown | ({""} if run.brings_back(again, fact) else set())


def _in_answers(subject: Subject, fact: Fact, finding: list[Any]) -> set[str]:
    answers = tool_memory.shown_by_tools(subject, finding)
    return {name for name, answer in answers.items() if fact.is_in(answer)}


def _forget(run: Run, call: tuple[str, dict[str, Any], str], who: _Who) -> None:
    name, arguments, how = call
    with run.session(**who) as subject:
        answer = subject.call_tool(name, copy.deepcopy(arguments))
    counts_none = how == "text" and tool_memory.counted_none(answer)
    if counts_none or not tool_memory.says_forgotten(answer):
        told = f"{name} did not forget by {show(arguments, 120)}: {show(answer, 120)}"
        raise NotApplicable(told)


def _still_shown(run: Run, fact: Fact, finding: list[Any], shown: set[str], who: _Who) -> list[str]:
    """The hooks and tools by which a new instance shows the fact when it had time to be gone."""
    left: list[set[str]] = []

    def gone() -> bool:
        found = _in_answers(again, fact, finding)
        if "" in shown and fact.is_in(routes.recalled(again, fact.query)):
            found.add("")
        left.append(found)
        return not found

    with run.session(**who) as again:
        run.wait_until(gone, run.freshness_s)
    return sorted(one or run.hook("recall") for one in left[-1])


# -- tools schemas ---------------------------------------------------------------------------------

# Chapter 61: what the model is told about tools.


#: Names that each model API takes.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_STRICT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)

#: The types of JSON Schema.
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not", "$ref")

#: A provider that cannot declare shows its tools by the hook that lists them.
_SHOWN = ExtensionOrHook("tools", "tools")

#: Key words that some model APIs refuse wherever they stand.
_NOT_EVERYWHERE = ("$ref", "$defs", "definitions", "oneOf", "allOf", "not")

_KEYS = {"name", "description", "parameters", "strict"}

#: In the spelling without case, dashes and underscores.
_WHOSE = {"userid", "tenantid", "tenant", "agentid", "accountid", "ownerid", "principalid"}
_WHOSE |= {"orgid", "organizationid", "organisationid", "customerid"}

#: Words of tools that move memories from or to another service, and name an account there.
_MOVES = frozenset({"import", "export", "migrate", "sync"})


def _schemas(run: Run) -> list[Any]:
    """The answer of `get_tool_schemas`, each item without a wrapping."""
    schemas = bare_schemas(_read(run, Subject.tools))
    if not isinstance(schemas, list | tuple):
        _wrong(run, f"{run.hook('tools')}() gave {show(schemas, 120)}")
    if not schemas:
        raise NotApplicable("the provider offers no tools")
    return list(schemas)


def _read(run: Run, read: Callable[[Subject], Any]) -> Any:
    """The result of `read` in a session, or before one if none can be opened."""
    if run.context.no_session:
        return _before_a_session(run, read)
    with run.session() as subject:
        return read(subject)


def _before_a_session(run: Run, read: Callable[[Subject], Any]) -> list[Any]:
    """
    The tools that a Hermes provider lists already, as its host reads it before the start.

    Raises:
        Untestable: It lists nothing, or not without its configuration.

    """
    try:
        listed = read(run.provider())
    except HookRaised as failure:
        if failure.ends_process:
            raise
        listed = None
    if isinstance(listed, list | tuple) and listed:
        return list(listed)
    raise run.context.without_session()


def _wrong(run: Run, told: str) -> None:
    run.violated(
        Unfit(
            wanted=(
                "a list of dicts, each with a name, a description, and parameters of type object"
            ),
            schema="tool-schema",
            fault=told,
        ),
        requirement="MP-TOOL-002",
    )


def _sound(run: Run) -> list[dict[str, Any]]:
    """The schemas that have the shape; the others are for MP-TOOL-002 alone."""
    found = [item for item in _schemas(run) if not _misshapen(item)]
    if not found:
        raise NotApplicable("no tool schema has the shape of one; see MP-TOOL-002")
    return found


def _name(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) else None


# -- the shape -------------------------------------------------------------------------------------


@check("MP-TOOL-002", session="can_declare", extension=_SHOWN, hook="tools")
def each_schema_has_the_shape_of_a_function(run: Run) -> None:
    for number, item in enumerate(_schemas(run), 1):
        if fault := _misshapen(item):
            _wrong(run, f"schema {number}, named {_name(item)!r}, {fault}")


def _misshapen(item: Any) -> str:
    if not isinstance(item, dict):
        return f"is {show(item, 80)}"
    for key in ("name", "description"):
        if not (isinstance(item.get(key), str) and item[key].strip()):
            return f"has the {key} {item[key]!r}" if key in item else f"has no {key}"
    parameters = item.get("parameters")
    if not isinstance(parameters, dict):
        return f"has no parameters; its keys are {', '.join(map(str, item))}"
    kind = parameters.get("type")
    return "" if kind == "object" else f"has parameters of type {kind!r}"


@check("MP-TOOL-017", session="can_declare", extension=_SHOWN, hook="tools")
def two_calls_in_a_row_give_the_same(run: Run) -> None:
    first, second = _read(run, lambda subject: [_as_json(subject.tools()) for _ in "12"])
    if first == "[]":
        raise NotApplicable("the provider offers no tools")
    if not first:
        raise NotApplicable("no tool schema has the shape of one; see MP-TOOL-002")
    if first != second:
        pairs = zip(first, second, strict=False)
        at = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        parts = tuple(text[max(0, at - 60) : at + 60] for text in (first, second))
        run.violated(
            Unsteady(
                wanted="the same schemas of two calls in a row",
                subject="schema",
                values=parts,
                difference=f"the first call gave {show(parts[0])} and the second {show(parts[1])}",
            )
        )


def _as_json(schemas: Any) -> str:
    """The schemas as they are now, whoever changes them later; "" if they are none."""
    try:
        return json.dumps(schemas) if isinstance(schemas, list | tuple) else ""
    except (TypeError, ValueError, RecursionError):
        return ""


@check("MP-TOOL-003", session="can_declare", extension=_SHOWN, hook="tools")
def each_schema_is_in_the_portable_subset(run: Run) -> None:
    _report(run, _unportable, "a schema that every model API takes")


def _report(run: Run, faults: Callable[[dict[str, Any]], Iterator[str]], expected: str) -> None:
    found = [(item["name"], fault) for item in _sound(run) for fault in faults(item)]
    if found:
        name, fault = found[0]
        more = f"; {len(found)} of the kind" if found[1:] else ""
        run.violated(
            Unfit(
                wanted=f"{expected}, of each tool",
                schema="tool-schema",
                at=name,
                fault=fault,
                tail=more,
            )
        )


def _unportable(item: dict[str, Any]) -> Iterator[str]:
    parameters = item["parameters"]
    if not _NAME.fullmatch(item["name"]):
        yield "its name is not of 1 to 64 ASCII letters, digits, _ and -"
    yield from (f"`{key}` stands at the top" for key in _NOT_AT_THE_TOP if key in parameters)
    if not isinstance(parameters.get("properties"), dict):
        yield "its parameters have no `properties`"
    try:
        json.dumps(item, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        yield f"it cannot be sent as JSON: {show(error, 80)}"
        return
    yield from _unportable_at("", parameters)


def _unportable_at(where: str, schema: dict[str, Any]) -> Iterator[str]:
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    yield from _unportable_object(where, schema.get("required"), properties)
    if _is_array(schema) and not isinstance(schema.get("items"), dict):
        yield f"the list {where} has no `items`"
    kinds = schema.get("type", [])
    # Told with their types, since what is listed may have no hash.
    unknown = [k for k in (kinds if isinstance(kinds, list) else [kinds]) if k not in _TYPES]
    yield from (f"{where} has the type {show(k, 60)}, which JSON Schema lacks" for k in unknown)
    for place, inner in _inner(where, schema):
        if isinstance(inner, dict):
            yield from _unportable_at(place, inner)
        else:
            yield f"{place} is {show(inner, 60)}, which is no schema"


def _unportable_object(where: str, required: Any, properties: dict[str, Any]) -> Iterator[str]:
    of = f" of {where}" if where else ""
    if required is not None and not isinstance(required, list):
        yield f"`required`{of} is {show(required, 60)}"
    listed = required if isinstance(required, list) else []
    # A list, since what is listed may have no hash.
    lacking = [name for name in listed if name not in [*properties]]
    yield from (f"`required`{of} names {name!r}, no property" for name in lacking)
    odd = [name for name in properties if not _ARGUMENT.fullmatch(str(name))]
    yield from (f"the argument {name!r} is not of ASCII letters and digits" for name in odd)


def _is_array(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _inner(where: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas inside a schema, each with its place."""
    properties = schema.get("properties")
    for name, inner in (properties if isinstance(properties, dict) else {}).items():
        yield f"{where}.{name}".lstrip("."), inner
    if isinstance(schema.get("items"), dict):
        yield f"{where}[]", schema["items"]
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key) if where else None
        yield from ((where, one) for one in (options if isinstance(options, list) else ()))


@check("MP-TOOL-004", session="can_declare", extension=_SHOWN, hook="tools")
def each_schema_avoids_what_some_apis_refuse(run: Run) -> None:
    _report(run, _narrow, "a schema as in tool-schema.schema.json, with one type for an argument")


def _narrow(item: dict[str, Any]) -> Iterator[str]:
    if _NAME.fullmatch(item["name"]) and not _STRICT_NAME.fullmatch(item["name"]):
        yield "its name does not begin with a letter or _"
    if extra := sorted(map(str, set(item) - _KEYS)):
        yield f"it has the keys {', '.join(extra)}"
    yield from (f"it has `{key}`" for key in ("$defs", "definitions") if key in item["parameters"])
    for place, inner in _inner("", item["parameters"]):
        yield from _narrow_at(place, inner)


def _narrow_at(where: str, schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    yield from (f"{where} has `{key}`" for key in _NOT_EVERYWHERE if key in schema)
    if isinstance(schema.get("type"), list):
        yield f"{where} has the types {', '.join(map(str, schema['type']))}"
    choices = schema.get("enum")
    if isinstance(choices, list) and not (choices and all(isinstance(c, str) for c in choices)):
        yield f"{where} has the choices {show(choices, 60)}, which are not texts"
    for place, inner in _inner(where, schema):
        yield from _narrow_at(place, inner)


# -- names -----------------------------------------------------------------------------------------


@check("MP-TOOL-005", session="can_declare", extension=_SHOWN, hook="tools")
def no_two_tools_have_one_name(run: Run) -> None:
    names = [item["name"] for item in _sound(run)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        told = f"{len(names)} schemas, {names.count(twice[0])} of them named {twice[0]!r}"
        run.violated(
            Surplus(
                wanted="a name of its own for each tool",
                kind_of="tool",
                names=(twice[0],),
                seen=told,
            )
        )


@check("MP-TOOL-006", session="can_declare", extension=_SHOWN, hook="tools")
def no_tool_has_a_name_of_the_host(run: Run) -> None:
    if taken := sorted(RESERVED_TOOLS.intersection(item["name"] for item in _sound(run))):
        run.violated(
            Surplus(
                wanted="tool names that are not among those of the host",
                kind_of="tool",
                names=tuple(taken),
                tail=": the host leaves it out and calls its own",
            )
        )


@check("MP-TOOL-007", hook="tools")
def no_tool_appears_only_after_the_start(run: Run) -> None:
    before, after = _before_and_after(run)
    if not after:
        raise NotApplicable("the provider offers no tools")
    if late := sorted(after - before):
        run.violated(
            Surplus(
                wanted=(
                    f"every tool that {run.hook('tools')}() gives in a session among those "
                    "that it gave "
                    f"before {run.hook('open')}"
                ),
                kind_of="tool",
                names=tuple(late),
                lead=f"before: {', '.join(sorted(before)) or 'none'}; only afterwards: ",
            ),
        )


def _before_and_after(run: Run) -> tuple[set[str], set[str]]:
    """The names of the tools before and after the start of one instance, as a host reads them."""
    subject = run.provider()
    if not subject.available():
        raise NotApplicable("a host asks a provider for tools that says it is available")
    before = _names(subject)
    subject.open(run.session_key(), run.config())
    after = _names(subject)
    subject.close()
    return before, after


def _names(subject: Subject) -> set[str]:
    schemas = bare_schemas(subject.tools())
    names = map(_name, schemas if isinstance(schemas, list | tuple) else ())
    return {name for name in names if isinstance(name, str) and name}


# -- whose memory, and the wrapping ----------------------------------------------------------------


@check("MP-TOOL-012", session="can_declare", extension=_SHOWN, hook="tools")
def no_tool_lets_the_model_choose_whose_memory(run: Run) -> None:
    found = [f"{item['name']} has {name!r}" for item in _sound(run) for name in _whose(item)]
    if found:
        run.violated(
            Surplus(
                wanted="no argument that says whose memory is meant",
                kind_of="argument",
                names=tuple(found[:5]),
                seen="; ".join(found[:5]),
            )
        )


def _whose(item: dict[str, Any]) -> Iterator[str]:
    if _MOVES.intersection(tool_calls.split(item["name"])):
        return
    properties = item["parameters"].get("properties")
    for name, argument in (properties if isinstance(properties, dict) else {}).items():
        # If the provider itself fixes the choices, the model cannot name a stranger.
        is_fixed = isinstance(argument, dict) and {"enum", "const"} & set(argument)
        if str(name).replace("_", "").replace("-", "").lower() in _WHOSE and not is_fixed:
            yield name


def _as_given(subject: Subject) -> Any:
    raw = author_object(subject.provider)
    return subject.call("tools", getattr(raw, subject.hook("tools")))


@check("MP-TOOL-015", session="can_declare", extension=_SHOWN, hook="tools")
def a_schema_is_not_wrapped(run: Run) -> None:
    schemas = _read(run, _as_given)
    items = list(schemas) if isinstance(schemas, list | tuple) else []
    if not items:
        raise NotApplicable("the provider offers no tools")
    wrapped = [item for item in items if bare_schemas([item]) != [item]]
    if wrapped:
        told = f"{len(wrapped)} of {len(items)} stand in {{'type': 'function', 'function': ...}}"
        run.violated(
            Unfit(
                wanted="each schema with its name, description and parameters at the top",
                schema="tool-schema",
                fault=told,
            )
        )
