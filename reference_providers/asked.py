"""Bounds of a question to a memory: hits that a model wants, characters that there is room for."""

from collections.abc import Callable
from typing import TypeVar

from memproto.errors import Rejected

T = TypeVar("T")


def limit(value: object, *, usual: int, most: int) -> int:
    """
    Number of hits that the argument `limit` of a tool asks for, which may be left out.

    Raises:
        Rejected: It is no whole number; one that is out of bounds is brought within.

    """
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value // 1:
        raise Rejected(f"limit is {value!r}, and not a number from 1 to {most}")
    return int(min(max(value, 1), most))


def fitting(found: list[T], room: int | None, *, joint: int, text: Callable[[T], str]) -> list[T]:
    """
    Those whose texts have room together, whole; all of them where `room` is None.

    Args:
        found: The best first.
        room: The most characters of all.
        joint: Number of characters between two.
        text: Gives the text of one.

    """
    if room is None:
        return found
    left, kept = room + joint, []
    for one in found:
        if len(text(one)) + joint <= left:
            left -= len(text(one)) + joint
            kept.append(one)
    return kept
