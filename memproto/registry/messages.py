"""Values that providers are handed: copies of JSON, and plain text if that is promised."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from memproto.adapters.texts import normalised, plain_text

__all__ = ["copied", "copied_messages", "copier", "normalised", "plain_text"]

_DEEPEST = 64  # deeper values were never JSON
_SHARED = frozenset({str, int, float, bool, type(None)})
_DICT = frozenset({dict})


def copied_messages(messages: Sequence[Any]) -> list[Any]:
    """Returns a list of copies of `messages`, as `copied`."""
    return copier(messages)()


def copier(messages: Sequence[Any]) -> Callable[[], list[Any]]:
    """
    Returns a function that makes a new `copied_messages(messages)` at each call.

    It looks once, for all providers of a turn, whether shallow copies are enough.
    """
    if not messages:
        return list
    if _DICT.issuperset(map(type, messages)):
        values = chain.from_iterable(map(dict.values, messages))
        if _SHARED.issuperset(map(type, values)):
            return lambda: [*map(dict.copy, messages)]
    planned = [(message, _is_flat(message)) for message in messages]
    return lambda: [m.copy() if is_flat else copied(m) for m, is_flat in planned]


def _is_flat(message: object) -> bool:
    return type(message) is dict and _SHARED.issuperset(map(type, message.values()))


def copied(value: Any) -> Any:
    """
    Returns `value` with every mapping, list, tuple and set in it copied; other objects are shared.

    Mappings become dicts, subclasses their plain types. A value that is met twice is copied
    once, so that a value may hold itself.
    """
    return _copied(value, {}, 0)


def _copied(value: Any, seen: dict[int, tuple[Any, Any]], depth: int) -> Any:
    kind = type(value)
    if kind in _SHARED or depth > _DEEPEST:
        return value
    if id(value) in seen:
        return seen[id(value)][1]
    if kind is dict or isinstance(value, Mapping):
        return _copied_mapping(value, seen, depth + 1)
    if isinstance(value, list | tuple):
        return _copied_items(value, seen, depth + 1)
    return set(value) if isinstance(value, set) else value


def _copied_mapping(value: Mapping[Any, Any], seen: dict[int, Any], depth: int) -> Any:
    copy: dict[Any, Any] = {}
    seen[id(value)] = value, copy  # the value too: while it lives, nothing else has its id
    for key, item in value.items():
        copy[key] = item if type(item) is str else _copied(item, seen, depth)
    return copy


def _copied_items(value: Any, seen: dict[int, Any], depth: int) -> Any:
    copy: Any = []
    seen[id(value)] = value, copy
    for item in value:
        copy.append(_copied(item, seen, depth))
    if isinstance(value, tuple):
        copy = tuple(copy)
        seen[id(value)] = value, copy
    return copy
