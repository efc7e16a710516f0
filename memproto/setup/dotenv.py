"""
The file `.env`: reading it, changing some variables of it, and writing it back safely.

The form is the one that python-dotenv reads. Lines that are not changed stay as they are, byte for
byte, comments and odd encodings included.
"""

import contextlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from memproto.adapters.homes import own_folder
from memproto.errors import MemprotoError
from memproto.setup.variables import is_name

_ASSIGNMENT = re.compile(
    r"""^(?P<head>[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*)
        (?P<value>'(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | [^\n]*?)
        (?P<tail>(?:[ \t]+\#[^\n]*?|[ \t]*)\r?)$""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)

_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./=-]+")

#: Characters that double quotes escape, beside themselves: those that end a line or are not seen.
_ESCAPES = {"\\": "\\", '"': '"', "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\f": "f"}
_ESCAPES |= {"\a": "a", "\b": "b"}
_MEANT = {letter: char for char, letter in _ESCAPES.items()}


class NotForAVariable(MemprotoError):
    """A value that no variable can hold (a NUL, half of a character), or a name that is none."""


def quoted(value: str) -> str:
    """
    The value as it stands behind the equals sign.

    Raises:
        NotForAVariable: It has a NUL, or cannot be encoded.

    """
    _check(value)
    if _PLAIN.fullmatch(value):
        return value
    if not set(value) & (set(_ESCAPES) - {"\\", '"'}):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    inner = "".join(f"\\{_ESCAPES[char]}" if char in _ESCAPES else char for char in value)
    return f'"{inner}"'


def unfit(variable: str, value: str) -> str:
    """Why the variable cannot hold the value, in words; "" where it can, or `variable` is ""."""
    try:
        _check(value if variable else "")
    except NotForAVariable as error:
        return f"{error}, which the variable {variable} cannot hold"
    return ""


def _check(value: str) -> None:
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise NotForAVariable("the value holds half of a character") from None
    if "\0" in value:
        raise NotForAVariable("the value holds a NUL")


def parsed(text: str) -> dict[str, str]:
    """The variables of a file's text; where one stands twice the last counts."""
    return {found["name"]: _unquoted(found["value"]) for found in _ASSIGNMENT.finditer(text)}


def _unquoted(value: str) -> str:
    if value[:1] == "'":
        return re.sub(r"\\([\\'])", r"\1", value[1:-1])
    if value[:1] == '"':
        return re.sub(r"\\(.)", _meant, value[1:-1], flags=re.DOTALL)
    return value.rstrip()


def _meant(escape: re.Match[str]) -> str:
    letter = escape[1]
    return _MEANT.get(letter, letter if letter == "'" else escape[0])


def merged(text: str, values: Mapping[str, str]) -> str:
    """
    The text with the variables set: in their old places, and new ones at the end.

    Raises:
        NotForAVariable: A name is none, or a value cannot stand in the text.

    """
    for name in values:
        if not is_name(name):
            raise NotForAVariable(f"{name!r} is no name of a variable")

    def line(found: re.Match[str]) -> str:
        if found["name"] not in values:
            return found[0]
        return f"{found['head']}{quoted(values[found['name']])}{found['tail']}"

    known = {found["name"] for found in _ASSIGNMENT.finditer(text)}
    changed = _ASSIGNMENT.sub(line, text)
    new = "".join(f"{k}={quoted(value)}\n" for k, value in values.items() if k not in known)
    return changed + ("\n" if new and changed and not changed.endswith("\n") else "") + new


def read(file: Path) -> str:
    """The text of the file, "" where there is none."""
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""


def write(file: Path, values: Mapping[str, str]) -> None:
    """
    Set variables in the file, which is afterwards for its owner only (mode 0600).

    It is replaced as a whole, so that a reader sees the old text or the new one. A link stays one.

    Raises:
        NotForAVariable: A value cannot stand in it; nothing was written.
        OSError: It cannot be written; the old text is as it was.

    """
    target = file.resolve()
    text = merged(read(target), values)
    own_folder(target.parent)
    fresh = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(text.encode("utf-8", "surrogateescape"))
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
