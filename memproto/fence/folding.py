"""
A text with other characters, as a text in ASCII that is read the same.

To search for spots beyond ASCII takes large classes of characters, and several times as long as in
ASCII. Most texts hold a few accents, dashes and quotation marks, and each of these is read as one
character of ASCII or as itself. With these in their places the text is searched as ASCII is.

The result may stand for the text in a search for spots. A reading begins by replacing each
character by what it is read as, all at once; a character that is replaced before that is read as
the same, for what one is read as is read as itself. So both texts have the same readings, place by
place, and a place is a spot of the one if it is a spot of the other. A character for which this
does not hold is *odd*: it stands for several, carries another one, turns the direction or is half
of a pair. A text with an odd character is not replaced.

A character that is read as itself and is not of ASCII remains. The searches for ASCII take it for
what it is: no part of a word that a delimiter needs, and a letter of a heading's label.
"""

import functools
import itertools

from memproto.fence import tables
from memproto.fence.characters import RETURN, TURN, codes, smuggled, visible

_ASCII = bytes(range(0x80))
#: To look at each of many other characters, or to replace many different ones, takes longer than
#: the large classes do.
_MOST_SHARE = 1 / 8
_FEW_BYTES = 30
_MOST_REPLACED = 6
#: A short text, by its characters. To build the large classes takes as long as to look at so many
#: short texts in full; a process that has more of them is better off with the classes. A benchmark
#: sets the number, to compare both ways.
_SHORT = 1_024
most_short = 1_000
_short_texts = itertools.count()
#: So many characters are remembered.
_MOST_KNOWN = 16_384
_SURROGATES = range(0xD800, 0xE000)
#: The characters that were replaced last, by what, and their bytes: most texts hold the same few.
#: To replace them, needed or not, and find that only ASCII remains, takes less than to look for all
#: others. Two threads may each forget what the other one found; that costs time, and nothing else.
_USUAL: list[tuple[str, str, int]] = []
_MOST_USUAL = 8


def folded(text: str) -> str | None:
    """The text with its characters as they are read, of equal length; None if it is not to be."""
    is_short = len(text) <= _SHORT and next(_short_texts) < most_short
    as_usual = _folded_as_usual(text)
    if as_usual is not None:
        return as_usual
    if len(text) > _SHORT and len(_others(text[:_SHORT])) > 2 * _MOST_SHARE * _SHORT:
        return None
    others = _others(text)
    if not is_short and len(others) > max(_FEW_BYTES, _MOST_SHARE * len(text)):
        return None
    replaced: list[tuple[str, str]] = []
    for character in set(others.decode("utf-8", "surrogatepass")) - _ITSELF:
        fold = _FOLDS[character]
        if fold is None:
            return None
        if fold != character:
            replaced.append((character, fold))
    if not is_short and len(replaced) > _MOST_REPLACED:
        return None
    for character, fold in replaced:
        text = text.replace(character, fold)
    if text.isascii():
        found = [(*pair, len(pair[0].encode())) for pair in replaced]
        kept = [row for row in tuple(_USUAL) if row not in found]
        _USUAL[:] = [*found, *kept][:_MOST_USUAL]
    return text


def _folded_as_usual(text: str) -> str | None:
    """
    The text without the usual characters, if only ASCII remains, and few were replaced.

    None if `folded` might give None for it: the same text gives the same, whatever came before it.
    """
    usual = tuple(_USUAL)  # one look: another thread may replace them
    plain, others, replaced = text, 0, 0
    for character, fold, size in usual:
        if character in plain:  # to count takes several times as long, and most are not there
            others += plain.count(character) * size
            plain = plain.replace(character, fold)
            replaced += 1
            if plain.isascii():
                break
    if not plain.isascii():
        del _USUAL[-1:]  # a process whose texts keep others comes to look for none in vain
        return None
    if replaced > _MOST_REPLACED:
        return None
    if others > max(_FEW_BYTES, _MOST_SHARE * len(text)):
        return None
    most_ahead = 2 * _MOST_SHARE * _SHORT
    if others > most_ahead and len(text) > _SHORT:
        ahead = text[:_SHORT]
        if sum(ahead.count(character) * size for character, _, size in usual) > most_ahead:
            return None
    return plain


def _others(text: str) -> bytes:
    """The characters that are not of ASCII, in UTF-8."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII)


class _Folds(dict[str, str | None]):
    """The one character as which another is read; None for an odd one."""

    def __missing__(self, character: str) -> str | None:
        code = ord(character)
        fold = visible().of(code)
        is_odd = (
            code in _SURROGATES
            or code in _several()
            or fold in {TURN, RETURN}
            or smuggled().of(code) != fold
            or visible().of(ord(fold)) != fold
        )
        found = None if is_odd else fold
        if len(_ITSELF) + len(self) < _MOST_KNOWN:
            if found == character:
                _ITSELF.add(character)
            else:
                self[character] = found
        return found


# Several threads may add to these at the same time: an entry is the same, whoever adds it.
_FOLDS = _Folds()
#: Characters that are read as themselves.
_ITSELF: set[str] = set()


@functools.cache
def _several() -> frozenset[int]:
    """Characters that are read as more than one."""
    return frozenset(code for ranges in tables.SEVERAL.values() for code in codes(ranges))
