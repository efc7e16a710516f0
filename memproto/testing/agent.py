"""
The kit's own agent: a registry as a host has it, driven by the steps of `HostDriver`.

`RegistryDriver` puts any registry behind the steps; `Agent` is a whole host on the reference
registry, in about as many lines as a driver takes, and a good one.
"""

import datetime as dt
import itertools
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from memproto.deadlines import Deadlines
from memproto.fence import inject_memory_context
from memproto.fence.scrubber import StreamingContextScrubber
from memproto.operations import EXTENSION_HOOKS
from memproto.registry import MemoryProviderRegistry, Policy
from memproto.testing.driver import Compressed, HostDriver, Start, SwitchKind, Turn
from memproto.testing.instruments.loops import Loop, is_async

#: Step to the method of a registry without which it cannot be taken.
_NEEDS = {
    "register_program": "register_program",
    "end": "on_session_end",
    "switch": "on_session_switch",
    "delegate": "on_delegation",
    "tools": "get_tool_schemas",
    "call_tool": "handle_tool_call",
    "prompt": "system_prompt_block",
    "record_turn": "record",
    "backup_paths": "backup_paths",
    "forget": "forget",
}

#: The extensions whose methods this agent calls.
DRIVES = frozenset(EXTENSION_HOOKS) - {"config", "checkpoint", "status", "items"}

OWN_TOOL = "ask_user"

_REFUSED = "I cannot answer that."


class Rules:
    """The operator's rules: tools by name; changed when a session starts."""

    def __init__(self) -> None:
        self.denied: frozenset[str] = frozenset()

    def policy(self) -> Policy:
        """The policy of a registry, which follows these rules."""
        own = frozenset({OWN_TOOL})
        return Policy(reserved_tools=own, allows_tool=self._allows, drives=DRIVES)

    def _allows(self, _provider: str, tool: str) -> bool:
        return tool not in self.denied


class RegistryDriver(HostDriver):
    """
    An agent around a registry that does nothing which the registry itself is to do.

    Methods that are coroutine functions run on a loop of the driver's own.

    Attributes:
        registry: The registry.
        loop: The loop of its coroutines; None for a registry without.

    """

    own_tool = OWN_TOOL

    def __init__(self, registry: Any, rules: Rules | None = None) -> None:
        self.registry = registry
        self._rules = rules
        self.loop = Loop() if is_async(registry) else None
        missing = {step: name for step, name in _NEEDS.items() if not self._has(name)}
        self.without: Mapping[str, str] = {
            step: f"{type(registry).__name__} has no `{name}`" for step, name in missing.items()
        }
        if rules is None:
            self.own_tool = ""
        self._history: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._key = ""

    def _has(self, method: str) -> bool:
        return callable(getattr(self.registry, method, None))

    def _do(self, method: str, *args: Any, **kwargs: Any) -> Any:
        function: Callable[..., Any] = getattr(self.registry, method)
        if self.loop is None:
            return function(*args, **kwargs)
        return self.loop.run(function, *args, **kwargs)

    def dismiss(self) -> None:
        """Let the loop's thread go, where there is one."""
        if self.loop is not None:
            self.loop.stop()

    # -- the life of a session --------------------------------------------------------------------

    def register(self, provider: Any) -> None:
        """Hand it to the registry."""
        self._do("register", provider)

    def register_program(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Have the registry start it."""
        self._do("register_program", command, env=env)

    def start(self, session: Start) -> None:
        """Initialize all."""
        self._key, self._model = session.session_id, session.model
        if self._rules is not None:
            self._rules.denied = session.denied_tools
        self._do("initialize_all", session.session_id, session.config)

    def end(self) -> None:
        """The end, with what was said."""
        self._do("on_session_end", self._history)

    def exit(self) -> None:
        """Shut everything down."""
        self._do("shutdown_all")

    # -- turns ------------------------------------------------------------------------------------

    def turn(self, user_message: str) -> Turn:
        """A turn whose answer is shown when it is whole."""
        shown = "".join(self._shown(self._answered(user_message)))
        self._finish(user_message, shown)
        return Turn(shown)

    def stream(self, user_message: str) -> Turn:
        """A turn whose answer is shown as it comes, which is no other text."""
        return self.turn(user_message)

    def interrupt(self, user_message: str) -> Turn:
        """The answer is left after its first piece, and the turn with it."""
        first = itertools.islice(self._answered(user_message), 1)
        return Turn("".join(self._shown(first)))

    def reject(self, user_message: str) -> Turn:
        """The answer is whole, and nobody sees it."""
        "".join(self._answered(user_message))
        return Turn(_REFUSED)

    def _answered(self, user_message: str) -> Iterator[str]:
        """The model's answer to a request with the recalled texts."""
        if self._has("on_turn_start"):
            self._do("on_turn_start", next(self._numbers), user_message)
        recalled = self.recall(user_message, self._history)
        content = inject_memory_context(user_message, recalled)
        return self._model([*self._history, {"role": "user", "content": content}])

    def _shown(self, pieces: Iterator[str]) -> Iterator[str]:
        """The user's view of an answer: no block that the model repeats."""
        scrubber = StreamingContextScrubber()
        for piece in pieces:
            yield scrubber.feed(piece)
        yield scrubber.flush()

    def _finish(self, user_message: str, shown: str) -> None:
        """Keep the turn in the conversation, as it was written and seen, and record it."""
        self._history.append({"role": "user", "content": user_message})
        self._history.append({"role": "assistant", "content": shown})
        if self._has("record"):
            self.record_turn(self._described(user_message, shown))
        else:
            self.record(user_message, shown)

    def _described(self, user_message: str, shown: str) -> dict[str, Any]:
        now = dt.datetime.now(dt.UTC).isoformat()
        texts = {"user_message": user_message, "assistant_response": shown}
        # No number in the session: one that is resumed would count anew.
        turn_id = uuid.uuid4().hex
        return {"turn_id": turn_id, "started_at": now, "ended_at": now, **texts}

    # -- parts of a turn --------------------------------------------------------------------------

    def recall(
        self, user_message: str, messages: Sequence[dict[str, Any]]
    ) -> list[tuple[str, str]]:
        """Recall by the registry."""
        answer: list[tuple[str, str]] = self._do("enrich_turn", user_message, messages)
        return answer

    def record(self, user_message: str, answer: str) -> None:
        """Record a turn of two texts."""
        self._do("on_turn_complete", user_message, answer)

    def record_turn(self, turn: dict[str, Any]) -> None:
        """Record a whole turn."""
        self._do("record", turn)

    # -- tools ------------------------------------------------------------------------------------

    def write_memory(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """A memory tool without a file of its own: what it wrote is mirrored."""
        self._do("on_memory_write", action, target, content, old_text)

    def refuse_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Mirrors nothing, since nothing was written."""

    def tools(self) -> list[dict[str, Any]]:
        """The tools of the providers."""
        schemas: list[dict[str, Any]] = self._do("get_tool_schemas")
        return schemas

    def call_tool(self, name: str, args: Any) -> Any:
        """The host's own tool first."""
        if name == self.own_tool:
            return json.dumps({"success": True, "asked": "the user"})
        return self._do("handle_tool_call", name, args)

    def prompt(self) -> str:
        """Text that providers add to the system prompt."""
        return str(self._do("system_prompt_block"))

    # -- boundaries -------------------------------------------------------------------------------

    def compress(self, messages: list[dict[str, Any]], compression_count: int) -> Compressed:
        """Show them to the providers, and ask those for notes."""
        if self._do("on_compress", messages, compression_count) is not None:
            return Compressed(kept=True)
        if not self._has("compress_notes"):
            return Compressed()
        return Compressed(asked=self._do("compress_notes", messages))

    def switch(self, kind: SwitchKind, new_session_id: str) -> None:
        """Say which kind it is by the arguments of the specification."""
        parent = self._key if kind in ("resume", "branch", "compress") else ""
        kinds = {"reset": kind == "new", "rewound": kind == "rewind"}
        self._do("on_session_switch", new_session_id, parent_session_id=parent, **kinds)
        self._key = new_session_id
        if kind in ("new", "resume"):
            self._history = []

    def delegate(self, task: str, result: str, child_session_id: str) -> None:
        """Tell what a subagent answered."""
        self._do("on_delegation", task, result, child_session_id=child_session_id)

    # -- at the operator's wish -------------------------------------------------------------------

    def backup_paths(self) -> list[str]:
        """The paths of all providers that answered."""
        answers = self._do("backup_paths")
        return [path for answer in answers for path in answer.document or ()]

    def forget(self, scope: dict[str, Any]) -> Any:
        """Have it forgotten by all; what the registry gives."""
        return self._do("forget", scope)


class Agent(RegistryDriver):
    """A whole host on the reference registry."""

    def __init__(
        self,
        *,
        deadlines: Deadlines | None = None,
        on_event: Callable[[Any], None] | None = None,
    ) -> None:
        rules = Rules()
        registry = MemoryProviderRegistry(
            deadlines=deadlines, on_event=on_event, policy=rules.policy()
        )
        super().__init__(registry, rules)

    def switch(self, kind: SwitchKind, new_session_id: str) -> None:
        """End the conversation that is left for good, with what was said in it."""
        if kind == "new":
            self.end()
        super().switch(kind, new_session_id)

    def exit(self) -> None:
        """End the conversation before everything is shut down."""
        self.end()
        super().exit()
