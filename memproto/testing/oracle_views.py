"""
Views of a text: the same text as a reader sees it who folds, decodes, or reads from the right.

A view is a str of symbols, and for each symbol the place in the original that it came from. Every
view is made in time linear in the text.
"""

import dataclasses
import html.entities
from collections.abc import Iterator, Sequence

from memproto.testing.oracle_tables import BREAK, RETURN, SPACE, TURN, smuggled, sure

#: So often the reader decodes what he has decoded; and a wide one.
ROUNDS, WIDE_ROUNDS = 3, 9

_HEX = frozenset("0123456789abcdef")
_DIGITS = frozenset("0123456789")
_CONTROLS = frozenset(map(chr, [*range(9), *range(0x0E, 0x1C), 0x1F, 0x7F]))
_FOLD_ASCII = str.maketrans("\t\r\v\f\x1c\x1d\x1e_~", "\x20\n\n\n\n\n\n--")
_MIRRORED = str.maketrans("<>[](){}", "><][)(}{")
_LONGEST_NAME = 32
_NAMES = {name.lower(): text for name, text in html.entities.html5.items()} | {
    name: text for name, text in html.entities.html5.items() if name == name.lower()
}
_BARE = frozenset(name for name in _NAMES if not name.endswith(";"))


@dataclasses.dataclass(frozen=True)
class View:
    """
    A text as somebody sees it.

    Attributes:
        symbols: What is seen, one character each.
        starts: For each symbol where its origin begins in the original.
        ends: For each symbol where its origin ends.

    """

    symbols: str
    starts: Sequence[int]
    ends: Sequence[int]


class _Builder:
    """Collects symbols with their places."""

    def __init__(self) -> None:
        self._symbols: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, symbols: str, start: int, end: int) -> None:
        """What one place of the original is seen as: no, one or several symbols."""
        for symbol in symbols:
            self._symbols.append(symbol)
            self._starts.append(start)
            self._ends.append(end)

    def copy(self, view: View, start: int, stop: int) -> None:
        """A stretch of another view, as it is there."""
        self._symbols.extend(view.symbols[start:stop])
        self._starts.extend(view.starts[start:stop])
        self._ends.extend(view.ends[start:stop])

    def view(self) -> View:
        return View("".join(self._symbols), self._starts, self._ends)


# -- folding ---------------------------------------------------------------------------------------


def folded(text: str, *, smuggling: bool = False) -> View:
    """The text with looks, width, case and hidden characters gone; `smuggling` shows the latter."""
    if text.isascii() and _CONTROLS.isdisjoint(text):
        places = range(len(text) + 1)
        return View(text.lower().translate(_FOLD_ASCII), places[:-1], places[1:])
    builder = _Builder()
    for place, character in enumerate(text):
        builder.add(_seen(character, smuggling=smuggling), place, place + 1)
    return builder.view()


def _seen(character: str, *, smuggling: bool) -> str:
    hidden = smuggled(character) if smuggling else ""
    return sure(hidden or character)


def is_smuggling(text: str) -> bool:
    """Whether hidden characters of the text stand for ASCII."""
    return not text.isascii() and any(smuggled(character) for character in set(text))


# -- direction -------------------------------------------------------------------------------------


def without_turns(view: View) -> View:
    """The view in the order of the text, marks of direction gone."""
    if TURN not in view.symbols and RETURN not in view.symbols:
        return view
    builder = _Builder()
    for place, symbol in enumerate(view.symbols):
        if symbol not in (TURN, RETURN):
            builder.copy(view, place, place + 1)
    return builder.view()


def turned(view: View, *, is_wide: bool = False) -> list[View]:
    """
    The view as it is displayed: what a mark turned, from its end; with and without mirroring.

    A wide reader does not know where the turn ends: at the mark, the line, or the text.
    """
    if TURN not in view.symbols:
        return []
    ends = (RETURN + BREAK, BREAK, RETURN, "") if is_wide else (RETURN + BREAK,)
    return [other for end in ends for other in _turned(view, end)]


def _turned(view: View, ends: str) -> Iterator[View]:
    plain, mirrored = _Builder(), _Builder()
    for start, stop, is_turned in _runs(view.symbols, ends):
        if not is_turned:
            plain.copy(view, start, stop)
            mirrored.copy(view, start, stop)
            continue
        for place in range(stop - 1, start - 1, -1):
            symbol, origin = view.symbols[place], (view.starts[place], view.ends[place])
            plain.add(symbol, *origin)
            mirrored.add(symbol.translate(_MIRRORED), *origin)
    yield without_turns(plain.view())
    yield without_turns(mirrored.view())


def _runs(symbols: str, ends: str) -> Iterator[tuple[int, int, bool]]:
    """Stretches of symbols, and whether each is turned: from a mark up to one of the ends."""
    start, is_turned = 0, False
    for place, symbol in enumerate(symbols):
        if symbol == TURN and not is_turned:
            yield start, place, False
            start, is_turned = place + 1, True
        elif is_turned and symbol in ends:
            yield start, place, True
            start, is_turned = place, False
    yield start, len(symbols), is_turned


# -- decoding --------------------------------------------------------------------------------------


def decoded(
    view: View, *, smuggling: bool = False, is_wide: bool = False, by: str = "&%\\"
) -> View | None:
    """
    The view with what begins with one of the marks `by` decoded once; None where none does.

    A wide reader knows more kinds of escapes, and leaves what he cannot decode as it is.
    """
    symbols = view.symbols
    marks = [place for place, symbol in enumerate(symbols) if symbol in by]
    builder, done = _Builder(), 0
    for mark in marks:
        if mark < done:
            continue
        found = _decode(symbols, mark, is_wide=is_wide)
        if found:
            builder.copy(view, done, mark)
        for character, start, stop in found:
            seen = _seen(character, smuggling=smuggling)
            origins = view.starts[start], view.starts[stop - 1]
            ends = view.ends[start], view.ends[stop - 1]
            builder.add(seen, min(origins), max(ends))
            done = stop
    if not done:
        return None
    builder.copy(view, done, len(symbols))
    return builder.view()


def collapsed(view: View) -> View | None:
    """The view with each escape of an escape character, as often as it was escaped, as that one."""
    symbols = view.symbols
    builder, done = _Builder(), 0
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
    """What is written at a mark: characters, each with its stretch of symbols."""
    if symbols[at] == "%":
        return _percent(symbols, at, is_wide=is_wide)
    if symbols[at] == "&":
        text, stop = _entity(symbols, at)
    else:
        text, stop = _backslash(symbols, at, is_wide=is_wide)
    return [(character, at, stop) for character in text]


def _entity(symbols: str, at: int) -> tuple[str, int]:
    if symbols[at + 1 : at + 2] == "#":
        return _numbered(symbols, at)
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


def _numbered(symbols: str, at: int) -> tuple[str, int]:
    is_hex = symbols[at + 2 : at + 3] == "x"
    digits, first = (_HEX if is_hex else _DIGITS), at + (3 if is_hex else 2)
    stop = first
    while stop < len(symbols) and symbols[stop] in digits:
        stop += 1
    text = _character(symbols[first:stop], 16 if is_hex else 10)
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
    if symbols.startswith("x{", at + 1) and _is_hex(symbols[at + 3 : stop], stop - at - 3):
        return _character(symbols[at + 3 : stop], 16), stop + 1
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


# -- terminals -------------------------------------------------------------------------------------


def on_a_terminal(text: str) -> View | None:
    """The text as a terminal shows it: colour codes gone, backspaces obeyed; None without any."""
    if "\x1b" not in text and "\x9b" not in text and "\b" not in text and "\x7f" not in text:
        return None
    kept: list[int] = []
    place = 0
    while place < len(text):
        if text[place] in "\b\x7f":
            kept[-1:] = []
        elif text[place] in "\x1b\x9b":
            place = _code_end(text, place)
            continue
        else:
            kept.append(place)
        place += 1
    builder = _Builder()
    for origin in kept:
        builder.add(sure(text[origin]), origin, origin + 1)
    return builder.view()


def _code_end(text: str, at: int) -> int:
    """Behind a control sequence that begins at `at`."""
    place = at + 1
    if text[at] == "\x1b" and text[place : place + 1] == "[":
        place += 1
    while place < len(text) and text[place] in "0123456789;:?":
        place += 1
    return place + 1
