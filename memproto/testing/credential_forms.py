"""
Credentials in a text, and the text without them: whole, coded, or cut.

One class finds them, in the child before a text is cut and in the parent before a text is shown.
"""

import base64
import html
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

#: Names of variables and keys whose values are credentials.
CREDENTIAL = re.compile(
    r"(api|access|auth|secret|private)[_-]?key|token|secret|passw(or)?d|passphrase|credential"
    r"|_key$|^key$|[_-]?pat$|[_-]?dsn$",
    re.IGNORECASE,
)

#: A value that is shorter stands for too much else, and hides nothing.
SHORTEST = 5

#: A value that is shorter may stand for something else; a run warns of it.
SHORT = 8

#: Number of characters of a credential, at any place of it, that are hidden as it is. Seven of a
#: key of usual size (20 and more) do not open anything; fewer occur in prose by chance.
PART = 8

#: The least credential of which a part is hidden: of a shorter one nearly all would be the part.
_LEAST_WITH_PARTS = 12

#: A word of letters that a passphrase holds is hidden with it, and not where it stands alone.
_WORD = re.compile(r"[a-z]{,11}|[A-Z]{,11}|[A-Z][a-z]{,10}")

#: Characters with which a coded text goes on, on both sides of a part that is known.
_CODED = re.compile(r"[A-Za-z0-9+/=_%-]")

#: Credentials of which no setting tells: a URL's, a header's, and those with a known beginning.
_SHAPES = (
    (re.compile(r"(?<=://)[^\s/:@'\"]*:[^\s/@'\"]+(?=@)"), "[hidden]"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 [hidden]"),
    (
        re.compile(r"\b(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abpr]|hf|AKIA)[-_]?[\w-]{16,}"),
        "[hidden]",
    ),
)


class Hiding:
    """
    Takes credentials out of texts.

    Guarantees:
        The result holds neither a value nor `PART` characters of a long one, plain, quoted for
        a URL, for JSON, for Python or for HTML, in base64 of any alignment and alphabet, or in hex.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """`secrets` are values, and the names by which they are known."""
        known = {value: name for value, name in (secrets or {}).items() if is_hideable(value)}
        self._names: dict[str, str] = {}
        self._parts: dict[str, tuple[str, str, bool]] = {}
        for value, name in known.items():
            for form in {*_plain_forms(value), *_plain_forms(value.strip())}:
                self._names.setdefault(form, name)
        for value, name in known.items():
            self._add_parts(value, name)
        forms = sorted(self._names, key=len, reverse=True)
        self._whole = re.compile("|".join(map(_alone, forms))) if forms else None

    def __call__(self, text: str) -> str:
        """The text without credentials."""
        if self._whole is not None:
            text = self._whole.sub(lambda found: f"[{self._names[found[0]]} hidden]", text)
        if self._parts:
            text = self._without_parts(text)
        for pattern, shown in _SHAPES:
            text = pattern.sub(shown, text)
        return text

    def finds(self, text: str) -> bool:
        """True if the text holds one of the credentials; shapes do not count."""
        whole = self._whole is not None and self._whole.search(text) is not None
        return whole or (bool(self._parts) and self._without_parts(text) != text)

    def _add_parts(self, value: str, name: str) -> None:
        for line in _lines(value):
            coded = _coded_forms(line)
            plain = _plain_forms(line) - coded
            for forms, is_coded in ((plain, False), (coded, True)):
                for form in forms:
                    for at in range(len(form) - PART + 1):
                        known = (form, name, is_coded)
                        self._parts.setdefault(form[at : at + PART], known)

    def _without_parts(self, text: str) -> str:
        kept: list[str] = []
        done = at = 0
        while at <= len(text) - PART:
            known = self._parts.get(text[at : at + PART])
            if known is None:
                at += 1
                continue
            form, name, is_coded = known
            start, end = (_coded_around if is_coded else _same_around)(text, at, done, form)
            if not is_coded and _is_word_of(form, text[start:end]):
                at = end - PART + 1
                continue
            if text.startswith("...", end):
                # The mark of the cut.
                end += 3
            said = f"[{name} hidden]"
            if start > done or kept[-1:] != [said]:
                kept += [text[done:start], said]
            at = done = end
        return "".join([*kept, text[done:]])


def is_hideable(value: str) -> bool:
    """True if a value is long enough to stand for nothing else."""
    return len(value.strip()) >= SHORTEST


def cut(text: str, limit: int, hide: Callable[[str], str]) -> tuple[str, str]:
    """
    The first and the last `limit` characters of what `hide` makes of a text.

    A long text is not read through: a credential that stands across a cut is whole in what is read.
    """
    margin = limit + _MARGIN
    if len(text) <= 2 * margin:
        hidden = hide(text)
        return hidden[:limit], hidden[-limit:]
    return hide(text[:margin])[:limit], hide(text[-margin:])[-limit:]


#: Characters beyond a cut that are read as well: more than a coded key has.
_MARGIN = 4_000


# -- which values --------------------------------------------------------------------------------


def of_variables(variables: Mapping[str, str], also: Collection[str] = ()) -> dict[str, str]:
    """Value to name of those variables that are credentials by their names, or are among `also`."""
    return {
        value: name for name, value in variables.items() if CREDENTIAL.search(name) or name in also
    }


def of_config(table: Any, also: Collection[str] = ()) -> dict[str, str]:
    """The same for keys of a config, at any depth."""
    return {value: name for name, value in _named(table, "", also)}


def _named(table: Any, above: str, also: Collection[str]) -> Iterator[tuple[str, str]]:
    if isinstance(table, dict):
        for key, value in table.items():
            is_below = above if _is_secret(above, also) else str(key)
            yield from _named(value, is_below, also)
    elif isinstance(table, list | tuple):
        for value in table:
            yield from _named(value, above, also)
    elif _is_secret(above, also) and isinstance(table, str | int) and not isinstance(table, bool):
        yield above, str(table)


def _is_secret(key: str, also: Collection[str]) -> bool:
    return bool(key) and (key in also or CREDENTIAL.search(key) is not None)


# -- forms -----------------------------------------------------------------------------------------


def _plain_forms(value: str) -> set[str]:
    """The ways in which texts write a value so that its characters stay in their order."""
    forms = {
        value,
        repr(value)[1:-1],
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(json.dumps(value))[2:-2],
        html.escape(value),
    }
    raw = value.encode("utf-8", "surrogatepass")
    forms |= {repr(raw)[2:-1], "".join(f"%{byte:02X}" for byte in raw)}
    for percent in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        forms |= {percent, re.sub(r"%..", lambda code: code[0].lower(), percent)}
    return {*forms, *_coded_forms(value)}


def _coded_forms(value: str) -> set[str]:
    """
    The value in hex and base64, as far as what stands around it in the coded text changes nothing.

    Base64 has three alignments: of `user:KEY` the key's own characters are those of one of them.
    """
    raw = value.encode("utf-8", "surrogatepass")
    forms = {raw.hex(), raw.hex().upper()}
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        # The first characters hold bits of what stands before, and the last one of what follows.
        first = (before * 8 + 5) // 6
        last = len(coded) if not (before + len(raw)) % 3 else len(coded) - 1
        sure = coded[first:last] if before else coded[:last]
        forms |= {sure, sure.replace("+", "-").replace("/", "_")}
        if not before:
            forms |= {coded, coded.replace("+", "-").replace("/", "_")}
            padded = base64.b64encode(raw).decode()
            forms |= {padded, padded.replace("+", "-").replace("/", "_")}
    return {form for form in forms if is_hideable(form)}


def _lines(value: str) -> Iterable[str]:
    """Lines of a value that are long enough to be known by a part: no address, no short line."""
    for line in re.split(r"[\r\n]+", value):
        secret = line
        if "://" in line:
            user = re.search(r"://[^/@]*:([^/@]+)@", line)
            secret = user[1] if user else ""
        if len(secret) >= _LEAST_WITH_PARTS:
            yield secret


def _alone(form: str) -> str:
    """A pattern for the form; a short one of letters and digits counts as a word of its own."""
    pattern = re.escape(form)
    if len(form) >= SHORT or not form.isalnum():
        return pattern
    return rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"


# -- parts -----------------------------------------------------------------------------------------


def _same_around(text: str, at: int, least: int, form: str) -> tuple[int, int]:
    """Stretch of the text that is equal to the form around a part that stands at `at`."""
    best = (at, at + PART)
    part = text[at : at + PART]
    place = form.find(part)
    while place >= 0:
        start, end = at, at + PART
        low, high = place, place + PART
        while start > least and low and text[start - 1] == form[low - 1]:
            start, low = start - 1, low - 1
        while end < len(text) and high < len(form) and text[end] == form[high]:
            end, high = end + 1, high + 1
        best = max(best, (start, end), key=lambda found: found[1] - found[0])
        place = form.find(part, place + 1)
    return best


def _coded_around(text: str, at: int, least: int, form: str) -> tuple[int, int]:
    """The whole coded text around a part: its neighbours hold bits of the credential."""
    start, end = at, at + PART
    while start > least and _CODED.match(text[start - 1]):
        start -= 1
    while end < len(text) and _CODED.match(text[end]):
        end += 1
    return start, end


def _is_word_of(form: str, part: str) -> bool:
    """True if a part is a plain word of a passphrase, which may stand in any text."""
    word = part.strip("-_. ")
    if not _WORD.fullmatch(word):
        return False
    bounds = rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])"
    return re.search(bounds, form) is not None
