"""Lines that a provider writes into its own files around the texts that it stores."""

import re
from pathlib import Path

from memproto.testing.lifetimes import store_files
from memproto.testing.processes import contents

#: Longer ones, and more of them, are no separators.
_MOST_CHARS, _MOST_LINES = 100, 4

#: A longer word may be taken for a credential, and be taken out of a text.
_LONG_WORD = re.compile(r"\w{20,}")

#: Larger files are no texts of a small store.
_READ_BYTES = 100_000


def found(home: Path, told: list[str]) -> list[str]:
    """
    Lines of the text files below a home that hold no word of those told; of each form one.

    A context block in a text may be taken out, so that lines of one are left out, and so may a
    credential.
    """
    words = {word for word in told if len(word) > 1}
    forms: dict[str, str] = {}
    for path in store_files.files_below(home):
        for line in _lines(path):
            if _is_short_text(line) and not any(word in line for word in words):
                forms.setdefault(re.sub(r"\d+", "0", line), line)
    return list(forms.values())[:_MOST_LINES]


def _is_short_text(line: str) -> bool:
    is_short = 0 < len(line) <= _MOST_CHARS and line.isprintable()
    return is_short and "memory-context" not in line and not _LONG_WORD.search(line)


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _READ_BYTES:
            return []
        return [line.strip() for line in contents.read(path).decode("utf-8").splitlines()]
    except (OSError, UnicodeError):
        return []
