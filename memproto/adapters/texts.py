"""Plain text where a host hands over more: content made of parts, messages with tool calls."""

from collections.abc import Mapping, Sequence
from typing import Any

from memproto.types import Message

_TEXT_PARTS = (None, "text", "input_text", "output_text")


def plain_text(content: object) -> str:
    """
    Returns the text of a message's content: a str as it is, the text parts of a list by lines.

    None and whatever else holds no text give "".
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    return "\n".join(text for text in map(_part_text, content) if text is not None)


def _part_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("type") not in _TEXT_PARTS:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def cut_at_line(text: str, most: int) -> str:
    """
    Returns as many whole lines of `text` as have room in `most` characters.

    Of a first line that is longer, what has room.
    """
    if len(text) <= most:
        return text
    return text[: text.rfind("\n", 0, most + 1) + 1].rstrip() or text[:most]


def normalised(messages: Sequence[Any]) -> list[Message]:
    """Returns `messages` as `{"role": str, "content": str}`; what is no message is left out."""
    return [
        {"role": plain_text(message.get("role")), "content": plain_text(message.get("content"))}
        for message in messages
        if isinstance(message, Mapping)
    ]
