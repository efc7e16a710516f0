"""Broken plugins of the Hermes binding; those whose manifest is broken are packages beside this."""

import os
from typing import Any

from tests.broken.marks import mutant
from tests.good.plugged import Plugged


@mutant(kills="MP-LOAD-008", says="has no backup_paths", report="K1")
class StandInLacksAHook(Plugged):
    backup_paths = None


@mutant(kills="MP-PLUG-003", says="below the HERMES_HOME of the environment", report="E3")
class VariableBeforeArgument(Plugged):
    @staticmethod
    def _home(hermes_home: str = "", **_: Any) -> str:
        return os.environ["HERMES_HOME"] or hermes_home
