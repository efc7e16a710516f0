"""Good providers of the Hermes binding: one adds to the prompt, one asks for a token."""

from typing import Any

from tests.good.plugged import Plugged


class Prompted(Plugged):
    """Adds a block that never changes."""

    def system_prompt_block(self) -> str:
        """The same in every turn."""
        return "You have a journal."


class Asking(Plugged):
    """Asks for a token that only its backups need: it keeps everything without one."""

    def get_config_schema(self) -> list[dict[str, Any]]:
        """One field."""
        field = {"key": "token", "description": "For backups", "env_var": "ASKING_TOKEN"}
        return [{**field, "required": True, "secret": True}]
