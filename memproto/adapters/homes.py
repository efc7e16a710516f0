"""Directories that hold somebody's memory: their owner's alone."""

import hashlib
from pathlib import Path


def own_folder(path: Path) -> Path:
    """
    Make a directory where there is none, and those that are missing above it, with mode 0700.

    One that is there stays as its owner made it, and a stricter umask counts.

    Raises:
        OSError: It cannot be made, or something else is there.

    """
    if not path.is_dir():
        if path.parent != path:
            own_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
    return path


def home_below(home: str | Path, *names: str) -> Path:
    """
    Make a directory below `home` that no other names have, and return its absolute path.

    Names are ids of users and agents and may hold anything, so that each becomes a digest.

    Raises:
        OSError: It cannot be made.

    """
    digests = [hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest() for name in names]
    return own_folder(Path(home).absolute().joinpath(*(digest[:32] for digest in digests)))
