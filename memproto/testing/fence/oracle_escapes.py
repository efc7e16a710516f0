"""
Escapes as the oracle reads them: a view of a text with what escapes stand for in their place.

Each is decoded once, by hand and character by character, on the names of Python's own table: no
pattern is shared with the sanitizer. A wide reader knows more kinds.
"""

import html
import html.entities

from memproto.testing.fence.oracle_tables import BREAK, RETURN, SPACE, TURN
from memproto.testing.fence.oracle_views import Builder, View, seen

#: Times that the reader decodes what he has decoded; and those of a wide one.
ROUNDS, WIDE_ROUNDS = 3, 9

_HEX = frozenset("0123456789abcdef")
_DIGITS = frozenset("0123456789")
_LONGEST_NAME = 32
#: Controls in whose place a reference of HTML has what Windows has there.
_C1 = frozenset(map(chr, range(0x80, 0xA0)))
_NAMES = {name.lower(): text for name, text in html.entities.html5.items()} | {
    name: text for name, text in html.entities.html5.items() if name == name.lower()
}
_BARE = frozenset(name for name in _NAMES if not name.endswith(";"))


def decoded(
    view: View, *, smuggling: bool = False, is_wide: bool = False, by: str = "&%\\"
) -> View | None:
    """
    The view with what begins with one of the marks `by` decoded once; None where none does.

    A wide reader knows more kinds of escapes, and leaves what he cannot decode as it is.
    """
    symbols = view.symbols
    marks = [place for place, symbol in enumerate(symbols) if symbol in by]
    builder, done = Builder(), 0
    for mark in marks:
        if mark < done:
            continue
        found = _decode(symbols, mark, is_wide=is_wide)
        if found:
            builder.copy(view, done, mark)
        for character, start, stop in found:
            symbols_seen = seen(character, smuggling=smuggling)
            origins = view.starts[start], view.starts[stop - 1]
            ends = view.ends[start], view.ends[stop - 1]
            builder.add(symbols_seen, min(origins), max(ends))
            done = stop
    if not done:
        return None
    builder.copy(view, done, len(symbols))
    return builder.view()


def collapsed(view: View) -> View | None:
    """The view with each escape of an escape character, as often as it was escaped, as that one."""
    symbols = view.symbols
    builder, done = Builder(), 0
    for mark in [place for place, symbol in enumerate(symbols) if symbol in "&%\\"]:
        stop = _again(symbols, mark)
        if mark >= done and stop > mark + 1:
            builder.copy(view, done, mark)
            origins = view.starts[mark], view.starts[stop - 1]
            ends = view.ends[mark], view.ends[stop - 1]
            builder.add(symbols[mark], min(origins), max(ends))
            done = stop
    if not done:
        return None
    builder.copy(view, done, len(symbols))
    return builder.view()


def _again(symbols: str, at: int) -> int:
    """Behind what escapes the mark again."""
    again = {"&": "amp", "%": "25", "\\": "\\"}[symbols[at]]
    stop = at + 1
    while symbols.startswith(again, stop):
        stop += len(again)
        stop += again == "amp" and symbols[stop : stop + 1] == ";"
    return stop


def _decode(symbols: str, at: int, *, is_wide: bool) -> list[tuple[str, int, int]]:
    """The characters written at a mark, each with its stretch of symbols."""
    if symbols[at] == "%":
        return _percent(symbols, at, is_wide=is_wide)
    if symbols[at] == "&":
        text, stop = _entity(symbols, at, is_wide=is_wide)
    else:
        text, stop = _backslash(symbols, at, is_wide=is_wide)
    return [(character, at, stop) for character in text]


def _entity(symbols: str, at: int, *, is_wide: bool) -> tuple[str, int]:
    if symbols[at + 1 : at + 2] == "#":
        return _numbered(symbols, at, is_wide=is_wide)
    stop = at + 1
    while stop < len(symbols) and stop - at <= _LONGEST_NAME and symbols[stop].isalnum():
        stop += 1
    name = symbols[at + 1 : stop]
    if symbols[stop : stop + 1] == ";" and f"{name};" in _NAMES:
        return _NAMES[f"{name};"], stop + 1
    for length in range(len(name), 1, -1):
        if name[:length] in _BARE:
            return _NAMES[name[:length]], at + 1 + length
    return "", at


def _numbered(symbols: str, at: int, *, is_wide: bool) -> tuple[str, int]:
    is_hex = symbols[at + 2 : at + 3] == "x"
    digits, first = (_HEX if is_hex else _DIGITS), at + (3 if is_hex else 2)
    stop = first
    while stop < len(symbols) and symbols[stop] in digits:
        stop += 1
    text = _character(symbols[first:stop], 16 if is_hex else 10)
    if text in _C1 and not is_wide:
        # XML knows a control there, which is not seen; HTML knows a letter or a sign.
        text = html.unescape(f"&#{ord(text)};")
    return text, stop + (symbols[stop : stop + 1] == ";")


def _character(digits: str, base: int, null: str = "") -> str:
    """The character of a number; "" where there is none."""
    short = digits.lstrip("0")
    if not short or len(short) > 8:
        return null if digits and not short else ""
    code = int(short, base)
    return chr(code) if code <= 0x10FFFF else ""


def _percent(symbols: str, at: int, *, is_wide: bool) -> list[tuple[str, int, int]]:
    """A run of percent triples, as UTF-8."""
    if is_wide and symbols[at + 1 : at + 2] == "u" and _is_hex(symbols[at + 2 : at + 6], 4):
        return [(chr(int(symbols[at + 2 : at + 6], 16)), at, at + 6)]
    stop, values = at, bytearray()
    while symbols[stop : stop + 1] == "%" and _is_hex(symbols[stop + 1 : stop + 3], 2):
        values.append(int(symbols[stop + 1 : stop + 3], 16))
        stop += 3
    found, done = [], 0
    while done < len(values):
        character, length = _utf8(values[done : done + 4])
        if is_wide and character == "\ufffd":
            break
        found.append((character, at + 3 * done, at + 3 * (done + length)))
        done += length
    return found


def _utf8(values: bytearray) -> tuple[str, int]:
    """The first character, and of how many bytes it is."""
    for length in range(1, len(values) + 1):
        try:
            return values[:length].decode("utf-8"), length
        except UnicodeDecodeError:
            continue
    return "\ufffd", 1


def _backslash(symbols: str, at: int, *, is_wide: bool) -> tuple[str, int]:
    mark = symbols[at + 1 : at + 2]
    if is_wide and (text := _backslash_of_few(symbols, at))[0]:
        return text
    if mark == "u":
        return _unicode(symbols, at)
    if mark == "x" and _is_hex(symbols[at + 2 : at + 4], 2):
        return chr(int(symbols[at + 2 : at + 4], 16)), at + 4
    if mark in ("n", "r", "t"):
        return (SPACE if mark == "t" else BREAK), at + 2
    if mark and not mark.isalnum() and mark not in (SPACE, BREAK, TURN, RETURN):
        return mark, at + 2
    return "", at


def _backslash_of_few(symbols: str, at: int) -> tuple[str, int]:
    """Escapes that few read: `x` in braces, two digits of a style sheet, up to three octal ones."""
    stop = symbols.find("}", at + 3, at + 12)
    digits = symbols[at + 3 : stop] if stop > 0 else ""
    if symbols.startswith("x{", at + 1) and _is_hex(digits, len(digits)):
        return _character(digits, 16), stop + 1
    first = at + 1
    while first < at + 5 and symbols[first : first + 1] == "0":
        first += 1
    digits = symbols[first : first + 2]
    if _is_hex(digits, 2) and digits[0] in "234567" and digits[1] in "abcdef":
        return chr(int(digits, 16)), first + 2 + (symbols[first + 2 : first + 3] == SPACE)
    stop = at + 1
    while stop < at + 4 and symbols[stop : stop + 1] in tuple("01234567"):
        stop += 1
    return (chr(int(symbols[at + 1 : stop], 8)), stop) if stop > at + 1 else ("", at)


def _unicode(symbols: str, at: int) -> tuple[str, int]:
    """`u` and four digits, `u` and eight digits, `u` and braces, or two halves of a character."""
    if symbols[at + 2 : at + 3] == "{":
        stop = symbols.find("}", at + 3, at + 12)
        digits = symbols[at + 3 : stop] if stop > 0 else ""
        return (
            (_character(digits, 16, "\0"), stop + 1) if _is_hex(digits, len(digits)) else ("", at)
        )
    long, short = symbols[at + 2 : at + 10], symbols[at + 2 : at + 6]
    if _is_hex(long, 8) and long.startswith(_LONG):
        return _character(long, 16, "\0"), at + 10
    if not _is_hex(short, 4):
        return "", at
    low = symbols[at + 8 : at + 12]
    if short[:2] in _HIGH and symbols[at + 6 : at + 8] == "\\u" and _is_hex(low, 4):
        pair = bytes.fromhex(short + low).decode("utf-16-be", "replace")
        return pair[:1], at + 12
    return chr(int(short, 16)), at + 6


_LONG = ("0000", "0001", "000e", "0010")
_HIGH = ("d8", "d9", "da", "db")


def _is_hex(digits: str, length: int) -> bool:
    return bool(digits) and len(digits) == length and _HEX.issuperset(digits)
