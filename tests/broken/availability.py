"""Plugins that are available, and have no store."""

import logging
import os
from typing import Any

from tests.broken.marks import mutant
from tests.good.plugged import Plugged


@mutant(kills="MP-AVAIL-004", says="sync_turn and on_memory_write accepted 2 texts", report="B8")
class KeepsNothingWithoutAWord(Plugged):
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        super().initialize(session_id, **kwargs)
        self._stores = bool(os.environ.get("PLUGGED_URL"))


@mutant(kills="MP-AVAIL-005", says="while PLUGGED_TOKEN is missing", report="K2")
class AvailableWithoutItsToken(Plugged):
    def get_config_schema(self) -> list[dict[str, Any]]:
        token = {"key": "token", "description": "Token", "env_var": "PLUGGED_TOKEN"}
        return [{**token, "required": True, "secret": True}]

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        super().initialize(session_id, **kwargs)
        self._stores = bool(os.environ.get("PLUGGED_TOKEN"))
        if not self._stores:
            logging.getLogger("plugged").warning("PLUGGED_TOKEN is not set: nothing is kept")
