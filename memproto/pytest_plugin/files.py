"""The files that a run is asked for: whether they can be written, before it; and written, after."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memproto import shell
from memproto.errors import InvalidSettings
from memproto.report import document, html, pages
from memproto.report.formats import sarif

_OWN = "name a file in a directory of your own"

#: Option to what writes its file from the document of the run.
_WRITERS: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "--memproto-report": document.write,
    "--memproto-html": html.write,
    "--memproto-sarif": sarif.write,
}


def check(option: Any) -> None:
    """
    Find out before the run, not after it, what cannot be written; nothing of it stays.

    Raises:
        InvalidSettings: A file cannot be written, is in no folder, or is asked for twice.
        MissingPackage: A page is asked for, and what makes it is not installed.

    """
    seen: dict[Path, str] = {}
    for flag, path in _asked(option):
        if flag == "--memproto-html":
            pages.check_installed(f"{flag}={path}")
        try:
            # A link may name a file that is not there yet.
            real = path.resolve()
            if not real.parent.is_dir():
                raise _without_folder(f"{flag}={path}", path.parent)
            _probe(real)
            earlier = seen.setdefault(real, flag)
        except OSError as error:
            what, fault = f"{flag}={path}", f"cannot be written ({error.strerror})"
            raise InvalidSettings(what, fault, _OWN) from None
        if earlier != flag:
            what, fault = f"{flag}={path}", f"is the file of {earlier} too"
            raise InvalidSettings(what, fault, "name a file for each")


@contextlib.contextmanager
def made(folder: Path) -> Iterator[None]:
    """
    A folder that is there in the body, and afterwards only if it was before.

    Raises:
        OSError: It cannot be made.

    """
    missing = [part for part in (folder, *folder.parents) if not os.path.lexists(part)]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for part in missing:
            with contextlib.suppress(OSError):
                part.rmdir()


def _without_folder(what: str, folder: Path) -> InvalidSettings:
    """The error for a file in a folder that is not there: a name that is mistyped makes none."""
    fault = f"the folder {folder} is not there"
    if folder.exists():
        return InvalidSettings(what, f"cannot be written ({folder} is no folder)", _OWN)
    return InvalidSettings(what, fault, f"mkdir -p {shell.quote(str(folder))}")


def _probe(path: Path) -> None:
    """Open a file as it will be written, without a change to one that is there."""
    if not path.exists():
        path.open("xb").close()
        path.unlink()
    elif path.is_file() or path.is_dir():
        path.open("ab").close()
    elif not os.access(path, os.W_OK):
        # To open a pipe is to wait for its reader.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


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
