"""The messages of a provider in a process of its own, against the schema of their version."""

import functools
from typing import Any

from memproto import spec


def unfit(message: Any, method: str) -> str:
    """
    Why a message of a server does not fit its schema; "" if it does.

    `method` is that of the request which it answers, or "". The shape of the result of an operation
    is the matter of the requirements on it.
    """
    if not isinstance(message, dict):
        return "it is no object"
    if "error" in message:
        kind = "error"
    elif "id" in message:
        kind = "result"
    else:
        kind = "log"
    fault = _fault(kind, message)
    if not fault and method == "initialize" and kind == "result":
        fault = _fault("greeting", message.get("result"))
    return fault


def _fault(kind: str, value: Any) -> str:
    from jsonschema.exceptions import best_match

    error = best_match(_validator(kind).iter_errors(value))
    return "" if error is None else f"{error.json_path}: {error.message}"[:300]


@functools.cache
def _validator(kind: str) -> Any:
    """The validator of one kind of message: the whole schema would tell of every other kind."""
    # A third of a child's start, which most providers do not need.
    from jsonschema import Draft202012Validator

    schema = spec.schema("wire-message")
    head = {"required": ["jsonrpc"], "properties": schema["properties"]}
    whole = {} if kind == "greeting" else head
    return Draft202012Validator({"allOf": [whole, schema["$defs"][kind]], "$defs": schema["$defs"]})
