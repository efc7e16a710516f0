"""
Small good providers that keep profiles and users apart: one a file for each session, one notes too.

Ids are untrusted: a file is named by a hash of what the id says, and of whether there is one.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.good.journal import Journal
from tests.good.tooled import HermesTooled, Tooled


class Tenants(Journal):
    """A journal for each user and session, in `USER/SESSION/journal.jsonl` below the home."""

    name = "tenants"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._home = Path(config["home"])
        self._user = self.name_of_user(config.get("user_id"))
        self._session = self.name_of_session(session_key)
        place = self._home / self._user / self._session
        super().initialize(session_key, {**config, "home": str(place)})

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user", "session"]}

    @staticmethod
    def name_of_user(user_id: str | None) -> str:
        return digest(user_id)

    @staticmethod
    def name_of_session(session_key: str) -> str:
        return digest(session_key)


def digest(value: str | None) -> str:
    """A file name for any id, another one for every other id, and one for no id."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


class Owned(Tooled):
    """Journal and notes of each user, in `USER/journal.jsonl` below the home."""

    name = "owned"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._home = Path(config["home"])
        place = self._home / digest(config.get("user_id"))
        super().initialize(session_key, {**config, "home": str(place)})

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user"]}


class HermesTooledByUser(HermesTooled):
    """The plugin with notes, of which each user has a journal."""

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self.home = Path(kwargs["hermes_home"])
        place = str(self.home / digest(kwargs.get("user_id")))
        super().initialize(session_id, **{**kwargs, "hermes_home": place})


class HermesPromptedByUser(HermesTooledByUser):
    """The same with a block of the newest entries of its user."""

    _block = ""

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        super().initialize(session_id, **kwargs)
        newest = [entry["text"][:200] for entry in self.notes.entries()[-5:]]
        self._block = "\n- ".join(["You keep notes. The newest:", *newest]) if newest else ""

    def system_prompt_block(self) -> str:
        """The snapshot that `initialize` took."""
        return self._block
