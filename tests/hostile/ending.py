"""Hostile providers that end, or try to end, the process that they run in."""

import ctypes
import os
import signal
import threading
import time
from typing import Any

from tests.good.journal import Journal
from tests.hostile.marks import hostile


class _EndsInRecall(Journal):
    def end(self) -> None:
        raise NotImplementedError

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        self.end()
        return super().enrich_turn(user_message, messages)


@hostile("MP-ISO-003", says="exit code 0")
class Exits(_EndsInRecall):
    def end(self) -> None:
        os._exit(0)


@hostile("MP-ISO-003", says="SIGABRT")
class Aborts(_EndsInRecall):
    def end(self) -> None:
        os.abort()


@hostile("MP-ISO-003", says="SIGSEGV")
class ReadsAddressNought(_EndsInRecall):
    def end(self) -> None:
        ctypes.string_at(0)


@hostile("MP-ISO-003", says="SIGKILL")
class KillsItself(_EndsInRecall):
    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


# On a busy machine the interrupt may reach the main thread when the hook has returned.
@hostile("MP-ISO-003", says=("KeyboardInterrupt", "SIGINT"))
class InterruptsItself(_EndsInRecall):
    def end(self) -> None:
        signal.raise_signal(signal.SIGINT)


@hostile("MP-ISO-003", says="SIGSTOP")
class StopsItself(_EndsInRecall):
    def end(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


@hostile("MP-ISO-003", says="SystemExit")
class RaisesSystemExit(_EndsInRecall):
    def end(self) -> None:
        raise SystemExit(0)


@hostile("MP-ISO-003", says="KeyboardInterrupt")
class RaisesKeyboardInterrupt(_EndsInRecall):
    def end(self) -> None:
        raise KeyboardInterrupt


@hostile("MP-ISO-003", says="GeneratorExit")
class RaisesGeneratorExit(_EndsInRecall):
    def end(self) -> None:
        raise GeneratorExit


class _Unheard(BaseException):
    """No `except Exception` catches it."""


@hostile("MP-RECALL-006", says="_Unheard")
class RaisesBaseException(_EndsInRecall):
    def end(self) -> None:
        raise _Unheard


@hostile("MP-ISO-003", says="signalled the host")
class KillsItsParent(_EndsInRecall):
    def end(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)


@hostile("MP-ISO-003")
class Forks(_EndsInRecall):
    """Both copies go on with the check."""

    def end(self) -> None:
        os.fork()


@hostile("MP-ISO-003", says="by what was left running")
class EndsTheProcessLater(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        threading.Thread(target=_exit_later, daemon=True).start()


def _exit_later() -> None:
    time.sleep(1.0)
    os._exit(0)


@hostile("MP-ISO-003", says="closed file descriptors")
class ClosesEveryDescriptor(_EndsInRecall):
    def end(self) -> None:
        os.closerange(0, 256)
