"""The line of a JSON text on which a value stands, so that a message can name it."""

import json
import re
from collections.abc import Sequence

_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode


def line_of(text: str, path: Sequence[str | int]) -> int:
    """
    The number of the line on which the value at `path` begins.

    If the path leads nowhere, it is the line of the last value on the way.
    """
    at = _skip(text, 0)
    for step in path:
        found = _member(text, at, step) if isinstance(step, str) else _element(text, at, step)
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _member(text: str, at: int, key: str) -> int | None:
    """Position at which the value of the last such key begins: the one that a reader takes."""
    found = None
    at = _skip(text, at + 1)
    while text[at : at + 1] == '"':
        name, at = _decode(text, at)
        value = _skip(text, _skip(text, at) + 1)
        found = value if name == key else found
        at = _after(text, value)
    return found


def _element(text: str, at: int, index: int) -> int | None:
    at = _skip(text, at + 1)
    for _ in range(index):
        if text[at : at + 1] in ("]", ""):
            return None
        at = _after(text, at)
    return at


def _after(text: str, at: int) -> int:
    """Position at which the next key or element begins, behind the value at `at` and its comma."""
    _, end = _decode(text, at)
    end = _skip(text, end)
    return _skip(text, end + 1) if text[end : end + 1] == "," else end
