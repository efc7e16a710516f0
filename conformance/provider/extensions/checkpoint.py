"""Chapter 73: a compression that waits until the memory has the messages."""

import copy
import itertools
import threading

from memproto.testing.clauses import Lost, NotApplicable, Untestable, check
from memproto.testing.evidence import Differs, NotRecalled, Raised
from memproto.testing.facts import Fact
from memproto.testing.lifetimes import store_faults, store_files
from memproto.testing.needs import NO_REFUSAL
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import beginnings, conversations, switches
from memproto.testing.scenarios.conversations import Messages

#: Number of exchanges that follow in a long conversation.
_SMALL_TALK = 100

#: Seconds for which a lock is held; a wait for it that is longer ends well.
_LOCKED_S = 8.0

#: More than any model takes, and than a provider has to.
_REFUSED_CHARS = 2_000_000


@check("MP-CHECK-001", extension="checkpoint")
def a_compression_that_returned_is_stored(run: Run) -> None:
    early, late = run.facts.several(3), run.facts.several(2)
    with run.session() as subject:
        for count, facts in enumerate((early, late), start=1):
            _must_be_stored(run, subject, facts, count)
    _all_come_back(run, [*early, *late], "of two compressions of one session")
    _behind_one_head(run)
    _after_a_switch(run)
    _of_a_long_conversation(run)
    _alike(run)


def _behind_one_head(run: Run) -> None:
    """A host protects the first messages: they stand before those of each compression."""
    head = [
        conversations.plain("user", "Please keep the log of the harbour."),
        conversations.plain("assistant", "I keep it."),
    ]
    facts = run.facts.several(3)
    with run.session() as subject:
        for count, fact in enumerate(facts, start=1):
            if not _stored(subject, [*head, *conversations.talk(fact)], count):
                return
    _all_come_back(run, facts, "of three compressions that begin with the same messages")


def _after_a_switch(run: Run) -> None:
    """The compressions of a session are counted anew, and the instance may be in its second."""
    before, facts, told = run.facts.several(3), run.facts.several(2), run.facts.new()
    route = next(filter(run.serves, routes.ROUTES), "")
    # Of sessions that are kept apart, the one is asked later that is switched to.
    asked, left = run.session_key(), f"{run.session_key()}-left"
    with run.session(session=left) as subject:
        if not subject.has("switch"):
            return
        for count, fact in enumerate(before, start=1):
            _must_be_stored(run, subject, [fact], count)
        switches.NEW.make(subject, "", asked)
        run.freshness.config = {**run.freshness.config, "session_key": asked}
        is_told = bool(route) and routes.accepts(subject, route, told.text)
        if not _stored(subject, conversations.talk(*facts), 1):
            return
    if is_told and losses.lost(run, [told]):
        return  # MP-SESS-009 sees what no route stores in the session that is switched to.
    _all_come_back(run, facts, "of the first compression behind a switch of session")


def _alike(run: Run) -> None:
    """Messages that are alike but for what is said, each in a compression of its own."""
    counts = itertools.count(1)

    def is_taken(subject: Subject, text: str) -> bool:
        said = [conversations.plain("user", text), conversations.plain("assistant", "I see.")]
        return _stored(subject, said, next(counts))

    if lost := beginnings.lost(run, is_taken, run.own_home("alike")):
        wanted = "each of the user's messages recalled that are alike for the rest"
        run.violated(lost.told(wanted=wanted, lead=f"{run.hook('compress')} returned, and "))


def _of_a_long_conversation(run: Run) -> None:
    """The user's words stand at its beginning; what follows is small talk."""
    facts, small_talk = run.facts.several(2), []
    for number in range(_SMALL_TALK):
        small_talk += [
            conversations.plain("user", f"Is lamp {number} lit?"),
            conversations.plain("assistant", "It is lit."),
        ]
    with run.session() as subject:
        if not _stored(subject, [*conversations.talk(*facts), *small_talk], 1):
            return
    _all_come_back(run, facts, f"of a conversation of {2 * _SMALL_TALK} messages more")


def _must_be_stored(run: Run, subject: Subject, facts: list[Fact], count: int) -> None:
    if not _stored(subject, conversations.talk(*facts), count):
        reason = f"{run.hook('compress')} refused an ordinary conversation"
        raise Untestable(reason, NO_REFUSAL)


def _stored(subject: Subject, messages: Messages, count: int) -> bool:
    """True if the compression returned; False for a report that it is refused."""
    try:
        subject.compress(messages, count)
    except HookRaised as failure:
        if not failure.is_report:
            raise
        return False
    return True


def _all_come_back(run: Run, facts: list[Fact], which: str, *, requirement: str = "") -> None:
    if lost := losses.lost(run, facts):
        named = run.context.declares.get("extensions", [])
        if not run.binding.can_declare and "checkpoint" not in named:
            # It says that all is stored, and not by what it is found again.
            reason = f"text that {run.hook('compress')} stores does not come back by recall"
            raise NotApplicable(f"{reason}; it is judged where `declares.extensions` names it")
        run.violated(
            NotRecalled(
                wanted=f"the user's words in the messages {which}, recalled after a new start",
                texts=tuple(fact.text for fact in lost),
                of=len(facts),
                lead=f"{run.hook('compress')} returned, and ",
                verb="texts did not come back",
            ),
            requirement=requirement,
        )


@check("MP-CHECK-002", extension="checkpoint")
def only_a_report_stops_the_compressor(run: Run) -> None:
    with run.session() as subject:
        lists = conversations.of(run)
        for count, (which, messages) in enumerate(lists.items(), start=1):
            try:
                subject.compress(copy.deepcopy(messages), count)
            except HookRaised as failure:
                if failure.ends_process:
                    raise
                if not failure.is_report:
                    run.violated(
                        Raised.by(
                            failure.error,
                            wanted=(
                                f"{run.hook('compress')} returns, or raises an error of "
                                "memproto.errors"
                            ),
                            hook=run.hook("compress"),
                            given=which,
                        ),
                    )


@check("MP-CHECK-003", budget_s=120.0, extension="checkpoint")
def a_refusal_is_not_for_ever(run: Run) -> None:
    judged = [_after_too_much(run), _after_a_lock(run)]
    if not any(judged):
        raise NotApplicable("nothing is refused")


def _after_a_lock(run: Run) -> bool:
    """The messages that were refused are handed over again; True if they were refused at all."""
    try:
        stored = store_files.stored(run)
    except (NotApplicable, Untestable):
        return False
    facts = run.facts.several(2)
    told = conversations.talk(*facts)
    with run.session() as subject:
        said = _said_behind_a_lock(run, subject, stored, told)
        if not said:
            return False
        is_refused = not said[0]
        if is_refused and not run.wait_until(
            lambda: _stored(subject, told, 2), store_faults.AGAIN_S
        ):
            # A store that does not work again is for MP-STORE-003.
            return False
    if is_refused:
        _all_come_back(run, facts, "of a compression that was refused, and made again")
    else:
        which = "of a compression that returned while another process held a lock on the store"
        _all_come_back(run, facts, which, requirement="MP-CHECK-001")
    return is_refused


def _said_behind_a_lock(
    run: Run, subject: Subject, stored: list[Fact], told: Messages
) -> list[bool]:
    """If a compression returns or is refused while another process locks the store; [] unknown."""
    said: list[bool] = []
    try:
        with store_faults.held(run, stored):
            waiting = threading.Thread(target=lambda: said.append(_stored(subject, told, 1)))
            waiting.start()
            waiting.join(_LOCKED_S)
    except NotApplicable:
        return []
    waiting.join()
    return said


def _after_too_much(run: Run) -> bool:
    """Other messages are handed over after a refusal; True if anything was refused."""
    before, after = run.facts.several(2), run.facts.several(2)
    with run.session() as subject:
        _must_be_stored(run, subject, before, 1)
        if _stored(subject, [conversations.plain("user", "a " * (_REFUSED_CHARS // 2))], 2):
            return False
        if not _stored(subject, conversations.talk(*after), 3):
            run.violated(
                Differs(
                    wanted="an ordinary conversation stored after a compression that was refused",
                    seen=f"{run.hook('compress')} refused it too",
                ),
            )
    if losses.lost(run, before):
        raise Lost("text compressed before the refusal did not come back either")
    _all_come_back(run, after, "after a compression that was refused")
    return True
