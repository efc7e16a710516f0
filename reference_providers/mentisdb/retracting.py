"""
Entries of the memory tool that were replaced or removed.

A chain is never rewritten: what is over is named by a later thought, and left out of recall.
"""

import time
from collections.abc import Iterable

from memproto.errors import Unavailable, WriteRefused
from memproto.reference_providers.halves import joined

from .daemon import Daemon, Thought, tags
from .keys import plain

#: Begins the tag that names what is over, and marks the thought that says so.
OVER, MARK = "over:", "retraction"

#: Begins the tag of an entry of the memory tool.
ENTRY = "memory-file:"

_ID = "mp:"

#: More entries that hold one text are not looked at.
_MOST = 200


def entry_id(thought: Thought) -> str:
    """Id of a thought of this provider, whatever part of a text it holds; or ""."""
    own = next((tag for tag in tags(thought) if tag.startswith(_ID)), "")
    return own.removeprefix(_ID).rpartition("-")[0]


def current(daemon: Daemon, found: Iterable[Thought], budget_s: float) -> list[Thought]:
    """
    Those that are not over; asks the daemon only where entries of the memory tool are among them.

    Raises:
        Unavailable: It does not answer.

    """
    shown = [thought for thought in found if not _is_retraction(thought)]
    names = {f"{OVER}{entry_id(one)}" for one in shown if _is_entry(one)}
    if not names:
        return shown
    if budget_s <= 0:
        raise Unavailable("no time is left to see what is over")
    later = daemon.tagged(names, budget_s)
    over = names.intersection(tag for thought in later for tag in tags(thought))
    return [thought for thought in shown if f"{OVER}{entry_id(thought)}" not in over]


def _is_retraction(thought: Thought) -> bool:
    # A model, or another client of the chain, may file something under the same word.
    names = tags(thought)
    return MARK in names and any(tag.startswith(OVER) for tag in names)


def _is_entry(thought: Thought) -> bool:
    return bool(entry_id(thought)) and any(tag.startswith(ENTRY) for tag in tags(thought))


def quoted(daemon: Daemon, target: str, old_text: str | None, budget_s: float) -> set[str]:
    """
    The entries of a target that hold a text: one, or several that are equal.

    Raises:
        WriteRefused: There is none, or there are several different ones.
        Unavailable: The daemon does not answer.

    """
    text = joined(old_text or "")
    if not text.strip():
        raise WriteRefused("old_text is empty: it is to quote the entry that is meant")
    ends = time.monotonic() + budget_s
    found = daemon.containing(text, _MOST, budget_s, tag=f"{ENTRY}{plain(target)}")
    found = [thought for thought in found if text in thought["content"]]
    held = current(daemon, found, ends - time.monotonic())
    entries = {entry_id(thought) for thought in held}
    if len(entries) != 1 and len({thought["content"] for thought in held}) != 1:
        how_many = "several entries" if held else "no entry"
        raise WriteRefused(f"old_text is in {how_many} of {plain(target)}")
    return entries
