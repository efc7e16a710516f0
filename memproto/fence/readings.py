"""
Readings of a text: what a lenient reader may take it for, each with the way back to the original.

A reading is a plain text of characters as `characters` reads them. The first reading has one
character for each of the original. Others take `escapes` for what they stand for, take smuggled
characters for the letters that they carry, or are read from right to left.
"""

import functools
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator

from memproto.fence.characters import HIDDEN, RETURN, TURN, UNSEEN, smuggled, smugglers, visible
from memproto.fence.escapes import Scribe, Squeezer, escapes, exact_escapes

#: Escapes can be escaped again; a reader gives up at some depth.
_ROUNDS = 8
#: Times that a reader decodes by the specification, each time to the letter.
_EXACT_ROUNDS = 3
_PIECES_AT_ONCE = 4096
_MOST_OF_A_RUN = 255
_SQUEEZED = re.compile(f"[{HIDDEN}]++")
_UNSEEN_RUNS = re.compile(f"{UNSEEN}++")

# -- the way back ---------------------------------------------------------------------------------


class Reading:
    """
    A reading of equal length: a span of it is a span of the original.

    Attributes:
        text: The text as it is read.

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

    Keeps of each run of like units where it stands now, how long its units are and how many, and
    how much shorter than before the text is behind it: ten bytes for a run, since a hostile text is
    made of nothing else. Like units follow each other, and are as long before and as long now.
    """

    def __init__(self, before: Reading, pattern: re.Pattern[str], scribe: Scribe) -> None:
        self._before = before
        whole = "i" if len(before.text) < 1 << 31 else "q"
        self._at, self._lost = array(whole), array(whole)
        self._long, self._many = array("B"), array("B")
        super().__init__(self._rewritten(before.text, pattern, scribe))

    def _rewritten(self, text: str, pattern: re.Pattern[str], scribe: Scribe) -> str:
        pieces = Pieces()
        end = lost = 0
        like = None
        for match in pattern.finditer(text):
            unit = scribe.written(match)
            if unit is None:
                continue
            start, stop = match.span()
            size = stop - start, len(unit)
            if start == end and size == like and self._many[-1] < _MOST_OF_A_RUN:
                self._many[-1] += 1
            else:
                self._begin(start, lost, len(unit))
            lost += size[0] - size[1]
            pieces.add(text[end:start], unit)
            end, like = stop, size
        self._lost.append(lost)
        return pieces.joined(text[end:]) if end else text

    def _begin(self, start: int, lost: int, long: int) -> None:
        """A run whose first unit began at `start`, in a text that had lost so much before it."""
        self._at.append(start - lost)
        self._lost.append(lost)
        self._long.append(long)
        self._many.append(1)

    @property
    def changed(self) -> bool:
        """True if anything was rewritten."""
        return bool(self._at)

    def original(self, start: int, stop: int) -> tuple[int, int]:
        return self._before.original(self._place(start)[0], self._place(stop - 1)[1])

    def _place(self, place: int) -> tuple[int, int]:
        """The beginning and the end, before the rewriting, of the unit that holds `place`."""
        behind = bisect_right(self._at, place)
        shift = self._lost[behind]
        if behind:
            run = behind - 1
            begin, long, many = self._at[run], self._long[run], self._many[run]
            if place < begin + long * many:
                before = long + (shift - self._lost[run]) // many
                first = begin + self._lost[run] + (place - begin) // long * before
                return first, first + before
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


# -- all readings ---------------------------------------------------------------------------------


def readings(text: str) -> Iterator[Reading]:
    """Every reading of `text`, the one that is nearest to it first."""
    scribe = Scribe(visible())
    yield from _all_of(text, scribe)
    if scribe.carried or (not text.isascii() and smugglers().search(text)):
        yield from _all_of(text, Scribe(smuggled()))


def _all_of(text: str, scribe: Scribe) -> Iterator[Reading]:
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


def _rounds(reading: Reading, scribe: Scribe) -> Iterator[Reading]:
    """`reading`, and what it stands for, round by round."""
    yield reading
    for _ in range(_ROUNDS):
        rewritten = _decoded(reading, scribe, _SQUEEZED, escapes())
        if rewritten is None:
            return
        yield (reading := rewritten)


def _to_the_letter(plain: Reading, scribe: Scribe) -> Iterator[Reading]:
    """The readings of strict decoders; each round also as it is displayed, if it is turned."""
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
                    shown = _decoded(shown, scribe, _SQUEEZED, exact_escapes())
        reading = _decoded(reading, scribe, _UNSEEN_RUNS, exact_escapes())


def _is_escaped(text: str) -> bool:
    return not text.isascii() or any(mark in text for mark in "&%\\")


def _decoded(
    reading: Reading, scribe: Scribe, unseen: re.Pattern[str], units: re.Pattern[str]
) -> Reading | None:
    """The text that a reading stands for; None if no escape in it stands for another."""
    if not _is_escaped(reading.text):
        return None
    if unseen.search(reading.text):
        reading = _Rewritten(reading, unseen, Squeezer(scribe.folds))
    rewritten = _Rewritten(reading, units, scribe)
    return rewritten if rewritten.changed else None
