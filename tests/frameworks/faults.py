"""Faults between a framework and a registry: with each, the test of one duty has to be red."""

import dataclasses
import threading
from typing import Any

from memproto import Deadlines
from memproto.registry import framework

#: Seconds that no test lasts.
_ENDLESS_S = 1e6


def _fence() -> None:
    """A recall stands in tags as it was stored."""

    def bare(recalled: list[tuple[str, str]]) -> str:
        texts = "\n".join(text for _, text in recalled)
        return f"<memory-context>\n{texts}\n</memory-context>" if texts else ""

    framework.build_memory_context_block = bare  # type: ignore[assignment]


def _deadlines() -> None:
    """A registry waits for its provider for ever."""
    names = [field.name for field in dataclasses.fields(Deadlines)]
    endless = Deadlines(**dict.fromkeys(names, _ENDLESS_S))
    kind = framework.AsyncMemoryProviderRegistry

    def patient(deadlines: Any, policy: Any) -> Any:
        return kind(deadlines=endless, policy=policy)

    framework.AsyncMemoryProviderRegistry = patient  # type: ignore[assignment,misc]


def _drain() -> None:
    """Neither a flush nor an end waits for the writes."""

    class Hasty(framework.AsyncMemoryProviderRegistry):
        async def flush(self, timeout_s: float | None = None) -> bool:
            return True

    async def end(self: Any, messages: Any = ()) -> None:
        pass

    framework.AsyncMemoryProviderRegistry = Hasty  # type: ignore[misc]
    framework.FrameworkSession.end = end  # type: ignore[method-assign]


def _users() -> None:
    """All users have one folder."""
    whole = framework.home_below

    def shared(home: Any, *names: str) -> Any:
        return whole(home)

    framework.home_below = shared


_FAULTS = {"fence": _fence, "deadlines": _deadlines, "drain": _drain, "users": _users}


def put_in(fault: str) -> None:
    """Put one fault in, for the rest of the process; "" is none."""
    if fault:
        _FAULTS[fault]()


class Hang:
    """
    A hook that hangs, and the record of whether somebody was held by it.

    The hook returns only once somebody was held for `patience_s`, so that an answer before that
    is one that did not wait.
    """

    def __init__(self) -> None:
        self._entered, self._let_go, self._finished = (threading.Event() for _ in range(3))
        #: True if what had to be finished was not, when the patience had ended.
        self.is_held = False

    def hold(self) -> None:
        """Called in the hook; blocks."""
        self._entered.set()
        self._let_go.wait()

    def watched(self, patience_s: float) -> None:
        """Begin to watch, on a thread."""
        threading.Thread(target=self._watch, args=(patience_s,), daemon=True).start()

    def _watch(self, patience_s: float) -> None:
        self._entered.wait()
        if not self._finished.wait(patience_s):
            self.is_held = True
            self._let_go.set()

    def finished(self) -> None:
        """Called where everything is done that the hook must not hold."""
        self._finished.set()
