"""The file and line of a result, as seen from the root of the repository that holds them."""

import os
from collections.abc import Mapping
from pathlib import Path

from memproto.testing import os_names


def root_of(directory: Path, environment: Mapping[str, str]) -> Path:
    """The root of the checkout: that of the job, else the nearest folder with `.git`, else here."""
    named = environment.get("GITHUB_WORKSPACE")
    if named:
        return Path(named)
    here = directory.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def place(where: str, directory: Path, root: Path) -> tuple[str, int] | None:
    """
    File and line of a row's `where`, relative to `root`; None if it is no file below it.

    `directory` is the one that the run was called from, which `where` is relative to.
    """
    name, _, line = where.partition(" in ")[0].rpartition(":")
    if not (name and line.isdecimal()):
        return None
    path = os_names.shown(name, directory)
    if not os.path.isfile(path):  # noqa: PTH113 - a Path raises for a long one
        return None
    shown = os.path.relpath(path.resolve(), root.resolve())
    return None if shown.startswith("..") else (shown, int(line))
