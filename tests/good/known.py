"""A small good provider that serves known users alone: without a `user_id` it does not start."""

from typing import Any

from memproto.errors import Misconfigured
from tests.good.journal import Journal


class Known(Journal):
    """A journal for a user whose id the host has to hand over."""

    name = "known"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        if not config.get("user_id"):
            raise Misconfigured("user_id is not set; name the user in the host's configuration")
        super().initialize(session_key, config)
