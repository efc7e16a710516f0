"""Hostile providers whose words are made for terminals, runners and readers of logs."""

import logging
import os
from typing import Any

from tests.good.journal import Journal
from tests.harmless import HOSTILE
from tests.hostile.marks import hostile


@hostile("MP-RECALL-006", says="RuntimeError")
class SpeaksInErrors(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        raise RuntimeError(HOSTILE)


@hostile("MP-NAME-001", "MP-NAME-002", "MP-NAME-003")
class SpeaksInItsName(Journal):
    name = HOSTILE


@hostile("MP-CAP-001", "MP-CAP-002")
class SpeaksInItsDeclarations(Journal):
    def capabilities(self) -> dict[str, Any]:
        return {HOSTILE: HOSTILE, "extensions": [HOSTILE], "stores": [HOSTILE]}


@hostile("MP-ISO-003", says="exit code 7")
class SpeaksOnItsStreamsAndEnds(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        for descriptor in (1, 2):
            os.write(descriptor, HOSTILE.encode("utf-8", "replace"))
        logging.getLogger("x").error(HOSTILE)
        os._exit(7)
