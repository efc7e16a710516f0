"""
The standard library's own decodings of a text, in any order, up to three rounds.

Here nothing is decoded by hand: `html.unescape`, `urllib.parse.unquote` and `unquote_plus`, the
JSON of `json.loads` and the codec `unicode_escape` answer themselves. A round applies each of them
at most once, in any order. JSON and `unicode_escape` refuse a whole text for one character that is
no escape of theirs; so they get what is an escape, run by run, and the rest stays.
"""

import codecs
import collections
import functools
import html
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from urllib.parse import unquote, unquote_plus

from memproto.testing.fence.oracle_escapes import ROUNDS
from memproto.testing.fence.oracle_tables import RETURN, TURN, smuggled, sure

_JSON = re.compile(r"""(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+""")
_PYTHON = re.compile(
    r"""(?:\\(?:[\n\\'"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"""
    r"""|N\{[A-Za-z0-9 -]+\}))"""
)
#: A plus sign that a form wrote for a space: another one, or white space beside it, and it is none.
_NO_SPACE = re.compile(r"(?<=[\s+])\+|\+(?=[\s+])")
_ESCAPES = frozenset("&%\\+")

Decoder = Callable[[str], str]


def _json(text: str) -> str:
    return _JSON.sub(lambda found: str(json.loads(f'"{found[0]}"')), text)


def _form(text: str) -> str:
    return unquote_plus(_NO_SPACE.sub("%2B", text))


def _python(text: str) -> str:
    return _PYTHON.sub(_of_python, text)


@functools.lru_cache(maxsize=4096)
def _python_escape(escape: str) -> str:
    try:
        return codecs.decode(escape.encode("ascii"), "unicode_escape")
    except UnicodeDecodeError:
        return escape


def _of_python(found: re.Match[str]) -> str:
    if re.match(r"\\[4-7][0-7]{2}", found[0]):
        return chr(int(found[0][1:], 8))  # as the codec does, which warns of it
    return _python_escape(found[0])


def _whole_references(text: str) -> str:
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text)


def _any_backslash(text: str) -> str:
    """Escapes in any case, whatever stands before their backslash."""
    return _BACKSLASH.sub(_of_any_case, text)


def _of_any_case(found: re.Match[str]) -> str:
    if found["name"]:
        try:
            return unicodedata.lookup(found["name"])
        except KeyError:
            return found[0]
    if found["octal"]:
        return chr(int(found["octal"], 8))
    code = int(found["long"] or found["braced"] or found["short"] or found["percent"], 16)
    return chr(code) if code <= sys.maxunicode else found[0]


def _markdown(text: str) -> str:
    return _PUNCTUATION.sub(r"\1", text)


_REFERENCE = re.compile("&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BACKSLASH = re.compile(
    r"""(?i)\\(?:n\{(?P<name>[a-z0-9 -]+)\}|[ux]\{0*(?P<braced>[0-9a-f]{1,6})\}"""
    r"""|u(?P<long>00[01][0-9a-f]{5})|(?:(?-i:u)(?=....)|x(?=..))(?P<short>(?<=u)[0-9a-f]{4}|(?<=x)[0-9a-f]{2})"""
    r"""|(?P<octal>[0-7]{1,3}))|%u(?P<percent>[0-9a-f]{4})"""
)
_PUNCTUATION = re.compile(r"\\+([^\w\s]|[^\W\dxuUN])")

#: The decoders by the marks that they look for.
DECODERS: tuple[tuple[str, Decoder], ...] = (
    ("&", html.unescape),
    ("%", unquote),
    ("%+", _form),
    ("\\", _json),
    ("\\", _python),
)


_LOOSE_DECODERS: tuple[tuple[str, Decoder], ...] = (
    ("&", _whole_references),
    ("\\%", _any_backslash),
    ("\\", _markdown),
    ("\\", str.lower),
)


def shown_plain(text: str) -> str:
    """The text with ASCII in place of what looks like it or carries it, and nothing unseen."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_plain, text))


@functools.lru_cache(maxsize=65536)
def _plain(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    seen = smuggled(character) or sure(character)
    return "" if seen in (TURN, RETURN) else seen


def decodings(text: str, *, rounds: int = ROUNDS, most: int = 2_000) -> Iterator[str]:
    """Every different text that the decoders give, the text itself left out; at most so many."""
    known = {text}
    before = [text]
    for _ in range(rounds):
        after: list[str] = []
        for start in before:
            for found in _of_one_round(start):
                if found not in known and len(known) < most:
                    known.add(found)
                    after.append(found)
                    yield found
        before = after


def loose_decodings(text: str, *, most: int = 1_000) -> Iterator[str]:
    """
    The text as a reader sees it who never stops, and sees through disguises in between.

    He knows more escapes, and may leave a reference for later that has no end.
    """
    known = {text}
    waiting = collections.deque(dict.fromkeys((text, shown_plain(text))))
    while waiting:
        start = waiting.popleft()
        for marks, decoder in (*DECODERS, *_LOOSE_DECODERS):
            if any(mark in start for mark in marks):
                decoded = decoder(start)
                for found in (decoded, shown_plain(decoded)):
                    if found not in known and len(known) < most:
                        known.add(found)
                        waiting.append(found)
                        yield found


def _of_one_round(text: str) -> Iterator[str]:
    """The texts that the orders of the decoders give, each used at most once."""
    known: set[tuple[str, frozenset[int]]] = set()
    waiting: list[tuple[str, frozenset[int]]] = [(text, frozenset())]
    while waiting:
        start, used = waiting.pop()
        if _ESCAPES.isdisjoint(start):
            continue
        for number, (marks, decoder) in enumerate(DECODERS):
            if number in used or not any(mark in start for mark in marks):
                continue
            found = decoder(start)
            following = (found, used | {number})
            if found != start and following not in known:
                known.add(following)
                waiting.append(following)
                yield found
