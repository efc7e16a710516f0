"""Chapter 83: stores in files that are locked, full, read-only or damaged."""

from memproto.testing import losses, storedamage, storefaults, storefiles
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run

#: Hosts in processes of their own: each loads, opens and stores.
_BUDGET_S = 300.0

_HELD = "while another process held a lock on its store"
_NO_ROOM = "while no file took a byte"
_READ_ONLY = "while nothing below its home could be written to"

#: What a write hook that returned has promised, for each of these times.
_ACCEPTED = "what is accepted {} is stored; what cannot be stored raises"


# -- locked ----------------------------------------------------------------------------------------


@check("MP-STORE-001", budget_s=_BUDGET_S)
def recall_does_not_wait_for_a_lock(run: Run) -> None:
    seen = storefaults.locked(run)
    took_s, scale = seen.took_s("recall"), run.context.scale
    if took_s is None:
        raise Untestable(f"recall had not returned when its process ended: {seen.ended.ending}")
    if took_s > (storefaults.RECALL_S + storefaults.MARGIN_S) * scale:
        expected = f"recall returns within {storefaults.RECALL_S * scale:g} s {_HELD}"
        run.violated(expected, f"it returned after {took_s:.1f} s", operation="recall")


@check("MP-STORE-002", budget_s=_BUDGET_S)
def what_a_locked_store_accepts_is_not_lost(run: Run) -> None:
    _is_kept(run, storefaults.locked(run).accepted(1), _ACCEPTED.format(_HELD))


def _is_kept(run: Run, facts: list[Fact], expected: str) -> None:
    """What is owed is recalled in a later session, once the store is well."""
    if lost := losses.lost(run, facts):
        storefiles.needs_return(run, len(facts))
        observed = f"{len(lost)} of {len(facts)} did not come back: {lost[0].text!r}"
        run.violated(expected, observed, operation=storefiles.storing(run))


@check("MP-STORE-003", budget_s=_BUDGET_S)
def a_store_works_again_when_the_lock_is_gone(run: Run) -> None:
    _works_again(run, storefaults.locked(run), 2, "the lock was gone")


def _works_again(run: Run, seen: storefaults.Seen, number: int, when: str) -> None:
    if f"storing {number}" not in seen.ended.marks:
        reason = f"the host did not come to the time after it: {seen.ended.ending}"
        raise Untestable(f"{reason}; {seen.ended.errors.strip()[-300:]}")
    if seen.said("store 0") != "done":
        raise Untestable(f"the host could not store before either: {seen.said('store 0')}")
    ended_early = "works not" not in seen.ended.marks and seen.ended.code is not None
    if "works again" not in seen.ended.marks and ended_early:
        raise Untestable(f"the host ended before it was seen to: {seen.ended.ending}")
    if "works again" not in seen.ended.marks:
        stored, recalled = seen.said(f"store {number}"), seen.said("recall")
        expected = f"a write and a recall work without a restart when {when}"
        observed = f"the last write: {stored}; the last recall: {recalled}"
        run.violated(expected, observed, operation=storefiles.storing(run))


@check("MP-STORE-009", budget_s=_BUDGET_S)
def initialize_does_not_wait_for_a_lock(run: Run) -> None:
    seen = storefaults.opened_locked(run)
    took_s, scale = seen.took_s("open"), run.context.scale
    if took_s is None and seen.ended.code is not None:
        raise Untestable(f"the host ended before initialize had: {seen.ended.ending}")
    if took_s is None or took_s > (storefaults.OPEN_S + storefaults.MARGIN_S) * scale:
        expected = f"initialize returns or raises within {storefaults.OPEN_S * scale:g} s {_HELD}"
        told = f"it returned after {took_s:.1f} s" if took_s else seen.ended.ending
        run.violated(expected, told, operation="open")


# -- full ------------------------------------------------------------------------------------------


@check("MP-STORE-004", budget_s=_BUDGET_S)
def what_a_full_disk_accepts_is_not_lost(run: Run) -> None:
    _, seen = storefaults.full(run)
    _is_kept(run, seen.accepted(*range(1, seen.last)), _ACCEPTED.format(_NO_ROOM))


@check("MP-STORE-005", budget_s=_BUDGET_S)
def a_full_disk_costs_nothing_that_was_stored(run: Run) -> None:
    before, _ = storefaults.full(run)
    expected = f"what an earlier session had stored is recalled after writes {_NO_ROOM}"
    _is_kept(run, before, expected)


@check("MP-STORE-006", budget_s=_BUDGET_S)
def a_store_works_again_when_there_is_room(run: Run) -> None:
    _, seen = storefaults.full(run)
    _works_again(run, seen, seen.last, "there was room")


# -- read-only -------------------------------------------------------------------------------------


@check("MP-STORE-010", budget_s=_BUDGET_S)
def what_a_read_only_store_accepts_is_not_lost(run: Run) -> None:
    seen = storefaults.read_only(run)
    _is_kept(run, seen.accepted(*range(len(seen.facts))), _ACCEPTED.format(_READ_ONLY))


# -- damaged ---------------------------------------------------------------------------------------


@check("MP-STORE-007", budget_s=_BUDGET_S)
def a_damaged_store_neither_hangs_nor_ends_the_process(run: Run) -> None:
    for damage in storedamage.damaged(run):
        if "over" not in damage.seen.ended.marks:
            storedamage.lives_undamaged(run)
            expected = "the provider starts or raises, and its hooks return or raise"
            observed = f"{damage.what}: {_last_words(damage.seen)}"
            run.violated(expected, observed, operation="open")


def _last_words(seen: storefaults.Seen) -> str:
    trouble = seen.ended.trouble
    return seen.ended.ending + (f"; {trouble}" if trouble else "")


@check("MP-STORE-008", budget_s=_BUDGET_S)
def a_damaged_file_is_kept(run: Run) -> None:
    for damage in storedamage.damaged(run):
        lived_on = "over" in damage.seen.ended.marks
        if damage.survivors and lived_on and not damage.is_kept:
            run.violated(
                "what a damaged file still holds stays below the home, in it or in a copy",
                f"{damage.what}, and of the {len(damage.survivors)} texts in the rest of it"
                " none was left",
                operation="open",
            )
