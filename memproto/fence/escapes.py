"""
Escapes: what character references, percent and backslash escapes stand for, and which there are.

They are read in two ways: loosely, with whatever escapes them again, and to the letter, one at a
time. Both search a text in which characters are already read as `characters` says.
"""

import functools
import re
from collections.abc import Iterator

from memproto.fence import tables
from memproto.fence.characters import HIDDEN, UNSEEN, Folds, codes

#: Marks that no delimiter is made of, but its escapes are, or what may stand in it.
_MARKS_BY_NAME = {"lcub": "{", "lbrace": "{", "rcub": "}", "rbrace": "}"}
_MARKS_BY_NAME |= {"plus": "+", "excl": "!", "quest": "?", "colon": ":"}
_MARKS_BY_NAME |= {"ratio": ":", "proportion": ":"}
#: Names that are one in lower case, by the second reading: of `&Tilde;` and `&tilde;` one is an
#: operator that looks like a hyphen, and one a space with a mark. No other two differ in a reading
#: that a delimiter holds.
BY_CASE = {"tilde": " "}


@functools.cache
def entity_names() -> dict[str, str]:
    """The reading of each character reference by name, in lower case."""
    return _MARKS_BY_NAME | {
        name: reading for reading, names in tables.ENTITIES.items() for name in names.split()
    }


@functools.cache
def bare_names() -> frozenset[str]:
    """The names that need no semicolon."""
    return frozenset(tables.BARE["names"].split())


_LAST_CONTROL = 0x7F
_C1 = range(0x80, 0xA0)


def of_reference(code: int) -> Iterator[int]:
    """
    The codes that a character reference of this number may stand for.

    As in HTML, a C1 control is what Windows has in its place, if it has something there, and of no
    character nothing is left.
    """
    yield code
    if code in _C1:
        yield from map(ord, bytes([code]).decode("cp1252", "ignore"))
    elif 0xFDD0 <= code < 0xFDF0 or code & 0xFFFE == 0xFFFE:
        yield 0


def leaves_nothing(code: int) -> bool:
    """True if HTML leaves nothing of a character reference of this number."""
    is_control = 0 < code < 0x20 and code not in (9, 10, 12, 13)
    return is_control or code == _LAST_CONTROL or 0 in of_reference(code)


def _any_of(words: list[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


@functools.cache
def several() -> dict[str, str]:
    """The characters that are read as more than one."""
    return {
        chr(code): reading for reading, ranges in tables.SEVERAL.items() for code in codes(ranges)
    }


@functools.cache
def escapes() -> re.Pattern[str]:
    """One unit that stands for something else; the last group that took part says which kind."""
    named = _any_of([name for name in entity_names() if name != "amp"])
    bare = _any_of([name for name in bare_names() if name != "amp"])
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
        | (?P<several>[{"".join(several())}])
        """,
        re.VERBOSE | re.DOTALL,
    )


@functools.cache
def exact_escapes() -> re.Pattern[str]:
    """The same, one escape at a time, and none that a strict reader leaves as it is."""
    named, bare = (_any_of(names) for names in ([*entity_names()], [*bare_names()]))
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
            | (?P<simple>[abfnrtv]|[^a-z0-9 \n{HIDDEN}]) )
        | (?P<several>[{"".join(several())}])
        """,
        re.VERBOSE | re.DOTALL,
    )


_SIMPLE = {"n": "\n", "r": "\n", "v": "\n", "f": "\n", "t": " ", "b": UNSEEN, "a": UNSEEN}


class Scribe:
    """
    Writes what a unit stands for.

    Attributes:
        folds: The reading of a character.
        carried: True if one stood for a character that carries another.

    """

    def __init__(self, folds: Folds) -> None:
        self.folds = folds
        self.carried = False

    def written(self, match: re.Match[str]) -> str | None:
        """The text that the unit stands for; None if it stands for itself."""
        kind, value = match.lastgroup or "", match[match.lastgroup or 0]
        if kind in ("name", "bare"):
            return entity_names()[value]
        if kind == "several":
            return several()[value]
        if kind == "again":
            return value[0]
        if kind == "simple":
            return _SIMPLE.get(value, value)
        if kind == "lone":
            return "\ufffd"
        code = self._code(kind, value, match)
        if kind not in ("hex", "decimal"):
            return self._character(code)
        return self._character([*of_reference(code)][-1]) if code else None

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
        return several().get(chr(code)) or self.folds.of(code)


class Squeezer(Scribe):
    """Writes nothing for what is not seen, so that an escape with it inside is one."""

    def written(self, match: re.Match[str]) -> str:
        """Nothing, whatever the unit is."""
        return ""
