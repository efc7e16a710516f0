"""Stand-in of `hermes_cli.config`: the settings in config.yaml, and the credentials in .env."""

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def _constants() -> Any:
    return importlib.import_module("hermes_constants")


def _yaml() -> Any:
    # The runtime is free of other packages; the kit, which alone offers stand-ins, has this one.
    return importlib.import_module("yaml")


def get_hermes_home() -> Path:
    """The home of this context."""
    home: Path = _constants().get_hermes_home()
    return home


def get_config_path() -> Path:
    """The file of the settings."""
    return get_hermes_home() / "config.yaml"


def get_env_path() -> Path:
    """The file of the credentials."""
    return get_hermes_home() / ".env"


def ensure_hermes_home() -> None:
    """Have the home there; a host makes it when it starts."""
    get_hermes_home().mkdir(parents=True, exist_ok=True)


def load_config() -> dict[str, Any]:
    """The settings that the file names; {} for a file that is not there or cannot be read."""
    try:
        found = _yaml().safe_load(get_config_path().read_text("utf-8"))
    except (OSError, ValueError, _yaml().YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def load_config_readonly() -> dict[str, Any]:
    """As `load_config`."""
    return load_config()


def cfg_get(cfg: Mapping[str, Any] | None, *keys: str, default: Any = None) -> Any:
    """The value below `keys`, or `default`."""
    found: Any = cfg
    for key in keys:
        if not isinstance(found, Mapping) or key not in found:
            return default
        found = found[key]
    return found


def save_config(
    config: dict[str, Any],
    *,
    strip_defaults: bool = True,
    preserve_keys: object = None,
    merge_existing: bool = False,
) -> None:
    """Write the settings, with `merge_existing` into those that are there."""
    ensure_hermes_home()
    whole = _merged(load_config(), config) if merge_existing else config
    path = get_config_path()
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    new.write_text(_yaml().safe_dump(whole, sort_keys=False, allow_unicode=True), "utf-8")
    new.replace(path)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(below)
    for key, value in above.items():
        known = found.get(key)
        is_section = isinstance(known, Mapping) and isinstance(value, Mapping)
        found[key] = _merged(known, value) if is_section and known is not None else value
    return found


def get_env_value(key: str) -> str | None:
    """A variable of the process, else a line of .env."""
    return os.environ.get(key, _lines().get(key))


def get_env_value_prefer_dotenv(key: str) -> str | None:
    """A line of .env, else a variable of the process."""
    return _lines().get(key, os.environ.get(key))


def save_env_value(key: str, value: str) -> None:
    """Write a line of .env, for the process as well."""
    ensure_hermes_home()
    lines = {**_lines(), key: value}
    path = get_env_path()
    path.write_text("".join(f"{name}={text}\n" for name, text in lines.items()), "utf-8")
    path.chmod(0o600)
    os.environ[key] = value


def _lines() -> dict[str, str]:
    try:
        text = get_env_path().read_text("utf-8")
    except (OSError, ValueError):
        return {}
    pairs = [line.partition("=") for line in text.splitlines() if not line.startswith("#")]
    return {name.strip(): value.strip().strip("'\"") for name, sign, value in pairs if sign}
