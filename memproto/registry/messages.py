"""What a provider is handed: copies of JSON-shaped values, plain text where that is promised."""

from collections.abc import Mapping, Sequence
from typing import Any

from memproto.types import Message

_TEXT_PARTS = (None, "text", "input_text", "output_text")
_DEEPEST = 64  # deeper values hold themselves, or were never JSON


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


def normalised(messages: Sequence[Any]) -> list[Message]:
    """Returns `messages` as `{"role": str, "content": str}`; what is no message is left out."""
    return [
        {"role": plain_text(message.get("role")), "content": plain_text(message.get("content"))}
        for message in messages
        if isinstance(message, Mapping)
    ]


def copied_messages(messages: Sequence[Any]) -> list[Any]:
    """Returns `copied(messages)`; fast where the values are text, as most are."""
    return [_copied_message(m) if m.__class__ is dict else copied(m) for m in messages]


def _copied_message(message: Message) -> Message:
    copy = message.copy()
    for key, value in message.items():
        if value.__class__ is not str:
            copy[key] = copied(value)
    return copy


def copied(value: Any, depth: int = 0) -> Any:
    """Returns `value` with every dict, list and set in it copied; other objects are shared."""
    kind = value.__class__
    if kind is str or depth > _DEEPEST:
        return value
    if kind is dict:
        return {
            key: item if item.__class__ is str else copied(item, depth + 1)
            for key, item in value.items()
        }
    if kind is list:
        return [copied(item, depth + 1) for item in value]
    return set(value) if kind is set else value
