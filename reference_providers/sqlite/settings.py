"""The operator's choices, the place where they are kept, and the settings of a session."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.reference_providers import reading

#: Below the home: the answers of set-up, and the memory itself.
ANSWERS, FILE = "sqlite.json", "memory.db"

FIELDS: list[dict[str, Any]] = [
    {
        "key": "path",
        "description": "File of the memory; empty for memory.db in the provider's own directory",
        "default": "",
    },
    {
        "key": "search",
        "description": "Way to find texts: by the full-text index, or by reading them all",
        "choices": ["index", "plain"],
        "default": "index",
    },
    {
        "key": "recall_count",
        "description": "The most texts that are recalled for a turn",
        "default": 12,
    },
    {
        "key": "read_only",
        "description": "Only read the file, and store nothing",
        "choices": ["no", "yes"],
        "default": "no",
    },
]


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """
    Values that `initialize` fixed.

    Attributes:
        path: The file, wherever the process goes.
        is_elsewhere: True if the operator put it on a path of his own.
        owner: The user in a form that no two users share.
        room: The most characters of a recall, or None.
        contexts: In which contexts of an agent turns are to be stored.
        context: In which this session is.

    """

    path: Path
    is_elsewhere: bool
    search: str
    recall_count: int
    is_read_only: bool
    owner: str
    platform: str | None
    title: str | None
    parent: str | None
    room: int | None
    contexts: tuple[str, ...]
    context: str

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Settings":
        """
        Read the configuration of a session, and the answers in its home.

        Raises:
            Misconfigured: There is no home, or an answer is none of those that may be given.

        """
        home = reading.home(config)
        given = answers(home) | reading.table(config.get("sqlite"))
        path = checked(given, "path")
        return cls(
            path=(Path(path).expanduser() if path else home / FILE).absolute(),
            is_elsewhere=bool(path),
            search=checked(given, "search"),
            recall_count=checked(given, "recall_count"),
            is_read_only=checked(given, "read_only") == "yes",
            owner=owner_of(config.get("user_id")),
            platform=reading.text(config.get("platform")),
            title=reading.text(config.get("session_title")),
            parent=reading.text(config.get("parent_session_id")),
            room=reading.room(config),
            contexts=reading.contexts(config),
            context=reading.context(config),
        )


def owner_of(user_id: str | None) -> str:
    """The user as text in ASCII: that of None is nobody's id."""
    return json.dumps(user_id)


def user_of(owner: str) -> str | None:
    """The inverse of `owner_of`."""
    user: str | None = json.loads(owner)
    return user


def checked(given: Mapping[str, Any], key: str) -> Any:
    """
    One answer, or its default.

    Raises:
        Misconfigured: It is none that may be given.

    """
    field = next(field for field in FIELDS if field["key"] == key)
    value = given.get(key, field["default"])
    if isinstance(field["default"], int):
        return reading.number(key, value)
    return reading.word(key, value, field.get("choices"))


def answers(home: Path) -> dict[str, Any]:
    """
    The answers that were saved in a home; none where none were.

    Raises:
        Misconfigured: The file holds something else.

    """
    return reading.answers(home / ANSWERS)


def save(values: Mapping[str, Any], home: Path) -> None:
    """
    Keep answers below the home, those beside them as they were.

    Raises:
        Misconfigured: One of them is none that may be given; nothing is saved then.

    """
    known = {field["key"] for field in FIELDS}
    mine = {key: checked(values, key) for key in values if key in known}
    reading.save(answers(home) | mine, home / ANSWERS)
