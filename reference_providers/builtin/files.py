"""
One small file, read and replaced whole.

Writers take turns through a lock file; readers take no lock, since a file is replaced in one step.
A lock binds only those who ask for it: what an editor saved meanwhile is noticed before a file is
replaced.
"""

import contextlib
import importlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import IO

from memproto.errors import Unavailable
from memproto.reference_providers.reading import own_folder

fcntl: ModuleType | None
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # Windows: writers of different processes do not see each other there.
    fcntl = None

#: Tries to get a taken lock, and the pause between them. Counted, not timed: a clock that
#: stands still must not keep a writer here for ever.
LOCK_TRIES = 500
LOCK_PAUSE_S = 0.01


def read(path: Path) -> bytes | None:
    """
    The bytes of the file, or None where there is no file.

    Raises:
        Unavailable: The system refuses; the message names the path and the reason.

    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unavailable("read", path, error) from error


def replace_if_unchanged(path: Path, before: bytes | None, after: bytes) -> bool:
    """
    Replace the file in one step; False, and nothing done, where it no longer holds `before`.

    After a crash at any moment the file holds the old bytes or the new ones. Call under the lock.

    Raises:
        Unavailable: The system refuses; the file holds the old bytes.

    """
    real = Path(os.path.realpath(path))  # A link that the operator made stays a link.
    fresh = real.with_name(f".{real.name}.new")
    try:
        own_folder(real.parent)
        _write(fresh, after, _mode(real))
        if read(path) != before:
            return False
        fresh.replace(real)
        _sync_directory(real.parent)
    except OSError as error:
        raise _unavailable("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
    return True


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """
    Hold the lock file at `path`: one holder at a time, over all threads and processes.

    The system lets go of the lock when its holder dies.

    Raises:
        Unavailable: Another holder kept it for about 5 s, or the file cannot be opened.

    """
    with _opened(path) as gate:
        try:
            _take(gate, path)
            yield
        finally:
            if fcntl is not None:
                # Closing is not enough: a child forked meanwhile has the same lock open.
                with contextlib.suppress(OSError):
                    fcntl.flock(gate, fcntl.LOCK_UN)


def _opened(path: Path) -> IO[bytes]:
    """
    The lock file, open.

    An object and no bare descriptor: Ctrl+C between two lines leaves the object to nobody, and it
    closes itself then, which gives the lock back.
    """
    try:
        return open(path, "ab", opener=_opener(0o600))
    except OSError as error:
        raise _unavailable("lock", path, error) from error


def _opener(mode: int, more: int = 0) -> Callable[[str, int], int]:
    """Opener of a file with these rights if it is new; `more` are further flags."""
    return lambda name, flags: os.open(name, flags | more | os.O_CLOEXEC, mode)


def _take(gate: IO[bytes], path: Path) -> None:
    if fcntl is None:
        return
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_PAUSE_S)
        except OSError as error:
            raise _unavailable("lock", path, error) from error
        else:
            return
    raise Unavailable(f"another writer holds {path}", retry_after_s=LOCK_TRIES * LOCK_PAUSE_S)


def _write(path: Path, content: bytes, mode: int) -> None:
    opener = _opener(mode, getattr(os, "O_NOFOLLOW", 0))
    with open(path, "wb", opener=opener) as file:
        os.chmod(path, mode)  # noqa: PTH101 - beside the calls it belongs to; the umask took bits
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def _sync_directory(path: Path) -> None:
    """Make the new name outlast a power cut, on systems where a directory can be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unavailable(act: str, path: Path, error: OSError) -> Unavailable:
    return Unavailable(f"cannot {act} {path}: {error.strerror or error}")
