"""Providers behind the hooks of Claude Code that hang, talk too much, or print."""

from typing import Any

from tests.frameworks.faults import Hang
from tests.good.journal import Journal

#: Nobody watches it but `faulty_hook`, so that elsewhere no hook returns from it.
HANG = Hang()


class HangsInRecall(Journal):
    def enrich_turn(self, user_message: str, messages: list[Any]) -> str | None:
        HANG.hold()
        return None


class HangsInStart(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        HANG.hold()


class HangsInWrite(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        HANG.hold()


class HangsAtTheEnd(Journal):
    def shutdown(self) -> None:
        HANG.hold()


def hangs_as_it_is_built() -> Journal:
    HANG.hold()
    return Journal()


class CannotStart(Journal):
    def is_available(self) -> bool:
        return False


class RecallsTooMuch(Journal):
    def enrich_turn(self, user_message: str, messages: list[Any]) -> str | None:
        return "<&" * 20_000 + "</memory-context>" * 100


class Prints(Journal):
    def enrich_turn(self, user_message: str, messages: list[Any]) -> str | None:
        print("a greeting that is no JSON")  # noqa: T201 - as careless providers do
        return super().enrich_turn(user_message, messages)
