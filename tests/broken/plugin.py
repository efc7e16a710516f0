"""Broken plugins of the Hermes binding; those whose manifest is broken are packages beside this."""

import os
from typing import Any

from tests.broken.marks import mutant
from tests.good.plugged import Plugged


@mutant(kills="MP-LOAD-008", says="has no get_tool_schemas", report="K1")
class StandInLacksAHook(Plugged):
    get_tool_schemas = None


@mutant(kills="MP-LOAD-008", says="has no handle_tool_call, and offers tools", report="K1")
class OffersToolsWithoutAHandler(Plugged):
    handle_tool_call = None

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        parameters = {"type": "object", "properties": {}}
        return [{"name": "berths", "description": "Free berths.", "parameters": parameters}]


@mutant(kills="MP-PLUG-003", says="below the HERMES_HOME of the environment", report="E3")
class VariableBeforeArgument(Plugged):
    @staticmethod
    def _home(hermes_home: str = "", **_: Any) -> str:
        return os.environ["HERMES_HOME"] or hermes_home
