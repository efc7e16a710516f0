"""The hooks of extensions under the kit's hand, and which of them a provider answers for."""

from collections.abc import Callable
from typing import Any, Protocol

# -- turning ---------------------------------------------------------------------------------------

# Telling a provider that a turn begins, which a host does for each turn that it then records.
#
# A provider may tell turns apart by what it was told: without it, the turns of a session look like
# one turn that is recorded again and again.


class TurnCount:
    """The numbers of the turns of each session key: one that is opened again counts on."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}

    def next(self, session_key: str) -> int:
        """The number of the turn that begins now."""
        self.told(session_key, self._latest.get(session_key, 0) + 1)
        return self._latest[session_key]

    def reserved(self, session_key: str, count: int) -> int:
        """The number of the latest turn; as many that follow it are another process's."""
        latest = self._latest.get(session_key, 0)
        self.told(session_key, latest + count)
        return latest

    def told(self, session_key: str, number: int) -> None:
        """Count on from a number that a check chose."""
        self._latest[session_key] = number


class Turning:
    """The place of one session between two turns."""

    def __init__(self, count: TurnCount | None = None, session_key: str = "") -> None:
        self._count = count
        self._session_key = session_key
        self._has_begun = False

    def began(self, number: int) -> None:
        """Note that a turn began by the check's own call."""
        self._has_begun = True
        if self._count is not None:
            self._count.told(self._session_key, number)

    def begins(self) -> int | None:
        """The number of the turn that begins; None where it did, or nobody is told of turns."""
        if self._count is None or self._has_begun:
            return None
        self._has_begun = True
        return self._count.next(self._session_key)

    def ends(self) -> None:
        """Note that the turn is recorded now."""
        self._has_begun = False


# --------------------------------------------------------------------------------------------------


class _Used(Protocol):
    """Members that `ExtensionHooks` needs of the class that it is mixed into."""

    provider: Any
    turning: Turning

    def _use(self, operation: str, *arguments: Any, **keywords: Any) -> Any: ...

    def call(self, operation: str, function: Callable[[], Any]) -> Any: ...


class ExtensionHooks:
    """
    The calls that a host makes to extensions; mixed into `Subject`.

    Each gives what the hook returned, of whatever type, and raises as `Subject.call` does.
    """

    def tools(self: _Used) -> Any:
        """Read the tool schemas."""
        return self._use("tools")

    def call_tool(self: _Used, name: str, args: Any) -> Any:
        """Call one tool."""
        return self._use("call_tool", name, args)

    def prewarm(self: _Used, query: str, **keywords: Any) -> Any:
        """Ask for the next turn's recall to be started."""
        return self._use("prewarm", query, **keywords)

    def turn_start(self: _Used, number: int, message: str, **keywords: Any) -> Any:
        """Say that a turn begins."""
        self.turning.began(number)
        return self._use("turn_start", number, message, **keywords)

    def end(self: _Used, messages: list[dict[str, Any]]) -> Any:
        """Say that the session ends."""
        return self._use("end", messages)

    def switch(self: _Used, session_key: str, **keywords: Any) -> Any:
        """Go on in another session; `parent_session_id`, `reset` and `rewound` as keywords."""
        return self._use("switch", session_key, **keywords)

    def delegated(self: _Used, task: str, result: str, **keywords: Any) -> Any:
        """Tell what a subagent was asked and what it answered."""
        return self._use("delegation", task, result, **keywords)

    def config_schema(self: _Used) -> Any:
        """Read the questions that set-up asks."""
        return self._use("config_schema")

    def save_config(self: _Used, values: dict[str, Any], home: str) -> Any:
        """Hand over the answers of set-up."""
        return self._use("save_config", values, home)

    def post_setup(self: _Used, home: str, config: dict[str, Any]) -> Any:
        """Call the optional hook after set-up; counted as the saving that it follows."""
        hook = self.provider.post_setup
        return self.call("save_config", lambda: hook(home, config))

    def backup_paths(self: _Used) -> Any:
        """Read the paths outside the home that hold the provider's state."""
        return self._use("backup")

    def prompt(self: _Used) -> Any:
        """Read the block for the system prompt."""
        return self._use("prompt")

    def status(self: _Used) -> Any:
        """Read how recall fares."""
        return self._use("status")

    def unavailable_reason(self: _Used) -> Any:
        """Read why the provider cannot start, or does not serve."""
        return self._use("unavailable_reason")

    def compress_notes(self: _Used, messages: list[dict[str, Any]]) -> Any:
        """Read what the provider would add to a summary."""
        return self._use("compress_notes", messages)

    def record_turn(self: _Used, turn: dict[str, Any]) -> Any:
        """Record one turn with its id, author and times."""
        return self._use("record_turn", turn)

    def items(self: _Used, request: dict[str, Any]) -> Any:
        """Recall as a list of items."""
        return self._use("items", request)

    def export(self: _Used, scope: dict[str, Any]) -> Any:
        """Read all that is stored in a scope."""
        return self._use("export", scope)

    def forget(self: _Used, scope: dict[str, Any]) -> Any:
        """Remove all that is stored in a scope."""
        return self._use("forget", scope)
