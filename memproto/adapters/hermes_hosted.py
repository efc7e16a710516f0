"""A native provider in the place that a Hermes host gives it: its session, its writes, its home."""

import contextlib
import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from memproto.adapters.hermes_base import HOOKS, NATIVE_CONFIG, RENAMED_CONFIG
from memproto.adapters.hermes_lane import Asking, WriteLane
from memproto.adapters.homes import own_folder
from memproto.adapters.texts import plain_text
from memproto.deadlines import Deadlines
from memproto.errors import Unavailable
from memproto.operations import EXTENSION_HOOKS, OPERATIONS
from memproto.types import SPEC_VERSION

#: Seconds that a host waits which calls a write hook inline.
PATIENCE_S = 1.0

#: Share that the adapter leaves of each native budget, to have returned when the budget is over.
_SHARE = 0.9

#: The contexts of a session in which write hooks are called; the host itself calls them in all.
_CONTEXTS = ("primary",)

_NATIVE_KEYS = {theirs: ours for ours, theirs in RENAMED_CONFIG.items()}


def _budgets() -> Deadlines:
    whole = Deadlines()
    return Deadlines(
        enrich_s=_SHARE * whole.enrich_s,
        compress_s=_SHARE * whole.compress_s,
        shutdown_s=_SHARE * whole.shutdown_s,
        tool_s=_SHARE * whole.tool_s,
        turn_start_s=_SHARE * whole.turn_start_s,
        ask_s=_SHARE * whole.ask_s,
    )


class Hosted:
    """
    The adapter's knowledge of one provider and its session.

    Attributes:
        provider: The provider, native, with blocking hooks.
        budgets: The deadlines that it is told, and held to.
        is_open: True if it serves a session: its start did not fail, and no end has come.
        session_id: The session that it is in.
        declared: Its capabilities, read once after its start.

    """

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self.budgets = _budgets()
        self.is_open = False
        self.session_id = ""
        self.declared: Mapping[str, Any] = {}
        self._asking = Asking()
        self._lane = WriteLane(PATIENCE_S)
        self._writes_are_called = True

    # -- start and end -----------------------------------------------------------------------------

    def open(self, session_id: str, keywords: dict[str, Any], hooks: list[str]) -> None:
        """
        Start the session; a provider that fails is shut down, and the error goes on.

        The lane is a new one: what an earlier session could not finish holds nothing up.
        """
        context = keywords.get("agent_context") or _CONTEXTS[0]
        self._writes_are_called = context in _CONTEXTS
        self.session_id, self._lane = session_id, WriteLane(PATIENCE_S)
        self.is_open = False
        try:
            self.provider.initialize(session_id, self._config(keywords, hooks))
            self.declared = dict(self.provider.capabilities())
        except BaseException:
            with contextlib.suppress(Exception):
                self.provider.shutdown()
            raise
        self.is_open = True

    def _config(self, keywords: dict[str, Any], hooks: list[str]) -> dict[str, Any]:
        """The native configuration for what a Hermes host hands to `initialize`."""
        theirs = str(keywords.get("hermes_home") or _hermes_home())
        known = {
            _NATIVE_KEYS.get(key, key): value
            for key, value in keywords.items()
            if key not in {*NATIVE_CONFIG, "hermes_home"} and value is not None
        }
        promised = {
            "home": str(self.home_in(theirs)),
            "host_home": theirs,
            "platform": known.get("platform") or "cli",
            "limits": {},
            "protocol": self._protocol(hooks),
            "deadlines": self._deadlines(),
        }
        if known.get("user_id"):
            # The same number is another person elsewhere; natively ids are told apart by the host.
            promised["user_id"] = f"{promised['platform']}:{known['user_id']}"
        return {key: value for key, value in known.items() if not callable(value)} | promised

    def _protocol(self, hooks: list[str]) -> dict[str, Any]:
        return {
            "version": SPEC_VERSION,
            "host": "hermes",
            "hooks": hooks,
            "contexts": list(_CONTEXTS),
        }

    def _deadlines(self) -> dict[str, Any]:
        names = ("initialize_s", "enrich_s", "compress_s", "shutdown_s")
        return {name: getattr(self.budgets, name) for name in names}

    def home_in(self, hermes_home: str) -> Path:
        """The provider's own directory below the host's, which is made where it is missing."""
        home = Path(hermes_home, "memproto", str(self.provider.name)).absolute()
        return own_folder(home)

    def close(self) -> None:
        """End the session: first what was accepted, then the provider, within one budget."""
        until = monotonic() + self.budgets.shutdown_s
        self.is_open = False
        # A third is the provider's own, whatever the writes take.
        self._lane.close(self.budgets.shutdown_s * 2 / 3)
        self._asking.ask("shutdown", self.provider.shutdown, max(0.0, until - monotonic()))

    # -- calls -------------------------------------------------------------------------------------

    def serves(self, extension: str) -> bool:
        """True if the provider declared the extension for this session, and has its hooks."""
        return (
            self.is_open
            and extension in (self.declared.get("extensions") or ())
            and has_hooks(self.provider, extension)
        )

    def answers_for_compressing(self) -> bool:
        """True if a checkpoint is asked for: it is a write, of which other contexts have none."""
        return self._writes_are_called and self.serves("checkpoint")

    def is_told_of_compressing(self) -> bool:
        """True if `on_compress` is called: where it is a checkpoint, only with the user."""
        return self.answers_for_compressing() or not self.serves("checkpoint")

    def ask(self, hook: str, *args: Any, within_s: float = 0.0, **keywords: Any) -> Any:
        """Gives the answer of a hook, in time; raises as `Asking.ask`."""
        function = functools.partial(getattr(self.provider, hook), *args, **keywords)
        return self._asking.ask(hook, function, within_s or self.budgets.ask_s)

    def ask_beside(self, what: str, function: Callable[[], Any], within_s: float) -> Any:
        """Gives the answer, in time, of a hook that may run beside itself; raises as `ask`."""
        return self._asking.ask_beside(what, function, within_s)

    def recall(self, query: str) -> Any:
        """Recalls in time, once the provider is in the session that it is asked for."""
        messages = [{"role": "user", "content": query}]
        until = monotonic() + self.budgets.enrich_s
        if not self._lane.await_switches(self.budgets.enrich_s):
            return None
        rest_s = max(0.0, until - monotonic())
        return self.ask("enrich_turn", query, messages, within_s=rest_s)

    def write(self, hook: str, *args: Any, **keywords: Any) -> None:
        """Hand over a write, in order; nothing in a context that is not the user's."""
        if not self.is_open:
            raise Unavailable("no session is open")
        if self._writes_are_called:
            function = functools.partial(getattr(self.provider, hook), *args, **keywords)
            self._lane.write(hook, function)

    def switch(self, session_id: str, **keywords: Any) -> None:
        """Go on in another session, behind the writes of the one that is left."""
        self.session_id = session_id
        hook = self.provider.on_session_switch
        function: Callable[[], Any] = functools.partial(hook, session_id, **keywords)
        self._lane.write("on_session_switch", function, is_switch=True)


def has_hooks(provider: Any, extension: str) -> bool:
    """True if a provider has every hook of an extension."""
    return all(callable(getattr(provider, hook, None)) for hook in EXTENSION_HOOKS[extension])


def hooks_called(base: type) -> list[str]:
    """
    The native names of the hooks that a host with the base class `base` brings about.

    The block of the prompt is not among them: whether the host takes it is seen when it does.
    """
    rows = [
        row
        for row in OPERATIONS.values()
        if not row.extension or hasattr(base, HOOKS.get(row.name, ""))
    ]
    called = [row.native for row in rows if row.name != "prompt"]
    return [*called, *EXTENSION_HOOKS["record"]]


def author_of(turn_author: object) -> dict[str, Any] | None:
    """
    The author of a turn as the protocol knows one, where a host told it.

    One without an id is nobody; of a bot the name stands for it, or the word.
    """
    if not isinstance(turn_author, Mapping):
        return None
    known = {key: plain_text(turn_author.get(key)) for key in ("id", "name")}
    found: dict[str, Any] = {key: text for key, text in known.items() if text}
    if turn_author.get("is_bot"):
        return {"id": found.get("name", "bot"), **found, "is_bot": True}
    return found if "id" in found else None


def _hermes_home() -> str:
    """Place of the host's home if it does not say so, which the contract promises."""
    return os.environ.get("HERMES_HOME") or str(Path.home() / ".hermes")
