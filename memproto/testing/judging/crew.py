"""
Several judges of one target that check side by side.

The one who leads makes first contact and has the last word. The others, each in a thread and with
processes of its own, check ahead, the longest first. A result is given in the order in which it is
asked for. One that the leader could have come to in another way, had it checked one after the
other, is no result: the leader checks again, alone if need be.

If hooks wait, single checks are handed out. If they do not, each call is cheap and a process is
what costs, so all checks that share one are handed out together; see `wholes`.
"""

import collections
import dataclasses
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from memproto import spec
from memproto.testing import incidents, noise
from memproto.testing.judging.children import Abandoned
from memproto.testing.judging.forecast import SLOW_S, Forecast, makespan_s
from memproto.testing.judging.judge import Judge
from memproto.testing.judging.units import Ahead, Unit, by_check, by_process, joined
from memproto.testing.judging.wholes import Made, Wholes, checked_in
from memproto.testing.outcomes import Result
from memproto.testing.processes import room
from memproto.testing.settings.order import Contact, Order

#: More do not make a verdict faster: the longest check decides.
MOST = 16

#: A target that computes for more of its hooks' time than this has no use for more than the cores.
_MOST_COMPUTING = 0.5

#: So many results that are not green are seen again alone before the rest of them is believed.
_SEEN_AGAIN = 3

#: Lanes for a target whose hooks do not wait: one more than there are processors, since checks of
#: processes wait for these. More make a verdict no faster, since the longest unit and the start
#: decide.
_MOST_WHOLE = 3

#: A machine that computes so many times slower than alone has no processor to spare.
_BUSY = 1.5

#: Times that a check is put back because the backend asked for a pause.
_PUT_BACK = 2

#: A check is taken before a longer one if it is of the process's chapter and at least so long.
_NEARLY = 0.5

#: Seconds between two looks if something is over that nothing tells.
_TICK_S = 0.05


@dataclasses.dataclass(frozen=True)
class Plan:
    """
    The way in which a target is judged.

    Attributes:
        lanes: Number of checks at the same time.
        checks: Number of checks for which a process is needed.
        wait_s: Seconds that a call of a hook takes.
        lasts_s: Seconds that all will take, as far as can be told.
        is_whole: True if checks that share a process are handed out together.

    """

    lanes: int
    checks: int
    wait_s: float
    lasts_s: float
    is_whole: bool


class Crew:
    """
    The judges of one target, in the place of one.

    Guarantees:
        Each requirement gets the results that it gets from one judge alone, in the order asked.
        `close` leaves no process and no thread behind.
    Assumes:
        One caller at a time. `root` is a directory that the caller removes after `close`.

    Attributes:
        plan: The way in which it is judged; None for one check after the other.

    """

    def __init__(self, order: Order, root: Path, contact: Contact | None = None) -> None:
        self.lead = Judge(order, root, contact)
        self.plan: Plan | None = None
        self._root = root
        self._lanes: list[_Lane] = []
        self._units: collections.deque[Unit] = collections.deque()
        self._wholes = Wholes()
        self._history = self.lead.history
        #: By requirement and part.
        self._ahead: dict[str, dict[int, Ahead]] = collections.defaultdict(dict)
        self._parts: dict[str, int] = {}
        self._put_back: collections.Counter[tuple[str, int]] = collections.Counter()
        self._changed = threading.Condition()
        self._fault: BaseException | None = None
        self._allowed = self._running = 0
        self._not_before = 0.0
        self._is_over = False
        self._given: set[str] = set()
        self._late: list[Result] = []
        self._seen_again = 0

    @property
    def order(self) -> Order:
        """The order of the one who leads."""
        return self.lead.order

    @property
    def contact(self) -> Contact:
        """The findings of first contact."""
        return self.lead.contact

    def meet(self, wanted: Iterable[spec.Requirement] | None = None) -> Contact:
        """Make first contact; blocks, and raises, as `Judge.meet` does."""
        return self.lead.meet(wanted)

    def hide(self, text: str) -> str:
        """A text without the credentials of the target."""
        return self.lead.hide(text)

    # -- planning ---------------------------------------------------------------------------------

    def prepare(self, wanted: Iterable[spec.Requirement]) -> Plan | None:
        """
        Decide how many checks run at a time, for requirements that will be asked for in this order.

        Gives the plan, or None where one check runs after the other. No process is started yet.
        """
        forecast = Forecast(self.contact.pace, self._extensions())
        open_ = [item for item in wanted if not self.lead.is_ruled_out(item)]
        is_whole = self._takes_wholes(forecast)
        units = (by_process if is_whole else by_check)(open_, forecast)
        lanes = min(
            self._wished(forecast, open_), len(units), room.lanes(self.contact.pace.held_mb)
        )
        if lanes < 2:
            return None
        made_s = makespan_s((unit.takes_s for unit in units), lanes)
        computed_s = forecast.computed_s(open_, len(units), self.order.slowdown) / noise.cores()
        # Some lanes compute while the others wait.
        lasts_s = max(made_s, computed_s)
        self.plan = Plan(lanes, len(open_), forecast.wait_s, lasts_s, is_whole)
        self._units.extend(units)
        if is_whole:
            self._wholes, self._history = Wholes(units), self.lead.history
        self._parts = {item.id: unit.part[1] for unit in units for item in unit.requirements}
        return self.plan

    def _extensions(self) -> Sequence[str] | None:
        """Those that the target declares, if its declaration is a list of them."""
        declared = self.contact.capabilities.get("extensions", [])
        return declared if isinstance(declared, list) else None

    def _takes_wholes(self, forecast: Forecast) -> bool:
        """True if a check that is made again costs little: no time to speak of, and no money."""
        return forecast.wait_s < SLOW_S and self.order.settings.max_hook_calls is None

    def _wished(self, forecast: Forecast, wanted: list[spec.Requirement]) -> int:
        """The number of lanes that would be best for it, if there is room."""
        settings = self.order.settings
        if self.order.side == "host" or self.order.workers > 1 or self.contact.blocked:
            return 1
        if settings.max_hook_calls is not None:
            # It must not depend on who comes first which check is refused a call.
            left = settings.max_hook_calls - self.contact.spent
            return (settings.parallel or 1) if left > 2 * forecast.calls(wanted) else 1
        if settings.parallel is not None:
            return settings.parallel
        if forecast.wait_s < SLOW_S:
            is_free = noise.cores() > 1 and self.order.slowdown < _BUSY
            return min(_MOST_WHOLE, noise.cores() + 1) if is_free else 1
        # Other programs of the machine make the hooks longer, and not what they compute.
        if forecast.computes * self.order.slowdown > _MOST_COMPUTING:
            return min(MOST, noise.cores())
        return MOST

    # -- checking ahead ---------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start the lanes; each judge knows what first contact found, and keeps it to itself."""
        assert self.plan is not None
        # The leader makes a whole unit again if anything in it is red, and writes the script.
        replay = "" if self.plan.is_whole else self.order.replay
        shared = dataclasses.replace(self.order, workers=self.plan.lanes, replay=replay)
        self._allowed = self.plan.lanes
        # The next process starts when all that first contact has started and disowned is ended.
        self.lead.leave()
        self.lead.beside = tuple(self._parts)
        for number in range(self.plan.lanes):
            contact = Contact.from_dict(self.contact.as_dict())
            judge = Judge(shared, self._root, contact, owner=self.lead.owner)
            judge.beside = self.lead.beside
            self._lanes.append(_Lane(judge, threading.Thread(target=self._work, args=(number,))))
        for lane in self._lanes:
            lane.thread.name, lane.thread.daemon = "kit-lane", True
            lane.thread.start()

    def _work(self, number: int) -> None:
        lane, late = self._lanes[number], []
        try:
            unit = self._next(None)
            while unit is not None:
                if unit.is_whole:
                    self._check_whole(lane, unit)
                else:
                    self._check(lane.judge, unit)
                unit = self._next(unit)
            late = self._take_in(lane, lane.judge.finish())
        except Abandoned:
            pass
        except BaseException as error:
            with self._changed:
                self._fault = self._fault or error
                self._changed.notify_all()
        finally:
            lane.judge.close()
            with self._changed:
                self._late += late
                self._changed.notify_all()

    def _next(self, done: Unit | None) -> Unit | None:
        """The next unit for a lane that has done one; None for no more. Blocks in a pause."""
        with self._changed:
            if done is not None:
                self._running -= 1
                self._changed.notify_all()
            while not self._is_over and self._fault is None:
                if not self._units:
                    return None
                pause_s = self._not_before - time.monotonic()
                if self._running < self._allowed and pause_s <= 0:
                    self._running += 1
                    return self._taken(done.chapter if done else "")
                self._changed.wait(pause_s if pause_s > 0 else None)
            return None

    def _taken(self, chapter: str) -> Unit:
        """The longest unit, or one that is nearly as long and needs no other process."""
        longest = self._units[0]
        for unit in self._units:
            if unit.is_whole or unit.takes_s < _NEARLY * longest.takes_s:
                break
            if unit.chapter == chapter:
                longest = unit
                break
        self._units.remove(longest)
        return longest

    def _check(self, judge: Judge, unit: Unit) -> None:
        for requirement in unit.requirements:
            with self._changed:
                if self._is_over:
                    raise Abandoned
                before = self._losses()
                judge.deaths.clear()
                judge.deaths.update(before)
            results = judge.run(requirement, unit.part)
            lost = {name: n - before.get(name, 0) for name, n in judge.deaths.items()}
            ahead = Ahead(
                results,
                _withdrawn(before),
                {name: count for name, count in lost.items() if count},
                is_limited=judge.limited_s > 0 and not incidents.makes_fail(requirement.id),
            )
            self._note(requirement, unit, ahead, judge.limited_s)

    def _check_whole(self, lane: "_Lane", unit: Unit) -> None:
        """Check a unit as far as it is believed; the leader makes the rest, and all before it."""
        judge, made = lane.judge, Made(unit)
        known, started = set(judge.contact.outward), len(judge.starters)
        try:
            made.is_clean = self._is_clean(judge, made)
        except Exception:
            # A fault of the settings, or the kit's own: the leader meets it in its place.
            made.is_lasting = True
        made.is_lasting |= judge.history != self._history
        if not made.is_clean:
            judge.drop()
        tried = judge.contact.outward.items()
        made.outward = {address: who for address, who in tried if address not in known}
        made.starters, made.limited_s = judge.starters[started:], judge.limited_s
        lane.watched.append(made)
        self._take_in(lane, made.elsewhere)

    def _take_in(self, lane: "_Lane", late: list[Result]) -> list[Result]:
        """
        Have units known in which no process can be lost any more; what was lost makes them unclean.

        Gives the results that are of none of them.
        """
        found = {checked_in(item) for item in late}
        with self._changed:
            for made in lane.watched:
                made.is_clean &= not made.unit.ids & found
                if not (made.is_clean and made.unit.ids & lane.judge.watched):
                    self._take(made)
            lane.watched = [made for made in lane.watched if self._wholes.is_open(made.unit)]
            self._changed.notify_all()
        return [item for item in late if self._wholes.of(checked_in(item)) is None]

    def _take(self, made: Made) -> None:
        self._wholes.take(made)
        if not made.is_clean:
            self._not_before = max(self._not_before, time.monotonic() + made.limited_s)
        if made.is_lasting or self._wholes.doubted >= _SEEN_AGAIN:
            # To check more ahead would be in vain, or is not worth its while.
            self._wholes.give_up(self._units)
            self._units.clear()

    def _is_clean(self, judge: Judge, made: Made) -> bool:
        for requirement in made.unit.requirements:
            if self._is_over:
                raise Abandoned
            is_green = made.note(judge.run(requirement), requirement.id)
            if not is_green or judge.history != self._history:
                return False
        is_green = made.note(judge.leave(lingers=made.unit.is_last))
        return is_green and judge.history == self._history

    def _losses(self) -> dict[str, int]:
        """The hangs and deaths that are known by now, of checks that are not given yet as well."""
        found = collections.Counter(self.lead.deaths)
        for name in self._ahead.keys() - self._given:
            for ahead in self._ahead[name].values():
                found.update(ahead.lost)
        return dict(found)

    def _note(
        self, requirement: spec.Requirement, unit: Unit, ahead: Ahead, limited_s: float
    ) -> None:
        with self._changed:
            if ahead.is_limited and ahead.outcomes:
                # Fewer callers, after the pause that the backend has asked for.
                self._allowed = max(1, self._allowed // 2)
                self._not_before = max(self._not_before, time.monotonic() + limited_s)
                if self._put_back[requirement.id, unit.part[0]] < _PUT_BACK:
                    self._put_back[requirement.id, unit.part[0]] += 1
                    self._units.append(dataclasses.replace(unit, requirements=(requirement,)))
                    self._changed.notify_all()
                    return
            self._ahead[requirement.id][unit.part[0]] = ahead
            self._changed.notify_all()

    # -- one requirement --------------------------------------------------------------------------

    def run(self, requirement: spec.Requirement) -> list[Result]:
        """
        The results of one requirement, as `Judge.run` gives them.

        Raises:
            KitUsageError: The settings do not work.

        """
        if requirement.id not in self._parts:
            return self.lead.run(requirement)
        if not self._lanes:
            self._begin()
        if (unit := self._wholes.of(requirement.id)) is not None:
            results = self._of_whole(requirement, unit)
        else:
            results = self._settled(requirement, self._awaited(requirement))
        with self._changed:
            self._given.add(requirement.id)
            mine = [item for item in results if self._is_of_given(item)]
            self._late += [item for item in results if not self._is_of_given(item)]
            waited = [item for item in self._late if self._is_of_given(item)]
            self._late = [item for item in self._late if not self._is_of_given(item)]
        return mine + waited

    def _of_whole(self, requirement: spec.Requirement, unit: Unit) -> list[Result]:
        """The results of a unit as they were found ahead if all of it is believed."""
        with self._changed:
            while self._wholes.is_open(unit):
                if self._fault is not None:
                    raise self._fault
                self._changed.wait()
            is_unchanged = self.lead.history == self._history
            is_believed = self._wholes.is_believed(unit, is_unchanged=is_unchanged)
        if not is_believed:
            return self._by_leader(requirement)
        made = self._wholes.made(unit)
        if requirement.id != unit.name:
            return made.results[requirement.id]
        self.lead.starters += made.starters
        for address, who in made.outward.items():
            self.contact.outward.setdefault(address, who)
        # The process of a unit that the leader has checked would end here as well.
        return [*made.results[requirement.id], *self.lead.leave()]

    def _is_of_given(self, result: Result) -> bool:
        """True if the check that a result is of was asked for, or is none that was made ahead."""
        check = checked_in(result)
        return check in self._given or check not in self._parts

    def _awaited(self, requirement: spec.Requirement) -> Ahead:
        with self._changed:
            found = self._ahead[requirement.id]
            while len(found) < self._parts[requirement.id]:
                if self._fault is not None:
                    raise self._fault
                self._changed.wait()
            return joined(requirement.id, [found[number] for number in sorted(found)])

    def _settled(self, requirement: spec.Requirement, ahead: Ahead) -> list[Result]:
        """The results as they are if the leader comes to the same, else those of the leader."""
        if self._is_stale(ahead) or ahead.is_unpaid or ahead.is_mixed:
            return self._by_leader(requirement)
        if self._is_doubtful(ahead):
            results = self._by_leader(requirement)
            again = dataclasses.replace(ahead, results=results)
            # Once one was not seen again, none is believed any more.
            self._seen_again += 1 if again.outcomes == ahead.outcomes else -len(self._parts)
            return results
        with self._changed:
            for name, count in ahead.lost.items():
                self.lead.deaths[name] = self.lead.deaths.get(name, 0) + count
            self._given.add(requirement.id)
        return ahead.results

    def _is_stale(self, ahead: Ahead) -> bool:
        """True if another hook was withdrawn by now than in the check that was made ahead."""
        withdrawn = _withdrawn(self.lead.deaths)
        if ahead.withdrawn - withdrawn:
            return True
        new = withdrawn - ahead.withdrawn
        is_ended = bool(ahead.lost)
        return bool(new) and (is_ended or "" in new or bool(new & ahead.called))

    def _is_doubtful(self, ahead: Ahead) -> bool:
        """True if company may have made the result what it is."""
        if not ahead.outcomes or self.order.settings.max_hook_calls is not None:
            return False
        return ahead.is_limited or (self._seen_again < _SEEN_AGAIN and bool(ahead.called))

    def _by_leader(self, requirement: spec.Requirement) -> list[Result]:
        """Check when no other check runs."""
        with self._changed:
            while self._units or self._running:
                if self._fault is not None:
                    raise self._fault
                self._changed.wait()
            pause_s = self._not_before - time.monotonic()
        if pause_s > 0:
            time.sleep(pause_s)
        mine = self.lead.spent
        self.lead.spent += sum(lane.judge.spent for lane in self._lanes)
        others = self.lead.spent - mine
        try:
            return self.lead.run(requirement)
        finally:
            self.lead.spent -= others

    # -- the end ----------------------------------------------------------------------------------

    def finish(self) -> list[Result]:
        """
        Watch what checks left running to the end of its time; then leave no process behind.

        Results that were found ahead and never asked for are dropped.
        """
        with self._changed:
            if self._units or self._running:
                self._is_over = True
        self._end_lanes()
        for lane in self._lanes if self.plan and not self.plan.is_whole else ():
            self.contact.outward.update(lane.judge.contact.outward)
        if self._fault is not None:
            self.lead.close()
            raise self._fault
        return [item for item in self._late if self._is_of_given(item)] + self.lead.finish()

    def _end_lanes(self) -> None:
        for lane in self._lanes:
            while lane.thread.is_alive():
                if self._is_over:
                    with self._changed:
                        self._changed.notify_all()
                    lane.judge.abandon()
                lane.thread.join(_TICK_S)

    def close(self) -> None:
        """End every process and every thread."""
        self._is_over = True
        self._end_lanes()
        self.lead.close()


@dataclasses.dataclass
class _Lane:
    """A judge that checks ahead, and its thread."""

    judge: Judge
    thread: threading.Thread
    #: Units that it has checked, of which a process may yet be lost.
    watched: list[Made] = dataclasses.field(default_factory=list)


def _withdrawn(deaths: dict[str, int]) -> frozenset[str]:
    """Operations that are not called any more; "" stands for checks that need a session."""
    found = {name for name, n in deaths.items() if name and n >= incidents.MOST_DEATHS}
    return frozenset(found | ({""} if deaths.get("", 0) >= incidents.MOST_LOST else set()))
