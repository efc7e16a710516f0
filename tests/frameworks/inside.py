"""Providers for an agent of a framework, by name, and the session that a test asks for."""

import dataclasses
import json
import sys
import threading
from pathlib import Path
from typing import Any

from memproto import Deadlines, loading
from tests.frameworks import faults
from tests.good.journal import Journal
from tests.good.tooled import Tooled
from tests.good.wired import Wired

#: The hooks of one life, in each of which a provider may hang.
HANGING = ("initialize", "get_tool_schemas", "system_prompt_block", "on_turn_start", "enrich_turn")
HANGING += ("handle_tool_call", "on_turn_complete", "on_session_end", "shutdown")

#: The fields of `Deadlines` that bound these hooks.
BUDGETS = ("initialize_s", "enrich_s", "shutdown_s", "tool_s", "turn_start_s", "ask_s")

#: Seconds for each of them in a session whose provider does not hang, on a machine that is busy.
_AMPLE_S = 120.0

#: The hook of this process that hangs, if one does.
HANG = faults.Hang()


class Gated(Journal):
    """Takes a turn only once the gate is open."""

    name = "gated"
    gate = threading.Event()

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self.gate.wait()
        super().on_turn_complete(user_message, assistant_response)


class Prompted(Tooled):
    """Has a block for the system prompt too, and hears of begun turns and ended sessions."""

    name = "prompted"

    def capabilities(self) -> dict[str, Any]:
        return {**super().capabilities(), "extensions": ["tools", "prompt", "turns", "sessions"]}

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        pass

    def on_session_end(self, messages: list[Any]) -> None:
        pass

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        pass

    def system_prompt_block(self) -> str:
        return "Notes are kept for the harbour."


class Rereads(Journal):
    """Coroutine hooks over a journal."""

    name = "rereads"

    async def enrich_turn(self, user_message: str, messages: list[Any]) -> str | None:  # type: ignore[override]
        return super().enrich_turn(user_message, messages)

    async def on_turn_complete(self, user_message: str, assistant_response: str) -> None:  # type: ignore[override]
        super().on_turn_complete(user_message, assistant_response)


def hanging(hook: str) -> type:
    """A provider whose hook returns only if an agent was held by it."""

    def hang(self: Any, *args: Any, **kwargs: Any) -> Any:
        HANG.hold()

    return type("Hangs", (Prompted,), {hook: hang})


def factory(kind: str) -> Any:
    """The function that builds a provider of a kind."""
    name, _, hook = kind.partition(":")
    if name == "hangs":
        return hanging(hook)
    if name == "hermes":
        return loading.load("tests.good.tooled:HermesTooled").build
    made = {"journal": Journal, "tooled": Tooled, "prompted": Prompted, "gated": Gated}
    return {**made, "wire": Wired, "coroutines": Rereads}[name]


@dataclasses.dataclass
class Asked:
    """
    The session that a test asks for, as JSON in the first argument.

    Attributes:
        kind: The provider's, as `factory` takes it.
        home: The directory of the memory.
        says: The user's messages, one for each turn.
        calls: The name and the arguments of the tool that the model calls first.
        deadlines: Fields of `Deadlines`; the others are ample.
        user_id: The user; None if there is one.
        own_tools: Names of the agent's own tools.
        streams: True if the answer is read as it streams.
        fault: One of `faults`, "" for none.
        patience_s: Seconds in which a hook that hangs may not hold the agent or its end.
        close_s: Seconds for which the gate stays shut while the memory is closed; None to leave
            the end to the end of the process.

    """

    kind: str
    home: str
    says: list[str]
    calls: list[Any] | None = None
    deadlines: dict[str, float] = dataclasses.field(default_factory=dict)
    user_id: str | None = None
    own_tools: list[str] = dataclasses.field(default_factory=list)
    streams: bool = False
    fault: str = ""
    patience_s: float = 60.0
    close_s: float | None = 0.1

    @classmethod
    def read(cls) -> "Asked":
        """The session, with its fault put in and its hang watched."""
        asked = cls(**json.loads(sys.argv[1]))
        faults.put_in(asked.fault)
        HANG.watched(asked.patience_s)
        return asked

    def arguments(self) -> dict[str, Any]:
        """Arguments of the memory beside the factory and the home."""
        return {"deadlines": Deadlines(**{**dict.fromkeys(BUDGETS, _AMPLE_S), **self.deadlines})}


def stored(home: str) -> str:
    """All that the journals below a home hold."""
    return "".join(path.read_text("utf-8") for path in Path(home).rglob("journal.jsonl"))


def told(home: str, **said: Any) -> None:
    """The one line that the script says, with what is stored; then the gate opens."""
    said = {**said, "held": HANG.is_held, "after": stored(home)}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()
    Gated.gate.set()
