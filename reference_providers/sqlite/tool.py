"""The tools: search, two ways to keep something, and one to forget it."""

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any

from memproto.errors import Rejected, Unavailable
from memproto.reference_providers import asked

from .database import as_bytes
from .index import Filter, Row
from .store import Store

_PREVIEW_CHARS = 2_000
_MOST = 50

#: Ids of more digits are none of SQLite's.
_LONGEST_ID = 19

_SEARCH = """Search everything that was said and kept in earlier conversations.
All words must be there; "a phrase" stands together, pre* is the beginning of a word, OR and NOT
(or -) and parentheses work. Filter by role, platform and dates. Answers the best hits first, each
with an id, its session and the time at which it was said."""

_TOOLS: dict[str, tuple[str, dict[str, tuple[str, str]], list[str]]] = {
    "sqlite_search": (
        " ".join(_SEARCH.split()),
        {
            "query": ("string", "The thing to look for."),
            "role": ("string", "Only this: user, assistant, tool, note, learning or summary."),
            "platform": ("string", "Only sessions on this platform, such as telegram."),
            "since": ("string", "Only from this day or instant on, as 2026-01-31."),
            "until": ("string", "Only before this day or instant, as 2026-02-28."),
            "limit": ("integer", "The most hits; 10 where it is left out, 50 at most."),
        },
        ["query"],
    ),
    "sqlite_store_lesson": (
        "Keep what went wrong and how it was mended, for the next time.",
        {
            "content": ("string", "The thing that went wrong, in words that one would search by."),
            "fix": ("string", "The thing that helped."),
            "tags": ("string", "Words that it belongs to, with commas between."),
        },
        ["content"],
    ),
    "sqlite_store_summary": (
        "Keep what this conversation was about and came to.",
        {
            "content": ("string", "Its outcome, in a few sentences."),
            "keywords": ("string", "Words to find it by, with commas between."),
        },
        ["content"],
    ),
    "sqlite_forget": (
        "Remove one text for good, by the id that a search gave.",
        {"id": ("string", "The id.")},
        ["id"],
    ),
}

#: Every tool, and those that write nothing.
NAMES, READING = tuple(_TOOLS), ("sqlite_search",)


def schemas(names: Iterable[str]) -> list[dict[str, Any]]:
    """These tools as functions for a model."""
    return [
        {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {
                    key: {"type": kind, "description": told} for key, (kind, told) in given.items()
                },
                "required": list(required),
            },
        }
        for name, (description, given, required) in ((name, _TOOLS[name]) for name in names)
    ]


def call(store: Store, session: str, name: object, args: object) -> str:
    """
    Serve one call; gives one JSON document, in ASCII.

    Raises:
        Unavailable: The file cannot be used now.
        Misconfigured: It is damaged.

    """
    try:
        answer = {"success": True, **_served(store, session, name, args)}
    except Rejected as refusal:
        answer = {"success": False, "error": str(refusal)}
    return json.dumps(answer)


def _served(store: Store, session: str, name: object, args: object) -> dict[str, Any]:
    if not isinstance(name, str) or name not in _TOOLS:
        raise Rejected(f"there is no tool {name!r}; there are {', '.join(NAMES)}")
    if not isinstance(args, Mapping):
        raise Rejected(f"{name} takes an object of arguments")
    return _SERVING[name](store, session, _Arguments(name, args))


class _Arguments:
    def __init__(self, tool: str, given: Mapping[str, Any]) -> None:
        self._tool, self._given = tool, given

    def text(self, key: str, *, needed: bool = False) -> str:
        value = self._given.get(key)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or (needed and not value.strip()):
            raise Rejected(f"{self._tool} needs {key}, a text that is not empty")
        return value

    def limit(self) -> int:
        return asked.limit(self._given.get("limit"), usual=10, most=_MOST)

    def instant(self, key: str) -> str:
        value = self.text(key).strip()
        try:
            return _instant(value) if value else ""
        except ValueError:
            raise Rejected(f"{key} is {value!r}, and no day such as 2026-01-31") from None


def _instant(text: str) -> str:
    """The moment in UTC, in the form in which moments are stored; days begin in this time zone."""
    try:
        found = datetime.combine(date.fromisoformat(text), datetime.min.time())
    except ValueError:
        found = datetime.fromisoformat(text)
    return found.isoformat() if found.tzinfo else found.astimezone().isoformat()


# -- what each does --------------------------------------------------------------------------------


def _search(store: Store, session: str, given: _Arguments) -> dict[str, Any]:
    hits = _found(store, given)
    with contextlib.suppress(Unavailable):  # To be read is enough for an answer.
        store.used(hits)
    return {"count": len(hits), "hits": [_hit(row) for row in hits]}


def found(store: Store, given: Mapping[str, Any]) -> list[Row]:
    """
    Texts that a search with these arguments finds.

    Raises:
        Rejected: An argument is none that the tool takes.
        Unavailable: The file cannot be read now.

    """
    return _found(store, _Arguments("sqlite_search", given))


def _found(store: Store, given: _Arguments) -> list[Row]:
    conditions: list[tuple[str, str | int | bytes]] = []
    for key, condition in (("role", "m.role"), ("platform", "s.platform")):
        if value := given.text(key):
            conditions.append((f"{condition} = CAST(? AS TEXT)", as_bytes(value)))
    for key, sign in (("since", ">="), ("until", "<")):
        if moment := given.instant(key):
            conditions.append((f"julianday(m.created_at) {sign} julianday(?)", moment))
    return store.search(given.text("query", needed=True), tuple(conditions), given.limit())


def _hit(row: Row) -> dict[str, Any]:
    whole = row.content
    cut = len(whole) - _PREVIEW_CHARS
    return {
        "id": str(row.id),
        "text": whole if cut <= 0 else f"{whole[:_PREVIEW_CHARS]}… ({cut} more characters)",
        "role": row.role,
        "name": row.name,
        "session": row.key,
        "platform": row.platform,
        "created_at": row.created_at,
    }


def _learn(store: Store, session: str, given: _Arguments) -> dict[str, Any]:
    content = given.text("content", needed=True)
    return {"id": str(store.learn(session, content, given.text("fix"), given.text("tags")))}


def _summarize(store: Store, session: str, given: _Arguments) -> dict[str, Any]:
    content = given.text("content", needed=True)
    return {"id": str(store.summarize(session, content, given.text("keywords")))}


def _forget(store: Store, session: str, given: _Arguments) -> dict[str, Any]:
    number = given.text("id", needed=True)
    is_one = number.isascii() and number.isdigit() and len(number) < _LONGEST_ID
    if not is_one or not store.remove(Filter(store.owner, (("m.id = ?", int(number)),))):
        raise Rejected(f"there is no text with the id {number!r}; a search gives ids")
    return {"forgotten": 1}


_SERVING: dict[str, Callable[[Store, str, _Arguments], dict[str, Any]]] = {
    "sqlite_search": _search,
    "sqlite_store_lesson": _learn,
    "sqlite_store_summary": _summarize,
    "sqlite_forget": _forget,
}
