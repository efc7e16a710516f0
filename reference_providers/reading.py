"""
Reading of settings by providers: a session's configuration, and answers of set-up in a file.

A value that cannot be read is `Misconfigured`, with the key or the file and its fault.
"""

import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured

#: Contexts in which turns are stored if the host does not say in which it wants that.
_CONTEXTS = ("primary",)

#: A number of more digits than this is none that anybody means, and too long a one is no int.
_MOST_DIGITS = 9


# -- the configuration of a session ----------------------------------------------------------------


def home(config: Mapping[str, Any]) -> Path:
    """
    The provider's own directory, as the host names it.

    Raises:
        Misconfigured: There is none.

    """
    named = config.get("home")
    if not isinstance(named, (str, os.PathLike)) or not str(named):
        raise Misconfigured("config lacks home, the directory of this provider")
    return Path(named)


def room(config: Mapping[str, Any]) -> int | None:
    """The most characters of a recall; None where the host sets no limit."""
    most = table(config.get("limits")).get("recall_chars")
    return most if isinstance(most, int) and not isinstance(most, bool) else None


def contexts(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Contexts of an agent in which turns are to be stored."""
    return tuple(table(config.get("protocol")).get("contexts", _CONTEXTS))


def context(config: Mapping[str, Any]) -> str:
    """The context of an agent in which the session is."""
    return config.get("agent_context") or "primary"


def table(value: Any) -> dict[str, Any]:
    """A table, or an empty one."""
    return dict(value) if isinstance(value, Mapping) else {}


def text(value: Any) -> str | None:
    """A text that says something, or None."""
    return value if isinstance(value, str) and value else None


# -- one answer ------------------------------------------------------------------------------------


def word(key: str, value: Any, choices: list[str] | None = None) -> str:
    """
    A text that can be a path, and is one of the choices where there are any.

    Raises:
        Misconfigured: It is something else.

    """
    if not isinstance(value, str) or "\0" in value:
        raise Misconfigured(f"{key} is {type(value).__name__}, and not a text")
    if choices is not None and value not in choices:
        raise Misconfigured(f"{key} is {value!r}, and not one of {', '.join(choices)}")
    return value


def number(key: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """
    A number, which may be written as a text.

    Raises:
        Misconfigured: It is none, or outside the bounds.

    """
    digits = str(value)
    is_one = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
    if isinstance(value, bool) or not is_one or not _is_within(int(digits), least, most):
        bound = "on" if most is None else f"to {most}"
        raise Misconfigured(f"{key} is {value!r}, and not a number from {least} {bound}")
    return int(digits)


def _is_within(found: int, least: int, most: int | None) -> bool:
    return found >= least and (most is None or found <= most)


# -- files below the home --------------------------------------------------------------------------


def answers(path: Path, advice: str = "") -> dict[str, Any]:
    """
    The answers that were saved in a file; none where there is no file.

    Raises:
        Misconfigured: It cannot be read, which ends with the advice, or holds something else.

    """
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Misconfigured(f"{path} cannot be read{_because(error, advice)}") from error
    if not isinstance(found, dict):
        raise Misconfigured(f"{path} holds {type(found).__name__}, and not an object")
    return found


def _because(error: Exception, advice: str) -> str:
    return f" ({error}): {advice}" if advice else f": {error}"


def own_folder(path: Path) -> None:
    """Make a directory, and those that are missing above it, for their owner alone."""
    if not path.is_dir():
        if path.parent != path:
            own_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def save(content: Mapping[str, Any], path: Path) -> None:
    """Keep answers in a file that nobody else may read; it is whole, or as it was."""
    own_folder(path.parent)
    with _fresh(path, json.dumps(content, indent=2)) as fresh:
        fresh.replace(path)


def drawn(path: Path, name: str) -> str:
    """
    The name that a file holds: this one, unless there was one, or another process was first.

    Raises:
        OSError: It cannot be read, or not written.
        UnicodeError: It holds no text.

    """
    if not path.exists():
        with _fresh(path, name) as fresh, contextlib.suppress(FileExistsError):
            path.hardlink_to(fresh)
    return path.read_text("utf-8").strip()


@contextlib.contextmanager
def _fresh(path: Path, content: str) -> Iterator[Path]:
    """A whole file beside another, of a name that no other process takes; gone at the end."""
    fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        fresh.touch(mode=0o600)
        fresh.write_text(content, "utf-8")
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)
