"""The JSON document of a tool's answer."""

import json
from typing import Any

#: A `status` that says that nothing was done.
_FAILED = frozenset({"error", "failed", "failure"})


def is_refusal(document: Any) -> bool:
    """
    True if a document says that the tool did not do what was asked.

    Spec: `$defs/refusal` of tool-result.schema.json.
    """
    if not isinstance(document, dict):
        return False
    said_no = any(document.get(name) is False for name in ("success", "ok"))
    marked = any(document.get(name) is True for name in ("isError", "is_error"))
    status = document.get("status")
    failed = isinstance(status, str) and status in _FAILED
    return bool(document.get("error")) or said_no or marked or failed


def refused(answer: Any) -> bool:
    """True if a tool's answer, as text, is such a document; any other answer is none."""
    try:
        return is_refusal(json.loads(answer))
    except (TypeError, ValueError):
        return False
