"""One host under the kit's hand: its driver's steps, each under a budget."""

import contextlib
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from memproto.deadlines import Deadlines
from memproto.errors import DriverFailed
from memproto.testing import incidents, locate, wording
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.driver import Compressed, Start, SwitchKind, Turn, has_step
from memproto.testing.evidence import Late, Raised, Returned
from memproto.testing.host.model import ScriptedModel
from memproto.testing.host.probes import Probe, Reports
from memproto.testing.host.programs import Program
from memproto.testing.host.steps import METHODS, STEPS
from memproto.testing.instruments.loops import inside_a_loop
from memproto.testing.needs import Driver
from memproto.testing.wire import show

# -- hostplaces ------------------------------------------------------------------------------------

# The place of a thread of a host.


_STDLIB = str(Path(sysconfig.get_paths()["stdlib"]).resolve())


def place_of(thread: int) -> str:
    """The innermost frame of a thread that is not the standard library's."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only view of another thread
    stack = traceback.extract_stack(frame) if frame else []
    mine = [item for item in stack if not item.filename.startswith(_STDLIB)]
    return (
        f"{locate.short(mine[-1].filename)}:{mine[-1].lineno} in {mine[-1].name}" if mine else "?"
    )


# --------------------------------------------------------------------------------------------------


#: Seconds that a host may wait for the greeting of a server.
GREETING_S = 20.0

#: Beyond its deadline a method gets this long: more than a loaded machine takes, less than a hang.
SLACK_S = 3.0


class Session(Protocol):
    """Members that a host needs of the run that it belongs to."""

    scale: float
    refused: set[str]
    left_out: frozenset[str]

    def watched(self, operation: str, budget_s: float) -> AbstractContextManager[None]:
        """Tell the parent that the host runs."""
        ...

    def session_key(self) -> str:
        """A session id that no other check uses."""
        ...

    def config(self) -> dict[str, Any]:
        """The configuration that an agent hands to its registry."""
        ...


class HostLate(Violation):
    """A method of the host had not returned when its deadline was long over."""


@contextlib.contextmanager
def undecided_if_late(about: str = "") -> Iterator[None]:
    """
    Leave a requirement open where a step does not end, if another one owns that.

    Raises:
        Untestable: The step was late; it says so behind `about`.

    """
    try:
        yield
    except HostLate as late:
        expected, observed = wording.expected(late.evidence), wording.observed(late.evidence)
        raise Untestable(f"{about or f'expected {expected}'}; {observed}") from None


class Host:
    """
    One host, whose driver's steps are taken one after the other, on one thread of its own.

    If a step raises or does not return, that is a violation; a step that the driver lacks makes
    the requirement untestable.

    Attributes:
        driver: The driver.
        deadlines: Those that the host has, as far as the kit knows.
        reports: Its reports so far.
        model: The model that it speaks with.

    """

    def __init__(
        self,
        run: Session,
        driver: Any,
        deadlines: Deadlines,
        reports: Reports,
        *,
        is_registry: bool = True,
    ) -> None:
        self.driver = driver
        self.deadlines = deadlines
        self.reports = reports
        self.model = ScriptedModel()
        self.is_closed = False
        self.names = METHODS if is_registry else STEPS
        self._run = run
        self._providers: list[Any] = []
        self._as_caller: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda step: step
        self._agent = ThreadPoolExecutor(1, "kit-agent")
        self._thread = self._agent.submit(threading.get_ident).result()

    def needs(self, *steps: str) -> None:
        """
        Go on only where the driver has these steps.

        Raises:
            NotApplicable: The framework has no such thing.
            Untestable: The driver lacks one.

        """
        for step in steps:
            if self.is_without(step):
                raise NotApplicable(f"no step `{step}`: {self.driver.without[step]}")
            if not has_step(self.driver, step.partition(" ")[0]):
                raise Untestable(f"the driver lacks the step `{step}`", (Driver(step),))

    def on_a_loop(self) -> None:
        """Take all further steps on a thread on which an event loop runs."""
        self._as_caller = inside_a_loop

    def is_without(self, step: str) -> bool:
        """True if the driver says that its framework has no such thing."""
        return step in getattr(self.driver, "without", {})

    def has(self, step: str) -> bool:
        """
        True if the driver has a step, such as `interrupt` or `switch rewind`, and takes it.

        One that raised `NotImplementedError` when it was taken is left out once a check is made
        again; see `HostRun.decide`.
        """
        name = step.partition(" ")[0]
        is_left_out = bool({step, name} & self._run.left_out)
        is_without = self.is_without(step) or self.is_without(name)
        return not is_left_out and not is_without and has_step(self.driver, name)

    def register(self, *providers: Any) -> None:
        """Register providers, in order."""
        for provider in providers:
            self._call("name", 0.0, provider)
            self._providers.append(provider)

    def register_program(
        self, program: Program, env: Mapping[str, str] | None = None
    ) -> BaseException | None:
        """
        Have the host start a program as a provider, and give the exception with which it refuses.

        Raises:
            NotApplicable: The host starts no such providers.

        """
        step = "register_program"
        if not has_step(self.driver, step) or self.is_without(step):
            raise NotApplicable(f"the host starts no programs: its driver has no step `{step}`")
        return self._future(step, "load", GREETING_S, program.command, env or {}).exception()

    def refusal(self, provider: Any) -> BaseException | None:
        """The exception of `register` for a provider, or None."""
        return self._future("register", "name", 0.0, provider).exception()

    def open(
        self, session_key: str = "", *, denied: frozenset[str] = frozenset(), **config: Any
    ) -> None:
        """Initialize all providers, with these keys of the config beside the usual ones."""
        handed = {**self._run.config(), **config}
        key = session_key or self._run.session_key()
        start = Start(key, handed["home"], handed, self.model, denied)
        try:
            self._call("open", 7.0, start)
        except Untestable as lack:
            if not denied:
                raise
            needs = (Driver("start", "a step that heeds `denied_tools`,"),)
            raise Untestable(f"`denied_tools` are not heeded: {lack}", needs) from None

    def begin(self, provider: Probe) -> None:
        """A first turn, if `provider` is not opened yet: a host may do so at the latest then."""
        if provider.count("initialize"):
            return
        if self.has("turn"):
            self.turn("Hello.")
        elif self.has("recall"):
            self.recall("Hello.")

    # -- turns ------------------------------------------------------------------------------------

    def turn(self, user: str, *, step: str = "turn") -> str:
        """One turn, by `turn` or a step like it; what the user saw."""
        answer = self._step(step, "recall", self.deadlines.enrich_s + self._begin_s(), user)
        if not isinstance(answer, Turn) or not isinstance(answer.shown, str):
            raise Violation(
                Returned(wanted="a Turn with the text that was shown", value=show(answer))
            )
        return answer.shown

    def try_turn(self, user: str, *, step: str = "turn") -> None:
        """
        A turn that cannot succeed; whatever the host makes of it.

        Raises:
            Untestable: It did not end, as where the host goes on trying, which is its own affair.

        """
        self.needs(step)
        budget_s = self.deadlines.enrich_s + self._begin_s()
        with undecided_if_late("a turn without answer does not end"):
            self._future(step, "recall", budget_s, user)

    def _begin_s(self) -> float:
        """Seconds for the beginning of a turn before its recall, prompt block included."""
        return self.deadlines.turn_start_s + self.deadlines.ask_s

    def recall(self, query: str, messages: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """Recall for one turn; label to text, in the order given."""
        history = messages if isinstance(messages, list) else list(messages)
        answer = self._call("recall", self.deadlines.enrich_s, query, history)
        if isinstance(answer, str) and self.names is STEPS:
            return self._by_provider(answer)
        try:
            return {label: text for label, text in answer}  # noqa: C416 - pairs are what is checked
        except (TypeError, ValueError):
            expected = "a list of (label, text)"
            raise Violation(
                Returned(wanted=expected, value=show(answer)), operation="recall"
            ) from None

    def ask(self, query: str) -> None:
        """Recall whose answer nobody looks at: by itself, or in a turn where there is no step."""
        if self.has("recall") or not self.has("turn"):
            self.recall(query)
        else:
            self.turn(query)

    def recalled(self, query: str) -> str:
        """All that is recalled for one turn, whoever said it."""
        answer = self._call("recall", self.deadlines.enrich_s, query, [])
        return answer if isinstance(answer, str) else "\n".join(str(text) for _, text in answer)

    def _by_provider(self, merged: str) -> dict[str, Any]:
        """Name to text where the host keeps no names: who of the providers said what is there."""
        found, rest = {}, merged
        for probe in self._providers:
            for text in reversed(probe.said if isinstance(probe, Probe) else []):
                if text and text in rest:
                    found[probe.name] = text
                    rest = rest.replace(text, "", 1)
                    break
        return found

    def record(self, user: str, assistant: str = "Noted.") -> None:
        """Record one turn."""
        self._call("record", 0.0, user, assistant)

    def mirror(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Mirror one write of the memory tool."""
        self._call("mirror", 0.0, action, target, content, old_text)

    def write(self, text: str) -> None:
        """A write beside a turn: by the memory tool, or a turn where the framework has none."""
        if self.is_without("write_memory"):
            self.record(text)
        else:
            self.mirror("add", "memory", text)

    def refuse_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Have the memory tool refuse a write."""
        self._step("refuse_write", "mirror", 0.0, action, target, content, old_text)

    def record_turn(self, turn: dict[str, Any]) -> None:
        """Record a turn with all that is known of it."""
        self._call("record_turn", 0.0, turn)

    # -- what has no session ----------------------------------------------------------------------

    def backup_paths(self) -> list[str]:
        """The paths for a backup."""
        return list(self._call("backup", self.deadlines.ask_s))

    def forget(self, scope: dict[str, Any]) -> Any:
        """Have the providers forget; what a registry gives."""
        return self._call("forget", self.deadlines.privacy_s, scope)

    # -- tools and the prompt ---------------------------------------------------------------------

    def tools(self) -> list[dict[str, Any]]:
        """The schemas that the model is offered, unwrapped."""
        schemas = self._call("tools", self.deadlines.ask_s)
        if not isinstance(schemas, list) or not all(isinstance(item, dict) for item in schemas):
            raise Violation(
                Returned(wanted="a list of schemas", value=show(schemas)), operation="tools"
            )
        return [item.get("function", item) for item in schemas]

    def call_tool(self, name: str, args: Any) -> Any:
        """The model's result of a call."""
        return self._call("call_tool", self.deadlines.tool_s, name, args)

    def prompt(self) -> str:
        """Text that providers add to the prompt."""
        return str(self._call("prompt", self.deadlines.ask_s))

    # -- boundaries -------------------------------------------------------------------------------

    def compress(self, messages: list[dict[str, Any]], count: int = 1) -> Compressed:
        """Offer messages that are about to be discarded."""
        budget_s = self.deadlines.compress_s
        ended = self._call("compress", budget_s, messages, count)
        return ended if isinstance(ended, Compressed) else Compressed()

    def offer(self) -> None:
        """A compression of some messages, where the driver has one; see `HostRun.needs_also`."""
        if self.has("compress"):
            self.compress([{"role": "user", "content": "Hello."}])

    def end(self) -> None:
        """End the session."""
        self._call("end", 0.0)

    def switch(self, kind: SwitchKind, session_key: str) -> None:
        """Go on in another session."""
        self.needs("switch", f"switch {kind}")
        self._call("switch", 0.0, kind, session_key)

    def delegate(self, task: str, result: str, child: str) -> None:
        """Tell of a delegation."""
        self._call("delegation", 0.0, task, result, child)

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
            self.driver.exit()

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
        """
        Let the agent's thread go, and what the driver has of its own.

        Raises:
            DriverFailed: The driver's `dismiss` raised.

        """
        self._agent.shutdown(wait=False)
        if not callable(dismiss := getattr(self.driver, "dismiss", None)):
            return
        try:
            dismiss()
        except Exception as error:
            what, place = f"{type(self.driver).__name__}.dismiss", locate.raised(error)
            fault = f"raised {type(error).__name__}: {error}" + (f" at {place}" if place else "")
            fix = "make it return; it is called when the host was shut down, or could not be"
            raise DriverFailed(what, fault, fix) from error

    # -- one call ---------------------------------------------------------------------------------

    def _call(self, operation: str, deadline_s: float, *args: Any) -> Any:
        return self._step(STEPS[operation], operation, deadline_s, *args)

    def _step(self, step: str, operation: str, deadline_s: float, *args: Any) -> Any:
        self.needs(step)
        future = self._future(step, operation, deadline_s, *args)
        try:
            return self._outcome(operation, future, step)
        except Untestable:
            self._run.refused.add(f"{step} {args[0]}" if step == "switch" else step)
            raise

    def _future(self, step: str, operation: str, deadline_s: float, *args: Any) -> "Future[Any]":
        """The call, done; the step runs on the agent's thread, so that a hang holds nobody."""
        method = self._as_caller(getattr(self.driver, step))
        budget_s = self._budget_s(deadline_s)
        with self._run.watched(operation, budget_s):
            future = self._agent.submit(method, *args)
            wait_for([future], budget_s)
        if not future.done():
            raise self._late(operation, deadline_s)
        return future

    def _budget_s(self, deadline_s: float) -> float:
        return deadline_s + SLACK_S * self._run.scale

    def _outcome(self, operation: str, future: "Future[Any]", step: str = "exit") -> Any:
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, NotImplementedError) and self.names is STEPS:
            said = f"in full: {error}" if str(error) else "at all"
            raise Untestable(f"the driver does not take the step `{step}` {said}", (Driver(step),))
        place = locate.raised(error)
        tail = f" at {place}" if place else ""
        # A turn is taken for its recall; the author knows the step.
        called = step if self.names is STEPS else self.names[operation]
        seen = Raised.by(error, hook=called, tail=tail)
        raise Violation(seen, operation=operation)

    def _late(self, operation: str, deadline_s: float) -> HostLate:
        place = place_of(self._thread)
        when = f"within its deadline, {deadline_s:g} s" if deadline_s else "at once"
        late = Late(
            wanted=f"{self.names[operation]} returns {when}",
            hook=self.names[operation],
            took_s=self._budget_s(deadline_s),
            budget_s=deadline_s,
            state="running",
            at=(place,),
        )
        return HostLate(
            late,
            operation=operation,
            requirement=incidents.HOST_LATE.get(operation, ""),
        )
