"""Has every member, and none of them does a thing."""

from typing import Any


class DoesNothing:
    name = "nothing"

    def is_available(self) -> bool:
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        pass

    def capabilities(self) -> dict[str, Any]:
        return {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return None

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        pass

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        pass

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        pass

    def shutdown(self) -> None:
        pass
