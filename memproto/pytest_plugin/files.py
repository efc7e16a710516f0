"""The files that a run is asked for: whether they can be written, before it; and written, after."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.errors import InvalidSettings
from memproto.report import document, html, pages

#: Option to what writes its file from the document of the run.
_WRITERS: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "--memproto-report": document.write,
    "--memproto-html": html.write,
}


def check(option: Any) -> None:
    """
    Find out before the run, not after it, what cannot be written.

    Raises:
        InvalidSettings: A file cannot be written.
        MissingPackage: A page is asked for, and what makes it is not installed.

    """
    for flag, path in _asked(option):
        if flag == "--memproto-html":
            pages.check_installed(f"{flag}={path}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
        except OSError as error:
            what, fault = f"{flag}={path}", f"cannot be written ({error.strerror})"
            raise InvalidSettings(what, fault, "name a file in a directory of your own") from None


def write(option: Any, document: dict[str, Any]) -> list[str]:
    """Write each file; gives one line for each that could not be."""
    faults = []
    for flag, path in _asked(option):
        try:
            _WRITERS[flag](path, document)
        except OSError as error:
            faults.append(f"{flag}={path}: {error.strerror}")
    return faults


def _asked(option: Any) -> list[tuple[str, Path]]:
    named = [(flag, getattr(option, flag[2:].replace("-", "_"))) for flag in _WRITERS]
    return [(flag, Path(name)) for flag, name in named if name is not None]
