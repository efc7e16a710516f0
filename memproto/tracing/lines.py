"""One line of a trace: from bytes to a dict of which every field has the type that it should."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from memproto.bindings import BUILT_IN
from memproto.operations import OPERATIONS

#: The newest format that is read here.
FORMAT = 1

#: No line of a trace is longer; what is, is something else.
LONGEST = 1 << 20

_GREATEST = 1e15

_DIGEST = re.compile("[0-9a-f]{16,64}")
_ID = re.compile("[0-9a-f]{16}")


class NoLine(Exception):
    """
    A line that was read is none of a trace; the text says why.

    Attributes:
        number: Its number in the trace, where that could be read, else -1.
        trace: The trace that it belongs to, or "".

    """

    def __init__(self, reason: str, trace: str = "", number: int = -1) -> None:
        super().__init__(reason)
        self.trace = trace
        self.number = number


def parsed(raw: bytes) -> dict[str, Any]:
    """
    The fields of one line, without its line break.

    Raises:
        NoLine: It is none that this release reads.

    """
    row = _object(raw)
    trace, number = row.get("trace"), row.get("seq")
    if not _is_id(trace) or not _is_count(number) or not isinstance(row.get("kind"), str):
        raise NoLine("this is JSON, and no line of a trace: `trace`, `seq` or `kind` is missing")
    assert isinstance(trace, str)
    assert isinstance(number, int)
    reason = _fault(row)
    if reason:
        raise NoLine(reason, trace, number)
    return row


def _object(raw: bytes) -> dict[str, Any]:
    try:
        row = json.loads(raw.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise NoLine("this is no text in UTF-8") from None
    except (ValueError, RecursionError):
        raise NoLine("this is no JSON") from None
    if not isinstance(row, dict):
        raise NoLine("this is JSON, and no object")
    return row


def _no_number(constant: str) -> None:
    raise ValueError(constant)


def _fault(row: Mapping[str, Any]) -> str:
    """The fault in the fields of a line, or ""."""
    kind = row["kind"]
    if kind not in _FIELDS:
        return f"a line of kind {kind!r} is none of format {FORMAT}"
    if kind == "start" and _is_count(row.get("format")) and row["format"] > FORMAT:
        return (
            f"format {row['format']} is newer than {FORMAT}, the newest that this memproto reads; "
            "a newer memproto reads it"
        )
    for name, fits in _FIELDS[kind].items():
        if name not in row:
            return f"a line of kind {kind!r} lacks `{name}`"
        if not fits(row[name]):
            return f"`{name}` of a line of kind {kind!r} is not what it should be"
    return ""


# -- fields ----------------------------------------------------------------------------------------


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def is_number(value: object) -> TypeGuard[float]:
    """True if `value` is a number that can be reckoned with; JSON has greater ones."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _GREATEST


def _is_seconds(value: object) -> bool:
    return is_number(value) and value >= 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _is_session(value: object) -> bool:
    return value == "" or (isinstance(value, str) and _DIGEST.fullmatch(value) is not None)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _among(*words: object) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str | int) and value in words


_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "start": {"at_s": is_number, "format": _among(1), "spec": _is_text, "started_at": _is_text},
    "provider": {
        "at_s": is_number,
        "instance": _is_count,
        "provider": _is_text,
        "binding": _among(*(binding.name for binding in BUILT_IN)),
    },
    "begin": {
        "at_s": is_number,
        "call": _is_count,
        "instance": _is_count,
        "operation": _among(*OPERATIONS),
        "hook": _is_word,
        "session": _is_session,
        "thread": lambda value: type(value) is int,
        "args": _is_object,
        "facts": _is_object,
    },
    "end": {
        "at_s": is_number,
        "call": _is_count,
        "took_s": _is_seconds,
        "outcome": _among("returned", "raised"),
        "facts": _is_object,
    },
    "stop": {"at_s": is_number, "dropped": _is_count},
}
