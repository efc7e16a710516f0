"""On which line of a settings file a key stands, so that a message can name it."""

import re

_HEADER = re.compile(r"\s*\[\[?(?P<path>[^\]]+)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*(?P<path>(?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")

#: Under which a pyproject.toml holds our table; in memproto.toml it may be left out.
_ABOVE = ("tool", "memproto")


def line_of(text: str, wanted: tuple[str, ...]) -> int | None:
    """
    The number of the line that sets the key `wanted`, as well as it can be known.

    Where the key stands inside of a value, it is the line of the nearest key or table around it.
    """
    table: tuple[str, ...] = ()
    best, found = 0, None
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _path(header["path"])
        elif not key:
            continue
        depth = _shared(table if header or not key else (*table, *_path(key["path"])), wanted)
        if depth > best:
            best, found = depth, number
    return found


def _path(text: str) -> tuple[str, ...]:
    parts = tuple("".join(groups) for groups in _PART.findall(text))
    return parts[len(_ABOVE) :] if parts[: len(_ABOVE)] == _ABOVE else parts


def _shared(here: tuple[str, ...], wanted: tuple[str, ...]) -> int:
    """How many parts the two have in common, where one leads to the other; else 0."""
    length = min(len(here), len(wanted))
    return length if here[:length] == wanted[:length] else 0
