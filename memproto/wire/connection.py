"""
Requests to one server and their answers, by id, until its process ends.

An answer that nobody waits for any more is discarded. A line that is no message is kept as a fault
and told to the log.
"""

import contextlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memproto import _version
from memproto.types import SPEC_VERSION
from memproto.wire.codec import MAX_LINE, Malformed, decode, encode, has_halves
from memproto.wire.faults import SHOWN_CHARS, Fault, Kind, NotStarted
from memproto.wire.methods import CORE, VERSION
from memproto.wire.program import Clogged, Program, shown

_LOG = logging.getLogger("memproto.wire")

#: Seconds within which a server answers the greeting.
GREETING_S = 20.0

#: Seconds that an answer to a cancelled write is waited for.
TRUTH_S = 1.0

#: Faults that are kept, and told to the log.
_MOST_FAULTS = 20

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}

#: Says of a message of the server why it is none of this version; "" if it is one. It gets the
#: message and the method that was asked for, "" for a notification.
Inspector = Callable[[dict[str, Any], str], str]


class Overdue(Exception):
    """
    The answer did not come in time, and the request was cancelled.

    Attributes:
        answer: The answer that came to the cancelled request within `TRUTH_S`, or None.

    """

    def __init__(self, budget_s: float, answer: dict[str, Any] | None) -> None:
        super().__init__(f"no answer within {budget_s:g} s")
        self.answer = answer


class Ended(Exception):
    """
    The server is not there any more.

    Attributes:
        was_sent: True if the request had been handed over: its outcome is unknown.

    """

    def __init__(self, text: str, *, was_sent: bool) -> None:
        super().__init__(text)
        self.was_sent = was_sent


#: Says to one that waits that nobody may be reading.
_READ: dict[str, Any] = {}


class _Call:
    """A request that waits for its answer."""

    __slots__ = ("answer", "method")

    def __init__(self, method: str) -> None:
        self.method = method
        #: Gets the message, or None if the process ended; `_READ` before that, any number of times.
        self.answer: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()


class Connection:
    """
    A server that was started and greeted.

    Guarantees:
        Each call ends: by an answer, by its deadline, or by the end of the process.
        Safe from any thread.

    Attributes:
        name: The provider's name, as the server gave it.
        methods: The methods that the server answers.
        faults: The lines that broke the protocol, the first ones.

    """

    #: A seam of tests.
    _PROGRAM = Program

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None,
        env: Mapping[str, str],
        inspector: Inspector | None = None,
        greeting_s: float | None = GREETING_S,
    ) -> None:
        """
        Start and greet the server; blocks for `greeting_s` at most, or without a bound.

        Raises:
            NotStarted: It cannot be started, or is no server of this protocol.

        """
        self.name: Any = None
        self.methods: frozenset[str] = frozenset()
        self.faults: list[Fault] = []
        self._inspector = inspector
        self._ids = itertools.count(1)
        self._pending: dict[int, _Call] = {}
        self._given_up: set[int] = set()
        self._last_id = 0
        self._lock = threading.Lock()
        self._is_over = False
        # The thread that reads may speak of the program before `Program` gives it back.
        self._who = shown(command)
        self.program = self._PROGRAM(
            command,
            cwd=cwd,
            env=env,
            heard=self._heard,
            ended=self._ended,
            left=self._pass_on,
        )
        try:
            self._greet(greeting_s)
        except BaseException:
            self.program.end()
            raise

    # -- the greeting ------------------------------------------------------------------------------

    def _greet(self, greeting_s: float | None) -> None:
        params = {
            "wire": [VERSION],
            "spec_version": SPEC_VERSION,
            "host": {"name": "memproto", "version": _version.__version__},
            "max_line": MAX_LINE,
        }
        try:
            answer = self.ask("initialize", params, greeting_s)
        except Overdue as late:
            raise self._no_server(f"{late} to the greeting") from None
        except Ended:
            # It may have ended before the greeting was written, and before its words were read.
            self.program.wait(1.0)
            self.program.hear_out(1.0)
            raise self._no_server("it ended before it answered the greeting") from None
        if "error" in answer:
            raise self._no_server(_refused(answer["error"]))
        found = answer.get("result")
        if not isinstance(found, dict) or found.get("wire") != VERSION:
            text = str(found)[:SHOWN_CHARS]
            raise self._no_server(f"its greeting is none of version {VERSION}: {text}")
        self.name = found.get("name")
        named = found.get("methods")
        known = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        self.methods = frozenset((*CORE, *known))

    def _no_server(self, fault: str) -> NotStarted:
        if self.faults:
            fault += f"; it wrote {self.faults[0].line!r}, which is no message"
        program = self.program
        return NotStarted(self._who, fault, program.status, program.said())

    # -- requests ----------------------------------------------------------------------------------

    def ask(
        self, method: str, params: Mapping[str, Any], budget_s: float | None, *, truly: bool = False
    ) -> dict[str, Any]:
        """
        The answer to a request: a message with `result` or `error`.

        Blocks for `budget_s` at most, or without a bound for None. If that is over, the request is
        cancelled; one that is to end `truly` is waited for a second longer.

        Raises:
            Overdue: The answer did not come in time.
            Ended: The process ended, or had ended.
            Unsendable: The params cannot be sent.

        """
        began = time.monotonic()
        number = next(self._ids)
        line = encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        call = _Call(method)
        with self._lock:
            if self._is_over or not self.program.is_ours:
                raise Ended(self.ended_how(), was_sent=False)
            self._pending[number] = call
            self._last_id = max(self._last_id, number)
        try:
            self.program.write(line)
        except (Clogged, BrokenPipeError) as error:
            self._forget(number)
            raise Ended(f"{self._who} does not read: {error}", was_sent=False) from None
        try:
            return self._waited(call, None if budget_s is None else began + budget_s)
        except queue.Empty:
            self.notify("$/cancel", {"id": number})
        late = None
        if truly:
            with contextlib.suppress(queue.Empty):
                late = self._waited(call, time.monotonic() + TRUTH_S)
        self._forget(number, is_given_up=late is None)
        raise Overdue(budget_s or 0.0, late)

    def _waited(self, call: _Call, until: float | None) -> dict[str, Any]:
        """
        The answer.

        Raises:
            queue.Empty: The time is over.
            Ended: The process ended.

        """
        found = call.answer
        while True:
            if found.empty() and self.program.lead(lambda: not found.empty(), until):
                self._pass_on(call)
                if found.empty() and until is not None and time.monotonic() >= until:
                    raise queue.Empty
            rest_s = None if until is None else max(0.0, until - time.monotonic())
            answer = found.get(timeout=rest_s)
            if answer is not _READ:
                break
        if answer is None:
            raise Ended(self.ended_how(), was_sent=True)
        return answer

    def _pass_on(self, reader: _Call | None = None) -> None:
        """Have the others that wait look whether anybody reads, behind the end of one that did."""
        if self._pending:
            with self._lock:
                for call in self._pending.values():
                    if call is not reader:
                        call.answer.put(_READ)

    def _forget(self, number: int, *, is_given_up: bool = False) -> None:
        with self._lock:
            if self._pending.pop(number, None) is not None and is_given_up:
                self._given_up.add(number)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification, if that is possible."""
        try:
            self.program.write(encode({"jsonrpc": "2.0", "method": method, "params": params}))
        except (Clogged, BrokenPipeError) as error:
            _LOG.debug("%s cannot be told %s: %s", self._who, method, error)

    # -- messages, on a thread that reads ----------------------------------------------------------

    def _heard(self, line: bytes) -> None:
        if len(line) > MAX_LINE:
            self._note("stray", f"a line is over {MAX_LINE:,} bytes", line)
            return
        if not line.strip():
            return
        try:
            message = decode(line)
        except Malformed as error:
            self._note("stray", f"a line is no message ({error})", line)
            return
        if not line.endswith(b"\n"):
            self._note("stray", "the last line has no line feed", line)
        if has_halves(line):
            self._note("stray", "a string holds half a surrogate pair", line)
        if "method" in message:
            self._told(message, line)
        else:
            self._answered(message, line)

    def _told(self, message: dict[str, Any], line: bytes) -> None:
        """A notification; a server asks nothing."""
        if "id" in message:
            self._note("unasked", "the server sends a request", line)
            with self._lock:
                greeting = self._pending.pop(1, None)
            if greeting is not None:
                # A program that repeats what it reads, as `cat` does.
                greeting.answer.put({"error": {"message": "it answers with a request"}})
            return
        self._inspect(message, "", line)
        params = message.get("params")
        if message.get("method") == "log" and isinstance(params, dict):
            level = _LEVELS.get(str(params.get("level")), logging.INFO)
            _LOG.log(level, "%s: %s", self._who, str(params.get("message"))[:SHOWN_CHARS])

    def _answered(self, message: dict[str, Any], line: bytes) -> None:
        given = message.get("id")
        number = given if isinstance(given, int) and not isinstance(given, bool) else 0
        with self._lock:
            call = self._pending.pop(number, None)
            was_given_up = number in self._given_up
            self._given_up.discard(number)
        if call is not None:
            self._inspect(message, call.method, line)
            call.answer.put(message)
        elif was_given_up:
            _LOG.info("%s answered too late", self._who)
        elif given is None and "error" in message:
            self._inspect(message, "", line)
            self._note("unasked", "the server could not read a request", line)
        elif 0 < number <= self._last_id:
            self._note("unasked", f"the request {number} is answered a second time", line)
        else:
            self._note("unasked", f"an answer has the id {given!r}, which no request has", line)

    def _inspect(self, message: dict[str, Any], method: str, line: bytes) -> None:
        if self._inspector is not None and (fault := self._inspector(message, method)):
            self._note("unfit", fault, line)

    def _note(self, kind: Kind, text: str, line: bytes) -> None:
        start = line[: SHOWN_CHARS * 4].decode("utf-8", "replace").rstrip("\n")[:SHOWN_CHARS]
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(Fault(kind, text, start))
            _LOG.warning("%s: %s: %r", self._who, text, start)

    # -- the end -----------------------------------------------------------------------------------

    def _ended(self) -> None:
        with self._lock:
            self._is_over = True
            calls = list(self._pending.values())
            self._pending.clear()
        for call in calls:
            call.answer.put(None)

    @property
    def is_over(self) -> bool:
        """True if the server answers nothing any more."""
        return self._is_over

    def ended_how(self) -> str:
        """A statement of how the server ended."""
        program = self.program
        if not program.is_ours:
            return f"{self._who} was started by another process"
        program.wait(0.2)
        status, said = program.status, program.said()
        told = "has closed its standard output" if status is None else "has ended"
        told += "" if status is None else f" with exit status {status}"
        return f"{self._who} {told}{f'; it said: {said}' if said else ''}"

    def end(self) -> None:
        """Close the input and end the process group; blocks for a few seconds at most."""
        self.program.end()
        self._ended()


def _refused(error: Any) -> str:
    if not isinstance(error, dict):
        return f"it answers the greeting with {str(error)[:SHOWN_CHARS]}"
    data = error.get("data")
    versions = data.get("wire") if isinstance(data, dict) else None
    if versions:
        return f"it speaks the versions {versions} of the protocol, and this host speaks {VERSION}"
    return f"it refuses the greeting: {str(error.get('message'))[:SHOWN_CHARS]}"
