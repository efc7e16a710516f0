"""Good providers that tidy: what is stored, at the exit, or what they change for a while."""

import atexit
import gc
import os
import random
import ssl
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


class Restoring(Journal):
    """Its home is its owner's alone; it draws lots, and looks at certificates by its own rules."""

    name = "restoring"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        random.shuffle(list(config))
        self._draw = random.Random(42)
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        mask = os.umask(0o077)
        collected = gc.isenabled()
        gc.disable()
        try:
            super().initialize(session_key, config)
        finally:
            os.umask(mask)
            if collected:
                gc.enable()
