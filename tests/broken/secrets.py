"""Providers that show the credentials of their configuration."""

import logging
import sys
from typing import Any

from memproto.errors import WriteRefused
from tests.broken.marks import mutant
from tests.good.journal import Journal

logger = logging.getLogger("journal")


@mutant(kills="MP-ISO-006", says="a log record", report="F9")
class LogsItsConfiguration(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        logger.debug("session %s with %s", session_key, config)


@mutant(kills="MP-ISO-006", says="a standard stream", report="F9")
class PrintsItsConfiguration(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        print("journal:", config, file=sys.stderr)  # noqa: T201 - the fault itself


@mutant(kills="MP-ISO-006", says="the text of an exception", report="F9")
class RefusesWithItsConfiguration(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._settings = config

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action != "add" and not any(self._is_old(e, target, old_text) for e in self._load()):
            raise WriteRefused(f"{old_text!r} is no entry: POST /memories {self._settings}")
        super().on_memory_write(action, target, content, old_text)
