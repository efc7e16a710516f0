"""Releases of hermes-agent, and the calls in which they differ."""

import dataclasses
import re
from collections.abc import Mapping
from types import MappingProxyType


@dataclasses.dataclass(frozen=True)
class Release:
    """
    The calls of one release of the host to a provider.

    Attributes:
        name: Its first two numbers.
        since: The first two numbers of the earliest release that makes the same calls, if that is
            another one.
        hooks: The hooks that its base class has.
        hands_messages: True if `sync_turn` gets the messages of the turn.
        mirrors_removals: True if `on_memory_write` is told of removals, and of replaced texts.
        names_authors: True if the hooks of a turn are told who wrote it.
        has_checkpoints: True if `on_pre_compress` may be a checkpoint.
        forwards_registrations: True if the loader of memory plugins hands on whatever else
            `register(ctx)` registers.

    """

    name: str
    hooks: tuple[str, ...]
    since: str = ""
    hands_messages: bool = True
    mirrors_removals: bool = True
    names_authors: bool = True
    has_checkpoints: bool = True
    forwards_registrations: bool = True


_FIRST = (
    *("name", "is_available", "initialize", "system_prompt_block", "get_tool_schemas"),
    *("handle_tool_call", "on_turn_start", "prefetch", "sync_turn", "queue_prefetch"),
    *("on_memory_write", "on_delegation", "on_pre_compress", "on_session_switch"),
    *("on_session_end", "get_config_schema", "save_config", "shutdown"),
)

_SECOND = (*_FIRST, "backup_paths")

_THIRD = (*_SECOND, "recall_status", "unavailable_reason", "identity_signature")

#: Name to release, from the oldest to the newest.
RELEASES: Mapping[str, Release] = MappingProxyType(
    {
        release.name: release
        for release in (
            Release(
                "0.13",
                _FIRST,
                hands_messages=False,
                mirrors_removals=False,
                names_authors=False,
                has_checkpoints=False,
                forwards_registrations=False,
            ),
            Release(
                "0.19",
                _SECOND,
                since="0.18",
                names_authors=False,
                has_checkpoints=False,
                forwards_registrations=False,
            ),
            Release("0.21", _THIRD),
        )
    }
)

NEWEST = list(RELEASES)[-1]


def nearest(version: str) -> str:
    """The newest known release whose calls `version` makes already, else the oldest one."""
    wanted = _numbers(version)
    older = [name for name, made in RELEASES.items() if _numbers(made.since or name) <= wanted]
    return older[-1] if older else next(iter(RELEASES))


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)[:2]]
