"""
The automaton of the liberal reader: where delimiters stand in a row of symbols.

It is written by hand and takes linear time: every attempt ends at the next bracket, or at the end
of the line. `sure_spans` is the narrow reading, `wide_spans` the wide one; see `oracle`.
"""

from collections.abc import Iterator
from typing import Literal

from memproto.testing.fence.oracle_tables import BREAK, SPACE, is_skipped, wide

#: The kind of a delimiter; a role is a token such as `<|im_start|>`.
Kind = Literal["open", "close", "note", "heading", "role"]

#: Kind, place of the first symbol, place of the last one.
Spans = Iterator[tuple[Kind, int, int]]

_GAP = SPACE + BREAK

# -- the sure reading ------------------------------------------------------------------------------


def sure_spans(symbols: str) -> Spans:
    """Delimiters by the specification, and role tokens."""
    if {"m", "e", "o"} <= set(symbols):
        for start in _places(symbols, "<"):
            yield from _sure_tag(symbols, start)
        for start in _places(symbols, "["):
            yield from _sure_note(symbols, start)
        for start, stop in _lines(symbols):
            yield from _sure_heading(symbols, start, stop)
    yield from _sure_roles(symbols)


def _places(symbols: str, mark: str) -> Iterator[int]:
    place = symbols.find(mark)
    while place >= 0:
        yield place
        place = symbols.find(mark, place + 1)


def _lines(symbols: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start <= len(symbols):
        stop = symbols.find(BREAK, start)
        stop = len(symbols) if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _skip(symbols: str, at: int, marks: str) -> int:
    while at < len(symbols) and symbols[at] in marks:
        at += 1
    return at


def _word(symbols: str, at: int, word: str) -> int:
    """Behind the word that begins at `at`, white space anywhere in it; -1 where it is another."""
    for letter in word:
        at = _skip(symbols, at, _GAP)
        if symbols[at : at + 1] != letter:
            return -1
        at += 1
    return at


def _sure_tag(symbols: str, start: int) -> Spans:
    """A tag: its end may lack where the hyphen does not, and another word follows neither."""
    name = _skip(symbols, start + 1, _GAP + "/!?")
    hyphen = _word(symbols, name, "memory")
    if hyphen < 0:
        return
    rest = _skip(symbols, hyphen, _GAP + "-")
    end = _word(symbols, rest, "context")
    if end < 0:
        return
    behind = _skip(symbols, end, _GAP + "/")
    is_closed = symbols[behind : behind + 1] == ">"
    if is_closed or ("-" in symbols[hyphen:rest] and _is_boundary(symbols, end)):
        kind: Kind = "close" if "/" in symbols[start:name] else "open"
        yield kind, start, behind if is_closed else end - 1


def _is_boundary(symbols: str, at: int) -> bool:
    return at == len(symbols) or not (symbols[at].isalnum() or symbols[at] in "-:.")


def _sure_note(symbols: str, start: int) -> Spans:
    """The beginning of a note: two words, or letters spread in any way before a colon."""
    first = _skip(symbols, start + 1, _GAP)
    gap = _word(symbols, first, "system")
    if gap < 0:
        return
    second = _skip(symbols, gap, _GAP + "-")
    end = _word(symbols, second, "note")
    if end < 0:
        return
    are_words = (gap - first, end - second) == (6, 4) and second > gap
    colon = _skip(symbols, end, _GAP)
    if symbols[colon : colon + 1] == ":" or (are_words and _is_boundary(symbols, end)):
        yield "note", start, end - 1


def _sure_heading(symbols: str, start: int, stop: int) -> Spans:
    """A line of three marks or more, one word, and `memory`."""
    first = _skip(symbols, start, SPACE)
    if not symbols.startswith("###", first, stop):
        return
    label = _skip(symbols, _skip(symbols, first, "#"), SPACE)
    gap = label
    while gap < stop and symbols[gap].isascii() and (symbols[gap].isalnum() or symbols[gap] == "-"):
        gap += 1
    word = _skip(symbols, gap, SPACE)
    if gap == label or symbols[label] == "-" or word == gap or word >= stop:
        return
    if symbols.startswith("memory", word, stop):
        end = word + len("memory")
        if _skip(symbols[end:stop], 0, " :#") == stop - end:
            yield "heading", first, end - 1


def _sure_roles(symbols: str) -> Spans:
    for start in _places(symbols, "<"):
        if symbols[start + 1 : start + 2] == "|":
            end = start + 2
            while end < len(symbols) and (symbols[end].isalnum() or symbols[end] in "-:"):
                end += 1
            if end > start + 2 and symbols.startswith("|>", end):
                yield "role", start, end + 1


# -- the wide reading ------------------------------------------------------------------------------

_BRACKETS = frozenset("<[({")
_BRACKETS_OF_ANY_SIDE = _BRACKETS | frozenset(">])}")


def wide_spans(symbols: str) -> Spans:
    """Spans that somebody might take for one."""
    alphabet = set(symbols)
    openers = {one for one in alphabet if wide(one) & _BRACKETS}
    for opener in openers:
        for start in _places(symbols, opener):
            yield from _wide_tag(symbols, start, openers)
            yield from _wide_note(symbols, start, openers)
            yield from _wide_role(symbols, start)
    if any("y" in wide(one) for one in alphabet):
        yield from _wide_headings(symbols)


def _wide_word(symbols: str, at: int, word: str) -> int:
    for letter in word:
        while at < len(symbols) and letter not in wide(symbols[at]) and _is_junk(symbols[at]):
            at += 1
        if letter == "m" and symbols.startswith("rn", at):
            at += 1
        elif at >= len(symbols) or letter not in wide(symbols[at]):
            return -1
        at += 1
    return at


def _is_junk(symbol: str) -> bool:
    """True if a wide reader reads over it inside a name: no letter, and no bracket."""
    if is_skipped(symbol) or not wide(symbol).isdisjoint("-/"):
        return True
    return not (symbol.isalnum() or wide(symbol) & _BRACKETS_OF_ANY_SIDE)


def _wide_tag(symbols: str, start: int, openers: set[str]) -> Spans:
    middle = _wide_word(symbols, start + 1, "memory")
    end = _wide_word(symbols, middle, "context") if middle > 0 else -1
    if end < 0 or _goes_on(symbols, end):
        return
    stop = end
    while stop < len(symbols) and symbols[stop] not in openers and ">" not in wide(symbols[stop]):
        stop += 1
    is_closed = stop < len(symbols) and symbols[stop] not in openers
    yield (
        "close" if "/" in symbols[start : start + 4] else "open",
        start,
        stop if is_closed else end - 1,
    )


def _goes_on(symbols: str, at: int) -> bool:
    """True if the word, or a name with a hyphen, goes on."""
    while symbols[at : at + 1] == "-":
        at += 1
    return symbols[at : at + 1].isascii() and symbols[at : at + 1].isalnum()


def _wide_note(symbols: str, start: int, openers: set[str]) -> Spans:
    middle = _wide_word(symbols, start + 1, "system")
    end = _wide_word(symbols, middle, "note") if middle > 0 else -1
    if end > 0:
        yield "note", start, end - 1


def _wide_role(symbols: str, start: int) -> Spans:
    behind = _skip(symbols, start + 1, SPACE + "/")
    if symbols[behind : behind + 1] and "|" in wide(symbols[behind]):
        yield "role", start, behind


def _wide_headings(symbols: str) -> Spans:
    """Lines with marks of a heading, or of emphasis, that end with `memory`."""
    lines = list(_lines(symbols))
    for (start, stop), (below, end) in zip(lines, [*lines[1:], (0, 0)], strict=True):
        line, rule = symbols[start:stop], symbols[below:end].strip()
        if "<h" in line and "memory" in line:
            yield "heading", start, stop - 1
        elif _ends_with_memory(line):
            is_ruled = len(rule) > 1 and not rule.strip("=-")
            if is_ruled or _is_marked(line.strip()):
                yield "heading", start, (end if is_ruled else stop) - 1


def _is_marked(line: str) -> bool:
    return line[0] in "*-[(<>" or any("#" in wide(one) for one in set(line))


def _ends_with_memory(line: str) -> bool:
    """True if the last word of a line is `memory`, with something before it."""
    at = len(line)
    for letter in reversed("memory"):
        while at > 0 and letter not in wide(line[at - 1]) and _is_junk(line[at - 1]):
            at -= 1
        if at <= 0 or letter not in wide(line[at - 1]):
            return False
        at -= 1
    return line[:at].strip(" #") != ""
