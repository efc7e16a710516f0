"""Dead: its start never ends."""

import threading
from typing import Any

from tests.good.journal import Journal


class Hangs(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        threading.Event().wait()
