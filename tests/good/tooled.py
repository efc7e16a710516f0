"""
Two small good providers with tools: a native one, and the same for the Hermes host.

The builtin provider has one tool for everything; these have one for each thing that a model does
with a memory, so that most broken tools are theirs with one hook changed.
"""

import copy
import json
import uuid
from collections.abc import Callable
from typing import Any

from tests.good.journal import Journal, words

_TEXT = {"type": "string", "description": "The text to keep, as one sentence."}
_TAGS = {"type": "array", "items": {"type": "string"}, "description": "Words to find it by."}
_QUERY = {"type": "string", "description": "The thing to look for."}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many notes."}
_ID = {"type": "string", "description": "The id that adding or searching gave."}

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "array": (list,),
}


def _schema(name: str, says: str, required: str, **properties: Any) -> dict[str, Any]:
    parameters = {
        "type": "object",
        # A host, or a broken provider, may change what it is given.
        "properties": copy.deepcopy(properties),
        "required": [required],
    }
    return {"name": name, "description": says, "parameters": parameters}


class Wrong(Exception):
    """The arguments do not fit; the text says what is wrong, for the model."""


class Tooled(Journal):
    """A journal with notes, which three tools add, search and forget."""

    name = "tooled"

    def capabilities(self) -> dict[str, Any]:
        return {
            **super().capabilities(),
            "extensions": ["tools"],
            "stores": ["turns", "writes", "tools"],
            "tool_names": {schema["name"] for schema in self._schemas()},
        }

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return self._schemas()

    @staticmethod
    def _schemas() -> list[dict[str, Any]]:
        return [
            _schema("tooled_add", "Keeps a note.", "text", text=_TEXT, tags=_TAGS),
            _schema("tooled_search", "Finds notes.", "query", query=_QUERY, limit=_LIMIT),
            _schema("tooled_forget", "Forgets a note.", "id", id=_ID),
        ]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        try:
            self._fit(tool_name, args)
            with self._changing():
                return json.dumps(self._handlers()[tool_name](args))
        except Wrong as wrong:
            return json.dumps({"success": False, "error": str(wrong)})

    def _handlers(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {
            "tooled_add": self._add,
            "tooled_search": self._search,
            "tooled_forget": self._forget,
        }

    def entries(self) -> list[dict[str, Any]]:
        """All that is stored, the oldest first."""
        return self._load()

    def _fit(self, tool_name: str, args: dict[str, Any]) -> None:
        schemas = {schema["name"]: schema["parameters"] for schema in self._schemas()}
        if tool_name not in schemas:
            raise Wrong(f"there is no tool {tool_name}")
        for name in schemas[tool_name]["required"]:
            if name not in args:
                raise Wrong(f"{name} is missing")
        for name, value in args.items():
            asked = schemas[tool_name]["properties"].get(name, {}).get("type")
            if asked and (not isinstance(value, _TYPES[asked]) or isinstance(value, bool)):
                raise Wrong(f"{name} is {type(value).__name__}")

    def _add(self, args: dict[str, Any]) -> dict[str, Any]:
        note = {"kind": "note", "id": uuid.uuid4().hex, "text": args["text"]}
        self._entries = [*self._load(), note]
        self._save()
        return {"success": True, "id": note["id"]}

    def _search(self, args: dict[str, Any]) -> dict[str, Any]:
        wanted = words(args["query"])
        found = [entry for entry in self._load() if wanted & words(entry["text"])]
        return {"notes": found[: args.get("limit", 10)]}

    def _forget(self, args: dict[str, Any]) -> dict[str, Any]:
        before = self._load()
        self._entries = [entry for entry in before if entry.get("id") != args["id"]]
        if len(self._entries) == len(before):
            raise Wrong(f"there is no note {args['id']}")
        self._save()
        return {"success": True, "forgotten": len(before) - len(self._entries)}


class Editing(Tooled):
    """The same with a fourth tool, which gives a note another text."""

    @staticmethod
    def _schemas() -> list[dict[str, Any]]:
        edit = _schema("tooled_edit", "Gives a note another text.", "id", id=_ID, text=_TEXT)
        edit["parameters"]["required"].append("text")
        return [*Tooled._schemas(), edit]

    def _handlers(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {**super()._handlers(), "tooled_edit": self._edit}

    def _edit(self, args: dict[str, Any]) -> dict[str, Any]:
        entries = self._load()
        meant = [entry for entry in entries if entry.get("id") == args["id"]]
        if not meant:
            raise Wrong(f"there is no note {args['id']}")
        meant[0]["text"] = args["text"]
        self._entries = entries
        self._save()
        return {"success": True, "id": args["id"]}


class HermesTooled:
    """The same for the Hermes host; `sync_turn` stores turns, the tools store notes."""

    name = "tooled"

    def __init__(self) -> None:
        self.notes = Tooled()
        self._is_primary = True

    def is_available(self) -> bool:
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self._is_primary = kwargs.get("agent_context", "primary") == "primary"
        self.notes.initialize(session_id, {"home": kwargs["hermes_home"]})

    def system_prompt_block(self) -> str:
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        return self.notes.enrich_turn(query, []) or ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Nothing takes long enough to be prepared."""

    def sync_turn(self, user: str, assistant: str, *, session_id: str = "") -> None:
        if self._is_primary:
            self.notes.on_turn_complete(user, assistant)

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        if self._is_primary:
            self.notes.on_memory_write(action, target, content, (metadata or {}).get("old_text"))

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        return ""

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """The number of a turn changes nothing here."""

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Every turn is stored already."""

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """One memory serves all sessions of a profile."""

    def on_delegation(self, task: str, result: str, **kwargs: Any) -> None:
        """Ignores the work of a subagent, which is no memory of the user."""

    def backup_paths(self) -> list[str]:
        return []

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return self.notes.get_tool_schemas()

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        return self.notes.handle_tool_call(tool_name, args)

    def shutdown(self) -> None:
        self.notes.shutdown()
