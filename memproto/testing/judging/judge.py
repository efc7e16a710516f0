"""
One target before the kit: first contact, then check after check in child processes, to results.

Nothing here needs pytest; the plugin asks a `Judge` for one requirement at a time.
"""

import contextlib
import dataclasses
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from memproto import spec
from memproto.testing import clauses, incidents, spread
from memproto.testing.evidence import Froze, Late, NotRecalled
from memproto.testing.instruments import swallowed
from memproto.testing.judging import (
    applicability,
    attribution,
    events,
    fates,
    redaction,
    replays,
    watchdog,
)
from memproto.testing.judging.attribution import attribute, depending
from memproto.testing.judging.children import OTHER_COMMANDS_S, CannotServe, Children
from memproto.testing.judging.forecast import SLOW_S, Forecast
from memproto.testing.messages import Loaded, SecretsNamed, Surveyed, Timed
from memproto.testing.needs import DependsOn
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes import roots, service, vitals
from memproto.testing.processes.answer import Answer
from memproto.testing.processes.commands import Check, NameSecrets, Nothing, TakeSurvey, TimeHooks
from memproto.testing.settings.order import Contact, Order

#: Seconds that threads of a check may take to end by themselves; less, once some did not.
_GRACE_S, _GRACE_AGAIN_S = 0.2, 0.05

#: Times that a check is run again if the machine let nothing be decided.
_TIMES_AGAIN = 2

_RED = (Outcome.FAIL, Outcome.WARN)

#: The outcomes by which a check says that it did not decide.
_UNDECIDED = (Outcome.INCONCLUSIVE, Outcome.UNTESTABLE)

#: Of a slow target a check may take so many times as long as such a check does.
_MORE_CALLS = 2.0

#: A check that took longer is not run again to see what it takes.
_LONG_S = 5.0

#: Gate outcome if the provider reports itself unavailable.
_LACKING = Outcome.UNTESTABLE

#: If these fail, instances still build but no session starts.
_STARTS = (incidents.RAISED["open"], incidents.RAISED["declare"])

#: First contact has a process of its own, as each chapter has.
_FIRST = "first contact"

#: Faults that were met at first contact count as well, whatever is selected afterwards.
SCORED_AT_CONTACT = (Outcome.FAIL, Outcome.WARN, Outcome.KIT_ERROR)


class Judge:
    """
    Judges one target.

    Guarantees:
        Every requirement gets a result, whatever the target does to its process.
        `close` leaves no process behind.
    Assumes:
        One caller at a time. `root` is a directory that the caller removes after `close`.
    """

    def __init__(
        self, order: Order, root: Path, contact: Contact | None = None, *, owner: str = ""
    ) -> None:
        """`owner` is the one whose credentials its processes get; "" for this judge itself."""
        self.order = order
        self.contact = contact or Contact()
        self.deaths = dict(self.contact.deaths)
        self._root = Path(tempfile.mkdtemp(prefix="target-", dir=root))
        self.owner = owner or str(self._root)
        self._children = Children(order, self.contact, self.deaths, self._root, self.owner)
        self._service = service.Service(order.settings, order.directory, self._root, order.scale)
        self._outlet = redaction.Outlet(order, self.contact, self._root)
        self._scripts = replays.Scripts(order, self.contact, self._root, self._outlet.text)
        self._stuck: set[str] = set()
        self._grace_s = _GRACE_S
        self._part = (0, 1)
        self._forecast: Forecast | None = None
        self._was_refused = False
        #: The longest time after which a hook asked to be called again, in the last requirement.
        self.limited_s = 0.0
        #: The checks for which processes were started, in this order.
        self.starters: list[str] = []
        #: The requirements that a crew checks at the same time, in processes of other judges.
        self.beside: tuple[str, ...] = ()
        self._aftermath = watchdog.Aftermath(order.scale)

    # -- first contact ----------------------------------------------------------------------------

    def meet(self, wanted: Iterable[spec.Requirement] | None = None) -> Contact:
        """
        Load the target, pass the gates, and find out what it declares and stores.

        The last is left out if `wanted` are all requirements to come and none depends on it.

        Raises:
            KitUsageError: The target cannot be found, imported or built as it was asked for, or
                the settings name something that does not work.

        """
        if self.order.settings.service:
            self.contact.service = self._service.start()
        try:
            loaded = self._first_start()
            self.contact.pace.loaded_s = loaded.took_s
            self._refuse_declares()
            forks = isinstance(loaded.reply, Loaded) and loaded.reply.forks
            if forks and self.order.side == "provider":
                self.contact.results += attribute(events.Forked(check=incidents.LOAD))
            if self.order.side == "provider":
                self._learn_secrets()
                self._pass_gates(is_known_enough=self._are_unconditional(wanted))
        except CannotServe as fault:
            self._book_gate([fault.result])
        self.contact.deaths = self.deaths
        self.contact.results = self._outlet(self.contact.results)
        for result in self.contact.results:
            spread.add_calls(self.contact.pace.hooks, result.hooks)
        # The gates were checked before the pace was known.
        self._forecast = None
        self.contact.spent = self._children.spent
        self._children.dismiss()
        return self.contact

    def _first_start(self) -> Answer:
        """Start the first process; the checks are imported here while it imports them there."""
        importing = threading.Thread(target=clauses.checks, args=(self.order.side,), daemon=True)
        importing.start()
        try:
            return self._children.start(_FIRST)
        finally:
            importing.join()

    def _refuse_declares(self) -> None:
        """Have a provider that can declare do it by itself."""
        settings = self.order.settings
        binding = self.contact.binding
        if settings.declares and self.order.side == "provider" and binding and binding.can_declare:
            fault = f"is for providers that cannot declare, and this one is {binding.name}"
            raise settings.fault("declares", fault, "return it from capabilities()")

    def _learn_secrets(self) -> None:
        """Ask which values are credentials by the provider's schema, whatever their names."""
        settings, yielded = self.order.settings, self.contact.service
        if not (settings.env or settings.config or any(map(yielded.get, ("env", "config")))):
            return
        command = NameSecrets(self._children.place("secrets"))
        reply = self._children.ask(command, OTHER_COMMANDS_S).reply
        named = reply.names if isinstance(reply, SecretsNamed) else ()
        self.contact.secrets = sorted({*named} - {""})
        # Its hook may have left anything in the process.
        self._children.dismiss()

    def _are_unconditional(self, wanted: Iterable[spec.Requirement] | None) -> bool:
        """True if the checks of all of them open no session and concern every provider."""
        checks, binding = clauses.checks(self.order.side), self.contact.binding
        return wanted is not None and all(
            item.gate
            or item.id not in checks
            or not (checks[item.id].conditions or checks[item.id].needs_session(binding))
            for item in wanted
        )

    def _pass_gates(self, *, is_known_enough: bool) -> None:
        for requirement in spec.requirements().values():
            if not requirement.gate or not requirement.is_in(self.order.release):
                continue
            if self.contact.blocked:
                self.contact.results += self._blocked(requirement)
            else:
                self._book_gate(self._decide(requirement, _FIRST), requirement.id)
        if is_known_enough:
            return
        if not self.contact.blocked or self.contact.sessionless:
            self._survey()
            self._time_hooks()

    def _book_gate(self, results: list[Result], gate: str = "") -> None:
        self.contact.results += results
        for result in results:
            if result.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE):
                said = result.reason or result.observed
                name = result.outcome.replace("_", " ")
                self.contact.blocked = f"needs {result.id} ({name}): {said}"
                self.contact.blocked_needs = (DependsOn(result.id, name), *result.needs)
                # If a fault stands in the way, it is among the results.
                is_lacking = results == [result] and result.outcome is _LACKING
                self.contact.sessionless = is_lacking or gate in _STARTS
                return

    def _survey(self) -> None:
        answer = self._look(session=not self.contact.sessionless)
        if self._has_found(answer):
            return
        if meddling := fates.meddling(answer, incidents.MEDDLED):
            self.contact.results += attribute(meddling)
            self._children.dismiss()
        met = self._to_results(answer, spec.role("stores"))
        self.contact.results += [item for item in met if item.outcome in SCORED_AT_CONTACT]
        if self.contact.binding is not None and not self.contact.binding.can_declare:
            # Its hooks show its extensions, whatever became of a session.
            with contextlib.suppress(CannotServe):
                self._has_found(self._look(session=False))

    def _look(self, *, session: bool) -> Answer:
        self._children.serve(_FIRST)
        command = TakeSurvey(self._children.place("survey"), session)
        answer = self._children.ask(command, OTHER_COMMANDS_S)
        self._children.clean()
        return answer

    def _time_hooks(self) -> None:
        """
        Have the hooks called that most checks call, if no survey has done it.

        Each call may cost money. A hook that hangs has rules of its own, and is waited for there.
        """
        is_known = "recall" in self.contact.pace.hooks
        if is_known or self.contact.blocked or self.order.settings.max_hook_calls is not None:
            return
        place = self._children.place("time")
        hurried = dict.fromkeys(incidents.BUDGETS_S, 1)
        place = dataclasses.replace(
            place, context=dataclasses.replace(place.context, deaths=hurried)
        )
        with contextlib.suppress(CannotServe):
            self._children.serve(_FIRST)
            answer = self._children.ask(TimeHooks(place), OTHER_COMMANDS_S)
            if isinstance(answer.reply, Timed):
                self._note_pace(answer.reply)
            elif answer.fate == "late":
                took_s = answer.took_s
                spread.add_calls(self.contact.pace.hooks, {answer.operation: [1, took_s, took_s]})
            self._children.clean()

    def _note_pace(self, timed: Timed) -> None:
        pace = self.contact.pace
        spread.add_calls(pace.hooks, timed.hooks)
        pace.hooks_s += sum(all_s for _, _, all_s in timed.hooks.values())
        pace.computed_s += timed.computed_s
        if (process := self._children.process) is not None:
            pace.held_mb = process.held_mb()

    def _has_found(self, answer: Answer) -> bool:
        if not isinstance(answer.reply, Surveyed):
            return False
        self._note_pace(answer.reply.timed)
        found, contact = answer.reply.found, self.contact
        contact.capabilities, contact.routes = found.capabilities, found.routes
        contact.asking, contact.manner, contact.logged = found.asking, found.manner, found.logged
        return True

    # -- one requirement --------------------------------------------------------------------------

    def run(self, requirement: spec.Requirement, part: tuple[int, int] = (0, 1)) -> list[Result]:
        """
        The result of one requirement first, then those of rules that were met on the way.

        `part` is the number of the part that is checked, and how many there are.
        """
        self._part = part
        if not requirement.is_in(self.order.release):
            return self._outlet(attribute(events.NotInRelease(check=requirement.id)))
        if requirement.gate:
            found = [result for result in self.contact.results if result.id == requirement.id]
            return found or self._outlet(self._blocked(requirement))
        self.limited_s = 0.0
        before = self._look_back()
        foreseen = self._undecidable(requirement) or self._foreseen(requirement)
        chapter = requirement.anchor.partition("#")[0]
        results = attribute(foreseen) if foreseen else self._decide(requirement, chapter)
        return self._outlet(self._known(requirement, [*results, *self._collect_late(), *before]))

    def _known(self, requirement: spec.Requirement, results: list[Result]) -> list[Result]:
        """
        The results, if those of other rules are of rules that wait for them; an error of ours else.

        A result that is told at the end of a rule's own check must not be contradicted later.
        """
        waiting = attribution.found_elsewhere(self.order.side)
        for result in results:
            if result.id not in (requirement.id, *waiting):
                said = f"{result.id} was found violated in its check, and does not wait for others"
                return attribute(events.KitFailed(check=requirement.id, text=said))
        return results

    @property
    def history(self) -> tuple[object, ...]:
        """The events by which later checks come out otherwise; equal if they are the same."""
        losses = tuple(sorted(self.deaths.items()))
        stuck = frozenset(self._stuck)
        return (losses, stuck, self._children.shares, self._children.has_frozen, self._was_refused)

    @property
    def watched(self) -> set[str]:
        """The checks of which a process may yet be lost, since they left threads in it."""
        return self._aftermath.checks

    def leave(self, *, lingers: bool = False) -> list[Result]:
        """
        End the process of the checks so far, as the next chapter would; the findings of its end.

        `lingers` waits first for what it started, as the end of a run does.
        """
        if lingers:
            self._children.wait_for_helpers(watchdog.LINGER_S * self.order.scale)
        found = self._look_back()
        self._children.leave()
        return self._outlet(found) if found else []

    def drop(self) -> None:
        """End the process of the checks so far, whatever became of it."""
        self._children.leave()

    def is_ruled_out(self, requirement: spec.Requirement) -> bool:
        """True if no process is needed to decide a requirement, by all that is known so far."""
        if requirement.gate or not requirement.is_in(self.order.release):
            return True
        return bool(self._undecidable(requirement) or self._foreseen(requirement))

    def _undecidable(self, requirement: spec.Requirement) -> events.Event | None:
        check = requirement.id
        if requirement.unchecked:
            return events.Unchecked(check=check, reason=requirement.unchecked)
        binding = self.contact.binding
        if binding and requirement.side == "provider" and not requirement.applies_to(binding):
            wanted = requirement.binding
            return events.OtherBinding(check=check, wanted=wanted, binding=binding.name)
        if binding and (why := binding.out_of_reach.get(check, "")):
            return events.NotConcerned(check=check, reason=why)
        if self.contact.blocked and (
            not self.contact.sessionless or self._needs_session(requirement)
        ):
            return self._gate(requirement)
        if self._is_lost_often() and self._needs_session(requirement):
            return events.LostTooOften(check=check)
        return None

    def _gate(self, requirement: spec.Requirement) -> events.GateClosed:
        reason, needs = self.contact.blocked, self.contact.blocked_needs
        return events.GateClosed(check=requirement.id, reason=reason, needs=needs)

    def _blocked(self, requirement: spec.Requirement) -> list[Result]:
        """The open result of a requirement that a gate stands before."""
        return attribute(self._gate(requirement))

    def _is_lost_often(self) -> bool:
        return self.deaths.get("", 0) >= incidents.MOST_LOST

    def _needs_session(self, requirement: spec.Requirement) -> bool:
        """True if the requirement needs a session of the provider that begins, and ends well."""
        check = clauses.checks(requirement.side).get(requirement.id)
        return check is None or check.needs_session(self.contact.binding)

    def _foreseen(self, requirement: spec.Requirement) -> events.Event | None:
        check = clauses.checks(requirement.side).get(requirement.id)
        if check is None:
            return None
        why = applicability.unmet(check, self.order, self.contact)
        return events.NotConcerned(check=check.requirement, reason=why) if why else None

    def _decide(
        self, requirement: spec.Requirement, chapter: str, *, is_last: bool = False
    ) -> list[Result]:
        """
        The results of a requirement by its check.

        `is_last` is for the second try after a process that a busy machine did not bring as far as
        the target.
        """
        check = clauses.checks(requirement.side).get(requirement.id)
        if check is None:
            said = "the kit has no check for it"
            return attribute(events.KitFailed(check=requirement.id, text=said))
        started = self._children.started
        try:
            for again in range(_TIMES_AGAIN + 1):
                self._children.serve(f"{chapter}{check.apart}", check.environment)
                self._note_start(requirement.id, started)
                earlier = tuple(self._children.served)
                answer = self._check(check, patient=again > 0)
                if again == _TIMES_AGAIN or not self._is_for_the_machine(check, answer, again):
                    break
            self._count_late(answer, check.requirement)
            if answer.fate == "died":
                return self._find_owner(check, answer)
        except CannotServe as fault:
            if _is_of_the_machine(fault) and not is_last:
                return self._decide(requirement, chapter, is_last=True)
            return self._not_served(requirement.id, fault.result)
        if meddling := fates.meddling(answer, check.requirement):
            self._children.dismiss()
            return attribute(meddling)
        found = self._scripts.attached(self._to_results(answer, check.requirement), answer)
        found = self._with_history(check, answer, found, earlier)
        found = [self._with_least(check, item) for item in found]
        return self._with_swallowed(check, answer, found)

    def _note_start(self, requirement_id: str, started: int) -> None:
        if self._children.started > started:
            self.starters.append(requirement_id)

    def _not_served(self, requirement_id: str, result: Result) -> list[Result]:
        """
        A target that loaded before, and does not any more: it takes as many starts to see it.

        If the machine kept the process from it, the target loaded before all the same: the check
        alone is open.
        """
        if result.outcome is Outcome.INCONCLUSIVE:
            return [dataclasses.replace(result, id=requirement_id, seen_in="")]
        self._was_refused = True
        # Processes of a crew are starts as well, and how many there were depends on all its checks.
        known = dict.fromkeys((*self.starters, *self.beside))
        if len(set(self.starters)) < len(self.starters):
            # A check that the machine made late had two starts: only a whole run is sure to have
            # as many on a machine that is quiet.
            known.update(dict.fromkeys(clauses.checks(self.order.side)))
        earlier = tuple(item for item in known if item != requirement_id)
        if result.outcome is Outcome.FAIL and result.id != requirement_id:
            result = dataclasses.replace(result, seen_in=requirement_id, after=earlier)
        return depending(requirement_id, result)

    def _with_history(
        self, check: clauses.Check, answer: Answer, found: list[Result], earlier: tuple[str, ...]
    ) -> list[Result]:
        """The results with the checks that had to run before them in their process, if any had."""
        red = {item.id for item in found if item.outcome in (Outcome.FAIL, Outcome.WARN)}
        if not (red and earlier and self._may_repeat(answer)):
            return found
        again = {item.id for item in self._repeated(check) if item.outcome in SCORED_AT_CONTACT}
        after = earlier if red - again else ()
        return [
            dataclasses.replace(item, after=after) if item.id in red - again else item
            for item in found
        ]

    def _may_repeat(self, answer: Answer) -> bool:
        """True if running a check again costs little, and can show the same."""
        is_free = self.order.settings.max_hook_calls is None
        return (
            is_free
            and answer.fate == "answered"
            and not answer.judged.late
            and (answer.took_s < _LONG_S * self.order.scale)
        )

    def _with_least(self, check: clauses.Check, result: Result) -> Result:
        """
        The result; of a hook that hung with a long text, with the least one of which it hangs too.

        Nobody can take text away from a call that does not return: the check is made again in
        another process, with texts that grow.
        """
        seen, is_free = result.evidence, self.order.settings.max_hook_calls is None
        if not (isinstance(seen, Late | Froze) and result.outcome in _RED):
            return result
        if seen.given_chars < incidents.LONG_CHARS or not (check.grows and is_free):
            return result
        again = [
            item.evidence.given_chars
            for item in self._repeated(check, grows=True)
            if item.id == result.id and isinstance(item.evidence, Late | Froze)
        ]
        least = min(filter(None, again), default=seen.given_chars)
        if least >= seen.given_chars:
            return result
        return dataclasses.replace(result, evidence=dataclasses.replace(seen, least_chars=least))

    def _with_swallowed(
        self, check: clauses.Check, answer: Answer, found: list[Result]
    ) -> list[Result]:
        """
        The results; of a text that was lost, with an exception that the target told nobody.

        If hearing of it costs time in each call, the check is made again for it alone.
        """
        lost = {item.id for item in found if _is_unexplained(item)}
        if not lost or swallowed.IS_CHEAP or not self._may_repeat(answer):
            return found
        again = {item.id: item for item in self._repeated(check, traces=True)}
        return [
            dataclasses.replace(item, swallowed=again[item.id].swallowed, silenced=True)
            if item.id in lost and item.id in again and again[item.id].silenced
            else item
            for item in found
        ]

    def _repeated(
        self, check: clauses.Check, *, grows: bool = False, traces: bool = False
    ) -> list[Result]:
        """
        The findings of a check in a process of its own; of no account to the verdict.

        If texts grow, a hook that hung is waited for as if it had not.
        """
        known = dict(self.deaths)
        if grows:
            self.deaths.clear()
        try:
            self._children.start_again()
            answer = self._check(check, grows=grows, traces=traces)
            return self._to_results(answer, check.requirement)
        except CannotServe:
            return []
        finally:
            self.deaths.clear()
            self.deaths.update(known)

    def _is_for_the_machine(self, check: clauses.Check, answer: Answer, again: int) -> bool:
        """
        True if a check met something undecided on a busy machine, so that it is run again.

        A hook that the machine made late, or that was not waited for its whole time, proves nothing
        about the provider, and neither does a check that did not come to its end. Each is tried
        again with the whole time; where the machine is quiet it was no reason. One that did not
        return at all is tried again once: it may hang, and each time costs its whole time.
        """
        if self.order.settings.max_hook_calls is not None:
            # Each call costs money, whatever it shows.
            return False
        if answer.fate == "answered":
            # A finding beside it stands, and would be lost.
            found = [item.outcome for item in fates.results(answer, check.requirement)]
            is_open = len(found) == 1 and found[0] in _UNDECIDED
            return is_open and bool(answer.judged.excused)
        if answer.fate not in ("late", "overdue") or again:
            return False
        is_first = not self.deaths.get(answer.operation)
        binding, scale = self.contact.binding, self.order.scale
        of_host = binding.budgets_s if binding else {}
        is_cut = incidents.is_cut(answer.operation, answer.budget_s, scale, of_host)
        return (is_first or is_cut) and bool(answer.excuse)

    def _count_late(self, answer: Answer, requirement_id: str) -> None:
        for operation in answer.judged.late:
            self._count_death(operation, seen_in=requirement_id)

    def _check(
        self,
        check: clauses.Check,
        *,
        patient: bool = False,
        grows: bool = False,
        traces: bool = False,
    ) -> Answer:
        service.assert_runs(self.contact.service, self.order.settings)
        self._children.served.append(check.requirement)
        # A backend that fails may use all of the time that a hook has.
        patient = patient or incidents.makes_fail(check.requirement)
        place = self._children.place(
            check.requirement, patient=patient, stuck=self._stuck, part=self._part, grows=grows
        )
        command = Check(place, check.requirement, self._grace_s, traces)
        answer = self._children.ask(command, check.budget_s + self._waiting_s(check))
        self.limited_s = max(self.limited_s, answer.judged.limited_s)
        service.assert_runs(self.contact.service, self.order.settings)
        if answer.judged.threads and (process := self._children.take()) is not None:
            self._aftermath.add(process, check.requirement)
            self._grace_s = _GRACE_AGAIN_S
            return answer
        self._children.clean()
        if answer.judged.changed:
            self._children.dismiss()
        return answer

    def _waiting_s(self, check: clauses.Check) -> float:
        """Further seconds for a check of hooks that wait, however many of its calls there are."""
        # Its averages are over the calls of all checks, too many for each of them.
        forecast = self._forecast = self._forecast or Forecast(self.contact.pace)
        if forecast.wait_s < SLOW_S:
            return 0.0
        return _MORE_CALLS * forecast.check_s(spec.requirement(check.requirement))

    # -- what is met on the way -------------------------------------------------------------------

    def _to_results(self, answer: Answer, requirement_id: str) -> list[Result]:
        if answer.fate == "overdue":
            self._count_death("", incidents.STUCK)
        if answer.fate in ("answered", "overdue"):
            return fates.results(answer, requirement_id)
        return self._met(answer, requirement_id)

    def _met(self, answer: Answer, requirement_id: str) -> list[Result]:
        """The results of a check whose process was lost; its loss is counted."""
        operation = answer.operation
        is_known = bool(operation) and self.deaths.get(operation, 0) > 0
        cost = incidents.cost(operation, answer.fate)
        self._count_death(operation, cost, seen_in=requirement_id)
        binding, side = self.contact.binding, self.order.side
        return attribute(fates.lost(answer, requirement_id, binding, side, is_known=is_known))

    def _met_afterwards(
        self, answer: Answer, check: str, tail: str, after: tuple[str, ...] = ()
    ) -> Result:
        """The finding of a process that was lost behind the end of the check."""
        binding, side = self.contact.binding, self.order.side
        lost = fates.lost_afterwards(answer, check, binding, side, tail=tail, after=after)
        (result,) = attribute(lost)
        return result

    def _count_death(self, operation: str, count: int = 1, seen_in: str = "") -> None:
        self.deaths[operation] = self.deaths.get(operation, 0) + count
        if incidents.makes_fail(seen_in):
            self._stuck.add(operation)

    def _find_owner(self, check: clauses.Check, answer: Answer) -> list[Result]:
        """Finds the check that a death is due to: this one, or what an earlier one left behind."""
        earlier = [item for item in self._children.served if item != check.requirement]
        if not earlier:
            return self._met(answer, check.requirement)
        # From now on each check has a process of its own, and this search is the only one.
        self._children.shares = False
        self._children.start()
        again = self._check(check)
        self._count_late(again, check.requirement)
        if again.fate == "died":
            return self._met(again, check.requirement)
        results = self._to_results(again, check.requirement)
        return [*results, self._owned(answer, earlier, check.requirement)]

    def _owned(self, answer: Answer, earlier: list[str], last: str) -> Result:
        """A death as the doing of the check after which one comes again, or of all together."""
        owner = next((item for item in reversed(earlier) if self._dies_later(item)), "")
        note = "" if owner else "; it did not happen again when each check was run alone"
        seen_in = owner or last
        after = () if owner else tuple(item for item in earlier if item != last)
        return self._met_afterwards(answer, seen_in, note, after)

    def _look_back(self) -> list[Result]:
        """Judges a process that ended by itself after its last check, and finds the reason."""
        process, served = self._children.process, list(self._children.served)
        if process is None or process.alive or not served:
            return []
        answer = self._children.ask(Nothing(), OTHER_COMMANDS_S)
        if answer.fate != "died":
            return []
        self._children.shares = False
        try:
            return [self._owned(answer, served, served[-1])]
        except CannotServe as fault:
            if _is_of_the_machine(fault):
                # The search was cut short, and the death was seen.
                note = "; a busy machine kept the kit from finding the check that it is due to"
                return [self._met_afterwards(answer, served[-1], note, tuple(served[:-1]))]
            return [fault.result]

    def _dies_later(self, requirement_id: str) -> bool:
        """Run one check alone, and watch its process for a while after it."""
        self._children.start()
        process = self._children.process
        answer = self._check(clauses.checks(self.order.side)[requirement_id])
        self._count_late(answer, requirement_id)
        if answer.fate == "died" or process is None:
            return answer.fate == "died"
        linger_s = watchdog.LINGER_S * self.order.scale
        return watchdog.watch(process, time.monotonic() + linger_s)

    def _collect_late(self, *, wait: bool = False) -> list[Result]:
        """The fate of the processes in which checks had left threads."""
        lost = self._aftermath.collect(wait=wait)
        tail = ", by what was left running"
        return [self._met_afterwards(answer, check, tail) for check, answer in lost]

    # -- the end ----------------------------------------------------------------------------------

    def hide(self, text: str) -> str:
        """A text without the credentials of the target."""
        return self._outlet.hiding()(text)

    def told(self, text: str) -> str:
        """A text without the credentials of the target and the places of this machine."""
        return self._outlet.text(text)

    def finish(self) -> list[Result]:
        """Watch what checks left running to the end of its time; then leave no process behind."""
        found = self._collect_late(wait=True)
        self._children.wait_for_helpers(watchdog.LINGER_S * self.order.scale)
        found += self._look_back()
        with contextlib.suppress(CannotServe):
            self._children.finish()
        self.close()
        return self._outlet(found)

    @property
    def spent(self) -> int:
        """Number of hook calls that this judge made, if the settings set a limit."""
        return self._children.spent

    @spent.setter
    def spent(self, calls: int) -> None:
        self._children.spent = calls

    def abandon(self) -> None:
        """Have the thread that judges come to its end soon, by `Abandoned`; from another thread."""
        self._children.abandon()

    def close(self) -> None:
        """End every process of this judge, and what those started and disowned."""
        self._children.dismiss()
        self._aftermath.close()
        self._service.stop()
        vitals.end_strays(self._root)


def _is_of_the_machine(fault: CannotServe) -> bool:
    """True if a busy machine kept a process from the target."""
    return fault.result.outcome is Outcome.INCONCLUSIVE


def _is_unexplained(result: Result) -> bool:
    """True if a text was lost, and no exception is known that was swallowed."""
    is_lost = isinstance(result.evidence, NotRecalled) and result.outcome in _RED
    return is_lost and not result.swallowed


@contextlib.contextmanager
def _judging(order: Order) -> Iterator[Judge]:
    root = roots.new_root()
    judging = Judge(order, root)
    try:
        yield judging
    finally:
        judging.close()
        roots.remove(root)


def judge(order: Order, requirements: list[spec.Requirement] | None = None) -> list[Result]:
    """Judge a target completely in this process's children; all results, unmerged."""
    wanted = requirements if requirements is not None else spec.select([], order.side)
    with _judging(order) as judging:
        found = list(judging.meet().results)
        for requirement in wanted:
            found += judging.run(requirement)
        return found + judging.finish()
