"""Properties of a value that nobody may read: its type, its size, and a salted digest."""

import hashlib
import hmac
import os
from collections.abc import Iterable
from typing import Any

#: Of a value, so many characters go into its digest at most, so many members, and so deep.
_MOST_CHARS = 1 << 20
_MOST_MEMBERS = 1 << 16
_DEEPEST = 32

_KINDS: dict[type, str] = {
    str: "str",
    bool: "bool",
    int: "int",
    float: "float",
    bytes: "bytes",
    type(None): "null",
    list: "list",
    tuple: "list",
    set: "list",
    frozenset: "list",
    dict: "object",
}


def kind_of(value: object) -> str:
    """The JSON-like type of `value`; `other` for everything else. Runs no code of its type."""
    kind = _KINDS.get(type(value))
    if kind is None:
        kinds = (kind for known, kind in _KINDS.items() if issubclass(type(value), known))
        kind = next(kinds, "other")
    return kind


class Salt:
    """
    Digests that are equal for equal values, as far as one recording goes.

    The key is drawn at random, kept in this object and written nowhere: whoever has the trace can
    see that two texts are equal, and cannot try a list of texts to find out which.
    """

    def __init__(self) -> None:
        self._key = os.urandom(32)

    def digest(self, value: object) -> str:
        """32 hexadecimal digits; of a very large value its beginning and its size count."""
        return hmac.new(self._key, _Parts().of(value), hashlib.sha256).hexdigest()[:32]

    def shape(self, value: object) -> dict[str, Any]:
        """Type, size and digest: characters of a text, members of a list or an object."""
        kind = kind_of(value)
        shape: dict[str, Any] = {"type": kind}
        try:
            if kind in ("str", "bytes", "list", "object"):
                shape["size"] = len(value)  # type: ignore[arg-type]
            if kind not in ("null", "other"):
                shape["digest"] = self.digest(value)
        except Exception:  # a subclass that answers as it likes, or another thread changes it
            return {"type": kind}
        return shape


class _Parts:
    """A value as bytes, within bounds: other bytes for other values."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._chars = _MOST_CHARS
        self._members = _MOST_MEMBERS

    def of(self, value: object) -> bytes:
        self._feed(value, 0)
        return b"".join(self._parts)

    def _feed(self, value: Any, depth: int) -> None:
        kind = kind_of(value)
        if kind in ("str", "bytes"):
            self._text(kind, value)
        elif kind in ("list", "object") and depth < _DEEPEST:
            self._open(kind, len(value))
            for part in _members(value):
                if self._members <= 0 or self._chars <= 0:
                    return
                self._members -= 1
                self._feed(part, depth + 1)
        elif kind in ("list", "object", "other"):
            self._open(kind, 0)
        else:
            self._open(kind, 0)
            self._parts.append(repr(value).encode("ascii", "backslashreplace"))

    def _open(self, kind: str, size: int) -> None:
        self._parts.append(b"%b:%d;" % (kind.encode(), size))

    def _text(self, kind: str, value: str | bytes) -> None:
        self._open(kind, len(value))
        part = value if len(value) <= self._chars else value[: max(self._chars, 0)]
        self._chars -= len(part)
        self._parts.append(
            part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        )


def _members(value: Any) -> Any:
    """The members, in an order that is the same for equal values; of an object, under text keys."""
    if isinstance(value, dict):
        return [part for key in _texts(value) for part in (key, value[key])]
    return _texts(value) if isinstance(value, set | frozenset) else value


def _texts(values: Iterable[object]) -> list[str]:
    return sorted(value for value in values if isinstance(value, str))
