"""The operator's choices, the place where they are kept, and the settings of a session."""

import dataclasses
import json
import shlex
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured
from memproto.reference_providers import reading

from . import templates
from .templates import digest

#: Below the home: the answers of set-up, who this profile is, and the tools that were seen last.
ANSWERS, PROFILE, TOOLS = "mcp.json", "mcp-profile", "mcp-tools.json"

_SHOWN: tuple[tuple[str, str, Any], ...] = (
    ("url", "Address of a server that speaks streamable HTTP; or give command", ""),
    ("command", "Command that starts a server that speaks over its standard streams", ""),
    ("search_tool", "Name of the server's tool that searches", "search_memory"),
    ("search_arguments", "Its arguments, as JSON with places such as {query}", ""),
    ("store_tool", "Name of the server's tool that stores", "add_memory"),
    ("store_arguments", "Its arguments, as JSON with places such as {text}", ""),
    ("expose", "Further tools of the server that the model may call, with commas between", ""),
    ("found", "Place of texts in the search tool's answer, as results.content", ""),
    ("search_by", "Text to search for: the message, or each of its telling words", "message"),
    ("look_up", "Text to look up a write without an answer by, as {id}; empty for its own", ""),
    ("retention", "Form in which the server keeps texts; verbatim if as they are", "verbatim"),
    ("freshness_s", "Seconds after which the server finds what it took", 0),
    ("recall_count", "The most texts that are recalled for a turn", 8),
    ("start_s", "Seconds that the server may take to start", 10),
)

_CHOICES = {
    "search_by": ["message", "words"],
    "retention": ["verbatim", "derived", "selective"],
}

FIELDS: list[dict[str, Any]] = [
    {"key": key, "description": told, "default": default}
    | ({"choices": _CHOICES[key]} if key in _CHOICES else {})
    for key, told, default in _SHOWN
]

#: Tables that are written into the file by hand; set-up does not ask for them.
TABLES = ("env", "headers")

_ARGUMENTS = {
    "search_arguments": {"query": "{query}"},
    "store_arguments": {"content": "{text}"},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """
    Values that `initialize` fixed.

    Attributes:
        home: The provider's own directory.
        url: The address on which the server listens; "" if it is started by `command`.
        command: The words that start it, with their places filled.
        env: Variables in its environment beside a few harmless ones.
        headers: Headers that each request carries.
        search: The arguments of the search tool, a template; so `store`.
        owner: Profile and user in a form that no two share, and that any server takes.
        isolates: The boundaries that the templates keep.
        room: The most characters of a recall, or None.
        contexts: In which contexts of an agent turns are to be stored.
        context: In which this session is.

    """

    home: Path
    url: str
    command: tuple[str, ...]
    env: Mapping[str, str] = dataclasses.field(repr=False)
    headers: Mapping[str, str] = dataclasses.field(repr=False)
    search_tool: str
    search: Mapping[str, Any]
    store_tool: str
    store: Mapping[str, Any]
    expose: tuple[str, ...]
    found: str
    by_words: bool
    look_up: str
    retention: str
    freshness_s: float
    recall_count: int
    start_s: float
    user: str
    owner: str
    isolates: tuple[str, ...]
    room: int | None
    contexts: tuple[str, ...]
    context: str

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Settings":
        """
        Read the configuration of a session, and the answers in its home.

        Raises:
            Misconfigured: There is no home, no server is named, or an answer is none of those that
                may be given.

        """
        home = reading.home(config).absolute()
        given = answers(home) | reading.table(config.get("mcp"))
        chosen = {field["key"]: checked(given, field["key"]) for field in FIELDS}
        tables = {key: checked_table(given, key) for key in TABLES}
        if bool(chosen["url"]) == bool(chosen["command"]):
            fault = "both url and command" if chosen["url"] else "neither url nor command"
            raise Misconfigured(f"mcp has {fault}; name one server, by its address or its command")
        owner = (profile(home), config.get("user_id"))
        return cls(
            home=home,
            user=templates.identifier(config.get("user_id")),
            owner=digest(*owner),
            **_server(chosen, tables, home, config.get("user_id"), digest(*owner)),
            **_tools(chosen),
            isolates=_isolates(chosen, tables),
            room=reading.room(config),
            contexts=reading.contexts(config),
            context=reading.context(config),
        )


def _server(
    chosen: Mapping[str, Any], tables: Mapping[str, Any], home: Path, user: Any, owner: str
) -> dict[str, Any]:
    places = {"home": str(home), "user": templates.identifier(user), "owner": owner}
    words = chosen["command"]
    words = shlex.split(words) if isinstance(words, str) else words
    return {
        "url": chosen["url"],
        "command": tuple(templates.filled(words, places)),
        "env": templates.with_secrets(templates.filled(tables["env"], places), "env"),
        "headers": templates.with_secrets(tables["headers"], "headers"),
        "start_s": float(chosen["start_s"]),
    }


def _tools(chosen: Mapping[str, Any]) -> dict[str, Any]:
    names = chosen["expose"]
    names = names.split(",") if isinstance(names, str) else names
    same = ("search_tool", "store_tool", "found", "look_up", "retention", "recall_count")
    return {
        **{key: chosen[key] for key in same},
        "search": chosen["search_arguments"],
        "store": chosen["store_arguments"],
        "expose": tuple(name.strip() for name in names if name.strip()),
        "by_words": chosen["search_by"] == "words",
        "freshness_s": float(chosen["freshness_s"]),
    }


def _isolates(chosen: Mapping[str, Any], tables: Mapping[str, Any]) -> tuple[str, ...]:
    """Boundaries that a server of one's own, or an argument of both tools, keeps."""
    launch = json.dumps([chosen["command"], tables["env"]])
    both = [json.dumps(chosen[key]) for key in ("search_arguments", "store_arguments")]

    def held(*places: str) -> bool:
        return any(
            place in launch or all(place in arguments for arguments in both) for place in places
        )

    kept = {"profile": held("{home}", "{owner}"), "user": held("{user}", "{owner}")}
    return tuple(name for name, is_kept in kept.items() if is_kept)


def profile(home: Path) -> str:
    """Id of this profile, wherever its directory moves: a name that its first session drew."""
    path = home / PROFILE
    try:
        reading.own_folder(home)
        return reading.drawn(path, uuid.uuid4().hex)
    except (OSError, UnicodeError) as error:
        raise Misconfigured(f"{path} cannot be used: {error}") from error


# -- answers ---------------------------------------------------------------------------------------


def checked(given: Mapping[str, Any], key: str) -> Any:
    """
    One answer, or its default.

    Raises:
        Misconfigured: It is none that may be given.

    """
    field = next(field for field in FIELDS if field["key"] == key)
    value = given.get(key, field["default"])
    if key in _ARGUMENTS:
        return templates.arguments(key, value) if value else dict(_ARGUMENTS[key])
    if key in ("command", "expose") and isinstance(value, (list, tuple)):
        if all(isinstance(word, str) and "\0" not in word for word in value):
            return list(value)
        raise Misconfigured(f"{key} holds something that is no text")
    if isinstance(field["default"], int):
        return reading.number(key, value, least=1 if field["default"] else 0, most=3600)
    return _word(key, reading.word(key, value, field.get("choices")))


def _word(key: str, value: str) -> str:
    if key.endswith("_tool") and not value.strip():
        raise Misconfigured(f"{key} is empty; it names a tool of the server")
    if key == "url" and value and not value.startswith(("http://", "https://")):
        raise Misconfigured(f"url is {value!r}, and does not begin with http:// or https://")
    if key == "command":
        _split(value)
    return value


def _split(words: str) -> None:
    try:
        shlex.split(words)
    except ValueError as error:
        raise Misconfigured(f"command cannot be read: {error}") from None


def checked_table(given: Mapping[str, Any], key: str) -> dict[str, str]:
    """
    A table of texts, or an empty one.

    Raises:
        Misconfigured: It is something else.

    """
    value = given.get(key, {})
    if not isinstance(value, Mapping) or not all(
        isinstance(part, str) for pair in value.items() for part in pair
    ):
        raise Misconfigured(f"{key} is no table of texts")
    return dict(value)


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
    mine |= {key: checked_table(values, key) for key in TABLES if key in values}
    reading.save(answers(home) | mine, home / ANSWERS)
