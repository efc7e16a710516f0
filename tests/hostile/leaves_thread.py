"""Leaves a thread that ends the process when nobody thinks of this provider any more."""

import os
import threading
import time
from typing import Any

from tests.good.journal import Journal


class LeavesThread(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        threading.Thread(target=_end_later, daemon=True).start()


def _end_later() -> None:
    time.sleep(1.5)
    os._exit(0)
