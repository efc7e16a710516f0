r"""
Derivations: every character that a stretch of escapes may stand for, in whatever order it is read.

A reading decodes a text as a whole, round by round, and one round may spoil what another order
would have shown: in `\%75003c` the percent sign has to go first, and the backslash is none to a
reader who reads it first. Here nothing is decoded as a whole. For each mark of an escape it is
found which characters may be derived from there, and where each ends; the characters that spell an
escape may be derived themselves, to any depth. A delimiter is then looked for along all of these
at once.

Both take time linear in the text: a chain of marks that escape each other is followed once, from
its first one, and no place is visited twice in the same state.
"""

import functools
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from memproto.fence import names as fence_names
from memproto.fence.characters import COLONS, HIDDEN, UNSEEN, Folds, smuggled
from memproto.fence.escapes import (
    BY_CASE,
    bare_names,
    entity_names,
    leaves_nothing,
    of_reference,
    several,
)

_MARKS = "&%\\"
_EACH_MARK = frozenset(_MARKS)
_EACH_HIDDEN = frozenset(HIDDEN)
#: A form writes a space as a plus sign; beside white space or another one it is a plus sign. Behind
#: a backslash the end of a line is no white space, since it joins the lines.
_DERIVED = re.compile(r"[&%\\]|(?:(?<![ \n+])|(?<=\\\n))\+(?![ \n+])")
_HIDDEN_RUN = re.compile(f"[{HIDDEN}]*+")
_DIGITS = "0123456789"
_HEX = "0123456789abcdef"
_EACH_DIGIT = frozenset("0123456789abcdefABCDEF")
_OCTAL = "01234567"
#: A backslash before one of these stays in front of it.
_OF_ESCAPES = frozenset(";{}0123456789")
#: Steps that may stand at one place, and ways to read one escape that are followed; zeros in front
#: count as none. A place that has more is told as `full`, see there.
_MOST_STEPS = 64
_MOST_WAYS = 256
#: Steps that are looked at for each character of a text, and for each text.
_MOST_WORK = 64
_LEAST_WORK = 16384
_LARGEST = 0x10FFFF
_SIMPLE = {"n": "\n", "r": "\n", "v": "\n", "f": "\n", "t": " ", "b": UNSEEN, "a": UNSEEN}
_SIMPLE |= {"\n": UNSEEN}
_UNKNOWN = "\ufffd"
_LONGEST_NAME = 96
#: Names of characters that carry others; to who does not look for that they are unseen.
_CARRIERS = ("tag ", "variation selector-", "vs")
_OF_A_NAME = re.compile("[a-z0-9 -]")
_NAME = re.compile(rf"{_OF_A_NAME.pattern}{{1,{_LONGEST_NAME}}}\}}")


class Step(NamedTuple):
    """
    A reading of the text from one place on.

    Attributes:
        symbols: The characters that are read there.
        stop: The place behind them.

    """

    symbols: str
    stop: int


class _Names:
    """Names in order, so that it can be told what one may begin with."""

    def __init__(self, readings: dict[str, str]) -> None:
        self.readings = readings
        self._known = sorted(readings)

    def goes_on(self, begun: str) -> bool:
        """True if a name begins so."""
        place = bisect_left(self._known, begun)
        return place < len(self._known) and self._known[place].startswith(begun)


@functools.cache
def _entities() -> _Names:
    return _Names(entity_names())


@functools.cache
def _characters() -> _Names:
    return _Names(
        {
            name: reading
            for reading, names in fence_names.NAMES.items()
            for name in names.split(", ")
        }
    )


class Derivations:
    """
    All that may be derived from the escapes of a text.

    Attributes:
        original: The text.
        text: The text as its characters are read, one for each of the original.
        full: The marks from which more could be derived than is kept. A delimiter that begins
            there, or goes on there, may have been missed: the text must not pass with them.

    """

    def __init__(self, original: str, folds: Folds) -> None:
        self.text = text = original.translate(folds)
        self.original = original
        self._folds = folds
        self._several = several()
        self._known: dict[int, set[Step]] = {}
        self.full: set[int] = set()
        # Of the place that is looked at: where escapes end of which nothing is left.
        self._place = 0
        self._gone: set[int] = set()
        # Halves: bytes beyond ASCII, and low surrogates, by where they begin.
        self._bytes: dict[int, set[tuple[int, int]]] = {}
        self._lows: dict[int, set[tuple[int, int]]] = {}
        self._left = _LEAST_WORK + _MOST_WORK * len(text)
        places = [found.start() for found in _DERIVED.finditer(text)]
        for place in reversed(places):
            self._derive(place)

    @property
    def places(self) -> dict[int, set[Step]]:
        """The derived steps, by the place where each begins."""
        return self._known

    def at(self, place: int) -> Iterator[Step]:
        """The steps from `place`: the character that is written there, and all derived ones."""
        if place >= len(self.text):
            return
        written = self.text[place]
        if written in HIDDEN:
            yield from self.at(self._behind_hidden(place))
            return
        yield Step(self._several.get(written, written), place + 1)
        yield from self._known.get(place, ())

    def is_end(self, place: int) -> bool:
        """True if nothing is seen from `place` on."""
        return self._behind_hidden(place) >= len(self.text)

    def _behind_hidden(self, place: int) -> int:
        found = _HIDDEN_RUN.match(self.text, place)
        return found.end() if found else place

    # -- one place --------------------------------------------------------------------------------

    def _derive(self, place: int) -> None:
        """Everything from here; what begins behind it is known already."""
        self._place = place
        self._gone = set()
        self._known[place] = found = set()
        if self.text[place] == "+":
            found.add(Step(" ", place + 1))
            return
        # A mark may be derived too; each is tried where it ends.
        marks = [(self.text[place], place + 1)]
        known = set(marks)
        while marks and self._is_left(1):
            mark, end = marks.pop()
            for symbols, stop in self._units(place, mark, end):
                if symbols not in _EACH_MARK:
                    if self._has_room(found):
                        found.add(Step(symbols, stop))
                        found.update([Step(" ", stop)] if symbols == "+" else ())
                elif (symbols, stop) not in known:
                    known.add((symbols, stop))
                    marks.append((symbols, stop))
        for behind in self._gone:
            self._moves_up(place, behind)

    def _is_left(self, work: int) -> bool:
        """True if so much more may be looked at."""
        self._left -= work
        if self._left >= 0:
            return True
        self.full.add(self._place)
        return False

    def _has_room(self, found: set[Step]) -> bool:
        """True if more may stand at the place that is looked at."""
        if len(found) < _MOST_STEPS:
            return True
        self.full.add(self._place)
        return False

    def _are_few(self, ways: int) -> bool:
        """True if so many ways to read an escape are followed."""
        if ways <= _MOST_WAYS:
            return True
        self.full.add(self._place)
        return False

    def _go_on(self, place: int) -> Iterator[Step]:
        """The symbols that may stand at `place`, as a part of the text that is looked at."""
        return self.at(place) if self._is_left(1 + len(self._known.get(place, ()))) else iter(())

    def _moves_up(self, place: int, behind: int) -> None:
        """
        Let the steps behind an escape, or a mark, begin at its place as well.

        Unseen characters need not: they would come along from place to place.
        """
        found = self._known[place]
        for step in self._go_on(behind):
            if step.symbols in _EACH_MARK or step.symbols in _EACH_HIDDEN or step in found:
                continue
            if not self._has_room(found):
                break
            found.add(step)
        for halves in (self._bytes, self._lows):
            if behind in halves:
                halves.setdefault(place, set()).update(halves[behind])

    def _units(self, place: int, mark: str, end: int) -> Iterator[tuple[str, int]]:
        """The readings of the unit that begins at `place` with a mark that ends at `end`."""
        if mark == "&":
            yield from self._references(end)
        elif mark == "%":
            yield from self._percents(place, end)
        else:
            yield from self._backslashes(place, end)

    def _written(self, code: int, stop: int) -> Iterator[tuple[str, int]]:
        """The readings of a character code."""
        if code > _LARGEST or 0xD800 <= code < 0xE000:
            return
        character = chr(code)
        symbols = self._several.get(character) or self._folds.of(code)
        yield symbols, stop
        if 0xE0020 <= code <= 0xE01EF:
            yield smuggled().of(code), stop

    def _numbers(self, place: int, digits: str, least: int, most: int) -> Iterator[tuple[int, int]]:
        """Numbers of so many digits, and where each ends; a digit that is written belongs to it."""
        waiting = [(0, 0, place)]
        base = len(digits)
        seen = set(waiting)
        zeros = 0
        while waiting and self._are_few(len(seen) - zeros):
            count, value, stop = waiting.pop()
            goes_on = False
            for symbols, end in self._go_on(stop) if count < most else ():
                if len(symbols) == 1 and symbols in digits:
                    goes_on = goes_on or self.original[stop] in _EACH_DIGIT
                    larger = value * base + digits.index(symbols)
                    # Zeros in front count no digit, so that there may be any number of them.
                    longer = (count + 1 if larger or least else 0, larger, end)
                    if longer not in seen:
                        seen.add(longer)
                        zeros += not longer[0]
                        waiting.append(longer)
            if count >= max(least, 1) and not (goes_on and least != most):
                yield value, stop

    # -- references -------------------------------------------------------------------------------

    def _references(self, end: int) -> Iterator[tuple[str, int]]:
        for symbols, stop in self._go_on(end):
            if symbols == "#":
                yield from self._numbered(stop)
        yield from self._named(end)

    def _numbered(self, place: int) -> Iterator[tuple[str, int]]:
        numbers = list(self._numbers(place, _DIGITS, 0, 7))
        for symbols, stop in self._go_on(place):
            if symbols == "x":
                numbers += self._numbers(stop, _HEX, 0, 6)
        for code, stop in numbers:
            ends = [stop, *(behind for symbols, behind in self._go_on(stop) if symbols == ";")]
            if leaves_nothing(code):
                self._gone.update(ends)
                # Some of these are line breaks to other decoders, and would be read as such alone.
                yield from ((UNSEEN, end) for end in ends)
            for read in of_reference(code):
                for end in ends:
                    yield from self._written(read, end)

    def _named(self, place: int) -> Iterator[tuple[str, int]]:
        names, bare = _entities(), bare_names()
        waiting = [("", place)]
        ways = 0
        while waiting and self._are_few(ways := ways + 1):
            begun, stop = waiting.pop()
            if begun in bare:
                yield names.readings[begun], stop
            for symbols, end in self._go_on(stop):
                if symbols == ";" and begun in names.readings:
                    yield names.readings[begun], end
                    if begun in BY_CASE:
                        yield BY_CASE[begun], end
                elif symbols.isalnum() and names.goes_on(begun + symbols):
                    waiting.append((begun + symbols, end))

    # -- percent signs ----------------------------------------------------------------------------

    def _percents(self, place: int, end: int) -> Iterator[tuple[str, int]]:
        for value, stop in self._numbers(end, _HEX, 2, 2):
            if value < 0x80:
                yield from self._written(value, stop)
                continue
            self._bytes.setdefault(place, set()).add((value, stop))
            if value >= 0xC2:
                more = 1 + (value >= 0xE0) + (value >= 0xF0)
                yield from self._of_bytes(bytes([value]), stop, more)
        for symbols, stop in self._go_on(end):
            if symbols == "u":
                for code, behind in self._numbers(stop, _HEX, 4, 4):
                    yield from self._written(code, behind)

    def _of_bytes(self, begun: bytes, place: int, more: int) -> Iterator[tuple[str, int]]:
        if not more:
            try:
                yield from self._written(ord(begun.decode()), place)
            except UnicodeDecodeError:
                return
            return
        for value, stop in self._bytes.get(place, ()):
            if value < 0xC0:
                yield from self._of_bytes(begun + bytes([value]), stop, more - 1)

    # -- backslashes ------------------------------------------------------------------------------

    def _backslashes(self, place: int, end: int) -> Iterator[tuple[str, int]]:
        behind = self._behind_hidden(end)
        if behind < len(self.text) and self.text[behind] in _MARKS:
            # It escapes another mark, or what that stands for: as if it were not there.
            self._moves_up(place, behind)
        for symbols, stop in self._go_on(end):
            if symbols in ("x", "u"):
                yield from self._coded(place, symbols, stop)
                continue
            if symbols == "n":
                yield from self._of_a_name(stop)
            if symbols == "\n":
                self._gone.add(stop)
            if symbols not in _EACH_MARK and symbols not in _OF_ESCAPES:
                yield _SIMPLE.get(symbols, symbols), stop
        for code, stop in self._octal(end):
            yield from self._written(code, stop)

    def _octal(self, place: int) -> Iterator[tuple[int, int]]:
        yield from self._numbers(place, _OCTAL, 1, 3)
        # In Java and JavaScript a number has two digits if three are beyond a byte.
        yield from (found for found in self._numbers(place, _OCTAL, 2, 2) if found[0] >= 0o40)

    def _coded(self, place: int, kind: str, end: int) -> Iterator[tuple[str, int]]:
        if kind == "x":
            for code, stop in self._numbers(end, _HEX, 2, 2):
                yield from self._written(code, stop)
        else:
            for code, stop in self._numbers(end, _HEX, 4, 4):
                yield from self._of_halves(place, code, stop)
            for code, stop in self._numbers(end, _HEX, 8, 8):
                yield from self._written(code, stop)
        for symbols, begun in self._go_on(end):
            if symbols == "{":
                for code, stop in self._numbers(begun, _HEX, 0, 6):
                    for closing, behind in self._go_on(stop):
                        if closing == "}":
                            yield from self._written(code, behind)

    def _of_halves(self, place: int, code: int, stop: int) -> Iterator[tuple[str, int]]:
        if 0xDC00 <= code < 0xE000:
            self._lows.setdefault(place, set()).add((code, stop))
        elif 0xD800 <= code < 0xDC00:
            for low, behind in self._lows.get(stop, ()):
                whole = 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
                yield from self._written(whole, behind)
        else:
            yield from self._written(code, stop)

    def _of_a_name(self, place: int) -> Iterator[tuple[str, int]]:
        """A character by its name; of one that no delimiter holds, that it is some character."""
        for symbols, begun in self._go_on(place):
            if symbols != "{":
                continue
            for behind in self._behind_name(begun):
                yield _UNKNOWN, behind
            waiting = [("", begun)]
            ways = 0
            while waiting and self._are_few(ways := ways + 1):
                name, stop = waiting.pop()
                for more, end in self._go_on(stop):
                    if more == "}" and name in _characters().readings:
                        yield _characters().readings[name], end
                        if name.startswith(_CARRIERS):
                            yield UNSEEN, end
                    elif _characters().goes_on(name + more):
                        waiting.append((name + more, end))

    def _behind_name(self, begun: int) -> Iterator[int]:
        """The ends of the names that begin here, of whatever characters."""
        if written := _NAME.match(self.text, begun):
            yield written.end()
            return
        waiting, seen = [(0, begun)], {begun}
        while waiting:
            length, place = waiting.pop()
            for symbols, end in self._go_on(place) if length < _LONGEST_NAME else ():
                if symbols == "}" and length:
                    yield end
                elif _OF_A_NAME.fullmatch(symbols) and end not in seen:
                    seen.add(end)
                    waiting.append((length + 1, end))


# -- delimiters -----------------------------------------------------------------------------------

_BETWEEN = frozenset(f" \n-{HIDDEN}")
_LEAD = _BETWEEN | frozenset("/!?\\")
_BEHIND_MEMORY = re.compile(f"[ #:{COLONS}{HIDDEN}]")
_NO_LABEL = frozenset("\u3001\u3002\uff0c")


class _Word:
    """
    A tag or a note behind its first character: the letters, and what does not count between them.

    A state is twice the number of letters that were read, and one more behind an r that an n makes
    an m.
    """

    def __init__(self, letters: str, lead: frozenset[str]) -> None:
        self._letters = letters
        self._lead = lead
        self.last = 2 * len(letters)

    def step(self, state: int, symbol: str) -> int | None:
        """The state behind one more symbol."""
        count, half = divmod(state, 2)
        wanted = self._letters[count]
        if half:
            return state + 1 if symbol == "n" else state if symbol in _EACH_HIDDEN else None
        if symbol == wanted or (wanted == "o" and symbol == "0"):
            return state + 2
        if wanted == "m" and symbol == "r":
            return state + 1
        return state if symbol in (_BETWEEN if count else self._lead) else None


class _Heading:
    """
    The line of a heading: three marks or more, a label, and the word.

    States 0 to 3 count marks, 4 is the label, 5 the space behind it, and 6 on are the word's.
    """

    last = 6 + 12

    def __init__(self) -> None:
        self._word = _Word("memory", frozenset({" ", *HIDDEN}))

    def step(self, state: int, symbol: str) -> int | None:
        """The state behind one more symbol."""
        if state < 4:
            if symbol == "#":
                return min(state + 1, 3)
            if symbol in _EACH_HIDDEN or symbol == " ":
                return state
            return 4 if state == 3 and _is_of_a_label(symbol) else None
        if state == 4:
            is_label = symbol in ("-", *HIDDEN) or _is_of_a_label(symbol)
            return 4 if is_label else 5 if symbol == " " else None
        if state == self.last:
            return state if _BEHIND_MEMORY.fullmatch(symbol) else None
        if state > 6 and symbol in (" ", "-", "\n"):
            return None
        further = self._word.step(max(state - 6, 0), symbol)
        if further is None:
            return None
        return 5 if state == 5 and not further else further + 6


def _is_of_a_label(symbol: str) -> bool:
    return symbol.isalnum() if symbol.isascii() else symbol not in _NO_LABEL


_TAG = _Word("memorycontext", _LEAD)
_NOTE = _Word("systemnote", _BETWEEN)
_LINE = _Heading()


#: The beginning of a stretch to replace, its end as a negative number, and the replacement.
Span = tuple[int, int, str]


class Search:
    """The search for delimiters along all derivations of a text."""

    def __init__(self, derivations: Derivations) -> None:
        self._all = derivations
        self._text = derivations.text

    def headings(self) -> list[Span]:
        """The marks of each heading."""
        starts = [0, *(found.end() for found in re.finditer("\n", self._text))]
        for steps in self._all.places.values():
            starts += [stop for symbols, stop in steps if symbols[-1] == "\n"]
        seen: set[tuple[int, int]] = set()
        found = []
        for start in sorted(set(starts)):
            label = self._label(start, seen)
            if label is not None:
                found.append((start, -label, ""))
        return found

    def words(self) -> list[Span]:
        """Each tag, and the bracket of each note."""
        found = []
        for kind, mark, by in ((_TAG, "<", "[fence]"), (_NOTE, "[", "(")):
            seen: set[tuple[int, int]] = set()
            for start, begun, behind in self._places_of(mark):
                state = _behind(kind, 0, behind)
                stop = None if state is None else self._end(kind, begun, state, seen)
                if stop is not None:
                    end = self._closed(stop) if kind is _TAG else begun
                    found.append((start, -end, by))
        return sorted(found)

    def _places_of(self, mark: str) -> list[tuple[int, int, str]]:
        """The places of a mark, each with its end and the rest of the same escape behind it."""
        places = [
            (found.start(), found.end(), "") for found in re.finditer(re.escape(mark), self._text)
        ]
        for place, steps in self._all.places.items():
            for symbols, stop in steps:
                if mark in symbols:
                    places.append((place, stop, symbols.rpartition(mark)[2]))
        if not self._text.isascii():
            for place, character in enumerate(self._text):
                if mark in (symbols := several().get(character, "")):
                    places.append((place, place + 1, symbols.rpartition(mark)[2]))
        return sorted(places)

    def _end(self, kind: _Word, begun: int, state: int, seen: set[tuple[int, int]]) -> int | None:
        """The end of the last letter of the word that begins here; None if none does."""
        waiting = [(begun, state)]
        while waiting:
            place, state = waiting.pop()
            if state == kind.last:
                if self._is_boundary(place, kind):
                    return place
                continue
            if (place, state) in seen:
                continue
            seen.add((place, state))
            for symbols, stop in self._all.at(place):
                further = _behind(kind, state, symbols)
                if further is not None:
                    waiting.append((stop, further))
        return None

    def _is_boundary(self, place: int, kind: _Word) -> bool:
        """True if no letter has to follow; behind an escape another reader sees none."""
        while self._text[place : place + 1] in _EACH_HIDDEN or (
            kind is _TAG and self._all.original[place : place + 1] in _EACH_HYPHEN
        ):
            place += 1
        following = self._text[place : place + 1]
        return not (following.isascii() and following.isalnum())

    def _closed(self, place: int) -> int:
        """Behind the end of a tag, where it has one."""
        waiting, seen = [place], set()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            for symbols, stop in self._all.at(at):
                if symbols == ">":
                    return stop
                if symbols in _TAIL:
                    waiting.append(stop)
        return place

    def _label(self, start: int, seen: set[tuple[int, int]]) -> int | None:
        """The place of the label in the heading that begins here; None if none does."""
        waiting = [(start, 0, start)]
        while waiting:
            place, state, label = waiting.pop()
            if (place, state) in seen:
                continue
            seen.add((place, state))
            if state == _LINE.last and self._all.is_end(place):
                return label
            for symbols, stop in self._all.at(place):
                if state == _LINE.last and symbols[0] == "\n":
                    return label
                further = _behind(_LINE, state, symbols)
                if further is not None:
                    waiting.append((stop, further, place if state < 4 <= further else label))
        return None


#: Hyphens to every reader: others look like one, and no name goes on behind them.
_EACH_HYPHEN = frozenset(
    "-_~\xb7\u02d7\u0387\u058a\u05be\u0640\u1173\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015"
    "\u203f\u2043\u207b\u208b\u2212\u2796\u2cba\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030"
    "\u30a0\u30fb\u30fc\u3161\ufcf2\ufcf3\ufcf4\ufe31\ufe32\ufe58\ufe63\ufe71\ufe77\ufe79\ufe7b"
    "\ufe7d\ufe7f\uff0d\uff65\uff70\uffda\U00010ead"
)
_TAIL = _BETWEEN | {"/"}


def _behind(kind: _Word | _Heading, state: int, symbols: str) -> int | None:
    """The state behind all of these symbols."""
    for symbol in symbols:
        if state == kind.last and isinstance(kind, _Word):
            return state
        further = kind.step(state, symbol)
        if further is None:
            return None
        state = further
    return state
