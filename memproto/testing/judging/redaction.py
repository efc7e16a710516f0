"""
Secrets that results do not tell: credentials, and where things lie on the machine of the run.

A provider's errors may hold both. They leave a judge through here, so that no output of a run has
to look for them again.
"""

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memproto.testing import credential_forms as hiding
from memproto.testing import evidence, outcomes
from memproto.testing.credential_forms import Hiding
from memproto.testing.outcomes import Result
from memproto.testing.settings import credentials
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.settings import Settings
from memproto.testing.untrusted_text import printable

_PATH = re.compile(r"(?<![\w.:/~…-])/[^\s'\"`<>|:;,()\[\]{}\\]+")

#: Below these nothing is anybody's.
_PUBLIC = frozenset({"dev", "proc", "sys"})

#: The directories of a check, as `sandbox.places` names them, and what a reader knows them as.
_PLACES = {"user": "~", "tmp": "$TMPDIR", "work": "$PWD", "memory": "$home"}

#: The fields of a result that hold texts of the target, or of the kit about it, beside evidence.
_TEXTS = ("where", "reason", "stack")


class Outlet:
    """Gives results on as they may be read by anybody, and as the release scores them."""

    def __init__(self, order: Order, contact: Contact, root: Path) -> None:
        self._order = order
        self._contact = contact
        self._root = root.resolve()
        self._hide: tuple[tuple[Any, ...], Hiding] | None = None

    def __call__(self, results: Iterable[Result]) -> list[Result]:
        """The same results without what is not for readers."""
        return [self._given(result) for result in results]

    def text(self, text: str) -> str:
        """A text without credentials and places of the machine."""
        # A process that the target has taken over may send anything.
        text = printable(self._hidden(text))
        return _PATH.sub(self._path, text) if "/" in text else text

    def _hidden(self, text: str) -> str:
        return self.hiding()(text)

    def hiding(self) -> Hiding:
        """Takes credentials out: a service, and a schema, tell of some only in the run."""
        known = (*self._contact.secrets, id(self._contact.service))
        if self._hide is None or self._hide[0] != known:
            self._hide = known, Hiding(secrets(self._order.settings, self._contact))
        return self._hide[1]

    def _given(self, result: Result) -> Result:
        result = outcomes.scored(result, self._order.release)
        texts: dict[str, Any] = {name: self.text(getattr(result, name)) for name in _TEXTS}
        if result.evidence is not None:
            texts["evidence"] = evidence.mapped(result.evidence, self.text)
        # A script has to go on working: its paths stay.
        needs = tuple(need.with_texts(self.text) for need in result.needs)
        for name in ("log", "swallowed"):
            texts[name] = tuple(self.text(line) for line in getattr(result, name))
        return dataclasses.replace(result, **texts, needs=needs, replay=self._hidden(result.replay))

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


def without_credentials(text: str, *given: tuple[Settings, Contact]) -> str:
    """A text about the run itself, whose paths are the user's own words: of all of its targets."""
    found = secrets(Settings(), Contact())
    for settings, contact in given:
        found |= secrets(settings, contact)
    return Hiding(found)(text)


def _in_a_check(parts: tuple[str, ...]) -> str:
    for number, part in enumerate(parts):
        if part in _PLACES:
            return "/".join((_PLACES[part], *parts[number + 1 :]))
    return "/".join(("…", *parts[-1:]))


# -- credentials -----------------------------------------------------------------------------------


def secrets(settings: Settings, contact: Contact) -> dict[str, str]:
    """Values that nobody may read, and the names by which they are known."""
    also = {*settings.from_env, *contact.secrets}
    found = hiding.of_variables(credentials.environment())
    for config in (settings.config, contact.service.get("config", {})):
        found |= hiding.of_config(config, also)
    for variables in (settings.env, contact.service.get("env", {})):
        found |= hiding.of_variables(variables, also)
    return found


def warnings(settings: Settings) -> list[str]:
    """Of each credential that is too short to be hidden well: a line that names it."""
    also = settings.from_env
    given = hiding.of_variables(settings.env, also) | hiding.of_config(settings.config, also)
    told = []
    for value, name in sorted(given.items(), key=lambda item: item[1]):
        length = len(value.strip())
        if 0 < length < hiding.SHORTEST:
            told.append(f"{name} has {length} characters, and is not hidden: use a longer test key")
        elif 0 < length < hiding.SHORT:
            said = f"{name} has {length} characters, and is hidden only where it stands by itself"
            told.append(f"{said}: use a longer test key")
    return told
