"""A provider in a process of its own, as a native provider for any host."""

import functools
import logging
import os
import shlex
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from memproto.errors import Rejected, TooLarge
from memproto.operations import EXTENSION_HOOKS
from memproto.types import Capabilities, Message
from memproto.wire import codes
from memproto.wire.codec import Unsendable
from memproto.wire.connection import Connection, Ended, Inspector, Overdue
from memproto.wire.faults import (
    Fault,
    Misspoken,
    NotStarted,
    OutcomeUnknown,
    ServerError,
    Unanswered,
)
from memproto.wire.methods import BY_HOOK, METHODS, WRITES, Method
from memproto.wire.program import Program, shown

_LOG = logging.getLogger("memproto.wire")

#: Seconds that a method may take; those that the host's config names count before these.
BUDGETS_S: dict[str, float] = {
    **dict.fromkeys(("available", "declare", "recall", "items", "tools", "prewarm"), 5.0),
    **dict.fromkeys(("turn_start", "prompt", "status", "unavailable_reason", "backup"), 5.0),
    **dict.fromkeys(("record", "mirror", "record_turn", "end", "switch", "delegation"), 15.0),
    **dict.fromkeys(("save_config", "post_setup", "export", "forget", "close"), 15.0),
    **dict.fromkeys(("compress", "compress_notes"), 120.0),
    "open": 30.0,
    "config_schema": 5.0,
    "call_tool": 60.0,
}

#: Method to the key of `deadlines` in the config.
_DEADLINES = {
    **dict.fromkeys(("recall", "items"), "enrich_s"),
    **dict.fromkeys(("compress", "compress_notes"), "compress_s"),
    "close": "shutdown_s",
    "open": "initialize_s",
}

#: Variables of the host that a server gets, beside those that it is given.
ALLOWED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    *("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
)

#: Errors of a backend that cannot be reached, by the names under which a server tells them.
_AWAY = frozenset(
    {
        *("ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "TimeoutError"),
        *("BrokenPipeError", "ConnectionAbortedError", "gaierror"),
    }
)

_EXTENSIONS = frozenset(hook for hooks in EXTENSION_HOOKS.values() for hook in hooks)


class WireProvider:
    """
    A `MemoryProvider` whose hooks are served by a program, by the protocol of 85-wire.md.

    The program starts with the first question, in a process group of its own, and is never started
    a second time: what comes after its end is `Unavailable`, and recall is None. A server serves
    one session; a second one takes a second `WireProvider`. Hooks are safe from any thread, and
    block for their deadline at most: that of the config that `initialize` got, else the budgets of
    the specification, on the monotonic clock of this process. Extension hooks are attributes as far
    as the server answers them.

    `shutdown` ends the whole process group. An instance that is dropped without it closes the
    program's standard input, by which the program ends.
    """

    #: A seam of tests.
    _CONNECTION = Connection

    def __init__(
        self,
        command: Sequence[str] | str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """
        Build an instance; nothing is started, and nothing can fail but the arguments.

        Args:
            command: The program and its arguments, as a list, or as one text that is split as a
                shell splits it; no shell runs.
            cwd: The working directory of the program; None for that of the host.
            env: Variables that the program gets beside `ALLOWED` ones of the host.

        Raises:
            ValueError: The command is empty, or a text that cannot be split.

        """
        words = shlex.split(command) if isinstance(command, str) else list(command)
        if not words or not all(isinstance(word, str) for word in words) or not words[0]:
            raise ValueError(f"the command of a server is {command!r}, not a program and arguments")
        self._command = tuple(words)
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._env = dict(env or {})
        self._inspector: Inspector | None = None
        self._is_judged = False
        self._deadlines: Mapping[str, Any] = {}
        self._connection: Connection | None = None
        self._refused: NotStarted | None = None
        self._is_closed = False
        self._starting = threading.Lock()
        self._closing = threading.Lock()

    def __repr__(self) -> str:
        return f"WireProvider({shown(self._command)!r})"

    # -- the program -------------------------------------------------------------------------------

    @property
    def command(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return self._command

    @property
    def directory(self) -> str | None:
        """The working directory of the program; None for that of the host."""
        return self._cwd

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the program gets, as the host's environment is now."""
        mine = {name: os.environ[name] for name in ALLOWED if name in os.environ}
        return {**mine, **self._env}

    def start(self) -> None:
        """
        Start and greet the program, unless that was done; blocks for at most 20 s.

        Raises:
            NotStarted: It cannot be started, or is no server; it is not tried again.
            Unavailable: The instance was shut down before.

        """
        self._server()

    def ping(self) -> bool:
        """True if the server answers within 1 s; never raises."""
        connection = self._connection
        if connection is None:
            return False
        try:
            return "result" in connection.ask("ping", {}, 1.0)
        except (Overdue, Ended):
            return False

    def judge(self, inspector: Inspector) -> None:
        """
        Be judged: no deadline of its own, every message inspected, a fault raised by the next hook.

        For a kit that holds the deadlines itself, before the first question.
        """
        self._is_judged, self._inspector = True, inspector

    def _server(self) -> Connection:
        if self._connection is not None:
            return self._connection
        with self._starting:
            if self._connection is None:
                if self._refused is not None:
                    raise self._refused
                if self._is_closed:
                    raise Unanswered(f"{shown(self._command)} was shut down")
                self._connection = self._started()
        return self._connection

    def _started(self) -> Connection:
        try:
            found = self._CONNECTION(
                self._command, cwd=self._cwd, env=self.environment, inspector=self._inspector
            )
        except NotStarted as refused:
            self._refused = refused
            raise
        weakref.finalize(self, Program.abandon, found.program)
        return found

    def __getattr__(self, name: str) -> Any:
        # Only names that the class does not define come here. Asking for the hook of an extension
        # asks the server, which is started for it.
        if name not in _EXTENSIONS and name != "post_setup":
            raise AttributeError(f"WireProvider has no attribute {name!r}")
        method = BY_HOOK[name]
        try:
            methods = self._server().methods
        except (NotStarted, Unanswered) as error:
            raise AttributeError(f"{name}: {error}") from error
        if method.name not in methods:
            raise AttributeError(f"{shown(self._command)} does not serve {method.name!r}")
        hook = functools.partial(_call_extension, self, method)
        vars(self)[name] = hook
        return hook

    # -- one call ----------------------------------------------------------------------------------

    def _call(self, method: Method, *arguments: Any, **keywords: Any) -> Any:
        """
        The result of a method, by the arguments of its hook.

        Raises:
            ProviderError: The server reported it; or it does not answer.
            ServerError: The server failed in a way that is no report.
            Misspoken: Under judgement: it broke the protocol.

        """
        name, connection = method.name, self._server()
        params = method.params(arguments, keywords)
        allowed_s = self._budget_s(name)
        if name in ("recall", "items", "compress", "call_tool") and allowed_s is not None:
            params["deadline_ms"] = int(allowed_s * 1000)
        is_write = name in WRITES
        try:
            answer = connection.ask(
                name, params, None if self._is_judged else allowed_s, truly=is_write
            )
        except Unsendable as error:
            kind = TooLarge if "bytes" in str(error) else Rejected
            raise kind(f"{name} cannot be sent: {error}") from None
        except Overdue as late:
            if late.answer is None or "error" not in late.answer:
                if late.answer is not None:
                    return late.answer.get("result")
                raise self._given_up(name, str(late)) from None
            answer = late.answer
        except Ended as end:
            self._assert_spoken(connection)
            if self._is_judged and not (self._is_closed and end.was_sent):
                raise Misspoken(Fault("ended", str(end), "")) from None
            if is_write and end.was_sent:
                raise OutcomeUnknown(f"{end}; {name} may be stored or not") from None
            raise Unanswered(str(end)) from None
        self._assert_spoken(connection)
        if "error" in answer:
            raise self._raised(answer["error"])
        return answer.get("result")

    def _given_up(self, name: str, why: str) -> Unanswered:
        if name in WRITES:
            return OutcomeUnknown(f"{name}: {why}; it may be stored or not")
        return Unanswered(f"{name}: {why}")

    def _assert_spoken(self, connection: Connection) -> None:
        if self._is_judged and connection.faults:
            raise Misspoken(connection.faults.pop(0))

    def _raised(self, error: Any) -> Exception:
        """The exception that the `error` of an answer stands for."""
        found = error if isinstance(error, dict) else {"message": str(error)}
        report = codes.to_report(found)
        if report is not None:
            return report
        code, text = found.get("code"), str(found.get("message", ""))
        name = codes.NAMES.get(code, str(code)) if isinstance(code, int) else str(code)
        if name in ("NotOpen", "Cancelled"):
            return Unanswered(text)
        data = found.get("data")
        kind = str(data.get("type")) if isinstance(data, dict) else name
        raised = ServerError(name, kind, text)
        if kind in _AWAY:
            raised.__cause__ = ConnectionError(text)
        return raised

    def _budget_s(self, method: str) -> float | None:
        """Seconds that a method may take; None for no bound."""
        key = _DEADLINES.get(method)
        if key is not None and key in self._deadlines:
            value = self._deadlines[key]
            if value is None:
                return None
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                return float(value)
        return BUDGETS_S[method]

    # -- the nine members --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The provider's own name, unchanged; starts the program. Raises `NotStarted`."""
        name: str = self._server().name
        return name

    def is_available(self) -> bool:
        """The provider's own answer, unchanged; False if its program gives no server."""
        try:
            answer: bool = self._call(METHODS["available"])
        except (NotStarted, Unanswered):
            if self._is_judged:
                raise
            return False
        return answer

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Open the session; its deadlines are those of the config from here on."""
        deadlines = config.get("deadlines")
        self._deadlines = deadlines if isinstance(deadlines, Mapping) else {}
        self._call(METHODS["open"], session_key, config)

    def capabilities(self) -> Capabilities:
        """The provider's own declaration, unchanged."""
        declared: Capabilities = self._call(METHODS["declare"])
        return declared

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """The provider's own answer; None if there is none in time, or no server any more."""
        try:
            found: str | None = self._call(METHODS["recall"], user_message, messages)
        except (Unanswered, NotStarted):
            return None
        return found

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Mirror a write; raises `OutcomeUnknown` if the server did not say what became of it."""
        self._call(METHODS["mirror"], action, target, content, old_text)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Record a turn; raises `OutcomeUnknown` if the server did not say what became of it."""
        self._call(METHODS["record"], user_message, assistant_response)

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Hand over messages that are about to be discarded."""
        self._call(METHODS["compress"], messages, compression_count)

    def shutdown(self) -> None:
        """
        Close the session, the program's input, and what is left of its process group.

        A second call waits for the first. Blocks for the deadline of the end, and 4 s more if the
        program has to be killed.
        """
        self._is_closed = True
        with self._closing:
            connection = self._connection
            if connection is None or not connection.program.is_ours:
                return
            try:
                if not connection.is_over:
                    self._call(METHODS["close"])
            except Unanswered as end:
                if self._is_judged and not connection.is_over:
                    raise
                _LOG.warning("%s was not closed: %s", shown(self._command), end)
            finally:
                connection.end()

    def let_go(self) -> None:
        """
        Close the program's input, by which it ends by itself; does not block.

        For an instance that was never opened, or that nobody needs to wait for.
        """
        self._is_closed = True
        if self._connection is not None:
            self._connection.program.abandon()


def _call_extension(provider: WireProvider, method: Method, *given: Any, **keywords: Any) -> Any:
    """The hook of an extension; `functools.partial` binds the first two."""
    return provider._call(method, *given, **keywords)  # noqa: SLF001 - a part of the class
