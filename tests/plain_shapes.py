"""Small good providers of shapes in which a host without the kit may be served otherwise."""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.good.journal import Journal
from tests.good.tooled import Tooled

#: The home at import, as many programs make the names of their directories.
HOME_AT_IMPORT = Path.home()


class NotesOnly(Tooled):
    """Stores by its tools alone."""

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "stores": ["tools"]}

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """It stores no turns."""

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """It stores no writes."""


class TurnsOnly(Journal):
    """Stores turns alone."""

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "stores": ["turns"], "mirrors": {}}

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """It stores no writes."""


class CompressOnly(TurnsOnly):
    """Stores nothing: it shortens."""

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "stores": []}

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """It stores no turns."""


class WhereItWasImported(Journal):
    """Keeps its file below the home directory that there was as it was imported."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        own = HOME_AT_IMPORT / "shared" / config["agent_identity"]
        super().initialize(session_key, {**config, "home": str(own)})


class WarmsUp(Journal):
    """Answers nothing until what its constructor started is warm, in each process once."""

    _warm = threading.Event()

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        threading.Thread(target=self._warms, daemon=True).start()

    def _warms(self) -> None:
        time.sleep(0.2)
        self._warm.set()

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return super().enrich_turn(user_message, messages) if self._warm.is_set() else None


class LateWithoutTheKit(TurnsOnly):
    """Its worker happens to be slower in one process, and shutdown does not wait for it."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if "memproto.testing" in sys.modules:
            super().on_turn_complete(user_message, assistant_response)
            return
        store = super().on_turn_complete
        self._worker = threading.Timer(0.3, store, (user_message, assistant_response))
        self._worker.daemon = True
        self._worker.start()

    def shutdown(self) -> None:
        if "memproto.testing" not in sys.modules:
            self._worker.cancel()
        super().shutdown()


class Keyed(Journal):
    """Needs a key of its settings: one in the environment and one in its config."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        if os.environ["KEYED_API_KEY"] != config["api_key"]:
            raise RuntimeError("the two keys differ")
        super().initialize(session_key, config)
