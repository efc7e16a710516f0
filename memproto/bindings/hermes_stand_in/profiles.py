"""Stand-in of `hermes_cli.profiles`: the name of the profile that a home belongs to."""

import importlib
from pathlib import Path
from typing import Any


def _constants() -> Any:
    return importlib.import_module("hermes_constants")


def get_active_profile_name() -> str:
    """The profile's name, "default" for the home of the user, "custom" for any other home."""
    home: Path = _constants().get_hermes_home().resolve()
    usual = (Path.home() / ".hermes").resolve()
    if home == usual:
        return "default"
    return home.name if home.parent == usual / "profiles" else "custom"


def list_profiles() -> list[Any]:
    """Profiles that were made beside the first one: none."""
    return []
