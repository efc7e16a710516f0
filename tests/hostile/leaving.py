"""Hostile providers that leave something behind, or take more than there is."""

import atexit
import os
import re
import subprocess
import sys
import threading
import time
from typing import Any

from tests.good.journal import Journal
from tests.hostile.marks import hostile

_NEVER = threading.Event()
_NESTED = re.compile(r"(\w+\s?)+$")
_MEGABYTE = 1 << 20


class _Leaves(Journal):
    def leave(self) -> None:
        raise NotImplementedError

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self.leave()


@hostile("MP-SHUT-006", "MP-RES-001", says="thread")
class LeavesAThread(_Leaves):
    def leave(self) -> None:
        threading.Thread(target=_NEVER.wait).start()


@hostile("MP-SHUT-006", "MP-RES-001", says="thread")
class StartsAThreadForEachTurn(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        super().on_turn_complete(user_message, assistant_response)
        for _ in range(50):
            threading.Thread(target=_NEVER.wait, daemon=True).start()


# On a busy machine it may freeze when its own check has not ended, and that is in a hook.
@hostile("MP-THR-002", says=("by what was left running", "held the interpreter"))
class FreezesLater(_Leaves):
    def leave(self) -> None:
        threading.Thread(target=_freeze_later, daemon=True).start()


def _freeze_later() -> None:
    time.sleep(1.0)
    _NESTED.match("words that nobody said to anybody at all, ever, anywhere!")


@hostile("MP-PROC-001", says="it still ran")
class HangsAtExit(_Leaves):
    def leave(self) -> None:
        atexit.register(_NEVER.wait)


@hostile("MP-RES-003", says="time.sleep")
class LeavesAProcess(_Leaves):
    def leave(self) -> None:
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


@hostile("MP-RES-003", says="time.sleep")
class LeavesAGrandchild(_Leaves):
    """Its parent has ended, so that it is nobody's child any more."""

    def leave(self) -> None:
        sleeper = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
        code = f"import subprocess, sys; {sleeper}"
        subprocess.run([sys.executable, "-c", code], start_new_session=True, check=True)


@hostile("MP-ISO-008", says="standard output")
class FloodsBothStreams(Journal):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        for stream in (1, 2):
            for _ in range(8):
                os.write(stream, b"memory! " * (_MEGABYTE // 8))
        return super().enrich_turn(user_message, messages)


@hostile("MP-RES-007", says="of memory")
class TakesAllMemory(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._held = [b"-" * (64 * _MEGABYTE) for _ in range(1000)]
        super().on_turn_complete(user_message, assistant_response)
