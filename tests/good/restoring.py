"""A good provider that needs other settings of the interpreter, and puts back what it changed."""

import gc
import os
import random
import ssl
from typing import Any

from tests.good.journal import Journal


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
