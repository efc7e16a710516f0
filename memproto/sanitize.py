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
from collections.abc import Iterable, Iterator

from memproto import spots
from memproto.characters import HIDDEN, TURN, smuggled, smugglers, visible
from memproto.derivations import Derivations, Search
from memproto.errors import TextExpected
from memproto.readings import Pieces, Reading, readings

# -- what a lenient reader takes for a delimiter --------------------------------------------------

_LOOSE = f"[ \n\\-{HIDDEN}]*+"
_HIDDEN = f"[{HIDDEN}]*+"


def _word(word: str, between: str) -> str:
    """A pattern for `word` with what does not count between its letters."""
    looks = {"m": f"(?:m|r{_HIDDEN}n)", "o": "[o0]"}
    return between.join(looks.get(letter, letter) for letter in word)


# No run can be entered at two places: each pattern starts at a character that its runs exclude, and
# the runs are possessive. That is what keeps the search linear.
_TAG = (
    rf"<[ \n\-/!?\\{HIDDEN}]*+{_word('memory', _LOOSE)}{_LOOSE}{_word('context', _LOOSE)}"
    rf"(?![\-{HIDDEN}]*+[a-z0-9])(?:[ \n/\-{HIDDEN}]*+>)?"
)
_NOTE = (
    rf"\[(?={_LOOSE}{_word('system', _LOOSE)}{_LOOSE}{_word('note', _LOOSE)}"
    rf"(?!{_HIDDEN}[a-z0-9]))"
)
_ROLE = rf"<(?={_HIDDEN}\|{_HIDDEN}[a-z/][^ \n<>|()\[\]]{{0,63}}\|{_HIDDEN}>)"
#: Beyond ASCII whatever is not `spots.HARD`.
_WORDS = "a-z0-9\x80-\u3000\u3003-\uff0b\uff0d-\U0010ffff"
_LABEL = rf"[{_WORDS}][{_WORDS}\-{HIDDEN}]*+"
#: One mark that is indented like code begins a comment rather than a heading.
_MARKS = (
    rf"^(?:(?:{_HIDDEN} ){{0,3}}+{_HIDDEN}#|[ {HIDDEN}]*+#[ {HIDDEN}]*+#)"
    rf"[ #{HIDDEN}]*+"
    rf"(?={_LABEL} [ {HIDDEN}]*+{_word('memory', _HIDDEN)}[ #:{HIDDEN}]*+$)"
)

_HEADINGS = re.compile(_MARKS, re.MULTILINE)
_ROLES = re.compile(_ROLE)
_SUBSTITUTES = ((re.compile(_TAG), "<", "[fence]"), (re.compile(_NOTE), "[", "("))

_SURROGATES = re.compile("[\ud800-\udfff]")
#: Stretches that are nearer to each other than this are read as one.
_NEAR = 1024
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
    searches = _searches(text)
    found = {pattern: match.start() for pattern in searches if (match := pattern.search(text))}
    return _joined(text, found) if found else None


def _searches(text: str) -> Iterable[re.Pattern[str]]:
    searches = spots.plain() if text.isascii() else spots.wide()
    return [pattern for first, pattern in searches if first in text]


def _joined(text: str, found: dict[re.Pattern[str], int]) -> Iterator[tuple[int, int]]:
    end = 0
    while found:
        spot = min(found.values())
        begin = _begin(text, spot, end)
        end = _end(text, spot)
        _search_on(text, found, end)
        while found and (spot := min(found.values())) - end < _NEAR:
            end = _end(text, spot + _NEAR)  # where there are two, there may be many
            _search_on(text, found, end)
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


def _search_on(text: str, found: dict[re.Pattern[str], int], end: int) -> None:
    for pattern in [pattern for pattern, spot in found.items() if spot < end]:
        match = pattern.search(text, end)
        if match:
            found[pattern] = match.start()
        else:
            del found[pattern]


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
        has_an_order = _has_an_order(found)
        if has_an_order:
            text = _underived(text)
        if text == before or not (has_an_order or any(TURN in one.text for one in found)):
            break
    return text


#: The beginning of an escape that stands for a character of another escape.
_BEGUN = r"(?:&(?:\#|[a-z])|%[0-9a-fu&%\\]|\\(?:[0-9xu&%\\]|n\{))"
#: An escape with another one inside: their order counts. So it does where a reference has no end,
#: where a plus sign may be a space, and for names and octal digits, which few decoders know.
_ORDERED = re.compile(
    rf"""
    \\(?:(?=[&%]){_BEGUN}|x[0-9a-f]?{_BEGUN}|u(?:[0-9a-f]{{0,3}}|00(?:0[01e]|10)[0-9a-f]{{0,3}}){_BEGUN}
        |[xu]\{{[0-9a-f]*+{_BEGUN}|[0-7](?:[0-7]|[&%]|\\[0-7xun])|n(?:\{{|(?=[&%\\]){_BEGUN}))
    | %(?:[0-9a-f]?{_BEGUN}|u[0-9a-f]{{0,3}}{_BEGUN}
        |[c-f][0-9a-f](?:%[89ab][0-9a-f])*+(?:%[89ab]?)?(?!%[89ab][0-9a-f]){_BEGUN})
    | &(?:[a-z0-9]{{0,32}}{_BEGUN}|\#x?(?:[0-9a-f{HIDDEN}]++(?!;)|{_BEGUN}))
    | (?<=[a-z0-9<\[#/!?;}}\-{HIDDEN}])\+(?=[a-z0-9<\#/!?&%\\\-{HIDDEN}])
    """,
    re.VERBOSE,
)
_MOST_READINGS = 8


def _has_an_order(found: list[Reading]) -> bool:
    """Whether decoders that take turns in another order than the readings may find more."""
    return len(found) > _MOST_READINGS or any(_ORDERED.search(reading.text) for reading in found)


def _underived(text: str) -> str:
    """The text without delimiters that escapes give in any order."""
    for folds in (visible(), smuggled()) if smugglers().search(text) else (visible(),):
        search = Search(Derivations(text, folds))
        marks = search.headings()
        if marks:
            text = _replaced(text, [marks])
            search = Search(Derivations(text, folds))
        text = _replaced(text, [search.words()])
    return text


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
