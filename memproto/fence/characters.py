"""
The reading of one character: it is read as what a lenient reader takes it for.

Look of letters, width, case, kinds of white space and invisible characters no longer differ. The
reading of a character comes from `fence_tables`, never from the Python that runs.
"""

import functools
import re
from collections.abc import Iterator

from memproto.fence import tables

#: In a reading: a character that is not seen, one that turns the direction of what follows, and one
#: that ends that.
UNSEEN, TURN, RETURN = "\0", "\1", "\2"
#: All unseen characters that a reading keeps.
HIDDEN = UNSEEN + TURN + RETURN

#: Characters that look like a colon. They are read as themselves: in a label some are letters.
COLONS = (
    "\u02d0\u02f8\u0589\u05c3\u0703-\u0709\u0903\u0a83\u16ec\u1803\u1804\u1809\u205a\u2236\u2237"
    "\u2982\ua4fd\ua6f4\ua789\ufe13\ufe30\ufe55\uff1a\U00010781\U00011dd9\U00012471\U0001da8a"
)

_KNOWN_LIMIT = 16384
_TURNS = (0x202B, 0x202E, 0x2067)
_RETURNS = (0x202C, 0x2069)
_BREAKS = "\n\r\v\f\x1c\x1d\x1e"


class Folds(dict[int, str | int]):
    """A table for `str.translate`; what is not in it is read as itself."""

    def __missing__(self, code: int) -> int:
        if len(self) < _KNOWN_LIMIT:
            self[code] = code
        return code

    def of(self, code: int) -> str:
        """The text as which the character of this code is read."""
        fold = self[code]
        return fold if isinstance(fold, str) else chr(fold)


def codes(ranges: str) -> Iterator[int]:
    """The codes of one row of the tables."""
    for piece in ranges.split():
        first, _, last = piece.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


def _ascii() -> dict[int, str | int]:
    table: dict[int, str | int] = {code: chr(code).lower() for code in range(0x20, 0x7F)}
    table |= dict.fromkeys([*range(0x20), 0x7F], UNSEEN)
    table |= dict.fromkeys(map(ord, _BREAKS), "\n")
    return table | {ord("\t"): " ", 0x1F: " ", ord("_"): "-", ord("~"): "-"}


@functools.cache
def visible() -> Folds:
    """The table of what is seen."""
    table = Folds(_ascii())
    for reading, ranges in tables.FOLDS.items():
        table.update(dict.fromkeys(codes(ranges), reading))
    table.update(dict.fromkeys(_TURNS, TURN))
    table.update(dict.fromkeys(_RETURNS, RETURN))
    return table


@functools.cache
def smuggled() -> Folds:
    """The same, with Tags and the bytes in variation selectors taken for what they carry."""
    table = Folds(visible())
    for code in range(0x20, 0x7F):
        carried = table.of(code)
        table[0xE0000 + code] = carried
        table[0xE0100 + code - 16] = carried
    for code in range(0x80, 0x100):
        table[0xE0100 + code - 16] = table.of(code)
    return table


@functools.cache
def smugglers() -> re.Pattern[str]:
    """The characters that carry others."""
    return re.compile("[\U000e0020-\U000e007e\U000e0110-\U000e01ef]")
