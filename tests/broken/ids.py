"""Providers that use ids as they are, or make two ids one."""

import contextlib
import re
from pathlib import Path
from typing import Any

from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.tenants import Tenants, digest


@mutant(kills="MP-TENANT-004", says="UnicodeEncodeError", report="E6")
class TheSessionKeyIsEncoded(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._key = session_key.encode()


@mutant(kills="MP-TENANT-004", says="as user_id", report="E6")
class AUserIdIsAFileName(Tenants):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        (self._home / f"{self._user}.owner").write_text(str(config.get("user_id")))


@mutant(kills="MP-TENANT-004", says="what was stored did not come back", report="E6")
class LongIdsAreNotStored(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._is_known = len(session_key) <= 500

    def _save(self) -> None:
        if self._is_known:
            super()._save()


@mutant(
    kills="MP-TENANT-005", says="the session key '../../stray' it is in ../stray.txt", report="E6"
)
class ASessionKeyIsAPath(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._copy = Path(config["home"]) / "sessions" / f"{session_key}.txt"

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message, assistant_response)
        with contextlib.suppress(OSError, ValueError):
            self._copy.parent.mkdir(parents=True, exist_ok=True)
            self._copy.write_text(user_message, "utf-8")


@mutant(kills="MP-TENANT-006", says="kept apart, as user_id", report="E6")
class UserIdsAreCleaned(Tenants):
    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        cleaned = re.sub(r"[^A-Za-z0-9]+", "-", user_id) if user_id else user_id
        return digest(cleaned)


@mutant(kills="MP-TENANT-006", says="kept apart, as session key", report="E6")
class SessionKeysAreCut(Tenants):
    @staticmethod
    def name_of_session(session_key: str) -> str:
        return digest(session_key[:255])


@mutant(kills="MP-TENANT-006", says="does not come back for it", report="E6")
class ASessionReplacesItsNamesake(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._row = {"row": session_key[:100], "of": session_key}

    def _save(self) -> None:
        row, key = self._row["row"], self._row["of"]
        stored = [{**self._row, **entry} for entry in self._entries]
        self._entries = [e for e in stored if e["row"] != row or e["of"] == key]
        super()._save()
