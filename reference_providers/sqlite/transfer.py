"""
Texts as JSON lines: to look at, to move to another host, and to take transcripts in.

A line of an export is an object with `content`, `role` and, where they are known, `session`,
`created_at`, `source`, `platform`, `name`, `tokens`, `turn_id`, `author`. An import takes the same,
and the transcripts of other hosts, which name some of them otherwise.
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from memproto.errors import Rejected

from .index import TOOL, Row
from .store import Store, Text, now

#: Keys of a line, in the order in which they are looked for.
_TIMES = ("created_at", "timestamp", "time")
_NAMES = ("name", "tool_name")
_TOKENS = ("tokens", "tokens_used")
_SESSIONS = ("session", "session_id")

#: Texts that are stored in one transaction.
_BATCH = 1_000


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """Number of texts of an import that were stored, and of those that were there already."""

    stored: int
    known: int


def lines_of(rows: Iterable[Row]) -> Iterator[str]:
    """A line of JSON for each text, in ASCII."""
    for row in rows:
        author = None if row.author is None else json.loads(row.author)
        given = {
            "session": row.key,
            "role": row.role,
            "source": row.source,
            "content": row.content,
            "created_at": row.created_at,
            "platform": row.platform,
            "name": row.name,
            "tokens": row.tokens,
            "turn_id": row.turn_id,
            "author": author,
        }
        yield json.dumps({key: value for key, value in given.items() if value is not None})


def take_in(store: Store, lines: Iterable[str], session: str) -> Imported:
    """
    Store the texts of an export or a transcript; those that are stored already are passed over.

    Everything is read before anything is stored. `session` is for lines that name none.

    Raises:
        Rejected: A line is no text; the message says which, and what it lacks.
        Unavailable: The file cannot be written now; what was stored by then stays.

    """
    found = list(_texts(lines, session))
    known = {_identity(row.key, _text_of(row)) for row in store.within({})}
    fresh: dict[tuple[str, str | None], list[Text]] = {}
    for key, platform, text in found:
        if _identity(key, text) not in known:
            known.add(_identity(key, text))
            fresh.setdefault((key, platform), []).append(text)
    for (key, platform), texts in fresh.items():
        for start in range(0, len(texts), _BATCH):
            store.keep(key, texts[start : start + _BATCH], platform)
    count = sum(map(len, fresh.values()))
    return Imported(count, len(found) - count)


def _identity(key: str, text: Text) -> tuple[str | None, ...]:
    return key, text.role, text.content, _spelled(text.created_at), text.turn_id


def _spelled(instant: str) -> str:
    """An instant as an import spells it: a host's own turns may end on Z, or on milliseconds."""
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(instant).isoformat()
    return instant


def _text_of(row: Row) -> Text:
    return Text(row.role, row.source, row.content, row.created_at, turn_id=row.turn_id)


def _texts(lines: Iterable[str], session: str) -> Iterator[tuple[str, str | None, Text]]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _text(number, _object(number, line), session)


def _object(number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"line {number} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Rejected(f"line {number} is {type(found).__name__}, and not an object")
    return found


def _text(number: int, given: Mapping[str, Any], session: str) -> tuple[str, str | None, Text]:
    content, role = _words(number, given.get("content")), given.get("role")
    if not isinstance(role, str) or not role:
        raise Rejected(f"line {number} lacks role, such as user or assistant")
    key = _first(given, _SESSIONS, str) or session
    source = _first(given, ("source",), str) or ("tools" if role == TOOL else "turns")
    author = given.get("author")
    text = Text(
        role,
        source,
        content,
        _instant(number, given),
        name=_first(given, _NAMES, str),
        tokens=_first(given, _TOKENS, int),
        turn_id=_first(given, ("turn_id",), str),
        author=author if isinstance(author, Mapping) else None,
    )
    return key, _first(given, ("platform",), str), text


def _words(number: int, content: Any) -> str:
    """The text of a message; of one that is made of parts, that of its text parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(part for part in parts if isinstance(part, str))
    if content is None:
        return ""
    if not isinstance(content, str):
        raise Rejected(f"line {number} has a content that is {type(content).__name__}, not text")
    return content


def _first(given: Mapping[str, Any], keys: Iterable[str], kind: type) -> Any:
    found = (given[key] for key in keys if isinstance(given.get(key), kind) and given[key])
    return next(found, None)


def _instant(number: int, given: Mapping[str, Any]) -> str:
    """When it was said, with an offset; a number is seconds since 1970, a bare time is local."""
    value = next((given[key] for key in _TIMES if given.get(key) is not None), None)
    if value is None:
        return now()
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC).isoformat()
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError, OverflowError, OSError):
        raise Rejected(f"line {number} has the time {value!r}, which is no instant") from None
    return (found if found.tzinfo else found.astimezone()).isoformat()
