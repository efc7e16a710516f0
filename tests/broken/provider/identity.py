"""Broken loading, names and availability."""

import itertools
import logging
import os
import socket
import time
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.plugged import Plugged


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


@mutant(kills="MP-NAME-004", says="writer", report="E8")
class IdentityIsThatOfTheObject(Plugged):
    def identity_signature(self) -> dict[str, Any]:
        return {"plugged.writer": id(self)}


@mutant(kills="MP-NAME-004", says="AttributeError", report="E8")
class IdentityNeedsASession(Plugged):
    def identity_signature(self) -> dict[str, Any]:
        return {"plugged.session": self._session}  # type: ignore[attr-defined]  # the fault


@mutant(kills="MP-NAME-004", says="used a socket", report="B8")
class IdentityAsksTheBackend(Plugged):
    def identity_signature(self) -> dict[str, Any]:
        with socket.socket() as client:
            client.settimeout(0.5)
            client.connect_ex(("127.0.0.1", 9))
        return {}


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


# -- availability ----------------------------------------------------------------------------------

# Plugins that are available, and have no store.


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
