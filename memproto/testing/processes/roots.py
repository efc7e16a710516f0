"""
The directory of a run: everything that it writes is below it, and nothing of it stays.

A run removes its directory however it ends, unless it is killed. It holds a lock on a file in it,
which goes with the process; a later run removes those directories that nobody holds.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memproto.errors import InvalidSettings
from memproto.testing.processes import vitals

#: Beginning of the name of a run's directory.
_PREFIX = "memproto-"

#: The file that a run holds a lock on as long as it lives; it gets its name once it is locked.
_LOCK, _NEW_LOCK = "owner.lock", "owner.new"

#: The descriptors of the locks that this process holds, by directory.
_held: dict[Path, int] = {}


def new_root() -> Path:
    """
    A new directory for one run of the kit; what killed runs have left beside it is removed.

    Raises:
        InvalidSettings: The temporary directory lies inside an agent's real home.

    """
    root = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    for home in _agent_homes():
        if root.is_relative_to(home):
            shutil.rmtree(root, ignore_errors=True)
            raise InvalidSettings(
                f"TMPDIR={tempfile.gettempdir()}",
                f"lies inside the agent's home {home}, which the kit must not touch",
                "set TMPDIR to a directory outside of it",
            )
    _held[root] = _locked(root / _NEW_LOCK, os.O_CREAT)
    (root / _NEW_LOCK).rename(root / _LOCK)
    _remove_dead(root.parent)
    return root


def _agent_homes() -> list[Path]:
    named = os.environ.get("HERMES_HOME")
    homes = [Path.home() / ".hermes"]
    return [path.resolve() for path in ([Path(named)] if named else []) + homes]


def _locked(file: Path, flags: int = 0) -> int:
    """
    Hold the lock on a file; gives its descriptor.

    Raises:
        OSError: Somebody else holds it, or there is none.

    """
    flags |= os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(file, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


# -- removing --------------------------------------------------------------------------------------


def remove(root: Path) -> None:
    """Remove a run's directory, whatever a provider did to its permissions."""
    descriptor = _held.pop(root, None)
    if descriptor is not None:
        os.close(descriptor)
    shutil.rmtree(root, ignore_errors=True)
    _open_up(root)
    for folder, names, _ in os.walk(root):
        for name in names:
            _open_up(Path(folder, name))
    shutil.rmtree(root, ignore_errors=True)


def _open_up(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if not folder.is_symlink():
            folder.chmod(stat.S_IRWXU)


def _remove_dead(parent: Path) -> None:
    """Remove what dead runs have left, and end what still runs there."""
    for root in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError), _taken_over(root):
            vitals.end_strays(root)
            remove(root)


@contextlib.contextmanager
def _taken_over(root: Path) -> Iterator[None]:
    """
    Hold in the body what a dead run has left.

    Raises:
        OSError: It is held, is another user's, or is no directory of a run's: one without its lock
            is of somebody else, or of a run that is about to take it.

    """
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise PermissionError
    descriptor = _locked(root / _LOCK)
    try:
        yield
    finally:
        os.close(descriptor)
