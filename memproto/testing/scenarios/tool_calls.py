"""
Calls of a provider's own tools, made up from the schemas by which it offers them.

The drawn calls are those that a model would write: a plain call first, then each choice, then odd
texts and other values that the schema allows. An argument that names a place outside the memory (a
path, an address, a command) keeps a harmless value.
"""

import copy
import dataclasses
import itertools
import json
import random
import re
from collections.abc import Iterator
from typing import Any, Protocol

from memproto.adapters import tool_results
from memproto.testing.provider.subject import HookRaised
from memproto.testing.scenarios import texts
from memproto.testing.wire import show

#: The name completes "a call with ..."; then the arguments.
Draw = tuple[str, dict[str, Any]]

#: An odd text in one of these could reach what is no memory.
_PLACES = frozenset({"path", "file", "filename", "dir", "directory", "folder", "url", "uri"})
_PLACES |= {"host", "command", "cmd", "code", "script", "sql", "endpoint", "address", "home"}

_WORD = "the harbour"

_BY_FORMAT = {"date": "2026-03-01", "date-time": "2026-03-01T09:30:00+00:00", "uuid": "0" * 32}

_NUMBERS = (1, 0, 7, -1, 1000)

#: Longer texts cost time in every store; that they are taken is for the rules on writes.
_LONGEST_CHARS = 5_000

#: Values of the wrong type for each type that a schema may ask for, as models write them.
_WRONG: dict[str, tuple[Any, ...]] = {
    "string": (None, 7, ["a"], {"text": "a"}, True),
    "integer": (None, "many", 2.5, [1], {}),
    "number": (None, "much", [1], {}),
    "boolean": (None, "maybe", 3, []),
    "array": (None, "one, two", 4, {"a": 1}, [None, 5, {}]),
    "object": (None, "a", 5, ["a"]),
}


class _Declaring(Protocol):
    """Members that the functions below need of a `Run`."""

    binding: Any

    def declared(self, key: str, default: Any) -> Any: ...


@dataclasses.dataclass(frozen=True)
class Tool:
    """
    One tool that a host offers to the model.

    Attributes:
        name: Its name.
        properties: Name of an argument to its schema.
        required: The arguments that a call has to have.
        description: The sentence by which the model is told what it does.

    """

    name: str
    properties: dict[str, Any]
    required: tuple[str, ...]
    description: str = ""

    @property
    def words(self) -> set[str]:
        """The words of its name, in lower case."""
        return set(split(self.name))

    def typical(self, *, full: bool = True, text: str = _WORD) -> dict[str, Any]:
        """Plain arguments: the required ones, or all of them; `text` where any text may stand."""
        names = self.properties if full else self.required
        return {name: plain(name, self.properties.get(name), text) for name in names}


def split(name: str) -> list[str]:
    """The words of a name in any spelling, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]


def offered(run: _Declaring, schemas: Any) -> list[Tool]:
    """
    The tools among `schemas` that a host offers, as far as a call can be made up for them.

    Those that `tool_names` holds, if the provider can declare them.
    """
    named = run.declared("tool_names", [])
    items = schemas if isinstance(schemas, list) else []
    found = [tool for tool in map(_tool, items) if tool is not None]
    return [tool for tool in found if not run.binding.can_declare or tool.name in named]


def _tool(schema: Any) -> Tool | None:
    parameters = schema.get("parameters") if isinstance(schema, dict) else None
    if not isinstance(parameters, dict) or not isinstance(schema.get("name"), str):
        return None
    properties = parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = parameters.get("required")
    required = required if isinstance(required, list) else []
    known = tuple(name for name in required if isinstance(name, str) and name in properties)
    return Tool(schema["name"], properties, known, str(schema.get("description", "")))


# -- values of an argument -------------------------------------------------------------------------


def choices(item: Any) -> list[Any]:
    """The values that an argument is limited to; [] where it is not."""
    values = item.get("enum") if isinstance(item, dict) else None
    return values if isinstance(values, list) else []


def kind(item: Any) -> str:
    """The type that a schema asks for; `string` where it does not say."""
    item = item if isinstance(item, dict) else {}
    for options in (item.get("anyOf"), item.get("oneOf")):
        if isinstance(options, list):
            return next((k for k in map(kind, options) if k != "null"), "string")
    named = item.get("type", "object" if "properties" in item else "string")
    named = named if isinstance(named, list) else [named]
    return str(next((one for one in named if one != "null"), "string"))


def is_free_text(name: str, item: Any) -> bool:
    """True if any text may stand there, and reaches nothing but the memory."""
    limits = {"pattern", "format", "const"} & set(item if isinstance(item, dict) else ())
    plain = kind(item) == "string" and not choices(item) and not limits
    return plain and not _PLACES.intersection(split(name))


def plain(name: str, item: Any, text: str = _WORD) -> Any:
    """A value that the schema of an argument allows; `text` where any text may stand."""
    item = item if isinstance(item, dict) else {}
    for known in (choices(item)[:1], [item[k] for k in ("const", "default") if k in item]):
        if known and known[0] is not None:
            return known[0]
    if isinstance(item.get("examples"), list) and item["examples"]:
        return item["examples"][0]
    return _of_kind(name, item, text)


def _of_kind(name: str, item: dict[str, Any], text: str) -> Any:
    asked = kind(item)
    if asked == "array":
        return [plain(name, item.get("items"), text)] * max(1, int(item.get("minItems", 1)))
    if asked == "object":
        inner = item.get("properties")
        inner = inner if isinstance(inner, dict) else {}
        return {key: plain(key, value, text) for key, value in inner.items()}
    if asked in ("integer", "number"):
        return _numbers(item)[0]
    if asked == "boolean":
        return False
    if is_free_text(name, item):
        return text[: item.get("maxLength", len(text))]
    return _BY_FORMAT.get(str(item.get("format")), "note")


def _numbers(item: dict[str, Any]) -> list[Any]:
    low, high = item.get("minimum"), item.get("maximum")
    fit = [n for n in _NUMBERS if (low is None or n >= low) and (high is None or n <= high)]
    return [*fit, *(n for n in (low, high) if n is not None)] or [1]


# -- arguments that a schema allows ----------------------------------------------------------------


def allowed(tool: Tool, seed: int, count: int, examples: int = 0) -> Iterator[Draw]:
    """
    At most `count` calls of the tool that its schema allows, the simplest first.

    Half of them have odd texts in them, those of the fixed list and `examples` generated ones.
    """
    values = itertools.chain(_plain_draws(tool), _choice_draws(tool), _value_draws(tool))
    half = max(2, count // 2)
    yield from itertools.islice(values, half)
    for draws in itertools.islice(_text_draws(tool, seed, examples), max(0, count - half)):
        yield from draws


def _plain_draws(tool: Tool) -> Iterator[Draw]:
    yield "its required arguments", tool.typical(full=False)
    if len(tool.required) < len(tool.properties):
        yield "all its arguments", tool.typical()


def _choice_draws(tool: Tool) -> Iterator[Draw]:
    for name, item in tool.properties.items():
        for value in choices(item)[1:]:
            yield f"{name}={value!r}", {**tool.typical(), name: value}
            yield f"{name}={value!r} and little else", {**tool.typical(full=False), name: value}


def _value_draws(tool: Tool) -> Iterator[Draw]:
    for name, item in tool.properties.items():
        for value in _values(item):
            yield f"{name}={value!r}", {**tool.typical(), name: value}


def _values(item: Any) -> list[Any]:
    item = item if isinstance(item, dict) else {}
    if choices(item) or "const" in item:
        return []
    asked = kind(item)
    if asked == "boolean":
        return [True]
    if asked == "array" and not item.get("minItems"):
        return [[]]
    if asked in ("integer", "number"):
        # Through JSON a number may arrive as 3.0.
        return _numbers(item)[1:] + ([2.5] if asked == "number" and "minimum" not in item else [])
    return []


def _text_draws(tool: Tool, seed: int, examples: int) -> Iterator[list[Draw]]:
    """
    Odd texts in every free argument at once, in an order that the seed and the name give.

    Each stands in the required ones alone as well: a call that is refused for a day that is none
    says nothing of the question beside it.
    """
    free = {n: i for n, i in tool.properties.items() if is_free_text(n, i)}
    if not free:
        return
    odd = {**texts.NAMED, **texts.generated(seed, examples)}
    names = [name for name, text in odd.items() if len(text) <= _LONGEST_CHARS]
    random.Random(f"{seed} {tool.name}").shuffle(names)
    for name in names:
        put = {n: odd[name] for n, item in free.items() if _fits(item, odd[name])}
        needed = {n: text for n, text in put.items() if n in tool.required}
        draws = [(f"{name} as {' and '.join(put)}", {**tool.typical(), **put})]
        if needed and len(needed) < len(put):
            told = f"{name} as {' and '.join(needed)} and little else"
            draws.append((told, {**tool.typical(full=False), **needed}))
        yield draws


def _fits(item: Any, text: str) -> bool:
    item = item if isinstance(item, dict) else {}
    shortest, longest = item.get("minLength", 0), item.get("maxLength", len(text))
    return bool(shortest <= len(text) <= longest)


# -- arguments that it does not allow --------------------------------------------------------------


def unfit(tool: Tool) -> Iterator[Draw]:
    """Calls that do not fit the schema, as models make them."""
    if tool.required:
        yield "no arguments", {}
    for name in tool.required:
        rest = {key: value for key, value in tool.typical().items() if key != name}
        yield f"all its arguments but {name}", rest
    for name, item in tool.properties.items():
        for value in (
            *_WRONG.get(kind(item), (None,)),
            *(["no such choice"] * bool(choices(item))),
        ):
            yield f"{name}={value!r}", {**tool.typical(), name: copy.deepcopy(value)}
    yield "an argument that it does not have", {**tool.typical(), "verbosity": "high"}


# -- what came back --------------------------------------------------------------------------------


def fault(answer: Any) -> str:
    """The fault of a tool's answer; "" for a str that holds one JSON document."""
    if not isinstance(answer, str):
        return f"{show(answer, 120)}, which is no str"
    try:
        json.loads(answer, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return f"{show(answer, 120)}, which is no JSON"
    return ""


def _no_number(name: str) -> None:
    """Refuse NaN and Infinity, which Python writes and no other parser has to read."""
    raise ValueError(f"{name} is no JSON")


def is_raised(failure: HookRaised) -> bool:
    """True if what a call raised is a violation; raises it where it ends the process."""
    if failure.ends_process:
        raise failure
    return not failure.is_report


def complaint(answer: Any) -> str:
    """The words of a refusing answer, as one text; "" if it does not refuse."""
    return str(answer) if isinstance(answer, str) and tool_results.refused(answer) else ""
