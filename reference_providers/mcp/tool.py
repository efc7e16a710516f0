"""The tools that a model sees: search, store, and those of the server that the operator exposes."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from memproto.errors import ProviderError, Rejected
from memproto.reference_providers import asked

SEARCH, STORE = "mcp_search", "mcp_store"

#: Hits that a search gives if the model does not say, and at most.
_LIMIT, _MOST = 10, 50

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_KINDS = ("string", "integer", "number", "boolean", "array", "object")
_KEPT = ("description", "minimum", "maximum", "minLength", "maxLength")

OWN: list[dict[str, Any]] = [
    {
        "name": SEARCH,
        "description": "Search the long-term memory for what was said or kept earlier.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "The thing to look for."},
                "limit": {"type": "integer", "description": "The most hits; 10 if left out."},
            },
            "required": ["query"],
        },
    },
    {
        "name": STORE,
        "description": "Keep a fact, a decision or a lesson in the long-term memory.",
        "parameters": {
            "type": "object",
            "properties": {"content": {"type": "string", "description": "The text to keep."}},
            "required": ["content"],
        },
    },
]


def exposed(names: tuple[str, ...], there: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The schemas of the server's tools with these names, as every model API takes them."""
    return [
        {
            "name": f"mcp_{name}",
            "description": str(there[name].get("description") or "").strip() or name,
            "parameters": _object(there[name].get("inputSchema") or {}),
        }
        for name in names
        if name in there and _NAME.fullmatch(name) and f"mcp_{name}" not in (SEARCH, STORE)
    ]


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    given = schema.get("properties")
    properties = {
        name: _plain(told if isinstance(told, Mapping) else {}, schema)
        for name, told in (given if isinstance(given, Mapping) else {}).items()
        if _NAME.fullmatch(name)
    }
    needed = schema.get("required")
    required = [name for name in (needed if isinstance(needed, list) else ()) if name in properties]
    return {"type": "object", "properties": properties, "required": required}


def _plain(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """One argument, with one type, no reference and no choice between schemas."""
    schema = _chosen(schema, root)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    found: dict[str, Any] = {"type": next((one for one in kinds if one in _KINDS), "string")}
    found |= {key: schema[key] for key in _KEPT if key in schema}
    choices = schema.get("enum")
    if found["type"] == "string" and choices and all(isinstance(one, str) for one in choices):
        found["enum"] = list(choices)
    deeper = depth < _DEEPEST
    if found["type"] == "array":
        items = schema.get("items")
        items = items if isinstance(items, Mapping) and deeper else {}
        found["items"] = _plain(items, root, depth + 1)
    if found["type"] == "object" and deeper:
        found |= _inner(schema, root, depth)
    return found


def _inner(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    given = schema.get("properties")
    if not isinstance(given, Mapping):
        return {}
    inner = {
        name: _plain(told if isinstance(told, Mapping) else {}, root, depth + 1)
        for name, told in given.items()
        if _NAME.fullmatch(name)
    }
    needed = [name for name in schema.get("required") or () if name in inner]
    return {"properties": inner, "required": needed}


_DEEPEST = 6


def _chosen(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The target of a reference, and of several schemas the first that is not null."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            found: Any = root
            for key in reference.removeprefix("#/").split("/"):
                found = found.get(key) if isinstance(found, Mapping) else None
            told = {key: value for key, value in schema.items() if key == "description"}
            schema = {**(found if isinstance(found, Mapping) else {}), **told}
        several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if isinstance(several, list):
            real = [
                one for one in several if isinstance(one, Mapping) and one.get("type") != "null"
            ]
            told = {key: value for key, value in schema.items() if key == "description"}
            schema = {**(real[0] if real else {}), **told}
    return schema


# -- calls -----------------------------------------------------------------------------------------


def answered(serve: Callable[[], Any]) -> str:
    """One JSON document, whatever becomes of a call."""
    try:
        answer = {"success": True, **serve()}
    except ProviderError as fault:
        answer = {"success": False, "error": str(fault)}
    return json.dumps(answer)


def text(args: Mapping[str, Any], tool: str, key: str) -> str:
    """
    An argument that is a text.

    Raises:
        Rejected: It is not, or is empty.

    """
    value = args.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Rejected(f"{tool} needs {key}, a text that is not empty")
    return value


def limit(args: Mapping[str, Any]) -> int:
    """Number of hits that are asked for. Raises `Rejected`."""
    return asked.limit(args.get("limit"), usual=_LIMIT, most=_MOST)
