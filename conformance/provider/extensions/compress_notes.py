"""Chapter 72: what a provider would add to a summary."""

import copy

from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.evidence import Changed, Raised, Recalled, Returned, TooLong
from memproto.testing.facts import Fact
from memproto.testing.needs import NO_REFUSAL
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised, Subject
from memproto.testing.scenarios import conversations, tenants, texts
from memproto.testing.scenarios.conversations import Messages
from memproto.testing.scenarios.tenants import Boundary, Tenant
from memproto.testing.wire import show

_MOST_CHARS = 32_000

#: A conversation that is worth a compression.
_MESSAGES, _MESSAGE_CHARS = 200, 1_000


def _lists(run: Run) -> dict[str, Messages]:
    """The peculiarity of a list, to the list."""
    lists = {"an ordinary conversation": conversations.talk(run.facts.new()), "an empty list": []}
    # If it is the hook of compression, what it makes of any list is for MP-COMP-001.
    return lists if _is_of_compression(run) else {**lists, **conversations.of(run)}


def _is_of_compression(run: Run) -> bool:
    return run.binding.is_one_hook("compress", "compress_notes")


def _notes(run: Run, subject: Subject, messages: Messages, which: str = "") -> str:
    """
    The notes for a list of messages.

    Raises:
        Violation: Of MP-NOTES-001, or of MP-COMP-001 where it is the hook of compression.

    """
    try:
        notes = subject.compress_notes(messages)
    except HookRaised as failure:
        if failure.ends_process or isinstance(failure, BackendAway):
            raise
        if failure.is_report and "checkpoint" in run.declared("extensions", []):
            reason = f"the checkpoint refused an ordinary conversation: {show(failure.error)}"
            raise Untestable(reason, NO_REFUSAL) from None
        rule = "MP-COMP-001" if _is_of_compression(run) else "MP-NOTES-001"
        run.violated(
            Raised.by(
                failure.error,
                wanted=_RETURNS.format(run.hook("compress_notes")),
                hook=run.hook("compress_notes"),
                given=which,
            ),
            requirement=rule,
        )
    if not isinstance(notes, str):
        run.violated(
            Returned(
                wanted=_RETURNS.format(run.hook("compress_notes")),
                hook=run.hook("compress_notes"),
                value=show(notes),
                tail=which and f" for {which}",
            ),
            requirement="MP-NOTES-001",
        )
    return notes


_RETURNS = "a str from {} for every list of messages"


@check("MP-NOTES-001", extension="compress_notes")
def notes_are_a_text(run: Run) -> None:
    with run.session() as subject:
        for which, messages in _lists(run).items():
            _notes(run, subject, messages, which)


@check("MP-NOTES-002", extension="compress_notes")
def notes_are_bounded(run: Run) -> None:
    facts = run.facts.several(_MESSAGES)
    messages = [
        conversations.plain(
            ("user", "assistant")[number % 2], texts.padded(fact.text, _MESSAGE_CHARS)
        )
        for number, fact in enumerate(facts)
    ]
    with run.session() as subject:
        size = len(_notes(run, subject, messages))
    if size > _MOST_CHARS:
        run.violated(
            TooLong(
                wanted=f"at most {_MOST_CHARS:,} characters",
                hook=run.hook("compress_notes"),
                chars=size,
                limit=_MOST_CHARS,
                tail=f" for {_MESSAGES} messages of {_MESSAGE_CHARS:,} characters",
            ),
        )


@check("MP-NOTES-003", extension="compress_notes")
def the_messages_stay_as_they_were(run: Run) -> None:
    with run.session() as subject:
        for which, messages in _lists(run).items():
            given = copy.deepcopy(messages)
            _notes(run, subject, given, which)
            if given != messages:
                run.violated(
                    Changed(
                        wanted="the messages as they were handed over",
                        subject="argument",
                        name=which,
                        difference=conversations.difference(messages, given),
                    )
                )


# -- whose they are --------------------------------------------------------------------------------


@check("MP-NOTES-004", budget_s=120.0, extension="compress_notes")
def notes_are_of_their_own(run: Run) -> None:
    seen = [_are_apart(run, boundary) for boundary in tenants.boundaries(run)]
    if not any(seen):
        raise NotApplicable("the notes show nothing of what was handed over, or nobody is apart")


def _are_apart(run: Run, boundary: Boundary) -> bool:
    """Compare the notes of two; False where those of the first show nothing of what is theirs."""
    owner, guest = tenants.pair(run, boundary)
    told, stored = run.facts.several(2)
    with owner.opened(run) as subject:
        for route in filter(run.serves, routes.ROUTES):
            routes.accepts(subject, route, stored.text)
        notes = _notes(run, subject, conversations.talk(told))
    with owner.opened(run) as again:
        notes += _notes(run, again, _questions(told, stored))
    shown = [fact for fact in (told, stored) if fact.is_in(notes)]
    try:
        subject = guest.open(run)
    except tenants.Refused:
        return bool(shown)
    _shows_none(run, subject, shown, owner, guest)
    run.close(subject)
    return bool(shown)


def _questions(*facts: Fact) -> Messages:
    return [conversations.plain("user", fact.query) for fact in facts]


def _shows_none(
    run: Run, subject: Subject, shown: list[Fact], owner: Tenant, guest: Tenant
) -> None:
    for messages in (conversations.talk(run.facts.new()), _questions(*shown)):
        notes = _notes(run, subject, messages)
        for fact in shown:
            if fact.is_in(notes):
                run.violated(
                    Recalled(
                        wanted=f"notes for {guest.called} with nothing of {owner.called}",
                        texts=(fact.text,),
                        by=run.hook("compress_notes"),
                        of_whom=owner.called,
                        to_whom=guest.called,
                        lead=f"they hold {fact.name!r}, from ",
                    ),
                )
