"""The errors of the wire: codes, names, and the errors of the protocol that they stand for."""

import math
from typing import Any

from memproto.errors import (
    Misconfigured,
    ProviderError,
    Rejected,
    TooLarge,
    Unavailable,
    WriteRefused,
)

#: Name to code, as in wire-errors.toml.
CODES: dict[str, int] = {
    "ParseError": -32700,
    "InvalidRequest": -32600,
    "MethodNotFound": -32601,
    "InvalidParams": -32602,
    "InternalError": -32603,
    "Cancelled": -32800,
    "UnsupportedVersion": -32001,
    "NotOpen": -32002,
    "Misconfigured": -32010,
    "Unavailable": -32011,
    "Rejected": -32012,
    "TooLarge": -32013,
    "WriteRefused": -32014,
}

#: Code to name.
NAMES = {code: name for name, code in CODES.items()}

#: The errors by which a provider reports; a subclass counts as the first of them.
_REPORTS: tuple[type[ProviderError], ...] = (
    Misconfigured,
    Unavailable,
    Rejected,
    TooLarge,
    WriteRefused,
)

#: Characters that are sent of a message.
_SENT_CHARS = 2000


def error(name: str, message: str, **data: Any) -> dict[str, Any]:
    """The `error` of an answer, by the name of the code."""
    found = {"type": name, **data}
    return {"code": CODES[name], "message": message[:_SENT_CHARS], "data": found}


def of_exception(raised: BaseException) -> dict[str, Any]:
    """The `error` that says what a provider raised; anything but a report is an InternalError."""
    text = str(raised)
    kind = next((kind for kind in _REPORTS if isinstance(raised, kind)), None)
    if kind is None:
        told = f"{type(raised).__name__}: {text}"
        return {**error("InternalError", told), "data": {"type": type(raised).__name__}}
    retry_s = getattr(raised, "retry_after_s", None)
    is_time = isinstance(retry_s, int | float) and math.isfinite(retry_s) and retry_s >= 0
    more = {"retry_after_s": retry_s} if is_time and not isinstance(retry_s, bool) else {}
    return error(kind.__name__, text, **more)


def to_report(found: dict[str, Any]) -> ProviderError | None:
    """The report that the `error` of an answer stands for; None if it stands for none."""
    name, text = NAMES.get(found.get("code", 0)), str(found.get("message", ""))
    if name == "Unavailable":
        data = found.get("data")
        retry_s = data.get("retry_after_s") if isinstance(data, dict) else None
        is_time = isinstance(retry_s, int | float) and not isinstance(retry_s, bool)
        return Unavailable(text, retry_after_s=retry_s if is_time else None)
    kind = next((kind for kind in _REPORTS if kind.__name__ == name), None)
    return kind(text) if kind else None
