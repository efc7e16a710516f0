"""Servers for tests of the client: each is the good one with one thing more."""

import os
import subprocess
import sys
import threading
from typing import Any

from memproto.wire.codec import encode
from tests.good.wired import Wired

HELPER = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


class FloodsItsErrors(Wired):
    def _call(self, request: Any) -> Any:
        for _ in range(40):
            os.write(2, b"x" * 65536 + b"\n")
        return super()._call(request)


class StopsReading(Wired):
    def _notified(self, method: str, params: Any) -> None:
        if method == "stop":
            threading.Event().wait()


class EndsInAWrite(Wired):
    def _call(self, request: Any) -> Any:
        if request.method == "record":
            os.write(2, b"no space left\n")
            os._exit(7)
        return super()._call(request)


class HoldsAWrite(Wired):
    """It answers a turn when a file of its home is there."""

    def _call(self, request: Any) -> Any:
        if request.method == "record":
            self._provider._path.with_name("written").touch()
            threading.Event().wait()
        return super()._call(request)


class StartsAHelper(Wired):
    def _call(self, request: Any) -> Any:
        if request.method == "recall":
            helper = subprocess.Popen([sys.executable, "-c", HELPER])
            return str(helper.pid)
        return super()._call(request)


class ShowsItsEnvironment(Wired):
    def _call(self, request: Any) -> Any:
        if request.method == "recall":
            return "\n".join(sorted(os.environ))
        return super()._call(request)


class AnswersLate(Wired):
    """A recall is answered behind the next ping."""

    def _dispatch(self, request: Any) -> None:
        if request.method == "recall" and not self.__dict__.get("held"):
            self.held = request
        else:
            super()._dispatch(request)

    def _notified(self, method: str, params: Any) -> None:
        """It knows no cancellation."""

    def _requested(self, request: Any) -> None:
        super()._requested(request)
        if request.method == "ping":
            self._output.send(encode({"jsonrpc": "2.0", "id": self.held.number, "result": "old"}))


class Prints(Wired):
    def _call(self, request: Any) -> Any:
        print("printed by the provider")  # noqa: T201 - the thing that is tested
        subprocess.run(["echo", "printed by a program"], check=True)
        return super()._call(request)
