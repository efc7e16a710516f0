"""
Readings of a text: what a lenient reader may take it for, each with the way back to the original.

A reading is a plain text in which look of letters, width, case, kinds of white space and invisible
characters no longer differ. The first reading has one character for each of the original. Others
take character references, percent and backslash escapes for what they stand for, take smuggled
characters for the letters that they carry, or are read from right to left. How a character is read
comes from `fence_tables`, never from the Python that runs.
"""

import functools
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator

from memproto import fence_tables

#: In a reading: a character that is not seen, one that turns the direction of what follows, and one
#: that ends that.
UNSEEN, TURN, RETURN = "\0", "\1", "\2"
#: Of what is not seen, all that a reading keeps.
HIDDEN = UNSEEN + TURN + RETURN

#: Escapes can be escaped again; a reader gives up at some depth.
_ROUNDS = 8
#: So often as the specification says that a reader decodes, each time to the letter.
_EXACT_ROUNDS = 3
_KNOWN_LIMIT = 16384
_PIECES_AT_ONCE = 4096
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
        """What the character of this code is read as."""
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
    for reading, ranges in fence_tables.FOLDS.items():
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


# -- the way back ---------------------------------------------------------------------------------


class Reading:
    """
    A reading of equal length: a span of it is a span of the original.

    Attributes:
        text: What is read.

    """

    def __init__(self, text: str) -> None:
        self.text = text

    def original(self, start: int, stop: int) -> tuple[int, int]:
        """The span of the original that was read as this one."""
        return start, stop


class _Turned(Reading):
    """Another reading from its end to its beginning."""

    def __init__(self, before: Reading, *, mirrored: bool) -> None:
        text = before.text[::-1]
        super().__init__(text.translate(_MIRROR) if mirrored else text)
        self._before, self._end = before, len(before.text)

    def original(self, start: int, stop: int) -> tuple[int, int]:
        return self._before.original(self._end - stop, self._end - start)


_MIRROR = str.maketrans("<>[]", "><][")
_RUNS = re.compile(f"{TURN}([^{RETURN}\n]++)")


class _Displayed(Reading):
    """Another reading as it is displayed: each run behind a mark from its end to its beginning."""

    def __init__(self, before: Reading, *, mirrored: bool) -> None:
        self._before = before
        self._starts, self._stops = array("q"), array("q")
        super().__init__(_RUNS.sub(functools.partial(self._run, mirrored=mirrored), before.text))

    def _run(self, match: re.Match[str], *, mirrored: bool) -> str:
        self._starts.append(match.start(1))
        self._stops.append(match.end(1))
        run = match[0][:0:-1]
        return TURN + (run.translate(_MIRROR) if mirrored else run)

    def original(self, start: int, stop: int) -> tuple[int, int]:
        """The largest piece in one: what stands beside a turned end of a span is none of it."""
        pieces: list[tuple[int, int]] = []
        first, last = self._run_of(start), self._run_of(stop - 1)
        if first == last and first is not None:
            return self._before.original(sum(first) - stop, sum(first) - start)
        if first is not None:
            pieces.append((first[0], sum(first) - start))
            start = first[1]
        if last is not None:
            pieces.append((sum(last) - stop, last[1]))
            stop = last[0]
        pieces = _touching([*pieces, (start, stop)])
        return self._before.original(*max(pieces, key=lambda piece: piece[1] - piece[0]))

    def _run_of(self, place: int) -> tuple[int, int] | None:
        run = bisect_right(self._starts, place) - 1
        if run >= 0 and place < self._stops[run]:
            return self._starts[run], self._stops[run]
        return None


def _touching(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pieces in order, with those joined that nothing stands between."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(pieces):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        elif stop > start:
            found.append((start, stop))
    return found


class _Rewritten(Reading):
    """
    Another reading in which units were rewritten.

    Keeps of each unit where it stands now, how long it is, and how much shorter than before the
    text is behind it: nine bytes for a unit, since a hostile text is made of nothing else.
    """

    def __init__(self, before: Reading, pattern: re.Pattern[str], scribe: "_Scribe") -> None:
        self._before = before
        whole = "i" if len(before.text) < 1 << 31 else "q"
        self._at, self._lost, self._long = array(whole), array(whole, [0]), array("B")
        super().__init__(self._rewritten(before.text, pattern, scribe))

    def _rewritten(self, text: str, pattern: re.Pattern[str], scribe: "_Scribe") -> str:
        pieces = Pieces()
        end = lost = 0
        for match in pattern.finditer(text):
            unit = scribe.written(match)
            if unit is None:
                continue
            start, stop = match.span()
            self._at.append(start - lost)
            self._long.append(len(unit))
            lost += stop - start - len(unit)
            self._lost.append(lost)
            pieces.add(text[end:start], unit)
            end = stop
        return pieces.joined(text[end:]) if end else text

    @property
    def changed(self) -> bool:
        """Whether anything was rewritten."""
        return bool(self._at)

    def original(self, start: int, stop: int) -> tuple[int, int]:
        return self._before.original(self._place(start)[0], self._place(stop - 1)[1])

    def _place(self, place: int) -> tuple[int, int]:
        """Where the unit begins and ends, before it was rewritten, that holds `place`."""
        unit = bisect_right(self._at, place)
        if unit:
            begin = self._at[unit - 1]
            end = begin + self._long[unit - 1]
            if place < end:
                return begin + self._lost[unit - 1], end + self._lost[unit]
        shift = self._lost[unit]
        return place + shift, place + shift + 1


class Pieces:
    """A text that is put together, joined now and then: a list of many small pieces is large."""

    def __init__(self) -> None:
        self._joined: list[str] = []
        self._pieces: list[str] = []

    def add(self, *pieces: str) -> None:
        """Put these at the end."""
        self._pieces += pieces
        if len(self._pieces) > _PIECES_AT_ONCE:
            self._joined.append("".join(self._pieces))
            self._pieces.clear()

    def joined(self, last: str) -> str:
        """The text, with `last` at the end."""
        return "".join([*self._joined, *self._pieces, last])


# -- what stands for something else ---------------------------------------------------------------


@functools.cache
def _names() -> dict[str, str]:
    return {
        name: reading for reading, names in fence_tables.ENTITIES.items() for name in names.split()
    }


def _any_of(words: list[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


@functools.cache
def _several() -> dict[str, str]:
    return {
        chr(code): reading
        for reading, ranges in fence_tables.SEVERAL.items()
        for code in codes(ranges)
    }


@functools.cache
def _escapes() -> re.Pattern[str]:
    """One unit that stands for something else; the last group that took part says which kind."""
    named = _any_of([name for name in _names() if name != "amp"])
    bare = _any_of([name for name in fence_tables.BARE["names"].split() if name != "amp"])
    more = "%[89ab][0-9a-f]"
    return re.compile(
        rf"""
        &(?:amp;?)*+(?:
            \#x(?=[0-9a-f])0*+(?P<hex>[0-9a-f]{{0,6}});? | \#(?=[0-9])0*+(?P<decimal>[0-9]{{0,7}});?
            | (?=[a-z0-9]{{2,32}};)(?P<name>{named}); | (?P<bare>{bare}) )
        | %(?:25)*+(?:
            u(?P<unicode>[0-9a-f]{{4}}) | (?P<byte>[0-7][0-9a-f])
            | (?P<bytes>[cd][0-9a-f]{more}|e[0-9a-f](?:{more}){{2}}|f[0-7](?:{more}){{3}}) )
        | (?P<again>[&](?:amp;?)++|%(?:25)++)
        | (?<!\\)\\++(?:
            x(?P<x>[0-9a-f]{{2}}) | [xu]\{{0*+(?P<braced>[0-9a-f]{{1,6}})\}}
            | u(?P<high>d[89ab][0-9a-f]{{2}})\\++u(?P<low>d[c-f][0-9a-f]{{2}})
            | u(?P<long>00[01][0-9a-f]{{5}}) | u(?P<u>[0-9a-f]{{4}})
            | 0{{0,4}}(?P<css>[2-7][a-f])[ ]? | (?P<octal>[0-7]{{1,3}}) | (?P<simple>[^xu]) )
        | (?P<several>[{"".join(_several())}])
        """,
        re.VERBOSE | re.DOTALL,
    )


@functools.cache
def _exact_escapes() -> re.Pattern[str]:
    """The same, one escape at a time, and none that a strict reader leaves as it is."""
    named, bare = (_any_of(names) for names in ([*_names()], fence_tables.BARE["names"].split()))
    more = "%[89ab][0-9a-f]"
    return re.compile(
        rf"""
        &(?:
            \#x0*+(?P<hex>[1-9a-f][0-9a-f]{{0,7}})(?![0-9a-f]);?
            | \#0*+(?P<decimal>[1-9][0-9]{{0,7}})(?![0-9]);?
            | (?=[a-z0-9]{{2,32}};)(?P<name>{named}); | (?P<bare>{bare}) )
        | %(?:
            (?P<byte>[0-7][0-9a-f])
            | (?P<bytes>[cd][0-9a-f]{more}|e[0-9a-f](?:{more}){{2}}|f[0-7](?:{more}){{3}})
            | (?P<lone>[89a-f][0-9a-f]) )
        | \\(?:
            x(?P<x>[0-9a-f]{{2}}) | u\{{(?P<braced>[0-9a-f]{{1,8}})\}}
            | u(?P<high>d[89ab][0-9a-f]{{2}})\\u(?P<low>[0-9a-f]{{4}})
            | u(?P<long>(?:000[01e]|0010)[0-9a-f]{{4}}) | u(?P<u>[0-9a-f]{{4}})
            | (?P<simple>[nrt]|[^a-z0-9 \n{HIDDEN}]) )
        | (?P<several>[{"".join(_several())}])
        """,
        re.VERBOSE | re.DOTALL,
    )


_SQUEEZED = re.compile(f"[{HIDDEN}]++")
_UNSEEN_RUNS = re.compile(f"{UNSEEN}++")
_SIMPLE = {"n": "\n", "r": "\n", "v": "\n", "f": "\n", "t": " ", "b": UNSEEN, "a": UNSEEN}


class _Scribe:
    """
    Writes what a unit stands for.

    Attributes:
        folds: How a character is read.
        carried: Whether one stood for a character that carries another.

    """

    def __init__(self, folds: Folds) -> None:
        self.folds = folds
        self.carried = False

    def written(self, match: re.Match[str]) -> str | None:
        """What the unit stands for; None where it stands for itself."""
        kind, value = match.lastgroup or "", match[match.lastgroup or 0]
        if kind in ("name", "bare"):
            return _names()[value]
        if kind == "several":
            return _several()[value]
        if kind == "again":
            return value[0]
        if kind == "simple":
            return _SIMPLE.get(value, value)
        if kind == "lone":
            return "\ufffd"
        code = self._code(kind, value, match)
        return self._character(code) if code or kind not in ("hex", "decimal") else None

    def _code(self, kind: str, value: str, match: re.Match[str]) -> int:
        if kind == "decimal":
            return int(value or "0")
        if kind == "octal":
            return int(value, 8)
        if kind == "low":
            if not 0xDC00 <= int(value, 16) < 0xE000:
                return 0xFFFD
            return 0x10000 + ((int(match["high"], 16) - 0xD800) << 10) + int(value, 16) - 0xDC00
        if kind == "bytes":
            read = bytes.fromhex(value.replace("%", "")).decode("utf-8", "replace")
            return ord(read[0])
        return int(value or "0", 16)

    def _character(self, code: int) -> str | None:
        if code > 0x10FFFF:
            return None
        self.carried = self.carried or 0xE0020 <= code <= 0xE01EF
        return _several().get(chr(code)) or self.folds.of(code)


class _Squeezer(_Scribe):
    """Writes nothing for what is not seen, so that an escape with it inside is one."""

    def written(self, match: re.Match[str]) -> str:
        return ""


# -- all readings ---------------------------------------------------------------------------------


def readings(text: str) -> Iterator[Reading]:
    """Every reading of `text`, the one that is nearest to it first."""
    scribe = _Scribe(visible())
    yield from _all_of(text, scribe)
    if scribe.carried or (not text.isascii() and smugglers().search(text)):
        yield from _all_of(text, _Scribe(smuggled()))


def _all_of(text: str, scribe: _Scribe) -> Iterator[Reading]:
    plain = Reading(text.translate(scribe.folds))
    turned = False
    for reading in _rounds(plain, scribe):
        yield reading
        turned = turned or TURN in reading.text
        if turned:
            yield from _rounds(_Turned(reading, mirrored=False), scribe)
            yield from _rounds(_Turned(reading, mirrored=True), scribe)
    if turned or _is_escaped(plain.text):
        yield from _to_the_letter(plain, scribe)


def _rounds(reading: Reading, scribe: _Scribe) -> Iterator[Reading]:
    """`reading`, and what it stands for, round by round."""
    yield reading
    for _ in range(_ROUNDS):
        rewritten = _decoded(reading, scribe, _SQUEEZED, _escapes())
        if rewritten is None:
            return
        yield (reading := rewritten)


def _to_the_letter(plain: Reading, scribe: _Scribe) -> Iterator[Reading]:
    """What strict readers decode, each round also as it is displayed where it is turned."""
    reading: Reading | None = plain
    for number in range(_EXACT_ROUNDS + 1):
        if reading is None:
            return
        if number:
            yield reading
        if TURN in reading.text:
            for mirrored in (False, True):
                shown: Reading | None = _Displayed(reading, mirrored=mirrored)
                for _ in range(_EXACT_ROUNDS - number + 1):
                    if shown is None:
                        break
                    yield shown
                    shown = _decoded(shown, scribe, _SQUEEZED, _exact_escapes())
        reading = _decoded(reading, scribe, _UNSEEN_RUNS, _exact_escapes())


def _is_escaped(text: str) -> bool:
    return not text.isascii() or any(mark in text for mark in "&%\\")


def _decoded(
    reading: Reading, scribe: _Scribe, unseen: re.Pattern[str], escapes: re.Pattern[str]
) -> Reading | None:
    """What a reading stands for; None where no escape in it does."""
    if not _is_escaped(reading.text):
        return None
    if unseen.search(reading.text):
        reading = _Rewritten(reading, unseen, _Squeezer(scribe.folds))
    rewritten = _Rewritten(reading, escapes, scribe)
    return rewritten if rewritten.changed else None
