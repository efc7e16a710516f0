"""A good provider with a function at exit: it tidies what is stored, and takes nothing from it."""

import atexit
from pathlib import Path
from typing import Any, ClassVar

from tests.good.journal import Journal


class Tidying(Journal):
    """Writes its file anew when the process ends, from what the file holds by then."""

    name = "tidying"
    opened: ClassVar[set[Path]] = set()

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        assert self._path is not None
        if not self.opened:
            atexit.register(self._tidy_all)
        self.opened.add(self._path)

    @classmethod
    def _tidy_all(cls) -> None:
        for path in cls.opened:
            if path.exists():
                cls()._tidy(path)

    def _tidy(self, path: Path) -> None:
        self._path = path
        with self._changing():
            self._save()
