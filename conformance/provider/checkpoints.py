"""Chapter 73: a compression that waits until the memory has the messages."""

import copy

from memproto.testing import snapshots
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.extended import needs_promise
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.snapshots import Messages
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show

#: More than any model takes, and than a provider has to.
_REFUSED_CHARS = 2_000_000


def _needs_checkpoint(run: Run) -> None:
    needs_promise(run, "checkpoint")
    if run.declared("retention", "verbatim") == "selective":
        reason = "retention is selective: nothing is certain to be kept"
        raise Untestable(f"{reason}; needs: a `config` under which it keeps everything")


@check("MP-CHECK-001")
def a_compression_that_returned_is_stored(run: Run) -> None:
    _needs_checkpoint(run)
    early, late = run.facts.several(3), run.facts.several(2)
    with run.session() as subject:
        for count, facts in enumerate((early, late), start=1):
            if not _stored(subject, snapshots.talk(*facts), count):
                reason = f"{run.hook('compress')} refused an ordinary conversation"
                raise Untestable(f"{reason}; needs: a `config` under which it does not")
    _all_come_back(run, [*early, *late], "of two compressions of one session")


def _stored(subject: Subject, messages: Messages, count: int) -> bool:
    """Whether the compression returned; False for a report that it is refused."""
    try:
        subject.compress(messages, count)
    except HookRaised as failure:
        if not failure.is_report:
            raise
        return False
    return True


def _all_come_back(run: Run, facts: list[Fact], which: str) -> None:
    if lost := run.lost(facts):
        run.violated(
            f"what the user said in the messages {which}, recalled after a new start",
            f"{run.hook('compress')} returned, and {len(lost)} of {len(facts)} texts did not come "
            f"back: {lost[0].text!r}",
        )


@check("MP-CHECK-002")
def only_a_report_stops_the_compressor(run: Run) -> None:
    needs_promise(run, "checkpoint")
    with run.session() as subject:
        lists = snapshots.of(run)
        for count, (which, messages) in enumerate(lists.items(), start=1):
            try:
                subject.compress(copy.deepcopy(messages), count)
            except HookRaised as failure:
                if failure.ends_process:
                    raise
                if not failure.is_report:
                    run.violated(
                        f"{run.hook('compress')} returns, or raises an error of memproto.errors",
                        f"it raised {show(failure.error)} for {which}",
                    )


@check("MP-CHECK-003")
def a_refusal_is_not_for_ever(run: Run) -> None:
    _needs_checkpoint(run)
    facts = run.facts.several(2)
    with run.session() as subject:
        if _stored(subject, [snapshots.plain("user", "a " * (_REFUSED_CHARS // 2))], 1):
            raise NotApplicable("nothing is refused")
        if not _stored(subject, snapshots.talk(*facts), 2):
            run.violated(
                "an ordinary conversation stored after a compression that was refused",
                f"{run.hook('compress')} refused it too",
            )
    if run.lost(facts):
        _is_stored_otherwise(run)
        _all_come_back(run, facts, "after a compression that was refused")


def _is_stored_otherwise(run: Run) -> None:
    """See that the loss has to do with the refusal."""
    facts = run.facts.several(2)
    with run.session() as subject:
        kept = _stored(subject, snapshots.talk(*facts), 1)
    if not kept or run.lost(facts):
        raise Untestable("an ordinary conversation is not stored without a refusal either")
