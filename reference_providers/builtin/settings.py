"""The operator's settings, checked once; and the places of the files."""

import dataclasses
import hashlib
import math
import os
import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured
from memproto.reference_providers import reading

from .store import Store

#: The characters that each file holds unless the operator says otherwise.
MEMORY_CHAR_LIMIT = 2200
USER_CHAR_LIMIT = 1375

_SLUG_CHARS = 32


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """
    The settings of one session. Every key but `home` may be absent; unknown keys are ignored.

    Attributes:
        home: The directory that holds every file, absolute.
        user_id: The owner of this USER.md; None is the one user of a single-user host.
        memory_enabled: True if the target `memory` exists.
        user_profile_enabled: True if the target `user` exists.
        memory_char_limit: The most characters of MEMORY.md.
        user_char_limit: The most characters of a USER.md.
        host_takes_prompt: True if the host asks for `system_prompt_block`.
        recall_chars: Characters after which the host cuts a recall; infinity if it does not say.

    """

    home: Path
    user_id: str | None = None
    memory_enabled: bool = True
    user_profile_enabled: bool = True
    memory_char_limit: int = MEMORY_CHAR_LIMIT
    user_char_limit: int = USER_CHAR_LIMIT
    host_takes_prompt: bool = False
    recall_chars: float = math.inf

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Settings":
        """
        The settings in `config`.

        Raises:
            Misconfigured: A value has the wrong type; the message names key, fault and fix.

        """
        room = reading.room(config)
        return cls(
            home=_home(config),
            user_id=_user_id(config),
            memory_enabled=_flag(config, "memory_enabled"),
            user_profile_enabled=_flag(config, "user_profile_enabled"),
            memory_char_limit=_limit(config, "memory_char_limit", MEMORY_CHAR_LIMIT),
            user_char_limit=_limit(config, "user_char_limit", USER_CHAR_LIMIT),
            host_takes_prompt=_takes_prompt(config),
            recall_chars=math.inf if room is None else room,
        )

    def stores(self) -> dict[str, Store]:
        """The enabled targets, each with its file."""
        lock = self.home / ".lock"
        stores = {}
        if self.memory_enabled:
            stores["memory"] = Store(self.home / "MEMORY.md", lock, self.memory_char_limit)
        if self.user_profile_enabled:
            path = self.home / user_file(self.user_id)
            stores["user"] = Store(path, lock, self.user_char_limit)
        return stores


def user_file(user_id: str | None) -> str:
    """
    The file of a user, below the home: `USER.md` for no id, else one that no other id has.

    Ids are untrusted: of any length, with any character. A hash of the whole id makes the name
    unique, also where the file system ignores case; what is readable of the id goes before it.
    """
    if user_id is None:
        return "USER.md"
    digest = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()
    slug = re.sub(r"[^a-z0-9]+", "-", user_id[:_SLUG_CHARS].lower()).strip("-")
    return f"users/{slug or 'user'}-{digest}.md"


def _home(config: Mapping[str, Any]) -> Path:
    value = config.get("home")
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise _wrong("home", value, "a path", "name a directory that is this provider's own")
    try:
        home = Path(os.path.abspath(value))  # noqa: PTH100 - links stay as the operator wrote them
        reading.own_folder(home)
    except (OSError, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Misconfigured(
            f"config['home']: {reprlib.repr(value)} is no directory and cannot be made one "
            f"({reason}); fix: name a directory that this process may create or use"
        ) from error
    return home


def _user_id(config: Mapping[str, Any]) -> str | None:
    value = config.get("user_id")
    if value is None or isinstance(value, str):
        return value
    raise _wrong("user_id", value, "a str or None", "hand the id over as text")


def _flag(config: Mapping[str, Any], key: str) -> bool:
    value = config.get(key, True)
    if isinstance(value, bool):
        return value
    raise _wrong(key, value, "true or false", "set it to true or false, without quotes")


def _limit(config: Mapping[str, Any], key: str, default: int) -> int:
    value = config.get(key, default)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise _wrong(key, value, "a number of characters above 0", f"set a number such as {default}")


def _takes_prompt(config: Mapping[str, Any]) -> bool:
    hooks = reading.table(config.get("protocol")).get("hooks")
    return isinstance(hooks, list | tuple | set | frozenset) and "system_prompt_block" in hooks


def _wrong(key: str, value: object, expected: str, fix: str) -> Misconfigured:
    return Misconfigured(f"config[{key!r}]: {reprlib.repr(value)} is not {expected}; fix: {fix}")
