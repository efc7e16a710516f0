"""Chapter 57: users, sessions and profiles that are open at the same time."""

import dataclasses
from collections.abc import Callable

from memproto.testing import routes, tenants
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.tenants import Boundary, Reader, Tenant
from memproto.testing.together import together

#: How many facts each of two stores by turns, and how many at the same time as the other.
_BY_TURNS, _AT_ONCE = 2, 6

#: So often a loss is looked for with nothing beside it.
_TRIES = 3


@check("MP-TENANT-003", budget_s=180.0)
def tenants_at_the_same_time_do_not_cross(run: Run) -> None:
    route = run.needs_route(*routes.ROUTES)
    refusals, tried = [], False
    for boundary in _several_at_a_time(run):
        try:
            kept = tenants.keeps(run, boundary, tenants.pair(run, boundary, "-alone"), route)
            if kept:
                if boundary == "profile":
                    _one_home_beside_another(run, route)
                _Beside(run, _pair_in_two_sessions(run, boundary), route).live()
            tried |= kept
        except tenants.Refused as reason:
            refusals.append(reason)
    if not tried:
        raise refusals[0] if refusals else NotApplicable("no two ids are kept apart on one home")


def _several_at_a_time(run: Run) -> list[Boundary]:
    """The boundaries of which two sides may be open at once."""
    one_home: list[Boundary] = ["user", "session"]
    if run.declared("single_writer", default=False):
        one_home = []
    return ["profile", *one_home] if run.binding.own_homes else one_home


def _one_home_beside_another(run: Run, route: str) -> None:
    """Leave to MP-ISO-001 what it finds: a home that shows what is stored in one beside it."""
    fact, (one, other) = run.facts.new(), tenants.pair(run, "profile", "-beside")
    with one.opened(run) as first, other.opened(run) as second:
        run.plant(first, fact, route)
        if fact.is_in(routes.recalled(second, fact.query)):
            raise Untestable(f"{other.called} shows what {one.called} is told; see MP-ISO-001")


def _pair_in_two_sessions(run: Run, boundary: Boundary) -> list[Tenant]:
    """No host has one session open twice at a time, whoever its users are."""
    pair = tenants.pair(run, boundary)
    if boundary != "user":
        return pair
    return [dataclasses.replace(t, session=f"{t.session}-{n}") for n, t in enumerate(pair)]


class _Beside:
    """Two instances that are open at the same time, and what each of them is told."""

    def __init__(self, run: Run, pair: list[Tenant], route: str) -> None:
        self._run = run
        self._pair = pair
        self._route = route
        self._reader = Reader(run)
        self._facts = [run.facts.several(_BY_TURNS + _AT_ONCE) for _ in pair]

    def live(self) -> None:
        """Use both by turns and then at once, and ask each for its own and for the other's."""
        with self._pair[0].opened(self._run) as one, self._pair[1].opened(self._run) as other:
            both = (one, other)
            for number in range(_BY_TURNS):
                self._exchange(both, number)
            raised = together(self._conversation(0, one), self._conversation(1, other))
        for side in (0, 1):
            self._look_at(side, raised[side])
        lost = [self._reader.lacks(*row) for row in zip(self._pair, self._facts, strict=True)]
        for guest, tenant in enumerate(self._pair):
            with tenant.opened(self._run) as subject:
                self._gets_nothing(guest, subject, self._facts[1 - guest])
        for side in (0, 1):
            if lost[side]:
                self._is_lost(side, lost[side])

    def _exchange(self, both: tuple[Subject, Subject], number: int) -> None:
        for side, subject in enumerate(both):
            self._run.plant(subject, self._facts[side][number], self._route)
        for side, subject in enumerate(both):
            self._gets_nothing(side, subject, [self._facts[1 - side][number]])

    def _conversation(self, side: int, subject: Subject) -> Callable[[], None]:
        def speak() -> None:
            own, foreign = (self._facts[i][_BY_TURNS:] for i in (side, 1 - side))
            for fact, asked in zip(own, foreign, strict=True):
                self._run.plant(subject, fact, self._route)
                self._gets_nothing(side, subject, [asked])

        return speak

    def _gets_nothing(self, guest: int, subject: Subject, facts: list[Fact]) -> None:
        called, owner = self._pair[guest].called, self._pair[1 - guest].called
        for fact in facts:
            if self._reader.finds(subject, fact):
                recall = self._run.hook("recall")
                self._run.violated(
                    f"nothing for {called} of what is stored for {owner} while both are open, "
                    "as one after the other",
                    f"{recall} for {called} gives {fact.text!r}, which was stored for {owner}",
                    operation="recall",
                )

    def _look_at(self, side: int, raised: BaseException | None) -> None:
        """Raise again what a conversation raised, if it does not when it is held alone."""
        if raised is None:
            return
        if isinstance(raised, HookRaised) and self._fails_alone(self._pair[side]):
            raise Untestable(f"with one session alone on another thread as well: {raised}")
        raise raised

    def _fails_alone(self, tenant: Tenant) -> bool:
        """Whether the same number of facts is lost, or a hook raises, with nothing beside it."""
        facts = self._run.facts.several(_BY_TURNS + _AT_ONCE)
        with tenant.opened(self._run) as subject:
            for fact in facts[:_BY_TURNS]:
                self._run.plant(subject, fact, self._route)
            raised = together(lambda: self._plant_all(subject, facts[_BY_TURNS:]))
        return raised != [None] or bool(self._reader.lacks(tenant, facts))

    def _plant_all(self, subject: Subject, facts: list[Fact]) -> None:
        for fact in facts:
            self._run.plant(subject, fact, self._route)

    def _is_lost(self, side: int, lost: list[Fact]) -> None:
        tenant, facts = self._pair[side], self._facts[side]
        # Where rank decides what comes back, one try may lack some and the next one none.
        if any(self._fails_alone(tenant) for _ in range(_TRIES)):
            raise Untestable(f"of {len(facts)} facts of one session alone some are lost as well")
        self._run.violated(
            f"what is stored for {tenant.called} while {self._pair[1 - side].called} is open, "
            "recalled as what is stored while it is not",
            f"{len(lost)} of {len(facts)} did not come back: {lost[0].text!r}",
            operation=routes.OPERATIONS[self._route],
        )
