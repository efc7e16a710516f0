r"""
Entries and their text on disk.

A file is a list of entries with a line that holds only a section sign between them. Any text that
a person writes by hand in that form is valid. Any text of an agent comes back equal: the few
characters that an editor, a line ending or the form itself would change are written as `\u{hex}`.
"""

import dataclasses
import re
from collections.abc import Iterable

#: The line between two entries.
DELIMITER = "§"

#: Text between two entries where they are shown; its characters count against the limit.
SEPARATOR = f"\n{DELIMITER}\n"

_BOM = b"\xef\xbb\xbf"
_DATE_LINE = re.compile(r"<!-- (\d{4}-\d{2}-\d{2}(?:T[0-9:.]{1,20}(?:Z|[+-][0-9:]{1,9})?)?) -->")
_ESCAPE = re.compile(r"\\u\{([0-9a-fA-F]{1,6})\}")
# Control characters, lone surrogates and byte order marks, further line breaks that editors know,
# and a backslash that would be read as the start of an escape.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]"
    r"|\\(?=u\{[0-9a-fA-F]{1,6}\})"
)
_LAST_CODE_POINT = 0x10FFFF


class Unparsable(Exception):
    """The file is no list of entries: a person has to look at it. The message says where."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """
    One thing that is remembered.

    Attributes:
        content: The text, exactly as it was stored.
        added_at: When it was stored, ISO 8601 with the offset; "" for an entry made by hand.

    """

    content: str
    added_at: str = ""


def used_chars(entries: Iterable[Entry]) -> int:
    """
    The characters that count against the limit: those of the entries as they are shown.

    Code points of every content and of the separators between; dates and escapes do not count.
    """
    return len(joined(entries))


def joined(entries: Iterable[Entry]) -> str:
    """The entries as they are shown to the model: contents with the separator between."""
    return SEPARATOR.join(entry.content for entry in entries)


def is_date(text: str) -> bool:
    """True if `text` can stand as the date of an entry."""
    return _DATE_LINE.fullmatch(f"<!-- {text} -->") is not None


def encode(entries: Iterable[Entry]) -> bytes:
    """The bytes of a file with these entries; the inverse of `decode`."""
    text = SEPARATOR.join(_entry_to_text(entry) for entry in entries)
    return f"{text}\n".encode() if text else b""


def decode(raw: bytes) -> tuple[Entry, ...]:
    """
    The entries of a file, hand-made ones included. White space around an entry is not part of it.

    Raises:
        Unparsable: The bytes are not UTF-8, or hold a NUL, which neither the provider nor an
            editor writes.

    """
    try:
        text = raw.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise Unparsable(f"byte {error.start} is not UTF-8") from error
    if "\0" in text:
        raise Unparsable(f"character {text.index(chr(0))} is a NUL")
    return tuple(_entries_of(text.replace("\r\n", "\n")))


def _entries_of(text: str) -> Iterable[Entry]:
    block: list[str] = []
    for line in [*text.split("\n"), DELIMITER]:
        if line.strip() != DELIMITER:
            block.append(line)
            continue
        entry = _entry_from_text("\n".join(block).strip())
        if entry.content:
            yield entry
        block = []


def _entry_from_text(text: str) -> Entry:
    first, _, rest = text.partition("\n")
    dated = _DATE_LINE.fullmatch(first.rstrip())
    if dated is None:
        return Entry(_unescaped(text))
    return Entry(_unescaped(rest.strip()), dated[1])


def _entry_to_text(entry: Entry) -> str:
    text = _escaped_form(_escaped_ends(_UNSAFE.sub(_escape, entry.content)))
    return f"<!-- {entry.added_at} -->\n{text}" if entry.added_at else text


def _escaped_form(text: str) -> str:
    """Escape the lines that would be read as a delimiter or, at the start, as a date."""
    lines = [
        line.replace(DELIMITER, _code(DELIMITER)) if line.strip() == DELIMITER else line
        for line in text.split("\n")
    ]
    if _DATE_LINE.fullmatch(lines[0].rstrip()):
        lines[0] = _code("<") + lines[0][1:]
    return "\n".join(lines)


def _escaped_ends(text: str) -> str:
    """Escape white space at both ends, which reading would take for the editor's."""
    if text[:1].isspace():
        text = _code(text[0]) + text[1:]
    if text[-1:].isspace():
        text = text[:-1] + _code(text[-1])
    return text


def _escape(match: re.Match[str]) -> str:
    return _code(match[0])


def _code(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code <= _LAST_CODE_POINT else match[0]
