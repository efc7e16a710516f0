"""Broken hosts whose providers are programs: each has a client with one part changed."""

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor

from memproto.registry import MemoryProviderRegistry
from memproto.testing.agent import Agent
from memproto.wire import OutcomeUnknown, WireProvider
from memproto.wire.connection import Connection
from memproto.wire.program import Program
from tests.broken.marks import mutant


class Starting(MemoryProviderRegistry):
    """A registry with a client of its own, which is made of these parts."""

    client = WireProvider
    connection = Connection
    program = Program

    def register_program(self, command, *, cwd=None, env=None):
        connection = type("Changed", (self.connection,), {"_PROGRAM": self.program})
        self.register(
            type("Changed", (self.client,), {"_CONNECTION": connection})(command, env=env)
        )


class _NoErrors(Program):
    def _drain(self, stream):
        while not self._is_over():
            self.wait(1.0)


@mutant(kills="MP-HOST-WIRE-001", says="512 KiB", report="L3")
class LetsErrorsPileUp(Starting):
    program = _NoErrors


class _ByParts(Program):
    def _split(self, part):
        self._heard(part)


@mutant(
    kills="MP-HOST-WIRE-002",
    says="''",
    report="L3",
    also={"MP-HOST-WIRE-003": "the stray line and the answer come in one part"},
)
class TakesPartsForLines(Starting):
    program = _ByParts


class _Short(Connection):
    def _heard(self, line):
        if len(line) <= 65536:
            super()._heard(line)


@mutant(kills="MP-HOST-WIRE-002", says="300 KB", report="L3")
class SkipsLongAnswers(Starting):
    connection = _Short


class _Strict(Connection):
    def _note(self, kind, text, line):
        super()._note(kind, text, line)
        raise ValueError(text)  # the thread that reads ends by it


@mutant(kills="MP-HOST-WIRE-003", says="''", report="L3")
class EndsByAStrayLine(Starting):
    connection = _Strict


class _InOrder(Connection):
    def _answered(self, message, line):
        first = min(self._pending, default=message["id"])
        super()._answered({**message, "id": first}, line)


@mutant(
    kills="MP-HOST-WIRE-004",
    says="An old answer.",
    report="L3",
    also={"MP-HOST-WIRE-003": "an answer to no request is taken for the next one"},
)
class TakesTheNextAnswer(Starting):
    connection = _InOrder


class _Saving(Connection):
    def _answered(self, message, line):
        number = message["id"]
        if number in self._given_up and self._pending:
            number = min(self._pending)
        super()._answered({**message, "id": number}, line)


@mutant(kills="MP-HOST-WIRE-004", says="An old answer.", report="L3")
class KeepsALateAnswer(Starting):
    connection = _Saving


class _Halves(Program):
    def write(self, line):
        super().write(line.replace("\ufffd".encode(), b"\\ud83d"))


@mutant(kills="MP-HOST-WIRE-005", says="half a surrogate pair", report="L3")
class SendsHalves(Starting):
    program = _Halves


class _AnyVersion(Connection):
    def ask(self, method, params, budget_s, *, truly=False):
        answer = super().ask(method, params, budget_s, truly=truly)
        if method == "initialize":
            answer["result"]["wire"] = 1
        return answer


@mutant(kills="MP-HOST-WIRE-006", says="`open` was sent", report="L3")
class TakesAnyVersion(Starting):
    connection = _AnyVersion


class _Hasty(WireProvider):
    def on_turn_complete(self, user_message, assistant_response):
        """Waits for a moment, and takes no answer for a good one."""
        pool = ThreadPoolExecutor(1)
        turn = pool.submit(super().on_turn_complete, user_message, assistant_response)
        pool.shutdown(wait=False)
        with contextlib.suppress(TimeoutError):
            turn.result(0.3)


@mutant(kills="MP-HOST-WIRE-007", says="before the answer", report="L3")
class SendsTheNextTurnSoon(Starting):
    client = _Hasty


class _Open(WireProvider):
    @property
    def environment(self):
        return {**os.environ, **super().environment}


@mutant(kills="MP-HOST-WIRE-008", says="OPERATORS_OWN is there", report="L3")
class HandsItsEnvironmentOver(Starting):
    client = _Open


class _Blocking(Program):
    def write(self, line):
        os.set_blocking(self._input.fileno(), True)
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._input.fileno(), rest) :]


class _Blocked(WireProvider):
    _CONNECTION = type("Blocked", (Connection,), {"_PROGRAM": _Blocking})


@mutant(kills="MP-HOST-WIRE-009", says="had not returned", report="L3")
class WritesOnItsOwnThread(Agent):
    """It asks the server itself, and waits until the server has read the question."""

    server = None

    def register_program(self, command, env):
        self.server = _Blocked(command, env=env)
        self.registry.register(self.server)

    def recall(self, user_message, messages):
        if self.server is None:
            return super().recall(user_message, messages)
        found = self.server.enrich_turn(user_message, messages)
        return [(self.server.name, found)] if found else []


class _Uncancelled(Connection):
    def notify(self, method, params):
        if method != "$/cancel":
            super().notify(method, params)


@mutant(kills="MP-HOST-WIRE-010", says="did not come", report="L3")
class DoesNotCancel(Starting):
    connection = _Uncancelled


class _Hopeful(Connection):
    def _ended(self):
        for number, call in list(self._pending.items()):
            if call.method == "recall":
                del self._pending[number]
        super()._ended()


@mutant(kills="MP-HOST-WIRE-011", says="it returned after 2", report="L4")
class WaitsForTheDead(Starting):
    connection = _Hopeful


class _Silent(WireProvider):
    def on_turn_complete(self, user_message, assistant_response):
        with contextlib.suppress(OutcomeUnknown):
            super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-HOST-WIRE-012", says="neither event nor log", report="L4")
class KeepsAnUnknownTurnSecret(Starting):
    client = _Silent


class _Restarting(WireProvider):
    def _server(self):
        if self._connection is not None and self._connection.is_over:
            self._connection = None
        return super()._server()


@mutant(kills="MP-HOST-WIRE-013", says="6 calls", report="L4")
class StartsItAgain(Starting):
    client = _Restarting


class _Abrupt(WireProvider):
    def shutdown(self):
        self._is_closed = True
        if self._connection is not None:
            self._connection.end()


@mutant(kills="MP-HOST-WIRE-014", says="no `close` came", report="L4")
class EndsTheInputAtOnce(Starting):
    client = _Abrupt


class _Killed(WireProvider):
    def shutdown(self):
        self._is_closed = True
        if self._connection is not None:
            self._call_close()
            self._connection.program._signal(signal.SIGKILL)
            self._connection.end()

    def _call_close(self):
        with contextlib.suppress(Exception):
            self._connection.ask("close", {}, 5.0)


@mutant(kills="MP-HOST-WIRE-014", says="ended before its input", report="L4")
class KillsAClosedServer(Starting):
    client = _Killed


class _Alone(Program):
    def _signal(self, number):
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


@mutant(kills="MP-HOST-WIRE-015", says="a program that a server started", report="L4")
class EndsTheServerAlone(Starting):
    program = _Alone


class _Polite(Program):
    def _signal(self, number):
        if number != signal.SIGKILL:
            super()._signal(number)


@mutant(kills="MP-HOST-WIRE-015", says="neither with its input", report="L4")
class OnlyAsksItToEnd(Starting):
    program = _Polite
