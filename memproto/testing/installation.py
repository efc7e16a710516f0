"""
The kit's installed files: that they are those which were published, and stay so during a run.

A target runs with the rights of the user who judges it, so it can write to the files that the next
run is made of. The run that sees it happen says so; a run on changed files does not begin.
"""

import base64
import csv
import hashlib
import importlib.util
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, Self

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


class Stamp(NamedTuple):
    """
    Facts about a file, by which a later look sees whether it was changed.

    Attributes:
        size: Its bytes.
        written_ns: The time of its contents, which whoever writes can set.
        changed_ns: The time of any change, which nobody can set.
        inode: Its place on the disk.
        digest: The digest of its contents if it has several names, else "".

    """

    size: int
    written_ns: int
    changed_ns: int
    inode: int
    digest: str

    @classmethod
    def of(cls, path: str) -> Self:
        """The stamp of a file."""
        info = os.lstat(path)
        digest = _digest(path) if info.st_nlink > 1 else ""
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, digest)

    def is_of(self, path: str) -> bool:
        """
        True if the file is there as it was.

        A file with several names is one that an installer links out of its cache. Any environment
        that is made or removed beside this one changes its number of names, and with that its
        time of change: then its contents decide.
        """
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            return False
        if self[:4] == (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino):
            return True
        is_at_place = (self.size, self.inode) == (info.st_size, info.st_ino)
        return bool(self.digest) and is_at_place and self.digest == _digest(path)


def stamps() -> dict[str, Stamp]:
    """Each installed file of the kit, compiled ones included, with what changes if it does."""
    above = _ROOT.parent
    return {place: Stamp.of(f"{above}/{place}") for place in _places()}


def _places() -> Iterator[str]:
    above = len(str(_ROOT.parent)) + 1
    # `Path.rglob` computes five times as long.
    for folder, _, names in os.walk(_ROOT):
        for name in names:
            yield os.path.join(folder, name)[above:]  # noqa: PTH118 - as above


def changed(before: dict[str, Stamp]) -> list[str]:
    """The files of `before` that are other files now, or are gone; new ones are compiled code."""
    sources = [place for place in _places() if place not in before and not place.endswith(".pyc")]
    above = _ROOT.parent
    others = (
        place
        for place, stamp in before.items()
        if not stamp.is_of(f"{above}/{place}") and not _was_stale(place, before)
    )
    return sorted([*sources, *others])


def _was_stale(place: str, before: dict[str, Stamp]) -> bool:
    """True of compiled code that was older than its source: the next import writes it anew."""
    if not place.endswith(".pyc"):
        return False
    try:
        source = before.get(importlib.util.source_from_cache(place))
    except ValueError:
        return False
    return source is not None and before[place].written_ns < source.written_ns


def assert_published() -> None:
    """
    See that each file of an installed wheel is the one that the wheel brought.

    Raises:
        KitUsageError: One is not. An editable installation has nothing to compare with.

    """
    try:
        brought = metadata.distribution("memproto")
    except metadata.PackageNotFoundError:
        return
    record = brought.read_text("RECORD") or ""
    # The objects that `metadata.files` makes of a record cost more than to read all of the files.
    if not record or Path(str(brought.locate_file("memproto"))).resolve() != _ROOT:
        return
    for file, hashed, *_ in filter(None, csv.reader(record.splitlines())):
        folder, _, name = file.partition("/")
        kind, _, digest = hashed.partition("=")
        if folder == "memproto" and kind == "sha256" and _digest(f"{_ROOT}/{name}") != digest:
            raise KitUsageError(
                f"the installed kit: {file}",
                "is not the file that was installed",
                "pip install --force-reinstall memproto, and ask who changed it",
            )


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb", buffering=0) as file:
            found = hashlib.sha256(file.read()).digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode("ascii")
