"""
Names of files and values of variables on their way from one process to another.

To the system they are bytes; Python decodes them by the locale that a process was started in. A
check may ask for another locale than the one of the run, so a name travels as the bytes that it
stands for, written as UTF-8, and each process decodes it as it decodes its own.
"""

import os
import re
from pathlib import Path
from typing import Any

#: A character of a name as `untrusted_text.printable` writes it, where it does not print.
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])")


def told(name: Any) -> Any:
    """A name, or names in a list or a table, as they are written to another process."""
    if isinstance(name, str):
        return _told(name)
    if isinstance(name, dict):
        return {_told(key): told(value) for key, value in name.items()}
    return [told(item) for item in name] if isinstance(name, list | tuple) else name


def heard(name: Any) -> Any:
    """The value that `told` has written in another process, as this one decodes it."""
    if isinstance(name, str):
        return native(name)
    if isinstance(name, dict):
        return {native(key): heard(value) for key, value in name.items()}
    return [heard(item) for item in name] if isinstance(name, list) else name


def _told(name: str) -> str:
    try:
        return os.fsencode(name).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # No name that this process has from the system, but text that is one to others.
        return name


def native(name: str) -> str:
    """A name that is written as UTF-8 somewhere, in a file of settings too, as Python has it."""
    try:
        return os.fsdecode(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return name


def readable(name: str) -> str:
    """A name as a reader knows it, in whatever locale this process runs."""
    return _told(name)


def shown(name: str, directory: Path) -> Path:
    """The file below `directory` whose name a `where` shows, with what did not print escaped."""
    path = directory / native(name)
    if "\\" not in name or os.path.exists(path):  # noqa: PTH110 - a Path raises for a long one
        return path
    return directory / native(_ESCAPE.sub(_unescaped, name))


def _unescaped(found: re.Match[str]) -> str:
    try:
        plain = found[0].encode().decode("unicode_escape")
    except UnicodeDecodeError:
        return found[0]
    return found[0] if plain.isprintable() else plain
