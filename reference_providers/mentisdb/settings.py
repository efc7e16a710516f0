"""The operator's choices, the place where they are kept, and the settings of a session."""

import contextlib
import dataclasses
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memproto.errors import Misconfigured
from memproto.reference_providers import reading

from .keys import chain_key

#: Below the home: the answers of set-up, what tells this home from others, and what waits.
ANSWERS, PROFILE, OUTBOX = "mentisdb.json", "mentisdb-profile", "mentisdb-outbox"

URL, CHAIN, TOKEN = "MENTISDB_URL", "MENTISDB_CHAIN_KEY", "MENTISDB_TOKEN"

#: The REST port of a daemon on this machine.
DEFAULT_URL = "http://127.0.0.1:9472"

#: Characters that a recall may bring if the host sets no limit.
_ROOM = 8_000

#: A longer name would not be a file's name on the daemon's side.
_LONGEST_CHAIN = 128

FIELDS: list[dict[str, Any]] = [
    {
        "key": "url",
        "description": f"Address of the daemon's REST port; {URL} goes before it",
        "default": DEFAULT_URL,
    },
    {
        "key": "chain",
        "description": f"Name of the chain, empty for one of this profile; {CHAIN} goes before it",
        "default": "",
    },
    {
        "key": "token",
        "description": "Bearer token, where the daemon asks for one",
        "secret": True,
        "env_var": TOKEN,
    },
    {
        "key": "ca_file",
        "description": "Certificate of a daemon that signs its own, for https",
        "default": "",
    },
    {
        "key": "recall_count",
        "description": "The most thoughts that are recalled for a turn",
        "default": 8,
    },
]

_VARIABLES = {"url": URL, "chain": CHAIN, "token": TOKEN}


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """
    Values that `initialize` fixed.

    Attributes:
        chain: The key of the chain, of this user alone.
        room: The most characters of a recall.
        contexts: In which contexts of an agent turns are to be stored.
        context: In which this session is.

    """

    url: str
    token: str = dataclasses.field(repr=False)
    ca_file: str
    chain: str
    recall_count: int
    room: int
    home: Path
    platform: str
    contexts: tuple[str, ...]
    context: str

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Settings":
        """
        Read the configuration of a session, the environment and the answers in its home.

        Raises:
            Misconfigured: There is no home, or a value is none that may be given.

        """
        home = reading.home(config)
        given = _given(home, reading.table(config.get("mentisdb")))
        room = reading.room(config)
        return cls(
            url=given["url"],
            token=given["token"],
            ca_file=given["ca_file"],
            chain=chain_key(
                chain=given["chain"],
                profile="" if given["chain"] else profile(home),
                identity=reading.text(config.get("agent_identity")),
                user=config.get("user_id"),
            ),
            recall_count=given["recall_count"],
            room=_ROOM if room is None else room,
            home=home.absolute(),
            platform=reading.text(config.get("platform")) or "",
            contexts=reading.contexts(config),
            context=reading.context(config),
        )


def _given(home: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Each setting: the host's, else the environment's, else the saved one, else its default."""
    given = {**answers(home), **environment(), **table}
    return {field["key"]: checked(given, field["key"]) for field in FIELDS}


def environment() -> dict[str, str]:
    """Values of variables; one that is empty says nothing."""
    found = {key: os.environ.get(variable, "") for key, variable in _VARIABLES.items()}
    return {key: value for key, value in found.items() if value}


def checked(given: Mapping[str, Any], key: str) -> Any:
    """
    One answer, or its default.

    Raises:
        Misconfigured: It is none that may be given.

    """
    field = next(field for field in FIELDS if field["key"] == key)
    value = given.get(key, field.get("default", ""))
    if key == "recall_count":
        return reading.number(key, value, most=50)
    if not isinstance(value, str):
        raise Misconfigured(f"{key} is {type(value).__name__}, and not a text")
    return _CHECKS[key](value.strip())


def _url(value: str) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(value)
        is_one = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if is_one and not parts.query and not parts.fragment and parts.username is None:
            return value.rstrip("/")
    # Not shown: what was meant for another setting may stand there.
    raise Misconfigured(f"url is no address such as {DEFAULT_URL}; set {URL} or run set-up again")


def _chain(value: str) -> str:
    if len(value) > _LONGEST_CHAIN or not value.isprintable():
        raise Misconfigured(f"chain is longer than {_LONGEST_CHAIN} characters, or cannot be shown")
    return value


def _token(value: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise Misconfigured(f"token cannot stand in a header: set {TOKEN} again")
    return value


def _ca_file(value: str) -> str:
    if value and ("\0" in value or not Path(value).expanduser().is_file()):
        raise Misconfigured("ca_file names no file: set it to the daemon's certificate")
    return str(Path(value).expanduser().absolute()) if value else ""


_CHECKS = {"url": _url, "chain": _chain, "token": _token, "ca_file": _ca_file}


def profile(home: Path) -> str:
    """
    Mark that tells this home from every other one, on any machine: made once, and kept in it.

    If nothing can be kept it is the path, as long as nothing can be.
    """
    with contextlib.suppress(OSError, UnicodeError):
        if found := reading.drawn(home / PROFILE, uuid.uuid4().hex):
            return found
    return str(home.absolute())


def answers(home: Path) -> dict[str, Any]:
    """
    The answers that were saved in a home; none where none were.

    Raises:
        Misconfigured: The file holds something else.

    """
    return reading.answers(home / ANSWERS, "run set-up again")


def save(values: Mapping[str, Any], home: Path) -> None:
    """
    Keep answers below the home, those beside them as they were; a secret is left out.

    Raises:
        Misconfigured: One of them is none that may be given; nothing is saved then.

    """
    open_ones = {field["key"] for field in FIELDS if not field.get("secret")}
    mine = {key: checked(values, key) for key in values if key in open_ones}
    reading.save(answers(home) | mine, home / ANSWERS)
