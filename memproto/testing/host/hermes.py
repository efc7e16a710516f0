"""
The driver of Hermes Agent: its `MemoryManager`, used as its agent loop uses it.

For hermes-agent 0.13 to 0.19. The loop's work around the manager stands here in a few lines
each, with the place that it was read from; the manager and the fence are the installed ones. A
native provider meets the manager through hooks that add nothing: the gaps that `to_hermes` fills
are to be seen here.
"""

import contextlib
import dataclasses
import importlib
import itertools
import json
import logging
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memproto.adapters.hermes import to_hermes
from memproto.adapters.hermes_base import base_class
from memproto.adapters.hermes_hosted import hooks_called
from memproto.bindings.hermes_agent import version
from memproto.deadlines import Deadlines
from memproto.errors import InvalidLabel, SecondExternalProvider
from memproto.fence import strip_memory_context
from memproto.testing.driver import Compressed, HostDriver, Start, SwitchKind, Turn
from memproto.testing.host.hermes_bridge import Bridge
from memproto.types import SPEC_VERSION, is_label

_log = logging.getLogger(__name__)

#: The names that this loop answers itself, and when: 0.13 asks the manager before them.
_OWN_TOOL = "clarify"

_WITHOUT = {
    "reject": "Hermes has no guardrail between the model and the user",
    "record_turn": "the Hermes binding has no hook for a whole turn",
    "forget": "the Hermes binding has no hook for it",
}


def _manager_module() -> Any:
    """The module of the installed host that holds the manager and the fence."""
    if not version():
        raise ModuleNotFoundError("hermes-agent is not installed", name="hermes-agent")
    return importlib.import_module("agent.memory_manager")


class _Fence:
    """
    The fence of the host, in the terms of the kit: the texts of all providers are one.

    Looked up when it is asked for, since the class of a driver has to name it.
    """

    def __getattr__(self, name: str) -> Any:
        if name in ("sanitize_context", "StreamingContextScrubber"):
            return getattr(_manager_module(), name)
        raise AttributeError(name)

    def build_memory_context_block(self, contexts: Sequence[tuple[str, Any]]) -> str:
        """As `prefetch_all` merges them; names are those that `register` takes."""
        labels = [label for label, _ in contexts]
        for label, text in contexts:
            if not is_label(label) or labels.count(label) > 1:
                raise InvalidLabel(f"{label!r} is no name of one provider")
            if not isinstance(text, str):
                return str(_manager_module().build_memory_context_block(text))
        said = [text for _, text in contexts if text.strip()]
        return str(_manager_module().build_memory_context_block("\n\n".join(said)))

    def inject_memory_context(self, content: Any, contexts: Sequence[tuple[str, str]]) -> Any:
        """As `turn_context.py`, which leaves a message of parts alone."""
        fenced = self.build_memory_context_block(contexts)
        return f"{content}\n\n{fenced}" if fenced and isinstance(content, str) else content


class Driver(HostDriver):
    """One agent of Hermes: `agent_init.py`, `turn_context.py`, `run_agent.py`, `cli.py`."""

    own_tool = _OWN_TOOL
    most_providers = 1
    fence = _Fence()

    def __init__(self, *, deadlines: Deadlines | None = None) -> None:
        self._module = _manager_module()
        self._is_newer = hasattr(self._module.MemoryManager, "notify_memory_tool_write")
        own = {"external_prefetch_timeout": deadlines.enrich_s} if deadlines else {}
        self._manager = self._module.MemoryManager(**own if self._is_newer else {})
        self.deadlines = _kept(deadlines, is_newer=self._is_newer)
        self.without: Mapping[str, str] = dict(_WITHOUT)
        if not self._is_newer:
            self.without = {**_WITHOUT, "backup_paths": "0.13 has no such hook"}
        self._bridges: list[Bridge] = []
        self._history: list[dict[str, Any]] = []
        self._turns = itertools.count(1)
        self._key = ""
        self._is_over = False
        self._prompt: str | None = None
        self._tools: list[dict[str, Any]] | None = None

    # -- the life of a session --------------------------------------------------------------------

    def register(self, provider: Any) -> None:
        """One beside the host's own memory; its shape and its name `to_hermes` sees to."""
        to_hermes(provider)
        if self._bridges:
            raise SecondExternalProvider("Hermes takes one provider beside its own memory")
        self._bridges.append(Bridge(provider))

    def start(self, session: Start) -> None:
        """As `agent_init.py`, which opens no memory at all outside of conversations."""
        if session.denied_tools:
            raise NotImplementedError  # tools are switched off by whole sets
        self._key, self._model = session.session_id, session.model
        if session.config.get("agent_context", "primary") != "primary":
            return
        try:
            for bridge in self._bridges:
                if bridge.is_available():
                    self._manager.add_provider(bridge)
            self._manager.initialize_all(session.session_id, **self._keywords(session))
        except Exception as error:
            _log.warning("Memory provider plugin init failed: %s", type(error).__name__)

    def _keywords(self, session: Start) -> dict[str, Any]:
        """Keywords of the manager; beside them those that a native provider is promised."""
        known = {key: value for key, value in session.config.items() if key != "home"}
        promised = {
            "home": session.home,
            "protocol": {
                "version": SPEC_VERSION,
                "host": f"hermes-agent {version()}",
                "hooks": [hook for hook in hooks_called(base_class()) if hook != "record"],
                "contexts": ["primary"],
            },
            "deadlines": {"enrich_s": self.deadlines.enrich_s},
            "limits": {},
        }
        return {**promised, **known, "hermes_home": session.home}

    def end(self) -> None:
        """
        As `commit_memory_session` of `run_agent.py`.

        In Hermes a new session begins then, or the agent goes; neither ends this one again.
        """
        with contextlib.suppress(Exception):
            self._manager.on_session_end(self._history)
        self._is_over = True

    def exit(self) -> None:
        """As `shutdown_memory_provider` of `run_agent.py`."""
        if not self._is_over:
            self.end()
        with contextlib.suppress(Exception):
            self._manager.shutdown_all()

    # -- turns ------------------------------------------------------------------------------------

    def turn(self, user_message: str) -> Turn:
        """Without streaming; the answer is shown as it came."""
        shown = "".join(self._answered(user_message))
        self._finish(user_message, shown)
        return Turn(shown)

    def stream(self, user_message: str) -> Turn:
        """As `_fire_stream_delta` of `run_agent.py` shows it; recorded is what the model said."""
        said: list[str] = []
        shown = "".join(self._scrubbed(self._answered(user_message), said))
        self._finish(user_message, "".join(said))
        return Turn(shown)

    def interrupt(self, user_message: str) -> Turn:
        """Broken off after the first piece; `_sync_external_memory_for_turn` leaves it out."""
        first = itertools.islice(self._answered(user_message), 1)
        return Turn("".join(self._scrubbed(first, [])))

    def _answered(self, user_message: str) -> Iterator[str]:
        """As `turn_context.py`: told, recalled, and sent with the block behind the message."""
        self._is_over = False
        with contextlib.suppress(Exception):
            self._manager.on_turn_start(next(self._turns), user_message)
        try:
            recalled = self._manager.prefetch_all(user_message) or ""
        except Exception:
            recalled = ""
        block = self._module.build_memory_context_block(recalled) if recalled else ""
        content = f"{user_message}\n\n{block}" if block else user_message
        self._sent = content
        return self._model([*self._history, {"role": "user", "content": content}])

    def _scrubbed(self, pieces: Iterator[str], said: list[str]) -> Iterator[str]:
        scrubber = self._module.StreamingContextScrubber()
        for piece in pieces:
            said.append(piece)
            yield scrubber.feed(piece)
        yield scrubber.flush()

    def _finish(self, user_message: str, answer: str) -> None:
        """
        Keep the turn, and record it.

        From `api_content` on, which came with the newer manager, the conversation is sent again
        with the bytes that were sent before: `conversation_loop.py`.
        """
        kept = self._sent if self._is_newer else user_message
        self._history.append({"role": "user", "content": kept})
        self._history.append({"role": "assistant", "content": answer})
        self.record(user_message, answer)

    # -- parts of a turn --------------------------------------------------------------------------

    def recall(self, user_message: str, messages: Sequence[dict[str, Any]]) -> str:
        """Recall by the manager, which keeps no names."""
        return str(self._manager.prefetch_all(user_message) or "")

    def record(self, user_message: str, answer: str) -> None:
        """
        As `_sync_external_memory_for_turn` of `run_agent.py`.

        The loop hands over `original_user_message`, which it keeps beside what it sends.
        """
        original: Any = user_message
        if isinstance(original, str):
            original = strip_memory_context(original)
        user, told = (_flat(text) if self._is_newer else text for text in (original, answer))
        if not (user and told):
            return
        with contextlib.suppress(Exception):
            self._manager.sync_all(user, told, session_id=self._key)
            self._manager.queue_prefetch_all(user, session_id=self._key)

    # -- tools ------------------------------------------------------------------------------------

    def write_memory(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """The memory tool wrote it."""
        self._after_memory_tool({"success": True}, action, target, content, old_text)

    def refuse_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """The memory tool refused it."""
        self._after_memory_tool({"success": False}, action, target, content, old_text)

    def _after_memory_tool(self, result: dict[str, Any], action: str, *rest: str | None) -> None:
        """As `tool_executor.py`, and `run_agent.py` in 0.13, which looks at no result."""
        target, content, old_text = rest
        metadata = {
            "session_id": self._key,
            "write_origin": "assistant_tool",
            "tool_name": "memory",
        }
        if self._is_newer:
            given = {"action": action, "target": target, "content": content, "old_text": old_text}
            self._manager.notify_memory_tool_write(
                json.dumps(result), given, build_metadata=lambda: metadata
            )
        elif action in {"add", "replace"}:
            with contextlib.suppress(Exception):
                self._manager.on_memory_write(action, target, content, metadata=metadata)

    def tools(self) -> list[dict[str, Any]]:
        """The tools of the agent, which are put together when it is made."""
        if self._tools is None:
            self._tools = self._injected()
        return list(self._tools)

    def _injected(self) -> list[dict[str, Any]]:
        """As `inject_memory_provider_tools`, and `run_agent.py` in 0.13."""
        own = {"type": "function", "function": {"name": _OWN_TOOL}}
        agent = types.SimpleNamespace(_memory_manager=self._manager, tools=[own])
        agent.enabled_toolsets = agent.valid_tool_names = None
        if self._is_newer:
            self._module.inject_memory_provider_tools(agent)
            return list(agent.tools[1:])
        schemas = self._manager.get_all_tool_schemas()
        return [item for item in schemas if item.get("name", "") != _OWN_TOOL]

    def call_tool(self, name: str, args: Any) -> Any:
        """As the dispatch of `agent_runtime_helpers.py`, and of `run_agent.py` in 0.13."""
        if not isinstance(args, dict):
            # Both look at what they parsed: `tool_executor.py` calls no tool, 0.13 one without any.
            if self._is_newer:
                return json.dumps({"error": "Invalid tool arguments"})
            args = {}
        if self._manager.has_tool(name):
            return self._manager.handle_tool_call(name, args)
        if name == _OWN_TOOL:
            return json.dumps({"success": True, "asked": "the user"})
        return json.dumps({"error": f"Unknown tool: {name}"})

    def prompt(self) -> str:
        """Text that providers add to the system prompt, which is built once and kept."""
        if self._prompt is None:
            self._prompt = str(self._manager.build_system_prompt())
        return self._prompt

    # -- boundaries -------------------------------------------------------------------------------

    def compress(self, messages: list[dict[str, Any]], compression_count: int) -> Compressed:
        """As `conversation_compression.py`, which cuts the notes; 0.13 throws them away."""
        notes = ""
        with contextlib.suppress(Exception):
            given = self._manager.on_pre_compress(messages)
            if self._is_newer and isinstance(given, str):
                notes = _as_summarized(given)
        return Compressed(asked=notes)

    def switch(self, kind: SwitchKind, new_session_id: str) -> None:
        """As `/new`, `/resume`, `/branch`, `/undo` and a compression of `cli.py`."""
        if kind == "rewind" and not self._is_newer:
            raise NotImplementedError
        left, self._key, self._prompt = self._key, new_session_id, None
        keywords: dict[str, Any] = {"parent_session_id": left, "reset": kind == "new"}
        if kind == "rewind":
            keywords = {"parent_session_id": "", "reset": False, "rewound": True}
        ends = kind == "new" and self._history and not self._is_over
        self._is_over = False
        with contextlib.suppress(Exception):
            if ends and self._is_newer:
                self._manager.commit_session_boundary_async(
                    self._history, new_session_id=new_session_id, parent_session_id=left
                )
            else:
                if ends:
                    self._manager.on_session_end(self._history)
                self._manager.on_session_switch(new_session_id, **keywords)
        self._history = [] if kind in ("new", "resume") else self._history

    def delegate(self, task: str, result: str, child_session_id: str) -> None:
        """As `delegate_tool.py`."""
        with contextlib.suppress(Exception):
            self._manager.on_delegation(task=task, result=result, child_session_id=child_session_id)

    def backup_paths(self) -> list[str]:
        """As `backup.py`, which asks an instance of its own."""
        return [path for bridge in self._bridges for path in bridge.backup_paths() or []]


def _as_summarized(notes: str) -> str:
    """The notes as the summarizing model gets them: cut to a bound by releases that do so."""
    engine = importlib.import_module("agent.context_engine")
    cut = getattr(engine, "sanitize_memory_context", None)
    return str(cut(notes)) if cut else notes


def _kept(asked: Deadlines | None, *, is_newer: bool) -> Deadlines:
    """
    The budgets that the host has: 8 s, or what it is told, for a recall, and some for its writes.

    It has none for anything else, so that what the kit asks for stands; 0.13 has none at all.
    """
    own = Deadlines(enrich_s=8.0) if is_newer else Deadlines()
    if asked is None:
        return own
    return dataclasses.replace(asked, shutdown_s=own.shutdown_s) if is_newer else asked


def _flat(content: Any) -> str:
    """As `_summarize_user_message_for_log` with line breaks: the text of a message of parts."""
    if isinstance(content, str) or not isinstance(content, list):
        return str(content or "")
    texts = [part.get("text", "") for part in content if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str) and text)
