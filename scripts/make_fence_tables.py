"""
Writes memproto/fence/tables.py: how a lenient reader sees each character.

    python scripts/make_fence_tables.py confusables.txt

`confusables.txt` is the file of Unicode Technical Standard 39. Decompositions, categories and names
come from the Python that runs this script; both versions are written into the table. Nothing of it
is read again when text is sanitized, so a result does not change with the Python.
"""

import html.entities
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "memproto" / "fence" / "tables.py"

#: Letters of the words that delimiters are made of: of several readings the one that can hurt.
WORDS = frozenset("memorycontextsystemnote")
MARKS = frozenset("<>/[]#-|&%\\;")
DIGITS = frozenset("0123456789")
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz") | DIGITS | MARKS

UNSEEN, SPACE, BREAK = "\0", " ", "\n"
BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
#: Default ignorables beyond the categories of `_unseen`; assigned or not.
IGNORED = [0x115F, 0x1160, 0x3164, 0xFFA0, 0x2065, *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)]

#: Characters that no table of the standard has: read so by people, or by a reader of shapes.
BEYOND = {
    "-": "_~·ـᅳ—―‿・ーㅡ−⁃˗⸺⸻⎯─━﹘➖",  # noqa: RUF001 - look-alikes are its content
    "<": "«≪≺⋖❬❰⟨⟪⧼〈《‹〈❮˂ᐸ",  # noqa: RUF001
    ">": "»≫≻⋗❭❱⟩⟫⧽〉》›〉❯˃ᐳ",  # noqa: RUF001
    "/": "÷⁄∕⧸╱⟋",  # noqa: RUF001
    "[": "⁅⟦【〖⎡⎣",
    "]": "⁆⟧】〗⎤⎦",
    "#": "⋕⌗♯",
    "|": "｜∣│┃❘￨",  # noqa: RUF001
    "m": "мМ",
    "t": "тТτΤ",
    "n": "пПиИηΝνИ",
    "r": "яЯгГ",
    "c": "\U0001051c",
    "e": "єЄэЭεΕ",
    "y": "υΥчЧ",
    "x": "χΧ×✕✖⮾⮿",  # noqa: RUF001
    "!": "！︕﹗‼⁉",  # noqa: RUF001
    "?": "？︖﹖⁇⁈",  # noqa: RUF001
    "{": "｛︷﹛❴",  # noqa: RUF001
    "}": "｝︸﹜❵",  # noqa: RUF001
    " ": "\u2800",
}
#: Characters younger than most Pythons: the outlined capitals and digits of Unicode 16.
YOUNGER = {
    chr(0x1CCD6 + place): letter
    for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789")
}
EXTRA = {look: plain for plain, looks in BEYOND.items() for look in looks} | YOUNGER
#: Characters that the standard confuses with our letters, and that nobody reads so.
UNLIKE = "ß\u1e9e\uab43\uab44"

NAMED = (
    (re.compile(r"LATIN (?:\w+ )?LETTER (?:[A-Z-]{4,} )*([A-Z])(?: WITH .*)?"), None),
    (re.compile(r"REGIONAL INDICATOR SYMBOL LETTER ([A-Z])"), None),
    (re.compile(r"MODIFIER LETTER (?:SMALL |CAPITAL )*([A-Z])(?: WITH .*)?"), None),
    (re.compile(r"(?:NEGATIVE )?(?:CIRCLED|SQUARED) LATIN \w+ LETTER ([A-Z])"), None),
    (re.compile(r"(?!.*REVERSE).*\bSOLIDUS\b.*"), "/"),
    (re.compile(r".*\bREVERSE SOLIDUS\b.*"), "\\"),
    (re.compile(r".*\bLEFT(?:-POINTING)?\b.*\bANGLE\b.*\b(?:BRACKET|QUOTATION MARK)\b.*"), "<"),
    (re.compile(r".*\bRIGHT(?:-POINTING)?\b.*\bANGLE\b.*\b(?:BRACKET|QUOTATION MARK)\b.*"), ">"),
    (re.compile(r".*\bLEFT\b.*\bSQUARE BRACKET\b.*|.*\bLEFT\b.*\bLENTICULAR BRACKET"), "["),
    (re.compile(r".*\bRIGHT\b.*\bSQUARE BRACKET\b.*|.*\bRIGHT\b.*\bLENTICULAR BRACKET"), "]"),
    (re.compile(r".*\bNUMBER SIGN"), "#"),
)


class Reader:
    """The reading of one character, by the standard's tables and those above."""

    def __init__(self, confusables: str) -> None:
        found = re.search(r"Version: (\S+)", confusables)
        assert found is not None, "confusables.txt states no version"
        self.version = found[1]
        rows = re.findall(r"^\ufeff?([0-9A-F]+)\s*;\s*([0-9A-F ]+?)\s*;", confusables, re.MULTILINE)
        self._looks = {
            chr(int(source, 16)): "".join(chr(int(code, 16)) for code in target.split())
            for source, target in rows
        }

    def read(self, character: str) -> str:
        """The reading of `character`; itself if it is like nothing that matters."""
        if character in BREAKS:
            return BREAK
        if character in UNLIKE:
            return character
        if character in EXTRA:
            return EXTRA[character]
        if character.isspace():
            return SPACE
        if _unseen(character):
            return UNSEEN
        if self._is_unlike_any(character):
            return character
        if unicodedata.category(character) == "Pd":
            return "-"
        return self._most_telling(character) or character

    def _is_unlike_any(self, character: str) -> bool:
        """The hundred thousands of ideographs and unassigned codes, at little cost."""
        plain = unicodedata.category(character) in ("Lo", "Cn")
        return plain and character not in self._looks and not unicodedata.decomposition(character)

    def _most_telling(self, character: str) -> str:
        composed = _bare(character)
        if composed and composed.isspace():
            return SPACE  # an accent by itself: a space that carries it
        if len(composed) == 1 and composed in PLAIN:
            return composed
        readings = [composed, *self._readings(character)]
        # A digit stands in escapes alone: what only looks like one is none to any decoder.
        plain = [one for one in readings if len(one) == 1 and one in PLAIN - DIGITS]
        telling = [reading for reading in plain if reading in WORDS | MARKS]
        several = [
            reading
            for reading in readings
            if 1 < len(reading) < 5 and set(reading) <= WORDS | set("</[#>-") and _matters(reading)
        ]
        return next(iter([*telling, *plain, *several]), "")

    def _readings(self, character: str) -> Iterator[str]:
        cases = (character, character.casefold(), character.upper(), character.lower())
        decomposed = [unicodedata.normalize("NFD", case) for case in cases]
        for text in [*cases, *decomposed, *map(_bare, cases)]:
            look = _bare("".join(self._looks.get(one, one) for one in text))
            yield {"rn": "m"}.get(look, look)
            yield "".join(EXTRA.get(one, one) for one in look)
        yield _by_name(character)


def _matters(reading: str) -> bool:
    """True if several letters stand side by side in a delimiter, or a bracket is among them."""
    words = ("memory", "context", "system", "note", "rn")
    return not set("<>[#").isdisjoint(reading) or any(reading in word for word in words)


def _unseen(character: str) -> bool:
    known = unicodedata.category(character) in ("Cc", "Cf", "Mn", "Me")
    return known or ord(character) in IGNORED


def _bare(text: str) -> str:
    """Decomposed, case-folded, without marks."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(one for one in plain if not _unseen(one))


def _by_name(character: str) -> str:
    name = unicodedata.name(character, "")
    for pattern, mark in NAMED:
        if found := pattern.fullmatch(name):
            return mark or found[1].lower()
    return ""


# -- the file -------------------------------------------------------------------------------------


def _characters() -> Iterator[str]:
    for code in range(0x80, 0x110000):
        if unicodedata.category(chr(code)) not in ("Cs", "Co"):
            yield chr(code)


def _ranges(codes: list[int]) -> Iterator[str]:
    start = last = codes[0]
    for code in [*codes[1:], -1]:
        if code == last + 1:
            last = code
            continue
        yield f"{start:x}-{last:x}" if last > start else f"{start:x}"
        start = last = code


def _entities(reader: Reader) -> tuple[dict[str, str], list[str]]:
    known: dict[str, str] = {}
    bare = set()
    for name, value in sorted(html.entities.html5.items()):
        reading = "".join(one if one in PLAIN else reader.read(one) for one in value).lower()
        if not set(reading) <= PLAIN | {UNSEEN, SPACE, BREAK}:
            continue
        short = name.removesuffix(";").casefold()
        known.setdefault(short, reading)
        if not name.endswith(";"):
            bare.add(short)
    return known, sorted(bare)


def _block(name: str, note: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"#: {note}", f"{name} = {{"]
    for key, value in rows:
        quoted = _quoted(key)
        if len(f"    {quoted}: {_quoted(value)},") <= 100:
            lines.append(f"    {quoted}: {_quoted(value)},")
            continue
        pieces = textwrap.wrap(value, 84)
        lines.append(f"    {quoted}: (")
        lines += [f'        "{piece} "' for piece in pieces[:-1]]
        lines += [f'        "{pieces[-1]}"', "    ),"]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return '"' + repr(text)[1:-1].replace('"', '\\"') + '"'


def main() -> None:
    """Write the table."""
    reader = Reader(Path(sys.argv[1]).read_text("utf-8-sig"))
    folds: dict[str, list[int]] = {}
    for character in _characters():
        if (reading := reader.read(character)) != character:
            folds.setdefault(reading, []).append(ord(character))
    single = sorted(
        (key, " ".join(_ranges(codes))) for key, codes in folds.items() if len(key) == 1
    )
    several = sorted(
        (key, " ".join(_ranges(codes))) for key, codes in folds.items() if len(key) > 1
    )
    entities, bare = _entities(reader)
    names: dict[str, list[str]] = {}
    for name, reading in entities.items():
        names.setdefault(reading, []).append(name)
    head = (
        '"""\n'
        "A lenient reader's view of a character: generated by scripts/make_fence_tables.py.\n\n"
        "Derived from the Unicode Character Database and from confusables.txt of UTS #39,\n"
        "copyright Unicode, Inc., under the Unicode License (unicode.org/license.txt).\n"
        '"""\n'
    )
    versions = (
        "#: The versions that the table was made from.\n"
        f'UNICODE = "{unicodedata.unidata_version}"\nCONFUSABLES = "{reader.version}"\n'
    )
    parts = [
        head,
        versions,
        _block("FOLDS", "Characters read as one plain character; NUL stands for unseen.", single)
        + "\n",
        _block("SEVERAL", "Characters read as several.", several) + "\n",
        _block(
            "ENTITIES",
            "Names of character references, in lower case, by what they are read as.",
            ((reading, " ".join(sorted(found))) for reading, found in sorted(names.items())),
        )
        + "\n",
        _block(
            "BARE",
            "Names that end without a semicolon too, under one key.",
            [("names", " ".join(bare))],
        ),
    ]
    TARGET.write_text("\n".join(parts) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
