r"""
Words of a command, quoted for a reader's shell.

A name of a file is any bytes, and a report is text. `shlex` leaves a byte that is no text, and a
character that does not print, as they are; what is printed of them later names no file. Bash, zsh
and ksh read them from `$'J\xfcrgen'`. Every other word is as `shlex` quotes it.
"""

import os
import re
import shlex
from collections.abc import Iterable

#: A word that `quote` wrote in the form of bash, with what may stand around it.
_ESCAPED = re.compile(r"(?<!\S)\$'((?:[^'\\]|\\.)*)'(?!\S)")

#: An escape in it: bytes, or the character behind the backslash.
_BYTES = re.compile(r"((?:\\x[0-9a-f]{2})+)|\\(.)")


def quote(word: str) -> str:
    """A word as a shell reads it, in characters that print."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def join(words: Iterable[str]) -> str:
    """The words of a command in one line."""
    return " ".join(map(quote, words))


def split(command: str) -> list[str]:
    """
    The words of a command that `join` wrote.

    Raises:
        ValueError: A quotation has no end.

    """
    return shlex.split(_ESCAPED.sub(lambda found: shlex.quote(_plain(found[1])), command))


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in _bytes(character))


def _bytes(character: str) -> bytes:
    try:
        return os.fsencode(character)
    except UnicodeEncodeError:
        # No part of a name that the system gave.
        return character.encode("utf-8", "surrogatepass")


def _plain(text: str) -> str:
    return _BYTES.sub(lambda found: _decoded(found[1]) if found[1] else found[2], text)


def _decoded(digits: str) -> str:
    return bytes.fromhex(digits.replace("\\x", "")).decode("utf-8", "surrogateescape")
