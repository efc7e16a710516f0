"""Stand-in of `hermes_constants`: where the home of the profile is."""

import os
from contextvars import ContextVar, Token
from pathlib import Path

_override: ContextVar[str] = ContextVar("hermes_home_override", default="")


def set_hermes_home_override(path: str | Path | None) -> Token[str]:
    """Have another home in this context; None for the one of the process."""
    return _override.set("" if path is None else str(path))


def reset_hermes_home_override(token: Token[str]) -> None:
    """Have the home that was there before `token` was given."""
    _override.reset(token)


def get_hermes_home_override() -> str | None:
    """The other home of this context, if there is one."""
    return _override.get() or None


def get_process_hermes_home() -> Path:
    """The home that the environment names."""
    named = os.environ.get("HERMES_HOME", "").strip()
    return Path(named) if named else Path.home() / ".hermes"


def get_hermes_home() -> Path:
    """The home of this context, else that of the process."""
    return Path(_override.get() or get_process_hermes_home())


def get_default_hermes_root() -> Path:
    """The directory that holds the profiles, or the home where it is none of them."""
    home = get_process_hermes_home()
    return home.parent.parent if home.parent.name == "profiles" else home


def hermes_home_key(path: str | Path | None = None) -> str:
    """A text that is the same for each way of writing one home."""
    home = get_hermes_home() if path is None else Path(path)
    return os.path.normcase(home.expanduser().resolve())


def display_hermes_home() -> str:
    """The home, as a reader knows it."""
    home = get_hermes_home()
    return f"~/{home.relative_to(Path.home())}" if home.is_relative_to(Path.home()) else str(home)


def get_config_path() -> Path:
    """The file of the settings."""
    return get_hermes_home() / "config.yaml"


def get_env_path() -> Path:
    """The file of the credentials."""
    return get_hermes_home() / ".env"


def get_skills_dir() -> Path:
    """The directory of the skills."""
    return get_hermes_home() / "skills"
