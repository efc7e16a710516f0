"""
Spots: places where a delimiter could begin, found at the speed of a search.

Every dress of a delimiter begins with a spot: a character that reads as an opening one, or an
escape that stands for it, and behind it the first letters, or an escape in their place. At a place
that is no spot, no delimiter begins in any reading. Most text has none, and is not read at all.
"""

import functools
import re
from collections.abc import Iterable, Iterator

from memproto.fence import gates, tables
from memproto.fence.characters import HIDDEN, TURN, codes, visible

#: Characters that no delimiter holds in any reading, nor any escape.
HARD = re.compile("[\"$'()*,.=@^`\u3001\u3002\uff0c]")

_META = "&%\\"
_OPENING = "<[#" + _META
_CONTROLS = r"[\x00-\x08\x0e-\x1f\x7f]"
_LAST_ASCII = 0x7F
_ASTRAL = 0x10000
#: A class is searched item by item beyond the basic plane: four hold all that matters there, and
#: none of the usual emoji.
_BEYOND = "\U00010000-\U0001f22f\U0001f672-\U0001f67d\U0001f700-\U0001f77f\U0001fb00-\U0010ffff"
_EMOJI = "[\U0001f230-\U0001f671\U0001f780-\U0001faff]"
_END = 1 << 24
#: A character is rare while there are so many others before the next one.
_RARE = 1_000
#: If a class may hold too much, gaps of this size are filled: it is smaller, and faster.
_NEAR = 48


# -- classes of characters ------------------------------------------------------------------------


class _Looks:
    """Classes of what reads as the same, of ASCII alone or of all characters."""

    def __init__(self, *, ascii_only: bool) -> None:
        self.ascii_only = ascii_only
        table = visible()
        self._codes: dict[str, list[int]] = {}
        for code in range(0x80) if ascii_only else sorted(table):
            self._codes.setdefault(table.of(code), []).append(code)

    def of(self, marks: str) -> str:
        """A class of everything in the basic plane that reads as one of `marks`."""
        found = sorted(code for mark in marks for code in self._codes.get(mark, ()))
        return _class(_ranges(code for code in found if code < _ASTRAL))

    @functools.cached_property
    def no_letter(self) -> str:
        """Characters for a class that no word of letters holds: spaces, and signs for others."""
        if self.ascii_only:
            return ""
        spaces = [code for code in self._codes[" "] if code > _LAST_ASCII]
        several = [code for ranges in tables.SEVERAL.values() for code in codes(ranges)]
        metas = [code for mark in _META for code in self._codes[mark] if code > _LAST_ASCII]
        return "".join(_ranges(sorted({*several, *metas, *spaces}))) + _BEYOND

    @functools.cached_property
    def any_letter(self) -> str:
        """A class of what may stand for any letters: what reads as several, and other planes."""
        if self.ascii_only:
            return "(?!)"
        several = [code for ranges in tables.SEVERAL.values() for code in codes(ranges)]
        return _class([*_ranges(sorted(several), _NEAR), _BEYOND])

    @functools.cached_property
    def skipped(self) -> str:
        """A class that holds everything that may stand between two letters."""
        found = (code for mark in f"{HIDDEN} -\n" for code in self._codes[mark])
        return _class(_ranges(sorted(code for code in found if code < _ASTRAL), _NEAR))

    @functools.cached_property
    def odd(self) -> str:
        """A class that holds, beyond ASCII, everything that may be a part of an escape."""
        marks = f"abcdefghijklmnopqrstuvwxyz0123456789#;{{}}{_META}{HIDDEN}"
        found = sorted(code for mark in marks for code in self._codes.get(mark, ()))
        if self.ascii_only:
            return _CONTROLS
        wide = _ranges((code for code in found if _LAST_ASCII < code < _ASTRAL), _NEAR)
        return f"(?:{_CONTROLS}|{_class([*wide, _BEYOND])})"

    @functools.cached_property
    def odd_meta(self) -> str:
        """A class of what begins an escape and is not the usual character."""
        found = sorted(code for mark in _META for code in self._codes.get(mark, ()))
        return _class(_ranges(code for code in found if code > _LAST_ASCII))


def _class(ranges: Iterable[str]) -> str:
    """A class, matched case by case: what is in it is in it in each case that counts."""
    inside = "".join(ranges)
    return f"(?-i:[{inside}])" if inside else "(?!)"


def _ranges(found: Iterable[int], near: int = 1) -> Iterator[str]:
    """Ranges of sorted codes; with `near`, over gaps that are smaller."""
    first, *rest = [*found, _END]
    start = last = first
    for code in rest:
        if code > last + (near if last > _LAST_ASCII else 1):
            yield f"{_char(start)}-{_char(last)}"
            start = code
        last = code


def _char(code: int) -> str:
    return chr(code) if code > _LAST_ASCII else rf"\x{code:02x}"


# -- what escapes may stand for -------------------------------------------------------------------


@functools.cache
def _opening_codes() -> tuple[int, ...]:
    """Characters that begin a delimiter or an escape, or turn the direction."""
    found = {code for code, fold in list(visible().items()) if fold in {*_OPENING, TURN}}
    found |= set(_of_several())
    return tuple(sorted(found))


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(set(words), key=len, reverse=True))


@functools.cache
def _hexes(digits: int) -> str:
    """The opening codes, padded to so many digits; those that need more are left out."""
    shown = (f"{code:0{digits}x}" for code in _opening_codes())
    return _any_of(one for one in shown if len(one) == digits or not digits)


def _looks_of_escapes() -> str:
    """The codes of letters that look like one which begins an escape, behind a backslash more."""
    looks = (code for code, fold in list(visible().items()) if fold in ("u", "x"))
    return _any_of(f"{code:04x}" for code in looks if _LAST_ASCII < code < _ASTRAL)


def _byte_runs() -> str:
    runs = []
    for code in _opening_codes():
        first, *rest = chr(code).encode()
        runs.append("".join([f"{first:02x}", *(f"%(?:25)*{byte:02x}" for byte in rest)]))
    return _any_of(runs)


def _pairs() -> str:
    pairs = []
    for code in _opening_codes():
        if code > 0xFFFF:
            high, low = divmod(code - 0x10000, 0x400)
            pairs.append(rf"{0xD800 + high:x}\\+u{0xDC00 + low:x}")
    return _any_of(["db40", *pairs])


def _names(marks: str, behind: str = "") -> str:
    """References by name to one of `marks`, by first letters, so that most are passed over."""
    bare = set(tables.BARE["names"].split())
    known: dict[str, list[str]] = {}
    for reading, names in tables.ENTITIES.items():
        for name in names.split() if set(reading) & set(marks) else ():
            if name != "amp":
                known.setdefault(name[0], []).append(name[1:] + ("" if name in bare else ";"))
    firsts = "".join(known)
    by_letter = "|".join(
        f"[{first}{first.upper()}](?i:{_any_of(rest)})" for first, rest in known.items()
    )
    return f"(?=[{firsts}{firsts.upper()}])(?:{by_letter}){behind}"


_SURROGATES = range(0xD800, 0xE000)
#: The number by which Windows, and so HTML, has a single quotation mark that looks like a bracket.
_QUOTE = 0x8B
_CARRIED = "e0[01][0-9a-f]{2}"
_CARRIED_DECIMAL = "917[5-9][0-9]{2}"
#: The begin of an escape, by what no common text has at this place.
_SPELLED = r"(?i:amp|num;|semi;|percnt;|bsol;|[lr]cub;|[lr]brace;)"
_NESTED = (
    rf"(?:&(?:\\*+\#|{_SPELLED})|\\[0-9xXuUnN&%\\\n]"
    r"|%(?:[2-7][0-9a-fA-F]|[2-7]?(?:&\\*+\#|\\[0-7xXuU\n]|%[2-7][0-9a-fA-F])))"
)
#: A reference by name that may stand for a letter or a digit of another escape.
_NAMED = rf"&(?=[a-zA-Z])(?i:[a-z][a-z0-9]{{1,31}};|{'|'.join(tables.BARE['names'].split())})"
#: A nested one within another escape, where a character that is not seen may stand as well.
_WITHIN = rf"(?:{_NESTED}|%[01c-fC-F][0-9a-fA-F])"
_ESCAPED = r"\\(?:[xXuU0-7]|N[{&%\\])"
#: An escape that may stand for an octal digit.
_OCTAL = rf"(?:&\\*+\#|&amp|{_NAMED}|%(?:(?:25)*3[0-7]|[&%\\])|\\(?:[xXuU&%\\\n]|0?6[0-7]|N\{{))"
#: Names of one word of characters that open; of those that select a variation and carry one, too.
ONE_WORD = "ampersand|precedes|vs(?:36|61|92|93|172)"
#: Behind `N{`: words as in the name of an opening character, or an escape in their place.
_NAME = (
    rf"(?:(?i:{ONE_WORD})\}}|[a-zA-Z0-9]+[ +-][a-zA-Z0-9 +-]{{0,96}}+\}}"
    rf"|[a-zA-Z0-9 +-]{{0,96}}+(?:{_NESTED}|{_NAMED}))"
)
#: Behind `u` or `x`: the code of a letter that, behind one backslash more, escapes again.
_ESCAPABLE = "0{0,6}(?:[57][58]|3[0-9]|[46][1-6eE])"


# -- the searches ---------------------------------------------------------------------------------


class _Shapes:
    """
    The patterns of what stands behind each opening character.

    Before the large classes stands a small one: that most text is passed over is told in one step.
    """

    def __init__(self, looks: _Looks) -> None:
        self.looks = looks
        self.of = looks.of
        self.gap = f"{self.of(HIDDEN + ' -' + chr(10))}*+"
        self.unseen = f"{self.of(HIDDEN)}*+"
        self.escape = f"(?:[#&%+\\\\]|{looks.of('#')}|{looks.odd_meta}|{looks.any_letter})"
        self.begun = (
            rf"(?:&(?:[\#a-zA-Z&%\\]|{looks.odd})|%(?:[0-9a-fA-FuU&%\\]|{looks.odd})"
            rf"|{looks.odd_meta}|{looks.any_letter})"
        )

    def word(self, *letters: str) -> str:
        """The first letters of a word, with an escape in place of any."""
        letter, *rest = letters
        if not rest:
            return f"(?:{letter}|{self.escape})"
        if self.looks.ascii_only:
            return f"(?:{letter}{self.gap}{self.word(*rest)}|{self.escape})"
        return f"(?:{letter}(?:{rest[0]}|{self.looks.skipped}|{self.escape})|{self.escape})"

    def memory(self) -> str:
        """The beginning of the word; an m may be made of two letters."""
        m, e, r, n = map(self.of, "mern")
        if not self.looks.ascii_only:
            return f"(?:{self.word(m, e)}|{self.word(r, n)})"
        return f"(?:{m}{self.gap}{self.word(e, self.of('mr'))}|{r}{self.gap}{self.word(n)})"

    def tag(self) -> str:
        """The pattern behind the first character of a tag."""
        skipped = self.of(HIDDEN + " +-/!?\\\n")
        first = r"(?=[mMrR#&%xXuU0-7N\x80-\U0010ffff])"
        return (
            rf"(?:{gates.SIMPLE}|{skipped})*+{first}"
            rf"(?:{self.memory()}|{self.of('#')}|(?<=\\)(?:[xXuU0-7]|N[{{&%\\])|{self.begun})"
        )

    def role(self) -> str:
        """The pattern behind the first character of a role token."""
        return f"{self.unseen}{self.of('|')}[^\\s<>|-]"

    def note(self) -> str:
        """The pattern behind the bracket of a note."""
        head = self.word(*map(self.of, "sys"))
        first = r"(?=[sS#&%\\\x80-\U0010ffff])"
        return (
            rf"(?:{gates.SIMPLE}|{self.of(HIDDEN + ' +-' + chr(10))})*+{first}"
            rf"(?:{head}|{self.of('#')}|\\+(?:[xXuU0-7&%]|N[{{&%\\]|[sS]\\*+[yY])|{self.begun})"
        )

    def heading(self) -> str:
        """The pattern behind the last mark of a run; behind the first it would run for each."""
        word = rf"""[^\s\#&%\\"$'()*+,.=@^`{self.looks.no_letter}]"""
        marks, space = self.of("#"), self.of(HIDDEN + " +")
        begun = rf"(?:{self.begun}|\\[xXuU0-9nNrtabfv\n \#\\&%])"
        words = rf"{word}*+(?:\\(?![xXuU0-9nNrtabfv\n \#\\&%]){word}*+)*+"
        return (
            rf"(?!{marks}){space}*+"
            rf"{words}(?:{space}++(?=[mMrR&%\\\x80-\U0010ffff])(?:\\*+{self.memory()}|{begun})|{begun})"
        )

    def reference(self) -> str:
        """The pattern behind the first character of a character reference."""
        lead = (
            self.tag()
            if self.looks.ascii_only
            else rf"(?:{gates.SIMPLE}|[\s\x00-\x1f\x7f+/!?\\_~-])*+"
            rf"(?:[mrMR&%\#]|[^\x00-\x7f]|(?<=\\)(?:[xXuU0-7]|N[{{&%\\]))"
        )
        tags = _names("<", rf";?(?:{lead}|{_ESCAPED})")
        others = _names("[#" + _META)
        decimal = f"{_any_of(map(str, _opening_codes()))}|{_QUOTE}|{_CARRIED_DECIMAL}"
        return (
            rf"(?=[0-9a-zA-Z\#&%\\\x00-\x08\x0e-\x1f\x7f\x80-\U0010ffff])(?:[aA][mM][pP];?)*+(?:{tags}|{others}"
            rf"|\#0*+(?:{decimal})(?![0-9])"
            rf"|\#[xX]0*+(?i:{_hexes(0)}|{_QUOTE:x}|{_CARRIED})(?![0-9a-fA-F])"
            rf"|\#[xX]?[0-9a-fA-F]*+{_WITHIN}|(?:\#[xX]?0*+)?[0-9a-zA-Z\#;]{{0,32}}+"
            rf"(?=[&%\\\x00-\x08\x0e-\x1f\x7f\x80-\U0010ffff])"
            rf"(?:{_WITHIN}|(?<!;){_NAMED}|\\++[\#;]|{self.looks.odd}))"
        )

    def percent(self) -> str:
        """The pattern behind a percent sign."""
        return (
            rf"(?=[0-9a-fA-FuU&%\\\x00-\x08\x0e-\x1f\x7f\x80-\U0010ffff])"
            rf"(?:25)*+(?:(?=[0-9a-fA-FuU])(?i:{_hexes(2)}|u(?:{_hexes(4)}|db40)|{_byte_runs()}"
            rf"|f3%(?:25)*a0)|(?:[0-9a-fA-F]?|[uU][0-9a-fA-F]{{0,3}})(?:{_WITHIN}|{_NAMED})"
            rf"|[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F])*+(?:%[89abAB]?)?{_NESTED}"
            rf"|[0-9a-fA-FuU]{{0,5}}+{self.looks.odd})"
        )

    def backslash(self) -> str:
        """The pattern behind a backslash."""
        octal = _any_of(f"{code:o}" for code in _opening_codes() if code <= _LAST_ASCII)
        return (
            rf"(?<!\\\\)(?=[xXuU0-9nN&%\\]|{self.looks.odd})\\*+(?:(?=[xXuU0-9])(?i:x(?:{_hexes(2)})|[xu]\{{0*+(?:{_hexes(0)}|{_CARRIED})\}}"
            rf"|u(?:{_pairs()}|(?:0000)?(?:{_hexes(4)})|000(?:{_hexes(5)}|{_CARRIED}))"
            rf"|0{{0,4}}(?:{_hexes(2)})|0?(?:{octal})"
            rf"|(?:x[0-9a-f]?|u[0-9a-f]{{0,3}}|(?-i:U)[0-9a-f]{{0,7}}|[xu]\{{[0-9a-f]*+)(?:{_WITHIN}|{_NAMED})"
            rf"|[xu](?:\\++\{{|\{{[0-9a-f]*+\\++\}})|[0-7]{{1,2}}{_OCTAL})"
            rf"|(?=[&%])(?:{_WITHIN}|{_NAMED})|N(?:\{{{_NAME}|(?=[&%\\])(?:{_NESTED}|{_NAMED}))"
            rf"|(?<=\\\\)(?i:x|u|u\{{|x\{{){_ESCAPABLE}"
            rf"|(?<=\\\\)(?i:u(?:0000|\{{0*+)?(?:{_looks_of_escapes()})|ud835\\)"
            rf"|(?<=\\\\\\)\n[xXuU0-7N&%\\]"
            rf"|(?<=\\\\)0?(?:6[0-7]|1(?:16|25|30|56|65|70))"
            rf"|N\{{[a-zA-Z0-9 +-]{{0,96}}+{self.looks.odd}"
            rf"|(?:[xXuU0-7]\{{?0*+[0-9a-zA-Z{{}}]{{0,8}}+)?{self.looks.odd})"
        )

    def behind(self, first: str) -> str:
        """The pattern behind an opening character."""
        match first:
            case "<":
                return f"{self.gate('/!?mr#|+' + _META)}(?={self.tag()}|{self.role()})"
            case "[":
                return f"{self.gate('s#+' + _META)}(?={self.note()})"
            case "#":
                return f"(?={self.heading()})"
            case "&":
                return f"(?={self.reference()})"
            case "%":
                return f"(?={self.percent()})"
        return f"(?={self.backslash()})"

    def gate(self, readings: str) -> str:
        """A quick look at the next character; large classes are slow to say no."""
        table = visible()
        marks = f"{readings}{HIDDEN} -\n"
        found = _ranges(code for code in range(0x80) if table.of(code) in marks)
        return f"(?=[{''.join(found)}\x80-\U0010ffff])"


class Search:
    """
    The search for the spots that one character begins, compiled when a text gets past its gate.

    Attributes:
        first: The character; empty for the search for all that are not of ASCII.

    """

    def __init__(self, first: str, *, ascii_only: bool) -> None:
        self.first = first
        self._ascii_only = ascii_only
        # Two threads may both compile it: the one is as good as the other.
        self._pattern: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """The search itself."""
        pattern = self._pattern
        if pattern is None:
            shapes = _shapes(ascii_only=self._ascii_only)
            if self.first:
                pattern = re.compile(re.escape(self.first) + shapes.behind(self.first))
            else:
                pattern = _beyond_ascii(shapes)
            self._pattern = pattern
        return pattern

    def compile(self) -> None:
        """Compile the search now, and not in the middle of the first text that needs it."""
        _ = self.pattern

    def spot(self, text: str, start: int = 0) -> int | None:
        """The first spot from a place on."""
        pattern = self._pattern
        if pattern is None:
            if self._ascii_only:
                past = gates.gate(self.first).search(text, start)
                if not past:
                    return None
                start = past.start()
            pattern = self.pattern
        while self.first:
            # While the character is rare, `find` from one to the next is faster than a search.
            at = text.find(self.first, start)
            if at < 0:
                return None
            if at - start < _RARE:
                break
            if pattern.match(text, at):
                return at
            start = at + 1
        match = pattern.search(text, start)
        return match.start() if match else None


#: For text in ASCII, and for text that is searched as such.
PLAIN = tuple(Search(first, ascii_only=True) for first in _OPENING)
#: For all other text.
WIDE = (*(Search(first, ascii_only=False) for first in _OPENING), Search("", ascii_only=False))


@functools.cache
def _shapes(*, ascii_only: bool) -> _Shapes:
    return _Shapes(_Looks(ascii_only=ascii_only))


def _beyond_ascii(shapes: _Shapes) -> re.Pattern[str]:
    """The search for look-alikes of opening characters, and for what is a spot by itself."""
    looks = shapes.looks
    branches = [f"(?<={looks.of(first)}){shapes.behind(first)}" for first in "<[#"]
    escaped = looks.of("abcdefghijklmnopqrstuvwxyz0123456789#{" + _META + HIDDEN)
    branches.append(f"(?<={looks.odd_meta})(?:(?={escaped})|(?={looks.any_letter}))")
    alone = {code for code in _opening_codes() if code >= _ASTRAL or visible().of(code) == TURN}
    alone |= {*_SURROGATES, *_of_several()}
    alone |= {base + ord(mark) for base in (0xE0000, 0xE00F0) for mark in _OPENING}
    branches.append(f"(?<={_class(_ranges(sorted(alone)))})")
    known = {*_opening_codes(), *_SURROGATES} & set(range(_LAST_ASCII + 1, _ASTRAL))
    plane = "".join(_ranges(sorted(known)))
    return re.compile(rf"[{plane}\U00010000-\U0010ffff](?<!{_EMOJI})(?:{'|'.join(branches)})")


def _of_several() -> Iterator[int]:
    for reading, ranges in tables.SEVERAL.items():
        if set(reading) & set(_OPENING):
            yield from codes(ranges)
