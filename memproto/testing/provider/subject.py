"""
One provider instance under the kit's hand: each hook watched, timed, and called as hosts do.

Hooks run on the thread that calls here. A hook's exception comes out as `HookRaised`, so that a
check can never mistake the provider's exception for its own.
"""

import contextlib
import dataclasses
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic, perf_counter, sleep
from typing import Any, NoReturn

from memproto import spec
from memproto.bindings import Binding
from memproto.errors import ProviderError, Rejected, Unavailable, WriteRefused
from memproto.operations import OPERATIONS
from memproto.testing import incidents, noise, spread
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.evidence import Differs, Lacks, TooLong
from memproto.testing.messages import Opened, Spent
from memproto.testing.needs import SET_UP, Setting
from memproto.testing.processes.sandbox import HOST_HOME
from memproto.testing.provider import write_action
from memproto.testing.provider.calls import Calls, Said
from memproto.testing.provider.extensions import ExtensionHooks, TurnCount, Turning
from memproto.testing.provider.preparation import Preparation
from memproto.testing.provider.selection import PLAIN
from memproto.testing.wire import Wire, beginning, honest, longest_text, plain, show
from memproto.wire.faults import Misspoken

# -- away ------------------------------------------------------------------------------------------

# Operations that may fail with their backend, and errors that say that it is away.


#: Operations that may fail with their backend. To start, to answer whether it is available and to
#: end, a provider needs none.
MAY_NEED_A_BACKEND = frozenset(
    {
        *("recall", "record", "mirror", "compress", "call_tool", "prewarm", "end", "switch"),
        *("delegation", "compress_notes", "record_turn", "items", "export", "forget"),
    }
)

#: Number of causes of an error that are looked at.
_CAUSES = 10


def is_unreachable(error: BaseException | None) -> bool:
    """True if an error, or one that it came from, says that a connection could not be had."""
    for _ in range(_CAUSES):
        if isinstance(error, ConnectionError | TimeoutError | socket.gaierror):
            return True
        if error is None:
            return False
        error = error.__cause__ or error.__context__
    return False


# --------------------------------------------------------------------------------------------------


#: Operations that the setting `max_hook_calls` counts: a backend may ask money for each.
_METERED = MAY_NEED_A_BACKEND

#: A recall that is so many times as long as was asked for is met as such, in every check.
_TIMES = 16

#: A batch of turns that is written together is seldom longer.
_BATCH = 12

#: Characters that a host asks for which names no limit.
_RECALL_CHARS = 1_000_000

#: Why what needs another hook call is not tested, and what would let it be.
UNPAID = "all hook calls are made"
PAYING = (Setting("max_hook_calls", that="that allows more"),)

#: Operations after which recall may be different.
_STORING = frozenset(
    {
        *("record", "mirror", "compress", "call_tool", "end", "switch", "delegation"),
        *("record_turn", "forget"),
    }
)


#: Operations that are called again after the pause that their error asks for.
_REPEATED = _STORING - {"compress"}

#: Number of pauses of one call, and the longest one, in seconds; a rate limit asks for little.
_PAUSES, _LONGEST_PAUSE_S = 5, 2.0

#: The rule that a declared extension has its hooks.
_SERVED = spec.role("extensions_served")

#: Operations that a checkpoint serves, in the Hermes binding by one hook.
_COMPRESSING = frozenset({"compress", "compress_notes"})

#: Operations that are given ids, places and answers, and nothing that somebody said.
_WITHOUT_TEXT = frozenset({"open", "switch", "save_config", "export", "forget"})


class HookRaised(Exception):
    """
    A hook of the provider raised.

    Attributes:
        operation: The operation that was asked for.
        error: The exception of the hook.
        number: The number of the call on its instance; 0 if it is not counted.

    """

    def __init__(self, operation: str, error: BaseException) -> None:
        super().__init__(f"{operation}: {show(error)}")
        self.operation = operation
        self.error = error
        self.number = 0

    @property
    def is_report(self) -> bool:
        """True if the error is one of those by which a provider reports a refusal."""
        return isinstance(self.error, ProviderError)

    @property
    def ends_process(self) -> bool:
        """True if the error is one that ends the interpreter."""
        return isinstance(self.error, SystemExit | KeyboardInterrupt | GeneratorExit)


class BackendAway(HookRaised, Untestable):
    """
    A hook raised because its backend does not answer, which is a report and no violation.

    The rest of a check without the backend proves nothing; so it is untestable too.
    """

    def __init__(self, operation: str, error: BaseException) -> None:
        super().__init__(operation, error)
        self.needs = SET_UP

    @property
    def is_report(self) -> bool:
        """Always: not stored, and said so."""
        return True

    def __str__(self) -> str:
        return f"the backend of {self.operation} does not answer ({show(self.error)})"


class CheckpointRefused(HookRaised):
    """A Hermes checkpoint raised: by whatever it raises it keeps the messages from being let go."""

    @property
    def is_report(self) -> bool:
        """Always: not stored, and said so."""
        return True


class HookWithdrawn(Untestable):
    """A hook hung or died so often in this run that it is not called any more."""


class HookUnpaid(Untestable):
    """The run has made all the hook calls that the user allows."""


class HookLate(Exception):
    """
    A hook returned after its budget.

    Attributes:
        excuse: The machine's share in it, if it cannot be told apart; else "".
        given: The longest text that the hook was given, in the words of a message; "" for none.
        given_chars: Its length in characters.
        unanswered: True if the target tried to reach a backend in the check, and none answered.

    """

    def __init__(
        self,
        operation: str,
        took_s: float,
        budget_s: float,
        excuse: str = "",
        given: str = "",
        *,
        unanswered: bool = False,
    ) -> None:
        super().__init__(f"{operation} took {took_s:.2f} s of {budget_s:g} s")
        self.operation = operation
        self.took_s = took_s
        self.budget_s = budget_s
        self.excuse = excuse
        self.given = beginning(given) if given else ""
        self.given_chars = len(given)
        self.unanswered = unanswered


def misspoken(operation: str, error: Misspoken, binding: Binding) -> Violation:
    """The violation of a server that broke the protocol beside the answer to a hook."""
    fault = error.fault
    requirement = spec.role(f"wire_{fault.kind}")
    if not spec.requirement(requirement).applies_to(binding):
        # The server is the framework's host, whose end is the provider's deed.
        requirement = incidents.DIED
    shown = f": {fault.line!r}" if fault.line else ""
    return Violation(
        Differs(wanted=_SPOKEN[fault.kind], seen=f"{fault.text}{shown}"),
        operation=operation,
        requirement=requirement,
    )


#: Kind of fault to the thing that the protocol asks for.
_SPOKEN = {
    "stray": "nothing but messages on the standard output, each a line of JSON in UTF-8",
    "unfit": "a message as in schemas/wire-message.schema.json",
    "unasked": "one answer to each request, with its id",
    "ended": "a server that runs until its input ends",
}


@dataclasses.dataclass
class Watch:
    """
    State that all subjects of one check share: the wire, the budgets, the tally of calls.

    Attributes:
        wire: Tells the parent which hook runs.
        scale: Factor on every budget.
        budgets_s: Operation to the time for which the host of the provider's framework waits.
        deaths: Operation to the number of times that its hook hung or died in this run.
        hooks: Operation to [calls, longest in seconds, all together in seconds].
        times: Operation to the number of its calls that took how long, as in `spread`.
        patient: True if a hook that hung before gets its whole time again.
        late: Operations whose hook returned after its budget.
        excused: Those of them for which the machine is to blame, as far as can be told.
        calls_left: Number of further hook calls that the user allows, or None for any number.
        has_refused: True if a call was refused because none was left.
        limited_s: The longest time after which a hook asked to be called again; 0 for never.
        repeats: True if a write that asks for a short pause is made again after it.
        stored_at: When something was stored last, by the monotonic clock; None for never.
        announces: True if the parent is to know each instance that is opened, and its config.
        calls: The listener that each call is told.
        turns: Counter of turns, if the provider is told that they begin.
        timed: Told the operation and the seconds of each call, for one who measures.
        unanswered: Says whether the target tried to reach a backend in the check, in vain.

    """

    wire: Wire
    scale: float = 1.0
    budgets_s: Mapping[str, float] = dataclasses.field(default_factory=dict)
    deaths: dict[str, int] = dataclasses.field(default_factory=dict)
    hooks: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    times: dict[str, spread.Spread] = dataclasses.field(default_factory=dict)
    patient: bool = False
    late: list[str] = dataclasses.field(default_factory=list)
    excused: list[str] = dataclasses.field(default_factory=list)
    calls_left: int | None = None
    has_refused: bool = False
    limited_s: float = 0.0
    repeats: bool = True
    stored_at: float | None = None
    announces: bool = False
    calls: Calls = dataclasses.field(default_factory=Calls)
    turns: TurnCount | None = None
    timed: Callable[[str, float], None] | None = None
    unanswered: Callable[[], bool] = lambda: False
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def hook(self, operation: str, given: str = "", number: int = 0) -> Iterator[None]:
        """
        Run the body as a hook of `operation`; raises `HookLate` when it took too long.

        `given` is the longest text that the hook was given, and `number` counts its calls on one
        instance.
        """
        deaths = self.deaths.get(operation, 0)
        if deaths >= incidents.MOST_DEATHS:
            raise HookWithdrawn(
                f"{operation} hung or died {deaths} times and is not called any more"
            )
        scale, of_host = self.scale, self.budgets_s
        full_s = incidents.budget_s(operation, scale=scale, deaths=0, of_host=of_host)
        cut_s = incidents.budget_s(operation, scale=scale, deaths=deaths, of_host=of_host)
        budget_s = full_s if self.patient else cut_s
        named = beginning(given) if given else ""
        with self.wire.hook(operation, budget_s, named, number, len(given)) as starved_s:
            begin = perf_counter()
            try:
                yield
            finally:
                took_s = perf_counter() - begin
                self._count(operation, took_s)
        if took_s > full_s + incidents.CLOCKS_S * scale:
            # The shorter time is how long one that hangs is waited for; this one has returned.
            self._late(operation, took_s, full_s, noise.starved_s() - starved_s, given)

    def _late(
        self, operation: str, took_s: float, budget_s: float, starved_s: float, given: str
    ) -> NoReturn:
        excuse = noise.excuse(took_s, budget_s, starved_s)
        (self.excused if excuse else self.late).append(operation)
        raise HookLate(operation, took_s, budget_s, excuse, given, unanswered=self.unanswered())

    def spend(self, operation: str) -> None:
        """Take one call off what the user allows; raises `HookUnpaid` where none is left."""
        if self.calls_left is None or operation not in _METERED:
            return
        with self.lock:
            self.has_refused |= self.calls_left <= 0
            if self.calls_left <= 0:
                raise HookUnpaid(UNPAID, PAYING)
            self.calls_left -= 1
        self.wire.send(Spent())

    def note_limit(self, error: BaseException) -> None:
        """Remember for how long an error of a hook asks not to be called."""
        if isinstance(error, Unavailable):
            with contextlib.suppress(Exception):
                # Of a class of the provider's own, it may be anything.
                self.limited_s = max(self.limited_s, float(error.retry_after_s or 0.0))

    def pause_s(self, failure: HookRaised) -> float:
        """Seconds after which a write that failed is to be made again; 0 for never."""
        error = failure.error
        if not self.repeats or isinstance(failure, BackendAway):
            return 0.0
        if isinstance(error, Unavailable):
            with contextlib.suppress(Exception):
                asked_s = float(error.retry_after_s or 0.0)
                return asked_s if 0 < asked_s <= _LONGEST_PAUSE_S else 0.0
        return 0.0

    def _count(self, operation: str, took_s: float) -> None:
        with self.lock:
            if self.timed is not None:
                self.timed(operation, took_s)
            row = self.hooks.setdefault(operation, [0, 0.0, 0.0])
            row[0] += 1
            row[1] = max(row[1], took_s)
            row[2] += took_s
            spread.count(self.times.setdefault(operation, {}), took_s)


class Subject(ExtensionHooks):
    """
    A provider instance, native or adapted, whose hooks are called by the specification's words.

    Attributes:
        provider: The instance, with the nine members.
        binding: The binding that its author wrote it for.
        config: The config that `initialize` got, or None before.
        variable: Value of the `home_variable` of its binding from its next hook on, or "" for
            its present value.
        number: Its own among the instances whose calls are told, or 0.
        turning: The place of its session between two turns.
        writing: The way to mirror a text so that it is stored.
        manner: The way in which facts are told, if it matters.
        preparation: The time that its check waits for an answer that is prepared in advance.
        said: The messages of the turns that were recorded, for a session that is ended with them.
        declared: The extensions that other instances of the target declared; None if none was
            asked. It holds until this one is.

    """

    def __init__(self, provider: Any, binding: Binding, watch: Watch) -> None:
        self.provider = provider
        self.binding = binding
        self.config: dict[str, Any] | None = None
        self.variable = ""
        self.number = 0
        self._watch = watch
        self._has_stored = False
        self._called: dict[str, int] = {}
        self.turning = Turning()
        self.writing = write_action.Writing(write_action.ADD_ONLY)
        self.manner = PLAIN
        self.preparation = Preparation()
        self.said: list[dict[str, Any]] = []
        self.declared: tuple[Any, ...] | None = None
        #: The extensions that this instance declared; None before it was asked.
        self._extensions: tuple[Any, ...] | None = None

    def hook(self, operation: str) -> str:
        """The hook's name in the author's binding."""
        return self.binding.hook(operation)

    @property
    def poll_s(self) -> float:
        """The time between two questions for the same fact: longer where each costs money."""
        return 0.05 if self._watch.calls_left is None else 0.5

    def has(self, operation: str) -> bool:
        """True if the provider has the hook of an extension's operation."""
        name = OPERATIONS[operation].native
        # Looking a hook up is no call of it, for one who pays for calls.
        return bool(self._watched(operation, lambda: callable(getattr(self.provider, name, None))))

    def call(self, operation: str, function: Callable[[], Any], said: Said | None = None) -> Any:
        """
        Run `function` as a hook of `operation`; `said` is the native hook and its arguments.

        Raises:
            HookRaised: It raised anything at all.
            HookLate: It returned after its budget.
            HookWithdrawn: The hook hung too often before.
            HookUnpaid: The user allows no more calls.

        """
        self._watch.spend(operation)
        try:
            return self._watch.calls.follow(
                self, operation, said, lambda: self._watched(operation, function, said)
            )
        finally:
            self._note_stored(operation)

    def _watched(
        self, operation: str, function: Callable[[], Any], said: Said | None = None
    ) -> Any:
        HOST_HOME.name(self.binding.home_variable, self.variable)
        text = "" if said is None or operation in _WITHOUT_TEXT else longest_text(said[1:])
        number = self._numbered(operation) if said is not None else 0
        with self._watch.hook(operation, text, number):
            try:
                return honest(function())
            except BaseException as error:
                failure = self._failure(operation, error)
                if isinstance(failure, HookRaised):
                    failure.number = number
        raise failure

    def _numbered(self, operation: str) -> int:
        """Count a call of an operation on this instance, from any thread."""
        with self._watch.lock:
            self._called[operation] = self._called.get(operation, 0) + 1
            return self._called[operation]

    def _failure(self, operation: str, error: BaseException) -> HookRaised | Violation:
        self._watch.note_limit(error)
        if isinstance(error, Misspoken):
            return misspoken(operation, error, self.binding)
        if operation in MAY_NEED_A_BACKEND and is_unreachable(error):
            return BackendAway(operation, error)
        is_plain = isinstance(error, Exception) and not isinstance(error, ProviderError)
        if is_plain and operation in _COMPRESSING and self._refuses_by_raising():
            return CheckpointRefused(operation, error)
        return HookRaised(operation, error)

    def _refuses_by_raising(self) -> bool:
        """True if the host asks the provider before it discards messages, and any error refuses."""
        if not self.binding.checkpoint_raises:
            return False
        with contextlib.suppress(Exception):
            return self.binding.is_checkpoint(self.provider)
        return False

    def _note_stored(self, operation: str) -> None:
        """Remember that there may be something new to recall; closing may bring it to the store."""
        if operation in _STORING or (operation == "close" and self._has_stored):
            self._has_stored = operation != "close"
            self._watch.stored_at = monotonic()

    def _use(self, operation: str, *arguments: Any, **keywords: Any) -> Any:
        """Look the hook up and call it: a lookup may hang or raise as a call may."""
        if operation in ("end", "switch"):
            # A session that is ended, or left for another one, has nothing left to end.
            self.said = []
        name = OPERATIONS[operation].native
        hooks, said = self.provider, (name, list(arguments), keywords)
        try:
            return self._repeated(
                operation, lambda: getattr(hooks, name)(*arguments, **keywords), said
            )
        except HookRaised as failure:
            if isinstance(failure.error, AttributeError | TypeError):
                self._assert_served(operation)
            raise

    def _repeated(self, operation: str, function: Callable[[], Any], said: Said) -> Any:
        """
        Make a call, and a write again after the pause that its error asks for, as a host may.

        Once several pauses were in vain, no call of the check is made again.
        """
        if operation not in _REPEATED:
            return self.call(operation, function, said)
        for _ in range(_PAUSES):
            try:
                return self.call(operation, function, said)
            except HookRaised as failure:
                pause_s = self._watch.pause_s(failure)
                if not pause_s:
                    raise
            sleep(pause_s)
        try:
            return self.call(operation, function, said)
        except HookRaised as failure:
            self._watch.repeats = self._watch.repeats and not self._watch.pause_s(failure)
            raise

    def _assert_served(self, operation: str) -> None:
        """
        See that the hook that raised is there at all.

        Raises:
            Violation: Of MP-CAP-002: its extension is declared, and the hook is missing.

        """
        row = OPERATIONS.get(operation)
        is_about = spec.requirement(_SERVED).applies_to(self.binding)
        if not is_about or row is None or not row.extension or self.has(operation):
            return
        declared = self.declared if self._extensions is None else self._extensions
        if declared is None or row.extension not in declared:
            # It promised nothing: the check that called has to say what it makes of that.
            return
        raise Violation(
            Lacks(
                wanted=(
                    f"{row.native}(), because capabilities()['extensions'] holds {row.extension!r}"
                ),
                kind_of="hook",
                names=(row.native,),
                holder=type(self.provider).__name__,
                lead=f"{type(self.provider).__name__} has no callable ",
            ),
            operation=operation,
            requirement=_SERVED,
        )

    # -- the core, in the order of a session's life ----------------------------------------------

    def name(self) -> Any:
        """Read the provider's name."""
        return self.call("name", lambda: self.provider.name, ("name", [], {}))

    def available(self) -> Any:
        """Ask whether the provider is available."""
        return self._use("available")

    def open(self, session_key: str, config: dict[str, Any]) -> None:
        """Initialize the provider; `config` is handed over as it is."""
        self.config, self.turning = config, Turning(self._watch.turns, session_key)
        if self.binding.home_variable and not self.variable:
            # The process has one home, which the variable and the argument name.
            self.variable = str(config.get("host_home") or config.get("home") or "")
        if self._watch.announces:
            # As JSON, which is what can travel; a check may put any object in.
            told = json.dumps({**config, "session_key": session_key}, default=str)
            self._watch.wire.send(Opened(json.loads(told)))
        self._use("open", session_key, config)

    def declare(self) -> Any:
        """Read the provider's capabilities."""
        declared = self._use("declare")
        if isinstance(declared, dict):
            # A subclass may answer otherwise than the dict that it is, and that is not asked here.
            extensions = plain(dict.get(declared, "extensions", ()))
            self._extensions = tuple(extensions) if isinstance(extensions, list) else ()
        return declared

    def recall(self, query: str, messages: Sequence[dict[str, Any]] | None = None) -> Any:
        """Recall for one turn; gives what the hook returned, of whatever type."""
        found = self._use("recall", query, [] if messages is None else messages)
        limit = int((self.config or {}).get("limits", {}).get("recall_chars") or _RECALL_CHARS)
        if isinstance(found, str) and len(found) > _TIMES * limit:
            # It is not searched, nor sent: that would take minutes, in each check anew.
            raise Violation(
                TooLong(
                    wanted=f"at most {limit:,} characters, which is limits.recall_chars",
                    hook=self.hook("recall"),
                    chars=len(found),
                    limit=limit,
                ),
                operation="recall",
                requirement=spec.role("recall_length"),
            )
        return found

    def record(
        self, user: str, assistant: str = "Noted.", *, author: Mapping[str, Any] | None = None
    ) -> None:
        """
        Record one finished turn, after it began.

        An `author` is for bindings of which `takes_authors` is true.
        """
        told = {} if author is None else {"author": dict(author)}
        self.begin(user, **told)
        self.turning.ends()
        for _ in range(self.manner.times):
            self._use("record", user, assistant, **told)
        if self.manner is not PLAIN:
            self.said += [
                {"role": "user", "content": user},
                {"role": "assistant", "content": assistant},
            ]

    def talk_on(self) -> None:
        """Record as many turns as fill a batch, with nothing in them to remember."""
        for number in range(1, _BATCH + 1):
            self.record(f"Is lamp {number} on the quay lit?", f"Lamp {number} is lit.")

    def begin(self, user: str, **told: Any) -> None:
        """Say that a turn begins where the provider is told so; `record` does it by itself."""
        number = self.turning.begins()
        # Its exceptions, and earlier hangs, are for its own rules: a host goes on.
        if number is not None and not self._watch.deaths.get("turn_start"):
            with contextlib.suppress(HookRaised):
                self._use("turn_start", number, user, **told)

    def mirror(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Mirror one write of the memory tool."""
        for _ in range(self.manner.times if action == "add" else 1):
            self._use("mirror", action, target, content, old_text)

    def write(self, text: str) -> None:
        """
        Mirror a write by which the text is stored, as far as one is.

        As long as no write was accepted, a policy of the store may be against one target only.
        """
        ways = self.writing.to_try()
        for way in ways:
            try:
                self.mirror(*write_action.arguments(way, text))
            except HookRaised as failure:
                if way == ways[-1] or not isinstance(failure.error, Rejected | WriteRefused):
                    raise
            else:
                self.writing.prefer(way)
                return

    def compress(self, messages: list[dict[str, Any]], count: int = 1) -> None:
        """Offer messages that are about to be discarded."""
        self._use("compress", messages, count)

    def close(self) -> None:
        """Shut the provider down; a session is rounded off before where that matters."""
        if self.said:
            with contextlib.suppress(HookRaised, HookWithdrawn):
                self._round_off()
        self._use("close")

    def _round_off(self) -> None:
        if self.manner.goes_on:
            self.talk_on()
        said, self.said = self.said, []
        if self.manner.ends and self.has("end"):
            self._use("end", said)
