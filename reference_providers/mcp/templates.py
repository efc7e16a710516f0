"""
Arguments with places that are filled: `{"content": "{text}"}`, in any depth.

A place that stands alone keeps the type of what fills it, so that `{limit}` is a number.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from memproto.errors import Misconfigured

#: Names that may stand in the arguments of each of the two tools.
PLACES = {
    "search_arguments": ("query", "limit", "user", "owner"),
    "store_arguments": ("text", "id", "source", "session", "created_at", "user", "owner"),
}

#: Without these a tool searches for nothing, or stores it.
_NEEDED = {"search_arguments": "query", "store_arguments": "text"}

_PLACE = re.compile(r"\{([a-z_]+)\}")
_SECRET = re.compile(r"\{env:([A-Za-z_][A-Za-z0-9_]*)\}")

#: An id that any server takes as it is, as a key or a file name.
_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,46}[a-z0-9])?")


def arguments(key: str, value: Any) -> dict[str, Any]:
    """
    The template in an answer: a table, or its JSON.

    Raises:
        Misconfigured: It is none, lacks its text, or has a place that there is not.

    """
    table = _parsed(key, value)
    named = set(_PLACE.findall(json.dumps(table)))
    if unknown := sorted(named - set(PLACES[key])):
        there = ", ".join(f"{{{name}}}" for name in PLACES[key])
        raise Misconfigured(f"{key} has {{{unknown[0]}}}; there are {there}")
    if _NEEDED[key] not in named:
        raise Misconfigured(f"{key} lacks {{{_NEEDED[key]}}}")
    return table


def _parsed(key: str, value: Any) -> dict[str, Any]:
    try:
        table = json.loads(value) if isinstance(value, str) else json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise Misconfigured(f'{key} is no JSON object, such as {{"query": "{{query}}"}}')
    return table


def filled(template: Any, places: Mapping[str, Any]) -> Any:
    """The template with its places filled; what is no place stays."""
    if isinstance(template, Mapping):
        return {key: filled(value, places) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [filled(value, places) for value in template]
    if not isinstance(template, str):
        return template
    alone = _PLACE.fullmatch(template)
    if alone and alone[1] in places:
        return places[alone[1]]
    return _PLACE.sub(lambda place: str(places.get(place[1], place[0])), template)


def texts(arguments: Any, held: str) -> Iterator[str]:
    """Strings in filled arguments that hold a text, without white space around them."""
    if isinstance(arguments, str):
        if held in arguments:
            yield arguments.strip()
    elif isinstance(arguments, (Mapping, list, tuple)):
        for part in arguments.values() if isinstance(arguments, Mapping) else arguments:
            yield from texts(part, held)


def with_secrets(table: Mapping[str, str], key: str) -> dict[str, str]:
    """
    The table with `{env:NAME}` replaced by that variable.

    Raises:
        Misconfigured: A variable is not set.

    """

    def value(place: re.Match[str]) -> str:
        try:
            return os.environ[place[1]]
        except KeyError:
            raise Misconfigured(f"{key} names the variable {place[1]}, which is not set") from None

    return {name: _SECRET.sub(value, text) for name, text in table.items()}


def identifier(user_id: object) -> str:
    """A user as a name of at most 50 harmless characters; no two users share one."""
    if user_id is None:
        return "nobody"
    if isinstance(user_id, str) and _PLAIN.fullmatch(user_id):
        return f"u-{user_id}"
    return f"x-{digest(user_id)}"


def digest(*parts: object) -> str:
    """Thirty-two characters that no other parts have."""
    return hashlib.sha256(json.dumps(parts, default=str).encode("ascii")).hexdigest()[:32]
