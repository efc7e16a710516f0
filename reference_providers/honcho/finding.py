"""The place of honcho.json, and the part of it that holds for a host, as the integration has it."""

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memproto.errors import Misconfigured

FILE = "honcho.json"

#: The servers that have a name of their own.
ENVIRONMENTS = {"local": "http://localhost:8000", "production": "https://api.honcho.dev"}

_VARIABLES = {
    "baseUrl": ("HONCHO_URL", "HONCHO_BASE_URL"),
    "apiKey": ("HONCHO_API_KEY",),
    "workspace": ("HONCHO_WORKSPACE_ID",),
    "environment": ("HONCHO_ENVIRONMENT",),
}
_VERSION = re.compile(r"(/v\d+)?/*$")


def files(*homes: Path) -> list[Path]:
    """The files that may hold settings, the one that counts first."""
    named = os.environ.get("HERMES_HOME")
    homes = (*homes, *([Path(named)] if named else []))
    places = [home / FILE for home in homes]
    try:
        user = Path.home()
    except RuntimeError:
        return places
    return [*places, user / ".hermes" / FILE, user / ".honcho" / "config.json"]


def found(*homes: Path) -> Path | None:
    """The first of them that exists."""
    return next((path for path in files(*homes) if _is_there(path)), None)


def _is_there(path: Path) -> bool:
    with contextlib.suppress(OSError):  # A directory that nobody may look into has none for us.
        return path.is_file()
    return False


def table(path: Path | None) -> dict[str, Any]:
    """
    The content of a file; nothing if there is none.

    Raises:
        Misconfigured: It cannot be read, or holds something else than an object.

    """
    if path is None:
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Misconfigured(
            f"{path} cannot be read ({error.strerror}); fix: make it readable"
        ) from None
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        place = f" at line {line}" if line else ""
        fix = "repair it, or remove it and run the set-up again"
        raise Misconfigured(f"{path} is no JSON{place}; fix: {fix}") from None
    if not isinstance(content, dict):
        raise Misconfigured(f"{path} holds {type(content).__name__}, and not an object")
    return content


def for_host(content: Mapping[str, Any], hosts: list[str]) -> dict[str, Any]:
    """The settings with those of the host's own block on top."""
    blocks = content.get("hosts")
    if not isinstance(blocks, Mapping):
        return dict(content)
    for name in hosts:
        if isinstance(blocks.get(name), Mapping):
            return {**content, **blocks[name], "x_block": name}
    return dict(content)


def with_environment(content: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with what only the environment says."""
    merged = dict(content)
    for key, names in _VARIABLES.items():
        value = next((os.environ[name] for name in names if os.environ.get(name)), None)
        if value is not None and not merged.get(key):
            merged[key] = value
    return merged


def address(content: Mapping[str, Any]) -> str:
    """
    The address of the server.

    Raises:
        Misconfigured: None is named, or it is no address; there is no default.

    """
    given = content.get("baseUrl") or content.get("base_url")
    place = content.get("environment")
    if not given and place:
        if not isinstance(place, str) or place not in ENVIRONMENTS:
            fix = "correct it, or set baseUrl"
            told = f"environment is {place!r}, and not one of local, production"
            raise Misconfigured(f"{told}; fix: {fix}")
        given = ENVIRONMENTS[place]
    if not given:
        fix = "set HONCHO_URL, or baseUrl in honcho.json"
        raise Misconfigured(f"no Honcho server is named; fix: {fix}")
    return _checked(given)


def _checked(given: Any) -> str:
    fix = "name it as in http://localhost:8000"
    if not isinstance(given, str):
        raise Misconfigured(f"baseUrl is {type(given).__name__}, and not a text; fix: {fix}")
    try:
        parts = urlsplit(given.strip())
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise Misconfigured(f"baseUrl is no address of a server; fix: {fix}")
    if parts.username or parts.password:
        raise Misconfigured("baseUrl holds a credential; fix: move it into apiKey")
    return _VERSION.sub("", given.strip())


def is_cloud(url: str) -> bool:
    """True if the server is the vendor's, which wants a key."""
    host = urlsplit(url).hostname or ""
    return host == "honcho.dev" or host.endswith(".honcho.dev")
