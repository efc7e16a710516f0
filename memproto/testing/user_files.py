"""Files that users write: their text and tables, or what is wrong with them, and on which line."""

import codecs
import re
import tomllib
from typing import Any

_PLACE = re.compile(r"(?P<fault>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)")

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class BrokenFile(ValueError):
    """
    A file that cannot be read as what it should be.

    Attributes:
        line: On which line.
        fault: What is wrong.
        fix: What to do.

    """

    def __init__(self, line: int, fault: str, fix: str) -> None:
        super().__init__(f"line {line}: {fault}")
        self.line = line
        self.fault = fault
        self.fix = fix


def decoded(data: bytes) -> str:
    """
    The text of a file, with or without the mark that some editors begin it with.

    Raises:
        BrokenFile: It is no UTF-8.

    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise BrokenFile(1, "is UTF-32", "save it as UTF-8")
    if data.startswith(_WIDE):
        fault = "is UTF-16, as `>` of an older PowerShell writes it"
        raise BrokenFile(1, fault, "save it as UTF-8, such as with Set-Content -Encoding utf8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Half of the bytes of such a text are zero, all at odd places or all at even ones.
        if 3 * max(data[::2].count(0), data[1::2].count(0)) > len(data):
            raise BrokenFile(1, "is UTF-16 without its mark", "save it as UTF-8") from None
        line = data.count(b"\n", 0, error.start) + 1
        fault = f"is no UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}"
        raise BrokenFile(line, fault, "save it as UTF-8") from None


def tables(text: str) -> dict[str, Any]:
    """
    What a text of TOML holds.

    Raises:
        BrokenFile: It is no TOML.

    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.fullmatch(str(error))
        last = max(1, len(text.splitlines()))
        line = int(place["line"] or last) if place else last
        fault = f"is no TOML: {place['fault'] if place else error}"
        raise BrokenFile(line, fault, "correct the line") from None
