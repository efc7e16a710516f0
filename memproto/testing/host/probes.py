"""Probes of hosts: providers that note calls, places to hang at, ears for reports."""

import copy
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memproto.testing.clauses import NotApplicable

#: A hook hangs at most so long, should the end of its check never come. It is longer than a call of
#: a tool may take; otherwise a host without any deadline seems to keep that one.
LONGEST_HANG_S = 90.0


@dataclasses.dataclass(frozen=True, slots=True)
class ReceivedCall:
    """
    One call that a provider got.

    Attributes:
        hook: The member that was called.
        args: Deep copies of its arguments, made at entry.
        thread: The calling thread's identity.
        keywords: As `args`, those that came by name.
        at_s: When it came, on the clock of `time.perf_counter`.

    """

    hook: str
    args: tuple[Any, ...]
    thread: int
    keywords: dict[str, Any] = dataclasses.field(default_factory=dict)
    at_s: float = 0.0


class Probe:
    """
    A provider that notes every call before it acts; any thread.

    A hook given by keyword, as in `Probe("a", enrich_turn=act)`, gets the hook's own arguments,
    and what it returns or raises is what the host meets.

    Attributes:
        name: The provider's name.
        calls: Every call in the order of entry.
        said: Every text that its recall returned.

    """

    def __init__(self, name: Any, **hooks: Callable[..., Any]) -> None:
        self.name = name
        self.calls: list[ReceivedCall] = []
        self.said: list[str] = []
        self._hooks = hooks

    def _called(self, hook: str, *args: Any, default: Any = None, **keywords: Any) -> Any:
        given = copy.deepcopy((args, keywords))
        self.calls.append(
            ReceivedCall(hook, given[0], threading.get_ident(), given[1], time.perf_counter())
        )
        return self._hooks[hook](*args) if hook in self._hooks else default

    def named(self, *hooks: str) -> list[ReceivedCall]:
        """The calls of some hooks, in order."""
        return [call for call in list(self.calls) if call.hook in hooks]

    def count(self, *hooks: str) -> int:
        """Number of calls of some hooks."""
        return len(self.named(*hooks))

    def protocol(self) -> dict[str, Any]:
        """The host's words on itself by `protocol` in the config; empty if it said nothing."""
        configs = [call.args[1] for call in self.named("initialize")]
        said = configs[0].get("protocol") if configs and isinstance(configs[0], dict) else None
        return said if isinstance(said, dict) else {}

    # -- the nine members -------------------------------------------------------------------------

    def is_available(self) -> Any:
        """Available, unless told otherwise."""
        return self._called("is_available", default=True)

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Note the session."""
        self._called("initialize", session_key, config)

    def shutdown(self) -> None:
        """Note the end."""
        self._called("shutdown")

    def capabilities(self) -> Any:
        """Declare nothing."""
        return self._called("capabilities", default={})

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> Any:
        """Recall what `enrich_turn` was given for, or None."""
        answer = self._called("enrich_turn", user_message, messages)
        if isinstance(answer, str):
            self.said.append(answer)
        return answer

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Note one write."""
        self._called("on_memory_write", action, target, content, old_text)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Note one turn."""
        self._called("on_turn_complete", user_message, assistant_response)

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """Note what is about to be discarded."""
        self._called("on_compress", messages, compression_count)


class Extended(Probe):
    """
    A provider that serves extensions, and notes their hooks as well.

    Attributes:
        serves: The extensions that it declares.
        schemas: The schemas of its tools, which it declares by name.

    """

    def __init__(
        self,
        name: Any,
        serves: Iterable[str],
        schemas: Iterable[Any] = (),
        **hooks: Callable[..., Any],
    ) -> None:
        super().__init__(name, **hooks)
        self.serves = tuple(serves)
        self.schemas = list(schemas)

    def capabilities(self) -> Any:
        """Declare the extensions, and the tools that have a name."""
        names = [schema["name"] for schema in self.schemas if _is_named(schema)]
        declared = {"extensions": list(self.serves), "tool_names": list(dict.fromkeys(names))}
        return self._called("capabilities", default=declared)

    def get_tool_schemas(self) -> Any:
        """The schemas."""
        return self._called("get_tool_schemas", default=copy.deepcopy(self.schemas))

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> Any:
        """Note the call and answer with JSON."""
        default = '{"success": true}'
        return self._called("handle_tool_call", tool_name, args, default=default, **kwargs)

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Note what is to be prepared."""
        self._called("queue_prefetch", query, session_id=session_id)

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Note a beginning."""
        self._called("on_turn_start", turn_number, message, **kwargs)

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Note an end."""
        self._called("on_session_end", messages)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """Note a switch."""
        self._called("on_session_switch", new_session_id, **kwargs)

    def on_delegation(self, task: str, result: str, **kwargs: Any) -> None:
        """Note a delegation."""
        self._called("on_delegation", task, result, **kwargs)

    def backup_paths(self) -> Any:
        """Nothing lies outside."""
        return self._called("backup_paths", default=[])

    def system_prompt_block(self) -> Any:
        """Add nothing."""
        return self._called("system_prompt_block", default="")

    def recall_status(self) -> Any:
        """All is well."""
        return self._called("recall_status", default={"state": "ok"})

    def unavailable_reason(self) -> Any:
        """Nothing is missing."""
        return self._called("unavailable_reason", default="")

    def compress_notes(self, messages: list[dict[str, Any]]) -> Any:
        """No notes."""
        return self._called("compress_notes", messages, default="")

    def record(self, turn: dict[str, Any]) -> None:
        """Note a whole turn."""
        self._called("record", turn)

    def recall_items(self, request: dict[str, Any]) -> Any:
        """No items."""
        return self._called("recall_items", request, default={"items": [], "status": "ok"})

    def export(self, scope: dict[str, Any]) -> Any:
        """Nothing is stored."""
        return self._called("export", scope, default={"items": []})

    def forget(self, scope: dict[str, Any]) -> Any:
        """Nothing is removed."""
        return self._called("forget", scope, default={"removed": 0, "pending": 0})


def needs_promise(provider: Probe, hook: str) -> None:
    """
    Go on, unless the host says which hooks it calls and leaves this one out.

    Raises:
        NotApplicable: `protocol.hooks` is in the provider's config, and does not name the hook.

    """
    hooks = provider.protocol().get("hooks")
    if hooks is not None and hook not in hooks:
        raise NotApplicable(f"`protocol.hooks` does not name `{hook}`")


def _is_named(schema: Any) -> bool:
    return isinstance(schema, dict) and isinstance(schema.get("name"), str)


def tool(name: Any, **changes: Any) -> dict[str, Any]:
    """A schema that every model API takes, but for `changes`."""
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": "Look it up.", "parameters": parameters, **changes}


def answering(text: str) -> Callable[..., str]:
    """A recall that always gives `text`."""
    return lambda user_message, messages: text


def raising(make: Callable[[], BaseException]) -> Callable[..., Any]:
    """A hook that raises a new error each time."""

    def act(*args: Any) -> Any:
        raise make()

    return act


#: Number of calls, one after the other, that are given up and return later.
LATE_CALLS = 4


def hanging_at_first(gates: Sequence["Gate"], answer: str) -> Callable[..., Any]:
    """A hook whose calls hang one after the other, each at a gate of its own; then it answers."""
    left = iter(gates)

    def act(*args: Any) -> Any:
        gate = next(left, None)
        return answer if gate is None else gate()

    return act


class Gate:
    """
    A hook that hangs until it is opened, or for so long; then it returns `answer`.

    Attributes:
        entered: Set once a call hangs here.
        left: Set once a call has come out.

    """

    def __init__(self, answer: Any = None, hangs_s: float = LONGEST_HANG_S) -> None:
        self.entered = threading.Event()
        self.left = threading.Event()
        self._answer = answer
        self._hangs_s = hangs_s
        self._open = threading.Event()

    def __call__(self, *args: Any) -> Any:
        """Hang."""
        self.entered.set()
        self._open.wait(self._hangs_s)
        self.left.set()
        return self._answer

    def open(self) -> None:
        """Let everybody out, now and from now on."""
        self._open.set()


class Reports(logging.Handler):
    """
    Reports of a host: its events if it takes a callback for them, else its log's warnings.

    Attributes:
        takes_events: True if the host calls `hear`.

    """

    def __init__(self, *, takes_events: bool) -> None:
        super().__init__(logging.WARNING)
        self.takes_events = takes_events
        self._events: list[Any] = []
        self._lines: list[str] = []
        self._written: list[str] = []

    def hear(self, event: Any) -> None:
        """Take one event."""
        self._events.append(event)

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the log."""
        self._lines.append(record.getMessage())
        # With the traceback, as it stands in a file: its last line is what an exception says.
        self._written.append(self.format(record))

    def texts(self) -> list[str]:
        """All reports as they are kept, good news among them, in order."""
        return [_whole(event) for event in list(self._events)] or list(self._written)

    def about(self, provider: str, *, is_only: bool = False) -> list[str]:
        """Everything but good news that names `provider`, or may mean the only one; in order."""
        if not self.takes_events:
            return [line for line in list(self._lines) if is_only or provider in line]
        return [
            str(event)
            for event in list(self._events)
            if _names(event, provider) and getattr(event, "outcome", "") != "ok"
        ]


def _whole(event: Any) -> str:
    """An event with the texts in its attributes: who keeps it may write all of them."""
    parts = vars(event) if hasattr(event, "__dict__") else {}
    kinds = (str, BaseException, list, tuple, dict)
    held = [f"{name}: {part!r}" for name, part in parts.items() if isinstance(part, kinds)]
    return "\n".join([str(event), *held])


def _names(event: Any, provider: str) -> bool:
    named = getattr(event, "provider", None)
    return named == provider if isinstance(named, str) else provider in str(event)
