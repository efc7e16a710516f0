"""Ends the process in the middle of a hook, past every handler."""

import os

from tests.good.journal import Journal


class Exits(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        os._exit(0)
