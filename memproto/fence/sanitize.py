"""
Makes text harmless for the context block: replaces each stretch that reads as a delimiter.

Reading as a lenient reader does is slow, and nearly no text needs it. So the text is searched for
*spots* first, and only the stretch from a spot to the next character that no delimiter can hold is
read. A delimiter is replaced, never deleted: deletion may join the text on both sides of it into a
new delimiter, and would need a loop. Marks of headings are the exception, and so they go first.
"""

import heapq
import operator
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from memproto.errors import TextExpected
from memproto.fence import spots
from memproto.fence.characters import COLONS, HIDDEN, TURN, Folds, smuggled, smugglers, visible
from memproto.fence.derivations import Derivations, Search
from memproto.fence.folding import folded
from memproto.fence.readings import Pieces, Reading, readings

# -- what a lenient reader takes for a delimiter --------------------------------------------------

_LOOSE = f"[ \n\\-{HIDDEN}]*+"
_HIDDEN = f"[{HIDDEN}]*+"


def _word(word: str, between: str) -> str:
    """A pattern for `word` with what does not count between its letters."""
    looks = {"m": f"(?:m|r{_HIDDEN}n)", "o": "[o0]"}
    return between.join(looks.get(letter, letter) for letter in word)


# No run can be entered at two places: each pattern starts at a character that its runs exclude, and
# the runs are possessive. This keeps the search linear.
_TAG_NAME = rf"<[ \n\-/!?\\{HIDDEN}]*+{_word('memory', _LOOSE)}{_LOOSE}{_word('context', _LOOSE)}"
_TAG = rf"{_TAG_NAME}(?![\-{HIDDEN}]*+[a-z0-9])(?:[ \n/\-{HIDDEN}]*+>)?"
_NOTE_NAME = rf"{_LOOSE}{_word('system', _LOOSE)}{_LOOSE}{_word('note', _LOOSE)}"
_NOTE = rf"\[(?={_NOTE_NAME}(?!{_HIDDEN}[a-z0-9]))"
_ROLE = rf"<(?={_HIDDEN}\|{_HIDDEN}[a-z/][^ \n<>|()\[\]]{{0,63}}\|{_HIDDEN}>)"
#: Beyond ASCII whatever is not `spots.HARD`.
_WORDS = "a-z0-9\x80-\u3000\u3003-\uff0b\uff0d-\U0010ffff"
_LABEL = rf"[{_WORDS}][{_WORDS}\-{HIDDEN}]*+"
#: One mark that is indented like code begins a comment rather than a heading.
_MARKS = (
    rf"^(?:(?:{_HIDDEN} ){{0,3}}+{_HIDDEN}#|[ {HIDDEN}]*+#[ {HIDDEN}]*+#)"
    rf"[ #{HIDDEN}]*+"
    rf"(?={_LABEL} [ {HIDDEN}]*+{_word('memory', _HIDDEN)}[ #:{COLONS}{HIDDEN}]*+$)"
)

_HEADINGS = re.compile(_MARKS, re.MULTILINE)
_ROLES = re.compile(_ROLE)
_SUBSTITUTES = ((re.compile(_TAG), "<", "[fence]"), (re.compile(_NOTE), "[", "("))

_SURROGATES = re.compile("[\ud800-\udfff]")
#: Stretches that are nearer to each other than this are read as one.
_NEAR = 64
_TURNED_ROUNDS = 8


def sanitize_context(text: str) -> str:
    """
    Returns `text` with everything that reads as a delimiter of the block made harmless.

    A tag becomes `[fence]`, `[System note` becomes `(System note`, the marks of a line that reads
    as a section's heading go, `<|x|>` becomes `(|x|>`, a lone surrogate becomes U+FFFD. All else
    stays as it is, byte for byte. Idempotent, never longer than `text`, linear in its length.
    Spec: MP-HOST-FENCE.

    Raises:
        TextExpected: `text` is no str.

    """
    text = checked_text(text)
    stretches = _stretches(text)
    if stretches is None:
        return text
    if not text.isascii() and _SURROGATES.search(text):
        return sanitize_context(_SURROGATES.sub("\ufffd", text))
    try:
        return _patched(text, stretches)
    except _TurnedError:
        return _harmless(text)


class _TurnedError(Exception):
    """A stretch turns the direction of the text, so that it has to be read as a whole."""


def checked_text(text: object, what: str = "the text") -> str:
    """
    Returns `text` as the str that it holds.

    Raises:
        TextExpected: It is no str.

    """
    if not isinstance(text, str):
        raise TextExpected(f"{what} must be a str, not {type(text).__name__}")
    return str.__str__(text)  # a subclass could answer differently each time it is asked


# -- where to read --------------------------------------------------------------------------------


def _stretches(text: str) -> Iterator[tuple[int, int]] | None:
    """The stretches that have to be read; None if there is none."""
    searched = text if text.isascii() else folded(text)
    searches = spots.PLAIN
    if searched is None:
        searched, searches = text, spots.WIDE
    found = {}
    for search in searches:
        if search.first in searched:
            spot = search.spot(searched)
            if spot is not None:
                found[search] = spot
    return _joined(text, searched, found) if found else None


def _joined(text: str, searched: str, found: dict[spots.Search, int]) -> Iterator[tuple[int, int]]:
    end = 0
    while found:
        spot = min(found.values())
        begin = _begin(text, spot, end)
        end = _end(text, spot)
        _search_on(searched, found, end)
        while found and (spot := min(found.values())) - end < _NEAR:
            end = _end(text, spot + _NEAR)  # where there are two, there may be many
            _search_on(searched, found, end)
        yield begin, end


def _begin(text: str, spot: int, end: int) -> int:
    """The place from which a delimiter at `spot` is read: for a heading, the whole line."""
    if text[spot] in "<[":
        return spot
    return max(text.rfind("\n", end, spot) + 1, end)


def _end(text: str, spot: int) -> int:
    """Behind the next character that no delimiter holds: it is a part of what is read."""
    hard = spots.HARD.search(text, spot + 1)
    return hard.end() if hard else len(text)


def _search_on(text: str, found: dict[spots.Search, int], end: int) -> None:
    for search in [search for search, spot in found.items() if spot < end]:
        spot = search.spot(text, end)
        if spot is None:
            del found[search]
        else:
            found[search] = spot


# -- reading and replacing ------------------------------------------------------------------------


def _patched(text: str, stretches: Iterable[tuple[int, int]]) -> str:
    pieces, end = Pieces(), 0
    for start, stop in stretches:
        stretch = text[start:stop]
        pieces.add(text[end:start], _harmless(stretch, whole=len(stretch) == len(text)))
        end = stop
    return pieces.joined(text[end:])


def _harmless(text: str, *, whole: bool = True) -> str:
    """
    One stretch without delimiters.

    Read from right to left, a substitute may complete what stood before it; no text needs more
    than a few rounds, since each leaves fewer openings.
    """
    for _ in range(_TURNED_ROUNDS):
        found = _read(text, whole=whole)
        before, text = text, _substituted(text, found, whole=whole)
        ordered = _ordered(before, found)
        if ordered:
            # A substitution moved the rest, so that all of it is looked at.
            text = _underived(text, ordered if text == before else [(0, len(text))])
        if text == before or not (ordered or any(TURN in one.text for one in found)):
            break
    return text


#: The beginning of an escape that stands for a character of another escape.
_BEGUN = r"(?:&(?:\\*\#|[a-z])|%[0-9a-fu&%\\]|\\(?:[0-9xu&%\\\n]|n\{))"
#: A mark of escapes, or a plus sign, as the code of an escape.
_HEX_OF_MARK = r"(?:2[56b]|5c)"
#: A line break as the number of a reference of which HTML leaves nothing.
_BREAK = "11|2[89]|30"
#: An escape with another one inside, or of a mark that begins one: their order counts. So it does
#: where a reference has no end, where a plus sign may be a space, and for names, octal digits and
#: continued lines, which few decoders know, and for line breaks of which HTML leaves nothing.
_ORDERED = re.compile(
    rf"""
    \\(?:(?=[&%]){_BEGUN}|x[0-9a-f]?{_BEGUN}|u(?:[0-9a-f]{{0,3}}|00(?:0[01e]|10)[0-9a-f]{{0,3}}){_BEGUN}
        |ud[89ab][0-9a-f]{{2}}(?!\\++u){_BEGUN}
        |[xu]\{{[0-9a-f]*+{_BEGUN}|[0-7]|n(?:\{{|(?=[&%\\]){_BEGUN})
        |x{_HEX_OF_MARK}|u(?:0000)?00{_HEX_OF_MARK}|[xu]\{{0*{_HEX_OF_MARK}\}})
    | %(?:[0-9a-f]?{_BEGUN}|{_HEX_OF_MARK}|u[0-9a-f]{{0,3}}{_BEGUN}
        |[c-f][0-9a-f](?:%[89ab][0-9a-f])*+(?:%[89ab]?)?(?!%[89ab][0-9a-f]){_BEGUN})
    | &(?:[a-z0-9]{{0,32}}{_BEGUN}|\#x?(?:[0-9a-f{HIDDEN}]++(?!;)|{_BEGUN})
        |amp|bsol|percnt|plus|tilde|\#0*(?:3[78]|43|92|{_BREAK});|\#x0*(?:{_HEX_OF_MARK}|b|1[cde]);)
    | \\\n
    | (?<![ \n+])\+(?![ \n+])
    """,
    re.VERBOSE,
)
#: Of these, and of a word that goes on where another reader sees an escape behind it.
_OF_AN_ORDER = (
    (_ORDERED, ""),
    (re.compile(rf"{_TAG_NAME}(?=[\-{HIDDEN}]*+[a-z0-9])"), "<"),
    (re.compile(rf"\[(?={_NOTE_NAME}{_HIDDEN}[a-z0-9])"), "["),
)
_MOST_READINGS = 8
#: An escape stands for two letters at most, and marks of headings for three.
_MOST_SYMBOLS = 3
#: Number of times that a tag, a note and a heading need each character, or one of some.
_NEEDED = (
    (("<", 1), ("mr", 3), ("e", 2), ("o0", 2), ("y", 1), ("c", 1), ("nr", 1), ("t", 2), ("x", 1)),
    (("[", 1), ("s", 2), ("y", 1), ("t", 2), ("e", 2), ("mr", 1), ("n", 1), ("o0", 1)),
    (("#", 3), ("mr", 2), ("e", 1), ("o0", 1), ("y", 1)),
)
#: The fewest characters of ASCII that hold a delimiter: `[systemnote` has eleven.
_SHORTEST = 10


def _ordered(text: str, found: list[Reading]) -> list[tuple[int, int]]:
    """The places where decoders in another order than the readings may find more."""
    if len(found) > _MOST_READINGS:
        return [(0, len(text))]
    is_one = not spots.HARD.search(text, 0, len(text) - 1)
    spans = []
    for reading in found:
        for pattern, first in _OF_AN_ORDER:
            for match in pattern.finditer(reading.text) if first in reading.text else ():
                spans.append(reading.original(*match.span()))
                if is_one:
                    return spans
    return spans


def _underived(text: str, ordered: list[tuple[int, int]]) -> str:
    """
    The text without delimiters that escapes give in any order, near the spans that are `ordered`.

    Neither a delimiter nor an escape holds a hard character, so each piece between two of them is
    read by itself.
    """
    ends = array("q", (hard.end() for hard in spots.HARD.finditer(text)))
    ends.append(len(text))
    pieces, end = Pieces(), 0
    for start, stop in sorted(ordered):
        place = bisect_right(ends, max(start, end))
        while (begin := ends[place - 1] if place else 0) < stop:
            # With the hard character before it, behind which no line begins.
            lead = 1 if begin else 0
            piece = text[begin - lead : ends[place]]
            if _may_hold_one(piece):
                pieces.add(text[end:begin], _without_any_order(piece)[lead:])
                end = ends[place]
            place += 1
    return pieces.joined(text[end:])


def _may_hold_one(piece: str) -> bool:
    """True if the letters of a delimiter are in a piece, or enough escapes in place of them."""
    if not piece.isascii():
        return True
    escapes = piece.count("&") + piece.count("%") + piece.count("\\")
    if not escapes and ("+" not in piece or len(piece) < _SHORTEST):
        return False
    missing = _MOST_SYMBOLS * escapes
    piece = piece.lower()
    return any(
        missing >= sum(max(0, many - sum(map(piece.count, any_of))) for any_of, many in needed)
        for needed in _NEEDED
    )


def _without_any_order(text: str) -> str:
    for folds in (visible(), smuggled()) if smugglers().search(text) else (visible(),):
        text, derivations = _followed(text, folds)
        marks = Search(derivations).headings()
        if marks:
            text, derivations = _followed(_replaced(text, [marks]), folds)
        text = _replaced(text, [Search(derivations).words()])
    return text


def _followed(text: str, folds: Folds) -> tuple[str, Derivations]:
    """
    The text, and all that may be derived from it: where it may be too much, a full stop.

    A full stop passes nothing that was not followed. It is no part of a delimiter, nor of an
    escape: no delimiter reaches across one, and any on one of its sides is derived without it. It
    replaces a mark, so that nothing else than before is derived anywhere; whether a number may end
    does depend on what follows, but only on digits, and none of these is replaced. Hence a place
    that was not full is not full the next time, and two rounds do; if not, each has fewer marks.
    """
    derivations = Derivations(text, folds)
    while derivations.full:
        text = _replaced(text, [[(at, -at - 1, ".") for at in sorted(derivations.full)]])
        derivations = Derivations(text, folds)
    return text, derivations


def _substituted(text: str, found: list[Reading], *, whole: bool) -> str:
    marks = [_Spans(reading, _HEADINGS, "#", "") for reading in found]
    if any(marks):
        text = _replaced(text, marks)
        found = _read(text, whole=whole)
    spans = [_Spans(reading, *how) for reading in found for how in _SUBSTITUTES]
    spans.append(_Spans(found[0], _ROLES, "<", "("))
    return _replaced(text, spans) if any(spans) else text


def _read(text: str, *, whole: bool) -> list[Reading]:
    found = []
    for reading in readings(text):
        if not whole and TURN in reading.text:
            raise _TurnedError
        found.append(reading)
    return found


class _Spans:
    """The matches of a pattern in a reading, as spans of the original; two numbers for each."""

    def __init__(self, reading: Reading, pattern: re.Pattern[str], first: str, by: str) -> None:
        self._by = by
        self._edges = array("q")
        # Without the first character there is nothing to look for, and most readings lack one.
        for match in pattern.finditer(reading.text) if first in reading.text else ():
            self._edges.extend(reading.original(*match.span()))

    def __len__(self) -> int:
        return len(self._edges) // 2

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        """Each by its start, its end as a negative number, and what replaces it; in order."""
        edges = self._edges
        starts = edges[::2]
        places: Iterable[int] = range(0, len(edges), 2)
        if any(map(operator.gt, starts, starts[1:])):  # turned, as a whole or in runs
            places = (2 * place for place in sorted(range(len(starts)), key=starts.__getitem__))
        for place in places:
            yield edges[place], -edges[place + 1], self._by


def _replaced(text: str, spans: Iterable[Iterable[tuple[int, int, str]]]) -> str:
    """`text` with each span replaced; of two that overlap the first, and the longer one, counts."""
    pieces, end = Pieces(), 0
    for start, minus_stop, by in heapq.merge(*spans):
        if start >= end:
            pieces.add(text[end:start], by)
            end = -minus_stop
    return pieces.joined(text[end:])
