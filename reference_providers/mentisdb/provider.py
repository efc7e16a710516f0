"""The provider: one session on one chain of a daemon, and the hooks that the protocol names."""

import contextlib
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, ProviderError, Rejected, Unavailable
from memproto.types import SPEC_VERSION, Capabilities, Message, is_of_bot

from . import daemon as wire
from . import settings, tool
from .daemon import Daemon, Thought
from .keys import plain
from .recall import rendered
from .session import OPEN_S, RECALL_S, WRITE_S, Session
from .settings import Settings
from .standing import logger

_ACTIONS = ("add", "replace", "remove")

#: Text that the model is told once for each session.
_PROMPT = (
    "Long-term memory is kept in MentisDB, and what fits the message comes with it."
    " Search earlier sessions with mentisdb_recall."
    " Keep facts, decisions and lessons that should last with mentisdb_store."
)


class MentisDbMemoryProvider:
    """
    Turns, writes and lessons as thoughts on a chain of a MentisDB daemon.

    A text that a hook accepts is confirmed by the daemon, or waits in the home to be sent once.
    Every hook may be called on any thread and keeps its time whatever the daemon does. Several
    processes may use one home.
    """

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._session: Session | None = None

    @property
    def name(self) -> str:
        """`mentisdb`. Spec: MP-NAME-001."""
        return "mentisdb"

    def is_available(self) -> bool:
        """True if httpx is installed and the environment's settings can be; asks nobody."""
        return not _missing()

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Begin a session, and send what waits from earlier ones for at most 3 s.

        Args:
            session_key: The session to which what comes belongs.
            config: `home`; and, each optional, `mentisdb` (settings that go before the
                environment's and the saved ones), `user_id`, `agent_identity`, `platform`,
                `limits`, `protocol`, `agent_context`.

        Raises:
            Misconfigured: httpx is missing, or a setting is wrong. Never because of the daemon.

        """
        self.shutdown()
        chosen = Settings.of(config)
        self._settings, self._session = chosen, Session(chosen, session_key)
        self._session.delivery.flush(OPEN_S)

    def shutdown(self) -> None:
        """Send what waits for at most 6 s; the rest stays in the home. Never raises."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def capabilities(self) -> Capabilities:
        """Declarations of this provider, as in `schemas/capabilities.schema.json`."""
        return {
            "spec_version": SPEC_VERSION,
            "extensions": [
                "tools",
                "prewarm",
                "sessions",
                "delegation",
                "config",
                "prompt",
                "status",
                "record",
            ],
            "tool_names": list(tool.NAMES),
            "suppresses_local_writes": False,
            "stores": ["turns", "writes", "tools"],
            "retention": "verbatim",
            "recall_basis": "query",
            "consistency": "immediate",
            "isolates": ["profile", "user"],
            "mirrors": {name: list(_ACTIONS) for name in ("memory", "user")},
            "single_writer": False,
        }

    def _opened(self) -> tuple[Session, Settings]:
        if self._session is None or self._settings is None:
            raise Unavailable("the provider has no session: it was not initialized, or shut down")
        return self._session, self._settings

    # -- recall -----------------------------------------------------------------------------------

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """Return what fits the message, within 3 s; None where nothing does or nobody answers."""
        session, chosen = self._opened()
        question = session.question(user_message)
        found: list[Thought] = []
        if question:
            # Told by `recall_status`; a request that the daemon refuses brings nothing either.
            with contextlib.suppress(ProviderError):
                found = session.recall.prepared(question, budget_s=RECALL_S)
        session.recalled = len(found)
        return rendered(question, found, chosen.room) or None

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Begin to look for what fits a question, and return at once."""
        session, _ = self._opened()
        session.recall.prepare(session.question(query), budget_s=RECALL_S)

    def recall_status(self) -> dict[str, Any]:
        """Say how the daemon fared when it was asked last; asks nobody."""
        if self._session is None:
            return {"state": "ok"}
        return self._session.status()

    def unavailable_reason(self) -> str:
        """Say what is missing, or why the daemon does not serve; "" where nothing is wrong."""
        return _missing() if self._session is None else self._session.standing.fault

    # -- what is stored ---------------------------------------------------------------------------

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Store both sides of a turn, but for words of the user that a compression brought before.

        Raises:
            Rejected: The daemon refuses the text; `TooLarge` where it is too long.
            WriteRefused: Too much waits in the home.
            Unavailable: The daemon is away, and the home cannot be written.

        """
        session, chosen = self._opened()
        if chosen.context in chosen.contexts:
            session.keep(session.unshown(session.maker.turn(user_message, assistant_response)))

    def record(self, turn: dict[str, Any]) -> None:
        """Store a turn with its id, author and times, once for each id. Raises the same."""
        session, chosen = self._opened()
        if not {turn.get("context", "primary"), chosen.context} <= set(chosen.contexts):
            return
        if is_of_bot(turn):
            return
        parcels = session.maker.turn(
            turn["user_message"],
            turn["assistant_response"],
            turn_id=turn["turn_id"],
            session=turn["session_id"],
            more=_origin(turn),
        )
        session.keep(parcels)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """
        Do what the host's memory tool did.

        A chain is never rewritten: what was replaced or removed stays on it, and out of recall.

        Raises:
            Rejected: The action is none, or a text that it needs is missing.
            WriteRefused: `old_text` quotes no entry, or several different ones.
            Unavailable: The daemon is away, and what is meant by `old_text` cannot be seen.

        """
        session, _ = self._opened()
        if action not in _ACTIONS:
            raise Rejected(f"action is not one of {', '.join(_ACTIONS)}")
        if action != "remove" and content is None:
            raise Rejected(f"{action} lacks content")
        old = content if action == "remove" and old_text is None else old_text
        parcels = [] if action == "add" else session.retraction(target, old)
        if action != "remove":
            parcels += session.maker.write(target, content or "")
        session.keep(parcels)

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Store what the user said in messages that are not stored yet. Raises nothing."""
        session, _ = self._opened()
        try:
            session.extract(session.maker.extracted(messages))
        except ProviderError as error:
            logger.warning("messages of a compression were not stored: %s", type(error).__name__)

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Store what a subagent was asked and brought, with bounds. Raises as a turn."""
        session, _ = self._opened()
        session.keep(session.maker.delegated(task, result, child_session_id))

    def on_session_end(self, messages: list[Message]) -> None:
        """Store what the session was about, once for the same messages. Raises as a turn."""
        session, _ = self._opened()
        session.keep(session.maker.summary(messages))
        if not session.standing.is_resting():
            session.delivery.flush(WRITE_S)

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Go on in another session; a chain keeps what was stored before a rewind."""
        session, _ = self._opened()
        session.switch(new_session_id, is_other=reset)

    def times_stored(self, text: str) -> int:
        """Copies of a text on this user's chain, summaries not counted; raises `Unavailable`."""
        return self._opened()[0].times_stored(text)

    # -- tools, prompt, set-up --------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the two tools."""
        return [dict(schema) for schema in tool.SCHEMAS]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Serve one call within 10 s; everything that goes wrong is an answer."""
        session, _ = self._opened()
        return tool.call(session.search, session.learn, tool_name, args)

    def system_prompt_block(self) -> str:
        """Return how the tools are meant: the same in every session."""
        return _PROMPT

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Return the five settings."""
        return [dict(field) for field in settings.FIELDS]

    def save_config(self, values: dict[str, Any], home: str) -> None:
        """Keep answers below the home. Raises `Misconfigured` for one that may not be given."""
        settings.save(values, Path(home))

    def post_setup(self, home: str, config: dict[str, Any]) -> None:
        """
        See whether the daemon answers, within 3 s.

        Raises:
            Misconfigured: A setting is wrong.
            Unavailable: The daemon does not answer there; says what to do.

        """
        daemon = Daemon(Settings.of({"home": home}))
        try:
            daemon.health(RECALL_S)
        except Rejected as refusal:
            raise Unavailable(str(refusal)) from None
        finally:
            daemon.close()


def _missing() -> str:
    """The fault that keeps the provider from starting, as far as it is known before a session."""
    if wire.httpx is None:
        return wire.MISSING
    try:
        given = settings.environment()
        for key in given:
            settings.checked(given, key)
    except Misconfigured as error:
        return str(error)
    return ""


def _origin(turn: dict[str, Any]) -> list[str]:
    """Tags that say whose words a turn holds, and when it was."""
    author = turn.get("author")
    named = author.get("id") if isinstance(author, dict) else None
    tags = [f"at:{turn['started_at']}", f"turn:{plain(turn['turn_id'])}"]
    return [*tags, f"author:{plain(named)}"] if isinstance(named, str) else tags
