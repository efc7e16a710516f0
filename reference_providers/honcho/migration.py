"""The files of a bounded memory, for a session that is empty: they go along to the server."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .places import Place, is_of_one
from .settings import Settings

#: Speaker of each file: what the user said, what the agent noted, what the agent is.
_FILES = {"MEMORY.md": "user", "USER.md": "user", "SOUL.md": "ai"}

_HEAD = (
    "<prior_memory_file name={!r}>\nWhat was known before Honcho was set up.\n\n{}\n"
    "</prior_memory_file>"
)


def texts(
    settings: Settings, config: Mapping[str, Any], place: Place
) -> list[tuple[str, str, str | None]]:
    """
    Peer and text of each file; none where each run has a session of its own.

    The files are those of a host with one user: another one's session gets none of them.
    """
    if settings.strategy == "per-session" or not settings.saves:
        return []
    if not is_of_one(settings, config):
        return []
    found: list[tuple[str, str, str | None]] = []
    for name, who in _FILES.items():
        content = _content(config, name)
        if content:
            found.append((getattr(place, who), _HEAD.format(name, content), None))
    return found


def _content(config: Mapping[str, Any], name: str) -> str:
    for directory in _directories(config):
        with contextlib.suppress(OSError, ValueError):
            content = (directory / name).read_text("utf-8").strip()
            if content:
                return content
    return ""


def _directories(config: Mapping[str, Any]) -> Iterator[Path]:
    for key in ("host_home", "hermes_home", "home"):
        place = config.get(key)
        if isinstance(place, str) and place:
            yield Path(place) / "memories"
            yield Path(place)
