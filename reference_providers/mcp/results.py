"""The texts in the answer of a server's tool, whatever its shape."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

#: Words that tell nothing about what is asked for.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about after also been before could does from have into just like more most much only other"
        " over said same should some such than that their them then there these they this those"
        " very want were what when where which while whom whose will with would your",
    )
)
_LEAST = 3
_MOST_WORDS = 8


def texts(answer: Mapping[str, Any], place: str) -> list[str]:
    """
    The texts in an answer of `tools/call`, in their order.

    `place` leads to them through the answer's JSON, key by key; lists on the way are gone through.
    Without one, each text block of the answer is a text.
    """
    if not place:
        return [text for text in _blocks(answer) if text.strip()]
    for document in _documents(answer):
        found = [text for text in _at(document, place.split(".")) if isinstance(text, str)]
        if found:
            return [text for text in found if text.strip()]
    return []


def _blocks(answer: Mapping[str, Any]) -> list[str]:
    blocks = answer.get("content") or []
    return [block.get("text", "") for block in blocks if block.get("type") == "text"]


def _documents(answer: Mapping[str, Any]) -> Iterator[Any]:
    """Parts that may be the answer's JSON: wrapped, or as text, in one block or in several."""
    if answer.get("structuredContent") is not None:
        yield answer["structuredContent"]
    blocks = _blocks(answer)
    for texts in (["".join(blocks)], blocks):
        with contextlib.suppress(ValueError, RecursionError):
            yield [json.loads(text) for text in texts]


def _at(value: Any, keys: list[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _at(part, keys)
    elif not keys:
        yield value
    elif isinstance(value, Mapping) and keys[0] in value:
        yield from _at(value[keys[0]], keys[1:])


def shown(answer: Mapping[str, Any]) -> Any:
    """An answer as the model is to see it: its JSON where it is JSON, else its text."""
    text = "\n".join(_blocks(answer))
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return text or answer.get("structuredContent")


def telling(message: str) -> list[str]:
    """The words of a message by which a text can be found, the longest first."""
    words = dict.fromkeys(re.findall(r"\w+", message))
    kept = [word for word in words if len(word) > _LEAST and word.casefold() not in _COMMON]
    return sorted(kept or words, key=len, reverse=True)[:_MOST_WORDS]


def fits(text: str, words: list[str]) -> int:
    """Number of the words that stand in a text."""
    folded = text.casefold()
    return sum(word.casefold() in folded for word in words)
