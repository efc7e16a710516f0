"""Directories that hold somebody's memory: their owner's alone."""

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
