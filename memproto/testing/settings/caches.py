"""Directories that all checks of a run share on purpose: models and other downloads."""

import os
from collections.abc import Sequence
from pathlib import Path

from memproto.testing.settings.keys import is_variable


class Caches:
    """
    The directories behind the setting `caches`.

    Attributes:
        env: The variables among the entries, with their directories.
        directories: All of the directories; what lies in them is no memory.

    """

    def __init__(self, entries: Sequence[str], root: Path) -> None:
        found = {entry: _directory(entry, root) for entry in entries}
        self.env = {entry: path for entry, path in found.items() if is_variable(entry)}
        self.directories = list(found.values())
        self._links = {entry: path for entry, path in found.items() if entry not in self.env}

    def enter(self, home: Path) -> None:
        """Have the paths among the entries lead, below a check's HOME, to the shared ones."""
        for entry, path in self._links.items():
            link = home / entry
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path, target_is_directory=True)


def _directory(entry: str, root: Path) -> str:
    """The user's directory, if a variable names one; else one of the run, which is created."""
    named = os.environ.get(entry) if is_variable(entry) else None
    if named:
        return str(Path(named).expanduser().absolute())
    own = root / entry
    own.mkdir(parents=True, exist_ok=True)
    return str(own)
