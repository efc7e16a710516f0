"""What the commands that take reports say at the terminal, and the files that they write."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memproto.errors import KitUsageError

_Made = TypeVar("_Made")


def tell(text: str) -> None:
    """Print a line; what the terminal's encoding lacks is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def written(output: Path, write: Callable[[], _Made], option: str = "-o") -> _Made:
    """
    What `write` gives, which writes to the place that is typed with an option.

    Raises:
        KitUsageError: It cannot be written.

    """
    try:
        return write()
    except OSError as error:
        place, fault = str(error.filename or output), f"cannot be written ({error.strerror})"
        raise KitUsageError(place, fault, f"name a place of your own with {option}") from None
