"""
The index of checks: which function decides which requirement.

A check is a plain function over a `Run` (provider side) or a `HostRun` (host side). Its level,
text and fix come from the catalogue and are never stated beside it.
"""

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from memproto import spec
from memproto.bindings import Binding, Trait
from memproto.testing import wording
from memproto.testing.conditions import Condition, Extension, Hook, Known, Stores
from memproto.testing.evidence import Evidence
from memproto.testing.needs import Need

CheckFunction = Callable[[Any], None]
F = TypeVar("F", bound=CheckFunction)


class Violation(Exception):
    """
    The requirement under check does not hold.

    Attributes:
        evidence: The thing seen, and the thing asked for.
        operation: The operation whose hook shows it, or "" for the requirement's own.
        requirement: Another requirement that is violated instead, or "".

    """

    def __init__(self, evidence: Evidence, *, operation: str = "", requirement: str = "") -> None:
        super().__init__(evidence)
        self.evidence = evidence
        self.operation = operation
        self.requirement = requirement

    def __str__(self) -> str:
        return (
            f"expected {wording.expected(self.evidence)}; "
            f"observed {wording.observed(self.evidence)}"
        )


class Untestable(Exception):
    """
    The requirement applies and could not be exercised; the message says why.

    Attributes:
        needs: The things that would let it be exercised.

    """

    def __init__(self, reason: str, needs: tuple[Need, ...] = ()) -> None:
        super().__init__(reason)
        self.needs = needs


class Lost(Untestable):
    """A fact on which the check rests was not recalled, so that it proves nothing."""


class Behind(Untestable):
    """
    The requirement could not be exercised for a fault that violates another one: both are told.

    Attributes:
        violation: The fault, of the requirement that it names.

    """

    def __init__(self, reason: str, violation: Violation, needs: tuple[Need, ...] = ()) -> None:
        super().__init__(reason, needs)
        self.violation = violation


class NotApplicable(Exception):
    """The requirement does not concern this target; the message says why."""


class Inconclusive(Exception):
    """The machine could not decide; the message says what was measured."""


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """
    The function that decides one requirement.

    Attributes:
        requirement: The id that it decides.
        function: Takes the run; returns for a pass, else raises one of the four above.
        budget_s: Seconds that the whole check may take before its process is ended.
        linger_s: Seconds that its process is watched after the check, for late events.
        environment: Variables that its process is started with; one that has some is its own.
        apart: Name of its process in the chapter, for a check of an event that a process has only
            once; "" for the process that the others share.
        observation: Name of what it observes once for itself and other checks, if they run in one
            process; "" if it shares nothing.
        parts: Number of parts that can be made apart, each with instances of its own, as
            `Run.of_part` gives them; their results together are those of the whole.
        grows: True if it gives long texts, and can be made with shorter ones before them.
        calls_alone: True if the calls that it makes show by themselves what it finds. One that
            makes backends, stores, clocks or processes fail in between, copies homes or changes
            the environment gets no replay script for what is recalled.
        session: True if it opens one with every provider, or the trait of the bindings for which it
            does; without one, it is decided also if no session begins.
        conditions: The conditions under which the requirement concerns a provider; the first that
            is not met says why it does not.
        routes: Routes of which the provider has to serve one; the check uses `Run.route`.

    """

    requirement: str
    function: CheckFunction
    budget_s: float
    linger_s: float
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    session: bool | Trait = True
    apart: str = ""
    conditions: tuple[Condition, ...] = ()
    routes: tuple[str, ...] = ()
    calls_alone: bool = True
    observation: str = ""
    parts: int = 1
    grows: bool = False

    def unmet(self, known: Known) -> str:
        """Why the requirement does not concern a provider; "" if nothing known says so."""
        for item in self.conditions:
            why = item.unmet(known)
            if why or not item.is_decided(known):
                return why
        return ""

    def decide(self, run: Any) -> None:
        """
        Run the function over `run` if its conditions are met; returns for a pass.

        Raises:
            Violation: The requirement does not hold.
            NotApplicable: A condition is not met, the function found out that it is not, or the
                driver of a host gives a reason in its `without`.
            Untestable: The provider serves no route that is needed, or the function is short of
                something.
            Inconclusive: The machine could not decide.

        """
        if why := self.unmet(run) or getattr(run, "without", {}).get(self.requirement, ""):
            raise NotApplicable(why)
        if self.routes:
            run.route = run.needs_route(*self.routes)
        self.function(run)

    def needs_session(self, binding: Binding | None) -> bool:
        """True if it opens a session with a provider of the binding."""
        if isinstance(self.session, bool):
            return self.session
        return binding is not None and bool(getattr(binding, self.session))


_CHECKS: dict[str, Check] = {}


def check(
    requirement: str,
    *,
    budget_s: float = 60.0,
    linger_s: float = 0.0,
    environment: Mapping[str, str] | None = None,
    session: bool | Trait = True,
    apart: str = "",
    calls_alone: bool = True,
    observation: str = "",
    parts: int = 1,
    grows: bool = False,
    binding: Condition | None = None,
    extension: str | Condition = "",
    hook: str = "",
    declares: Condition | tuple[Condition, ...] = (),
    routes: tuple[str, ...] = (),
) -> Callable[[F], F]:
    """
    Register the decorated function as the check of `requirement`; gives one with its conditions.

    The last five say which providers the requirement concerns, and are looked at in this order.
    `hook` is an operation; one of `routes` has to be served, and `Run.route` is the one.

    Raises:
        NoSuchRequirement: The catalogue does not hold the id.
        ValueError: The requirement has a check already.

    """
    spec.requirement(requirement)
    named: list[Condition | None] = [binding]
    named.append(Extension(extension) if isinstance(extension, str) and extension else None)
    named.append(extension if isinstance(extension, Condition) else None)
    named.append(Hook(hook) if hook else None)
    named += [declares] if isinstance(declares, Condition) else declares
    named.append(Stores(routes) if routes else None)
    conditions = tuple(item for item in named if item is not None)

    def register(function: F) -> F:
        known = _CHECKS.get(requirement)
        if known and known.function.__qualname__ != function.__qualname__:
            raise ValueError(f"{requirement} has two checks: {known.function} and {function}")
        item = _CHECKS[requirement] = Check(
            requirement,
            function,
            budget_s,
            linger_s,
            environment or {},
            session,
            apart,
            conditions,
            routes,
            calls_alone,
            observation,
            parts,
            grows,
        )
        if not conditions:
            return function

        @functools.wraps(function)
        def decided(run: Any) -> None:
            item.decide(run)

        return cast("F", decided)

    return register


@functools.cache
def checks(side: spec.Side) -> dict[str, Check]:
    """All checks of one side by requirement id, in the order of the catalogue."""
    package = importlib.import_module(f"memproto.conformance.{side}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    return {
        item.id: _CHECKS[item.id]
        for item in spec.requirements().values()
        if item.side == side and item.id in _CHECKS
    }
