"""
The liberal reader: which delimiters of the context block a text holds, and how they are dressed.

It answers twice. `must` is narrow: what it finds is a delimiter by the specification, and has to
be gone from text that was sanitized. `may` is wide: where it finds nothing, the text has to come
back as it was. Between the two, either answer of a sanitizer is right.

Both take time linear in the text. Spec: MP-HOST-FENCE, levels A, B and C.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator

from memproto.testing.fence.oracle_decoders import decodings, loose_decodings
from memproto.testing.fence.oracle_escapes import ROUNDS, WIDE_ROUNDS, collapsed, decoded
from memproto.testing.fence.oracle_spans import Kind, Spans, sure_spans, wide_spans
from memproto.testing.fence.oracle_tables import RETURN, SPACE, TURN, sure
from memproto.testing.fence.oracle_views import (
    View,
    folded,
    is_smuggling,
    on_a_terminal,
    turned,
    without_turns,
)

#: Readings of a delimiter: as it is written, by its looks, out of characters that
#: nobody sees, out of an encoding, from right to left.
BYTES, LOOKS, SMUGGLED, DECODED, TURNED = range(1, 6)

#: Several checks ask about the same texts.
_KEPT = 4096

_SPELLED = frozenset("&%\\")
#: Characters with which unseen ones may be spelled out.
_CODE = frozenset("0123456789abcdefABCDEFxXuU%&#;\\{}")
_UNSEEN = ("", SPACE, TURN, RETURN)
_EXACT: dict[Kind, str] = {
    "open": "<memory-context>",
    "close": "</memory-context>",
    "note": "[System note",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """
    One delimiter in a text.

    Attributes:
        kind: Its kind; a role is a token such as `<|im_start|>`.
        tier: The most literal reading that shows it, 1 to 5.
        start: Its beginning in the text.
        end: Its end in the text.

    """

    kind: Kind
    tier: int
    start: int
    end: int


@functools.lru_cache(maxsize=_KEPT)
def must(text: str, level: int = TURNED) -> tuple[Finding, ...]:
    """The delimiters that a sanitizer up to that level has to remove, in order of the text."""
    found = _distinct(_read(text, sure_spans, level))
    read = tuple(finding for finding in found if finding.tier <= level)
    if level >= DECODED and all(finding.kind == "role" for finding in read):
        return (*read, *_in_any_order(text, decodings(text), sure_spans))
    return read


@functools.lru_cache(maxsize=_KEPT)
def may(text: str) -> tuple[Finding, ...]:
    """Everything that somebody could take for a delimiter, in order of the text."""
    sure_ones = _read(text, sure_spans, TURNED)
    found = sure_ones + _read(text, wide_spans, TURNED, is_wide=True)
    spread = {_with_hidden(finding, text) for finding in found}
    # A sure finding is all of its delimiter; a wide one may be a part of what an order gives.
    rest = _without(text, {_with_hidden(finding, text) for finding in sure_ones})
    spread.update(_in_any_order(rest, loose_decodings(rest), wide_spans))
    return tuple(sorted(spread, key=lambda one: (one.start, one.end, one.kind, one.tier)))


def _with_hidden(finding: Finding, text: str) -> Finding:
    """The finding with what is not seen beside it, of which nobody can say whose it is."""
    start, end = finding.start, finding.end
    spelled = _CODE if finding.tier >= DECODED else frozenset()
    while start > 0 and (text[start - 1] in spelled or sure(text[start - 1]) in _UNSEEN):
        start -= 1
    while end < len(text) and (text[end] in spelled or sure(text[end]) in _UNSEEN):
        end += 1
    return dataclasses.replace(finding, start=start, end=end)


def effective(text: str, level: int = TURNED) -> list[Finding]:
    """As `must`, without roles: what ends or forges a part of the block."""
    return [finding for finding in must(text, level) if finding.kind != "role"]


def _without(text: str, found: Iterable[Finding]) -> str:
    """The text with full stops in place of what was found."""
    for finding in found:
        stops = "." * (finding.end - finding.start)
        text = f"{text[: finding.start]}{stops}{text[finding.end :]}"
    return text


def _in_any_order(
    text: str, decoded_texts: Iterable[str], spans_of: Callable[[str], Spans]
) -> Iterator[Finding]:
    """
    The first delimiter that the standard library's decoders show, if they show one.

    Nobody can say of which characters it was made, so it stands for the text as a whole.
    """
    for decoding in decoded_texts:
        for finding in _read(decoding, spans_of, SMUGGLED):
            if finding.kind != "role":
                yield Finding(finding.kind, DECODED, 0, len(text))
                return


# -- views -----------------------------------------------------------------------------------------


def _read(
    text: str, spans_of: Callable[[str], Spans], level: int, *, is_wide: bool = False
) -> list[Finding]:
    found: list[Finding] = []
    known: set[str] = set()
    for tier, view in _views(text, level, is_wide=is_wide):
        if view.symbols in known:
            continue
        known.add(view.symbols)
        for kind, first, last in spans_of(view.symbols):
            # In order but for runs that are turned.
            ends = slice(first, last + 1, None if tier == TURNED else max(1, last - first))
            start, end = min(view.starts[ends]), max(view.ends[ends])
            found.append(_leveled(Finding(kind, tier, start, end), text))
    return found


def _leveled(finding: Finding, text: str) -> Finding:
    """The finding; one that stands there byte for byte is of the first tier."""
    exact = _EXACT.get(finding.kind, "### ")
    if finding.tier == LOOKS and text.startswith(exact, finding.start):
        return dataclasses.replace(finding, tier=BYTES)
    return finding


def _distinct(found: list[Finding]) -> list[Finding]:
    """Each delimiter once, by its most literal reading."""
    kept: list[Finding] = []
    ends: dict[str, int] = {}
    for finding in sorted(found, key=lambda one: (one.kind, one.start, one.tier, one.end)):
        if finding.start >= ends.get(finding.kind, 0):
            kept.append(finding)
            ends[finding.kind] = finding.end
        elif finding.tier < kept[-1].tier:
            kept[-1] = dataclasses.replace(kept[-1], tier=finding.tier)
    return sorted(kept, key=lambda one: (one.start, one.end))


def _views(text: str, level: int, *, is_wide: bool) -> Iterator[tuple[int, View]]:
    """Every reading of the text, with its tier."""
    plain = folded(text)
    yield from _chain(plain, LOOKS, level, smuggling=False, is_wide=is_wide)
    if level >= SMUGGLED and is_smuggling(text):
        plain = folded(text, smuggling=True)
        yield from _chain(plain, SMUGGLED, level, smuggling=True, is_wide=is_wide)
    elif level >= DECODED and not _SPELLED.isdisjoint(plain.symbols):
        # Hidden characters may be spelled out.
        yield from _chain(plain, DECODED, level, smuggling=True, is_wide=is_wide)
    if is_wide:
        straight = without_turns(plain)
        if straight is not plain:
            yield from _chain(straight, LOOKS, level, smuggling=True, is_wide=True)
        yield from _loose_chain(plain)
        for mark in sorted(_SPELLED.intersection(plain.symbols)):
            if first := _fully_decoded(plain, mark):
                yield from _chain(first, DECODED, level, smuggling=True, is_wide=True)
        if terminal := on_a_terminal(text):
            yield LOOKS, without_turns(terminal)


def _chain(
    view: View | None, tier: int, level: int, *, smuggling: bool, is_wide: bool
) -> Iterator[tuple[int, View]]:
    """A view, what it decodes to, and each of them read from the right."""
    rounds = WIDE_ROUNDS if is_wide else ROUNDS
    for number in range(rounds + 1):
        if view is None:
            return
        yield (tier if number == 0 else max(tier, DECODED)), without_turns(view)
        if level >= TURNED:
            yield from _turned_chain(view, rounds - number, smuggling=smuggling, is_wide=is_wide)
        if level < DECODED:
            return
        view = decoded(view, smuggling=smuggling, is_wide=is_wide)


def _loose_chain(plain: View) -> Iterator[tuple[int, View]]:
    """The text that is left if an escape that was escaped any number of times is taken for one."""
    view = plain
    for _ in range(WIDE_ROUNDS):
        shorter = collapsed(view)
        if shorter:
            view = shorter
            yield DECODED, without_turns(view)
            yield from ((TURNED, other) for other in turned(view, is_wide=True))
        further = decoded(view, smuggling=True, is_wide=True)
        if further is None:
            return
        view = further
        yield DECODED, without_turns(view)
        yield from ((TURNED, other) for other in turned(view, is_wide=True))


def _fully_decoded(view: View, mark: str) -> View | None:
    """The view with one kind of encoding gone before any other is read."""
    found: View | None = None
    for _ in range(WIDE_ROUNDS):
        further = decoded(found or view, smuggling=True, by=mark)
        if further is None:
            break
        found = further
    return found


def _turned_chain(
    view: View, rounds: int, *, smuggling: bool, is_wide: bool
) -> Iterator[tuple[int, View]]:
    for other in turned(view, is_wide=is_wide):
        shown: View | None = other
        for _ in range(rounds + 1):
            if shown is None:
                break
            yield TURNED, shown
            shown = decoded(shown, smuggling=smuggling, is_wide=is_wide)
