"""
The liberal reader's view of one character. Its tables are its own: no sanitizer shares them.

They are the confusables of Unicode's security standard (out of the package confusable-homoglyphs),
compatibility forms, the letters that character names give away, and a short list of look-alikes
that the standard leaves out.

A *sure* reading is what a person, or a program that folds text, takes the character for. The *wide*
readings add what somebody might: digits for letters, letters of equal sound, turned letters.
"""

import functools
import unicodedata

from confusable_homoglyphs import confusables

#: Line ends of any kind are read as this one, other white space as a space.
BREAK, SPACE = "\n", " "

#: Characters that turn the direction of the text behind them, or end that. They are read as these.
TURN, RETURN = "\u202e", "\u202c"
_TURNS = frozenset("\u202b\u202e\u2067")
_RETURNS = frozenset("\u202c\u2069")

_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_HIDDEN_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u180b\u180c\u180d\u180f\u2065")
_HIDDEN_KINDS = ("Cf", "Mn", "Me", "Cc")

#: The letters of the words that delimiters are made of, and the marks.
LETTERS = frozenset("memorycontextsystemnote")
MARKS = frozenset("<>/[]#-|:&%\\;")
_PLAIN = LETTERS | MARKS

_BEYOND = {
    "-": "_~\u00b7\u0640\u1173\u2014\u2015\u2212\u203f\u30fb\u30fc\u3161",
    "<": "\u00ab\u226a\u227a\u22d6\u276c\u2770\u27e8\u27ea\u29fc\u3008\u300a",
    ">": "\u00bb\u226b\u227b\u22d7\u276d\u2771\u27e9\u27eb\u29fd\u3009\u300b",
    "/": "\u00f7",
    "[": "\u2045\u27e6\u3010",
    "#": "\u22d5\u2317\u266f",
    "m": "\u043c\u041c",
    "t": "\u0442\u0422",
    "n": "\u043f",
    " ": "\u2800",
}
_LOOKS = {look: plain for plain, looks in _BEYOND.items() for look in looks}

#: Characters that only a wide reader takes for a letter: digits, currency, letters of equal sound.
_SWAPS = {
    "o": "0\u03c3\u03c9\u0398\u03b8\u00f8\u0473",
    "e": "3\u20ac\u044d\u0435\u0451\u0454\u03b5\u03b7\u0259\u0257\u025b",
    "t": "7+\u03c4\u0442\u2020\u0163",
    "s": "5$\u00a7\u0441\u0455\u03c3\u03c2\u0437",
    "c": "\u00a2\u0441\u03c2\u03f2(",
    "x": "\u0445\u03c7\u00d7*\u03be\u2715\u2716",
    "n": "\u043d\u043f\u0438\u0439\u03b7\u03bd\u03c0",
    "m": "\u043c\u0442\u03bc\u0428\u0448",
    "r": "\u0433\u0440\u044f\u03c1\u0433",
    "y": "\u0443\u03c5\u0447\u00a5\u03b3\u044b",
    "-": " .+=|:\u2022\u2219\u2014",
    "#": "\u2116",
}
#: Shapes that newer tables of the standard confuse, and nobody has to.
_SHAPES = {
    "n": (
        "\u014b\u0377\u048b\u0572\ua6a1\U0001044d\U0001050d\U00011abe\U0001d20b\U0001df4d"
        "\U0001df4e\U0001df4f"
    ),
    "-": (
        "\u02d1\u06d4\u07fa\u0830\u0a76\u16eb\u174d\u1bc7\u1bf3\u223c\u2500\u2501\u2cb3"
        "\u31d0\u4e00\ua7f7\uaa7d\U00010191\U0001091f\U00011174\U000111c7\U000116b9"
        "\U00012562\U000145c1"
    ),
    "y": "\u03e5\u07cc\u0aaa\u0aeb\u1935\u311a\u4e2b\ua6b2\U00010c20\U0001df31\U0001df55",
    "o": (
        "\u03ed\u05e1\u0629\u0647\u0665\u06be\u06c1\u06c3\u06d5\u06ff\u07c0\u07cb\u0840"
        "\u110b\u11bc\u1340\u17e0\u1a45\u1a80\u1a90\u1bea\u2205\u2300\u2365\u2c91\ua6a2"
        "\U0001051e\U00010c17\U00010d07\U00011124\U00011302\U00011de0\U0001699b\U00016e80"
        "\U0001ccf0\U0001df3c\U0001e140\U0001e2f0"
    ),
    "m": "\u0560\u20a5\uab51\U00010c21\U00011700\U000118e3\U0001df4a\U0001df4b\U0001df4c",
    "t": "\u07e0\u13bf\u3112\u4e05\ua50b\ua68d\U0001d373",
    "#": "\u0bfa\U00011fe9",
    "s": "\u0d1f\u10fd\u2d1d\ua576\U00016ad6",
    "c": "\u1004\u105a\U0001051b\U0001d134",
    "/": "\u1365\u31d2",
    "r": "\u1586\U00016a19\U0001df37",
    "x": "\u1763\u1bec\u1cf5\uab55\U00010c13\U00010cc2\U00010cfc\U0001df3d\U0001df54",
    "e": "\u2108\ua5cb\U0001df81",
    "|": "\u2223\u2502\u2503\u2758",
    "\\": "\u2572\u29b8\u29f7\U0001f67d",
    "<": "\u1444\u1445\u2aa5\u2cb5\u2d66\u304f\u3111\u31db\U0001032d\U00016aec\U00021fe8",
    "&": "\U0001f672",
    ">": "\u1437\u1440\u1441\u2aa5",
}
_NOUNS = {
    "LESS-THAN": "<",
    "PRECEDES": "<",
    "GREATER-THAN": ">",
    "SUCCEEDS": ">",
    "SOLIDUS": "/",
    "SLASH": "/",
    "DIVISION": "/",
    "DIAGONAL": "/",
    "HYPHEN": "-",
    "DASH": "-",
    "MINUS": "-",
    "LINE": "-",
    "DOT": "-",
    "TILDE": "-",
    "HASH": "#",
    "SHARP": "#",
    "AMPERSAND": "&",
    "PERCENT": "%",
    "SEMICOLON": ";",
}
_ENCLOSING = ("BRACKET", "PARENTHESIS", "QUOTATION", "POINTING", "ANGLE", "ARROWHEAD", "CORNER")
_LETTER_WORDS = frozenset(
    [
        "LATIN",
        "SMALL",
        "CAPITAL",
        "LETTER",
        "MODIFIER",
        "NEGATIVE",
        "CIRCLED",
        "SQUARED",
        "REGIONAL",
        "INDICATOR",
        "SYMBOL",
        "SUBSCRIPT",
        "FULLWIDTH",
        "MATHEMATICAL",
        "OUTLINED",
    ]
)

#: Outlined capitals, younger than the tables of most Pythons.
_OUTLINED = "".join(map(chr, range(0x1CCD6, 0x1CCD6 + 26)))

# -- sure ------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=65536)
def sure(character: str) -> str:
    """The reader's view: no, one or several symbols; a character without a reading is itself."""
    if character in _TURNS or character in _RETURNS:
        return TURN if character in _TURNS else RETURN
    if character in _BREAKS:
        return BREAK
    look = _LOOKS.get(character, character)
    if look.isspace():
        return SPACE
    if character in _HIDDEN_LETTERS or unicodedata.category(look) in _HIDDEN_KINDS:
        return ""
    return look.lower() if look.isascii() else _unlike(look)


def _unlike(character: str) -> str:
    """The reading of a character that is no ASCII: by its parts, its shape, or its name."""
    if 0xE0000 <= ord(character) <= 0xE0FFF:
        return ""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character).casefold())
    seen = "".join(part for part in parts if unicodedata.category(part) not in _HIDDEN_KINDS)
    if not seen and character.isalpha():
        return character  # Halfwidth voiced marks are seen, what they decompose to is not.
    if not seen or (seen.isascii() and seen.isprintable()):
        return SPACE if seen.isspace() else seen
    if len(seen) > 1:
        return "".join(map(sure, seen)) if character not in seen else seen
    for shape in (character, seen, _upper(character)):
        if plain := _shape(shape):
            return plain
    return "-" if unicodedata.category(character) == "Pd" else _named(character) or seen


def _upper(character: str) -> str:
    """Cyrillic small letters that look as their capitals do; of other scripts they do not."""
    return character.upper() if "\u0400" <= character <= "\u052f" else character


def _shape(character: str) -> str:
    """The letter or mark that the standard, or the list beyond it, confuses the character with."""
    if character in _LOOKS:
        return _LOOKS[character]
    for row in confusables.confusables_data.get(character, ()):
        shape = str(row["c"]).casefold()
        if shape in _PLAIN:
            return shape
    return ""


def _named(character: str) -> str:
    """The letter of a name such as `LATIN SMALL LETTER O WITH STROKE`."""
    if character in _OUTLINED:
        return chr(ord("a") + ord(character) - ord(_OUTLINED[0]))
    words = unicodedata.name(character, "").partition(" WITH ")[0].split()
    if len(words) > 1 and len(words[-1]) == 1 and _LETTER_WORDS.issuperset(words[:-1]):
        return words[-1].lower()
    return ""


def smuggled(character: str) -> str:
    """The ASCII character that a tag character or a variation selector stands for, or ""."""
    code = ord(character)
    if 0xE0020 <= code <= 0xE007E:
        return chr(code - 0xE0000)
    value = code - 0xE0100 + 16 if 0xE0100 <= code <= 0xE01EF else 0
    return chr(value) if 0x20 <= value <= 0x7E or value == 0x0A else ""


# -- wide ------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=65536)
def wide(symbol: str) -> frozenset[str]:
    """Every letter and mark that somebody might take the symbol for."""
    found = {symbol, sure(symbol), _LOOKS.get(symbol, "")}
    for shape in (symbol, symbol.upper(), symbol.lower()):
        found.update(plain for plain, looks in _SWAPS.items() if shape in looks)
        found.update(plain for plain, looks in _SHAPES.items() if shape in looks)
        found.update(_confused(shape))
    found.update(_by_words(symbol))
    return frozenset(found - {""})


def _confused(symbol: str) -> set[str]:
    rows = confusables.confusables_data.get(symbol, ())
    return {part for row in rows for part in str(row["c"]).casefold() if part in _PLAIN}


def _by_words(symbol: str) -> set[str]:
    """Symbols that single letters and nouns in the character's name say."""
    words = unicodedata.name(symbol, "").replace("-POINTING", " POINTING").split()
    if symbol.isascii():
        return set()
    found = {word.lower() for word in words if len(word) == 1}
    found |= {plain for noun, plain in _NOUNS.items() if any(noun in word for word in words)}
    found |= {word[-1].lower() for word in words if len(word) == 2} & LETTERS
    if any(noun in word for word in words for noun in _ENCLOSING):
        found |= {"<", "["} if "LEFT" in words else set()
        found |= {">", "]"} if "RIGHT" in words else set()
    return found


def is_skipped(symbol: str) -> bool:
    """True if a wide reader may overlook the symbol inside a word."""
    return symbol == "\ufffd" or unicodedata.category(symbol) in ("Cn", "Co", "Cs", "Mc", "Sk")
