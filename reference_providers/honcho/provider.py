"""The provider: the hooks that the protocol names, on a Honcho server."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, Rejected, Unavailable, WriteRefused
from memproto.fence import strip_memory_context
from memproto.reference_providers import reading
from memproto.types import SPEC_VERSION, Capabilities, Message, is_of_bot

from . import finding, manager, places, settings, texts, tools
from .live import Live, now
from .manager import HonchoManager
from .settings import Settings

_EXTENSIONS = ("prewarm", "sessions", "config", "backup", "status", "record")


class HonchoMemoryProvider:
    """
    Turns as messages on a Honcho server, which concludes from them what it knows about the user.

    A text that a hook accepts is in a file below the home until the server has it. Recall runs in
    the background; only the first turn of a session waits for it. Every hook may be called on any
    thread.

    Args:
        manager: A connection that somebody else opened and closes, for several providers; None for
            one of its own.

    """

    def __init__(self, manager: HonchoManager | None = None) -> None:
        self._borrowed = manager
        self._live: Live | None = None
        self._lock = threading.Lock()
        self._room: int | None = None
        self._stores_turns = True
        self._contexts = frozenset(reading.contexts({}))

    @property
    def name(self) -> str:
        """`honcho`. Spec: MP-NAME-001."""
        return "honcho"

    @property
    def workspace(self) -> str:
        """The workspace on the server; "" without a session."""
        return "" if self._live is None else self._live.manager.workspace

    def is_available(self) -> bool:
        """True if the SDK is installed and a server is named; asks no server."""
        return self._borrowed is not None or not self._missing()

    def _missing(self) -> str:
        """The fault or lack that is known before a session; "" if there is none."""
        if not manager.is_installed():
            return "the SDK honcho-ai is not installed; fix: pip install 'memproto[honcho]'"
        try:
            chosen = Settings.of(settings.gather({}))
        except Misconfigured as fault:
            return str(fault)
        return "" if chosen.is_enabled else "honcho.json says enabled: false"

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Resolve session and peers, take over what an earlier session left, and start to fetch.

        Waits for no server: one that cannot be reached is a state that `recall_status` tells.

        Args:
            session_key: The host's session.
            config: `home`; and, each optional, `honcho` (keys of honcho.json that go before the
                file), `user_id`, `session_title`, `gateway_session_key`, `cwd`, `host_home`,
                `agent_context`, `agent_identity`, `limits`, `protocol`.

        Raises:
            Misconfigured: The SDK or an address is missing, or a value is wrong.

        """
        self.shutdown()
        home = _path(config, "home")
        if home is None:
            raise Misconfigured("config lacks home; fix: name a directory of this provider's own")
        chosen = Settings.of(settings.gather(config, *_homes(config)))
        if not chosen.is_enabled:
            raise Misconfigured("honcho.json says enabled: false; fix: set it to true")
        self._room = reading.room(config)
        self._contexts = frozenset(reading.contexts(config))
        self._stores_turns = chosen.saves and reading.context(config) in self._contexts
        connection = self._borrowed or HonchoManager(
            chosen.url, chosen.key, places.workspace(chosen, config, home)
        )
        live = Live(chosen, config, session_key, home, connection)
        live.open(migrates=self._stores_turns)
        self._live = live

    def shutdown(self) -> None:
        """
        Send what was accepted within 6 s, and end the threads; what is left stays below the home.

        A manager that was handed in stays open.
        """
        with self._lock:
            live, self._live = self._live, None
            if live is not None:
                live.close(ends_manager=self._borrowed is None)

    def capabilities(self) -> Capabilities:
        """Declarations of this provider, as in `schemas/capabilities.schema.json`."""
        chosen = None if self._live is None else self._live.settings
        modes = {"user": "hybrid", "memory": "hybrid"} if chosen is None else chosen.memory_modes
        keeps_memory = modes["memory"] == "honcho"
        has_tools = chosen is None or chosen.has_tools
        stores = ["turns"] if chosen is None or chosen.saves else []
        stores += ["tools"] if has_tools else []
        return {
            "spec_version": SPEC_VERSION,
            "extensions": [*(("tools",) if has_tools else ()), *_EXTENSIONS],
            "tool_names": list(tools.NAMES) if has_tools else [],
            "suppresses_local_writes": {name: modes[name] == "honcho" for name in modes},
            "stores": [*stores, *(["writes"] if keeps_memory else [])],
            "retention": "verbatim",
            "recall_basis": "previous",
            "consistency": {"eventual": {"freshness_s": 5}},
            "isolates": ["profile", "user"]
            if chosen is None or not chosen.pins_user
            else ["profile"],
            "mirrors": {"user": ["add"], **({"memory": ["add"]} if keeps_memory else {})},
            "single_writer": False,
        }

    def _opened(self) -> Live:
        live = self._live
        if live is None:
            raise Unavailable("the provider has no session: it was not initialized, or shut down")
        return live

    # -- recall -----------------------------------------------------------------------------------

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """
        Return what was fetched for this turn; the first one waits up to 4.5 s, later ones never.

        None in the recall mode `tools`.
        """
        live = self._opened()
        if not live.settings.injects:
            return None
        found = live.recall.take(user_message)
        if found is None or self._room is None or len(found) <= self._room:
            return found
        return "\n".join(texts.fitting(found.splitlines(), self._room)) or None

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Fetch in the background what fits a message, for the next turn."""
        live = self._opened()
        if live.settings.injects:
            live.recall.prefetch(strip_memory_context(query))

    def recall_status(self) -> dict[str, Any]:
        """Say how recall and the sending of texts fare."""
        live = self._live
        if live is None:
            return {"state": "down", "message": "no session is open"}
        fault = live.sender.fault or live.recall.fault or live.recall.lack
        lost, waiting = live.outbox.refused, live.outbox.count()
        state = "down" if live.recall.fault else "degraded" if fault or lost else "ok"
        told: dict[str, Any] = {"state": state, "pending_writes": waiting, "lost_writes": lost}
        told["recalled"] = live.recall.recalled
        if fault or lost:
            told["message"] = str(fault) if fault else "the server refused a text; see the home"
        return told

    def unavailable_reason(self) -> str:
        """Say what is missing, or why the server does not serve; "" where nothing is wrong."""
        live = self._live
        if live is None:
            return "" if self._borrowed is not None else self._missing()
        fault = live.sender.fault or live.recall.fault
        return str(fault) if fault else ""

    # -- what is stored ---------------------------------------------------------------------------

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Accept a turn: it is in a file, and on the server when the write frequency says so.

        Raises:
            Rejected: The server refuses it, with the frequency `turn`.
            WriteRefused: Too many wait for the server.
            Unavailable: It could be kept neither here nor on the server.

        """
        live = self._opened()
        if self._stores_turns:
            live.store_turn(_said(live, user_message, assistant_response, now(), now()))
        if live.settings.injects:
            live.recall.prepare(strip_memory_context(user_message))

    def record(self, turn: dict[str, Any]) -> None:
        """Accept a turn that the host has an id for, once; raises as `on_turn_complete`."""
        live = self._opened()
        said = (turn["user_message"], turn["assistant_response"])
        is_users = turn.get("context") in {None, *self._contexts} and not is_of_bot(turn)
        if self._stores_turns and is_users:
            times = (turn["started_at"], turn["ended_at"])
            live.store_recorded(turn, _said(live, *said, *times))
        if live.settings.injects:
            live.recall.prepare(strip_memory_context(said[0]))

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """
        Store what was added about the user as a conclusion.

        Raises:
            WriteRefused: It is none of `mirrors`: Honcho takes what is added, and about the user
                unless its mode keeps the memory as well; or too many wait for the server.
            Rejected: There is no text, or the server refuses it.

        """
        live = self._opened()
        if target not in self.capabilities()["mirrors"] or action != "add":
            raise WriteRefused("honcho mirrors what is added about the user, and nothing else")
        if content is None or not texts.sent(content).strip():
            raise Rejected("there is no text to add")
        live.conclude(content, "user" if target == "user" else "ai")

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Send what was accepted; nothing of the messages, whose turns are accepted already."""
        live = self._opened()
        live.release()
        live.sender.kick()

    def on_session_end(self, messages: list[Message]) -> None:
        """Send what was accepted, within 5 s; what is left then is sent later."""
        self._opened().end()

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Go on in another session; what was accepted before belongs to the one that was left."""
        known = ("session_title", "gateway_session_key", "cwd")
        changed = {key: kwargs[key] for key in known if isinstance(kwargs.get(key), str)}
        self._opened().switch(new_session_id, changed)

    # -- tools ------------------------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the five tools; none in the recall mode `context`."""
        if self._live is not None and not self._live.settings.has_tools:
            return []
        return [dict(schema) for schema in tools.SCHEMAS]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Serve one call; an error is an answer, also where the server does not answer."""
        return tools.call(self._opened(), tool_name, args)

    # -- set-up and backup ------------------------------------------------------------------------

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the settings that are asked for; honcho.json knows more."""
        return [dict(field) for field in settings.FIELDS]

    def save_config(self, values: dict[str, Any], home: str) -> None:
        """Keep answers in the home's honcho.json. Raises `Misconfigured` for a wrong one."""
        settings.save(values, Path(home))

    def backup_paths(self) -> list[str]:
        """Return the file of settings outside the home; the memory is the server's."""
        path = finding.found()
        return [] if path is None else [str(path.absolute())]


def _said(
    live: Live, said: str, answer: str, began: str, ended: str
) -> list[tuple[str, str, str | None]]:
    user = (live.place.user, strip_memory_context(said), began)
    return [user, (live.place.ai, answer, ended)] if answer else [user]


def _path(config: Mapping[str, Any], key: str) -> Path | None:
    value = config.get(key)
    return Path(value).absolute() if isinstance(value, str) and value else None


def _homes(config: Mapping[str, Any]) -> list[Path]:
    keys = ("home", "host_home", "hermes_home")
    return [path for path in (_path(config, key) for key in keys) if path is not None]
