"""The block of the system prompt: what every enabled file held when the session began."""

from collections.abc import Mapping

from memproto.errors import Unavailable

from .edits import Entries, usage
from .entries import SEPARATOR, joined, used_chars
from .store import Store

_RULE = "═" * 46

#: What each target is called in the prompt.
TITLES = {"memory": "MEMORY (your own notes)", "user": "USER PROFILE (the person you work with)"}


def snapshot(stores: Mapping[str, Store]) -> str:
    """
    The block for these files as they are now, or "" where all are empty.

    Bounded by the limits: of a file that was made longer by hand, the first entries are shown that
    fit, and a line says how many are not. A file that cannot be read is said to be so, and why.
    """
    return "\n\n".join(filter(None, (_section(TITLES[name], stores[name]) for name in stores)))


def _section(title: str, store: Store) -> str:
    try:
        entries = store.read()
    except Unavailable as fault:
        return f"{_RULE}\n{title} [not readable]\n{_RULE}\nTell the user: {fault}."
    if not entries:
        return ""
    header = f"{title} [{usage(used_chars(entries), store.limit)}]"
    return f"{_RULE}\n{header}\n{_RULE}\n{_bounded(entries, store.limit)}"


def _bounded(entries: Entries, limit: int) -> str:
    shown = entries
    while used_chars(shown) > limit:
        shown = shown[:-1]
    if len(shown) == len(entries):
        return joined(entries)
    return SEPARATOR.join(filter(None, (joined(shown), _notice(len(entries) - len(shown)))))


def _notice(count: int) -> str:
    what, them = ("entry is", "it") if count == 1 else ("entries are", "them")
    return f"[{count} more {what} over the limit and not shown; the memory tool reads {them}]"
