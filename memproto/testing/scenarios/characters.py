# ruff: noqa: RUF001 - characters that look like others are what this file is about
"""Characters that a text may hold, by script: a fixed list, and others drawn from all planes."""

import random
import unicodedata

#: Short words, none beyond the Basic Multilingual Plane: that they are kept at all is a rule
#: of its own.
LETTERS = {
    "accented letters": "Žluťoučký",
    "Greek": "Αργώ",
    "Cyrillic": "Ёрш",
    "Arabic": "نورس",
    "Hindi": "नौका",
    "Chinese": "港丸",
    "Korean": "갈매기",
    "emoji": "⚓☕",
}


#: Name to characters, fewer than a small store takes; each of them is to come back.
CHARACTERS = {
    "letters of Europe": "ÀæßĐŁőşǆΐΩЖѣԱფẞ",
    "letters of the Near East": "אבשעجحپگߊܐލ",
    "letters and vowel signs of South Asia": "अकिতੰગொസංกำຜལွខ",
    "letters of East Asia": "あアㄅ한글漢字峠〆々",
    "letters of Africa and America": "ሀወⵣⵥᏣᐁⰀꙮꞌ",
    "numbers and letters in other dress": "०٣๓²½ⅷ①ＡｱﬁℵK",
    "punctuation": "¡¿«»„“”‘’†‡•…‰′‹›※、。「」؟،।",
    "symbols": "€₹₿©®™°µ±×÷√∞∑≠⇒♞♥☃✓⠿",
    "combining marks": "e\u0301o\u0328\u0304x\u0302\u0323q\u0307",
    "emoji beyond the BMP": "😀🚢🧭🫠🏴🦀",
    "Chinese beyond the BMP": "𠀀𠮷𡃁𢈘𪜀𫝀𬺰",
    "mathematical letters beyond the BMP": "𝐀𝒳𝔘𝕏𝟘𝟿",
    "scripts beyond the BMP": "𐌰𐍈𐎀𐤀𑀓𒀀𓀀𖤀𞤀",
    "signs beyond the BMP": "𝄞𝅘𝄽🂡🀄𐆎𝌆",
}

#: Name to words that are no secret, and that filters of secrets, markup or noise take for one.
PLAIN = {
    "long numbers": "3048217 R-20270314/0815",
    "a date and a time": "2027-03-14 14:35:07",
    "a place of the web and a path": "https://harbour.example/berths/12?day=3#quay /srv/berths.csv",
    "an address of mail": "anna.berg+quay@mail.example",
}

#: Name to words behind signs by which they could be markup, a place to fill in, or an escape. The
#: signs may come back otherwise; the letters and the numbers beside them stay as they were.
MARKED = {
    "words within marks": "<thole> <!--gunnel--> {skerry} [[berthing]] %(lam)s ${mizzen} `hawser`",
    "words behind backslashes": r"(\nqvist) (\tarn) (\1anchor) (\g<2>oar) (\u00e9lan)",
}

#: Name to words that are looked for at the beginning of a text, where marks of a list stand too.
LEADING = {"a text that begins with signs": "--dry-run"}

#: Planes from which code points are drawn, those with fewer characters as often as the others.
_PLANES = ((0x21, 0x3000), (0x3000, 0xFFFE), (0x10000, 0x20000), (0x20000, 0x323B0))

#: Letters, marks, numbers, punctuation, symbols.
_SEEN = frozenset("LMNPS")

#: Fillers and variation selectors, which have no look of their own.
_UNSEEN = (
    frozenset({0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180F, 0x3164, 0xFFA0})
    | frozenset(range(0x180B, 0x180E))
    | frozenset(range(0xFE00, 0xFE10))
)

#: As many as stand in one text.
_PORTION = 20


def drawn(seed: int, count: int) -> dict[str, str]:
    """Random characters in portions; the same seed gives the same ones."""
    source = random.Random(seed)
    found: list[str] = []
    while len(found) < count:
        code = source.randrange(*source.choice(_PLANES))
        if unicodedata.category(chr(code))[0] in _SEEN and code not in _UNSEEN:
            found.append(chr(code))
    starts = range(0, count, _PORTION)
    return {f"random characters {n + 1}": "".join(found[n : n + _PORTION]) for n in starts}
