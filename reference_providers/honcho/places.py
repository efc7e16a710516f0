"""Subjects and place of a session: the peers, the session and the workspace."""

import contextlib
import dataclasses
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured
from memproto.reference_providers import reading

from . import names
from .settings import Settings

#: The user of a host that names none; and how such a one of a chat is called.
NOBODY = "user"

#: Below the home: the workspace that is this profile's own.
WORKSPACE = "honcho-workspace"


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """
    The place on the server to which a session's texts go.

    Attributes:
        workspace: The workspace on the server.
        session: The session on the server.
        user: The peer of the user.
        ai: The peer of the assistant; one for each user where the host names users.

    """

    workspace: str
    session: str
    user: str
    ai: str


def of(settings: Settings, config: Mapping[str, Any], session_key: str, workspace: str) -> Place:
    """The place of a session."""
    ai = settings.ai_peer or ("hermes" if _is_hermes(config) else "assistant")
    user = _user(settings, config, ai)
    name = _session(settings, config, session_key, workspace)
    if is_of_one(settings, config):
        return Place(workspace, names.safe(name), user, names.safe(ai))
    # Several users may share a chat, a directory or a title; their memory is not shared.
    whole = f"{name}\0{user}"
    return Place(workspace, names.hashed(name, whole), user, names.hashed(ai, f"{ai}\0{user}"))


def _is_hermes(config: Mapping[str, Any]) -> bool:
    """True if the host is the one whose integration this provider follows: its usual names hold."""
    return bool(reading.table(config.get("protocol")).get("host") == "hermes")


def is_of_one(settings: Settings, config: Mapping[str, Any]) -> bool:
    """True if the memory is that of one person, as far as the host and the operator say."""
    return settings.pins_user or config.get("user_id") is None


def _user(settings: Settings, config: Mapping[str, Any], ai: str) -> str:
    user_id = config.get("user_id")
    own = settings.peer_name or NOBODY
    if settings.pins_user:
        return names.safe(own, {ai})
    if user_id is not None:
        return _named(settings, str(user_id), ai)
    key = _gateway_key(config)
    if settings.peer_name or not key:
        return names.safe(own, {ai})
    return _of_chat(key, ai)


def _of_chat(key: str, ai: str) -> str:
    """The peer of a chat; with a hash of the key where another one could have the same name."""
    channel, colon, chat = key.rpartition(":")
    name = f"{NOBODY}-{channel or 'default'}-{chat}"
    if "-" in channel or (colon and channel in ("", "default")):
        return names.hashed(name, f"{NOBODY}\0{key}")
    return names.safe(name, {ai})


def _named(settings: Settings, user_id: str, ai: str) -> str:
    """The peer of a user id, which nobody else has unless the operator made them one."""
    if user_id in settings.aliases:
        return names.safe(settings.aliases[user_id], {ai})
    name = settings.runtime_prefix + user_id
    taken = {ai, settings.peer_name, *settings.aliases.values()}
    if name == NOBODY or name.startswith(f"{NOBODY}-"):
        taken.add(name)
    return names.safe(name, taken)


def _gateway_key(config: Mapping[str, Any]) -> str:
    value = config.get("gateway_session_key")
    return value if isinstance(value, str) else ""


def _session(
    settings: Settings, config: Mapping[str, Any], session_key: str, workspace: str
) -> str:
    """The name of the session: of the chat, the run, the directory as mapped, its title, or so."""
    if key := _gateway_key(config):
        return key
    if settings.strategy == "per-session":
        return _prefixed(settings, session_key)
    directory = _directory(config)
    if mapped := settings.sessions.get(str(directory)):
        return mapped
    title = config.get("session_title")
    if isinstance(title, str) and title.strip():
        return _prefixed(settings, title.strip())
    if settings.strategy == "global":
        return workspace
    if settings.strategy == "per-repo":
        directory = _repository(directory)
    return _prefixed(settings, directory.name or "default")


def _prefixed(settings: Settings, name: str) -> str:
    return f"{settings.peer_name}-{name}" if settings.prefixes_peer and settings.peer_name else name


def _directory(config: Mapping[str, Any]) -> Path:
    given = config.get("cwd") or os.environ.get("TERMINAL_CWD")
    if isinstance(given, str):
        return Path(given)
    try:
        return Path.cwd()
    except OSError:
        return Path("/")


def _repository(directory: Path) -> Path:
    with contextlib.suppress(OSError):
        for place in (directory, *directory.parents):
            if (place / ".git").exists():
                return place
    return directory


# -- the workspace ---------------------------------------------------------------------------------


def workspace(settings: Settings, config: Mapping[str, Any], home: Path) -> str:
    """
    The operator's workspace, or Hermes' usual one under Hermes, or the home's own.

    Raises:
        Misconfigured: The home's cannot be read, or kept.

    """
    if settings.workspace:
        return names.safe(settings.workspace)
    if _is_hermes(config):
        identity = config.get("agent_identity")
        return names.safe("hermes" if identity in (None, "", "default") else f"hermes.{identity}")
    return _own(home)


def _own(home: Path) -> str:
    path = home / WORKSPACE
    try:
        reading.own_folder(path.parent)
        name = reading.drawn(path, f"memproto-{uuid.uuid4().hex[:24]}\n")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        fix = "make it readable, or set workspace in honcho.json"
        raise Misconfigured(f"{path}: {reason}; fix: {fix}") from None
    if not name or names.safe(name) != name:
        fix = "restore it, or set workspace in honcho.json"
        raise Misconfigured(f"{path} holds no name of a workspace; fix: {fix}")
    return name
