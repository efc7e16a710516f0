"""Chapter 83: stores in files that are locked, full, read-only or damaged."""

from contextlib import AbstractContextManager

from memproto.testing.clauses import Untestable, check
from memproto.testing.evidence import (
    Died,
    Differs,
    Evidence,
    Exposed,
    Late,
    NotRecalled,
    Raised,
    Recalled,
    Repeated,
    Returned,
)
from memproto.testing.facts import Fact
from memproto.testing.lifetimes import changes, store_faults, store_files
from memproto.testing.lifetimes.changes import Change
from memproto.testing.lifetimes.ends import not_lived
from memproto.testing.lifetimes.store_faults import Seen
from memproto.testing.provider import losses, routes, self_reports
from memproto.testing.provider.run import Run
from memproto.testing.scenarios import credentials, tenants
from memproto.testing.wire import show

#: Hosts in processes of their own: each loads, opens and stores.
_BUDGET_S = 300.0

_HELD = "while another process held a lock on its store"
_NO_ROOM = "while no file took a byte"
_READ_ONLY = "while nothing below its home could be written to"

#: Characters of an exception that are shown before a credential.
_SHOWN_CHARS = 60

#: Report on itself to the rule on its shape.
_SHAPES = {"status": "MP-STATUS-001", "unavailable_reason": "MP-STATUS-003"}

#: Promise of a write hook that returned, for each of these times.
_ACCEPTED = "text that is accepted {} is stored; a write that cannot be stored raises"


# -- locked ----------------------------------------------------------------------------------------


@check("MP-STORE-001", calls_alone=False, budget_s=_BUDGET_S, observation="locked")
def recall_does_not_wait_for_a_lock(run: Run) -> None:
    seen = store_faults.locked(run)
    took_s, scale = seen.took_s("recall"), run.context.scale
    if took_s is None and seen.ended.code is not None:
        not_lived(seen.ended, f"its process ended inside of recall: {seen.ended.ending}")
    if took_s is None:
        expected = f"recall returns within {store_faults.RECALL_S * scale:g} s {_HELD}"
        run.violated(
            Died(wanted=expected, ending=seen.ended.ending, own=True, lead="it never did: "),
            operation="recall",
        )
    if took_s > (store_faults.RECALL_S + store_faults.MARGIN_S) * scale:
        expected = f"recall returns within {store_faults.RECALL_S * scale:g} s {_HELD}"
        run.violated(
            Late(
                wanted=expected,
                hook="recall",
                took_s=took_s,
                budget_s=store_faults.RECALL_S * scale,
            ),
            operation="recall",
        )
    _shows_no_other(run, seen)
    _reports_well(run, seen, _HELD)


def _shows_no_other(run: Run, seen: Seen) -> None:
    """An answer that is kept for the time of a lock is that of the one who was given it."""
    boundary = tenants.finest(run)
    if seen.guest is None or boundary is None or not (answer := seen.crossed()):
        return
    run.violated(
        Recalled(
            wanted=f"nothing of another recalled for {seen.guest.called}",
            texts=(seen.facts[0].text,),
            answer=show(answer),
            tail=f", {_HELD}; it was recalled for its owner before",
        ),
        operation="recall",
        requirement=tenants.RULES[boundary],
    )


@check("MP-STORE-002", calls_alone=False, budget_s=_BUDGET_S, observation="locked")
def what_a_locked_store_accepts_is_not_lost(run: Run) -> None:
    seen = store_faults.locked(run)
    with store_files.still_opens(run, f"after writes {_HELD}"):
        if not (_lost_behind_the_lock(run, seen) or _repeated_behind_the_lock(run, seen)):
            return
        # MP-PROC-007 is about texts that hosts lose of one another which store at the same time.
        alone = store_faults.locked_in_turn(run) if seen.others else seen
        _is_kept(run, alone, alone.accepted(1), _ACCEPTED.format(_HELD))
        for other in alone.others:
            _are_made(run, other, other.changes(1), _ACCEPTED.format(_HELD))
        _are_stored_once(run, alone)


def _lost_behind_the_lock(run: Run, seen: Seen) -> bool:
    """True if a call that returned did not do what it was to do."""
    return bool(losses.lost(run, seen.accepted(1))) or any(
        _unmade(run, other, other.changes(1)) for other in seen.others
    )


def _repeated_behind_the_lock(run: Run, seen: Seen) -> list[tuple[Seen, Fact, int, int]]:
    """Texts that are shown or counted more often than one that was stored before the lock."""
    if run.declared("retention", "verbatim") != "verbatim":
        # Such a recall does not show how often a text is stored.
        return []
    found = []
    for one in (seen, *seen.others):
        before, behind = _stored_in_turn(one)
        usual = max((losses.count(run, fact) for fact in before), default=0)
        often = [(fact, losses.count(run, fact)) for fact in behind if usual]
        found += [(one, fact, times, usual) for fact, times in often if times > usual]
    return found


def _stored_in_turn(seen: Seen) -> tuple[list[Fact], list[Fact]]:
    """The texts that a host stored in the first round, and in the second."""
    first, second = (
        [change.new for name, change in seen.changes(n) if change.new and seen.is_done(name)]
        for n in (0, 1)
    )
    return [*seen.accepted(0), *first], [*seen.accepted(1), *second]


def _are_stored_once(run: Run, seen: Seen) -> None:
    """A call that returned has stored its text as often as one with a store that is well."""
    for one, fact, times, usual in _repeated_behind_the_lock(run, seen):
        if not store_faults.fails_anyway(run, one, lambda w: _repeated_behind_the_lock(run, w)):
            expected = f"text that is accepted {_HELD} is stored once"
            run.violated(
                Repeated(
                    wanted=expected,
                    text=fact.text,
                    times=times,
                    usual=usual,
                    unit="-fold",
                    lead="shown ",
                    tail=f", and one that was stored before the lock {usual}-fold",
                ),
                operation=store_files.storing(run),
            )


def _is_kept(run: Run, seen: Seen, facts: list[Fact], expected: str, how: str = "") -> None:
    """
    Owed facts are recalled in a later session, once the store is well.

    A call that costs texts in a store that is well has broken another rule.
    """
    if lost := losses.lost(run, facts):
        store_files.needs_return(run, len(facts))
        if store_faults.loses_anyway(run, seen):
            raise Untestable("a host that makes the same calls loses texts in a store that is well")
        run.violated(
            NotRecalled(
                wanted=expected, texts=tuple(fact.text for fact in lost), of=len(facts), about=how
            ),
            operation=store_files.storing(run),
        )


def _are_made(run: Run, seen: Seen, calls: list[tuple[str, Change]], expected: str) -> None:
    """A call that returned has stored what it was to store, and removed what it was to remove."""
    faults = _unmade(run, seen, calls)
    if faults and not store_faults.fails_anyway(
        run, seen, lambda well: _unmade(run, well, well.changes())
    ):
        change, fault = faults[0]
        run.violated(fault.told(wanted=expected), operation=change.operation)


def _unmade(run: Run, seen: Seen, calls: list[tuple[str, Change]]) -> list[tuple[Change, Evidence]]:
    """The calls that returned and did not do what they were to do, and what shows it."""
    done = [change for name, change in calls if seen.is_done(name)]
    new = [change.new for change in done if change.new]
    back = changes.brought(run, [*new, *(change.gone for change in done if change.gone)])
    lost = losses.lost(run, [fact for fact in new if fact not in back])
    return [
        *((c, _is_lost(c.new, f"{c.what} returned")) for c in done if c.new in lost),
        *((c, _is_there(c.gone, f"{c.what} returned")) for c in done if c.gone in back),
    ]


def _is_lost(fact: Fact, after: str) -> NotRecalled:
    return NotRecalled(texts=(fact.text,), lead=f"{after}, and ", verb="is lost")


def _is_there(fact: Fact, after: str) -> Recalled:
    return Recalled(texts=(fact.text,), lead=f"{after}, and ", tail=" is there")


@check("MP-STORE-003", calls_alone=False, budget_s=_BUDGET_S, observation="locked")
def a_store_works_again_when_the_lock_is_gone(run: Run) -> None:
    seen = store_faults.locked(run)
    _works_again(run, seen, 2, "the lock was gone")
    for other in seen.others:
        _can_be_made_again(run, other)


def _can_be_made_again(run: Run, seen: Seen) -> None:
    """A call that worked before the lock works after it."""
    (before, change), (after, _) = *seen.changes(0), *seen.changes(2)
    if seen.is_done(before) and "works not" in seen.ended.marks:
        expected = "a write works without a restart when the lock was gone"
        observed = f"{change.what}: {seen.said(after)}"
        run.violated(Differs(wanted=expected, seen=observed), operation=change.operation)
    for name, refused in seen.changes(1):
        if not seen.is_done(name) and seen.is_done("again"):
            expected = f"a write that was refused {_HELD}, and made again when it was gone, is made"
            _are_made(run, seen, [("again", refused)], expected)


def _works_again(run: Run, seen: store_faults.Seen, number: int, when: str) -> None:
    if f"storing {number}" not in seen.ended.marks:
        reason = f"the host did not come to the time after it: {seen.ended.ending}"
        not_lived(seen.ended, reason)
    if seen.said("store 0") != "done":
        raise Untestable(f"the host could not store before either: {seen.said('store 0')}")
    ended_early = "works not" not in seen.ended.marks and seen.ended.code is not None
    if "works again" not in seen.ended.marks and ended_early:
        not_lived(seen.ended, f"the host ended before it was seen to: {seen.ended.ending}")
    if "works again" not in seen.ended.marks:
        stored, recalled = seen.said(f"store {number}"), seen.said("recall")
        expected = f"a write and a recall work without a restart when {when}"
        observed = f"the last write: {stored}; the last recall: {recalled}"
        run.violated(Differs(wanted=expected, seen=observed), operation=store_files.storing(run))


@check("MP-STORE-009", calls_alone=False, budget_s=_BUDGET_S)
def initialize_does_not_wait_for_a_lock(run: Run) -> None:
    seen = store_faults.opened_locked(run)
    took_s, scale = seen.took_s("open"), run.context.scale
    if took_s is None and seen.ended.code is not None:
        not_lived(seen.ended, f"the host ended before initialize had: {seen.ended.ending}")
    if took_s is None or took_s > (store_faults.OPEN_S + store_faults.MARGIN_S) * scale:
        expected = f"initialize returns or raises within {store_faults.OPEN_S * scale:g} s {_HELD}"
        died = Died(ending=seen.ended.ending, own=True)
        budget_s = store_faults.OPEN_S * scale
        late = Late(hook="initialize", took_s=took_s, budget_s=budget_s) if took_s else died
        tail = f"; {seen.waits}" if seen.waits else ""
        run.violated(late.told(wanted=expected, tail=tail), operation="open")


# -- full ------------------------------------------------------------------------------------------


@check("MP-STORE-004", calls_alone=False, budget_s=_BUDGET_S, observation="full")
def what_a_full_disk_accepts_is_not_lost(run: Run) -> None:
    before, seen = store_faults.full(run)
    with _opens_after_a_full_disk(run):
        _is_kept(run, seen, seen.accepted(*range(1, seen.last)), _ACCEPTED.format(_NO_ROOM))
        if not losses.lost(run, before[:1]):
            # The last accepted text is still to be written when the session ends without room. One
            # that loses what it had stored is the next rule's.
            _is_kept(run, seen, seen.accepted(seen.last), _ACCEPTED.format(_NO_ROOM))
        _are_made(run, seen, seen.changes(), _ACCEPTED.format(_NO_ROOM))
    _tells_no_credential(run, seen)
    _reports_well(run, seen, _NO_ROOM)


def _reports_well(run: Run, seen: Seen, when: str) -> None:
    """A report on itself is needed just then: it has its shape, and gives no credential away."""
    for operation, fate, told in seen.reports():
        hook = run.hook(operation)
        self_reports.gives_nothing_away(
            run,
            operation,
            str(told),
            credentials.told_in(run, str(told)),
            seen.accepted(*range(len(seen.facts))),
            when=when,
            requirement="MP-STATUS-002",
        )
        requirement = _SHAPES[operation]
        if fate == "raised":
            name = told.partition(":")[0]
            fault = Raised(wanted=f"{hook} returns, {when} too", hook=hook, error=name, shown=told)
            run.violated(fault, operation=operation, requirement=requirement)
        if operation == "status":
            self_reports.fits(run, told, requirement, f", {when}")
        elif not isinstance(told, str):
            value = Returned(wanted="a str", hook=hook, value=show(told), tail=f", {when}")
            run.violated(value, operation=operation, requirement=requirement)


def _tells_no_credential(run: Run, seen: Seen) -> None:
    """The reason for which a write is refused goes to the user, and into reports."""
    for text in seen.raised():
        for key, value in credentials.told_in(run, text).items():
            run.violated(
                Exposed(
                    wanted=f"the value of config[{key!r}] in no exception",
                    hook=run.hook(routes.OPERATIONS[store_files.route(run)]),
                    place="an exception",
                    excerpt=f"...{text.partition(value)[0][-_SHOWN_CHARS:]}***",
                    lead=f"{_NO_ROOM} it raised ",
                ),
                requirement="MP-ISO-006",
            )


def _opens_after_a_full_disk(run: Run) -> AbstractContextManager[None]:
    """A store that does not open any more has lost what was stored, which MP-STORE-005 forbids."""
    return store_files.still_opens(run, f"after writes {_NO_ROOM}", requirement="MP-STORE-005")


@check("MP-STORE-005", calls_alone=False, budget_s=_BUDGET_S, observation="full")
def a_full_disk_costs_nothing_that_was_stored(run: Run) -> None:
    before, seen = store_faults.full(run)
    expected = f"text that an earlier session had stored is recalled after writes {_NO_ROOM}"
    how = f"; without room {seen.changed()}" if seen.changed() else ""
    with _opens_after_a_full_disk(run):
        _is_kept(run, seen, [*before, *seen.ready.kept], expected, how)
        _keeps_one_of_two(run, seen, expected)


def _keeps_one_of_two(run: Run, seen: Seen, expected: str) -> None:
    """A text that was to be replaced is there where the new one is not."""
    refused = [c for name, c in seen.changes() if c.new and c.gone and not seen.is_done(name)]
    for change in refused:
        assert change.new is not None
        assert change.gone is not None
        if not changes.brought(run, [change.new, change.gone]) and losses.lost(run, [change.gone]):
            run.violated(
                NotRecalled(
                    wanted=expected,
                    texts=(change.gone.text,),
                    lead=f"{change.what} did not return, and ",
                    verb="is lost",
                ),
                operation=change.operation,
            )


@check("MP-STORE-006", calls_alone=False, budget_s=_BUDGET_S, observation="full")
def a_store_works_again_when_there_is_room(run: Run) -> None:
    _, seen = store_faults.full(run)
    _works_again(run, seen, seen.last, "there was room")
    with _opens_after_a_full_disk(run):
        raised = _raised(run, seen)
        if raised and not store_faults.fails_anyway(run, seen, lambda well: _raised(run, well)):
            name, change = raised[0]
            expected = "a write works without a restart when there was room"
            observed = f"{change.what}: {seen.said(name)}"
            run.violated(Differs(wanted=expected, seen=observed), operation=change.operation)


def _raised(run: Run, seen: Seen) -> list[tuple[str, Change]]:
    """
    The calls that did not work in the second round, when the store was well.

    A call that is to take away a text which is lost has nothing to do, and may say so.
    """
    failed = [(name, change) for name, change in seen.changes(1) if not seen.is_done(name)]
    owed = [change.gone for _, change in failed if change.gone]
    lost = losses.lost(run, owed) if owed else []
    return [(name, change) for name, change in failed if change.gone not in lost]


# -- read-only -------------------------------------------------------------------------------------


@check("MP-STORE-010", calls_alone=False, budget_s=_BUDGET_S)
def what_a_read_only_store_accepts_is_not_lost(run: Run) -> None:
    seen = store_faults.read_only(run)
    with store_files.still_opens(run, f"after writes {_READ_ONLY}"):
        _is_kept(run, seen, seen.accepted(*range(len(seen.facts))), _ACCEPTED.format(_READ_ONLY))
        _are_made(run, seen, seen.changes(), _ACCEPTED.format(_READ_ONLY))
    _reports_well(run, seen, _READ_ONLY)


# -- damaged ---------------------------------------------------------------------------------------


@check("MP-STORE-007", calls_alone=False, budget_s=_BUDGET_S, observation="damaged")
def a_damaged_store_neither_hangs_nor_ends_the_process(run: Run) -> None:
    for damage in store_faults.damaged(run):
        if "over" not in damage.seen.ended.marks:
            store_faults.lives_undamaged(run)
            expected = "the provider starts or raises, and its hooks return or raise"
            run.violated(
                Died(
                    wanted=expected,
                    ending=_last_words(damage.seen),
                    own=True,
                    lead=f"{damage.what}: ",
                ),
                operation="open",
            )


def _last_words(seen: store_faults.Seen) -> str:
    trouble = seen.ended.trouble
    return seen.ended.ending + (f"; {trouble}" if trouble else "")


@check("MP-STORE-008", calls_alone=False, budget_s=_BUDGET_S, observation="damaged")
def a_damaged_file_is_kept(run: Run) -> None:
    for damage in store_faults.damaged(run):
        lived_on = "over" in damage.seen.ended.marks
        if damage.survivors and lived_on and not damage.is_kept:
            run.violated(
                NotRecalled(
                    wanted=(
                        "text that a damaged file still holds stays below the home, in it or a copy"
                    ),
                    texts=tuple(fact.text for fact in damage.survivors),
                    subject="none",
                    verb="was left",
                    lead=(
                        f"{damage.what}, and of the {len(damage.survivors)} texts in the rest "
                        "of it "
                    ),
                ),
                operation="open",
            )
