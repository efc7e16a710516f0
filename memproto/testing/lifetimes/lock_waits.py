"""The files whose locks a process waits for, by the kernel's list and by what it has open."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


def waited_for(pid: int, locked: Iterable[str]) -> str:
    """
    Of files that another process has locked, the one that a process waits for, in words; or "".

    Linux lists those whose call waits. One that asks again and again, as SQLite does, is known by
    the file that it has open.
    """
    files = {_identity(path): Path(path).name for path in locked if Path(path).exists()}
    waits = [files[found] for found in _waiting(pid) if found in files]
    if waits:
        return f"it waited for the lock on {waits[0]}"
    opened = dict.fromkeys(files[found] for found in _open(pid) if found in files)
    return f"of the locked files it had {' and '.join(opened)} open" if opened else ""


def _identity(path: str) -> tuple[int, int]:
    info = os.stat(path)  # noqa: PTH116 - the name may be undecodable
    return info.st_dev, info.st_ino


def _waiting(pid: int) -> list[tuple[int, int]]:
    """The files for which calls of a process wait."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text("ascii").splitlines():
            words = line.split()
            if words[1:2] == ["->"] and words[5:6] == [str(pid)]:
                major, minor, inode = words[6].split(":")
                found.append((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    return found


def _open(pid: int) -> list[tuple[int, int]]:
    """The files that a process has open, as far as this one may see."""
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - no paths are needed
            with contextlib.suppress(OSError):
                found.append(_identity(f"/proc/{pid}/fd/{name}"))
    return found
