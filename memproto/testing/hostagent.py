"""One registry under the kit's hand: called as an agent does, each method under a budget."""

import sys
import sysconfig
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from memproto.deadlines import Deadlines
from memproto.testing import locate
from memproto.testing.clauses import Violation
from memproto.testing.hostprobes import Reports
from memproto.testing.wire import show

#: Operation to the method of a registry that serves it.
METHODS = {
    "name": "register",
    "available": "initialize_all",
    "open": "initialize_all",
    "declare": "initialize_all",
    "recall": "enrich_turn",
    "record": "on_turn_complete",
    "mirror": "on_memory_write",
    "compress": "on_compress",
    "close": "shutdown_all",
}

#: The rule that a method breaks which does not return, whatever is being checked.
_LATE = {
    "recall": "MP-HOST-RECALL-001",
    "record": "MP-HOST-TURN-002",
    "mirror": "MP-HOST-TURN-002",
    "close": "MP-HOST-SHUT-003",
}

#: Beyond its deadline a method gets this long: more than a loaded machine takes, less than a hang.
SLACK_S = 3.0

_STDLIB = str(Path(sysconfig.get_paths()["stdlib"]).resolve())


class Session(Protocol):
    """What a host needs of the run that it belongs to."""

    scale: float

    def watched(self, operation: str, budget_s: float) -> AbstractContextManager[None]:
        """Tell the parent that the host runs."""
        ...

    def session_key(self) -> str:
        """A session id that no other check uses."""
        ...

    def config(self) -> dict[str, Any]:
        """What an agent hands to its registry."""
        ...


class HostLate(Violation):
    """A method of the host had not returned when its deadline was long over."""


class Host:
    """
    One registry, called as an agent does: one method after the other, on one thread of its own.

    What a method raises, or that it does not return, is a violation.

    Attributes:
        registry: The registry itself.
        deadlines: Those that it has, as far as the kit knows.
        reports: What it said so far.

    """

    def __init__(self, run: Session, registry: Any, deadlines: Deadlines, reports: Reports) -> None:
        self.registry = registry
        self.deadlines = deadlines
        self.reports = reports
        self.is_closed = False
        self._run = run
        self._agent = ThreadPoolExecutor(1, "kit-agent")
        self._thread = self._agent.submit(threading.get_ident).result()

    def register(self, *providers: Any) -> None:
        """Register providers, in order."""
        for provider in providers:
            self._call("name", 0.0, provider)

    def refusal(self, provider: Any) -> BaseException | None:
        """What `register` raises for a provider, or None."""
        return self._future("name", 0.0, provider).exception()

    def open(self, session_key: str = "") -> None:
        """Initialize all providers."""
        self._call("open", 7.0, session_key or self._run.session_key(), self._run.config())

    def recall(self, query: str, messages: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """Recall for one turn; label to text, in the order given."""
        history = messages if isinstance(messages, list) else list(messages)
        answer = self._call("recall", self.deadlines.enrich_s, query, history)
        try:
            return {label: text for label, text in answer}  # noqa: C416 - pairs are what is checked
        except (TypeError, ValueError):
            expected = "a list of (label, text)"
            raise Violation(expected, show(answer), operation="recall") from None

    def record(self, user: str, assistant: str = "Noted.") -> None:
        """Record one turn."""
        self._call("record", 0.0, user, assistant)

    def mirror(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Mirror one write of the memory tool."""
        self._call("mirror", 0.0, action, target, content, old_text)

    def compress(self, messages: list[dict[str, Any]], count: int = 1) -> None:
        """Offer messages that are about to be discarded."""
        self._call("compress", self.deadlines.compress_s, messages, count)

    def close(self) -> None:
        """Shut everything down."""
        self.is_closed = True
        self._call("close", self.deadlines.shutdown_s)

    def close_from(self, callers: int) -> None:
        """Shut everything down from several threads at once."""
        self.is_closed = True
        ready = threading.Barrier(callers)
        budget_s = self._budget_s(self.deadlines.shutdown_s)

        def close() -> None:
            ready.wait(budget_s)
            self.registry.shutdown_all()

        pool = ThreadPoolExecutor(callers, "kit-closer")
        with self._run.watched("close", budget_s):
            futures = [pool.submit(close) for _ in range(callers)]
            wait_for(futures, budget_s)
        pool.shutdown(wait=False)
        if not all(future.done() for future in futures):
            raise self._late("close", self.deadlines.shutdown_s)
        for future in futures:
            self._outcome("close", future)

    def dismiss(self) -> None:
        """Let the agent's thread go."""
        self._agent.shutdown(wait=False)

    # -- one call ---------------------------------------------------------------------------------

    def _call(self, operation: str, deadline_s: float, *args: Any) -> Any:
        return self._outcome(operation, self._future(operation, deadline_s, *args))

    def _future(self, operation: str, deadline_s: float, *args: Any) -> "Future[Any]":
        """The call, done; the method runs on the agent's thread, so that a hang holds nobody."""
        method = getattr(self.registry, METHODS[operation])
        budget_s = self._budget_s(deadline_s)
        with self._run.watched(operation, budget_s):
            future = self._agent.submit(method, *args)
            wait_for([future], budget_s)
        if not future.done():
            raise self._late(operation, deadline_s)
        return future

    def _budget_s(self, deadline_s: float) -> float:
        return deadline_s + SLACK_S * self._run.scale

    @staticmethod
    def _outcome(operation: str, future: "Future[Any]") -> Any:
        error = future.exception()
        if error is None:
            return future.result()
        place = locate.raised(error)
        observed = f"it raised {show(error)}" + (f" at {place}" if place else "")
        raise Violation(f"{METHODS[operation]} returns", observed, operation=operation)

    def _late(self, operation: str, deadline_s: float) -> HostLate:
        place = _place_of(self._thread)
        when = f"within its deadline, {deadline_s:g} s" if deadline_s else "at once"
        return HostLate(
            f"{METHODS[operation]} returns {when}",
            f"it had not returned after {self._budget_s(deadline_s):g} s; it is at {place}",
            operation=operation,
            requirement=_LATE.get(operation, ""),
        )


def _place_of(thread: int) -> str:
    """The innermost frame of a thread that is not the standard library's."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only view of another thread
    stack = traceback.extract_stack(frame) if frame else []
    mine = [item for item in stack if not item.filename.startswith(_STDLIB)]
    return (
        f"{locate.short(mine[-1].filename)}:{mine[-1].lineno} in {mine[-1].name}" if mine else "?"
    )
