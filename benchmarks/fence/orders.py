r"""
Looks for an order of decoders that shows a delimiter in a text which the fence let through.

    python -P benchmarks/fence/orders.py [TEXTS] [SEED ...]

Draws delimiters in nested escapes (whole, half, cut off, too long, in any case and look, by name
with and without an end), lets the fence make them harmless, and asks the standard library's own
decoders for every text that they make of the rest, in any order, up to three rounds. Prints one
line for each seed, and each text that still shows a delimiter; 1 where there is any.
Without arguments: 20,000 texts for each of the seeds 1 to 3.
"""

import random
import re
import sys
import time
import unicodedata
from collections.abc import Callable
from html.entities import html5

from memproto import sanitize_context
from memproto.testing.fence.disguises import BLOCK, TAGS, TARGETS
from memproto.testing.fence.oracle import SMUGGLED, effective
from memproto.testing.fence.oracle_decoders import decodings, shown_plain

_ESCAPES = frozenset("&%\\+")
_NO_LETTER = re.compile("[^a-z]+")
_NAMES: dict[str, list[str]] = {}
for _name, _text in html5.items():
    _NAMES.setdefault(_text, []).append(_name)
_LOOKS = {
    "<": "\uff1c\u2039\u27e8\xab\ufe64",
    ">": "\uff1e\u203a\u27e9\xbb",
    "[": "\uff3b",
    "/": "\uff0f\u2044\u2215",
    "#": "\uff03",
    " ": "\xa0\u3000\t\u2003",
    "-": "\u2010\u2011\u2212_~ ",
    "e": "\u0435\xe9\uff45\U0001d41e",
    "m": "\u043c\uff4d\U0001d426\u217f",
    "o": "\u043e\u03bf\uff4f\xf6",
    "s": "\u0455\uff53",
    "n": "\uff4e\xf1",
}
_UNSEEN = "\u200b\u00ad\u0301\u2060\ufe0f\x01\u034f"
#: Pieces that are put at some place, or in the place of the text there.
_PIECES = (
    *"&%\\;#xuUN{}+0123456789abcdefABCDEF \n/<[",
    *("\\u", "\\x", "\\U0000", "\\N{", "%u00", "&#", "&#x", "&amp;", "amp;", "%25", "25", "\\\\"),
    *("%c0%bc", "%e0%80%bc", "\\ud83d", "\\udc00", "%ff", "&#0;", "\\0", "%00", "&#xfdd0;", "\\b"),
    *("\\n", "\\\n", "\u200b", "\u0301", "&lt", "&LT;", "&nvlt;", "\\u{", "&#1;", "&#128;"),
)

Form = Callable[[random.Random, str], str]


def _number(rng: random.Random, digits: str) -> str:
    digits = "0" * rng.choice((0, 0, 0, 1, 3, 9)) + digits
    return digits.upper() if rng.random() < 0.3 else digits


def _reference(rng: random.Random, character: str) -> str:
    end = rng.choice((";", ";", ";", ""))
    names = _NAMES.get(character)
    if names and rng.random() < 0.5:
        return "&" + rng.choice(names)
    if rng.random() < 0.5:
        return f"&#{_number(rng, str(ord(character)))}{end}"
    return f"&#{rng.choice('xX')}{_number(rng, f'{ord(character):x}')}{end}"


def _percents(rng: random.Random, character: str) -> str:
    if character == " " and rng.random() < 0.5:
        return "+"
    case = rng.choice(("02x", "02X"))
    return "".join(f"%{byte:{case}}" for byte in character.encode("utf-8", "replace"))


def _json(rng: random.Random, character: str) -> str:
    if character in '"\\/' and rng.random() < 0.5:
        return "\\" + character
    if character == "\n" and rng.random() < 0.5:
        return rng.choice(("\\n", "\\r", "\\f"))
    units = character.encode("utf-16-be", "surrogatepass")
    case = rng.choice(("04x", "04X"))
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{(high << 8) + low:{case}}" for high, low in pairs)


def _python(rng: random.Random, character: str) -> str:
    code, name = ord(character), unicodedata.name(character, "")
    forms = [f"\\U{code:08x}", f"\\U{code:08X}"]
    forms += [f"\\x{code:02x}", f"\\x{code:02X}", f"\\{code:o}"] if code < 0x100 else []
    forms += [f"\\{code:03o}"] if code < 0o1000 else []
    if name:
        forms += [f"\\N{{{name}}}", f"\\N{{{name.lower()}}}", f"\\N{{{name.title()}}}"]
    return rng.choice(forms)


_FORMS: tuple[Form, ...] = (_reference, _percents, _json, _python)


def _dressed(rng: random.Random) -> str:
    """A delimiter in a look of its own."""
    text = TARGETS[rng.choice(BLOCK if rng.random() < 0.6 else TAGS)]
    if rng.random() < 0.3:
        text = "".join(rng.choice(_LOOKS.get(c, c)) if rng.random() < 0.2 else c for c in text)
    if rng.random() < 0.2:
        text = "".join(c.swapcase() if rng.random() < 0.4 else c for c in text)
    if rng.random() < 0.2:
        place = rng.randint(1, len(text) - 1)
        text = text[:place] + rng.choice(_UNSEEN) + text[place:]
    return text


def _layered(rng: random.Random, text: str) -> str:
    """Escapes of some characters, then of some of what these are made of, and so on."""
    places = list(range(len(text)))
    if rng.random() < 0.6:
        # One character deep down: what is escaped next is a part of what was escaped before.
        places = rng.sample(places, rng.choice((1, 1, 1, 2, 3)))
        if rng.random() < 0.6:
            places[0] = 0
    chosen = set(places)
    share = rng.choice((0.1, 0.3, 0.6, 1.0)) if len(chosen) > 3 else 1.0
    for _ in range(rng.randint(1, 5)):
        form = rng.choice(_FORMS)
        pieces, following, length = [], set(), 0
        for place, character in enumerate(text):
            is_escaped = place in chosen and rng.random() < share
            piece = form(rng, character) if is_escaped else character
            if is_escaped:
                following |= set(range(length, length + len(piece)))
            pieces.append(piece)
            length += len(piece)
        text = "".join(pieces)
        if length > 120 or not following:
            break
        chosen, share = following, rng.choice((0.05, 0.15, 0.3, 0.6))
    return text


def _damaged(rng: random.Random, text: str) -> str:
    """The text with something cut out of it, put in, or doubled."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(text) + 1)
        stop = min(len(text), place + rng.choice((0, 0, 1, 1, 2)))
        piece = rng.choice((*_PIECES[:40], "")) if rng.random() < 0.5 else rng.choice(_PIECES)
        if rng.random() < 0.15:
            piece = text[place : place + 3] * 2
        text = text[:place] + piece + text[stop:]
    return text


def _soup(rng: random.Random) -> str:
    """Pieces of escapes in front of the words of a delimiter."""
    text = TARGETS[rng.choice(BLOCK)]
    place = rng.choice((0, 0, 1, 2, rng.randrange(len(text))))
    pieces = "".join(rng.choice(_PIECES) for _ in range(rng.randint(2, 8)))
    return text[:place] + pieces + text[place + rng.choice((0, 1)) :]


def drawn(rng: random.Random) -> str:
    """One text."""
    kind = rng.random()
    text = _soup(rng) if kind < 0.15 else _layered(rng, _dressed(rng))
    if kind > 0.6:
        text = _damaged(rng, text)
    before = rng.choice(("", "", "", "", "a & b\n", "50%\n", "C:\\new\n", "x+", "\n"))
    return before + text


def _may_hold_one(text: str) -> bool:
    letters = _NO_LETTER.sub("", shown_plain(text).lower())
    return "memorycontext" in letters or "systemnote" in letters or "memory" in letters


def shown(text: str, most: int = 2_000) -> str | None:
    """The first thing that the decoders make of a text and that holds a delimiter."""
    if _ESCAPES.isdisjoint(text):
        return None
    for one in decodings(text, most=most):
        if _may_hold_one(one) and effective(one, SMUGGLED):
            return one
    return None


def search(seed: int, texts: int) -> list[tuple[str, str]]:
    """The faults that the texts of one seed show, and the texts."""
    rng = random.Random(seed)
    found = []
    for _ in range(texts):
        text = drawn(rng)
        if sanitized := sanitize_context(text):
            seen = sanitized if effective(sanitized, SMUGGLED) else shown(sanitized)
            if seen is not None or len(sanitized) > len(text):
                found.append((text, seen or sanitized))
            elif rng.random() < 0.1 and sanitize_context(sanitized) != sanitized:
                found.append((text, f"not idempotent: {sanitized!r}"))
    return found


def main(words: list[str]) -> int:
    """Search, and print what was found."""
    texts = int(words[0]) if words else 20_000
    worst = 0
    for seed in map(int, words[1:] or ["1", "2", "3"]):
        began = time.process_time()
        found = search(seed, texts)
        took_s = time.process_time() - began
        print(f"seed {seed}: {texts} texts, {len(found)} let through, {took_s:.0f} s", flush=True)
        for text, seen in found[:20]:
            print(f"  {text!r} is read as {seen!r}", flush=True)
        worst |= bool(found)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
