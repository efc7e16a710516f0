"""Stand-in of `utils`: files that are replaced as one, and values of variables."""

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

_TRUE = frozenset({"1", "true", "yes", "on"})


def is_truthy_value(value: Any, default: bool = False) -> bool:
    """True if a value means yes."""
    if value is None:
        return default
    return value.strip().lower() in _TRUE if isinstance(value, str) else bool(value)


def env_var_enabled(name: str, default: str = "") -> bool:
    """True if a variable means yes."""
    return is_truthy_value(os.environ.get(name, default))


def env_bool(key: str, default: bool = False) -> bool:
    """True if a variable means yes, or `default` if it is not set."""
    return is_truthy_value(os.environ.get(key), default)


def env_int(key: str, default: int = 0) -> int:
    """A variable as a whole number, else `default`."""
    try:
        return int(os.environ.get(key, default))
    except ValueError:
        return default


def env_float(key: str, default: float = 0.0) -> float:
    """A variable as a number, else `default`."""
    try:
        return float(os.environ.get(key, default))
    except ValueError:
        return default


def safe_json_loads(text: str, default: Any = None) -> Any:
    """The value of a JSON text, else `default`."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return default


def read_json_or_empty(path: str | Path) -> dict[str, Any]:
    """The object in a JSON file; {} if there is none."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def atomic_replace(tmp_path: str | Path, target: str | Path) -> str:
    """Have a file in the place of another one, behind a link if that is one."""
    place = os.path.realpath(target)
    Path(tmp_path).replace(place)
    return place


def atomic_json_write(
    path: str | Path,
    data: Any,
    *,
    indent: int = 2,
    mode: int | None = None,
    ensure_ascii: bool = False,
    fsync_dir: bool = False,
    **dump_kwargs: Any,
) -> None:
    """Write JSON so that a reader finds the old text or the new one; half a surrogate as a code."""
    place = Path(path)
    text = json.dumps(data, indent=indent, ensure_ascii=ensure_ascii, **dump_kwargs)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(data, indent=indent, ensure_ascii=True, **dump_kwargs)
    place.parent.mkdir(parents=True, exist_ok=True)
    number, new = tempfile.mkstemp(dir=place.parent, prefix=f".{place.stem}_", suffix=".tmp")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        known = place.stat().st_mode & 0o777 if place.exists() else 0o600
        Path(new).chmod(known if mode is None else mode)
        atomic_replace(new, place)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(new).unlink()
        raise
    if fsync_dir:
        _kept(place.parent)


def _kept(folder: Path) -> None:
    """Have the names in a folder outlive a loss of power, as far as the system can."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
