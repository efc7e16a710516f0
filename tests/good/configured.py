"""
A small good provider that is set up by answers, and keeps its entries outside of the home.

It gives the rules on set-up and on backups something good to pass.
"""

import contextlib
import json
import os
import uuid
from pathlib import Path
from typing import Any

from tests.good.journal import Journal, within

_FIELDS: list[dict[str, Any]] = [
    {
        "key": "mode",
        "description": "Who uses the archive",
        "default": "alone",
        "choices": ["alone", "shared"],
    },
    {
        "key": "api_key",
        "description": "Key of the shared archive",
        "secret": True,
        "env_var": "CONFIGURED_API_KEY",
        "url": "https://example.org/keys",
        "when": {"mode": "shared"},
    },
    {"key": "most", "description": "The most entries that a recall shows", "default": 1_000},
    {"key": "label", "description": "A line before what is recalled", "default": ""},
    {
        "key": "archive",
        "description": "The directory of the entries",
        "env_var": "CONFIGURED_ARCHIVE",
    },
]


class Configured(Journal):
    """A journal in `~/.configured`, or where the operator wants it, set up by `configured.json`."""

    name = "configured"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        home = Path(config["home"])
        home.mkdir(parents=True, exist_ok=True)
        answers = self.answers(home)
        self._most = int(answers.get("most", 1_000))
        self._label = str(answers.get("label", ""))
        place = self._archive() / self._id(home)
        super().initialize(session_key, {**config, "home": str(place)})

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["config", "backup"]}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = super().enrich_turn(user_message, messages)
        if not found or not self._label:
            return found
        lines = [self._label, *found.split("\n")[: self._most]]
        return "\n".join(within(lines, self._recall_chars))

    # -- set-up ------------------------------------------------------------------------------------

    def get_config_schema(self) -> list[dict[str, Any]]:
        return [dict(field) for field in _FIELDS]

    def save_config(self, values: dict[str, Any], home: str) -> None:
        place = Path(home)
        place.mkdir(parents=True, exist_ok=True)
        known = {field["key"] for field in _FIELDS if not field.get("secret")}
        fresh = {key: value for key, value in values.items() if key in known}
        self.write(place, {**self.answers(place), **fresh})

    def post_setup(self, home: str, config: dict[str, Any]) -> None:
        self._id(Path(home))

    @staticmethod
    def answers(home: Path) -> dict[str, Any]:
        """The saved answers."""
        file = home / "configured.json"
        return json.loads(file.read_text("utf-8")) if file.exists() else {}

    @staticmethod
    def write(home: Path, answers: dict[str, Any]) -> None:
        fresh = home / "configured.new"
        fresh.write_text(json.dumps(answers, ensure_ascii=False), "utf-8")
        fresh.replace(home / "configured.json")

    # -- backup ------------------------------------------------------------------------------------

    def backup_paths(self) -> list[str]:
        return [str(self._archive())]

    @staticmethod
    def _archive() -> Path:
        return Path(os.environ.get("CONFIGURED_ARCHIVE") or Path.home() / ".configured")

    @staticmethod
    def _id(home: Path) -> str:
        """The name of this home's archive; it stays the same when the home is moved."""
        file = home / "archive-id"
        if not file.exists():
            fresh = home / f"{uuid.uuid4().hex}.new"
            fresh.write_text(fresh.stem, "ascii")
            with contextlib.suppress(FileExistsError):
                # Of two sessions that start together the first one wins.
                os.link(fresh, file)
            fresh.unlink()
        return file.read_text("ascii")
