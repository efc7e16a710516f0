"""
The gate of pytest's terminal writer: every text of the inner run passes here.

Texts are made harmless where they come from. This is the last gate, for what nobody thought of: the
words of a worker that crashed, a captured output, an error of the kit itself.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memproto import links
from memproto.testing import untrusted_text

#: The form in which pytest colours its own words.
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")

#: A text that is shorter is no credential: a letter for an item.
_SHORTEST = 5


class Guard:
    """Stands before the terminal writer of a run."""

    def __init__(self, hide: Callable[[str], str]) -> None:
        self._hide = hide
        self._is_own = False
        self._rewrites = self._links = False

    def install(self, config: pytest.Config) -> None:
        """Have the writer of this run write nothing else than what is harmless."""
        writer: Any = config.get_terminal_writer()
        write = writer.write
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        self._rewrites = bool(getattr(reporter, "isatty", False))
        self._links = self._rewrites and links.are_shown(os.environ)

        def guarded(text: str, **markup: Any) -> None:
            write(self.shown(text), **markup)

        writer.write = guarded

    @contextlib.contextmanager
    def own(self) -> Iterator[None]:
        """Let the kit's own verdict line begin a line; of a stranger it holds names alone."""
        self._is_own = True
        try:
            yield
        finally:
            self._is_own = False

    def shown(self, text: str) -> str:
        """The text as it may be written."""
        if self._is_own:
            return text
        # On a terminal pytest writes a line anew, from its beginning.
        start = "\r" if self._rewrites and text.startswith("\r") else ""
        rest = text[len(start) :]
        parts = _COLOUR.split(rest if len(rest) < _SHORTEST else self._hide(rest))
        told = start + "".join(
            part if number % 2 else untrusted_text.lines(part) for number, part in enumerate(parts)
        )
        # The escapes of a link are the kit's own: behind this nothing is made harmless any more.
        return links.linked(told) if self._links else told


def of(config: pytest.Config) -> Guard:
    """The guard of this run; one that hides shapes alone before the targets are known."""
    found: Guard | None = config.stash.get(_KEY, None)
    if found is None:
        from memproto.testing.judging import redaction

        found = config.stash[_KEY] = Guard(redaction.without_credentials)
    return found


def put(config: pytest.Config, guard: Guard) -> None:
    """Make it the guard of this run."""
    config.stash[_KEY] = guard


_KEY: pytest.StashKey[Guard] = pytest.StashKey()
