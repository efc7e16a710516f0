"""The block of the system prompt: what every enabled file held when the session began."""

import dataclasses
import math
from collections.abc import Iterable, Mapping

from memproto.errors import Unavailable

from .edits import Entries, usage
from .entries import SEPARATOR, joined, used_chars
from .store import Store

_RULE = "═" * 46
_BETWEEN = "\n\n"

#: Title of each target in the prompt.
TITLES = {"memory": "MEMORY (your own notes)", "user": "USER PROFILE (the person you work with)"}


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """
    The content of one file when the session began.

    Attributes:
        title: Title of the target in the prompt.
        limit: The characters that the file is to hold at most.
        entries: Its entries.
        fault: Why it cannot be read, or "".

    """

    title: str
    limit: int
    entries: Entries
    fault: str = ""

    def text(self, room: float) -> str:
        """The section within so many characters, or "" where there is nothing to show."""
        if self.fault:
            said = f"{_RULE}\n{self.title} [not readable]\n{_RULE}\nTell the user: {self.fault}."
            return said if len(said) <= room else ""
        if not self.entries:
            return ""
        return self._within(room)

    def _within(self, room: float) -> str:
        header = f"{self.title} [{usage(used_chars(self.entries), self.limit)}]"
        shown = self.entries
        while used_chars(shown) > self.limit:
            shown = shown[:-1]
        text = self._framed(header, shown)
        while len(text) > room and shown:
            shown = shown[:-1]
            text = self._framed(header, shown)
        return text if len(text) <= room else ""

    def _framed(self, header: str, shown: Entries) -> str:
        left = len(self.entries) - len(shown)
        body = SEPARATOR.join(filter(None, (joined(shown), _notice(left) if left else "")))
        return f"{_RULE}\n{header}\n{_RULE}\n{body}"


def sections(stores: Mapping[str, Store]) -> tuple[Section, ...]:
    """Present content of these files. One that cannot be read is said to be so, and why."""
    return tuple(_section(TITLES[name], stores[name]) for name in stores)


def _section(title: str, store: Store) -> Section:
    try:
        return Section(title, store.limit, store.read())
    except Unavailable as fault:
        return Section(title, store.limit, (), str(fault))


def block(parts: Iterable[Section], most_chars: float = math.inf) -> str:
    """
    The block for these sections, or "" where all are empty.

    Bounded by the limits of the files and by `most_chars`: of a file that is longer, the first
    entries are shown that fit, whole, and a line says how many are not.
    """
    shown: list[str] = []
    for part in parts:
        room = most_chars - len(_BETWEEN.join([*shown, ""]))
        shown += filter(None, [part.text(room)])
    return _BETWEEN.join(shown)


def _notice(count: int) -> str:
    what, them = ("entry is", "it") if count == 1 else ("entries are", "them")
    return f"[{count} more {what} over the limit and not shown; the memory tool reads {them}]"
