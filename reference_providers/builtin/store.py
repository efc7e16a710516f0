"""One bounded file of entries: read, edited under the lock, written in one step."""

import dataclasses
import datetime as dt
from collections.abc import Callable
from pathlib import Path

from memproto.errors import Unavailable, WriteRefused

from . import edits, files
from .edits import Entries, Outcome
from .entries import Entry, Unparsable, decode, encode, used_chars

#: Times that an edit starts again because someone else changed the file meanwhile.
_ATTEMPTS = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Store:
    """
    The entries of one target. Holds no state: each call works on what the file holds then.

    Attributes:
        path: The file; it need not exist.
        lock: The lock file, in a directory that exists.
        limit: The most characters, as `entries.used_chars` counts them.

    """

    path: Path
    lock: Path
    limit: int

    def read(self) -> Entries:
        """
        The entries on disk now. Takes no lock.

        Raises:
            Unavailable: The file cannot be read, or is no list of entries.

        """
        try:
            return decode(files.read(self.path) or b"")
        except Unparsable as fault:
            raise Unavailable(self._unparsable(fault)) from fault

    def usage(self, entries: Entries) -> str:
        """Fill level of the file with these entries, as the header shows it."""
        return edits.usage(used_chars(entries), self.limit)

    def add(self, content: str) -> Outcome:
        """Store `content` as a new entry, dated now. Raises as `edits.add` and `change`."""
        return self.change(lambda entries: edits.add(entries, _dated(content), self.limit))

    def replace(self, snippet: str, content: str) -> Outcome:
        """Store `content` in the place of an entry. Raises as `edits.replace` and `change`."""
        return self.change(
            lambda entries: edits.replace(entries, snippet, _dated(content), self.limit)
        )

    def remove(self, snippet: str) -> Outcome:
        """Remove an entry. Raises as `edits.remove` and `change`."""
        return self.change(lambda entries: edits.remove(entries, snippet))

    def change(self, edit: Callable[[Entries], Outcome]) -> Outcome:
        """
        Apply `edit` to what is on disk, alone among all writers that take the lock.

        An editor takes none: where the file changed meanwhile, the edit starts again on the new
        text.

        Raises:
            WriteRefused: The file is no list of entries, or changes all the time. It is as it was.
            Unavailable: The lock or the file cannot be had. It is as it was.

        """
        with files.locked(self.lock):
            for _ in range(_ATTEMPTS):
                raw = files.read(self.path)
                before = self._decoded(raw)
                outcome = edit(before)
                if outcome.entries == before:
                    return outcome
                if files.replace_if_unchanged(self.path, raw, encode(outcome.entries)):
                    return outcome
        raise WriteRefused(f"{self.path} is being changed by another program; nothing was written")

    def _decoded(self, raw: bytes | None) -> Entries:
        try:
            return decode(raw or b"")
        except Unparsable as fault:
            raise WriteRefused(self._unparsable(fault)) from fault

    def _unparsable(self, fault: Unparsable) -> str:
        return (
            f"{self.path} is not a list of entries in UTF-8 ({fault}). "
            "It was left as it is; repair it or move it away"
        )


def _dated(content: str) -> Entry:
    now = dt.datetime.now(dt.UTC)
    return Entry(content, now.isoformat(timespec="seconds"))
