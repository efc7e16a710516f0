"""Tools of a host-side check: hosts under budgets, providers to hold, the fence."""

import contextlib
import inspect
import itertools
import logging
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

from memproto.deadlines import Deadlines
from memproto.testing import locate, patience
from memproto.testing.agent import RegistryDriver, Rules
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import EXAMPLES, Context
from memproto.testing.evidence import Differs, Evidence, Raised, TooLong
from memproto.testing.facts import Facts
from memproto.testing.host.host import SLACK_S, Host, HostLate
from memproto.testing.host.loading import LoadedHost
from memproto.testing.host.probes import LONGEST_HANG_S, Extended, Gate, Probe, Reports
from memproto.testing.host.programs import Program
from memproto.testing.host.steps import METHODS, STEPS
from memproto.testing.instruments.walltime import wall_clock
from memproto.testing.needs import Driver
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import show

#: No deadline passes in a check that is not about deadlines.
_PATIENT = Deadlines(enrich_s=20.0, compress_s=20.0, shutdown_s=20.0)

#: Deadlines of checks in which they pass; the longer ones only where a good answer was missing.
_PACES_S = (0.3, 1.5, 6.0)

#: Share of a deadline that lies between two answers of providers of which each is late.
_PAUSE_SHARE = 0.6


class HostRun:
    """
    One check's view of the host.

    Attributes:
        binding: Native: that of the providers the host is judged with.
        context: See `run.Context`.
        watch: Tells the parent what runs.
        facts: A source of facts that no other check of this run plants.
        refused: The steps that the driver has, and for which it raised `NotImplementedError`.
        left_out: Those of them without which the check is made.

    """

    def __init__(
        self, loaded: LoadedHost, watch: Watch, context: Context, *, salt: int = 0
    ) -> None:
        self.loaded = loaded
        self.binding = loaded.binding
        self.context = context
        self.watch = watch
        self.scale = context.scale
        self.facts = Facts(context.seed * 1009 + salt)
        self.refused: set[str] = set()
        self.left_out: frozenset[str] = frozenset()
        self._tag = f"{salt:04x}{context.seed % 65536:04x}"
        self._numbers = itertools.count(1)
        self._hosts: list[Host] = []
        self._gates: list[Gate] = []
        self._programs: list[Program] = []

    def decide(self, check: Callable[["HostRun"], None]) -> None:
        """
        Make a check, and again without the steps that the driver turns out not to take.

        A step that is missing and one that raises `NotImplementedError` are the same: scenes that
        may go without it are left out, and a check that needs it stays untestable.

        Raises:
            Violation, NotApplicable, Untestable: As the check.

        """
        while True:
            try:
                return check(self)
            except Untestable:
                if self.refused <= self.left_out:
                    raise
                self.left_out = frozenset(self.refused)
                self.open_gates()

    # -- hosts and providers ----------------------------------------------------------------------

    def host(self, *providers: Any, deadlines: Deadlines = _PATIENT) -> Host:
        """A new host that holds `providers`, with those deadlines where it takes any."""
        most = self.loaded.most
        if most is not None and len(providers) > most:
            raise NotApplicable(f"the host takes {most} of the {len(providers)} providers it needs")
        takes = self.loaded.accepts
        reports = Reports(takes_events="on_event" in takes)
        rules = Rules()
        given: dict[str, Any] = {"deadlines": deadlines, "on_event": reports.hear}
        given["policy"] = rules.policy() if "policy" in takes else None
        made = self.loaded.build(**{key: given[key] for key in given if key in takes})
        logging.getLogger().addHandler(reports)
        if not self.loaded.is_driver:
            made = RegistryDriver(made, rules if "policy" in takes else None)
        own = getattr(made, "__dict__", {}).get("deadlines") or (
            deadlines if "deadlines" in takes else None
        )
        own = own or getattr(made, "deadlines", None)
        is_registry = not self.loaded.is_driver
        host = Host(self, made, own or Deadlines(), reports, is_registry=is_registry)
        self._hosts.append(host)
        host.register(*providers)
        return host

    def opened(
        self, *providers: Any, deadlines: Deadlines = _PATIENT, steps: tuple[str, ...] = ()
    ) -> Host:
        """As `host`, initialized; only where its driver has these steps."""
        host = self.host(*providers, deadlines=deadlines)
        host.needs(*steps)
        host.open()
        return host

    def needs_also(self, *steps: str) -> None:
        """
        Call nothing decided that was tried without a step; what was violated is told before.

        Raises:
            Untestable: The driver lacks one, and does not say that the framework has no such thing.

        """
        host = self.host()
        host.needs(*(step for step in steps if not host.is_without(step)))

    def beside(self, *others: Probe) -> tuple[Probe, ...]:
        """Providers of `others` that the host takes beside one more provider."""
        most = self.loaded.most
        return others if most is None else others[: most - 1]

    def groups(self, subjects: Iterable[Probe]) -> list[list[Probe]]:
        """The subjects all together, or by themselves where the host does not take so many."""
        together = list(subjects)
        return [together] if self.loaded.most is None else [[one] for one in together]

    def needs_agent(self) -> None:
        """
        Go on only where a whole agent is judged, and not a registry in the kit's own.

        Raises:
            NotApplicable: It is a registry.

        """
        if not self.loaded.is_driver:
            raise NotApplicable("an agent decides this, and no registry: judge its driver")

    @property
    def without(self) -> Mapping[str, str]:
        """Why the framework has no such thing, by step, requirement, or `fence`."""
        return self.loaded.without

    def needs_block(self) -> None:
        """
        Go on only where recalled text stands in a block as 75-fence.md has it.

        Raises:
            NotApplicable: The driver says that the framework's is another one, or none.

        """
        if "fence" in self.without:
            raise NotApplicable(f"the host shows no block of this fence: {self.without['fence']}")

    def takes(self, keyword: str) -> bool:
        """True if the host takes `deadlines` or `on_event` from its caller."""
        return keyword in self.loaded.accepts

    def probe(self, **hooks: Callable[..., Any]) -> Probe:
        """A provider that notes its calls, under a name of its own."""
        return Probe(self.label(), **hooks)

    def serving(
        self, *extensions: str, schemas: Iterable[Any] = (), **hooks: Callable[..., Any]
    ) -> Extended:
        """As `probe`; it serves these extensions, and these tools."""
        return Extended(self.label(), extensions, schemas, **hooks)

    def program(self, **script: Any) -> Program:
        """A provider that is a program, and does what the script says; see `Program`."""
        folder = Path(tempfile.mkdtemp(prefix="program-", dir=Path.cwd()))
        self._programs.append(Program(self.label(), folder, **script))
        return self._programs[-1]

    def serving_program(
        self,
        program: Program,
        *,
        deadlines: Deadlines = _PATIENT,
        env: Mapping[str, str] | None = None,
    ) -> Host:
        """
        A new host with a program as its provider, initialized.

        Raises:
            NotApplicable: The host starts no such providers.

        """
        host = self.host(deadlines=deadlines)
        refused = host.register_program(program, env)
        if refused is not None:
            seen = Raised.by(refused, hook=self.hook("load"))
            raise Violation(seen, operation="load")
        host.open()
        return host

    def gate(self, answer: Any = None, hangs_s: float = LONGEST_HANG_S) -> Gate:
        """A hook that hangs until it is opened, for so long at most, or until the check ends."""
        gate = Gate(answer, hangs_s)
        self._gates.append(gate)
        return gate

    def trickling(self, answer: Any, budget_s: float, until_s: float = 0.0) -> list[Gate]:
        """
        Hooks that answer one after the other, with less than a budget of so many seconds between.

        A host whose time begins anew with each answer waits for all of them, and longer than a step
        may take that has `until_s` seconds, or else the budget.
        """
        pause_s = _PAUSE_SHARE * budget_s
        number = math.ceil((max(until_s, budget_s) + 2 * SLACK_S * self.scale) / pause_s)
        return [self.gate(answer, pause_s * (n + 1)) for n in range(number)]

    def open_gates(self) -> None:
        """Let everything go on that hangs."""
        for gate in self._gates:
            gate.open()

    def finish(self) -> None:
        """Release what hangs, and shut down what the check left open."""
        self.open_gates()
        for host in self._hosts:
            if not host.is_closed:
                with contextlib.suppress(Violation, Untestable):
                    host.close()
            host.dismiss()
            logging.getLogger().removeHandler(host.reports)
        for program in self._programs:
            program.kill()

    def at_some_pace(self, attempt: Callable[[Deadlines], None]) -> None:
        """
        Run a check in which deadlines pass, and again with longer ones where it finds a fault.

        A good answer that a loaded machine brings too late is no fault of the host. A step that did
        not return at all is not tried again.
        """
        paces = _PACES_S if self.takes("deadlines") else (5.0,)
        for pace_s in paces[:-1]:
            try:
                return self._attempt(attempt, pace_s)
            except HostLate:
                raise
            except Violation:
                continue
        return self._attempt(attempt, paces[-1])

    def _attempt(self, attempt: Callable[[Deadlines], None], pace_s: float) -> None:
        budget_s = pace_s * self.scale
        attempt(Deadlines(enrich_s=budget_s, compress_s=budget_s, shutdown_s=2 * budget_s))

    def ends_while_the_clock_stands_still(self, what: str, act: Callable[[], object]) -> None:
        """
        Assert that a step which waits for a hook that hangs ends by another clock than the wall's.

        One that does not end beside a clock that goes on is for the requirement on its deadline.

        Raises:
            Violation: It had not returned when its deadline was long over; `what` names its end.

        """
        with wall_clock():
            try:
                act()
            except HostLate:
                wanted = f"{what} at the deadline while the wall clock stands still"
                self.violated(Differs(wanted=wanted, seen="it had not returned"))
            finally:
                self.open_gates()

    def assert_cut(self, chars: int, given: int) -> None:
        """
        Assert that of so many characters which a provider gave, far beyond any bound, few are left.

        Raises:
            Violation: A tenth of them or more is there.

        """
        most = given // 10
        if chars > most:
            self.violated(
                TooLong(
                    wanted=f"fewer than {most:,} characters",
                    chars=chars,
                    limit=most,
                    tail=f" of {given:,}",
                )
            )

    # -- the fence --------------------------------------------------------------------------------

    def fenced(self, name: str, *args: Any) -> Any:
        """
        Call one function of the host's fence.

        Raises:
            Untestable: The host has none of that name.

        """
        function = self.needs_fence(name)
        with self.watched("recall", 5.0):
            try:
                return function(*args)
            except Exception as error:
                seen = Raised.by(error, hook=name, given=show(args))
                raise Violation(seen, operation=name) from None

    def needs_fence(self, name: str) -> Callable[..., Any]:
        """
        One function of the host's fence.

        Raises:
            NotApplicable: The framework has no fence of this kind.
            Untestable: The host has none of that name.

        """
        self.needs_block()
        function = self.loaded.fence.get(name)
        if function is None:
            reason = (
                f"no `{name}` in an attribute `fence` of the host, in its module or its package"
            )
            raise Untestable(reason, (Driver(name, "the function"),))
        return function

    def refusal(self, name: str, *args: Any) -> Exception | None:
        """The exception of a function of the fence, or None."""
        function = self.needs_fence(name)
        with self.watched("recall", 5.0):
            try:
                function(*args)
            except Exception as error:
                return error
        return None

    # -- small helps ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def watched(self, operation: str, budget_s: float) -> Iterator[None]:
        """
        Tell the parent that the host runs; it steps in only where this interpreter stands still.

        The kit waits for a host's methods on another thread, so it sees by itself what is late.
        """
        parents_s = budget_s + 2 * SLACK_S * self.scale
        began = time.perf_counter()
        with self.watch.wire.hook(operation, parents_s):
            try:
                yield
            finally:
                self._count(operation, time.perf_counter() - began)

    def _count(self, operation: str, took_s: float) -> None:
        with self.watch.lock:
            row = self.watch.hooks.setdefault(operation, [0, 0.0, 0.0])
            row[:] = [row[0] + 1, max(row[1], took_s), row[2] + took_s]

    @property
    def examples(self) -> int:
        """Number of generated examples that the profile asks for."""
        return EXAMPLES[self.context.profile]

    def label(self) -> str:
        """A name for a provider that no other one has."""
        return self.facts.name().lower().replace(" ", "-")

    def session_key(self) -> str:
        """A session id that no other check uses."""
        return f"session-{self._tag}-{next(self._numbers)}"

    def config(self) -> dict[str, Any]:
        """The configuration that an agent hands to its registry."""
        return {
            "home": str(Path.cwd() / f"memory-{self._tag}"),
            "platform": "cli",
            "agent_context": "primary",
            "agent_identity": f"profile-{self._tag}",
            "user_id": f"user-{self._tag}",
        }

    def violated(
        self, evidence: Evidence, *, operation: str = "", requirement: str = ""
    ) -> NoReturn:
        """Report the requirement under check (or another one) as violated."""
        raise Violation(evidence, operation=operation, requirement=requirement)

    def wait_until(
        self, condition: Callable[[], bool], within_s: float = patience.HAPPENS_S
    ) -> bool:
        """Poll `condition` until it holds; False when it did not within the scaled time."""
        return patience.happens(condition, within_s * self.scale * self.context.slowdown)

    def stays_silent(self, condition: Callable[[], bool], for_s: float = patience.SILENT_S) -> bool:
        """True if `condition` holds at no moment of the scaled time, which is waited out."""
        return patience.stays_silent(condition, for_s * self.scale)

    def hook(self, operation: str) -> str:
        """The step of the driver, method of the registry, or function of the fence for it."""
        names = STEPS if self.loaded.is_driver else METHODS
        return names.get(operation, operation)

    def where(self, operation: str) -> str:
        """File, line and name of what `hook` names."""
        name = self.hook(operation)
        if name in self.loaded.fence:
            return _place(self.loaded.fence[name], name)
        if not self._hosts:
            return name
        driver = self._hosts[-1].driver
        kind = type(driver if self.loaded.is_driver else driver.registry)
        label = f"{kind.__name__}.{name}"
        function = inspect.getattr_static(kind, name, None)
        code = _code(function)
        if code is None or not locate.is_authors(code.co_filename):
            # A step that is inherited from a class of the kit or of a framework is not the line to
            # go to: the author's class is.
            return _class_line(kind, label) or _place(function, label)
        return _place(function, label)


def _place(function: Any, label: str) -> str:
    code = _code(function)
    return f"{locate.short(code.co_filename)}:{code.co_firstlineno} in {label}" if code else label


def _code(function: Any) -> CodeType | None:
    try:
        code = inspect.unwrap(getattr(function, "__func__", function)).__code__
    except (AttributeError, ValueError):
        return None
    return code if isinstance(code, CodeType) else None


def _class_line(kind: type, label: str) -> str:
    """The line on which an author's class begins; "" if it is none of an author's."""
    try:
        file = inspect.getsourcefile(kind)
        if file is None or not locate.is_authors(file):
            return ""
        _, number = inspect.getsourcelines(kind)
    except (OSError, TypeError):
        return ""
    return f"{locate.short(file)}:{number} in {label}"
