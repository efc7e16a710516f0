"""The provider: the hooks that the protocol names, on the tools that a server has."""

import contextlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused
from memproto.fence import strip_memory_context
from memproto.reference_providers import asked
from memproto.types import SPEC_VERSION, Capabilities, Message, is_of_bot

from . import sdk, settings, templates, tool
from .session import Session
from .settings import Settings

_ACTIONS = ("add", "replace", "remove")

_PROMPT = f"""A long-term memory holds what was said in earlier conversations, and what fits the
message comes with it. For more, use {tool.SEARCH}; keep what is worth it with {tool.STORE}."""

_NO_SDK = "the package mcp is not installed; install memproto[mcp]"
_NO_SESSION = "the provider has no session: it was not initialized, or it was shut down"

#: Sessions of the process that this one is a copy of: what they hold is that process's to close.
_of_others: list[Session] = []


class McpMemoryProvider:
    """
    The memory of an MCP server, over streamable HTTP or the standard streams of a command.

    A write that is accepted is in a journal in the home when the hook returns, and with the server
    as soon as that answers. Every hook may be called on any thread. The SDK is imported by
    `initialize`, and runs on a thread of its own until `shutdown`.

    Args:
        given: Settings that go before those of the configuration and the home.

    """

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._given = dict(given or {})
        self._session: Session | None = None
        self._process = 0
        self._offered: frozenset[str] | None = None

    @property
    def name(self) -> str:
        """`mcp`. Spec: MP-NAME-001."""
        return "mcp"

    def is_available(self) -> bool:
        """True if the SDK is installed; which server, and whether it is there, is asked later."""
        return sdk.is_installed()

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Connect to the server, or start it; one that is away is used as soon as it is there.

        Args:
            session_key: The session to which what comes belongs.
            config: `home`; and, each optional, `mcp` (settings that go before the saved ones),
                `user_id`, `limits`, `protocol`, `agent_context`.

        Raises:
            Misconfigured: The SDK is missing, a setting is wrong, or the server lacks a tool.

        """
        self.shutdown()
        if not sdk.is_installed():
            raise Misconfigured(_NO_SDK)
        given = config.get("mcp")
        merged = {**(given if isinstance(given, Mapping) else {}), **self._given}
        opened = Session(Settings.of({**config, "mcp": merged}), session_key)
        try:
            opened.open()
        except BaseException:
            opened.close()
            raise
        self._session, self._process = opened, os.getpid()

    def shutdown(self) -> None:
        """Deliver what waits, as far as there is time, and end the server. Never raises."""
        opened, self._session = self._session, None
        if opened is None:
            return
        if self._process == os.getpid():
            opened.close()
        else:
            _of_others.append(opened)

    def capabilities(self) -> Capabilities:
        """Declarations of this provider, as in `schemas/capabilities.schema.json`."""
        chosen = self._opened().chosen
        late = {"eventual": {"freshness_s": chosen.freshness_s}}
        return {
            "spec_version": SPEC_VERSION,
            "extensions": ["tools", "config", "prompt", "status", "record", "items"],
            "tool_names": [schema["name"] for schema in self.get_tool_schemas()],
            "suppresses_local_writes": False,
            "stores": ["turns", "writes", "tools"],
            "retention": chosen.retention,
            "recall_basis": "query",
            "consistency": late if chosen.freshness_s else "immediate",
            "isolates": list(chosen.isolates),
            "mirrors": {"memory": ["add"], "user": ["add"]},
            "single_writer": False,
        }

    def _opened(self) -> Session:
        if self._session is None:
            raise Unavailable(_NO_SESSION)
        if self._process != os.getpid():
            # A copy of the process has no loop; it opens a connection of its own.
            _of_others.append(self._session)
            self._session = Session(self._session.chosen, self._session.key)
            self._process = os.getpid()
            self._session.open()
        return self._session

    # -- recall -----------------------------------------------------------------------------------

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """Return what fits the message, a line for each text; None where nothing does."""
        opened = self._opened()
        found, room = self._recalled(user_message)[0], opened.chosen.room
        fitting = asked.fitting(found, room, joint=1, text=str)
        return "\n".join(fitting or [text[:room] for text in found[:1]]) or None

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the same as items, within `budget_chars`."""
        found, is_whole = self._recalled(request["query"])
        fitting = asked.fitting(found, request.get("budget_chars"), joint=0, text=str)
        items = [{"id": templates.digest(text), "text": text} for text in fitting]
        return {"items": items, "status": "ok" if is_whole else "unavailable"}

    def _recalled(self, question: str) -> tuple[list[str], bool]:
        """Fitting texts, and True if the server answered: those that wait here are found anyhow."""
        opened = self._opened()
        count, found, is_whole = opened.chosen.recall_count, [], False
        with contextlib.suppress(Unavailable, Rejected):
            found = opened.recall(question, count) if question.strip() else []
            is_whole = True
        fresh = [text for text in opened.waiting(question) if text not in found]
        return list(dict.fromkeys([*fresh[-count:], *found]))[:count], is_whole

    def recall_status(self) -> dict[str, Any]:
        """Say whether the server answers, and what waits for it."""
        return {"state": "ok"} if self._session is None else self._session.status()

    def unavailable_reason(self) -> str:
        """Say what is missing; "" where nothing is."""
        if not sdk.is_installed():
            return _NO_SDK
        return "" if self._session is None else self._session.link.fault

    # -- what is stored ---------------------------------------------------------------------------

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Store a turn, as one text.

        Raises:
            Unavailable: The journal cannot be written; nothing was accepted.
            WriteRefused: Too many wait for the server.
            Rejected: The server refused it.

        """
        opened = self._opened()
        if opened.chosen.context in opened.chosen.contexts:
            opened.keep(uuid.uuid4().hex, _turn(user_message, assistant_response), "turns")

    def record(self, turn: dict[str, Any]) -> None:
        """Store a turn once for its id, with the time at which it ended."""
        opened = self._opened()
        contexts = {turn.get("context", "primary"), opened.chosen.context}
        if contexts <= set(opened.chosen.contexts) and not is_of_bot(turn):
            text = _turn(turn["user_message"], turn["assistant_response"])
            write_id = templates.digest(opened.chosen.owner, turn["turn_id"])
            opened.keep(write_id, text, "turns", turn["ended_at"])

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """
        Store what the host's memory tool added.

        Raises:
            Rejected: The action is none, its text is missing, or the server refused it.
            WriteRefused: It replaces or removes, which no tool of the server is known for; or too
                many wait for the server.
            Unavailable: The journal cannot be written; nothing was accepted.

        """
        opened = self._opened()
        if action not in _ACTIONS:
            raise Rejected(f"action is not one of {', '.join(_ACTIONS)}")
        if action != "add":
            raise WriteRefused(f"{action} is not mirrored; `mirrors` names add alone")
        if content is None:
            raise Rejected("add lacks content")
        opened.keep(uuid.uuid4().hex, content, target)

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Do nothing, by design: every turn is stored when it is complete."""

    # -- tools, prompt, set-up --------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """
        Return search, store, and the exposed tools of the server.

        A host that read the list before `initialize`, when no server is known, gets no more later.
        """
        schemas = json.loads(json.dumps(tool.OWN))
        if self._session is None:
            self._offered = frozenset(schema["name"] for schema in schemas)
            return list(schemas)
        opened = self._opened()
        schemas += tool.exposed(opened.chosen.expose, opened.exposed())
        known = self._offered
        return [schema for schema in schemas if known is None or schema["name"] in known]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Serve one call; what a model can write, and a server that is away, raise nothing."""
        opened = self._opened()
        return tool.answered(lambda: self._served(opened, tool_name, args))

    def _served(self, opened: Session, name: str, args: Any) -> dict[str, Any]:
        if not isinstance(args, Mapping):
            raise Rejected(f"{name} takes an object of arguments")
        if name == tool.SEARCH:
            query, limit = tool.text(args, name, "query"), tool.limit(args)
            found = opened.recall(query, limit)
            fresh = [text for text in opened.waiting(query) if text not in found]
            return {"hits": [*fresh, *found][:limit]}
        if name == tool.STORE:
            opened.keep(uuid.uuid4().hex, tool.text(args, name, "content"), "tools")
            return {"stored": True}
        offered = [schema["name"] for schema in self.get_tool_schemas()]
        if name not in offered:
            raise Rejected(f"there is no tool {name!r}; there are {', '.join(offered)}")
        return {"result": opened.call(name.removeprefix("mcp_"), args)}

    def system_prompt_block(self) -> str:
        """Return how the tools are meant: the same in every session."""
        return " ".join(_PROMPT.split())

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the settings that can be asked for; tables are written into the file by hand."""
        return [dict(field) for field in settings.FIELDS]

    def save_config(self, values: dict[str, Any], home: str) -> None:
        """Keep answers below the home. Raises `Misconfigured` for one that may not be given."""
        settings.save(values, Path(home))


def _turn(said: str, answer: str) -> str:
    # A host may have left its context block at the end of the message.
    return "\n".join(part for part in (strip_memory_context(said), answer) if part)
