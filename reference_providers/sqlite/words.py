"""
The terms of a search: the words of a question, and the small language of the search tool.

Nothing that is typed can be a fault: what makes no sense as syntax is read as words.
"""

import dataclasses
import itertools
import re
import unicodedata

#: Scripts that put no spaces between words: each of their characters is a word of the index.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_DENSE_CHARACTER = re.compile(f"([{_DENSE}])")
_WORD = re.compile(rf"[{_DENSE}]+|[^\W_{_DENSE}]+")
_SIGN = re.compile(r'"([^"]*)"?|([()])|(-)(?=[\w"(])|([^\s()"]+)')

#: Words of which an English text is made, whatever it is about.
_COMMON = frozenset(
    word
    for line in (
        "a about after all also am an and any are as at be been before but by can could did do",
        "does for from had has have he her here him his how i if in into is it its just me more",
        "most my no not of on one only or other our out over said she should so some such than",
        "that the their them then there these they this those to too up us was we were what when",
        "where which who why will with would you your",
    )
    for word in line.split()
)

#: More words than this make a question slow, and no better.
_MOST_WORDS = 32

#: Deeper parentheses are read as if they were not there.
_DEEPEST = 12


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
    """Words that stand side by side; the last of them may be the beginning of one."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Every:
    """All of these, and none of those."""

    wanted: tuple["Node", ...]
    unwanted: tuple["Node", ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Some:
    """At least one of these."""

    wanted: tuple["Node", ...]


Node = Term | Every | Some


def indexed(text: str) -> str:
    """The text as the index gets it."""
    return text if text.isascii() else _DENSE_CHARACTER.sub(r" \1 ", text)


def split(text: str) -> list[str]:
    """The words of a text in order, as they are compared: folded, without accents."""
    return [part for word in _WORD.findall(folded(text)) for part in _parts(word)]


def folded(text: str) -> str:
    """The text without case and accents."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in plain if not unicodedata.combining(c)))


def question(text: str) -> Node | None:
    """Some of the words of a question; None where there are none."""
    found = list(dict.fromkeys(_WORD.findall(text)))
    telling = [word for word in found if word.lower() not in _COMMON] or found
    terms = [term for word in telling[:_MOST_WORDS] for term in _terms(word)]
    return Some(tuple(terms)) if terms else None


def _terms(word: str) -> list[Term]:
    """A word; of a script without spaces, each two characters that stand side by side."""
    if len(word) == 1 or not _DENSE_CHARACTER.match(word):
        return [Term((word,))]
    return [Term(pair) for pair in dict.fromkeys(itertools.pairwise(word))]


# -- the language of the search tool ---------------------------------------------------------------


def search(text: str) -> Node | None:
    """
    The typed query: words that must all be there, `"a phrase"`, `pre*`, OR, NOT or -, ().

    None if it holds no word, or says only what is not wanted.
    """
    return _Reader(_signs(text)).any_of(0)


def _signs(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for phrase, bracket, minus, word in _SIGN.findall(text):
        if bracket or minus:
            found.append(("sign", bracket or "NOT"))
        elif word in {"AND", "OR", "NOT"}:
            found.append(("sign", word))
        else:
            found.append(("word", word) if word else ("phrase", phrase))
    return found[: _MOST_WORDS * 4]


class _Reader:
    def __init__(self, signs: list[tuple[str, str]]) -> None:
        self._signs = signs
        self._place = 0

    def any_of(self, depth: int) -> Node | None:
        parts = [self._all_of(depth)]
        while self._takes("OR"):
            parts.append(self._all_of(depth))
        found = [part for part in parts if part is not None]
        return found[0] if len(found) == 1 else Some(tuple(found)) if found else None

    def _all_of(self, depth: int) -> Node | None:
        wanted: list[Node] = []
        unwanted: list[Node] = []
        while self._place < len(self._signs) and self._sign() not in {"OR", ")"}:
            is_wanted = True
            while self._sign() in {"AND", "NOT"}:
                is_wanted = is_wanted ^ (self._sign() == "NOT")
                self._place += 1
            if (node := self._one(depth)) is not None:
                (wanted if is_wanted else unwanted).append(node)
        if self._sign() == ")" and depth == 0:
            self._place += 1  # It closes nothing.
            rest = self._all_of(depth)
            wanted += [rest] if rest is not None else []
        if len(wanted) == 1 and not unwanted:
            return wanted[0]
        return Every(tuple(wanted), tuple(unwanted)) if wanted else None

    def _one(self, depth: int) -> Node | None:
        if self._place >= len(self._signs) or self._sign() in {"OR", ")"}:
            return None
        kind, text = self._signs[self._place]
        self._place += 1
        if kind == "sign":  # An opening bracket.
            if depth >= _DEEPEST:
                return None
            node = self.any_of(depth + 1)
            self._takes(")")
            return node
        words = [part for word in _WORD.findall(text) for part in _parts(word)]
        return Term(tuple(words), kind == "word" and text.endswith("*")) if words else None

    def _sign(self) -> str:
        if self._place < len(self._signs) and self._signs[self._place][0] == "sign":
            return self._signs[self._place][1]
        return ""

    def _takes(self, sign: str) -> bool:
        taken = self._sign() == sign
        self._place += taken
        return taken


def _parts(word: str) -> list[str]:
    return list(word) if _DENSE_CHARACTER.match(word) else [word]
