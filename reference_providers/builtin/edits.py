"""The effects of the actions on a list of entries. Pure: nothing here knows a file."""

import dataclasses

from memproto.errors import Rejected, TooLarge, WriteRefused

from .entries import Entry, used_chars

Entries = tuple[Entry, ...]


class Ambiguous(WriteRefused):
    """
    The snippet is found in several different entries.

    Attributes:
        matches: The different contents that hold it, in the order of the file.

    """

    def __init__(self, snippet: str, matches: list[str]) -> None:
        super().__init__(
            f"{len(matches)} different entries hold this snippet of {len(snippet)} characters; "
            "a longer snippet, or the whole text of the entry, tells them apart"
        )
        self.matches = matches


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """
    The result of an edit of the entries.

    Attributes:
        entries: The entries afterwards.
        note: One sentence on what happened, without the text of any entry.

    """

    entries: Entries
    note: str


def usage(used: int, limit: int) -> str:
    """Fill level of a file, e.g. `68% — 1,496/2,200 chars`. The share is rounded down."""
    return f"{used * 100 // limit}% — {used:,}/{limit:,} chars"


def add(entries: Entries, entry: Entry, limit: int) -> Outcome:
    """
    The entries with `entry` at the end; unchanged where its content is there already.

    Raises:
        Rejected: The content is empty or white space.
        TooLarge: The content alone is over the limit.
        WriteRefused: The content does not fit beside what is there.

    """
    _check_content(entry.content, limit)
    if any(kept.content == entry.content for kept in entries):
        return Outcome(entries, "Already stored; nothing was added twice.")
    return Outcome(_fitting((*entries, entry), entries, limit), "Added.")


def replace(entries: Entries, snippet: str, entry: Entry, limit: int) -> Outcome:
    """
    The entries with `entry` in the place of the one that `snippet` names, copies included.

    Raises:
        Rejected: The snippet or the content is empty.
        TooLarge: The content alone is over the limit.
        Ambiguous: The snippet names several different entries.
        WriteRefused: It names none, or the content does not fit in its place.

    """
    _check_content(entry.content, limit)
    old = find(entries, snippet)
    if old == entry.content and _copies(entries, old) == 1:
        return Outcome(entries, "The entry has this text already; nothing was changed.")
    gone = (old, entry.content)
    place = next(i for i, kept in enumerate(entries) if kept.content in gone)
    rest = (kept for kept in entries[place:] if kept.content not in gone)
    after = (*entries[:place], entry, *rest)
    return Outcome(_fitting(after, entries, limit), _counted("Replaced", _copies(entries, old)))


def remove(entries: Entries, snippet: str) -> Outcome:
    """
    The entries without the one that `snippet` names, its copies included.

    Raises:
        Rejected: The snippet is empty.
        Ambiguous: The snippet names several different entries.
        WriteRefused: It names none.

    """
    old = find(entries, snippet)
    after = tuple(kept for kept in entries if kept.content != old)
    return Outcome(after, _counted("Removed", _copies(entries, old)))


def find(entries: Entries, snippet: str) -> str:
    """
    The content that `snippet` names: the one equal to it, else the only one that holds it.

    Equal copies of one entry are one match. An entry whose whole text also occurs inside another
    one is named by its whole text.
    """
    if not snippet:
        raise Rejected("old_text is empty: it has to quote a part of the entry that is meant")
    matches = list(dict.fromkeys(kept.content for kept in entries if snippet in kept.content))
    if not matches:
        raise WriteRefused("no entry holds old_text; read the memory for what is stored now")
    if snippet in matches:
        return snippet
    if len(matches) > 1:
        raise Ambiguous(snippet, matches)
    return matches[0]


def _check_content(content: str, limit: int) -> None:
    if not content.strip():
        raise Rejected("content is empty: there is nothing to store")
    if len(content) > limit:
        raise TooLarge(f"content has {len(content):,} characters; the whole file holds {limit:,}")


def _fitting(after: Entries, before: Entries, limit: int) -> Entries:
    """`after`, if it is within the limit or at least no larger than a file edited by hand was."""
    used, was = used_chars(after), used_chars(before)
    if used <= limit or used <= was:
        return after
    raise WriteRefused(
        f"the file would hold {used:,} of {limit:,} characters (now: {usage(was, limit)}); "
        "merge, shorten or remove entries first, then try again"
    )


def _copies(entries: Entries, content: str) -> int:
    return sum(kept.content == content for kept in entries)


def _counted(done: str, copies: int) -> str:
    return f"{done}." if copies == 1 else f"{done}, with all {copies} identical copies."
