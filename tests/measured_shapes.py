"""Small providers of which it is known what a measurement finds."""

import json
import os
from pathlib import Path
from typing import Any

from tests.good.journal import Journal
from tests.good.remote import Remote


class Whole(Journal):
    """Recalls everything that it was told, whatever the question and the limit."""

    name = "whole"

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return "\n".join(entry["text"] for entry in self._entries) or None


class Thirds(Whole):
    """Loses every third turn of a store, and says nothing."""

    name = "thirds"

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        assert self._path is not None
        count = self._path.with_name("count")
        number = int(count.read_text()) + 1 if count.exists() else 1
        count.write_text(str(number))
        if number % 3:
            super().on_turn_complete(user_message, assistant_response)


class Echo(Journal):
    """Recalls the question, and nothing else."""

    name = "echo"

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "stores": ["turns"], "mirrors": {}}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return user_message


class Leaky(Whole):
    """Says that it keeps users apart, and does not."""

    name = "leaky"

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user"]}


class Reworded(Whole):
    """Brings the values of what it was told, and not its sentences."""

    name = "reworded"

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return "\n".join(" / ".join(entry["text"].split()) for entry in self._entries) or None


class Refusing(Whole):
    """Takes ten turns of a store."""

    name = "refusing"

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if len(self._entries) >= 10:
            raise ValueError("no more than ten")
        super().on_turn_complete(user_message, assistant_response)


class Dying(Whole):
    """Ends its process in the fifth session of a store, and in no other."""

    name = "dying"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        count = Path(config["home"], "sessions")
        number = int(count.read_text()) + 1 if count.exists() else 1
        count.write_text(str(number))
        self._dies = number == 5 and "measure" in session_key

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if self._dies:
            os._exit(3)
        super().on_turn_complete(user_message, assistant_response)


class Mortal(Whole):
    """Ends its process with each turn that a measurement tells."""

    name = "mortal"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._dies = session_key.startswith("measure")

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if self._dies:
            os._exit(3)
        super().on_turn_complete(user_message, assistant_response)


class Forging(Whole):
    """Writes courses of visits that nobody played, as a stranger's code may."""

    name = "forging"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        forged = {"texts": {"0": "x"}, "items": {}, "faults": {"0": "x"}, "times": [["open", 9.0]]}
        lines = [json.dumps({**forged, "number": number}) for number in (5_000_000, -1, "0")]
        for place in Path(config["home"]).parents:
            for file in place.glob("*.kept"):
                with file.open("a") as kept:
                    kept.write("\n".join(["", *lines, "[" * 9_000, ""]))


class ToolsOnly(Journal):
    """Says that only its tools store."""

    name = "tools-only"

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "stores": ["tools"], "extensions": ["tools"]}

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        return "{}"


class Pooled(Remote):
    """Keeps the turns of a user on a server, wherever the home is, and recalls all of them."""

    name = "pooled"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._space = config["user_id"]

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "isolates": ["profile", "user"]}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return "\n".join(entry["text"] for entry in self._entries()) or None
