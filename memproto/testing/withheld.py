"""
What results do not tell: credentials, and where things lie on the machine of the run.

A provider's errors may hold both. They leave a judge through here, so that no output of a run has
to look for them again.
"""

import base64
import dataclasses
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memproto.testing import credentials, outcomes
from memproto.testing.contact import Contact, Order
from memproto.testing.outcomes import Result
from memproto.testing.settings import Settings

#: Values that are shorter stand for too much else.
SHORTEST = 6

#: A credential that was cut off is known by most of it, and by so much at least.
_LEAST_PART = 12

#: Credentials of which no setting tells: a URL's, a header's, and those with a known beginning.
_SHAPES = (
    (re.compile(r"(?<=://)[^\s/:@'\"]*:[^\s/@'\"]+(?=@)"), "[hidden]"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 [hidden]"),
    (
        re.compile(r"\b(sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abpr]|hf|AKIA)[-_]?[\w-]{16,}"),
        "[hidden]",
    ),
)

_PATH = re.compile(r"(?<![\w.:/~…-])/[^\s'\"`<>|:;,()\[\]{}\\]+")

#: Below these nothing is anybody's.
_PUBLIC = frozenset({"dev", "proc", "sys"})

#: The directories of a check, as `sandbox.places` names them, and what a reader knows them as.
_PLACES = {"user": "~", "tmp": "$TMPDIR", "work": "$PWD", "memory": "$home"}

#: The fields of a result that hold texts of the target, or of the kit about it.
_TEXTS = ("expected", "observed", "where", "reason", "stack")


class Outlet:
    """Gives results on as they may be read by anybody, and as the release scores them."""

    def __init__(self, order: Order, contact: Contact, root: Path) -> None:
        self._order = order
        self._contact = contact
        self._root = root.resolve()
        self._hide: list[tuple[re.Pattern[str], str]] | None = None

    def __call__(self, results: Iterable[Result]) -> list[Result]:
        """The same results without what is not for readers."""
        return [self._given(result) for result in results]

    def text(self, text: str) -> str:
        """A text without credentials and places of the machine."""
        text = self._hidden(text)
        return _PATH.sub(self._path, text) if "/" in text else text

    def _hidden(self, text: str) -> str:
        if self._hide is None:
            # A service says what it yields only once it runs.
            self._hide = _patterns(_secrets(self._order.settings, self._contact))
        for pattern, shown in (*self._hide, *_SHAPES):
            text = pattern.sub(shown, text)
        return text

    def _given(self, result: Result) -> Result:
        result = outcomes.scored(result, self._order.release)
        texts: dict[str, Any] = {name: self.text(getattr(result, name)) for name in _TEXTS}
        # A script has to go on working: its paths stay.
        return dataclasses.replace(result, **texts, replay=self._hidden(result.replay))

    def _path(self, match: re.Match[str]) -> str:
        found = match[0]
        path = Path(found.rstrip(".?!"))
        rest = found[len(str(path)) :]
        return self._shown(path) + rest

    def _shown(self, path: Path) -> str:
        """A path by what it lies in; one of a URL or an interface stays as it is."""
        parts = path.parts
        if len(parts) == 1 or parts[1] in _PUBLIC or not Path("/", parts[1]).exists():
            return str(path)
        if path.is_relative_to(self._root):
            return _in_a_check(path.relative_to(self._root).parts)
        for part in ("site-packages", "dist-packages"):
            if part in parts[:-1]:
                return "/".join(parts[parts.index(part) + 1 :])
        for directory in (self._order.directory, self._order.directory.resolve()):
            if path.is_relative_to(directory):
                return str(path.relative_to(directory))
        return f"…/{path.name}"


def without_credentials(text: str, settings: Settings | None = None) -> str:
    """A text about the run itself, whose paths are the user's own words."""
    hidden = _patterns(_secrets(settings or Settings(), Contact()))
    for pattern, shown in (*hidden, *_SHAPES):
        text = pattern.sub(shown, text)
    return text


def _in_a_check(parts: tuple[str, ...]) -> str:
    for number, part in enumerate(parts):
        if part in _PLACES:
            return "/".join((_PLACES[part], *parts[number + 1 :]))
    return "/".join(("…", *parts[-1:]))


# -- credentials -----------------------------------------------------------------------------------


def _secrets(settings: Settings, contact: Contact) -> dict[str, str]:
    """Values that nobody may read, and the names by which they are known."""
    found = {
        value: name
        for name, value in credentials.environment().items()
        if credentials.NAME.search(name)
    }
    for table in (settings.config, contact.service.get("config", {})):
        found |= {value: name for name, value in _named(table)}
    for variables in (settings.env, contact.service.get("env", {})):
        found |= {value: name for name, value in variables.items() if credentials.NAME.search(name)}
    found |= {settings.env[name]: name for name in settings.from_env if name in settings.env}
    return {value: name for value, name in found.items() if len(value.strip()) >= SHORTEST}


def _named(table: Any, above: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(table, dict):
        for key, value in table.items():
            yield from _named(value, str(key))
    elif isinstance(table, list):
        for value in table:
            yield from _named(value, above)
    elif isinstance(table, str) and credentials.NAME.search(above):
        yield above, table


def _patterns(secrets: dict[str, str]) -> list[tuple[re.Pattern[str], str]]:
    longest_first = sorted(secrets.items(), key=lambda item: -len(item[0]))
    return [(_pattern(value), f"[{name} hidden]") for value, name in longest_first]


def _pattern(value: str) -> re.Pattern[str]:
    coded = base64.b64encode(value.encode("utf-8", "replace")).decode()
    forms = {value, quote(value, safe=""), repr(value)[1:-1], coded}
    words = [re.escape(form) for form in sorted(forms, key=len, reverse=True)]
    part = max(_LEAST_PART, len(value) * 2 // 3)
    if len(value) > part and "://" not in value and not re.search(r"\s", value):
        words.append(re.escape(value[:part]) + r"[^\s'\"]*")
    return re.compile("|".join(words))
