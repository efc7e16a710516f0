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
from typing import NamedTuple

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
        links: The number of its names.
        digest: The digest of its contents.

    """

    size: int
    written_ns: int
    changed_ns: int
    inode: int
    links: int
    digest: str

    def is_same(self, now: "Stamp") -> bool:
        """
        True if the file is as it was.

        A file with several names is one that an installer links out of its cache. Any environment
        that is made or removed beside this one changes its number of names, and with that its
        time of change: then its contents decide.
        """
        if self[:4] == now[:4]:
            return True
        is_shared = self.links > 1 or now.links > 1
        as_before = (self.size, self.written_ns, self.inode) == (
            now.size,
            now.written_ns,
            now.inode,
        )
        return is_shared and as_before and self.digest == now.digest


def stamps() -> dict[str, Stamp]:
    """Each installed file of the kit, compiled ones included, with what changes if it does."""
    found: dict[str, Stamp] = {}
    above = len(str(_ROOT.parent)) + 1
    # `Path.rglob` computes five times as long.
    for folder, _, names in os.walk(_ROOT):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - as above
            info = os.lstat(path)
            times = (info.st_mtime_ns, info.st_ctime_ns)
            digest = _digest(Path(path))
            found[path[above:]] = Stamp(info.st_size, *times, info.st_ino, info.st_nlink, digest)
    return found


def changed(before: dict[str, Stamp]) -> list[str]:
    """The files of `before` that are other files now, or are gone; new ones are compiled code."""
    now = stamps()
    sources = [place for place in now if place not in before and not place.endswith(".pyc")]
    others = (
        place
        for place, stamp in before.items()
        if place not in now or not stamp.is_same(now[place])
    )
    return sorted([*sources, *others])


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
