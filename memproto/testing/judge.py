"""
One target before the kit: first contact, then check after check in child processes, to results.

Nothing here needs pytest; the plugin asks a `Judge` for one requirement at a time.
"""

import dataclasses
import itertools
import os
import time
import zlib
from pathlib import Path
from typing import Any

from memproto import errors, spec
from memproto.errors import KitUsageError
from memproto.operations import Binding, hook_name
from memproto.testing import clauses, incidents, sandbox
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.process import Answer, ChildProcess
from memproto.testing.settings import Settings

#: A process in which a check left threads is watched for so long after that check.
_LINGER_S = 3.0

_OTHER_COMMANDS_S = 90.0


@dataclasses.dataclass(frozen=True)
class Order:
    """
    What the user asked for, for one target.

    Attributes:
        target: As it was typed.
        side: provider or host.
        settings: See `Settings`.
        profile: quick, ci or deep.
        seed: Of everything drawn.
        directory: From where the kit was called.
        scale: Factor on every budget.

    """

    target: str
    side: spec.Side = "provider"
    settings: Settings = dataclasses.field(default_factory=Settings)
    profile: str = "quick"
    seed: int = 0
    directory: Path = dataclasses.field(default_factory=Path.cwd)
    scale: float = 1.0


@dataclasses.dataclass
class Contact:
    """
    What first contact found out; plain values, so that it travels to other workers.

    Attributes:
        binding: The binding of the provider, or None before it is known.
        origin: Where the target was found.
        results: Those of the gates, and of what was met on the way.
        blocked: Why nothing else can be tested, or "".
        capabilities: What the provider declared.
        routes: Route to declared, observed, absent or unknown.
        deaths: Operation to the number of its hangs and deaths.

    """

    binding: Binding | None = None
    origin: str = ""
    results: list[Result] = dataclasses.field(default_factory=list)
    blocked: str = ""
    capabilities: dict[str, Any] = dataclasses.field(default_factory=dict)
    routes: dict[str, str] = dataclasses.field(default_factory=dict)
    deaths: dict[str, int] = dataclasses.field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain = dataclasses.asdict(self)
        return {**plain, "results": [result.as_dict() for result in self.results]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Contact":
        """The value that `as_dict` gave."""
        return cls(**{**data, "results": [Result.from_dict(item) for item in data["results"]]})


@dataclasses.dataclass
class _Retired:
    """A process that is only watched any more, because a check left threads in it."""

    process: ChildProcess
    check: str
    since: float


class Judge:
    """
    Judges one target.

    Guarantees:
        Every requirement gets a result, whatever the target does to its process.
        `close` leaves no process behind.
    Assumes:
        One caller at a time.
    """

    def __init__(self, order: Order, root: Path, contact: Contact | None = None) -> None:
        self.order = order
        self.contact = contact or Contact()
        self.deaths = dict(self.contact.deaths)
        self._root = root
        self._numbers = itertools.count(1)
        self._process: ChildProcess | None = None
        self._area = ""
        self._served: list[str] = []
        self._retired: list[_Retired] = []
        self._late_findings: list[Result] = []

    # -- first contact ----------------------------------------------------------------------------

    def meet(self) -> Contact:
        """
        Load the target, pass the gates, and find out what it declares and stores.

        Raises:
            KitUsageError: The target cannot be found, imported or built as it was asked for.

        """
        if self._loads() and self.order.side == "provider":
            for requirement in self._gates():
                self._pass_gate(requirement)
            if not self.contact.blocked:
                self._survey()
        self.contact.deaths = self.deaths
        self._dismiss()
        return self.contact

    def _gates(self) -> list[spec.Requirement]:
        return [item for item in spec.requirements().values() if item.gate]

    def _loads(self) -> bool:
        answer = self._start("")
        if answer.fate == "answered":
            return True
        if self.order.side == "host":
            raise errors.TargetDoesNotImport(
                f"--memproto-host={self.order.target}",
                f"{self._describe(answer)} while it was loaded",
                "make it import and build in a plain interpreter first",
            )
        self._book_gate([self._finding(answer, incidents.LOAD, incidents.LOAD)])
        return False

    def _pass_gate(self, requirement: spec.Requirement) -> None:
        if self.contact.blocked:
            reason = self.contact.blocked
            self.contact.results.append(Result(requirement.id, Outcome.UNTESTABLE, reason=reason))
        else:
            self._book_gate(self._decide(requirement))

    def _book_gate(self, results: list[Result]) -> None:
        self.contact.results += results
        for result in results:
            if result.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE):
                said = result.reason or result.observed
                name = result.outcome.replace("_", " ")
                self.contact.blocked = f"needs {result.id} ({name}): {said}"
                return

    def _survey(self) -> None:
        if self._process is None:
            # The last gate left a thread or changed a global: its process is not used again.
            self._serve("")
        answer = self._ask({"do": "survey", **self._place("survey")}, _OTHER_COMMANDS_S)
        found = answer.data.get("survey")
        if found is not None:
            self.contact.capabilities = found["capabilities"]
            self.contact.routes = found["routes"]
        elif answer.data.get("results"):
            self.contact.results += [Result.from_dict(item) for item in answer.data["results"]]
        elif answer.fate != "answered":
            self.contact.results += self._met(answer, "MP-CAP-003")[1:]
        else:
            self.contact.results.append(_kit_error("MP-CAP-003", answer))

    # -- one requirement --------------------------------------------------------------------------

    def run(self, requirement: spec.Requirement) -> list[Result]:
        """The result of one requirement first, then those of rules that were met on the way."""
        if requirement.gate:
            return [result for result in self.contact.results if result.id == requirement.id] or [
                Result(requirement.id, Outcome.UNTESTABLE, reason=self.contact.blocked)
            ]
        undecidable = self._undecidable(requirement)
        results = [undecidable] if undecidable else self._decide(requirement)
        return results + self._collect_late()

    def _undecidable(self, requirement: spec.Requirement) -> Result | None:
        if requirement.unchecked:
            return Result(requirement.id, Outcome.NOT_SCORED, reason=requirement.unchecked)
        binding = self.contact.binding
        if binding and requirement.side == "provider" and not requirement.applies_to(binding):
            reason = f"speaks about {requirement.binding} providers; this one is {binding}"
            return Result(requirement.id, Outcome.NOT_APPLICABLE, reason=reason)
        if self.contact.blocked:
            return Result(requirement.id, Outcome.UNTESTABLE, reason=self.contact.blocked)
        return None

    def _decide(self, requirement: spec.Requirement) -> list[Result]:
        check = clauses.checks(requirement.side).get(requirement.id)
        if check is None:
            return [
                Result(requirement.id, Outcome.KIT_ERROR, observed="the kit has no check for it")
            ]
        self._serve(requirement.area)
        answer = self._check(check)
        if answer.fate == "died":
            return self._find_owner(check, answer)
        return self._results(check, answer)

    def _check(self, check: clauses.Check) -> Answer:
        self._served.append(check.requirement)
        command = {"do": "check", "id": check.requirement, **self._place(check.requirement)}
        answer = self._ask(command, check.budget_s)
        self._after(check, answer)
        return answer

    def _results(self, check: clauses.Check, answer: Answer) -> list[Result]:
        if answer.fate == "overdue":
            reason = f"the check had not ended after {answer.took_s:.0f} s"
            return [Result(check.requirement, Outcome.INCONCLUSIVE, reason=reason)]
        if answer.fate != "answered":
            return self._met(answer, check.requirement)
        if "results" not in answer.data:
            return [_kit_error(check.requirement, answer)]
        return [Result.from_dict(item) for item in answer.data["results"]]

    def _after(self, check: clauses.Check, answer: Answer) -> None:
        """Keep the process for the next check, unless this one left something in it."""
        for operation in answer.data.get("late", ()):
            self._count_death(operation)
        process = self._process
        if answer.fate != "answered" or process is None:
            self._process = None
        elif answer.data.get("threads"):
            self._retired.append(_Retired(process, check.requirement, time.monotonic()))
            self._process = None
        elif answer.data.get("changed"):
            self._dismiss()

    # -- what is met on the way -------------------------------------------------------------------

    def _met(self, answer: Answer, requirement_id: str) -> list[Result]:
        """The open result of a check whose process was lost, and the rule that was broken."""
        operation = answer.operation
        hung_before = self.deaths.get(operation, 0) > 0 and answer.fate in ("late", "froze")
        rule = self._rule(answer, requirement_id)
        if operation:
            self._count_death(operation)
        if hung_before:
            reason = f"{self._hook(operation)} hung before in this run, and did again"
            return [Result(requirement_id, Outcome.UNTESTABLE, reason=reason)]
        finding = self._finding(answer, rule, requirement_id)
        if rule == requirement_id:
            return [finding]
        reason = f"depends on {rule}, which is violated: {finding.observed}"
        return [Result(requirement_id, Outcome.UNTESTABLE, reason=reason), finding]

    def _rule(self, answer: Answer, fallback: str) -> str:
        if answer.operation == "load":
            return incidents.LOAD
        if answer.fate == "died":
            return incidents.DIED
        if answer.fate == "froze":
            return incidents.FROZE
        return incidents.LATE.get(answer.operation, fallback)

    def _finding(self, answer: Answer, rule: str, seen_in: str) -> Result:
        hook = self._hook(answer.operation)
        stack = "; ".join(answer.stack[:4])
        expected = {
            "died": "the process goes on",
            "froze": "the other threads of the process go on running",
        }.get(answer.fate, f"{hook or 'it'} returns within {answer.budget_s:g} s")
        observed = self._describe(answer) + (f"; stopped at {stack}" if stack else "")
        where = answer.stack[0] if answer.stack else hook
        return Result(
            rule,
            Outcome.FAIL,
            expected,
            observed,
            where,
            seen_in="" if seen_in == rule else seen_in,
            stack="\n".join(answer.stack),
            duration_s=answer.took_s,
        )

    def _describe(self, answer: Answer) -> str:
        hook = self._hook(answer.operation) or "it"
        if answer.fate == "died":
            during = f"during {hook}" if answer.operation else "between two hooks"
            return f"the process ended {during} ({answer.ending})"
        if answer.fate == "froze":
            return f"{hook} held the interpreter for {answer.took_s:.1f} s and was ended"
        return f"{hook} had not returned after {answer.took_s:.1f} s and was ended"

    def _hook(self, operation: str) -> str:
        if operation in ("", "load"):
            return {"load": "the load step"}.get(operation, "")
        return hook_name(operation, self.contact.binding or "native")

    def _count_death(self, operation: str) -> None:
        self.deaths[operation] = self.deaths.get(operation, 0) + 1

    def _find_owner(self, check: clauses.Check, answer: Answer) -> list[Result]:
        """Whose doing a death is: this check's, or something that an earlier one left behind."""
        earlier = [item for item in self._served if item != check.requirement]
        if not earlier:
            return self._met(answer, check.requirement)
        self._serve("")
        again = self._check(check)
        if again.fate == "died":
            return self._met(again, check.requirement)
        results = self._results(check, again)
        owner = next((item for item in reversed(earlier) if self._dies_later(item)), "")
        note = "" if owner else "; it did not happen again when each check was run alone"
        finding = self._finding(answer, incidents.DIED, owner or check.requirement)
        return [*results, dataclasses.replace(finding, observed=finding.observed + note)]

    def _dies_later(self, requirement_id: str) -> bool:
        """Run one check alone, and watch its process for a while after it."""
        check = clauses.checks(self.order.side)[requirement_id]
        self._serve("")
        if self._check(check).fate == "died":
            return True
        process = self._process or self._retired[-1].process
        end = time.monotonic() + _LINGER_S * self.order.scale
        while process.alive and time.monotonic() < end:
            time.sleep(0.02)
        return not process.alive

    def _collect_late(self, *, wait: bool = False) -> list[Result]:
        """What became of the processes in which checks had left threads."""
        found, self._late_findings = self._late_findings, []
        for item in list(self._retired):
            end = item.since + _LINGER_S * self.order.scale
            while wait and item.process.alive and time.monotonic() < end:
                time.sleep(0.02)
            if not item.process.alive:
                found.append(self._ended_later(item))
            if not item.process.alive or time.monotonic() >= end:
                item.process.kill()
                self._retired.remove(item)
        return found

    def _ended_later(self, item: _Retired) -> Result:
        observed = f"a thread that was left running ended the process later ({item.process.ending})"
        return Result(
            incidents.DIED,
            Outcome.FAIL,
            "the process goes on after the session",
            observed,
            seen_in=item.check,
        )

    # -- processes --------------------------------------------------------------------------------

    def _serve(self, area: str) -> None:
        """Have a process that serves `area`; "" asks for a new one."""
        if self._process is not None and self._process.alive and area and area == self._area:
            return
        self._dismiss()
        self._start(area)

    def _start(self, area: str) -> Answer:
        self._area, self._served = area, []
        root = self._root / f"process-{os.getpid()}-{next(self._numbers)}"
        settings = self.order.settings
        environment = sandbox.environment(root / "load", settings.env)
        self._process = ChildProcess(root, environment, scale=self.order.scale)
        answer = self._process.ask(
            {
                "do": "load",
                "target": self.order.target,
                "factory": settings.factory,
                "side": self.order.side,
                "root": str(root / "load"),
                "env": settings.env,
                "directory": str(self.order.directory),
                "path": sandbox.search_path(self.order.directory),
            },
            _OTHER_COMMANDS_S,
        )
        self._learn(answer)
        return answer

    def _learn(self, answer: Answer) -> None:
        usage = answer.data.get("usage")
        if usage:
            self._dismiss()
            raise _usage_error(usage)
        if answer.fate != "answered":
            self._process = None
        elif "kit_error" in answer.data:
            raise RuntimeError(answer.data["kit_error"])
        else:
            self.contact.binding = answer.data["binding"]
            self.contact.origin = answer.data["origin"]

    def _ask(self, command: dict[str, Any], budget_s: float) -> Answer:
        if self._process is None:
            return Answer("died", operation="load", ending="it could not be loaded again")
        return self._process.ask(command, budget_s)

    def _place(self, name: str) -> dict[str, Any]:
        root = self._root / f"{name.lower()}-{os.getpid()}-{next(self._numbers)}"
        contact = self.contact
        return {
            "root": str(root),
            "env": self.order.settings.env,
            "salt": zlib.crc32(name.encode()) & 0xFFFF,
            "context": {
                "seed": self.order.seed,
                "profile": self.order.profile,
                "scale": self.order.scale,
                "config": self.order.settings.config,
                "capabilities": contact.capabilities,
                "routes": contact.routes,
                "deaths": self.deaths,
            },
        }

    def _dismiss(self) -> None:
        if self._process is not None:
            self._process.dismiss()
            self._process = None

    def finish(self) -> list[Result]:
        """Watch what checks left running to the end of its time; then leave no process behind."""
        found = self._collect_late(wait=True)
        self.close()
        return found

    def close(self) -> None:
        """End every process of this judge."""
        self._dismiss()
        for item in self._retired:
            item.process.kill()
        self._retired.clear()


def judge(order: Order, requirements: list[spec.Requirement] | None = None) -> list[Result]:
    """Judge a target completely in this process's children; all results, unmerged."""
    root = sandbox.new_root()
    judging = Judge(order, root)
    wanted = requirements if requirements is not None else spec.select([], order.side)
    try:
        found = list(judging.meet().results)
        for requirement in wanted:
            found += judging.run(requirement)
        return found + judging.finish()
    finally:
        judging.close()
        sandbox.remove(root)


def _kit_error(requirement_id: str, answer: Answer) -> Result:
    text = answer.data.get("kit_error", "the child gave no answer")
    return Result(requirement_id, Outcome.KIT_ERROR, observed=str(text)[-1500:])


def _usage_error(usage: list[str]) -> KitUsageError:
    kind, what, fault, fix = usage
    found = getattr(errors, kind, KitUsageError)
    error: KitUsageError = found(what, fault, fix)
    return error
