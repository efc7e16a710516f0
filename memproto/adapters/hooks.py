"""
Plugins that have functions for the hooks of an agent's loop and no provider, as `MemoryProvider`.

A host with such hooks hands a plugin a context, and the plugin registers functions there by the
hook's name. The context here takes these functions; the provider calls them where the operations
of the specification come.
"""

import json
import logging
import types
from collections.abc import Callable, Mapping
from typing import Any

from memproto.adapters.coroutines import is_coroutine_function
from memproto.adapters.hooks_turns import RecordedTurns, tool_calls
from memproto.adapters.signatures import call_with_accepted
from memproto.adapters.texts import cut_at_line
from memproto.errors import NotAProvider
from memproto.types import SPEC_VERSION, Capabilities, Message, is_of_bot

logger = logging.getLogger("memproto.adapters.hooks")

#: The hooks that an operation is mapped to, in the order of a session's life.
HOOKS = (
    "on_session_start",
    "pre_llm_call",
    "pre_tool_call",
    "post_tool_call",
    "post_llm_call",
    "on_session_end",
    "on_session_finalize",
)

#: Hook in which the author of a plugin looks for the work of a native hook.
_SERVED_BY = {
    "initialize": "on_session_start",
    "enrich_turn": "pre_llm_call",
    "on_turn_complete": "post_llm_call",
    "record": "post_llm_call",
    "on_memory_write": "post_tool_call",
    "shutdown": "on_session_finalize",
}

_TOOL_HOOKS = ("pre_tool_call", "post_tool_call")
_MEMORY_TOOL = "memory"


class HookContext:
    """
    Context that `register(ctx)` of a plugin gets: it takes functions for hooks, notes the rest.

    Attributes:
        functions: Hook to the functions that were registered for it, in order.
        left_out: Other things that the plugin asked of the context, accepted without effect.

    """

    def __init__(self) -> None:
        self.functions: dict[str, list[Callable[..., Any]]] = {}
        self.left_out: list[str] = []

    def register_hook(self, hook_name: str, function: Callable[..., Any]) -> None:
        """Take `function` for a hook of any name."""
        self.functions.setdefault(hook_name, []).append(function)

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_"):
            raise AttributeError(name)
        self.left_out.append(name)
        return lambda *_, **__: None


def from_hooks(plugin: Any, name: str) -> "HooksAdapter":
    """
    Returns a plugin that registers functions for hooks as a `MemoryProvider`.

    `plugin` is its `register` function, or whatever has it: a module, an object. It is called
    here, once, with a `HookContext`. `name` is the provider's, since such a plugin has none.

    Raises:
        NotAProvider: There is no `register`, it registered for none of `HOOKS`, or what it
            registered cannot be called or is a coroutine function.

    """
    register = getattr(plugin, "register", plugin)
    if not callable(register):
        raise NotAProvider(f"{name}: {type(plugin).__name__} has no register(ctx)")
    context = HookContext()
    register(context)
    return from_registered(context, name)


def from_registered(context: "HookContext", name: str) -> "HooksAdapter":
    """As `from_hooks`, where `register` was called already, with this context."""
    _check(context.functions, name)
    has_tools = any(hook in context.functions for hook in _TOOL_HOOKS)
    return ToolHooksAdapter(context, name) if has_tools else HooksAdapter(context, name)


def _check(functions: Mapping[str, list[Callable[..., Any]]], name: str) -> None:
    if not any(hook in functions for hook in HOOKS):
        found = ", ".join(map(str, functions)) or "none"
        raise NotAProvider(f"{name} registers for none of {', '.join(HOOKS)}, but for: {found}")
    for hook, registered in functions.items():
        if not all(map(callable, registered)):
            raise NotAProvider(f"{name} registers for {hook} what cannot be called")
        if any(map(is_coroutine_function, registered)):
            raise NotAProvider(f"{name} registers a coroutine function for {hook}")


class HooksAdapter:
    """
    The functions of a plugin in the native binding; built by `from_hooks`.

    They are called with the keywords that they take. Adds no lock: as the specification has it, a
    recall may run beside a write. If several functions serve one hook, each is called, and the
    first error is raised once all were.

    Attributes:
        name: As given.
        left_out: Things that the plugin asked of its context beside hooks, in vain.
        wrapped: By the name of a native hook, the function of the plugin that serves it.

    """

    keeps_session_key = True

    def __init__(self, context: HookContext, name: str) -> None:
        self.name = name
        self.left_out = tuple(context.left_out)
        self._functions = {hook: tuple(found) for hook, found in context.functions.items()}
        served = {native: self._functions.get(hook) for native, hook in _SERVED_BY.items()}
        self.wrapped = types.SimpleNamespace(
            **{n: found[0] for n, found in served.items() if found}
        )
        self._told: dict[str, Any] = {}
        self._most: Any = None
        self._home = ""
        self._is_open = False

    def __repr__(self) -> str:
        return f"from_hooks({self.name!r})"

    def is_available(self) -> bool:
        """Returns True: the functions are there."""
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Calls `on_session_start`, which also begins a session that is gone on with.

        Its `hermes_home` is as a Hermes provider gets it, for plugins that keep homes apart.
        """
        self._told = {
            "session_id": session_key,
            "platform": config.get("platform", ""),
            "model": "",
            "sender_id": config.get("user_id") or "",
        }
        limits = config.get("limits")
        self._most = limits.get("recall_chars") if isinstance(limits, Mapping) else None
        self._is_open = True
        self._home = str(config.get("host_home") or config.get("home") or "")
        self._call("on_session_start", hermes_home=self._home)

    def capabilities(self) -> Capabilities:
        """Returns `sessions`."""
        return {"extensions": ["sessions"], "spec_version": SPEC_VERSION}

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """
        Returns the context that the functions for `pre_llm_call` gave, as one text.

        It is cut at a line where `limits.recall_chars` is less.

        A function gives `{"context": text}`, or the text. One that raises is logged, and raised
        where no other one gave a text.
        """
        answers, error = self._collect(
            "pre_llm_call",
            user_message=user_message,
            conversation_history=messages,
            is_first_turn=not messages,
        )
        texts = [text for text in map(_context, answers) if text]
        if error is not None and not texts:
            raise error
        text = "\n\n".join(texts)
        return (cut_at_line(text, self._most) if isinstance(self._most, int) else text) or None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Calls `post_llm_call`, then `on_session_end`, which such hosts call after each turn."""
        history = [
            {"role": "user", "content": user_message},
            {"role": "assistant", "content": assistant_response},
        ]
        self._turn(user_message, assistant_response, history)

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
    ) -> None:
        """Calls the hooks of a call of the tool `memory`, which has succeeded already."""
        args = {"action": action, "target": target, "content": content, "old_text": old_text}
        given = {key: value for key, value in args.items() if value is not None}
        self._tool(_MEMORY_TOOL, given, json.dumps({"success": True}))

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Nothing: such hosts have no hook for it, and each turn was told when it ended."""

    def on_session_end(self, messages: list[Message]) -> None:
        """Calls `on_session_finalize`, once for a session."""
        if self._is_open:
            self._is_open = False
            self._call("on_session_finalize")

    def on_session_switch(self, new_session_id: str, *, reset: bool = False, **_: Any) -> None:
        """Tells the new id from now on; a new conversation begins with `on_session_start`."""
        left = self._told.get("session_id", "")
        self._told = {**self._told, "session_id": new_session_id}
        self._is_open = True
        if reset and new_session_id != left:
            self._call("on_session_start", hermes_home=self._home)

    def shutdown(self) -> None:
        """As `on_session_end`, where that did not come."""
        self.on_session_end([])

    # -- calls --------------------------------------------------------------------------------

    def _turn(self, user_message: str, answer: str, history: list[Any], **named: Any) -> None:
        texts = {"user_message": user_message, "assistant_response": answer}
        try:
            self._call("post_llm_call", **texts, conversation_history=history, **named)
        finally:
            self._ended(**named)

    def _ended(self, **named: Any) -> None:
        """Tell that a turn ended."""
        self._call("on_session_end", completed=True, interrupted=False, **named)

    def _tool(self, name: str, args: dict[str, Any], result: str, **named: Any) -> None:
        told = {"tool_name": name, "args": args, "task_id": "", **named}
        try:
            self._call("pre_tool_call", **told)  # it was made: what forbids it comes too late
        finally:
            self._call("post_tool_call", **told, result=result)

    def _call(self, hook: str, **keywords: Any) -> None:
        _, error = self._collect(hook, **keywords)
        if error is not None:
            raise error

    def _collect(self, hook: str, **keywords: Any) -> tuple[list[Any], Exception | None]:
        """Answers of the functions for a hook, and the first error."""
        answers: list[Any] = []
        first: Exception | None = None
        for function in self._functions.get(hook, ()):
            try:
                answers.append(call_with_accepted(function, (), {**self._told, **keywords}))
            except Exception as error:
                logger.warning("%s of %s raised %s", hook, self.name, type(error).__name__)
                first = first or error
        return answers, first


class ToolHooksAdapter(HooksAdapter):
    """A plugin with functions for tool calls too; these are read off the messages of a turn."""

    def __init__(self, context: HookContext, name: str) -> None:
        super().__init__(context, name)
        self._turns = RecordedTurns()

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """As `HooksAdapter.initialize`; reads below `home` which turns were told."""
        self._turns.open(config.get("home"))
        super().initialize(session_key, config)

    def capabilities(self) -> Capabilities:
        """Returns `sessions` and `record`."""
        return {"extensions": ["sessions", "record"], "spec_version": SPEC_VERSION}

    def record(self, turn: dict[str, Any]) -> None:
        """
        Calls the hooks of the tool calls in `messages`, then as `on_turn_complete`; once a turn.

        Calls of the memory tool are left out: they were told as writes. A turn that raised may
        come again; the functions are told its `turn_id`. If a bot wrote the turn, `post_llm_call`
        is left out: it has no keyword for an author, and would keep the words as the user's.
        """
        with self._turns.once(str(turn["turn_id"])) as is_new:
            if is_new:
                self._whole(turn)

    def _whole(self, turn: dict[str, Any]) -> None:
        named = {key: turn[key] for key in ("turn_id", "session_id") if key in turn}
        history = turn.get("messages") or []
        for name, args, result, call_id in tool_calls(history):
            if name != _MEMORY_TOOL:
                self._tool(name, args, result, tool_call_id=call_id, **named)
        if is_of_bot(turn):
            self._ended(**named)
        else:
            self._turn(turn["user_message"], turn["assistant_response"], history, **named)


def _context(answer: Any) -> str:
    """The text that a function for `pre_llm_call` gave, or ""."""
    found = answer.get("context") if isinstance(answer, Mapping) else answer
    return found.strip() if isinstance(found, str) else ""
