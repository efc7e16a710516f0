"""
The part of a call or an answer that is written as it is: specified words, numbers and digests.

Nothing here is a text of a user's: if a value is none of the words that the specification has
for it, `other` stands in its place.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from memproto.fence import begins_memory_context
from memproto.operations import EXTENSION_HOOKS, OPERATIONS
from memproto.recording.salt import Salt

_CONTEXTS = ("primary", "subagent", "cron", "flush")
_BUDGETS = ("initialize_s", "enrich_s", "compress_s", "shutdown_s", "turn_start_s", "tool_s")
_KEYS = ("home", "protocol", "deadlines", "limits", "platform", "user_id", "agent_identity")
_MOST_NAMES = 256
_MOST_JSON = 1 << 20


def of_call(operation: str, args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    """Facts of a call beside the digests of its arguments."""
    told = _OF_CALL.get(operation)
    return told(args, salt) if told else {}


def of_answer(operation: str, answer: object, salt: Salt) -> dict[str, Any]:
    """Facts of an answer beside its type, size and digest."""
    told = _OF_ANSWER.get(operation)
    return told(answer, salt) if told else {}


def _word(value: object, words: tuple[str, ...]) -> str:
    return value if isinstance(value, str) and value in words else "other"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


# -- of a call -------------------------------------------------------------------------------------


def _open(args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    config = args.get("config")
    if not isinstance(config, Mapping):
        return {}
    told: dict[str, Any] = {"context": _word(config.get("agent_context", "primary"), _CONTEXTS)}
    told["keys"] = [key for key in _KEYS if key in config]
    protocol, deadlines = config.get("protocol"), config.get("deadlines")
    if isinstance(protocol, Mapping):
        told |= _protocol(protocol)
    if isinstance(deadlines, Mapping):
        told["deadlines"] = {k: deadlines[k] for k in _BUDGETS if _is_number(deadlines.get(k))}
    return told


def _protocol(protocol: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    contexts, called = protocol.get("contexts"), protocol.get("hooks")
    if isinstance(contexts, list | tuple):
        told["contexts"] = sorted({_word(one, _CONTEXTS) for one in contexts})
    if isinstance(called, list | tuple):
        told["hooks"] = [row.native for row in OPERATIONS.values() if row.native in called]
    return told


def _messages(args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    messages = args.get("messages")
    if not isinstance(messages, list | tuple):
        return {}
    return {"plain": all(map(_is_plain, messages))}


def _is_plain(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    return all(isinstance(message.get(key), str) for key in ("role", "content"))


def _mirror(args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    return {
        "action": _word(args.get("action"), ("add", "replace", "remove")),
        "target": _word(args.get("target"), ("memory", "user")),
    }


def _switch(args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    return {key: args.get(key) is True for key in ("reset", "rewound")}


def _turn_start(args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    number = args.get("turn_number")
    return {"turn": number} if type(number) is int else {}


def _record(args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    texts = [args.get("user_message"), args.get("assistant_response")]
    return {"turn_texts": salt.digest(texts), "block": _holds_block(texts[0])}


def _record_turn(args: Mapping[str, Any], salt: Salt) -> dict[str, Any]:
    turn = args.get("turn")
    if not isinstance(turn, Mapping):
        return {}
    return {
        "turn_id": salt.digest(turn.get("turn_id")),
        "turn_message": salt.digest(turn.get("user_message")),
        "turn_session": salt.digest(turn.get("session_id")),
        "turn_texts": salt.digest([turn.get("user_message"), turn.get("assistant_response")]),
        "turn_context": _word(turn.get("context", "primary"), _CONTEXTS),
        "block": _holds_block(turn.get("user_message")),
    }


def _holds_block(text: object) -> bool:
    return isinstance(text, str) and begins_memory_context(text)


_OF_CALL: dict[str, Callable[[Mapping[str, Any], Salt], dict[str, Any]]] = {
    "open": _open,
    "compress": _messages,
    "compress_notes": _messages,
    "end": _messages,
    "mirror": _mirror,
    "switch": _switch,
    "turn_start": _turn_start,
    "record": _record,
    "record_turn": _record_turn,
}


# -- of an answer ----------------------------------------------------------------------------------


def _available(answer: object, salt: Salt) -> dict[str, Any]:
    return {"answer": answer} if type(answer) is bool else {}


def _declare(answer: object, salt: Salt) -> dict[str, Any]:
    if not isinstance(answer, Mapping):
        return {}
    declared, names = answer.get("extensions", ()), answer.get("tool_names", ())
    known = [name for name in EXTENSION_HOOKS if _holds(declared, name)]
    told = {"extensions": known, "tool_names": _digests(names, salt)}
    return {key: value for key, value in told.items() if value is not None}


def _holds(values: object, name: str) -> bool:
    return isinstance(values, list | tuple | set | frozenset) and name in values


def _tools(answer: object, salt: Salt) -> dict[str, Any]:
    if not isinstance(answer, list | tuple):
        return {}
    schemas = [_bare(schema) for schema in answer]
    names = _digests([s.get("name") for s in schemas if isinstance(s, Mapping)], salt)
    return {} if names is None else {"tool_names": names}


def _bare(schema: Any) -> Any:
    inner = schema.get("function") if isinstance(schema, Mapping) else None
    return inner if isinstance(inner, Mapping) else schema


def _digests(names: object, salt: Salt) -> list[str] | None:
    """Digests of names, in an order that says nothing; None where they are too many, or none."""
    if not isinstance(names, list | tuple | set | frozenset) or len(names) > _MOST_NAMES:
        return None
    return sorted(salt.digest(name) for name in names)


def _call_tool(answer: object, salt: Salt) -> dict[str, Any]:
    if not isinstance(answer, str):
        return {"json": False}
    return {} if len(answer) > _MOST_JSON else {"json": _is_json(answer)}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True  # deeper than this interpreter reads; not for a trace to blame
    except ValueError:
        return False
    return True


_OF_ANSWER: dict[str, Callable[[object, Salt], dict[str, Any]]] = {
    "available": _available,
    "declare": _declare,
    "tools": _tools,
    "call_tool": _call_tool,
}
