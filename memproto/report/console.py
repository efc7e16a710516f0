"""Terminal output of the commands that take reports, and the files that they write."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO, TypeVar

from memproto.errors import KitUsageError
from memproto.testing import untrusted_text
from memproto.testing.judging import redaction

_Made = TypeVar("_Made")


def tell(text: str) -> None:
    """Print lines of the kit's, which may name what a stranger said."""
    _write(sys.stdout, untrusted_text.lines(text))


def tell_verdict(line: str) -> None:
    """Print a verdict line, which nothing else may look like."""
    _write(sys.stdout, untrusted_text.printable(line))


def complain(text: str) -> None:
    """Print what is wrong, to the other stream, without credentials of the environment."""
    _write(sys.stderr, untrusted_text.lines(redaction.without_credentials(text)))


def _write(stream: TextIO | None, text: str) -> None:
    """Characters that the terminal's encoding lacks are escaped; a closed stream gets nothing."""
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def written(output: Path, write: Callable[[], _Made], option: str = "-o") -> _Made:
    """
    The result of `write`, which writes to the place that is typed with an option.

    Raises:
        KitUsageError: It cannot be written.

    """
    try:
        return write()
    except OSError as error:
        place, fault = str(error.filename or output), f"cannot be written ({error.strerror})"
        raise KitUsageError(place, fault, f"name a place of your own with {option}") from None
