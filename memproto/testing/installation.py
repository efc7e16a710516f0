"""
The kit's installed files: that they are those which were published, and stay so during a run.

A target runs with the rights of the user who judges it, so it can write to the files that the next
run is made of. The run that sees it happen says so; a run on changed files does not begin.
"""

import base64
import hashlib
import os
from importlib import metadata
from pathlib import Path

import memproto
from memproto.errors import KitUsageError

#: Modules that the kit imports and that `memproto` without the extra `kit` does not bring.
KIT_MODULES = (
    "confusable_homoglyphs",
    "freezegun",
    "hypothesis",
    "jinja2",
    "jsonschema",
    "psutil",
    "pytest",
    "xdist",
)

_ROOT = Path(memproto.__file__).resolve().parent

#: Size, times of change and place of a file. The last time cannot be set by who wrote the file.
Stamp = tuple[int, int, int, int]


def stamps() -> dict[str, Stamp]:
    """Each installed file of the kit, compiled ones included, with what changes if it does."""
    found: dict[str, Stamp] = {}
    above = len(str(_ROOT.parent)) + 1
    # `Path.rglob` computes five times as long.
    for folder, _, names in os.walk(_ROOT):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - as above
            info = os.lstat(path)
            found[path[above:]] = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
    return found


def changed(before: dict[str, Stamp]) -> list[str]:
    """The files of `before` that are other files now, or are gone; new ones are compiled code."""
    now = stamps()
    sources = [place for place in now if place not in before and not place.endswith(".pyc")]
    return sorted([*sources, *(place for place in before if now.get(place) != before[place])])


def assert_published() -> None:
    """
    See that each file of an installed wheel is the one that the wheel brought.

    Raises:
        KitUsageError: One is not. An editable installation has nothing to compare with.

    """
    try:
        files = metadata.files("memproto") or ()
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.hash is None or file.hash.mode != "sha256" or file.parts[:1] != ("memproto",):
            continue
        path = Path(str(file.locate()))
        if path.resolve().is_relative_to(_ROOT) and _digest(path) != file.hash.value:
            raise KitUsageError(
                f"the installed kit: {file}",
                "is not the file that was installed",
                "pip install --force-reinstall memproto, and ask who changed it",
            )


def _digest(path: Path) -> str:
    try:
        found = hashlib.sha256(path.read_bytes()).digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode("ascii")
