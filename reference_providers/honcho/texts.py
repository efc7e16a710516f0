"""Texts in a form that the server takes, and back; and cut to the room that there is."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memproto.reference_providers.halves import joined

#: The server's limit for one message.
MESSAGE_CHARS = 25_000

#: The length at which a conclusion is split. It is embedded whole, and may have 8,192 tokens; no
#: tokenizer makes more tokens of a text than it has bytes.
CONCLUSION_BYTES = 8_192

#: Characters of a text to search by, and to ask the server's model. With four bytes each at
#: most, a query stays below the limit of what is embedded.
QUERY_CHARS, CHAT_CHARS = 2_000, 10_000

#: Mark before every part of a text but the first.
CONTINUED = "[continued] "

#: Names of a tokenizer's own signs; the server refuses a batch for one of them.
_SIGN = re.compile(r"<\|(?=\w+\|>)")
_APART = "<\u200b|"

#: As the server writes the time of a conclusion: in UTC, and without saying so.
_TIME = re.compile(r"^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\] ", re.MULTILINE)

#: Characters to look back for a place to split.
_BACK = 200


def sent(text: str) -> str:
    """The text as it is sent: no half of a character, no sign of a tokenizer, no NUL."""
    return _SIGN.sub(_APART, joined(text)).replace("\0", "")


def sent_whole(value: Any) -> Any:
    """The same with every text in a JSON value as it is sent."""
    if isinstance(value, str):
        return sent(value)
    if isinstance(value, Mapping):
        return {sent(str(key)): sent_whole(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [sent_whole(part) for part in value]
    return value


def query(text: str) -> str:
    """The beginning of a text as it is searched by."""
    return sent(text[:QUERY_CHARS])[:QUERY_CHARS]


def read(text: str) -> str:
    """The text as it was before it was sent, and without the mark of a part."""
    return text.replace(_APART, "<|").removeprefix(CONTINUED)


def parts(text: str, most: int = MESSAGE_CHARS) -> Iterator[str]:
    """The text in parts of at most so many characters, split at a space where one is near."""
    mark = ""
    while len(mark) + len(text) > most:
        end = _end(text, most - len(mark))
        yield mark + text[:end]
        text, mark = text[end:], CONTINUED
    yield mark + text


def conclusions(text: str) -> list[str]:
    """The text in parts of at most 8,192 bytes of UTF-8, split at a space where one is near."""
    made: list[str] = []
    mark = ""
    while len((mark + text).encode()) > CONCLUSION_BYTES:
        room = CONCLUSION_BYTES - len(mark)
        # A character that the cut went through is left to the next part.
        fits = text[:room].encode()[:room].decode("utf-8", "ignore")
        end = _end(text, len(fits))
        made.append(mark + text[:end])
        text, mark = text[end:], CONTINUED
    return [*made, mark + text]


def _end(text: str, room: int) -> int:
    near = max(text.rfind(" ", room - _BACK, room), text.rfind("\n", room - _BACK, room))
    return near + 1 if near > 0 else room


def dated(text: str) -> str:
    """The server's text with the offset of each time, which is that of UTC."""
    return _TIME.sub(r"[\1T\2+00:00] ", text)


def fitting(lines: Iterable[str], room: int) -> list[str]:
    """The first lines that fit together; the first one cut where it does not fit at all."""
    kept: list[str] = []
    for line in lines:
        if len(line) + 1 > room:
            return kept or [line[: max(room, 0)]]
        kept.append(line)
        room -= len(line) + 1
    return kept


#: A message that asks for nothing.
_TRIVIAL = re.compile(
    r"(yes|no|ok|okay|k|sure|thanks|thank you|thx|y|n|yep|nope|yeah|nah|go|continue|proceed"
    r"|go ahead|do it|done|next|cool|nice|great|got it|right|perfect|please|lgtm)[\s.!]*",
    re.IGNORECASE,
)


def is_trivial(message: str) -> bool:
    """True if there is nothing in a message to look for."""
    text = message.strip()
    return not text or text.startswith("/") or _TRIVIAL.fullmatch(text) is not None


_WORD = re.compile(r"\w{3,}")
_MOST_WORDS = 4
_COMMON = frozenset(
    """
    the and for are was were what which who whom whose where when why how does did has have had with
    from that this these those there their they them then than you your our can could should would
    will about into over under not any all some through please tell
    """.split()  # noqa: SIM905 - words read better than a list of texts
)


def telling(question: str) -> list[str]:
    """The words of a question by which a text is found: names first, then the longest."""
    words = list(dict.fromkeys(_WORD.findall(question)))
    known = [word for word in words if word.casefold() not in _COMMON]
    known.sort(key=lambda word: (not word[0].isupper(), -len(word)))
    return known[:_MOST_WORDS]
