"""
Views of a text: the same text as a reader sees it who folds, decodes, or reads from the right.

A view is a str of symbols, and for each symbol the place in the original that it came from. Every
view is made in time linear in the text.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from memproto.testing.fence.oracle_tables import BREAK, RETURN, TURN, smuggled, sure

_CONTROLS = frozenset(map(chr, [*range(9), *range(0x0E, 0x1C), 0x1F, 0x7F]))
_FOLD_ASCII = str.maketrans("\t\r\v\f\x1c\x1d\x1e_~", "\x20\n\n\n\n\n\n--")
_MIRRORED = str.maketrans("<>[](){}", "><][)(}{")


@dataclasses.dataclass(frozen=True)
class View:
    """
    A text as somebody sees it.

    Attributes:
        symbols: The seen symbols, one character each.
        starts: For each symbol where its origin begins in the original.
        ends: For each symbol where its origin ends.

    """

    symbols: str
    starts: Sequence[int]
    ends: Sequence[int]


class Builder:
    """Collects symbols with their places."""

    def __init__(self) -> None:
        self._symbols: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, symbols: str, start: int, end: int) -> None:
        """Adds the symbols of one place of the original: none, one or several."""
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
        """The view that was collected."""
        return View("".join(self._symbols), self._starts, self._ends)


# -- folding ---------------------------------------------------------------------------------------


def folded(text: str, *, smuggling: bool = False) -> View:
    """The text with looks, width, case and hidden characters gone; `smuggling` shows the latter."""
    if text.isascii() and _CONTROLS.isdisjoint(text):
        places = range(len(text) + 1)
        return View(text.lower().translate(_FOLD_ASCII), places[:-1], places[1:])
    builder = Builder()
    for place, character in enumerate(text):
        builder.add(seen(character, smuggling=smuggling), place, place + 1)
    return builder.view()


def seen(character: str, *, smuggling: bool) -> str:
    """The symbols of one character; `smuggling` shows those that a hidden one carries."""
    hidden = smuggled(character) if smuggling else ""
    return sure(hidden or character)


def is_smuggling(text: str) -> bool:
    """True if hidden characters of the text stand for ASCII."""
    return not text.isascii() and any(smuggled(character) for character in set(text))


# -- direction -------------------------------------------------------------------------------------


def without_turns(view: View) -> View:
    """The view in the order of the text, marks of direction gone."""
    if TURN not in view.symbols and RETURN not in view.symbols:
        return view
    builder = Builder()
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
    plain, mirrored = Builder(), Builder()
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
    builder = Builder()
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
