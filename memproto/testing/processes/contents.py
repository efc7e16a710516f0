"""
Contents of files that code of this process may hold open, read without a harm to it.

POSIX drops all locks of a process on a file with the first descriptor of it that the process
closes, whoever opened it. A look at a database would take the locks of a connection that stays
open, and with them SQLite's knowledge of who else is there. So a file that is open here is read by
another process.
"""

import contextlib
import os
import shutil
from pathlib import Path

#: Bytes that are taken from the other process at once.
_PIECE_BYTES = 1 << 16

_DESCRIPTORS = next((name for name in ("/proc/self/fd", "/dev/fd") if os.path.isdir(name)), "")  # noqa: PTH112 - no class is needed


def read(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """
    The first bytes of a file, all of them without a bound.

    Blocks until they are read.

    Raises:
        OSError: It cannot be read.

    """
    if is_open(path):
        return _read_by_another(path, most)
    with open(path, "rb") as file:  # noqa: PTH123 - the name may be undecodable
        return file.read(most)


def copy(source: str, target: str) -> str:
    """Copy a file with its mode and its times, as `shutil.copy2` does; gives `target`."""
    if not is_open(source):
        return shutil.copy2(source, target)
    Path(target).write_bytes(_read_by_another(source, -1))
    shutil.copystat(source, target)
    return target


def is_open(path: str | os.PathLike[str]) -> bool:
    """True if a descriptor of this process is of the file."""
    wanted = _identity(os.stat(path))  # noqa: PTH116 - the name may be undecodable
    for name in os.listdir(_DESCRIPTORS) if _DESCRIPTORS else ():  # noqa: PTH208 - in a third of the time
        with contextlib.suppress(OSError):
            if _identity(os.fstat(int(name))) == wanted:
                return True
    return False


def _identity(info: os.stat_result) -> tuple[int, int]:
    return info.st_dev, info.st_ino


def _read_by_another(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file as `cat` gives them: an interpreter takes twenty times as long."""
    end, start = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, start, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0o600),
        ]
        words = ["cat", "--", os.path.abspath(path)]  # noqa: PTH100 - the name may be undecodable
        pid = os.posix_spawnp(words[0], words, os.environ, file_actions=actions)
    except OSError:
        os.close(end)
        raise
    finally:
        os.close(start)
    found = bytearray()
    try:
        while most < 0 or len(found) < most:
            piece = os.read(end, _PIECE_BYTES)
            if not piece:
                break
            found += piece
    finally:
        os.close(end)
        has_failed = _has_failed(pid)
    if has_failed and not found:
        raise OSError(f"cat did not read {os.fspath(path)!r}")
    return bytes(found[:most] if most >= 0 else found)


def _has_failed(pid: int) -> bool:
    # A provider may wait for any process, and get this one.
    with contextlib.suppress(ChildProcessError):
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    return False
