"""Broken servers of the wire; each is the good one with one part changed."""

import os
import subprocess
import sys
import time
from typing import Any

from memproto.wire import codes
from memproto.wire.codec import encode
from tests.broken.marks import mutant
from tests.good.journal import Journal
from tests.good.wired import Wired


@mutant(kills="MP-WIRE-001", says="Acme memory 1.0", report="L3")
class WritesABanner(Wired):
    def run(self) -> None:
        self._output.send(b"Acme memory 1.0, ready\n")
        super().run()


@mutant(kills="MP-WIRE-001", says="Recalling", report="L3")
class PrintsInAHook(Wired):
    def _call(self, request: Any) -> Any:
        if request.method == "recall":
            self._output.send(b"Recalling...\n")
        return super()._call(request)


@mutant(kills="MP-WIRE-001", says="score", report="L3")
class WritesNaN(Wired):
    def _answer(self, request: Any, **outcome: Any) -> None:
        if request.method == "recall":
            self._output.send(b'{"jsonrpc":"2.0","method":"log","params":{"score":NaN}}\n')
        super()._answer(request, **outcome)


@mutant(kills="MP-WIRE-002", says="besides", report="L3")
class AnswersTwice(Wired):
    def _answer(self, request: Any, **outcome: Any) -> None:
        super()._answer(request, **outcome)
        if request.method == "recall":
            line = {"jsonrpc": "2.0", "id": request.number, "result": None}
            self._output.send(encode(line))


@mutant(kills="MP-WIRE-002", says="besides", report="L3")
class AnswersANotification(Wired):
    def _notified(self, method: str, params: Any) -> None:
        super()._notified(method, params)
        self._output.send(encode({"jsonrpc": "2.0", "id": 0, "result": None}))


@mutant(
    kills="MP-WIRE-003",
    says="only behind",
    report="L3",
    scale=0.2,
    also={"MP-RECALL-002": "an answer that waits in the buffer is late"},
)
class BuffersItsAnswers(Wired):
    """Its answers to questions wait until the buffer is full, or a write comes."""

    HELD: tuple[str, ...] = ("recall", "ping")
    held = b""

    def _answer(self, request: Any, **outcome: Any) -> None:
        if request.method not in self.HELD:
            self._output.send(self.held)
            self.held = b""
            super()._answer(request, **outcome)
            return
        sent, self._output.send = self._output.send, self._hold
        super()._answer(request, **outcome)
        self._output.send = sent
        if len(self.held) > 8192:
            self._output.send(self.held)
            self.held = b""

    def _hold(self, line: bytes) -> None:
        self.held += line


@mutant(kills="MP-WIRE-003", says="the answer to a ping only behind", report="L3", scale=0.2)
class BuffersItsPings(BuffersItsAnswers):
    HELD = ("ping",)


class SlowJournal(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if len(user_message) > 5_000:
            time.sleep(12)
        super().on_turn_complete(user_message, assistant_response)


@mutant(kills="MP-WIRE-004", says="ping", report="L3")
class CallsOnTheReader(Wired):
    """One loop reads and makes the calls; a long turn takes its store 12 s."""

    JOURNAL = SlowJournal

    def _dispatch(self, request: Any) -> None:
        if request.method in ("record", "mirror"):
            self._make(request)
        else:
            super()._dispatch(request)


@mutant(kills="MP-WIRE-005", says="does not read", report="L3", scale=0.4)
class WaitsForItsReader(Wired):
    def _take(self, line: Any) -> None:
        super()._take(line)
        self._output.flush(3600)


@mutant(kills="MP-WIRE-006", says="no answer within", report="L3", scale=0.2)
class SkipsLongLines(Wired):
    def _take(self, line: Any) -> None:
        is_long = isinstance(line, bytes) and len(line) >= 65536
        if not is_long or b'"recall"' not in line[:100]:
            super()._take(line)


@mutant(kills="MP-WIRE-006", says="the process has ended", report="L3")
class EndsByAnOverlongLine(Wired):
    def _take(self, line: Any) -> None:
        if not isinstance(line, bytes):
            os._exit(1)
        super()._take(line)


@mutant(kills="MP-WIRE-007", says="answers with the codes []", report="L3")
class IsSilentAboutBadLines(Wired):
    def _refuse(self, number: Any, name: str, text: str) -> None:
        if name not in ("ParseError", "InvalidRequest"):
            super()._refuse(number, name, text)


@mutant(kills="MP-WIRE-007", says="the process has ended", report="L3")
class EndsByABadLine(Wired):
    def _refuse(self, number: Any, name: str, text: str) -> None:
        if name == "ParseError":
            os._exit(1)
        super()._refuse(number, name, text)


@mutant(kills="MP-WIRE-008", says="the process has ended", report="L3")
class EndsByHalfAPair(Wired):
    def _take(self, line: Any) -> None:
        if isinstance(line, bytes) and b"\\ud83d" in line:
            os._exit(1)
        super()._take(line)


@mutant(kills="MP-WIRE-009", says="no answer within", report="L3", scale=0.2)
class IsSilentAboutUnknownMethods(Wired):
    def _answer(self, request: Any, **outcome: Any) -> None:
        if outcome.get("error", {}).get("code") != codes.CODES["MethodNotFound"]:
            super()._answer(request, **outcome)


@mutant(kills="MP-WIRE-009", says="a recall with a key more", report="L3")
class RefusesUnknownKeys(Wired):
    def _call(self, request: Any) -> Any:
        if "later" in request.params:
            raise TypeError("recall got an unexpected argument 'later'")
        return super()._call(request)


@mutant(kills="MP-WIRE-010", says="version 999", report="L3")
class SpeaksAnyVersion(Wired):
    @staticmethod
    def _speaks(params: dict[str, Any]) -> bool:
        return True


@mutant(kills="MP-WIRE-011", says="a recall before open", report="L3")
class ServesBeforeItIsOpen(Wired):
    def _refusal(self, method: str) -> dict[str, Any] | None:
        return None if method == "recall" and not self._is_open else super()._refusal(method)


@mutant(kills="MP-WIRE-012", says="no answer within", report="L3", scale=0.2)
class DropsWhatIsCancelled(Wired):
    """A cancelled request is never answered."""

    def _answer(self, request: Any, **outcome: Any) -> None:
        if request.method == "recall":
            time.sleep(0.1)
        super()._answer(request, **outcome)

    def _notified(self, method: str, params: Any) -> None:
        if method == "$/cancel":
            self._open_requests.pop(params["id"], None)


@mutant(kills="MP-WIRE-013", says="did not come back", report="L4")
class EndsWithoutClosing(Wired):
    """It writes the journal when it is closed, and not when its input ends."""

    class JOURNAL(Journal):
        def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
            kept = self.__dict__.setdefault("kept", [])
            kept.append((user_message, assistant_response))

        def shutdown(self) -> None:
            for turn in self.__dict__.pop("kept", []):
                super().on_turn_complete(*turn)
            super().shutdown()

    def _end(self) -> None:
        self._output.flush(1.0)


@mutant(kills="MP-WIRE-013", says="had not ended", report="L4", scale=0.2)
class IgnoresTheEndOfItsInput(Wired):
    def _end_soon(self) -> None:
        if self._is_closing:
            super()._end_soon()


@mutant(kills="MP-WIRE-014", says="the end of the process", report="L4", scale=0.2)
class LingersBehindItsEnd(Wired):
    def _end(self) -> None:
        super()._end()
        time.sleep(0.7)


@mutant(kills="MP-WIRE-014", says="exit status 3", report="L4")
class EndsWithAnotherStatus(Wired):
    def _end(self) -> None:
        super()._end()
        os._exit(3)


@mutant(kills="MP-WIRE-015", says="process", report="L4")
class LeavesAHelper(Wired):
    """Its helper waits in a session of its own, and nobody ends it."""

    def _call(self, request: Any) -> Any:
        if request.method == "open":
            words = [sys.executable, "-c", "import time; time.sleep(40)"]
            subprocess.Popen(words, start_new_session=True)
        return super()._call(request)


@mutant(kills="MP-WIRE-016", says="BrokenPipeError", report="L3")
class LogsAndRaises(Wired):
    def _call(self, request: Any) -> Any:
        os.write(2, b"a call\n")
        return super()._call(request)


@mutant(kills="MP-WIRE-017", says="the greeting", report="L4")
class LoadsAModelFirst(Wired):
    def _greeting(self) -> dict[str, Any]:
        time.sleep(5.5)
        return super()._greeting()


@mutant(kills="MP-WIRE-018", says="$.params.level", report="L3")
class LogsInLevelsOfItsOwn(Wired):
    def _call(self, request: Any) -> Any:
        if request.method == "recall":
            params = {"level": "notice", "message": "asked"}
            self._output.send(encode({"jsonrpc": "2.0", "method": "log", "params": params}))
        return super()._call(request)


@mutant(kills="MP-WIRE-019", says="has ended with exit status 1", report="L4")
class EndsInAWrite(Wired):
    def _call(self, request: Any) -> Any:
        if request.method == "record":
            os._exit(1)
        return super()._call(request)
