"""The provider: one session on one chain of a daemon, and the hooks that the protocol names."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memproto.errors import Misconfigured, ProviderError, Rejected, Unavailable
from memproto.reference_providers.outbox import Outbox
from memproto.types import SPEC_VERSION, Capabilities, Message

from . import daemon as wire
from . import settings, tool
from .daemon import Daemon, Thought
from .delivery import Delivery, Parcel
from .keys import plain, stored
from .recall import Recall, rendered
from .settings import OUTBOX, Settings
from .standing import Standing, logger
from .thoughts import Maker

#: Wall-clock seconds for everything that a hook does over the network.
_RECALL_S, _WRITE_S, _TOOL_S, _COMPRESS_S = 3.0, 5.0, 10.0, 60.0

#: What waits is sent for so long at the start of a session, and at its end.
_OPEN_S, _CLOSE_S = 3.0, 6.0

_ACTIONS = ("add", "replace", "remove")

#: So many tags stand in one look-up.
_LOOKED_UP = 50

#: More of one text are not counted.
_COUNTED = 1_000

#: What the model is told once for each session.
_PROMPT = (
    "Long-term memory is kept in MentisDB, and what fits the message comes with it."
    " Search earlier sessions with mentisdb_recall."
    " Keep facts, decisions and lessons that should last with mentisdb_store."
)


class MentisDbMemoryProvider:
    """
    Turns, writes and lessons as thoughts on a chain of a MentisDB daemon.

    What a hook accepts the daemon has confirmed, or it waits in the home and is sent later, once.
    Every hook may be called on any thread and keeps its time whatever the daemon does. Several
    processes may use one home.
    """

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._session: _Session | None = None

    @property
    def name(self) -> str:
        """`mentisdb`. Spec: MP-NAME-001."""
        return "mentisdb"

    def is_available(self) -> bool:
        """Whether httpx is installed and the environment's settings can be; asks nobody."""
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
        self._settings, self._session = chosen, _Session(chosen, session_key)
        self._session.delivery.flush(_OPEN_S)

    def shutdown(self) -> None:
        """Send what waits for at most 6 s; the rest stays in the home. Never raises."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def capabilities(self) -> Capabilities:
        """What this provider does, as in `schemas/capabilities.schema.json`."""
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
            "mirrors": {"memory": ["add"], "user": ["add"]},
            "single_writer": False,
        }

    def _opened(self) -> tuple["_Session", Settings]:
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
                found = session.recall.prepared(question, budget_s=_RECALL_S)
        session.recalled = len(found)
        return rendered(question, found, chosen.room) or None

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Begin to look for what fits a question, and return at once."""
        session, _ = self._opened()
        session.recall.prepare(session.question(query), budget_s=_RECALL_S)

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
        Store both sides of a turn.

        Raises:
            Rejected: The daemon refuses the text; `TooLarge` where it is too long.
            WriteRefused: Too much waits in the home.
            Unavailable: The daemon is away, and the home cannot be written.

        """
        session, chosen = self._opened()
        if chosen.context in chosen.contexts:
            session.keep(session.maker.turn(user_message, assistant_response))

    def record(self, turn: dict[str, Any]) -> None:
        """Store a turn with its id, author and times, once for each id. Raises the same."""
        session, chosen = self._opened()
        if not {turn.get("context", "primary"), chosen.context} <= set(chosen.contexts):
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
        Store what the host's memory tool added, or put in place of something else.

        A chain is never rewritten: what was replaced or removed stays on it.

        Raises:
            Rejected: The action is none. Else the same as `on_turn_complete`.

        """
        session, _ = self._opened()
        if action not in _ACTIONS:
            raise Rejected(f"action is not one of {', '.join(_ACTIONS)}")
        if action != "remove" and content:
            session.keep(session.maker.write(target, content))

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
            session.delivery.flush(_WRITE_S)

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
        session.maker.session = new_session_id
        session.recall.drop()

    def times_stored(self, text: str) -> int:
        """How often a text is on this user's chain, summaries not counted; raises `Unavailable`."""
        return self._opened()[0].times_stored(text)

    # -- tools, prompt, set-up --------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Return the two tools."""
        return [dict(schema) for schema in tool.SCHEMAS]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Serve one call within 20 s; everything that goes wrong is an answer."""
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
            daemon.health(_RECALL_S)
        except Rejected as refusal:
            raise Unavailable(str(refusal)) from None
        finally:
            daemon.close()


class _Session:
    """One session on its chain."""

    def __init__(self, chosen: Settings, key: str) -> None:
        self.recalled = 0
        self.standing = Standing()
        self._daemon = Daemon(chosen)
        self.delivery = Delivery(self._daemon, Outbox(chosen.home / OUTBOX), self.standing)
        self.recall = Recall(self._daemon, self.standing, chosen.recall_count)
        self.maker = Maker(chosen.chain, key, chosen.platform)

    def question(self, text: str) -> str:
        return " ".join(stored(text).split())

    def keep(self, parcels: Sequence[Parcel], budget_s: float | None = None) -> None:
        if parcels:
            self.delivery.keep(parcels, _WRITE_S if budget_s is None else budget_s)
        # What was prepared before does not hold it.
        self.recall.drop()

    def extract(self, parcels: Sequence[Parcel]) -> None:
        known: set[str] = set()
        tags = [tag for parcel in parcels for tag in parcel.unless]
        with contextlib.suppress(Unavailable, Rejected):
            for start in range(0, len(tags), _LOOKED_UP):
                known |= self.delivery.stored(tags[start : start + _LOOKED_UP], _WRITE_S)
        self.keep([p for p in parcels if known.isdisjoint(p.unless)], _COMPRESS_S)

    def search(self, query: str, limit: int) -> list[Thought]:
        return self.recall.found(self.question(query), limit, budget_s=_TOOL_S)

    def times_stored(self, text: str) -> int:
        found = self._daemon.containing(stored(text), _COUNTED, _TOOL_S)
        return sum(one.get("thought_type") != "Summary" for one in found)

    def learn(self, content: str, kind: str, tags: list[str]) -> bool:
        self.keep(self.maker.lesson(content, kind, tags))
        return not self.standing.fault

    def status(self) -> dict[str, Any]:
        waiting, fault = self.delivery.waiting(), self.standing.fault
        found: dict[str, Any] = {
            "state": "down" if fault else "degraded" if waiting or self.delivery.lost else "ok",
            "recalled": self.recalled,
            "pending_writes": waiting,
            "lost_writes": self.delivery.lost,
        }
        if fault:
            found |= {"message": fault, "since": self.standing.since}
        return found

    def close(self) -> None:
        self.recall.drop()
        self.delivery.flush(_CLOSE_S)
        with contextlib.suppress(Exception):
            self._daemon.close()


def _missing() -> str:
    """What keeps the provider from starting, as far as it is known before a session."""
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
