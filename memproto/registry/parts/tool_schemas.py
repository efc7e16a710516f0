"""Reasons not to offer a tool schema: one that an API refuses ends every request."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_ARGUMENT = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not", "$ref")
_DEEPEST = 32


def is_tool_name(name: object) -> bool:
    """True if every model API takes `name` as that of a tool."""
    return type(name) is str and _NAME.fullmatch(name) is not None


def fault_of(schema: object) -> str:
    """
    Why `schema` cannot be offered, by the rules of MP-TOOL-002 and MP-TOOL-003, or "".

    The reason holds no text of the schema. Raises where it holds no plain values.
    """
    if type(schema) is not dict:
        return "no dict"
    if not is_tool_name(schema.get("name")):
        return "a name that not every API takes"
    description = schema.get("description")
    if type(description) is not str or not description.strip():
        return "no description"
    parameters = schema.get("parameters")
    if type(parameters) is not dict or parameters.get("type") != "object":
        return "no parameters of type object"
    return _unsendable(schema) or next(_faults(parameters, 0), "")


def _unsendable(schema: dict[str, Any]) -> str:
    try:
        json.dumps(schema, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return "no JSON"
    return ""


def _faults(schema: Mapping[str, Any], depth: int) -> Iterator[str]:
    properties = schema.get("properties", None if depth == 0 else {})
    if type(properties) is not dict:
        yield "parameters without properties"
        return
    if depth == 0 and any(key in schema for key in _NOT_AT_THE_TOP):
        yield "a combination of schemas at the top"
    required = schema.get("required", [])
    if type(required) is not list or any(name not in properties for name in required):
        yield "a required argument that is none"
    if not all(_ARGUMENT.fullmatch(name) for name in properties):
        yield "an argument's name that not every API takes"
    if _is_list(schema.get("type")) and type(schema.get("items")) is not dict:
        yield "a list that does not say what it holds"
    for inner in _inner(schema, properties):
        if type(inner) is not dict or depth > _DEEPEST:
            yield "an argument without a schema"
        else:
            yield from _faults(inner, depth + 1)


def _is_list(kind: object) -> bool:
    return kind == "array" or (type(kind) is list and "array" in kind)


def _inner(schema: Mapping[str, Any], properties: dict[str, Any]) -> Iterator[Any]:
    yield from properties.values()
    if type(schema.get("items")) is dict:
        yield schema["items"]
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        yield from options if type(options) is list else ()
