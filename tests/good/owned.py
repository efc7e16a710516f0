"""A small good provider with tools that keeps users apart: a file of notes for each of them."""

from pathlib import Path
from typing import Any

from tests.good.tenants import digest
from tests.good.tooled import Tooled


class Owned(Tooled):
    """Journal and notes of each user, in `USER/journal.jsonl` below the home."""

    name = "owned"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self._home = Path(config["home"])
        place = self._home / digest(config.get("user_id"))
        super().initialize(session_key, {**config, "home": str(place)})

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user"]}
