"""The hooks of both bindings as a recording knows them: operation, and the names of arguments."""

from typing import Any

from memproto.bindings import HERMES, IN_PROCESS, Binding

_MESSAGES = ("messages",)

#: Operation to the names of its positional arguments.
_POSITIONS: dict[str, tuple[str, ...]] = {
    "open": ("session_key", "config"),
    "recall": ("user_message", "messages"),
    "record": ("user_message", "assistant_response"),
    "mirror": ("action", "target", "content", "old_text"),
    "compress": ("messages", "compression_count"),
    "call_tool": ("tool_name", "args"),
    "prewarm": ("user_message",),
    "turn_start": ("turn_number", "message"),
    "end": _MESSAGES,
    "switch": ("new_session_id",),
    "delegation": ("task", "result"),
    "save_config": ("values", "home"),
    "compress_notes": _MESSAGES,
    "record_turn": ("turn",),
    "items": ("request",),
    "export": ("scope",),
    "forget": ("scope",),
}

#: Names that a binding or an implementation uses to those of the specification.
_OTHERWISE = {
    "recall": {"query": "user_message"},
    "record": {"user_content": "user_message", "assistant_content": "assistant_response"},
    "open": {"session_id": "session_key"},
    "prewarm": {"query": "user_message"},
}

#: Names of arguments that are written as they are; any other name could be a user's text.
_KNOWN = {name for names in _POSITIONS.values() for name in names} | {
    "session_id",
    "parent_session_id",
    "child_session_id",
    "reset",
    "rewound",
    "metadata",
    "messages",
}


def binding_of(provider: object) -> Binding:
    """The binding whose hook of recall the provider has; the host may call what is not whole."""
    has_hook = (b for b in IN_PROCESS if callable(getattr(provider, b.hook("recall"), None)))
    return next(has_hook, HERMES)


def named(operation: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of the specification; the rest under `more`."""
    otherwise = _OTHERWISE.get(operation, {})
    found = dict(zip(_POSITIONS.get(operation, ()), args, strict=False))
    more: dict[str, Any] = {}
    for name, value in keywords.items():
        known = otherwise.get(name, name)
        (found if known in _KNOWN else more)[known] = value
    if operation == "open" and "config" not in found:
        found["config"], more = {**more}, {}  # the Hermes binding spreads it over keywords
    if extra := args[len(_POSITIONS.get(operation, ())) :]:
        more["args"] = list(extra)
    return {**found, "more": more} if more else found
