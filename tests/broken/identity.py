"""Broken loading, names and availability."""

import itertools
import socket
import time
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal


@mutant(kills="MP-NAME-001", says="None", report="K1")
class NameIsMissing(Journal):
    name = None


@mutant(kills="MP-NAME-002", says="'My Journal'", report="F3")
class NameWithASpace(Journal):
    name = "My Journal"


@mutant(kills="MP-NAME-003", says="after initialize: 'journal-session", report="E8")
class NameFollowsTheSession(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self.name = f"journal-{session_key}"


@mutant(kills="MP-AVAIL-002", says="[True, False", report="B8")
class AvailabilityFlaps(Journal):
    def __init__(self) -> None:
        super().__init__()
        self._answers = itertools.cycle((True, False))

    def is_available(self) -> bool:
        return next(self._answers)


@mutant(kills="MP-AVAIL-001", says="KeyError", report="B8")
class AvailabilityRaises(Journal):
    def is_available(self) -> bool:
        raise KeyError("JOURNAL_KEY")


@mutant(kills="MP-AVAIL-003", says="used a socket", report="B8")
class AvailabilityAsksTheBackend(Journal):
    def is_available(self) -> bool:
        with socket.socket() as client:
            client.settimeout(0.5)
            client.connect_ex(("127.0.0.1", 9))
        return True


@mutant(kills="MP-LOAD-001", says="had not returned", report="K3", scale=0.05)
class BuildingHangs(Journal):
    def __init__(self) -> None:
        time.sleep(3600)
