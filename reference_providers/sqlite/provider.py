"""The provider: a session's view on the file, and the hooks that the protocol names."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, Rejected, Unavailable
from memproto.fence import strip_memory_context
from memproto.reference_providers import asked
from memproto.types import SPEC_VERSION, Capabilities, Message, is_of_bot

from . import settings, tool
from .index import TOOL, Row
from .settings import Settings
from .store import Store, Text, now

_ACTIONS = ("add", "replace", "remove")

#: Text that the model is told once for each session.
_PROMPT = """The words of earlier conversations are stored, and those that fit the message come with
it. For more, use sqlite_search."""

#: The same if the file is written.
_STORING = """Keep what went wrong and what helped with sqlite_store_lesson, and what a conversation
came to with sqlite_store_summary."""

#: Extensions that are served if the file is only read, and those beside it if it is written.
_READING_EXTENSIONS = ("tools", "config", "backup", "prompt", "status", "items", "privacy")
_STORING_EXTENSIONS = ("sessions", "delegation", "record")


class SqliteMemoryProvider:
    """
    Every turn, write, lesson and summary of a profile in one SQLite file, found by its words.

    A text that is accepted is in the file when the hook returns; nothing is left for `shutdown` to
    do. Every hook may be called on any thread, and several processes may have the file open.
    """

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._store: Store | None = None
        self._session = ""

    @property
    def name(self) -> str:
        """`sqlite`. Spec: MP-NAME-001."""
        return "sqlite"

    def is_available(self) -> bool:
        """True: it needs nothing but the directory that `initialize` is given."""
        return True

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Open the file, or make it; one that is locked is used as soon as it can be.

        Args:
            session_key: The session to which what comes belongs.
            config: `home`; and, each optional, `sqlite` (answers of set-up that go before the saved
                ones), `user_id`, `platform`, `session_title`, `parent_session_id`, `limits`,
                `protocol`, `agent_context`.

        Raises:
            Misconfigured: A value is wrong, or the file is damaged or of a later release.

        """
        self.shutdown()
        chosen = Settings.of(config)
        store = Store(chosen, session_key)
        try:
            store.database.open()
        except BaseException:
            store.database.close()
            raise
        self._settings, self._store, self._session = chosen, store, session_key

    def shutdown(self) -> None:
        """Close the file; every accepted text is in it already. Never raises."""
        store, self._store = self._store, None
        if store is not None:
            store.database.close()

    def capabilities(self) -> Capabilities:
        """
        Declarations of this provider, as in `schemas/capabilities.schema.json`.

        Of a file that is only read, what needs no write.
        """
        stores = not self._is_read_only()
        return {
            "spec_version": SPEC_VERSION,
            "extensions": [*_READING_EXTENSIONS, *(_STORING_EXTENSIONS if stores else ())],
            "tool_names": list(self._tool_names()),
            "suppresses_local_writes": False,
            "stores": ["turns", "writes", "tools"] if stores else [],
            "retention": "verbatim",
            "recall_basis": "query",
            "consistency": "immediate",
            "isolates": ["profile", "user"],
            "mirrors": {name: list(_ACTIONS) for name in ("memory", "user")} if stores else {},
            "single_writer": False,
        }

    def _is_read_only(self) -> bool:
        return self._settings is not None and self._settings.is_read_only

    def _tool_names(self) -> tuple[str, ...]:
        return tool.READING if self._is_read_only() else tool.NAMES

    def _opened(self) -> tuple[Store, Settings]:
        if self._store is None or self._settings is None:
            raise Unavailable(_NO_SESSION)
        return self._store, self._settings

    # -- recall -----------------------------------------------------------------------------------

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """Return what fits the message best, a line for each text; None where nothing does."""
        found = self._recalled(user_message)
        room = self._opened()[1].room
        fitting = [_shown(row) for row in asked.fitting(found, room, joint=1, text=_shown)]
        return "\n".join(fitting or [_shown(row)[:room] for row in found[:1]]) or None

    def recall_items(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the same as items, within `budget_chars`."""
        room = request.get("budget_chars")
        found = asked.fitting(self._recalled(request["query"]), room, joint=0, text=_content)
        items = [{**_item(row), "score": row.score} for row in found]
        fault = self._opened()[0].database.fault
        return {"items": items, "status": "unavailable" if fault else "ok"}

    def _recalled(self, question: str) -> list[Row]:
        """Fitting texts; none if the file cannot be read now, which `recall_status` tells."""
        store, chosen = self._opened()
        with contextlib.suppress(Unavailable, Misconfigured):
            return store.recall(question, chosen.recall_count)
        return []

    def recall_status(self) -> dict[str, Any]:
        """Say whether the file could be used when it was used last."""
        if self._store is None or not self._store.database.fault:
            return {"state": "ok"}
        return {"state": "down", "message": self._store.database.fault}

    def unavailable_reason(self) -> str:
        """Say why the file cannot be used; "" where it can."""
        return "" if self._store is None else self._store.database.fault

    # -- what is stored ---------------------------------------------------------------------------

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Store a turn. It is in the file when this returns.

        Raises:
            Unavailable: The file cannot be written now; nothing was stored.

        """
        store, chosen = self._opened()
        if chosen.context in chosen.contexts:
            moment = now()
            store.keep(self._session, _turn(user_message, assistant_response, moment, moment))

    def record(self, turn: dict[str, Any]) -> None:
        """Store a turn with id, author, times and the outputs of its tools, once for each id."""
        store, chosen = self._opened()
        if not {turn.get("context", "primary"), chosen.context} <= set(chosen.contexts):
            return
        said = (turn["user_message"], turn["assistant_response"])
        times = (turn["started_at"], turn["ended_at"])
        more = {"turn_id": turn["turn_id"], "author": turn.get("author")}
        texts = [*_turn(*said, *times, **more), *_outputs(turn, **more)]
        store.keep_turn(turn["session_id"], turn["turn_id"], texts)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """
        Do what the host's memory tool did.

        Raises:
            Rejected: The action is none, or a text that it needs is missing.
            WriteRefused: `old_text` quotes no entry, or several different ones.
            Unavailable: The file cannot be written now.

        """
        store, _ = self._opened()
        if action not in _ACTIONS:
            raise Rejected(f"action is not one of {', '.join(_ACTIONS)}")
        old = content if action == "remove" and old_text is None else old_text
        if (action != "remove" and content is None) or (action != "add" and old is None):
            raise Rejected(f"{action} lacks {'content' if old or action == 'add' else 'old_text'}")
        new = Text("note", "writes", content or "", now(), name=target)
        if action == "add":
            store.keep(self._session, [new])
        else:
            store.replace(self._session, target, old or "", new if action == "replace" else None)

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Store what a subagent was asked and brought in this session, from which its own came."""
        store, _ = self._opened()
        text = Text("delegation", "delegation", f"{task}\n{result}", now())
        if child_session_id and child_session_id != self._session:
            store.branch(child_session_id, self._session)
        store.keep(self._session, [text])

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Do nothing, by design: every turn is stored when it is complete."""

    def on_session_end(self, messages: list[Message]) -> None:
        """Note when the session ended; its turns are stored already."""
        store, _ = self._opened()
        store.end_session(self._session)

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Go on in another session; a rewind keeps what was stored."""
        store, _ = self._opened()
        self._session = new_session_id
        if parent_session_id:
            store.branch(new_session_id, parent_session_id)

    # -- tools, prompt ----------------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the four tools; the search alone where the file is only read."""
        return tool.schemas(self._tool_names())

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """
        Serve one call; what a model can write raises nothing.

        Raises:
            Unavailable: The file cannot be used now.
            Misconfigured: It is damaged.

        """
        store, _ = self._opened()
        return tool.call(store, self._session, tool_name, args)

    def system_prompt_block(self) -> str:
        """Return how the tools are meant: the same in every session with the same settings."""
        told = _PROMPT if self._is_read_only() else f"{_PROMPT} {_STORING}"
        return " ".join(told.split())

    # -- set-up, backup, privacy ------------------------------------------------------------------

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the four settings."""
        return [dict(field) for field in settings.FIELDS]

    def save_config(self, values: dict[str, Any], home: str) -> None:
        """Keep answers below the home. Raises `Misconfigured` for one that may not be given."""
        settings.save(values, Path(home))

    def backup_paths(self) -> list[str]:
        """Return the file where the operator put it outside the home, with SQLite's log beside."""
        if self._settings is None or not self._settings.is_elsewhere:
            return []
        path = self._settings.path
        return [str(path), *(f"{path}{ending}" for ending in ("-wal", "-shm"))]

    def export(self, scope: dict[str, Any]) -> dict[str, Any]:
        """Return every text of a scope. Raises `Rejected` for one that it cannot tell."""
        store, _ = self._opened()
        return {"items": [_item(row) | _origin(row) for row in store.within(scope)]}

    def forget(self, scope: dict[str, Any]) -> dict[str, Any]:
        """Remove every text of a scope, its words in the index included."""
        store, _ = self._opened()
        return {"removed": store.forget(scope), "pending": 0}


_NO_SESSION = "the provider has no session: it was not initialized, or it was shut down"


# -- texts and rows --------------------------------------------------------------------------------


def _turn(said: str, answer: str, began: str, ended: str, **more: Any) -> list[Text]:
    # A host may have left its context block at the end of the message.
    user = Text("user", "turns", strip_memory_context(said), began, **more)
    return [user, Text("assistant", "turns", answer, ended, **more)] if answer else [user]


def _outputs(turn: Mapping[str, Any], **more: Any) -> Iterator[Text]:
    for message in turn.get("messages") or ():
        if isinstance(message, Mapping) and message.get("role") == TOOL:
            content = message.get("content")
            text = content if isinstance(content, str) else json.dumps(content, default=str)
            name = message.get("name")
            named = name if isinstance(name, str) else None
            yield Text(TOOL, "turns", text, turn["ended_at"], name=named, **more)


def _item(row: Row) -> dict[str, Any]:
    scope = {"user_id": settings.user_of(row.owner), "session_id": row.key}
    item = {"id": str(row.id), "text": row.content, "created_at": row.created_at}
    role = "bot" if _is_of_bot(row) else row.role
    return {**item, "source": row.source, "scope": scope, "x_role": role}


def _author(row: Row) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if row.author is None else json.loads(row.author)
    return found


def _is_of_bot(row: Row) -> bool:
    """True if a bot said it where the user speaks."""
    return row.role == "user" and is_of_bot({"author": _author(row)})


def _shown(row: Row) -> str:
    """The text as recall gives it: the words of a bot are not the user's."""
    if not _is_of_bot(row):
        return row.content
    author = _author(row) or {}
    return f"{author.get('name') or author.get('id')} (a bot): {row.content}"


def _origin(row: Row) -> dict[str, Any]:
    found = {"turn_id": row.turn_id, "author": _author(row)}
    return {key: value for key, value in found.items() if value is not None}


def _content(row: Row) -> str:
    return row.content
