"""
One message of the wire as one line, and back; the rules of the line are in 85-wire.md.

The line is JSON in UTF-8. Its strings are Unicode scalar values, and its whole numbers those that
every language holds exactly.
"""

import json
import re
from typing import Any, NoReturn

__all__ = ["MAX_LINE", "MOST", "Malformed", "Unsendable", "decode", "encode", "has_halves"]

#: Bytes that a line may have, its line feed included.
MAX_LINE = 16 * 1024 * 1024

#: The greatest whole number of a message; the smallest is its negative.
MOST = 2**53 - 1

_HALVES = re.compile("[\ud800-\udfff]")
_HALF_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")


class Unsendable(ValueError):
    """A value cannot be sent: it is no JSON, not finite, too great, or the line is too long."""


class Malformed(ValueError):
    """
    A line is no message.

    Attributes:
        name: The error by which a server answers it: `ParseError` or `InvalidRequest`.

    """

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(fault)
        self.name = name


def encode(message: dict[str, Any]) -> bytes:
    """
    The line of a message, ended by a line feed; half surrogates become U+FFFD.

    A set stands for an array.

    Raises:
        Unsendable: It holds what no message can.

    """
    try:
        _assert_exact(message)
        text = _ENCODER.encode(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unsendable(str(error)) from None
    try:
        line = text.encode("utf-8")
    except UnicodeEncodeError:
        line = _HALVES.sub("\ufffd", text).encode("utf-8")
    if len(line) >= MAX_LINE:
        raise Unsendable(f"the line has {len(line) + 1:,} bytes, and may have {MAX_LINE:,}")
    return line + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """
    The object of a line, with its line feed or without; half surrogates become U+FFFD.

    Raises:
        Malformed: It is no UTF-8, no JSON, or no object.

    """
    try:
        message = _DECODER.decode(line.decode("utf-8"))
        if b"\\u" in line and _HALF_ESCAPED.search(line):
            whole = _HALVES.sub("\ufffd", json.dumps(message, ensure_ascii=False))
            message = json.loads(whole)
    except UnicodeDecodeError as error:
        raise Malformed("ParseError", f"the line is no UTF-8: {error.reason}") from None
    except (ValueError, RecursionError) as error:
        raise Malformed("ParseError", f"the line is no JSON: {error}"[:200]) from None
    if not isinstance(message, dict):
        raise Malformed("InvalidRequest", "the JSON is no object")
    return message


def has_halves(line: bytes) -> bool:
    """True if a line of JSON has an escape of half a surrogate pair."""
    if b"\\u" not in line or not _HALF_ESCAPED.search(line):
        return False
    return _HALVES.search(json.dumps(json.loads(line), ensure_ascii=False)) is not None


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    raise TypeError(f"{type(value).__name__} is no value of JSON")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _assert_exact(value: Any) -> None:
    """Raises Unsendable if it holds too great a whole number; RecursionError if it holds itself."""
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is float:
        return
    if isinstance(value, dict):
        for item in value.values():
            _assert_exact(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            _assert_exact(item)
    elif isinstance(value, int) and abs(value) > MOST:
        raise Unsendable("a whole number is beyond 2^53-1")


#: Made once: to make one takes longer than a short message does.
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain
)
_DECODER = json.JSONDecoder(parse_constant=_refuse)
