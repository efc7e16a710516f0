"""
A module search path in ASCII, for a process that runs in an ASCII locale.

An interpreter whose file names are ASCII holds any other byte of a path as half a surrogate pair,
and CPython loads no extension module from a path that has one. So nothing that needs an extension
module could be imported in such a locale if the environment lies in a directory called `Jürgen`.
Links with plain names lead to the same directories.
"""

import atexit
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

#: Variables by which CPython reads and writes UTF-8 in the locale C, unless they are 0.
_REMEDIES = ("PYTHONUTF8", "PYTHONCOERCECLOCALE")

#: Directories for links where the run's own one has other letters, the first that takes them.
_ELSEWHERE = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - a new directory is made there


def is_needed(environment: Mapping[str, str]) -> bool:
    """True if an interpreter that gets these variables takes file names for ASCII."""
    named = (environment.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    has_remedy = any(environment.get(name) != "0" for name in _REMEDIES)
    return not has_remedy and next(filter(None, named), "C") in ("C", "POSIX")


def of_interpreter(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """
    The variable by which a new interpreter finds all that this one does, links being in `folder`.

    Empty if it finds all by itself. The places of PYTHONPATH stay in front.
    """
    given = [place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    own = [place for place in sys.path if not place.isascii() and place not in given]
    places = linked([*given, *own], folder)
    return {} if places == given else {"PYTHONPATH": os.pathsep.join(places)}


def linked(places: Iterable[str], folder: Path) -> list[str]:
    """
    The same places, each that is not ASCII by a link in `folder`, or beside it.

    `folder` need not be there. A place that is no directory stays as it is.
    """
    return [
        place if place.isascii() or not Path(place).is_dir() else _link(place, folder)
        for place in places
    ]


def _link(place: str, folder: Path) -> str:
    holder = folder if str(folder).isascii() else _elsewhere()
    holder.mkdir(parents=True, exist_ok=True)
    links = {link.readlink(): link for link in holder.iterdir()}
    target = Path(place).absolute()
    if target not in links:
        links[target] = holder / str(len(links))
        links[target].symlink_to(target)
    return str(links[target])


@functools.cache
def _elsewhere() -> Path:
    """
    A directory of this process in ASCII, which it removes when it ends.

    Raises:
        OSError: None of the usual places takes one.

    """
    fault: OSError | None = None
    for parent in _ELSEWHERE:
        try:
            folder = tempfile.mkdtemp(prefix="memproto-path-", dir=parent)
        except OSError as error:
            fault = error
            continue
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)
    assert fault is not None
    raise fault
