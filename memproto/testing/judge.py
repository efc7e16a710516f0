"""
One target before the kit: first contact, then check after check in child processes, to results.

Nothing here needs pytest; the plugin asks a `Judge` for one requirement at a time.
"""

import contextlib
import dataclasses
import itertools
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memproto import errors, spec
from memproto.errors import KitUsageError
from memproto.testing import aftermath, clauses, findings, incidents, sandbox, vitals
from memproto.testing.contact import Contact, Order
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.process import Answer, ChildDidNotStart, ChildProcess

_OTHER_COMMANDS_S = 90.0

#: How long threads of a check may take to end by themselves; less, once some did not.
_GRACE_S, _GRACE_AGAIN_S = 0.2, 0.05

#: First contact has a process of its own, as each chapter has.
_FIRST = "first contact"

#: What was met at first contact counts as well, whatever is selected afterwards.
SCORED_AT_CONTACT = (Outcome.FAIL, Outcome.WARN, Outcome.KIT_ERROR)


class _CannotServe(Exception):
    """No process holds the target; the result says why, as that of the rule on loading."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.observed)
        self.result = result


class Judge:
    """
    Judges one target.

    Guarantees:
        Every requirement gets a result, whatever the target does to its process.
        `close` leaves no process behind.
    Assumes:
        One caller at a time. `root` is a directory that the caller removes after `close`.
    """

    def __init__(self, order: Order, root: Path, contact: Contact | None = None) -> None:
        self.order = order
        self.contact = contact or Contact()
        self.deaths = dict(self.contact.deaths)
        self._root = Path(tempfile.mkdtemp(prefix="target-", dir=root))
        self._numbers = itertools.count(1)
        self._process: ChildProcess | None = None
        self._chapter = ""
        self._environment: Mapping[str, str] = {}
        self._served: list[str] = []
        self._shares_processes = True
        self._has_frozen = False
        self._grace_s = _GRACE_S
        self._aftermath = aftermath.Aftermath(order.scale)

    # -- first contact ----------------------------------------------------------------------------

    def meet(self) -> Contact:
        """
        Load the target, pass the gates, and find out what it declares and stores.

        Raises:
            KitUsageError: The target cannot be found, imported or built as it was asked for.

        """
        try:
            loaded = self._start(_FIRST)
            if loaded.data.get("forks") and self.order.side == "provider":
                self.contact.results.append(findings.forked())
            if self.order.side == "provider":
                self._pass_gates()
        except _CannotServe as fault:
            self._book_gate([fault.result])
        self.contact.deaths = self.deaths
        self._dismiss()
        return self.contact

    def _pass_gates(self) -> None:
        for requirement in spec.requirements().values():
            if requirement.gate and self.contact.blocked:
                reason = self.contact.blocked
                open_result = Result(requirement.id, Outcome.UNTESTABLE, reason=reason)
                self.contact.results.append(open_result)
            elif requirement.gate:
                self._book_gate(self._decide(requirement, _FIRST))
        if not self.contact.blocked:
            self._survey()

    def _book_gate(self, results: list[Result]) -> None:
        self.contact.results += results
        for result in results:
            if result.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE):
                said = result.reason or result.observed
                name = result.outcome.replace("_", " ")
                self.contact.blocked = f"needs {result.id} ({name}): {said}"
                return

    def _survey(self) -> None:
        self._serve(_FIRST)
        answer = self._ask({"do": "survey", **self._place("survey")}, _OTHER_COMMANDS_S)
        found = answer.data.get("survey")
        if found is not None:
            self.contact.capabilities = found["capabilities"]
            self.contact.routes = found["routes"]
            return
        met = self._to_results(answer, "MP-CAP-003")
        self.contact.results += [item for item in met if item.outcome in SCORED_AT_CONTACT]

    # -- one requirement --------------------------------------------------------------------------

    def run(self, requirement: spec.Requirement) -> list[Result]:
        """The result of one requirement first, then those of rules that were met on the way."""
        if requirement.gate:
            return [result for result in self.contact.results if result.id == requirement.id] or [
                Result(requirement.id, Outcome.UNTESTABLE, reason=self.contact.blocked)
            ]
        undecidable = self._undecidable(requirement)
        chapter = requirement.anchor.partition("#")[0]
        results = [undecidable] if undecidable else self._decide(requirement, chapter)
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
        if self.deaths.get("", 0) >= incidents.MOST_DEATHS:
            reason = "the process was lost between two hooks too often, and is not started any more"
            return Result(requirement.id, Outcome.UNTESTABLE, reason=reason)
        return None

    def _decide(self, requirement: spec.Requirement, chapter: str) -> list[Result]:
        check = clauses.checks(requirement.side).get(requirement.id)
        if check is None:
            said = "the kit has no check for it"
            return [Result(requirement.id, Outcome.KIT_ERROR, observed=said)]
        try:
            self._serve(chapter, check.environment)
            answer = self._check(check)
            if answer.fate == "died":
                return self._find_owner(check, answer)
        except _CannotServe as fault:
            return _depending(requirement.id, fault.result)
        return self._to_results(answer, check.requirement)

    def _check(self, check: clauses.Check) -> Answer:
        self._served.append(check.requirement)
        place = self._place(check.requirement)
        command = {"do": "check", "id": check.requirement, "grace_s": self._grace_s, **place}
        answer = self._ask(command, check.budget_s)
        for operation in answer.data.get("late", ()):
            self._count_death(operation)
        if self._process is not None and answer.data.get("threads"):
            self._aftermath.add(self._process, check.requirement)
            self._process = None
            self._grace_s = _GRACE_AGAIN_S
        elif answer.data.get("changed"):
            self._dismiss()
        return answer

    # -- what is met on the way -------------------------------------------------------------------

    def _to_results(self, answer: Answer, requirement_id: str) -> list[Result]:
        if answer.fate == "overdue":
            self._count_death("")
        if answer.fate in ("answered", "overdue"):
            return findings.results(answer, requirement_id)
        return self._met(answer, requirement_id)

    def _met(self, answer: Answer, requirement_id: str) -> list[Result]:
        """The open result of a check whose process was lost, and the rule that was broken."""
        operation = answer.operation
        hung_before = bool(operation) and self.deaths.get(operation, 0) > 0
        self._count_death(operation)
        if hung_before and answer.fate in ("late", "froze"):
            hook = findings.hook_of(operation, self.contact.binding)
            reason = f"{hook} hung before in this run, and did again"
            return [Result(requirement_id, Outcome.UNTESTABLE, reason=reason)]
        rule = self._rule(answer, requirement_id)
        return _depending(requirement_id, self._finding(answer, rule, requirement_id))

    def _rule(self, answer: Answer, requirement_id: str) -> str:
        # The rules on processes bind providers; a host breaks what is asked of it at that moment.
        if self.order.side == "host":
            return requirement_id
        return findings.rule(answer, requirement_id)

    def _finding(self, answer: Answer, rule: str, seen_in: str) -> Result:
        return findings.finding(answer, self.contact.binding, rule, seen_in)

    def _count_death(self, operation: str) -> None:
        self.deaths[operation] = self.deaths.get(operation, 0) + 1

    def _find_owner(self, check: clauses.Check, answer: Answer) -> list[Result]:
        """Whose doing a death is: this check's, or something that an earlier one left behind."""
        earlier = [item for item in self._served if item != check.requirement]
        if not earlier:
            return self._met(answer, check.requirement)
        # From now on each check has a process of its own, and this search is the only one.
        self._shares_processes = False
        self._start()
        again = self._check(check)
        if again.fate == "died":
            return self._met(again, check.requirement)
        results = self._to_results(again, check.requirement)
        owner = next((item for item in reversed(earlier) if self._dies_later(item)), "")
        note = "" if owner else "; it did not happen again when each check was run alone"
        seen_in = owner or check.requirement
        finding = self._finding(answer, self._rule(answer, seen_in), seen_in)
        return [*results, dataclasses.replace(finding, observed=finding.observed + note)]

    def _dies_later(self, requirement_id: str) -> bool:
        """Run one check alone, and watch its process for a while after it."""
        self._start()
        process = self._process
        answer = self._check(clauses.checks(self.order.side)[requirement_id])
        if answer.fate == "died" or process is None:
            return answer.fate == "died"
        linger_s = aftermath.LINGER_S * self.order.scale
        return aftermath.watch(process, time.monotonic() + linger_s)

    def _collect_late(self, *, wait: bool = False) -> list[Result]:
        """What became of the processes in which checks had left threads."""
        return [self._late(check, answer) for check, answer in self._aftermath.collect(wait=wait)]

    def _late(self, check: str, answer: Answer) -> Result:
        found = self._finding(answer, self._rule(answer, check), check)
        return dataclasses.replace(found, observed=f"{found.observed}, by what was left running")

    # -- processes --------------------------------------------------------------------------------

    def _serve(self, chapter: str, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        """Have a process for a chapter, its last one while nothing is left in it."""
        kept = self._process is not None and self._process.alive
        same = (chapter, environment) == (self._chapter, self._environment)
        if not (kept and self._shares_processes and same):
            self._environment = environment
            self._start(chapter)

    def _start(self, chapter: str = "") -> Answer:
        """
        Start a process and load the target in it.

        Raises:
            _CannotServe: The target did not load, in a way that is its own fault or the kit's.
            KitUsageError: At first contact: it cannot be loaded as it was asked for.

        """
        self._dismiss()
        self._chapter, self._served = chapter, []
        try:
            answer = self._load()
        except ChildDidNotStart as fault:
            raise _CannotServe(self._kit_error(str(fault))) from None
        if "usage" in answer.data:
            self._dismiss()
            self._refuse(answer.data["usage"])
        if answer.fate != "answered":
            self._refuse_dead(answer)
        if "binding" not in answer.data:
            self._dismiss()
            raise _CannotServe(findings.results(answer, self._load_rule())[0])
        self.contact.binding = answer.data["binding"]
        self.contact.origin = answer.data["origin"]
        return answer

    def _load(self) -> Answer:
        root = self._root / f"process-{next(self._numbers)}"
        settings = self.order.settings
        variables = {**settings.env, **self._environment}
        environment = sandbox.environment(root / "load", variables)
        frozen_s = vitals.FROZEN_AGAIN_S if self._has_frozen else vitals.FROZEN_S
        scale = self.order.scale
        self._process = ChildProcess(root, environment, scale=scale, frozen_s=frozen_s)
        command = {
            "do": "load",
            "target": self.order.target,
            "factory": settings.factory,
            "side": self.order.side,
            "scale": self.order.scale,
            "root": str(root / "load"),
            "env": variables,
            "directory": str(self.order.directory),
            "path": sandbox.search_path(self.order.directory),
        }
        return self._ask(command, _OTHER_COMMANDS_S)

    def _refuse(self, usage: list[str]) -> None:
        kind, what, fault, fix = usage
        if self.contact.binding is None:
            refusal: type[KitUsageError] = getattr(errors, kind, KitUsageError)
            raise refusal(what, fault, fix)
        observed = f"it was loaded before in this run, and then {fault}"
        expected = "the target loads each time"
        raise _CannotServe(Result(self._load_rule(), Outcome.FAIL, expected, observed))

    def _refuse_dead(self, answer: Answer) -> None:
        if self.order.side == "host" and self.contact.binding is None:
            raise errors.TargetDoesNotImport(
                f"--memproto-host={self.order.target}",
                f"{findings.described(answer, None)} while it was loaded",
                "make it import and build in a plain interpreter first",
            )
        loading = dataclasses.replace(answer, operation="load")
        raise _CannotServe(self._finding(loading, self._load_rule(), self._load_rule()))

    def _load_rule(self) -> str:
        """The rule on loading; hosts have none, and the first of theirs stands for it."""
        mine = spec.select([], self.order.side)
        return incidents.LOAD if self.order.side == "provider" else mine[0].id

    def _kit_error(self, text: str) -> Result:
        return Result(self._load_rule(), Outcome.KIT_ERROR, observed=text[-1500:])

    def _ask(self, command: dict[str, Any], budget_s: float) -> Answer:
        assert self._process is not None
        answer = self._process.ask(command, budget_s)
        if answer.fate != "answered":
            self._process = None
        self._has_frozen |= answer.fate == "froze"
        return answer

    def _place(self, name: str) -> dict[str, Any]:
        root = self._root / f"{name.lower()}-{next(self._numbers)}"
        contact = self.contact
        return {
            "root": str(root),
            "env": {**self.order.settings.env, **self._environment},
            "salt": zlib.crc32(name.encode()) & 0xFFFF,
            "context": {
                "seed": self.order.seed,
                "profile": self.order.profile,
                "scale": self.order.scale,
                "slowdown": self.order.slowdown,
                "config": self.order.settings.config,
                "capabilities": contact.capabilities,
                "routes": contact.routes,
                "deaths": self.deaths,
            },
        }

    def _dismiss(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def finish(self) -> list[Result]:
        """Watch what checks left running to the end of its time; then leave no process behind."""
        found = self._collect_late(wait=True)
        self.close()
        return found

    def close(self) -> None:
        """End every process of this judge, and what those started and disowned."""
        self._dismiss()
        self._aftermath.close()
        vitals.end_strays(self._root)


def _depending(requirement_id: str, result: Result) -> list[Result]:
    """The result, and before it the open one of a requirement that another rule stands before."""
    if result.id == requirement_id:
        return [result]
    state = "violated" if result.outcome is Outcome.FAIL else result.outcome.replace("_", " ")
    reason = f"depends on {result.id}, which is {state}: {result.observed or result.reason}"
    return [Result(requirement_id, Outcome.UNTESTABLE, reason=reason), result]


@contextlib.contextmanager
def _judging(order: Order) -> Iterator[Judge]:
    root = sandbox.new_root()
    judging = Judge(order, root)
    try:
        yield judging
    finally:
        judging.close()
        sandbox.remove(root)


def judge(order: Order, requirements: list[spec.Requirement] | None = None) -> list[Result]:
    """Judge a target completely in this process's children; all results, unmerged."""
    wanted = requirements if requirements is not None else spec.select([], order.side)
    with _judging(order) as judging:
        found = list(judging.meet().results)
        for requirement in wanted:
            found += judging.run(requirement)
        return found + judging.finish()
