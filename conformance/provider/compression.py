"""Chapter 60: compression."""

import copy

from memproto.errors import Unavailable
from memproto.testing.clauses import Lost, Untestable, check
from memproto.testing.conditions import Declared
from memproto.testing.evidence import Changed, NotRecalled, Raised
from memproto.testing.facts import Fact
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import conversations
from memproto.testing.wire import show

_NO_CHECKPOINT = Declared(
    "extensions",
    [],
    none_of=("checkpoint",),
    otherwise="checkpoint is declared: raising is how it stops the compressor",
)


@check("MP-COMP-001", hook="compress", declares=_NO_CHECKPOINT)
def compression_takes_any_list(run: Run) -> None:
    given = conversations.of(run)
    failures: list[tuple[str, HookRaised]] = []
    with run.session() as subject:
        # Twice: two compressions in a session are in order, of the same messages as well.
        for count, name in enumerate([*given, *given], start=1):
            try:
                subject.compress(copy.deepcopy(given[name]), count)
            except HookRaised as failure:
                if failure.ends_process:
                    raise
                failures.append((name, failure))
    _no_failure(run, failures)


def _no_failure(run: Run, failures: list[tuple[str, HookRaised]]) -> None:
    if not failures:
        return
    name, failure = failures[0]
    if isinstance(failure.error, Unavailable):
        raise Untestable(f"{run.hook('compress')} reported {show(failure.error)}")
    run.violated(
        Raised.by(
            failure.error,
            wanted=f"{run.hook('compress')} returns for every list of messages",
            hook=run.hook("compress"),
            given=name,
        ),
    )


@check("MP-COMP-002")
def the_compressed_messages_stay_as_they_were(run: Run) -> None:
    lists, failures = conversations.of(run), []
    with run.session() as subject:
        for count, (name, messages) in enumerate(lists.items(), start=1):
            given = copy.deepcopy(messages)
            try:
                subject.compress(given, count)
            except HookRaised as failure:
                # These lists are those of MP-COMP-001, and of MP-CHECK-002 for a checkpoint.
                failures.append(failure)
                if failure.ends_process or len(failures) == len(lists):
                    raise
            if given != messages:
                run.violated(
                    Changed(
                        wanted="the messages as they were handed over",
                        subject="argument",
                        name=name,
                        difference=conversations.difference(messages, given),
                    ),
                )


@check("MP-COMP-003", hook="compress", routes=("turns", "writes", "tools"))
def compression_leaves_what_was_stored(run: Run) -> None:
    route = run.route
    before, between, during, since, told = run.facts.several(5)
    for fact in (before, between):
        with run.session() as subject:
            run.plant(subject, fact, route)
    if not all(losses.is_stored(run, fact) for fact in (before, between)):
        raise Lost("two stored facts did not come back without a compression either")
    with run.session() as subject:
        run.plant(subject, during, route)
        _compress(subject, during, 1)
        run.plant(subject, since, route)
        _compress(subject, told, 2)
    stored = {"an earlier session": before, "the compressed session": during}
    for when, fact in {**stored, "it after its first compression": since}.items():
        if not losses.is_stored(run, fact):
            run.violated(
                NotRecalled(
                    wanted=(
                        f"text stored before {run.hook('compress')}, recalled after a new start"
                    ),
                    texts=(fact.text,),
                    about=f"stored in {when}",
                    tail=" after a compression",
                ),
            )


def _compress(subject: Subject, fact: Fact, count: int) -> None:
    """A checkpoint may refuse: the rule is on what was stored before."""
    routes.tolerant(lambda: subject.compress(conversations.talk(fact), count))
