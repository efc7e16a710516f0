"""The operator's settings, checked once; keys and values are those of honcho.json."""

import dataclasses
import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured
from memproto.reference_providers import reading

from . import finding
from .values import (
    LEVELS,
    Observation,
    choice,
    count,
    flag,
    flags_of,
    levels,
    modes,
    text,
    texts,
)

FIELDS: list[dict[str, Any]] = [
    {
        "key": "baseUrl",
        "description": "Address of the Honcho server, such as http://localhost:8000",
        "required": True,
        "env_var": "HONCHO_URL",
    },
    {
        "key": "apiKey",
        "description": "Key for the server; a local one needs none",
        "secret": True,
        "env_var": "HONCHO_API_KEY",
    },
    {
        "key": "workspace",
        "description": "Workspace on the server; empty for one of this profile's own",
        "default": "",
    },
    {"key": "peerName", "description": "Your name on the server", "default": ""},
    {"key": "aiPeer", "description": "The assistant's name on the server", "default": ""},
    {
        "key": "recallMode",
        "description": "Way in which memory reaches the model: with messages, by tools, or both",
        "choices": ["hybrid", "context", "tools"],
        "default": "hybrid",
    },
    {
        "key": "sessionStrategy",
        "description": "The unit that has a session of its own on the server",
        "choices": ["per-directory", "per-repo", "per-session", "global"],
        "default": "per-directory",
    },
    {
        "key": "writeFrequency",
        "description": "When turns are sent: async, turn, session, or a number of turns",
        "default": "async",
    },
    {
        "key": "observationMode",
        "description": "Directions in which user and assistant learn about each other",
        "choices": ["directional", "unified"],
        "default": "directional",
    },
    {
        "key": "memoryMode",
        "description": "Keep the memory files beside Honcho or leave them out",
        "choices": ["hybrid", "honcho"],
        "default": "hybrid",
    },
]

#: More than this for one question is as good as no bound.
_LONGEST_S = 3600

_RECALL = {"hybrid": "hybrid", "context": "context", "tools": "tools", "auto": "hybrid"}
_STRATEGIES = ("per-directory", "per-repo", "per-session", "global")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """
    The joint settings of honcho.json, the environment and the host's config.

    Attributes:
        url: The server, without a slash or a version at its end.
        key: The credential; "local" where none is set, which a server without keys passes over.
        workspace: As the operator named it, or "".
        every: After how many turns they are sent; 0 for `async`, None at the end of the session.
        memory_modes: For `user` and `memory`: `hybrid` or `honcho`.
        levels: For each pass of a dialectic its level; empty for the usual ones.

    """

    url: str
    key: str
    workspace: str
    is_enabled: bool
    peer_name: str
    ai_peer: str
    pins_user: bool
    aliases: Mapping[str, str]
    runtime_prefix: str
    recall_mode: str
    eager: bool
    strategy: str
    sessions: Mapping[str, str]
    prefixes_peer: bool
    every: int | None
    saves: bool
    observation: Observation
    memory_modes: Mapping[str, str]
    context_tokens: int | None
    context_cadence: int
    first_turn_only: bool
    dialectic_cadence: int
    depth: int
    levels: tuple[str, ...]
    level: str
    is_dynamic: bool
    level_cap: str
    dialectic_chars: int
    message_chars: int
    query_chars: int
    timeout_s: float

    @property
    def has_tools(self) -> bool:
        """True if the model is offered the tools."""
        return self.recall_mode != "context"

    @property
    def injects(self) -> bool:
        """True if memory comes with the messages."""
        return self.recall_mode != "tools"

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Settings":
        """
        The settings in a table.

        Raises:
            Misconfigured: A value is wrong; the message names key, fault and fix.

        """
        url = finding.address(raw)
        key = text(raw, "apiKey")
        if finding.is_cloud(url) and not key:
            raise Misconfigured(f"{url} wants a key; fix: set HONCHO_API_KEY, or apiKey")
        names = _names(raw)
        return cls(
            url=url,
            key=key or "local",
            **names,
            **_sessions(raw),
            **_context(raw),
            **_dialectic(raw),
            is_enabled=flag(raw, "enabled", True),
            memory_modes=modes(raw.get("memoryMode"), names["peer_name"], names["ai_peer"]),
            timeout_s=float(min(count(raw, "timeout", 30), _LONGEST_S)),
        )


def _names(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "workspace": text(raw, "workspace"),
        "peer_name": text(raw, "peerName"),
        "ai_peer": text(raw, "aiPeer"),
        "pins_user": flag(raw, "pinPeerName", False) or flag(raw, "pinUserPeer", False),
        "aliases": texts(raw, "userPeerAliases"),
        "runtime_prefix": text(raw, "runtimePeerPrefix"),
    }


def _sessions(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "strategy": choice(raw, "sessionStrategy", _STRATEGIES),
        "sessions": texts(raw, "sessions"),
        "prefixes_peer": flag(raw, "sessionPeerPrefix", False),
        "every": _every(raw.get("writeFrequency", "async")),
        "saves": flag(raw, "saveMessages", True),
        "observation": flags_of(raw),
    }


def _context(raw: Mapping[str, Any]) -> dict[str, Any]:
    mode = raw.get("recallMode", "hybrid")
    return {
        "recall_mode": _RECALL.get(mode, "hybrid") if isinstance(mode, str) else "hybrid",
        "eager": flag(raw, "initOnSessionStart", False),
        "context_tokens": count(raw, "contextTokens", None),
        "context_cadence": count(raw, "contextCadence", 1),
        "first_turn_only": raw.get("injectionFrequency") == "first-turn",
        "message_chars": min(count(raw, "messageMaxChars", 25_000), 25_000),
    }


def _dialectic(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "dialectic_cadence": count(raw, "dialecticCadence", 1),
        "depth": min(count(raw, "dialecticDepth", 1), 3),
        "levels": levels(raw.get("dialecticDepthLevels")),
        "level": choice(raw, "dialecticReasoningLevel", LEVELS, "low"),
        "is_dynamic": flag(raw, "dialecticDynamic", True),
        "level_cap": choice(raw, "reasoningLevelCap", LEVELS, "high"),
        "dialectic_chars": count(raw, "dialecticMaxChars", 600),
        "query_chars": min(count(raw, "dialecticMaxInputChars", 10_000), 10_000),
    }


def _every(value: Any) -> int | None:
    if value in ("async", "turn", "session"):
        return {"async": 0, "turn": 1, "session": None}[value]
    number = value if isinstance(value, str) else reprlib.repr(value)
    if not re.fullmatch("0*[1-9][0-9]{0,8}", number):
        fix = "set async, turn, session, or a number of turns"
        raise Misconfigured(f"writeFrequency is {reprlib.repr(value)}; fix: {fix}")
    return int(number)


# -- the answers of set-up -------------------------------------------------------------------------


def save(values: Mapping[str, Any], home: Path) -> None:
    """
    Keep answers in the home's honcho.json, what else stands there as it was; never a secret.

    Raises:
        Misconfigured: One of them may not be given; nothing is saved then.

    """
    known = {field["key"] for field in FIELDS if not field.get("secret")}
    mine = {key: value for key, value in values.items() if key in known}
    path = home / finding.FILE
    kept = finding.table(path if path.is_file() else None) | mine
    # A value that is lacking still, an address among them, is asked for where a session starts.
    Settings.of({"baseUrl": "http://localhost", **{k: v for k, v in kept.items() if v != ""}})
    reading.save(kept, path)


def gather(config: Mapping[str, Any], *homes: Path) -> dict[str, Any]:
    """
    Everything that is set for a session: its config before the file before the environment.

    Raises:
        Misconfigured: The file cannot be read.

    """
    hosts = _hosts(config)
    held = {k: v for k, v in finding.table(finding.found(*homes)).items() if v != ""}
    given = {k: v for k, v in reading.table(config.get("honcho")).items() if v is not None}
    return finding.with_environment({**finding.for_host(held, hosts), **given})


def _hosts(config: Mapping[str, Any]) -> list[str]:
    name = reading.table(config.get("protocol")).get("host") or "hermes"
    identity = config.get("agent_identity")
    named = [f"{name}.{identity}"] if isinstance(identity, str) else []
    return [*named, str(name), "hermes"]
