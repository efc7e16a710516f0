"""The line of the author's code that `where` names, as compilers show it: with its number."""

import re
from pathlib import Path

from memproto.testing import os_names

_PLACE = re.compile(r"(?P<file>.+):(?P<line>[0-9]+) in ")

#: The name that a line defines.
_DEFINED = re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")

#: A file that is longer in bytes, and a line that is longer in characters, is not shown.
_MOST_BYTES, _MOST_CHARS = 2_000_000, 160


def excerpt(where: str, directory: Path) -> str:
    """
    Two lines: the source line behind its number, and a line that points at its code.

    "" if `where` names no line of a file below `directory`, which is the user's own.
    """
    found = _PLACE.match(where)
    if found is None:
        return ""
    number = int(found["line"])
    line = _line(directory, found["file"], number)
    if not line.strip() or len(line) > _MOST_CHARS:
        return ""
    named = _DEFINED.match(line)
    start, end = named.span("name") if named else (len(line) - len(line.lstrip()), len(line))
    label = str(number)
    pointer = f"{' ' * start}{'^' * (end - start)}"
    return f"{label} | {line}\n{' ' * len(label)} | {pointer}"


def _line(directory: Path, name: str, number: int) -> str:
    """A line of a file below the directory; "" if there is none that can be read."""
    try:
        root, path = directory.resolve(), os_names.shown(name, directory).resolve()
        if not path.is_relative_to(root) or path.stat().st_size > _MOST_BYTES:
            return ""
        lines = path.read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    return lines[number - 1].rstrip().expandtabs(4) if 0 < number <= len(lines) else ""
